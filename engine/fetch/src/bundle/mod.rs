//! Bundles as sources: local, fetched whole or in part, or only listed.

pub(crate) mod downloaded;
pub(crate) mod kaggle;
pub(crate) mod local;
pub(crate) mod members;
pub(crate) mod part;
pub(crate) mod remote;
