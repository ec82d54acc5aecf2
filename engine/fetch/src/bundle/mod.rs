//! Sources: bundles (local, downloaded entirely or in part, or only listed), files at URLs, and directories.

pub(crate) mod directory;
pub(crate) mod downloaded;
pub(crate) mod files;
pub(crate) mod kaggle;
pub(crate) mod local;
pub(crate) mod part;
pub(crate) mod remote;
pub(crate) mod web;
