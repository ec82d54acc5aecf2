//! Compares two directories: their files, the members of archives, and the rows and cells of tables.
//!
//! The crate `prep-contents` reads the files, and pairs each row of the old table with a row of the new table. Values are
//! reported as they are in the file, never rounded.

mod tables;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use prep_contents::listing::Listing;
use prep_contents::members::{ArchiveComparison, MemberDifference};
use prep_contents::read::Bytes;
use prep_contents::{
    ArchiveFormat, ContentsError, Format, ReadContext, Resources, Result, members, parallel, read,
};
use serde::Serialize;

pub use tables::{ChangedCell, Counts, TableDifference, tables};

#[derive(Debug, Clone, Copy)]
pub struct DiffOptions<'a> {
    /// Maximum number of files that are compared at the same time.
    pub threads: usize,
    /// Limits for reading the files, and the directory for temporary copies.
    pub resources: Resources<'a>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileDifference {
    /// Path relative to the directory. A member of an archive is listed as a file below the archive's path.
    pub path: String,
    /// Lengths of the old and the new file. `None` if the file does not exist on that side.
    pub bytes: [Option<u64>; 2],
    /// The path in the new directory, if the file was renamed without a change of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// The differences of the tables, if both files are tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<TableDifference>,
}

impl FileDifference {
    pub fn new(path: impl Into<String>, bytes: [Option<u64>; 2]) -> FileDifference {
        FileDifference {
            path: path.into(),
            bytes,
            renamed_to: None,
            table: None,
        }
    }
}

/// Compares two directories. A missing directory is treated as empty. A damaged file is reported as a difference, not as
/// an error.
pub fn directories(
    old: &Path,
    new: &Path,
    options: &DiffOptions<'_>,
) -> Result<Vec<FileDifference>> {
    let (before, after) = (listing(old)?, listing(new)?);
    let common = before.common(&after);
    let compared = parallel::try_map(&common, options.threads, |path| {
        two_files(path, &old.join(path), &new.join(path), options)
    })?;
    let mut found: Vec<FileDifference> = compared.into_iter().flatten().collect();
    found.extend(one_sided(old, &before, new, &after)?);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

fn listing(directory: &Path) -> Result<Listing> {
    match directory.is_dir() {
        true => Listing::read(directory),
        false => Ok(Listing::default()),
    }
}

/// Returns the files that exist in one directory only. If a removed and an added file have equal content, they are
/// reported as one renamed file.
fn one_sided(
    old: &Path,
    before: &Listing,
    new: &Path,
    after: &Listing,
) -> Result<Vec<FileDifference>> {
    let (removed, mut added) = (before.missing_from(after), after.missing_from(before));
    // Only files whose length occurs on both sides are read.
    let lengths: HashSet<u64> = removed.values().copied().collect();
    let mut by_content: HashMap<blake3::Hash, Vec<String>> = HashMap::new();
    let mut read_lengths = HashSet::new();
    // In reverse order, because `Vec::pop` below takes the path that was pushed last.
    for (path, length) in added.iter().rev() {
        if lengths.contains(length) {
            let hash = read::content(&new.join(path))?;
            by_content.entry(hash).or_default().push(path.clone());
            read_lengths.insert(*length);
        }
    }
    let mut found = Vec::new();
    for (path, length) in removed {
        let mut difference = FileDifference::new(path, [Some(length), None]);
        if read_lengths.contains(&length) {
            let hash = read::content(&old.join(&difference.path))?;
            difference.renamed_to = by_content.get_mut(&hash).and_then(Vec::pop);
        }
        if let Some(new_path) = &difference.renamed_to {
            added.remove(new_path);
        }
        found.push(difference);
    }
    let as_added = |(path, length)| FileDifference::new(path, [None, Some(length)]);
    found.extend(added.into_iter().map(as_added));
    Ok(found)
}

/// Compares the files `old` and `new`. The returned differences name the file `path`, and its members below this path.
pub fn two_files(
    path: &str,
    old: &Path,
    new: &Path,
    options: &DiffOptions<'_>,
) -> Result<Vec<FileDifference>> {
    let budget = options.resources.comparison_budget(old, new)?;
    let context = ReadContext::new(&options.resources, &budget);
    files(path, old, new, &context)
}

/// Same as [`two_files`], for files that may be members of archives. If an archive is nested too deeply, only its bytes are
/// compared.
fn files(
    path: &str,
    old: &Path,
    new: &Path,
    context: &ReadContext<'_>,
) -> Result<Vec<FileDifference>> {
    if read::compare(old, new)? == Bytes::Equal {
        return Ok(Vec::new());
    }
    let length = |path: &Path| -> Result<u64> {
        Ok(path
            .metadata()
            .map_err(ContentsError::system_error(path))?
            .len())
    };
    let mut difference = FileDifference::new(path, [Some(length(old)?), Some(length(new)?)]);
    if ArchiveFormat::from_path(path).is_some()
        && let Ok(inside) = context.inside()
        && let Some(found) = archives(path, old, new, &inside)?
    {
        return Ok(found);
    }
    if let Some(format) = Format::from_path(path).filter(|format| *format != Format::Lines) {
        // If the name is that of a table but the content is not, only the bytes are compared.
        difference.table = match tables(old, new, format, &context.resources.limits) {
            Ok(table) => Some(table),
            Err(error) if error.is_of_the_system() => return Err(error),
            Err(_) => None,
        };
    }
    Ok(vec![difference])
}

/// Compares the members of two archives. If no member differs, for example because only the compression differs,
/// returns `None`. Also returns `None` if one of the files cannot be read as an archive.
fn archives(
    path: &str,
    old: &Path,
    new: &Path,
    context: &ReadContext<'_>,
) -> Result<Option<Vec<FileDifference>>> {
    let mut found = BTreeMap::new();
    // In `members::compare`, `theirs` is the new archive here and `ours` the old one. So a member that only `ours` contains
    // (`OnlyHere`) was removed.
    let compared = members::compare(path, new, old, context, &mut |name, member| {
        let inner = format!("{path}/{name}");
        let mut add = |difference: FileDifference| {
            found.insert(difference.path.clone(), difference);
        };
        match member {
            MemberDifference::OnlyHere { size } => {
                add(FileDifference::new(inner, [Some(size), None]))
            }
            MemberDifference::OnlyThere { size } => {
                add(FileDifference::new(inner, [None, Some(size)]))
            }
            MemberDifference::Renamed { there, size } => {
                let mut difference = FileDifference::new(inner, [Some(size), None]);
                difference.renamed_to = Some(format!("{path}/{there}"));
                add(difference);
            }
            MemberDifference::Swapped {
                there,
                theirs,
                ours,
            } => {
                let mut difference = FileDifference::new(inner, [Some(ours), Some(theirs)]);
                difference.renamed_to = Some(format!("{path}/{there}"));
                add(difference);
            }
            MemberDifference::Differ { theirs, ours } => {
                for difference in files(&inner, ours, theirs, context)? {
                    add(difference);
                }
            }
        }
        Ok(())
    });
    match compared {
        Ok(ArchiveComparison::Compared(_)) if !found.is_empty() => {
            Ok(Some(found.into_values().collect()))
        }
        Err(error) if error.is_of_the_system() => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod directories_tests {
    use std::fs;

    use super::*;

    #[test]
    fn added_removed_renamed_and_changed_files_are_reported() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/same.txt", "1");
        write("b/same.txt", "1");
        write("a/gone.txt", "22");
        write("b/new.txt", "333");
        write("a/before.bin", "content");
        write("b/after.bin", "content");
        write("a/t.csv", "id,x\n1,a\n2,b\n");
        write("b/t.csv", "id,x\n1,a\n2,c\n");
        let temp = root.path().join("temp");
        let options = DiffOptions {
            threads: 2,
            resources: Resources {
                limits: prep_contents::DecodingLimits::default(),
                temp: &temp,
            },
        };
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        let found = directories(&a, &b, &options).unwrap();
        let short: Vec<(&str, [Option<u64>; 2])> = found
            .iter()
            .map(|difference| (difference.path.as_str(), difference.bytes))
            .collect();
        assert_eq!(
            short,
            [
                ("before.bin", [Some(7), None]),
                ("gone.txt", [Some(2), None]),
                ("new.txt", [None, Some(3)]),
                ("t.csv", [Some(13), Some(13)]),
            ]
        );
        assert_eq!(found[0].renamed_to.as_deref(), Some("after.bin"));
        assert_eq!(found[3].table.as_ref().unwrap().cells[0].new, "c");
        assert_eq!(directories(&a, &a, &options).unwrap(), []);
    }

    /// Regression test: each nested archive had its own budget, so a file of a few kilobytes could contain millions of
    /// members.
    #[test]
    fn nested_archives_share_the_budget_for_members() {
        use prep_formats::zip::{ZipMethod, ZipWriter};

        let nested = |version: &str| {
            let mut content = version.as_bytes().to_vec();
            for level in 0..6 {
                let mut writer = ZipWriter::new(Vec::new());
                for number in 0..4 {
                    let name = format!("{number}.{}", ["txt", "zip"][level.min(1)]);
                    let method = ZipMethod::Deflate;
                    writer.add_file(&name, method, content.as_slice()).unwrap();
                }
                content = writer.finish().unwrap();
            }
            content
        };
        let root = tempfile::tempdir().unwrap();
        let paths = ["old", "new"].map(|name| root.path().join(name));
        for path in &paths {
            fs::write(path, nested(&path.to_string_lossy())).unwrap();
        }
        let temp = root.path().join("temp");
        let compare = |members| {
            let limits = prep_contents::DecodingLimits {
                members,
                ..prep_contents::DecodingLimits::default()
            };
            let resources = Resources {
                limits,
                temp: &temp,
            };
            let options = DiffOptions {
                threads: 1,
                resources,
            };
            two_files("a.zip", &paths[0], &paths[1], &options).unwrap()
        };
        assert_eq!(compare(1 << 20).len(), 4_usize.pow(6));
        assert!(compare(500).len() < 500);
    }
}
