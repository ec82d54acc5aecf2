//! Visits the members of an archive one after the other.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use prep_formats::archive::MemberKind;
use prep_formats::gzip::is_gzip;
use prep_formats::limits::ArchiveBudget;
use prep_formats::zip::{EntryKind, ZipDirectory};
use prep_formats::{sevenz, tar};

use crate::error::{ContentsError, Result};
use crate::read::open_buffered;

/// Formats of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    Zip,
    /// A tar archive, uncompressed or gzipped.
    Tar,
    SevenZ,
    /// A single file, compressed with gzip.
    Gzip,
}

/// Receives a member: its path, its length if that is known, and its content.
pub type VisitMember<'a> = &'a mut dyn FnMut(&str, Option<u64>, &mut dyn Read) -> Result<()>;

impl Archive {
    /// Returns the format for the extension of a path.
    pub fn from_path(path: &str) -> Option<Archive> {
        let path = path.to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|end| path.ends_with(end));
        match () {
            () if ends(&[".zip", ".npz", ".xlsx", ".ods", ".kmz"]) => Some(Archive::Zip),
            () if ends(&[".tar", ".tar.gz", ".tgz"]) => Some(Archive::Tar),
            () if ends(&[".7z"]) => Some(Archive::SevenZ),
            () if ends(&[".gz"]) => Some(Archive::Gzip),
            () => None,
        }
    }

    /// Visits all files in the archive at `place`, which errors call `path`. Skips bytes that `visit` does not read.
    /// `budget` limits the number and size of the members.
    ///
    /// # Errors
    /// If the file is not such an archive or is damaged. Also returns errors from `visit`.
    pub fn visit(
        self,
        place: &Path,
        path: &str,
        budget: &ArchiveBudget,
        visit: VisitMember<'_>,
    ) -> Result<()> {
        let mut failed = None;
        let mut each = |path: &str, kind, content: &mut dyn Read| match kind {
            MemberKind::File { size } => visit(path, Some(size), content).map_err(|error| {
                failed = Some(error);
                io::Error::from(io::ErrorKind::Other)
            }),
            MemberKind::Directory => Ok(()),
        };
        let read = match self {
            Archive::Zip => {
                let file = File::open(place).map_err(ContentsError::system_error(place))?;
                return zip(&file, budget, visit);
            }
            Archive::Gzip => {
                let mut input = open_buffered(place)?;
                if !is_gzip(
                    input
                        .fill_buf()
                        .map_err(ContentsError::system_error(place))?,
                ) {
                    return Err(ContentsError::Damaged("not gzip data".to_owned()));
                }
                let inner = MultiGzDecoder::new(input);
                return visit(inner_name(path), None, &mut Metered { inner, budget });
            }
            Archive::Tar => {
                tar::read(open_buffered(place)?, budget, &mut each).map_err(ContentsError::classify)
            }
            Archive::SevenZ => sevenz::read(open_buffered(place)?, budget, &mut each)
                .map_err(ContentsError::classify),
        };
        // Return the visitor's error, which the reader would wrap.
        failed.map_or(read, Err)
    }
}

fn zip(file: &File, budget: &ArchiveBudget, visit: VisitMember<'_>) -> Result<()> {
    let length = file.metadata()?.len();
    let directory = directory(file, 0..length, budget)?;
    for member in directory.iter().filter(|one| one.kind == EntryKind::File) {
        let entry = member.to_entry();
        let mut content = entry.open(file).map_err(ContentsError::classify)?;
        visit(member.path, Some(member.size), &mut content)?;
    }
    Ok(())
}

/// Returns the name of the compressed file, which is the path without its extension.
fn inner_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let inner = name.get(..name.len().saturating_sub(".gz".len()));
    inner.unwrap_or(name)
}

/// Counts the bytes read from a member whose length no header declares.
struct Metered<'a, R> {
    inner: R,
    budget: &'a ArchiveBudget,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.budget.add_bytes(count as u64)?;
        Ok(count)
    }
}

/// Reads the listing of a zip archive in a range of a file.
pub(crate) fn directory(
    file: &File,
    range: Range<u64>,
    budget: &ArchiveBudget,
) -> Result<ZipDirectory> {
    ZipDirectory::read(file, range, budget).map_err(ContentsError::classify)
}
