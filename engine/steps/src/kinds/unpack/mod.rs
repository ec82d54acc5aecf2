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
mod sevenz;
mod tar;
mod zip;

use std::io;

use prep_core::{BoxError, Cancel, Context, FileValue, StepError};
use prep_formats::archive::ArchiveFormat;
use prep_formats::read_at::ReadAt;

use super::function_step::FunctionStep;
use crate::limits::undecodable_file;
use crate::value::{ContentRef, MissingFile, Opener, Tree, TreeBuilder, input};
pub(crate) use extract::extract;

/// Whether a path segment is treated as an archive.
pub(crate) fn is_archive(segment: &str) -> bool {
    ArchiveFormat::split_path(segment).is_some()
}

/// Returns the path of an archive without its suffix.
pub(crate) fn without_suffix(path: &str) -> &str {
    ArchiveFormat::split_path(path).map_or(path, |(_, stem)| stem)
}

/// Unpacks the archive with this path in the bundle. `None` for the bundle itself.
pub(crate) fn unpack(path: Option<String>) -> FunctionStep {
    let params = serde_json::json!({ "path": path });
    FunctionStep::new("unpack", 5, params, move |context, inputs| {
        let path = path.as_deref();
        let failed = |cause| undecodable_file(path.unwrap_or("the bundle"), cause);
        let opener = Opener::new(context);
        let archive = input(inputs, "archive")?;
        let files = match path {
            None => {
                let content = FileValue::from_value(archive)?.into();
                zip::list(context, &opener, &content, "").map_err(failed)?
            }
            Some(path) => {
                let tree = Tree::load(context, archive)?;
                match tree.get(path) {
                    Some(content) => members(context, &opener, &content, path)?,
                    None => unpacked_directory(&tree, path)
                        .ok_or_else(|| StepError::input(MissingFile::new(&tree, path)))?,
                }
            }
        };
        let tree = files.finish(&context.cancel);
        tree.map_err(|cause| failed(cause.into()))?.save(context)
    })
}

/// Returns the members of an archive. Their paths begin with the path of the archive.
pub(crate) fn members(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    path: &str,
) -> Result<TreeBuilder, StepError> {
    let list = match ArchiveFormat::split_path(path) {
        Some((ArchiveFormat::Zip, _)) => zip::list,
        Some((ArchiveFormat::Tar, _)) => tar::list,
        Some((ArchiveFormat::SevenZ, _)) => sevenz::list,
        _ => return Err(StepError::internal(format!("`{path}` is not an archive"))),
    };
    let listed = list(context, opener, content, &format!("{path}/"));
    listed.map_err(|cause| undecodable_file(path, cause))
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
    let directory = format!("{}/", without_suffix(path));
    let mut inside = TreeBuilder::default();
    for file in tree.with_prefix(&directory) {
        let rest = file.path().get(directory.len()..).unwrap_or_default();
        inside.push_file(&format!("{path}/{rest}"), file);
    }
    (!inside.is_empty()).then_some(inside)
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
