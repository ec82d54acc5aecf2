//! What keeps an audit from being made.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum AuditError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a folder", path.display())]
    NoFolder { path: PathBuf },
}

impl AuditError {
    /// What a failed access to this file becomes.
    pub fn reading(path: &Path) -> impl FnOnce(io::Error) -> AuditError + '_ {
        move |source| AuditError::Read {
            path: path.to_owned(),
            source,
        }
    }
}
