//! Reads the content of a bundle: its tables, and patterns that match all other files.
//!
//! Zip archives inside the bundle are read, too, because a pipeline can read their members.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;

use prep_contents::Resources;
use prep_formats::image::is_image_name;
use prep_formats::limits::ArchiveBudget;
use prep_formats::read_at::ReadAt;
use prep_formats::zip::{ZipDirectory, ZipEntry};
use prep_spec::{path_part, without_extension};

use crate::table::{self, BundleTable, NotTable};
use crate::write::ANSWER_WORDS;

/// A table's values are dropped if the values of all tables would otherwise exceed this number of bytes.
const MAX_KEPT_BYTES: u64 = 96 << 20;
/// To infer the types of columns, at most this number of bytes is read from a table.
const MAX_READ_BYTES: u64 = 2 << 30;
/// An archive that is compressed inside the bundle is decompressed into memory. If it would need more bytes than
/// this, it is treated as a file.
const MAX_INNER_BYTES: u64 = 512 << 20;
/// Maximum nesting depth of archives in the bundle. Archives at a greater depth are treated as files.
const MAX_DEPTH: usize = 2;
/// Maximum number of tables in a directory. If a directory contains more tables, all of them are treated as files.
const MAX_TABLES: usize = 12;
/// For the comparison with ids, at most this number of file names is stored per group of files.
pub const MAX_NAMES: usize = 200_000;
/// Maximum number of directories that [`divided`] treats as separate groups of files.
const MAX_PARALLEL: usize = 6;

/// The content of a bundle.
#[derive(Debug, Default)]
pub struct BundleContent {
    pub(crate) md5: Option<String>,
    pub(crate) tables: Vec<BundleTable>,
    pub(crate) files: Vec<FileGroup>,
    /// Files that are named like tables but cannot be read, with the reason.
    pub(crate) unreadable: Vec<(String, String)>,
}

/// Files with the same suffix, in one directory and its subdirectories.
#[derive(Debug)]
pub(crate) struct FileGroup {
    /// The pattern with which a pipeline selects these files, such as `train/*/*.jpg`.
    pub pattern: String,
    /// The last part of the directory's path.
    pub folder: String,
    pub count: usize,
    pub names: HashSet<String>,
    /// The paths in the bundle.
    pub paths: HashSet<String>,
    /// Whether some files are in directories below this directory.
    pub is_nested: bool,
}

impl BundleContent {
    /// Reads the bundle in `file`. `bytes` is the length of `file`, and `entries` are the members of the bundle.
    pub fn read(
        file: &dyn ReadAt,
        bytes: u64,
        entries: &[ZipEntry],
        resources: &Resources<'_>,
    ) -> BundleContent {
        let mut walk = Walk {
            resources,
            budget: resources.limits.budget(bytes),
            kept_bytes: 0,
            found: Vec::new(),
        };
        walk.entries(file, entries, "", 0);
        sorted(walk.found)
    }

    /// Reads a bundle from its list of members and the first bytes of its tables.
    pub fn of_preview(
        entries: &[ZipEntry],
        fronts: &[(String, Vec<u8>)],
        md5: Option<String>,
        resources: &Resources<'_>,
    ) -> BundleContent {
        let files = entries.iter().filter(|entry| !entry.is_directory);
        let found = files.map(|entry| {
            let path = &entry.path;
            let front = fronts.iter().find(|(name, _)| name == path);
            let table = front.ok_or(None).and_then(|(_, front)| {
                let is_whole = front.len() as u64 == entry.size;
                let end = match is_whole {
                    true => front.len(),
                    false => memchr::memrchr(b'\n', front).ok_or(None)? + 1,
                };
                let front = front.get(..end).unwrap_or_default();
                table::read(path, &|| Ok(Box::new(front)), is_whole, resources)
            });
            (path.clone(), table)
        });
        BundleContent {
            md5,
            ..sorted(found.collect())
        }
    }
}

type FoundFiles = Vec<(String, Result<BundleTable, NotTable>)>;

struct Walk<'a> {
    resources: &'a Resources<'a>,
    /// Limits the members and bytes of all nested archives together.
    budget: ArchiveBudget,
    kept_bytes: u64,
    found: FoundFiles,
}

impl Walk<'_> {
    fn entries(&mut self, base: &dyn ReadAt, entries: &[ZipEntry], prefix: &str, depth: usize) {
        let mut tables: BTreeMap<&str, usize> = BTreeMap::new();
        let is_table = |entry: &&ZipEntry| table::format(&entry.path).is_some();
        for entry in entries.iter().filter(is_table) {
            *tables.entry(path_part(&entry.path, "dir")).or_default() += 1;
        }
        for entry in entries {
            if entry.is_directory || is_hidden(&entry.path) {
                continue;
            }
            let path = format!("{prefix}{}", entry.path);
            if is_zip(&path) && depth < MAX_DEPTH && self.enter(base, entry, &path, depth) {
                continue;
            }
            let open = || match entry.open(base) {
                Ok(member) => Ok(Box::new(member.take(MAX_READ_BYTES)) as Box<dyn Read>),
                Err(error) => Err(Some(error.to_string())),
            };
            let count = tables.get(path_part(&entry.path, "dir"));
            let table = match count.is_some_and(|count| *count <= MAX_TABLES) {
                true => table::read(&path, &open, entry.size <= MAX_READ_BYTES, self.resources),
                false => Err(None),
            };
            let table = table.map(|table| self.with_values(table));
            self.found.push((path, table));
        }
    }

    /// Drops the table's values if the values of all tables would exceed [`MAX_KEPT_BYTES`].
    fn with_values(&mut self, mut table: BundleTable) -> BundleTable {
        let kept_bytes = self.kept_bytes + table.value_bytes;
        if kept_bytes > MAX_KEPT_BYTES {
            table.value_bytes = 0;
            let columns = table.columns.iter_mut();
            columns.for_each(|column| column.values = None);
        } else {
            self.kept_bytes = kept_bytes;
        }
        table
    }

    /// Reads a nested archive. If the archive cannot be read, returns false, and the caller adds the archive as a file.
    fn enter(&mut self, base: &dyn ReadAt, entry: &ZipEntry, path: &str, depth: usize) -> bool {
        let mut list = |archive: &dyn ReadAt, range| {
            let Ok(listing) = ZipDirectory::read(archive, range, &self.budget) else {
                return false;
            };
            self.entries(archive, &listing.entries(), &format!("{path}/"), depth + 1);
            true
        };
        match entry.section(base) {
            Ok(Some(range)) => list(base, range),
            Ok(None) if entry.size <= MAX_INNER_BYTES => {
                let mut bytes = Vec::new();
                let member = entry.open(base);
                let read = member.map(|mut member| member.read_to_end(&mut bytes));
                matches!(read, Ok(Ok(_))) && list(&bytes, 0..bytes.len() as u64)
            }
            _ => false,
        }
    }
}

fn is_zip(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".zip")
}

fn is_hidden(path: &str) -> bool {
    path.split('/')
        .any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// Returns the reason why a file that probably contains a table cannot be read.
fn not_table(path: &str) -> NotTable {
    let reason = match path.to_ascii_lowercase().rsplit_once('.')? {
        (_, "xlsx" | "xls" | "ods") => "it is a spreadsheet; convert it to CSV",
        (inner, "gz" | "bz2" | "xz" | "zst") if table::format(inner).is_some() => {
            "it is compressed; decompress it before you create the bundle"
        }
        _ => return None,
    };
    Some(reason.to_owned())
}

fn sorted(found: FoundFiles) -> BundleContent {
    let mut bundle = BundleContent::default();
    let mut groups: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (path, table) in found {
        match table {
            Ok(table) => {
                bundle.tables.push(table);
                continue;
            }
            Err(reason) => {
                let reason = reason.or_else(|| not_table(&path));
                let reason = reason.map(|reason| (path.clone(), reason));
                bundle.unreadable.extend(reason);
            }
        }
        let key = (top(&path), path_part(&path, "ext").to_owned());
        groups.entry(key).or_default().push(path);
    }
    merge_formats(&mut groups);
    for ((top, suffix), paths) in groups {
        let divided = divided(top, paths).into_iter();
        let groups = divided.map(|(top, paths)| FileGroup::new(&top, &suffix, &paths));
        bundle.files.extend(groups);
    }
    bundle
}

/// Merges images of several formats in a directory. A mask is not merged with its image: they have the same path except for
/// the suffix, or the same name in another directory.
fn merge_formats(groups: &mut BTreeMap<(String, String), Vec<String>>) {
    let mut formats: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (top, suffix) in groups.keys() {
        if is_image_name(&format!("image.{suffix}")) {
            formats.entry(top.clone()).or_default().push(suffix.clone());
        }
    }
    for (top, suffixes) in formats
        .into_iter()
        .filter(|(_, suffixes)| suffixes.len() > 1)
    {
        let keys = suffixes.iter().map(|suffix| (top.clone(), suffix.clone()));
        let parts: Vec<_> = keys.clone().filter_map(|key| groups.get(&key)).collect();
        let folders = |paths: &Vec<String>| -> BTreeSet<String> {
            paths
                .iter()
                .map(|path| path_part(path, "dir").to_owned())
                .collect()
        };
        let first = parts.first().map(|paths| folders(paths));
        let is_parallel = parts.iter().all(|paths| Some(folders(paths)) == first);
        let stem = |path: &String| without_extension(path).to_owned();
        let merged: Vec<String> = parts.iter().copied().flatten().cloned().collect();
        let different = |stems: BTreeSet<String>| stems.len() == merged.len();
        let name = |path: &String| path_part(path, "stem").to_owned();
        if different(merged.iter().map(stem).collect())
            && (is_parallel || different(merged.iter().map(name).collect()))
        {
            keys.for_each(|key| drop(groups.remove(&key)));
            groups.insert((top, format!("{{{}}}", suffixes.join(","))), merged);
        }
    }
}

/// Divides the files below `top` into one group per directory, for example `images` and `masks`, if the directories
/// contain nearly the same file names. If their file names differ more, or if there are more than [`MAX_PARALLEL`]
/// directories, returns one group.
fn divided(top: String, paths: Vec<String>) -> Vec<(String, Vec<String>)> {
    let mut directories: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &paths {
        let files = directories
            .entry(path_part(path, "dir").to_owned())
            .or_default();
        files.push(path.clone());
    }
    let names: BTreeSet<_> = paths.iter().map(|path| path_part(path, "name")).collect();
    let is_parallel = |paths: &Vec<String>| paths.len() * 10 >= names.len() * 8;
    let is_few = (2..=MAX_PARALLEL).contains(&directories.len()) && names.len() > 1;
    match is_few && directories.values().all(is_parallel) {
        false => vec![(top, paths)],
        true => directories.into_iter().collect(),
    }
}

/// Returns the directory by which a file is grouped: the topmost directory of the file's path, such as `train` for
/// `train/a/1.jpg`. For a member of an archive, this is the archive's path and the topmost directory inside the archive,
/// such as `images.zip/train`. If a directory further down is called `train`, `test` or `val`, its path is
/// returned, such as `data/train` for `data/train/cat/1.jpg`. Otherwise `test` would become a class.
fn top(path: &str) -> String {
    let parts: Vec<&str> = path_part(path, "dir").split('/').collect();
    let archive = parts.iter().rposition(|part| is_zip(part));
    let archives = archive.map_or(0, |at| at + 1);
    let is_part = |name: &&str| PARTS.contains(&name.to_ascii_lowercase().as_str());
    let below = parts.iter().skip(archives).position(is_part).unwrap_or(0);
    parts.get(..=archives + below).unwrap_or(&parts).join("/")
}

/// A directory or archive whose name contains one of these words, or one of [`ANSWER_WORDS`], is not a class.
const PARTS: [&str; 3] = ["train", "test", "val"];

/// Returns whether a directory or an archive may be a class.
fn may_be_class(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = PARTS.iter().chain(&ANSWER_WORDS);
    !words.any(|word| name.contains(word))
}

impl BundleContent {
    /// Merges groups of files whose patterns differ only in the names of archives and of the last directory. These names are
    /// probably classes.
    pub(crate) fn merge_classes(&mut self) {
        let mut merged: BTreeMap<String, FileGroup> = BTreeMap::new();
        for files in std::mem::take(&mut self.files) {
            let pattern = files.of_classes();
            let Some(group) = merged.get_mut(&pattern) else {
                merged.insert(pattern, files);
                continue;
            };
            group.count += files.count;
            group.names.extend(files.names);
            group.paths.extend(files.paths);
            (group.folder, group.is_nested) = ("files".to_owned(), true);
            group.pattern = pattern;
        }
        self.files = merged.into_values().collect();
    }
}

impl FileGroup {
    /// Returns the pattern with wildcards instead of the names of archives and of the last directory.
    fn of_classes(&self) -> String {
        let zips = |part| match is_zip(part) && may_be_class(part) {
            true => "*.zip",
            false => part,
        };
        let mut parts: Vec<&str> = self.pattern.split('/').map(zips).collect();
        let start = parts.iter().rposition(|part| is_zip(part));
        let mut inside = parts
            .iter_mut()
            .skip(start.map_or(0, |archive| archive + 1));
        let class = inside.rfind(|part| !part.contains('*'));
        if let Some(class) = class.filter(|class| may_be_class(class)) {
            *class = "*";
        }
        parts.join("/")
    }

    fn new(top: &str, suffix: &str, paths: &[String]) -> FileGroup {
        let around = match top {
            "" => String::new(),
            top => format!("{top}/"),
        };
        let inside = paths.iter().filter_map(|path| path.get(around.len()..));
        let depths: HashSet<usize> = inside.map(|path| path.matches('/').count()).collect();
        let between = match (depths.len(), depths.iter().next()) {
            (1, Some(depth)) => "*/".repeat(*depth),
            _ => "**/".to_owned(),
        };
        let name = match suffix {
            "" => "*".to_owned(),
            suffix => format!("*.{suffix}"),
        };
        let names = paths.iter().take(MAX_NAMES);
        let names = names.map(|path| path_part(path, "name"));
        FileGroup {
            pattern: format!("{}{between}{name}", escaped(&around)),
            folder: path_part(top, "name").to_owned(),
            count: paths.len(),
            names: names.map(str::to_owned).collect(),
            paths: paths.iter().take(MAX_NAMES).cloned().collect(),
            is_nested: depths != HashSet::from([0]),
        }
    }
}

fn escaped(path: &str) -> String {
    let mut out = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' => out.extend(['[', c, ']']),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use prep_contents::DecodingLimits;
    use prep_formats::zip::{ZipMethod, ZipWriter};

    use super::*;

    fn zip(name: &str, count: usize, content: &[u8]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Vec::new());
        for number in 0..count {
            let name = name.replace('#', &number.to_string());
            let method = ZipMethod::Deflate;
            writer.add_file(&name, method, content).unwrap();
        }
        writer.finish().unwrap()
    }

    /// Regression test: with a budget for each nested archive, a bundle of 40 kB took a minute.
    #[test]
    fn nested_archives_share_the_budget_of_the_bundle() {
        let inner = zip("#/t.csv", 10, b"id,x\n1,2\n");
        let bundle = zip("#.zip", 10, &inner);
        let bytes = bundle.len() as u64;
        let temp = tempfile::tempdir().unwrap();
        let tables = |members| {
            let limits = DecodingLimits {
                members,
                ..DecodingLimits::default()
            };
            let listing = ZipDirectory::read(&bundle, 0..bytes, &limits.budget(bytes)).unwrap();
            let temp = temp.path();
            let resources = Resources { limits, temp };
            let content = BundleContent::read(&bundle, bytes, &listing.entries(), &resources);
            content.tables.len()
        };
        assert_eq!(tables(1_000), 100);
        assert_eq!(tables(45), 40);
    }

    #[test]
    fn files_are_grouped_by_the_topmost_or_the_train_or_test_directory() {
        for (path, expected) in [
            ("1.jpg", ""),
            ("train/cat/1.jpg", "train"),
            ("data/cat/1.jpg", "data"),
            ("data/train/cat/1.jpg", "data/train"),
            ("data/Test/1.jpg", "data/Test"),
            ("a.zip/images/test/x/1.jpg", "a.zip/images/test"),
            ("a.zip/images/testimony/1.jpg", "a.zip/images"),
        ] {
            assert_eq!(top(path), expected);
        }
    }

    #[test]
    fn values_beyond_the_limit_are_dropped() {
        let temp = tempfile::tempdir().unwrap();
        let limits = DecodingLimits::default();
        let resources = Resources {
            limits,
            temp: temp.path(),
        };
        let mut walk = Walk {
            resources: &resources,
            budget: limits.budget(0),
            kept_bytes: MAX_KEPT_BYTES - 30,
            found: Vec::new(),
        };
        let mut bytes_of_values = |text: &str| {
            let open = || Ok(Box::new(text.as_bytes()) as Box<dyn Read>);
            let table = table::read("t.csv", &open, true, &resources).unwrap();
            let table = walk.with_values(table);
            assert_eq!((table.rows, table.columns.len()), (4, 1));
            (table.value_bytes, table.texts("id").is_some())
        };
        let text = "id\n1\n2\n3\n4\n";
        assert_eq!(bytes_of_values(text), (11, true));
        assert_eq!(
            bytes_of_values("id\n100000\n200000\n300000\n4\n"),
            (0, false)
        );
        assert_eq!(bytes_of_values(text), (11, true));
    }

    #[test]
    fn directories_and_archives_that_may_be_classes_are_merged() {
        for (paths, expected) in [
            (&["a/1.x", "b/1.x"][..], &[("*/*.x", 2)][..]),
            (&["d/a.zip/1.x", "d/b.zip/1.x"], &[("d/*.zip/*.x", 2)]),
            (
                &["1.zip/a/1.x", "1.zip/b/1.x", "2.zip/a/2.x", "2.zip/b/2.x"],
                &[("*.zip/*/*.x", 4)],
            ),
            (
                &["m/p/1.x", "m/q/1.x", "m/p/2.x", "m/q/2.x"],
                &[("m/*/*.x", 4)],
            ),
            (
                &["train/a/1.x", "train/b/1.x", "test/2.x"],
                &[("test/*.x", 1), ("train/*/*.x", 2)],
            ),
            (
                &["train.zip/a/1.x", "train.zip/b/1.x", "test.zip/a/1.x"],
                &[("test.zip/a/*.x", 1), ("train.zip/*/*.x", 2)],
            ),
            (
                &["train/1.x", "test/1.x"],
                &[("test/*.x", 1), ("train/*.x", 1)],
            ),
            (
                &["images/1.x", "masks/1.x"],
                &[("images/*.x", 1), ("masks/*.x", 1)],
            ),
        ] {
            let found = paths.iter().map(|path| ((*path).to_owned(), Err(None)));
            let mut content = sorted(found.collect());
            content.merge_classes();
            let files = content.files.iter();
            let files: Vec<_> = files
                .map(|files| (files.pattern.as_str(), files.count))
                .collect();
            assert_eq!(files, expected, "{paths:?}");
        }
    }

    #[test]
    fn files_are_grouped_by_directory_and_suffix() {
        let group = |paths: &[&str]| {
            let found = paths.iter().map(|path| ((*path).to_owned(), Err(None)));
            let files = sorted(found.collect()).files.into_iter();
            files
                .map(|files| (files.pattern, files.count))
                .collect::<Vec<_>>()
        };
        for (paths, expected) in [
            (
                &["a/1.x", "a/2.x", "3.x"][..],
                &[("*.x", 1), ("a/*.x", 2)][..],
            ),
            (&["a/b/1.x", "a/c/2.x"], &[("a/*/*.x", 2)]),
            (
                &["a/1.x", "a/b/2.x", "a/b/3"],
                &[("a/*/*", 1), ("a/**/*.x", 2)],
            ),
            (&["b.zip/a/1.x", "b.zip/a/c/2.x"], &[("b.zip/a/**/*.x", 2)]),
            (
                &["d/a.zip/p/1.x", "d/a.zip/p/2.x", "d/b.zip/p/3.x"],
                &[("d/a.zip/p/*.x", 2), ("d/b.zip/p/*.x", 1)],
            ),
            (&["p/1.jpg", "p/2.JPG"], &[("p/*.{JPG,jpg}", 2)]),
            (&["p/1.jpg", "p/1.png"], &[("p/*.jpg", 1), ("p/*.png", 1)]),
            (
                &["m/p/1.jpg", "m/q/1.png"],
                &[("m/*/*.jpg", 1), ("m/*/*.png", 1)],
            ),
            (
                &["m/p/1.x", "m/p/2.x", "m/q[/1.x", "m/q[/2.x"],
                &[("m/p/*.x", 2), ("m/q[[]/*.x", 2)],
            ),
        ] {
            let expected = expected
                .iter()
                .map(|(pattern, count)| ((*pattern).to_owned(), *count));
            assert_eq!(group(paths), expected.collect::<Vec<_>>(), "{paths:?}");
        }
    }
}
