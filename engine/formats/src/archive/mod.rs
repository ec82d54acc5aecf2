//! Archives of all formats: the suffixes of their names, and one function that visits the members.
//!
//! [`ArchiveFormat::read`] calls [`crate::zip`], [`crate::tar`] or [`crate::sevenz`], which reject unsafe members.
//!
//! [`crate::zip::read_tolerant`] lists a zip archive without rejecting unsafe members.
//!
//! ```
//! use prep_formats::archive::{ArchiveFormat, StoredForms};
//! use prep_formats::limits::DecodingLimits;
//! use prep_formats::read_at::ByteSection;
//! use prep_formats::zip::{ZipMethod, ZipWriter};
//!
//! let mut writer = ZipWriter::new(Vec::new());
//! writer.add_file("a/b.txt", ZipMethod::Deflate, &b"content"[..])?;
//! let bytes = writer.finish()?;
//!
//! let format = ArchiveFormat::from_path("x.zip").expect("an archive");
//! let archive = ByteSection::new(&bytes, 0..bytes.len() as u64);
//! let budget = DecodingLimits::default().budget(bytes.len() as u64);
//! let mut paths = Vec::new();
//! format.read("x.zip", archive, &budget, StoredForms::Skip, &mut |member, _| {
//!     paths.push(member.path.to_owned());
//!     Ok(())
//! })?;
//! assert_eq!(paths, ["a/b.txt"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod member;

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::limits::ArchiveBudget;
use crate::read_at::{ByteSection, ReadAt};
use crate::sevenz::SevenZReader;
use crate::zip::ZipDirectory;
use crate::{gzip, tar};
pub use member::{ArchiveError, Member, StoredForm, StoredForms, VisitMember};

/// The buffer for sequential reading has at most this size in bytes, because large buffers leave holes in the heap when
/// they are freed.
const BUFFER_BYTES: u64 = 1 << 18;

/// The format of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// A zip archive.
    Zip,
    /// A tar archive, plain or gzipped.
    Tar,
    /// A 7z archive.
    SevenZ,
    /// A single file, compressed with gzip.
    Gzip,
}

/// Suffix, format, and whether pipelines read the archive as a directory. The first match decides, so `.tar.gz` must come
/// before `.gz`.
const SUFFIXES: [(&str, ArchiveFormat, bool); 10] = [
    (".zip", ArchiveFormat::Zip, true),
    (".npz", ArchiveFormat::Zip, false),
    (".xlsx", ArchiveFormat::Zip, false),
    (".ods", ArchiveFormat::Zip, false),
    (".kmz", ArchiveFormat::Zip, false),
    (".tar.gz", ArchiveFormat::Tar, true),
    (".tgz", ArchiveFormat::Tar, true),
    (".tar", ArchiveFormat::Tar, true),
    (".7z", ArchiveFormat::SevenZ, true),
    (".gz", ArchiveFormat::Gzip, false),
];

impl ArchiveFormat {
    /// Returns the format that the suffix of `path` indicates, including formats such as `.npz`. The suffix may be in upper
    /// or lower case.
    pub fn from_path(path: &str) -> Option<ArchiveFormat> {
        let path = path.to_ascii_lowercase();
        let found = SUFFIXES.iter().find(|(end, ..)| path.ends_with(end));
        found.map(|(_, format, _)| *format)
    }

    /// Returns the format of an archive, and its path without the suffix. The suffix must be in lower case.
    ///
    /// Returns `None` for other files, and for archives that pipelines do not read as directories, such as `.npz`.
    pub fn split_path(path: &str) -> Option<(ArchiveFormat, &str)> {
        SUFFIXES
            .into_iter()
            .find_map(|(end, format, is_directory)| {
                let stem = path.strip_suffix(end).filter(|_| is_directory)?;
                Some((format, stem))
            })
    }

    /// Visits all members of `archive` in the order of the archive. Skips content that `visit` does not read.
    ///
    /// `name` is the file name of the archive. The member of a gzip file has this name without `.gz`.
    ///
    /// A path can occur repeatedly in a tar archive. `visit` receives all these members. Only the last one is valid.
    ///
    /// # Errors
    /// [`ArchiveError`]. If `visit` returns an error, reading stops.
    pub fn read<R: ReadAt>(
        self,
        name: &str,
        archive: ByteSection<R>,
        budget: &ArchiveBudget,
        forms: StoredForms,
        visit: VisitMember<'_>,
    ) -> Result<(), ArchiveError> {
        match self {
            Self::Zip => {
                let directory = ZipDirectory::read_with(&archive, 0..archive.len(), budget, forms)?;
                directory.visit(&archive, visit)
            }
            Self::Tar => tar::read(archive, budget, forms, visit),
            Self::SevenZ => SevenZReader::open(buffered(archive), budget)?.read(visit),
            Self::Gzip => {
                let bytes = archive.len();
                let mut input = buffered(archive);
                let form = gzip::stored_form(input.fill_buf()?, bytes);
                let form = form.filter(|_| forms == StoredForms::Read);
                read_gzip(name, input, budget, form.as_ref(), visit)
            }
        }
    }
}

/// Returns a buffered reader of the archive.
fn buffered<R: ReadAt>(archive: ByteSection<R>) -> BufReader<ByteSection<R>> {
    let capacity = (archive.len() + 1).min(BUFFER_BYTES) as usize;
    BufReader::with_capacity(capacity, archive)
}

/// Visits the only member of a gzip file. `form` becomes the [`Member::stored`] of this member.
///
/// # Errors
/// [`ArchiveError`] if the file is not gzip, is damaged or exceeds `budget`, or if `visit` fails.
pub fn read_gzip(
    name: &str,
    mut input: impl BufRead,
    budget: &ArchiveBudget,
    form: Option<&StoredForm>,
    visit: VisitMember<'_>,
) -> Result<(), ArchiveError> {
    if !gzip::is_gzip(input.fill_buf()?) {
        return Err(ArchiveError::NotGzip);
    }
    let name = name.rsplit('/').next().unwrap_or(name);
    let inner = name.get(..name.len().saturating_sub(".gz".len()));
    let member = Member {
        path: inner.unwrap_or(name),
        is_directory: false,
        size: None,
        offset: None,
        crc32: None,
        stored: form,
    };
    let content = MultiGzDecoder::new(input);
    Ok(visit(&member, &mut MeteredReader { content, budget })?)
}

/// Counts the bytes of a member whose length no header declares.
struct MeteredReader<'a, R> {
    content: R,
    budget: &'a ArchiveBudget,
}

impl<R: Read> Read for MeteredReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.budget.add_bytes(count as u64)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::ArchiveFormat::{self, Gzip, SevenZ, Tar, Zip};

    #[test]
    fn suffixes_determine_format_and_directory() {
        for (path, format, directory) in [
            ("a/x.zip", Some(Zip), Some((Zip, "a/x"))),
            ("x.tar.gz", Some(Tar), Some((Tar, "x"))),
            ("x.tgz", Some(Tar), Some((Tar, "x"))),
            ("x.tar", Some(Tar), Some((Tar, "x"))),
            ("x.7z", Some(SevenZ), Some((SevenZ, "x"))),
            ("x.csv.gz", Some(Gzip), None),
            ("x.npz", Some(Zip), None),
            ("X.ZIP", Some(Zip), None),
            ("zip", None, None),
            ("x.zip.csv", None, None),
        ] {
            assert_eq!(ArchiveFormat::from_path(path), format, "{path}");
            assert_eq!(ArchiveFormat::split_path(path), directory, "{path}");
        }
    }
}
