//! Visits all files of a directory or a bundle, and the members of the archives among them.

use std::fs::File;
use std::io;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;

use prep_formats::archive::{ArchiveFormat, Member, StoredForm, StoredForms};
use prep_formats::limits::{ArchiveBudget, LimitExceeded};
use prep_formats::read_at::ByteSection;
use prep_formats::zip::ZipDirectory;

use crate::read::spool;
use crate::{ContentsError, ReadContext, Resources, Result, listing};

pub type VisitMember<'a> = &'a mut dyn FnMut(&Member<'_>, &mut dyn Read) -> Result<()>;

/// Calls `visit` for each file in the archive at `place`. Skips bytes that `visit` does not read.
///
/// `budget` limits the number and size of the members. Error messages name the archive by `path`.
pub fn of_archive(
    format: ArchiveFormat,
    place: &Path,
    path: &str,
    budget: &ArchiveBudget,
    visit: VisitMember<'_>,
) -> Result<()> {
    visit_archive(format, place, path, budget, StoredForms::Skip, visit)
}

/// Same as [`of_archive`]. With [`StoredForms::Read`], `visit` also learns how the archive stores each member.
fn visit_archive(
    format: ArchiveFormat,
    place: &Path,
    path: &str,
    budget: &ArchiveBudget,
    forms: StoredForms,
    visit: VisitMember<'_>,
) -> Result<()> {
    let (file, length) = open(place)?;
    let archive = ByteSection::new(&file, 0..length);
    let mut failed = None;
    let read = format.read(path, archive, budget, forms, &mut |member, content| {
        if member.is_directory {
            return Ok(());
        }
        visit(member, content).map_err(|error| {
            failed = Some(error);
            io::Error::from(io::ErrorKind::Other)
        })
    });
    // `read` wraps the error of `visit`, so return the original.
    failed.map_or(read.map_err(ContentsError::classify), Err)
}

pub(crate) fn open(place: &Path) -> Result<(File, u64)> {
    let at = ContentsError::system_error(place);
    let file = File::open(place).map_err(&at)?;
    let length = file.metadata().map_err(&at)?.len();
    Ok((file, length))
}

/// Receives a file: its path, in which archives are directories, its length (0 if unknown), and its content.
pub type VisitFile<'a> = &'a mut dyn FnMut(&str, u64, &mut dyn Read) -> Result<()>;

/// A file or a member of an archive, not yet read.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The path, in which archives are directories.
    pub path: &'a str,
    /// 0 if unknown.
    pub bytes: u64,
    /// How the archive stores the member. `None` for files outside of archives, and in formats other than zip, tar
    /// and gzip.
    pub stored: Option<&'a StoredForm>,
}

pub type VisitEntry<'a> = &'a mut dyn FnMut(Entry<'_>, &mut dyn Read) -> Result<()>;

/// Same as [`of_directory`], but also passes to `visit` how archives store their members. If an archive exceeds a limit,
/// skips the rest of its members. Returns the path of each such archive and the exceeded limit.
pub fn of_directory_as_stored(
    root: &Path,
    resources: &Resources<'_>,
    visit: VisitEntry<'_>,
) -> Result<Vec<(String, LimitExceeded)>> {
    let mut exceeded = Vec::new();
    listing::walk(root, &mut |path, place, length| {
        let budget = resources.limits.budget(length);
        let mut walk = EntryWalk {
            forms: StoredForms::Read,
            visit: &mut *visit,
        };
        match walk.file(place, path, None, &ReadContext::new(resources, &budget)) {
            Err(ContentsError::Limit(limit)) => exceeded.push((path.to_owned(), limit)),
            visited => visited?,
        }
        Ok(())
    })?;
    Ok(exceeded)
}

/// Visits all files below a directory, sorted by path. Nested archives may be copied to a temporary directory.
pub fn of_directory(root: &Path, resources: &Resources<'_>, visit: VisitFile<'_>) -> Result<()> {
    listing::walk(root, &mut |path, place, _| {
        of_file(place, path, resources, &mut *visit)
    })
}

/// Visits a file or, if it is an archive, its members.
pub fn of_file(
    place: &Path,
    path: &str,
    resources: &Resources<'_>,
    visit: VisitFile<'_>,
) -> Result<()> {
    let length = place
        .metadata()
        .map_err(ContentsError::system_error(place))?
        .len();
    let budget = resources.limits.budget(length);
    let mut walk = EntryWalk {
        forms: StoredForms::Skip,
        visit: &mut |entry, content| visit(entry.path, entry.bytes, content),
    };
    walk.file(place, path, None, &ReadContext::new(resources, &budget))
}

struct EntryWalk<'a> {
    forms: StoredForms,
    visit: VisitEntry<'a>,
}

impl EntryWalk<'_> {
    /// Visits a file, or the members of an archive.
    fn file(
        &mut self,
        place: &Path,
        path: &str,
        stored: Option<&StoredForm>,
        context: &ReadContext<'_>,
    ) -> Result<()> {
        let entered = match ArchiveFormat::from_path(path) {
            None => false,
            Some(ArchiveFormat::Zip) => {
                let inside = context.inside()?;
                let (file, length) = open(place)?;
                self.zip(&file, 0..length, path, &inside)?
            }
            Some(format) => self.in_sequence(format, place, path, &context.inside()?)?,
        };
        if entered {
            return Ok(());
        }
        // Despite its name, the file is not an archive.
        let (file, bytes) = open(place)?;
        let entry = Entry {
            path,
            bytes,
            stored,
        };
        (self.visit)(entry, &mut BufReader::new(file))
    }

    /// Visits the members of a zip archive. Returns `false` for other files. Inner zip archives that are stored
    /// uncompressed are read in place. Other inner archives are copied.
    fn zip(
        &mut self,
        file: &File,
        range: Range<u64>,
        path: &str,
        context: &ReadContext<'_>,
    ) -> Result<bool> {
        let directory = ZipDirectory::read_with(file, range, context.budget, self.forms);
        let directory = match directory.map_err(ContentsError::classify) {
            Ok(directory) => directory,
            Err(ContentsError::Damaged(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let members = directory.iter().enumerate();
        for (index, one) in members.filter(|(_, one)| !one.is_directory) {
            let inner = format!("{path}/{}", one.path);
            let entry = one.to_entry();
            if ArchiveFormat::from_path(&inner) == Some(ArchiveFormat::Zip)
                && let Some(section) = entry.section(file).map_err(ContentsError::classify)?
                && self.zip(file, section, &inner, &context.inside()?)?
            {
                continue;
            }
            let mut reader = entry.open(file).map_err(ContentsError::classify)?;
            let entry = Entry {
                path: &inner,
                bytes: one.size,
                stored: directory.form(index),
            };
            self.member(entry, &mut reader, context)?;
        }
        Ok(true)
    }

    /// Visits the members of an archive from front to back. Returns `false` if the archive is unreadable before its first
    /// member. Damage after the first member is an error.
    fn in_sequence(
        &mut self,
        format: ArchiveFormat,
        place: &Path,
        path: &str,
        context: &ReadContext<'_>,
    ) -> Result<bool> {
        let mut members = 0_u64;
        let forms = self.forms;
        let mut each = |member: &Member<'_>, content: &mut dyn Read| {
            members += 1;
            let entry = Entry {
                path: &format!("{path}/{}", member.path),
                bytes: member.size.unwrap_or(0),
                stored: member.stored,
            };
            self.member(entry, content, context)
        };
        match visit_archive(format, place, path, context.budget, forms, &mut each) {
            Ok(()) => Ok(true),
            Err(ContentsError::Damaged(_)) if members == 0 => Ok(false),
            Err(ContentsError::Damaged(reason)) => {
                let reason = format!("`{path}` is damaged: {reason}");
                Err(ContentsError::Damaged(reason))
            }
            Err(error) => Err(error),
        }
    }

    /// Visits a member. If the member is an archive, copies it to a temporary file and visits its members instead.
    fn member(
        &mut self,
        entry: Entry<'_>,
        content: &mut dyn Read,
        context: &ReadContext<'_>,
    ) -> Result<()> {
        if ArchiveFormat::from_path(entry.path).is_some() {
            let copy = spool(content, context.resources)?;
            return self.file(&copy, entry.path, entry.stored, context);
        }
        (self.visit)(entry, content)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use prep_formats::limits::{DecodingLimits, Limit};
    use prep_formats::zip::{ZipMethod, ZipWriter};

    use super::*;

    fn tar(names: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        for name in names {
            let mut header = [0_u8; 512];
            let fields: [(usize, &[u8]); 6] = [
                (0, name.as_bytes()),
                (100, b"0000644\0"),
                (124, b"00000001130\0"),
                (148, b"        "),
                (156, b"0"),
                (257, b"ustar\x0000"),
            ];
            for (at, field) in fields {
                header[at..at + field.len()].copy_from_slice(field);
            }
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            out.extend(header);
            out.extend([b'x'; 600]);
            out.resize(out.len().next_multiple_of(512), 0);
        }
        out.resize(out.len() + 1024, 0);
        out
    }

    fn visited(name: &str, content: &[u8]) -> Result<Vec<(String, usize)>> {
        visited_within(DecodingLimits::default(), name, content)
    }

    fn visited_within(
        limits: DecodingLimits,
        name: &str,
        content: &[u8],
    ) -> Result<Vec<(String, usize)>> {
        let (directory, temp) = (tempfile::tempdir()?, tempfile::tempdir()?);
        std::fs::write(directory.path().join(name), content)?;
        let mut found = Vec::new();
        let resources = Resources {
            limits,
            temp: temp.path(),
        };
        let visited = of_directory(directory.path(), &resources, &mut |path, _, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found.push((path.to_owned(), bytes.len()));
            Ok(())
        });
        let left = temp.path().read_dir()?.count();
        assert_eq!(left, 0, "copies are removed");
        visited.map(|()| found)
    }

    #[test]
    fn members_of_archives_are_visited_unless_damaged() -> Result<()> {
        let whole = tar(&["a", "b"]);
        let both = [("t.tar/a".to_owned(), 600), ("t.tar/b".to_owned(), 600)];
        assert_eq!(visited("t.tar", &whole)?, both);
        assert_eq!(visited("t.tar", b"no tar")?, [("t.tar".to_owned(), 6)]);
        let cut = visited("t.tar", &whole[..2200]);
        assert!(
            matches!(cut, Err(ContentsError::Damaged(_))),
            "a part of an archive is not an archive"
        );
        Ok(())
    }

    fn nested(levels: usize) -> Vec<u8> {
        let mut content = b"x".to_vec();
        for level in 0..levels {
            let name = if level == 0 { "x" } else { "a.zip" };
            let mut writer = ZipWriter::new(Vec::new());
            let method = ZipMethod::Stored;
            writer.add_file(name, method, content.as_slice()).unwrap();
            content = writer.finish().unwrap();
        }
        content
    }

    fn gzipped(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn exceeded_limit(found: Result<Vec<(String, usize)>>) -> Option<Limit> {
        match found {
            Err(ContentsError::Limit(exceeded)) => Some(exceeded.limit),
            _ => None,
        }
    }

    #[test]
    fn nesting_limit_applies_to_all_kinds_of_archives() {
        assert_eq!(visited("a.zip", &nested(8)).unwrap().len(), 1);
        for levels in [9, 2000] {
            let found = visited("a.zip", &nested(levels));
            assert_eq!(exceeded_limit(found), Some(Limit::Nesting), "{levels}");
        }
        let mut packed = b"x".to_vec();
        let mut name = "x".to_owned();
        for _ in 0..9 {
            packed = gzipped(&packed);
            name += ".gz";
        }
        assert_eq!(
            exceeded_limit(visited(&name, &packed)),
            Some(Limit::Nesting)
        );
        assert_eq!(
            visited("x.gz.gz", b"x").unwrap(),
            [("x.gz.gz".to_owned(), 1)]
        );
        assert_eq!(
            visited("x.gz.gz", &gzipped(&gzipped(b"x"))).unwrap().len(),
            1
        );
    }

    /// A gzip file declares no length, and a sparse file declares a false one.
    #[test]
    fn archives_that_unpack_to_too_much_exceed_the_limit() {
        let limits = DecodingLimits {
            unpacked: 1 << 20,
            ratio: 10,
            ..DecodingLimits::default()
        };
        let bomb = gzipped(&vec![0; 16 << 20]);
        let found = visited_within(limits, "x.csv.gz", &bomb);
        assert_eq!(exceeded_limit(found), Some(Limit::Unpacked));
        // The limit of the outermost archive applies to all nested archives together.
        let found = visited_within(limits, "x.gz.gz", &gzipped(&bomb));
        assert_eq!(exceeded_limit(found), Some(Limit::Unpacked));
        let small = DecodingLimits {
            spooled: 1 << 20,
            ..DecodingLimits::default()
        };
        let found = visited_within(small, "x.zip.gz", &bomb);
        assert_eq!(exceeded_limit(found), Some(Limit::Spooled));
        assert_eq!(visited("x.csv.gz", &bomb).unwrap()[0].1, 16 << 20);
    }

    #[test]
    fn sparse_file_of_a_terabyte_exceeds_the_limit() {
        let mut sparse = tar(&["a"]);
        let mut set = |at: usize, text: &[u8]| {
            sparse[at..at + text.len()].copy_from_slice(text);
        };
        set(156, b"S");
        set(257, b"ustar  \0");
        // 1 TiB in base 256: the file's length, and the offset of its only piece, which is empty.
        let tebibyte = [0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
        set(124, b"00000000000\0");
        set(386, &tebibyte);
        set(398, b"00000000000\0");
        set(482, b"\0");
        set(483, &tebibyte);
        set(148, b"        ");
        let sum: u32 = sparse[..512].iter().map(|byte| u32::from(*byte)).sum();
        sparse[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let found = visited("a.tar", &sparse);
        assert_eq!(exceeded_limit(found), Some(Limit::Unpacked));
    }

    #[test]
    fn zip64_members_report_how_they_are_stored() {
        let zip64 = include_bytes!("../../formats/tests/data/archives/zip64.zip");
        let mut outer = ZipWriter::new(Vec::new());
        outer
            .add_file("in.zip", ZipMethod::Stored, &zip64[..])
            .unwrap();
        let (home, temp) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(home.path().join("a.zip"), zip64).unwrap();
        std::fs::write(home.path().join("b.zip"), outer.finish().unwrap()).unwrap();
        let resources = Resources {
            limits: DecodingLimits::default(),
            temp: temp.path(),
        };
        let mut found = Vec::new();
        let exceeded = of_directory_as_stored(home.path(), &resources, &mut |entry, content| {
            let mut text = String::new();
            content.read_to_string(&mut text)?;
            let form = entry
                .stored
                .map(|stored| stored.form.contains("made by 45"));
            found.push((entry.path.to_owned(), text, form));
            Ok(())
        });
        assert!(exceeded.unwrap().is_empty());
        let expected = [
            ("a.zip/a.txt", "stored"),
            ("a.zip/d/b.txt", "deflated"),
            ("b.zip/in.zip/a.txt", "stored"),
            ("b.zip/in.zip/d/b.txt", "deflated"),
        ];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned(), Some(true)));
        assert_eq!(found, expected);
    }
}
