//! Visits all files of a directory or a bundle, and the members of the archives among them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;

use prep_formats::limits::LimitExceeded;
use prep_formats::zip::EntryKind;

use crate::archive::{self, Archive};
use crate::error::{ContentsError, Result};
use crate::listing;
use crate::packing::{self, Packed};
use crate::read::spool;
use crate::{ReadContext, Resources};

/// Receives a file: its path (in which archives are directories), its length if known, and its content.
pub type VisitFile<'a> = &'a mut dyn FnMut(&str, u64, &mut dyn Read) -> Result<()>;

/// A file or a member of an archive, before it is read.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The path of the file, in which archives are directories.
    pub path: &'a str,
    /// The length of the file, if known.
    pub bytes: u64,
    /// How the archive stores the member. `None` for files outside of archives, and for formats other than zip, tar and
    /// gzip.
    pub packed: Option<&'a Packed>,
}

/// Receives a file and its content.
pub type VisitEntry<'a> = &'a mut dyn FnMut(Entry<'_>, &mut dyn Read) -> Result<()>;

/// Like [`of_directory`], but also passes how archives store their members. Visits only a part of an archive that exceeds
/// a limit, and returns these archives.
///
/// # Errors
/// Same as [`of_directory`].
pub fn of_directory_as_stored(
    root: &Path,
    resources: &Resources<'_>,
    visit: VisitEntry<'_>,
) -> Result<Vec<(String, LimitExceeded)>> {
    let mut exceeded = Vec::new();
    listing::walk(root, &mut |path, place, length| {
        let budget = resources.limits.budget(length);
        let mut walk = Walk {
            looks_at_packing: true,
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

/// Visits all files below a directory, in the order of their paths. Archives in archives are copied to a temporary directory
/// while they are read, unless they can be read in place.
///
/// # Errors
/// If a file cannot be read. Also returns errors from `visit`.
pub fn of_directory(root: &Path, resources: &Resources<'_>, visit: VisitFile<'_>) -> Result<()> {
    listing::walk(root, &mut |path, place, _| {
        of_file(place, path, resources, &mut *visit)
    })
}

/// Visits a file or, if it is an archive, its members.
///
/// # Errors
/// Same as [`of_directory`].
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
    let mut walk = Walk {
        looks_at_packing: false,
        visit: &mut |entry, content| visit(entry.path, entry.bytes, content),
    };
    walk.file(place, path, None, &ReadContext::new(resources, &budget))
}

/// Options for visiting one file and the archives nested in it.
struct Walk<'a> {
    /// Whether to read from directories and headers of archives how members are stored.
    looks_at_packing: bool,
    visit: VisitEntry<'a>,
}

impl Walk<'_> {
    fn file(
        &mut self,
        place: &Path,
        path: &str,
        packed: Option<&Packed>,
        context: &ReadContext<'_>,
    ) -> Result<()> {
        let at = ContentsError::system_error(place);
        let entered = match Archive::from_path(path) {
            None => false,
            Some(kind) => {
                let inside = context.inside()?;
                match kind {
                    Archive::Zip => {
                        let file = File::open(place).map_err(&at)?;
                        let length = file.metadata().map_err(&at)?.len();
                        self.zip(&file, 0..length, path, &inside)?
                    }
                    kind => self.in_sequence(kind, place, path, &inside)?,
                }
            }
        };
        if entered {
            return Ok(());
        }
        // If the file is not an archive, despite its name, visit it as a file.
        let file = File::open(place).map_err(&at)?;
        let length = file.metadata().map_err(&at)?.len();
        let entry = Entry {
            path,
            bytes: length,
            packed,
        };
        (self.visit)(entry, &mut BufReader::new(file))
    }

    /// Visits the members if the file is a zip archive. Returns whether it is.
    fn zip(
        &mut self,
        file: &File,
        range: Range<u64>,
        path: &str,
        context: &ReadContext<'_>,
    ) -> Result<bool> {
        let directory = match archive::directory(file, range.clone(), context.budget) {
            Ok(directory) => directory,
            Err(ContentsError::Damaged(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let packed = match self.looks_at_packing {
            true => by_name(packing::of_zip(file, range)?),
            false => HashMap::new(),
        };
        for one in directory.iter().filter(|one| one.kind == EntryKind::File) {
            let inner = format!("{path}/{}", one.path);
            let entry = one.to_entry();
            if Archive::from_path(&inner) == Some(Archive::Zip)
                && let Some(stretch) = entry.section(file).map_err(ContentsError::classify)?
                && self.zip(file, stretch, &inner, &context.inside()?)?
            {
                continue;
            }
            let mut reader = entry.open(file).map_err(ContentsError::classify)?;
            let entry = Entry {
                path: &inner,
                bytes: one.size,
                packed: packed.get(one.path),
            };
            self.member(entry, &mut reader, context)?;
        }
        Ok(true)
    }

    /// Visits the members if the file is an archive of this kind. Returns whether it is. An archive that is damaged
    /// after its first file is an error.
    fn in_sequence(
        &mut self,
        kind: Archive,
        place: &Path,
        path: &str,
        context: &ReadContext<'_>,
    ) -> Result<bool> {
        let mut members = 0_u64;
        let packed = match (self.looks_at_packing, kind) {
            (true, Archive::Tar) => by_name(packing::of_tar(place, &context.resources.limits)?),
            _ => HashMap::new(),
        };
        let of_gzip = match (self.looks_at_packing, kind) {
            (true, Archive::Gzip) => packing::of_gzip(place)?,
            _ => None,
        };
        let outcome = kind.visit(
            place,
            path,
            context.budget,
            &mut |inner, length, content| {
                members += 1;
                let entry = Entry {
                    path: &format!("{path}/{inner}"),
                    bytes: length.unwrap_or(0),
                    packed: packed.get(inner).or(of_gzip.as_ref()),
                };
                self.member(entry, content, context)
            },
        );
        match outcome {
            Ok(()) => Ok(true),
            Err(ContentsError::Damaged(_)) if members == 0 => Ok(false),
            Err(ContentsError::Damaged(reason)) => {
                let reason = format!("`{path}` is damaged: {reason}");
                Err(ContentsError::Damaged(reason))
            }
            Err(error) => Err(error),
        }
    }

    /// Visits a member. If it is an archive, visits its members instead.
    fn member(
        &mut self,
        entry: Entry<'_>,
        content: &mut dyn Read,
        context: &ReadContext<'_>,
    ) -> Result<()> {
        if Archive::from_path(entry.path).is_some() {
            let copy = spool(content, context.resources)?;
            return self.file(&copy, entry.path, entry.packed, context);
        }
        (self.visit)(entry, content)
    }
}

fn by_name(packed: Vec<Packed>) -> HashMap<String, Packed> {
    let named = packed.into_iter().map(|one| (one.name.clone(), one));
    named.collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use prep_formats::limits::{DecodingLimits, Limit};
    use prep_formats::zip::{ZipMethod, ZipWriter};

    use super::*;

    /// Returns a tar archive of files of 600 bytes.
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
        // Truncated within the second file.
        let cut = visited("t.tar", &whole[..2200]);
        assert!(
            matches!(cut, Err(ContentsError::Damaged(_))),
            "a part of an archive is not an archive"
        );
        Ok(())
    }

    /// Returns nested zip archives without compression.
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
        // An uncompressed file is visited as a file, despite its name.
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
        // Compressed twice: the limit of the outermost archive applies to all nested archives together.
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

    /// A GNU sparse header that declares a terabyte, of which no byte is stored.
    #[test]
    fn sparse_file_of_a_terabyte_exceeds_the_limit() {
        let mut sparse = tar(&["a"]);
        let mut set = |at: usize, text: &[u8]| {
            sparse[at..at + text.len()].copy_from_slice(text);
        };
        set(156, b"S");
        set(257, b"ustar  \0");
        // 1 TiB in base 256, used as the length and as the offset of the only piece, which is empty.
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
}
