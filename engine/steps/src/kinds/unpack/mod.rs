//! `unpack`: the members of an archive, as a tree.
//!
//! The members of a zip archive or an uncompressed tar archive are references into the file that contains it, without
//! any copy. For a 7z archive, only the directory and the parameters of decoding are read. A deflated archive, such as
//! a zip inside a zip or a gzipped tar, is read once to record where decompression can start: see
//! [`layers`](crate::value::layers). Archives that cannot be read in place, because they are compressed with another
//! method, are copied into the cache, with their members in a single object.
//!
//! Paths in the tree begin with the path of the archive (`train.zip/train/1.jpg`), so that each file has a unique path
//! in the bundle. If the bundle contains a directory `x` instead of `x.zip`, because the archive was already unpacked,
//! the tree is the same.

mod bundled;
mod extract;
mod member_list;
mod sevenz;
mod tar;
mod zip;

use std::io;

use prep_core::{BoxError, Cancel, Context, FileValue, Inputs, Outputs, Step, StepError};
use prep_formats::read_at::ReadAt;
use thiserror::Error;

use super::{holder, single_output};
use crate::limits::undecodable;
use crate::value::{ContentRef, Opener, Tree, TreeBuilder, input};
pub(crate) use extract::extract;

/// File name suffixes that are treated as archives.
const SUFFIXES: [(&str, ArchiveFormat); 5] = [
    (".zip", ArchiveFormat::Zip),
    (".7z", ArchiveFormat::SevenZip),
    (".tar.gz", ArchiveFormat::Tar),
    (".tgz", ArchiveFormat::Tar),
    (".tar", ArchiveFormat::Tar),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArchiveFormat {
    Zip,
    SevenZip,
    Tar,
}

#[derive(Debug, Error)]
enum UnpackError {
    #[error("{} has no `{}`{}", holder(path).0, holder(path).1, .similar.as_ref().map(|name| format!("; it has `{name}`")).unwrap_or_default())]
    Missing {
        path: String,
        similar: Option<String>,
    },
    #[error("`{path}`")]
    Archive {
        path: String,
        #[source]
        cause: BoxError,
    },
}

pub(crate) struct Unpack {
    /// Path of the archive in the bundle. `None` for the bundle itself.
    pub path: Option<String>,
}

/// Whether a path segment is treated as an archive.
pub(crate) fn is_archive(segment: &str) -> bool {
    kind(segment).is_some()
}

/// Returns the suffix of a path that marks it as an archive, if it has one.
pub(crate) fn archive_suffix(path: &str) -> Option<&'static str> {
    kind(path).map(|(suffix, _)| suffix)
}

/// Returns the path of an archive without its suffix.
pub(crate) fn without_suffix(path: &str) -> &str {
    let suffix = archive_suffix(path).unwrap_or_default();
    path.strip_suffix(suffix).unwrap_or(path)
}

fn kind(path: &str) -> Option<(&'static str, ArchiveFormat)> {
    SUFFIXES
        .into_iter()
        .find(|(suffix, _)| path.ends_with(suffix))
}

impl Step for Unpack {
    fn kind(&self) -> &'static str {
        "unpack"
    }

    fn version(&self) -> u32 {
        4
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "path": self.path })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let opener = Opener::new(context);
        let archive = input(inputs, "archive")?;
        let files = match &self.path {
            None => {
                let file = FileValue::from_value(archive)?;
                let content = ContentRef::Object {
                    digest: file.digest,
                    bytes: file.bytes,
                };
                zip::list(context, &opener, &content, "").map_err(|cause| self.failed(cause))?
            }
            Some(path) => {
                let tree = Tree::load(context, archive)?;
                match tree.get(path) {
                    Some(content) => self.unpack(context, &opener, &content, path)?,
                    None => unpacked_directory(&tree, path).ok_or_else(|| {
                        StepError::input(UnpackError::Missing {
                            path: path.clone(),
                            similar: similar(&tree, path),
                        })
                    })?,
                }
            }
        };
        let tree = files
            .finish(&context.cancel)
            .map_err(|cause| self.failed(Box::new(cause)))?;
        Ok(single_output(tree.save(context)?))
    }
}

impl Unpack {
    fn failed(&self, cause: BoxError) -> StepError {
        let path = self.path.clone().unwrap_or_else(|| "the bundle".to_owned());
        undecodable(UnpackError::Archive { path, cause })
    }

    pub(crate) fn unpack(
        &self,
        context: &Context,
        opener: &Opener,
        content: &ContentRef,
        path: &str,
    ) -> Result<TreeBuilder, StepError> {
        let Some((_, kind)) = kind(path) else {
            return Err(StepError::internal(format!("`{path}` is not an archive")));
        };
        let prefix = format!("{path}/");
        let list = match kind {
            ArchiveFormat::Zip => zip::list,
            ArchiveFormat::Tar => tar::list,
            ArchiveFormat::SevenZip => sevenz::list,
        };
        let listed = list(context, opener, content, &prefix);
        listed.map_err(|cause| self.failed(cause))
    }
}

/// A file that cannot be read after the run is cancelled. An archive may have millions of members, so parsers must
/// stop, too.
pub(crate) struct CancellableFile<'a, R> {
    pub cancel: &'a Cancel,
    pub file: &'a R,
}

impl<R: ReadAt> ReadAt for CancellableFile<'_, R> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.cancel.check()?;
        self.file.read_at(buf, offset)
    }
}

/// Returns the files of the directory that replaces an archive: `x/` for `x.zip`.
fn unpacked_directory(tree: &Tree, path: &str) -> Option<TreeBuilder> {
    let (suffix, _) = kind(path)?;
    let directory = format!("{}/", path.strip_suffix(suffix)?);
    let mut inside = TreeBuilder::default();
    for file in tree.with_prefix(&directory) {
        let rest = file.path().get(directory.len()..).unwrap_or_default();
        inside.push_file(&format!("{path}/{rest}"), file);
    }
    (!inside.is_empty()).then_some(inside)
}

/// Finds a file of the tree whose path differs from `path` only in the directory or in case.
pub(crate) fn similar(tree: &Tree, path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let mut paths = tree.files().map(|file| file.path());
    let alike = paths.find(|path| {
        let other = path.rsplit('/').next();
        other.is_some_and(|other| other.eq_ignore_ascii_case(name))
    });
    alike.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use prep_core::Failure;
    use prep_formats::limits::DecodingLimits;
    use prep_formats::zip::{ZipDirectory, ZipWriter};

    use super::*;

    /// A cancelled run remains cancelled, even if the parser reports a damaged archive.
    #[test]
    fn cancelling_stops_the_listing_of_archive_members() -> Result<(), Box<dyn std::error::Error>> {
        let mut file = ZipWriter::new(Vec::new());
        file.add_directory("x")?;
        let file = file.finish()?;
        let cancel = Cancel::default();
        let read = || {
            let watched = CancellableFile {
                cancel: &cancel,
                file: &file,
            };
            ZipDirectory::read(
                &watched,
                0..file.len() as u64,
                &DecodingLimits::default().budget(0),
            )
        };
        assert_eq!(read()?.len(), 1);
        cancel.cancel();
        let error = read().map(|_| ()).map_err(StepError::input);
        assert!(matches!(error, Err(error) if error.failure() == Failure::Cancelled));
        Ok(())
    }
}
