//! Bundles as sources: local, fetched whole or in part, or only listed. And further sources: a file at an address, a folder.

pub(crate) mod downloaded;
pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod kaggle;
pub(crate) mod local;
pub(crate) mod members;
pub(crate) mod part;
pub(crate) mod remote;
pub(crate) mod web;
