//! A bundle that is already there: `DIR/ID.zip`, `DIR/ID/ID.zip`. Or was: what it held is known after it was thrown away,
//! and results that were made of it stay valid. Only a step that wants its bytes finds that it is gone.

use std::path::{Path, PathBuf};

use prep_cache::SourceRecord;
use prep_core::{Context, Failure, FileValue, Source, SourceState, StepError, Value};
use thiserror::Error;

use crate::error::FetchError;

/// The bundle of one competition, in one of several places.
#[derive(Debug, Clone)]
pub struct LocalBundle {
    /// Under which the store remembers what the bundle held.
    name: String,
    candidates: Vec<PathBuf>,
    /// Published MD5; none when it is not to be checked.
    md5: Option<String>,
}

#[derive(Debug, Error)]
pub enum BundleError {
    #[error("no bundle: looked for {}; download it from Kaggle, or name its folder with --source", list(.0))]
    Missing(Vec<PathBuf>),
    #[error("no bundle: looked for {} (--source names another folder); it cannot be downloaded: {cause}", list(.looked))]
    NotFetched {
        looked: Vec<PathBuf>,
        #[source]
        cause: Box<FetchError>,
    },
    #[error(
        "{path} has MD5 {found}, published is {expected}: the file is damaged, or Kaggle changed it; \
         --skip-bundle-verification uses it all the same, and still checks what is made of it"
    )]
    OtherMd5 {
        path: PathBuf,
        found: String,
        expected: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

impl LocalBundle {
    /// Looks for the bundle of `id` in these folders, in order. With `md5`, another content is refused.
    pub fn new(id: &str, folders: &[&Path], md5: Option<&str>) -> LocalBundle {
        let name = format!("{id}.zip");
        let candidates = folders
            .iter()
            .flat_map(|folder| [folder.join(&name), folder.join(id).join(&name)])
            .collect();
        LocalBundle {
            name: id.to_owned(),
            candidates,
            md5: md5.map(str::to_owned),
        }
    }

    /// The file, if it is there.
    pub fn path(&self) -> Option<&Path> {
        self.candidates
            .iter()
            .find(|path| path.is_file())
            .map(PathBuf::as_path)
    }

    /// Where the file is looked for.
    pub(crate) fn candidates(&self) -> &[PathBuf] {
        &self.candidates
    }

    /// Remembers what the bundle holds, for the time when its file is gone.
    pub(crate) fn remember(
        &self,
        context: &Context,
        path: &Path,
        record: &SourceRecord,
    ) -> Result<Value, StepError> {
        context.store.name_source(&self.name, record)?;
        context.set_location(record.digest, path.to_path_buf());
        Ok(value(record))
    }

    /// The state without the file.
    fn absent(&self, context: &Context) -> Result<SourceState, StepError> {
        let known = context.store.named_source(&self.name)?;
        let path = self.candidates.last();
        let (Some(record), Some(path)) = (known, path) else {
            return Ok(SourceState::Missing);
        };
        if self.check(path, &record).is_err() || context.is_lost(&record.digest) {
            return Ok(SourceState::Missing);
        }
        context.set_location(record.digest, path.clone());
        Ok(SourceState::Known {
            value: value(&record).digest(),
        })
    }

    /// Refuses a bundle with another MD5 than the published one.
    fn check(&self, path: &Path, record: &SourceRecord) -> Result<(), StepError> {
        let found = record.md5.as_deref().unwrap_or_default();
        match &self.md5 {
            Some(expected) if !expected.eq_ignore_ascii_case(found) => Err(StepError::new(
                Failure::Check,
                BundleError::OtherMd5 {
                    path: path.to_path_buf(),
                    found: found.to_owned(),
                    expected: expected.clone(),
                },
            )),
            _ => Ok(()),
        }
    }
}

fn value(record: &SourceRecord) -> Value {
    FileValue {
        digest: record.digest,
        bytes: record.len(),
        rows: None,
        columns: Vec::new(),
        outside: true,
    }
    .into_value()
}

impl Source for LocalBundle {
    fn kind(&self) -> &'static str {
        "bundle"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        let Some(path) = self.path() else {
            return self.absent(context);
        };
        let bytes = path.metadata().map(|metadata| metadata.len()).unwrap_or(0);
        match context.store.source(path)? {
            Some(record) if self.check(path, &record).is_ok() => {
                context.set_location(record.digest, path.to_path_buf());
                Ok(SourceState::Known {
                    value: value(&record).digest(),
                })
            }
            _ => Ok(SourceState::Unread { bytes }),
        }
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        let Some(path) = self.path() else {
            return Err(StepError::input(BundleError::Missing(
                self.candidates.clone(),
            )));
        };
        let bytes = path.metadata().map(|metadata| metadata.len()).unwrap_or(0);
        context.progress.set_total_bytes(bytes);
        let progress = |bytes| context.progress.add_bytes(bytes);
        let record = context.store.ingest(path, self.md5.is_some(), &progress)?;
        self.check(path, &record)?;
        self.remember(context, path, &record)
    }

    fn location(&self) -> Option<PathBuf> {
        self.path().map(Path::to_path_buf)
    }
}
