//! Fills the members of a new archive in the order of the source archive.
//!
//! The new archive is sorted by path, but a compressed source archive can only be read from front to back. Therefore the new
//! archive is first written with gaps for members from compressed archives, if their size is known. Later, these members are
//! read in the order of the source and written into their gaps.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::rc::Rc;

use prep_cache::{ObjectWriter, ScatteredWriter, Stored};
use prep_core::{Context, Quoted, StepError};
use prep_formats::checked::CheckedReader;
use prep_formats::read_at::ByteSection;
use prep_formats::zip::MemberInflater;
use thiserror::Error;

use crate::value::{ContentError, OpenContent, Opener, Tree};

/// Bytes of a member that are read and written at once.
const WRITE_BYTES: usize = 1 << 18;

/// The object in the cache to which an archive is written.
pub(super) enum ArchiveOutput {
    /// Written from front to back, without gaps.
    Sequential(ObjectWriter),
    WithGaps(GappedObject),
}

pub(super) struct GappedObject {
    object: ScatteredWriter,
    gaps: Rc<Gaps>,
    /// Whether the last write ended in a gap.
    is_in_gap: bool,
}

#[derive(Default)]
pub(super) struct Gaps {
    /// Number of zeros that the archive writer has read from a [`Gap`] and will write to the object next.
    announced: Cell<u64>,
    /// Offset of each gap in the archive.
    offsets: RefCell<Vec<u64>>,
    /// Indices of the tree's files that fill the gaps.
    files: RefCell<Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GapBytes {
    /// The decompressed bytes of the member.
    Plain,
    /// The compressed bytes of the source archive.
    Compressed,
}

/// A reader that replaces the content of a file while its gap is created. It returns zeros and counts them in
/// [`Gaps::announced`], so that [`GappedObject`] skips them instead of writing them.
pub(super) struct Gap<'a> {
    gaps: &'a Gaps,
    left: u64,
}

impl Read for Gap<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX);
        let buffer = buffer
            .get_mut(..count.min(buffer.len()))
            .unwrap_or_default();
        buffer.fill(0);
        let count = buffer.len() as u64;
        self.left -= count;
        self.gaps.announced.update(|announced| announced + count);
        Ok(buffer.len())
    }
}

impl Gaps {
    /// Registers a gap for `bytes` bytes of the tree's file with the index `file`. The archive writer must read the
    /// returned reader instead of the file's content.
    pub(super) fn add_gap(&self, file: usize, bytes: u64) -> Gap<'_> {
        if bytes > 0 {
            self.files.borrow_mut().push(file);
        }
        Gap {
            gaps: self,
            left: bytes,
        }
    }
}

impl ArchiveOutput {
    /// Creates the object. It supports gaps if a file of `tree` comes from a compressed archive.
    pub(super) fn new(context: &Context, tree: &Tree) -> Result<ArchiveOutput, StepError> {
        if !tree.files().any(|file| file.is_layered()) {
            return Ok(ArchiveOutput::Sequential(context.store.writer()?));
        }
        Ok(ArchiveOutput::WithGaps(GappedObject {
            object: context.store.scattered_writer()?,
            gaps: Rc::default(),
            is_in_gap: false,
        }))
    }

    pub(super) fn gaps(&self) -> Option<Rc<Gaps>> {
        match self {
            ArchiveOutput::Sequential(_) => None,
            ArchiveOutput::WithGaps(out) => Some(Rc::clone(&out.gaps)),
        }
    }

    /// Fills the gaps with the bytes of files of `tree`, and adds the object to the cache.
    pub(super) fn commit(
        self,
        context: &Context,
        opener: &Opener,
        tree: &Tree,
        bytes: GapBytes,
    ) -> Result<Stored, StepError> {
        match self {
            ArchiveOutput::Sequential(object) => Ok(object.commit()?),
            ArchiveOutput::WithGaps(out) => {
                out.fill(context, opener, tree, bytes)?;
                Ok(out.object.commit(&|| Ok(context.cancel.check()?))?)
            }
        }
    }
}

impl GappedObject {
    /// Fills all gaps, in the order of the files in their source archives.
    fn fill(
        &self,
        context: &Context,
        opener: &Opener,
        tree: &Tree,
        bytes: GapBytes,
    ) -> Result<(), StepError> {
        let (offsets, files) = (self.gaps.offsets.borrow(), self.gaps.files.borrow());
        // For each gap: index of the source archive, offset of the file in this archive, index of the file, offset of
        // the gap.
        let mut by_position: Vec<(u32, u64, usize, u64)> = Vec::with_capacity(files.len());
        for (file, offset) in files.iter().zip(offsets.iter()) {
            if let Some(origin) = tree.file(*file).and_then(|file| file.origin()) {
                by_position.push((origin.base, origin.offset, *file, *offset));
            }
        }
        by_position.sort_unstable();
        let mut filler = Filler {
            bytes,
            inflater: MemberInflater::default(),
            content_buffer: Vec::new(),
            buffer: vec![0; WRITE_BYTES],
        };
        for (_, _, file, offset) in by_position {
            context.check()?;
            let Some((file, content)) = tree
                .file(file)
                .and_then(|file| Some((file, file.content()?)))
            else {
                continue;
            };
            let opened = opener.open(&content)?;
            filler.fill(&self.object, file.path(), &opened, offset)?;
            context.progress.add_bytes(content.bytes());
            context.progress.add_file();
        }
        Ok(())
    }
}

#[derive(Debug, Error)]
#[error("reading the content of member {member} failed", member = Quoted(.member))]
struct MemberReadError {
    member: String,
    #[source]
    source: io::Error,
}

/// Writes members into their gaps, and reuses its buffers from member to member.
struct Filler {
    bytes: GapBytes,
    inflater: MemberInflater,
    /// Buffer for the content of a short member that is verified.
    content_buffer: Vec<u8>,
    /// Buffer for the next bytes to write.
    buffer: Vec<u8>,
}

impl Filler {
    /// Writes the bytes of a member into its gap at `offset` of `object`.
    fn fill(
        &mut self,
        object: &ScatteredWriter,
        member: &str,
        opened: &OpenContent<'_>,
        mut offset: u64,
    ) -> Result<(), StepError> {
        let mut reader: Box<dyn Read> = match (opened.member(), self.bytes) {
            (Some((file, entry)), GapBytes::Compressed) => {
                opened.check(&mut self.inflater, &mut self.content_buffer)?;
                let range = entry.locate(file).map_err(ContentError::from)?;
                let bytes = range.end - range.start;
                Box::new(CheckedReader::new(
                    ByteSection::new(file, range),
                    bytes,
                    None,
                ))
            }
            _ => opened.reader()?,
        };
        loop {
            let count = match reader.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => {
                    let member = member.to_owned();
                    return Err(StepError::input(MemberReadError { member, source }));
                }
            };
            object.write_at(self.buffer.get(..count).unwrap_or_default(), offset)?;
            offset += count as u64;
        }
    }
}

impl Write for GappedObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let announced = self.gaps.announced.get();
        if announced == 0 {
            self.is_in_gap = false;
            return self.object.write(bytes);
        }
        let count = announced.min(bytes.len() as u64);
        let offset = self.object.reserve(count).map_err(io::Error::other)?;
        if !self.is_in_gap {
            self.gaps.offsets.borrow_mut().push(offset);
        }
        self.is_in_gap = true;
        self.gaps.announced.set(announced - count);
        Ok(usize::try_from(count).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for ArchiveOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ArchiveOutput::Sequential(out) => out.write(bytes),
            ArchiveOutput::WithGaps(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
