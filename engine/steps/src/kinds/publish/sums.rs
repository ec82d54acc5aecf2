//! Computes the SHA-256 of published files and of the tree, which anyone can reproduce with common tools.
//!
//! Files from archives are hashed while they are written. Most outputs are hashed by the step that creates them. This
//! module reads the other files, which are links to cached objects, after all files are in place.

use std::path::Path;

use prep_core::{Context, StepError};
use prep_digests::{Sha256, TreeHasher, Trees, digest_of_file, digest_of_reader};

use super::PublishError;
use super::home::content_error;
use super::listing::WrittenFile;
use crate::value::{ContentError, ContentRef, Opener, Tree, TreeFile};

/// Memory in bytes of a thread: a buffer, and a reader.
pub(super) const THREAD_BYTES: u64 = 4 << 20;

/// Adds the missing SHA-256 of files: from the cache, or by reading the published file.
pub(super) fn add_missing_sha256(
    context: &Context,
    prepared: &Path,
    desired: &Tree,
    files: &mut [Option<WrittenFile>],
) -> Result<(), StepError> {
    for (file, requested) in files.iter_mut().zip(desired.files()) {
        if let Some(file) = file.as_mut().filter(|file| file.sha256().is_none())
            && let Some(ContentRef::Object { digest, .. }) = requested.content()
            && let Some(sum) = context.store.sha256(&digest)
        {
            file.set_sha256(Sha256::from_bytes(sum));
        }
    }
    let missing: Vec<usize> = (0..files.len())
        .filter(|index| matches!(files.get(*index), Some(Some(file)) if file.sha256().is_none()))
        .collect();
    let paths = paths(desired, &missing);
    let sums = context.map_in_order(&paths, THREAD_BYTES, |path| {
        context.check()?;
        let path = prepared.join(path);
        let (sha256, _) = digest_of_file(&path).map_err(PublishError::io("read", &path))?;
        Ok(sha256)
    })?;
    for (index, sha256) in missing.iter().zip(sums) {
        if let Some(Some(file)) = files.get_mut(*index) {
            file.set_sha256(sha256);
        }
    }
    Ok(())
}

/// Computes the digests of the new `public` and `private` before anything is written.
///
/// `write` contains the indices of the new files. This function reads these files from the cache or the bundle. `kept`
/// contains the metadata of the files that stay.
pub(super) fn desired_trees(
    context: &Context,
    prepared: &Path,
    desired: &Tree,
    kept: &mut [Option<WrittenFile>],
    write: &[u32],
) -> Result<Trees, StepError> {
    add_missing_sha256(context, prepared, desired, kept)?;
    let opener = Opener::new(context);
    let sums = context.map_in_order(write, THREAD_BYTES, |index| {
        context.check()?;
        let file = desired.file(*index as usize);
        let sum = file
            .map(|file| file_sha256(context, &opener, file))
            .transpose()?;
        Ok(sum.flatten().unwrap_or_else(|| Sha256::of_bytes(b"")))
    })?;
    let mut written = write.iter().zip(sums).peekable();
    let sums = (0..).zip(desired.files()).map(|(index, _)| {
        let new_sum = written.next_if(|(one, _)| **one == index);
        new_sum
            .map(|(_, sum)| sum)
            .or_else(|| kept.get(index as usize)?.as_ref()?.sha256())
    });
    section_trees(desired, sums).ok_or_else(|| StepError::internal("a file has no digest"))
}

/// Reads a file of a tree from the cache or the bundle. Returns its SHA-256, or `None` for a directory.
pub(super) fn file_sha256(
    context: &Context,
    opener: &Opener,
    file: TreeFile<'_>,
) -> Result<Option<Sha256>, StepError> {
    let Some(content) = file.content() else {
        return Ok(None);
    };
    let failed = |cause| content_error(file.path(), cause);
    let opened = opener.open(&content).map_err(failed)?;
    let reader = opened.reader().map_err(failed)?;
    let digest = digest_of_reader(&mut context.cancel.reader(reader));
    context.check()?;
    let digest = digest.map_err(|cause| {
        let subject = file.path().to_owned();
        failed(ContentError::Io { subject, cause })
    });
    Ok(Some(digest?.0))
}

/// Returns the digests of the written trees. `None` if a SHA-256 is unknown.
pub(super) fn written_trees(desired: &Tree, files: &[Option<WrittenFile>]) -> Option<Trees> {
    section_trees(desired, files.iter().map(|file| file.as_ref()?.sha256()))
}

/// Returns the digests of `public` and `private`. `sums` contains the SHA-256 of each file, in the tree's order, and `None`
/// for each directory.
fn section_trees(desired: &Tree, sums: impl Iterator<Item = Option<Sha256>>) -> Option<Trees> {
    // The digest depends on the order of the escaped paths, which differs from that of the paths if they contain line
    // breaks.
    let has_line_ends = |path: &str| path.contains(['\n', '\r']);
    let hasher = match desired.files().any(|file| has_line_ends(file.path())) {
        true => TreeHasher::default,
        false => TreeHasher::sorted,
    };
    let (mut public, mut private) = (hasher(), hasher());
    for (file, sum) in desired.files().zip(sums) {
        if file.is_directory() {
            continue;
        }
        let (section, inner) = file.path().split_once('/')?;
        let tree = match section {
            "public" => &mut public,
            _ => &mut private,
        };
        tree.add(inner, sum?, file.bytes());
    }
    Some(Trees {
        public: public.finish(),
        private: private.finish(),
    })
}

/// Returns the paths of the files with these indices, which must be sorted.
fn paths<'t>(desired: &'t Tree, indices: &[usize]) -> Vec<&'t str> {
    let mut requested = indices.iter().peekable();
    desired
        .files()
        .filter_map(|file| {
            requested
                .next_if(|index| **index == file.index())
                .map(|_| file.path())
        })
        .collect()
}
