//! The members of an archive, one after the other.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use prep_formats::archive::MemberKind;
use prep_formats::limits::Limits;
use prep_formats::zip::{Directory, EntryKind};
use prep_formats::{sevenz, tar};

const BUFFER: usize = 1 << 17;

/// A format that holds files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    Zip,
    /// Plain or gzipped.
    Tar,
    SevenZ,
    /// One file, compressed.
    Gzip,
}

/// What is told of a member: its path, its length if that is known, and its content.
pub type Visit<'a> = &'a mut dyn FnMut(&str, Option<u64>, &mut dyn Read) -> io::Result<()>;

impl Archive {
    /// By the ending of a path.
    pub fn of(path: &str) -> Option<Archive> {
        let path = path.to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|end| path.ends_with(end));
        match () {
            () if ends(&[".zip", ".npz"]) => Some(Archive::Zip),
            () if ends(&[".tar", ".tar.gz", ".tgz"]) => Some(Archive::Tar),
            () if ends(&[".7z"]) => Some(Archive::SevenZ),
            () if ends(&[".gz"]) => Some(Archive::Gzip),
            () => None,
        }
    }

    /// Visits all files in the archive at `place`, which is known as `path`; what `visit` leaves unread is skipped.
    ///
    /// # Errors
    /// When it is no such archive, or a damaged one; and those of `visit`.
    pub fn visit(self, place: &Path, path: &str, visit: Visit<'_>) -> io::Result<()> {
        let file = File::open(place)?;
        let length = file.metadata()?.len();
        let budget = Limits::default().budget(length);
        match self {
            Archive::Zip => {
                let directory = directory(&file, 0..length)?;
                for member in directory.iter().filter(|one| one.kind == EntryKind::File) {
                    let entry = member.to_entry();
                    let mut content = entry.open(&file).map_err(io::Error::other)?;
                    visit(member.path, Some(member.size), &mut content)?;
                }
                Ok(())
            }
            Archive::Tar => {
                let each = |path: &str, kind, content: &mut dyn Read| match kind {
                    MemberKind::File { size } => visit(path, Some(size), content),
                    MemberKind::Directory => Ok(()),
                };
                let input = BufReader::with_capacity(BUFFER, file);
                tar::read(input, &budget, each).map_err(io::Error::other)
            }
            Archive::SevenZ => {
                let each = |path: &str, kind, content: &mut dyn Read| match kind {
                    MemberKind::File { size } => visit(path, Some(size), content),
                    MemberKind::Directory => Ok(()),
                };
                let input = BufReader::with_capacity(BUFFER, file);
                sevenz::read(input, &budget, each).map_err(io::Error::other)
            }
            Archive::Gzip => {
                let name = path.rsplit('/').next().unwrap_or(path);
                let inner = name.get(..name.len().saturating_sub(".gz".len()));
                let input = BufReader::with_capacity(BUFFER, file);
                let mut content = MultiGzDecoder::new(input);
                visit(inner.unwrap_or(name), None, &mut content)
            }
        }
    }
}

/// What a zip archive in this stretch of a file holds.
pub(crate) fn directory(file: &File, range: Range<u64>) -> io::Result<Directory> {
    let budget = Limits::default().budget(range.end - range.start);
    Directory::read(file, range, &budget).map_err(io::Error::other)
}
