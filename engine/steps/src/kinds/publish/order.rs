//! Determines the order in which files are written, and hides this order from their metadata.
//!
//! Files from a compressed archive, or from a bundle on another machine, are written in the order of their source. That
//! order can depend on the answers: in an archive that is sorted by class, test files of one class are neighbours.
//! Metadata of a published file would show it: inode number, birth time and change time. So these files are created
//! empty, in the order of their paths, before any of them is written. After the last one is written, they are touched
//! in the order of their paths, which sets their change times. All other files are written in the order of their paths.
//!
//! All files that a run writes have the same modification time. A hard link to a cached object has the object's times.
//! Objects are entire tables and archives, never files of single items.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fs::{File, FileTimes, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_cache::Digest;
use prep_core::StepError;

use super::PublishError;
use super::write::{Publication, mode_of};
use crate::value::{Opener, Tree, TreeFile};

/// The order in which the files of a publication are written.
pub(super) struct SourceOrder<'a> {
    publication: &'a Publication<'a>,
    opener: Opener,
    /// Indices of all files in the order in which they are written.
    places: Cow<'a, [u32]>,
    /// Indices of the files that are written in the order of their source. They are sorted, so they are in the order of
    /// the paths.
    constrained: Vec<u32>,
}

impl<'a> SourceOrder<'a> {
    /// Orders files by their position in compressed archives and in bundles on another machine, and announces the reads
    /// from the latter.
    pub(super) fn of(publication: &'a Publication<'a>) -> SourceOrder<'a> {
        let opener = Opener::new(publication.context);
        let (desired, changed) = (publication.desired, &publication.changes.write);
        let remote: HashSet<&Digest> = desired
            .bases()
            .iter()
            .filter(|base| opener.is_remote(base))
            .collect();
        let has_order = |file: &TreeFile<'_>| {
            file.is_layered() || file.base().is_some_and(|base| remote.contains(base))
        };
        let content = |place: u32| desired.file(place as usize).filter(has_order)?.content();
        let mut in_archives: Vec<(Digest, u64, u32)> = Vec::new();
        for place in changed {
            if let Some(content) = content(*place) {
                in_archives.push((*content.base(), content.range().start, *place));
            }
        }
        let mut constrained: Vec<u32> = in_archives.iter().map(|(_, _, place)| *place).collect();
        constrained.sort_unstable();
        in_archives.sort_unstable();
        let ordered = in_archives.iter().map(|(_, _, place)| *place);
        opener.expect(ordered.clone().filter_map(content));
        let is_free = |place: &u32| constrained.binary_search(place).is_err();
        let places = match constrained.is_empty() {
            true => Cow::Borrowed(changed.as_slice()),
            false => ordered
                .chain(changed.iter().copied().filter(is_free))
                .collect(),
        };
        SourceOrder {
            publication,
            opener,
            places,
            constrained,
        }
    }

    pub(super) fn opener(&self) -> &Opener {
        &self.opener
    }

    /// Returns the index of the file at position `number` in this order.
    pub(super) fn place(&self, number: usize) -> Option<u32> {
        self.places.get(number).copied()
    }

    /// Returns whether [`create_files`](Self::create_files) creates this file.
    pub(super) fn is_created(&self, place: u32) -> bool {
        self.constrained.binary_search(&place).is_ok()
    }

    /// Creates the files that are written in the order of their source. They are created empty, in the order of their
    /// paths, and their owner can write to them.
    pub(super) fn create_files(
        &self,
        path: impl Fn(u32, &TreeFile<'_>) -> PathBuf,
    ) -> Result<(), StepError> {
        for place in &self.constrained {
            self.publication.context.check()?;
            let Some(file) = self.file(*place) else {
                continue;
            };
            let path = path(*place, &file);
            let mode = mode_of(file.path()) | 0o200;
            let mut options = OpenOptions::new();
            let created = options.write(true).create_new(true).mode(mode).open(&path);
            created.map_err(PublishError::io("make", &path))?;
        }
        Ok(())
    }

    /// Sets the change times of the files that were written in the order of their source, and the modification times of
    /// their directories, in the order of their paths.
    pub(super) fn touch_files(&self, root: &Path) -> Result<(), StepError> {
        let Publication { context, time, .. } = *self.publication;
        let accessed = FileTimes::new().set_accessed(SystemTime::now());
        let modified = FileTimes::new().set_modified(time);
        let touch = |path: &Path, times: FileTimes| {
            let path = root.join(path);
            let touched = File::open(&path).and_then(|file| file.set_times(times));
            touched.map_err(PublishError::io("set the time of", &path))
        };
        let mut directories = BTreeSet::new();
        for place in &self.constrained {
            context.check()?;
            let Some(file) = self.file(*place) else {
                continue;
            };
            let path = Path::new(file.path());
            touch(path, accessed)?;
            if let Some(directory) = path
                .parent()
                .filter(|directory| !directories.contains(*directory))
            {
                directories.insert(directory.to_owned());
            }
        }
        directories
            .iter()
            .try_for_each(|directory| touch(directory, modified))
    }

    fn file(&self, place: u32) -> Option<TreeFile<'a>> {
        let desired: &'a Tree = self.publication.desired;
        desired.file(place as usize)
    }
}
