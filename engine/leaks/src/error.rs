//! The errors of a search.

use std::path::{Path, PathBuf};

use prep_contents::ContentsError;
use thiserror::Error;

/// An error that prevents a search.
#[derive(Debug, Error)]
pub enum LeaksError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: ContentsError,
    },
    #[error("the answers {0} are not a table with a column that the sample submission also has")]
    NoIds(PathBuf),
}

pub(crate) fn failed(path: &Path, cause: ContentsError) -> LeaksError {
    let path = path.to_path_buf();
    LeaksError::Read { path, cause }
}
