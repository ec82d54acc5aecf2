//! Orders the writing of files, and hides this order from their metadata.
//!
//! Files from a compressed archive or a remote bundle are written in the order of their source. This order can reveal
//! answers, for example if an archive is sorted by class. Inode numbers, birth times and change times would show the order.
//!
//! Therefore these files are first created empty, in the order of their paths. After all files are written, these files are
//! touched in the order of their paths. All other files are written in the order of their paths.
//!
//! All files that a run writes have the same modification time. A hard link has the times of its object. An object is an
//! entire table or archive, so its times reveal nothing about single files.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fs::{File, FileTimes, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_cache::Digest;
use prep_core::{Context, StepError};

use super::PublishError;
use super::home::mode_of;
use crate::value::{Opener, Tree, TreeFile};

pub(super) struct SourceOrder<'a> {
    context: &'a Context,
    desired: &'a Tree,
    opener: Opener,
    /// Indices of all files to write, in the order in which they are written.
    indices: Cow<'a, [u32]>,
    /// Indices of the files that are written in the order of their source. The indices are ascending. The files of a
    /// tree are sorted by path, so ascending indices are in the order of paths.
    constrained: Vec<u32>,
}

impl<'a> SourceOrder<'a> {
    /// Orders the files with the indices `changed`. Files in compressed archives and remote bundles come first, sorted by
    /// their position in the archive or bundle. Announces the reads to the opener, which then fetches adjacent ranges
    /// of remote bundles together.
    pub(super) fn of(
        context: &'a Context,
        desired: &'a Tree,
        changed: &'a [u32],
    ) -> SourceOrder<'a> {
        let opener = Opener::new(context);
        let remote: HashSet<&Digest> = desired
            .bases()
            .iter()
            .filter(|base| opener.is_remote(base))
            .collect();
        let is_read_in_order = |file: &TreeFile<'_>| {
            file.is_layered() || file.base().is_some_and(|base| remote.contains(base))
        };
        let content = |index: u32| {
            let file = desired.file(index as usize).filter(is_read_in_order);
            file?.content()
        };
        let mut in_archives: Vec<(Digest, u64, u32)> = Vec::new();
        for index in changed {
            if let Some(content) = content(*index) {
                in_archives.push((*content.base(), content.range().start, *index));
            }
        }
        let mut constrained: Vec<u32> = in_archives.iter().map(|(_, _, index)| *index).collect();
        constrained.sort_unstable();
        in_archives.sort_unstable();
        let ordered = in_archives.iter().map(|(_, _, index)| *index);
        opener.expect(ordered.clone().filter_map(content));
        let is_free = |index: &u32| constrained.binary_search(index).is_err();
        let indices = match constrained.is_empty() {
            true => Cow::Borrowed(changed),
            false => ordered
                .chain(changed.iter().copied().filter(is_free))
                .collect(),
        };
        SourceOrder {
            context,
            desired,
            opener,
            indices,
            constrained,
        }
    }

    pub(super) fn opener(&self) -> &Opener {
        &self.opener
    }

    /// Returns the index in the tree of the file that is written after `number` other files.
    pub(super) fn index(&self, number: usize) -> Option<u32> {
        self.indices.get(number).copied()
    }

    /// Returns whether [`create_files`](Self::create_files) creates this file.
    pub(super) fn is_created(&self, index: u32) -> bool {
        self.constrained.binary_search(&index).is_ok()
    }

    /// Creates the files that are written in the order of their source: empty, writable, sorted by path.
    pub(super) fn create_files(
        &self,
        path: impl Fn(u32, &TreeFile<'_>) -> PathBuf,
    ) -> Result<(), StepError> {
        for index in &self.constrained {
            self.context.check()?;
            let Some(file) = self.file(*index) else {
                continue;
            };
            let path = path(*index, &file);
            let mode = mode_of(file.path()) | 0o200;
            let mut options = OpenOptions::new();
            let created = options.write(true).create_new(true).mode(mode).open(&path);
            created.map_err(PublishError::io("create", &path))?;
        }
        Ok(())
    }

    /// Touches the files that were written in the order of their source, and then their directories, each sorted by path.
    /// This sets the change times of the files. The modification time of the directories becomes `time`.
    pub(super) fn touch_files(&self, root: &Path, time: SystemTime) -> Result<(), StepError> {
        let accessed = FileTimes::new().set_accessed(SystemTime::now());
        let modified = FileTimes::new().set_modified(time);
        let touch = |path: &Path, times: FileTimes| {
            let path = root.join(path);
            let touched = File::open(&path).and_then(|file| file.set_times(times));
            touched.map_err(PublishError::io("set the time of", &path))
        };
        let mut directories = BTreeSet::new();
        for index in &self.constrained {
            self.context.check()?;
            let Some(file) = self.file(*index) else {
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

    fn file(&self, index: u32) -> Option<TreeFile<'a>> {
        self.desired.file(index as usize)
    }
}
