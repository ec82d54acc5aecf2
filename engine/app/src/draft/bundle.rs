//! Reads the content of a bundle: tables with their columns, and all other files by pattern.
//!
//! Nested zips are read, as pipelines read them. If a directory has many tables of one kind, they are treated as files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::path::Path;

use prep_fetch::BundlePreview;
use prep_formats::latin1::Latin1Reader;
use prep_formats::limits::{ArchiveBudget, DecodingLimits};
use prep_formats::pandas::{
    ColumnSchema, ColumnType, CsvError, CsvScanner, Frame, ReadOptions, read_frame,
};
use prep_formats::read_at::ReadAt;
use prep_formats::zip::{ZipDirectory, ZipEntry};

use super::guess::texts;
use super::records::{is_records, records};
use crate::bundles;
use crate::error::Error;

/// Maximum bytes of a table that are read on Kaggle.
pub const MAX_PREVIEW_BYTES: usize = 1 << 20;
/// Maximum bytes of a table whose values are inspected.
const MAX_VALUE_BYTES: usize = 24 << 20;
/// Maximum bytes of the values of all tables.
const MAX_KEPT_BYTES: u64 = 96 << 20;
/// Maximum bytes of a table that are read for its types.
const MAX_READ_BYTES: u64 = 2 << 30;
/// Maximum bytes of a deflated archive inside the bundle that are held in memory.
const MAX_INNER_BYTES: u64 = 512 << 20;
/// Maximum number of tables in a directory. If there are more, they are treated as files.
const MAX_TABLES: usize = 12;
/// Maximum number of file names that are stored to compare with identifiers.
pub const MAX_NAMES: usize = 200_000;
/// Maximum number of directories whose files have the same names.
const MAX_PARALLEL: usize = 6;
/// Bytes of a table from which the delimiter is inferred.
const SNIFFED_BYTES: u64 = 1 << 18;
/// Lines of a table from which the delimiter is inferred.
const SNIFFED_LINES: usize = 100;

/// A bundle.
#[derive(Debug, Default)]
pub struct BundleContent {
    pub md5: Option<String>,
    pub tables: Vec<CsvFile>,
    pub files: Vec<FileGroup>,
    /// Files that should be tables by their names, and why they cannot be read.
    pub unreadable: Vec<(String, String)>,
}

/// A CSV file.
#[derive(Debug)]
pub struct CsvFile {
    /// Its path in a pipeline: `train.zip/train.csv`.
    pub path: String,
    pub columns: Vec<ColumnSchema>,
    pub rows: u64,
    /// Its first rows.
    pub frame: Frame,
    /// Bytes of the text of these rows. 0 if the values were dropped because of their memory.
    pub value_bytes: u64,
    /// Whether columns and rows are those of the entire file.
    pub whole: bool,
    pub delimiter: u8,
    /// Whether the file is not in UTF-8.
    pub is_latin1: bool,
    /// Types and place of the rows, for files other than CSV.
    pub declared: Option<TableDeclaration>,
}

/// The declaration of a table that is not CSV.
#[derive(Debug, Default)]
pub struct TableDeclaration {
    /// The types of the columns.
    pub kinds: BTreeMap<String, &'static str>,
    /// Columns that can be written only as text: times and lists of Parquet.
    pub as_text: Vec<String>,
    /// The member of the JSON object with the rows.
    pub at: Option<String>,
    /// Whether the file has one JSON value per line although its name does not end in `.jsonl`.
    pub is_lines: bool,
}

/// Files of one directory and suffix.
#[derive(Debug)]
pub struct FileGroup {
    /// Their pattern in a pipeline: `train/*/*.jpg`.
    pub pattern: String,
    /// The last part of the directory.
    pub folder: String,
    pub count: usize,
    pub names: HashSet<String>,
    /// Whether they are in several directories below that one.
    pub nested: bool,
}

impl BundleContent {
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.files.is_empty()
    }
}

impl CsvFile {
    /// The file's name in lower case, without its suffix.
    pub fn stem(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.split('.').next().unwrap_or_default().to_lowercase()
    }

    pub fn column(&self, name: &str) -> Option<&ColumnSchema> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }
}

/// Returns whether a member is read for its columns.
pub fn is_table(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".csv") || path.ends_with(".tsv") || is_records(&path)
}

/// Reads the bundle in a file.
///
/// # Errors
/// When the file cannot be read, or is not a zip archive.
pub fn local(path: &Path, limits: &DecodingLimits) -> Result<BundleContent, Error> {
    let (file, bytes, entries) = bundles::list(path, limits)?;
    let mut walk = Walk {
        limits,
        budget: limits.budget(bytes),
        kept_bytes: 0,
        found: Vec::new(),
    };
    walk.entries(&file, entries, "", 0);
    Ok(sorted(walk.found, None))
}

/// Reads a bundle on Kaggle: its listing, and the beginning of its tables.
pub fn remote(looked: &BundlePreview, limits: &DecodingLimits) -> BundleContent {
    let found = looked
        .zip
        .entries
        .iter()
        .filter(|entry| !entry.is_directory);
    let found = found.map(|entry| {
        let front = looked.fronts.iter().find(|(path, _)| *path == entry.path);
        FileList {
            path: entry.path.clone(),
            table: front.map_or(Err(NoTable::Other), |(path, front)| {
                let end = front
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map(|end| end + 1);
                let whole = front.len() as u64 == entry.size;
                let front = if whole {
                    Some(&**front)
                } else {
                    end.and_then(|end| front.get(..end))
                };
                let front = front.ok_or(NoTable::Other)?;
                let open = || Ok(Box::new(front) as Box<dyn Read>);
                table_of(path, &open, whole, limits)
            }),
        }
    });
    sorted(found.collect(), looked.zip.md5.clone())
}

/// Returns the path of a file in a pipeline.
struct FileList {
    path: String,
    table: FoundTable,
}

type FoundTable = Result<CsvFile, NoTable>;

/// Why a file is not a table.
pub enum NoTable {
    /// Its name or its content is not that of a table.
    Other,
    /// Its name is that of a CSV file, but the file cannot be read.
    Unreadable(String),
    /// It is a CSV file that is not in UTF-8.
    NotUtf8,
}

impl From<std::io::Error> for NoTable {
    fn from(error: std::io::Error) -> NoTable {
        NoTable::Unreadable(error.to_string())
    }
}

impl From<CsvError> for NoTable {
    fn from(error: CsvError) -> NoTable {
        match error {
            CsvError::InvalidUtf8 { .. } => NoTable::NotUtf8,
            other => NoTable::Unreadable(other.to_string()),
        }
    }
}

/// A walk through a bundle and the archives within it.
struct Walk<'a> {
    limits: &'a DecodingLimits,
    /// The members and bytes of all archives within the bundle.
    budget: ArchiveBudget,
    /// Bytes of the values that are kept.
    kept_bytes: u64,
    found: Vec<FileList>,
}

impl Walk<'_> {
    fn entries(&mut self, base: &dyn ReadAt, entries: Vec<ZipEntry>, prefix: &str, depth: usize) {
        let mut tables: BTreeMap<String, usize> = BTreeMap::new();
        let folder = |path: &str| {
            path.rsplit_once('/')
                .map_or("", |(folder, _)| folder)
                .to_owned()
        };
        for entry in entries.iter().filter(|entry| is_table(&entry.path)) {
            *tables.entry(folder(&entry.path)).or_default() += 1;
        }
        for entry in entries {
            if entry.is_directory || is_hidden(&entry.path) {
                continue;
            }
            let path = format!("{prefix}{}", entry.path);
            if entry.path.to_ascii_lowercase().ends_with(".zip")
                && depth < 2
                && self.enter(base, &entry, &path, depth)
            {
                continue;
            }
            let few = tables
                .get(&folder(&entry.path))
                .is_some_and(|count| *count <= MAX_TABLES);
            let open = || match entry.open(base) {
                Ok(member) => Ok(Box::new(member.take(MAX_READ_BYTES)) as Box<dyn Read>),
                Err(error) => Err(NoTable::Unreadable(error.to_string())),
            };
            let whole = entry.size <= MAX_READ_BYTES;
            let table = match is_table(&path) && few {
                true => table_of(&path, &open, whole, self.limits),
                false => Err(NoTable::Other),
            };
            let table = table.map(|table| self.with_values(table));
            self.found.push(FileList { path, table });
        }
    }

    /// Returns the table without its values if those of the earlier tables take all memory for values.
    fn with_values(&mut self, table: CsvFile) -> CsvFile {
        let kept_bytes = self.kept_bytes + table.value_bytes;
        if kept_bytes > MAX_KEPT_BYTES {
            return CsvFile {
                frame: Frame::default(),
                value_bytes: 0,
                ..table
            };
        }
        self.kept_bytes = kept_bytes;
        table
    }

    /// Reads a nested archive. Returns false if that is impossible.
    fn enter(&mut self, base: &dyn ReadAt, entry: &ZipEntry, path: &str, depth: usize) -> bool {
        let mut list = |archive: &dyn ReadAt, range| {
            let Ok(listing) = ZipDirectory::read(archive, range, &self.budget) else {
                return false;
            };
            self.entries(archive, listing.entries(), &format!("{path}/"), depth + 1);
            true
        };
        match entry.section(base) {
            Ok(Some(range)) => list(base, range),
            Ok(None) if entry.size <= MAX_INNER_BYTES => {
                let mut bytes = Vec::new();
                let Ok(mut member) = entry.open(base) else {
                    return false;
                };
                let is_read = member.read_to_end(&mut bytes).is_ok();
                is_read && list(&bytes, 0..bytes.len() as u64)
            }
            _ => false,
        }
    }
}

/// Returns whether a file is one that macOS adds to archives.
fn is_hidden(path: &str) -> bool {
    path.split('/')
        .any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// Reads a table's columns and first rows. `open` opens the file. A CSV file that is not UTF-8 is read as Latin-1, in which
/// every byte is a character.
fn table_of<'r>(
    path: &str,
    open: &dyn Fn() -> Result<Box<dyn Read + 'r>, NoTable>,
    whole: bool,
    limits: &DecodingLimits,
) -> FoundTable {
    match table(path, &mut open()?, whole, limits) {
        Err(NoTable::NotUtf8) => {
            let mut input = Latin1Reader::new(open()?);
            let table = table(path, &mut input, whole, limits)?;
            Ok(CsvFile {
                is_latin1: true,
                ..table
            })
        }
        read => read,
    }
}

/// Reads a table's columns and first rows.
fn table(path: &str, input: &mut dyn Read, whole: bool, limits: &DecodingLimits) -> FoundTable {
    if is_records(path) {
        return records(path, input, whole, limits).ok_or(NoTable::Other);
    }
    let mut begin = Vec::new();
    Read::take(&mut *input, SNIFFED_BYTES).read_to_end(&mut begin)?;
    let delimiter = delimiter(path, &begin);
    csv_table(
        path,
        &mut begin.as_slice().chain(input),
        whole,
        delimiter,
        &[],
    )
}

/// Reads the columns and first rows of a CSV file. `texts` are columns of texts.
///
/// # Errors
/// The reason, if pandas would not read the file.
pub fn csv_table(
    path: &str,
    input: &mut dyn Read,
    whole: bool,
    delimiter: u8,
    texts: &[String],
) -> Result<CsvFile, NoTable> {
    let mut buffer = vec![0; 1 << 18];
    let options = ReadOptions {
        delimiter,
        text: texts.to_vec(),
        ..ReadOptions::default()
    };
    let mut scanner = CsvScanner::new(&options);
    let mut front = Vec::new();
    let mut all = 0;
    loop {
        let count = input.read(&mut buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        if read.is_empty() {
            break;
        }
        scanner.feed(read)?;
        all += count;
        if front.len() < MAX_VALUE_BYTES {
            front.extend_from_slice(read);
        }
    }
    let scan = scanner.finish()?;
    if front.len() < all {
        let end = front.iter().rposition(|byte| *byte == b'\n');
        front.truncate(end.map_or(0, |end| end + 1));
    }
    let mut columns = scan.schema.columns;
    let mut text = padded(&front, &options, &columns);
    text.extend(texts.iter().cloned());
    for column in &mut columns {
        if text.contains(&column.name) {
            column.kind = ColumnType::Text;
        }
    }
    // A row may be cut within quotes. Then values are unknown, but columns are known.
    let frame = read_frame(&front, &ReadOptions { text, ..options }).unwrap_or_default();
    if columns.is_empty() {
        return Err(NoTable::Unreadable("it has no columns".to_owned()));
    }
    Ok(CsvFile {
        path: path.to_owned(),
        rows: scan.schema.rows,
        columns,
        frame,
        value_bytes: front.len() as u64,
        whole,
        delimiter,
        is_latin1: false,
        declared: None,
    })
}

/// Returns the columns of numbers in which some begin with a zero, such as `0042`. These are names, and files may have them.
fn padded(front: &[u8], options: &ReadOptions, columns: &[ColumnSchema]) -> Vec<String> {
    let numbers = columns
        .iter()
        .filter(|column| column.kind != ColumnType::Text);
    let text: Vec<String> = numbers.map(|column| column.name.clone()).collect();
    let options = ReadOptions {
        text: text.clone(),
        ..options.clone()
    };
    let frame = read_frame(front, &options).unwrap_or_default();
    let is_padded = |text: &String| {
        text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let has_padded = |name: &String| {
        texts(&frame, name).is_some_and(|values| values.iter().flatten().any(is_padded))
    };
    text.into_iter().filter(has_padded).collect()
}

/// Returns a pipeline's default delimiter for a file of that name.
pub fn usual_delimiter(path: &str) -> u8 {
    match path.to_ascii_lowercase().ends_with(".tsv") {
        true => b'\t',
        false => b',',
    }
}

/// Infers a table's delimiter: the default, unless the header does not have it, and another character occurs as often in the next
/// lines as in the header.
fn delimiter(path: &str, begin: &[u8]) -> u8 {
    let usual = usual_delimiter(path);
    let mut lines = begin.split(|byte| *byte == b'\n').take(SNIFFED_LINES);
    let header = fields(lines.next().unwrap_or_default());
    let header = header.as_slice();
    if header.contains(&usual) {
        return usual;
    }
    let count = |line: &[u8], wanted: u8| line.iter().filter(|byte| **byte == wanted).count();
    // The last line may be cut, and quotes may contain line breaks, so the majority of lines decides.
    let lines: Vec<Vec<u8>> = lines.filter(|line| !line.is_empty()).map(fields).collect();
    let fits = |wanted: &u8| {
        let there = count(header, *wanted);
        let equal = lines.iter().filter(|line| count(line, *wanted) == there);
        there > 0 && 2 * equal.count() >= lines.len()
    };
    [b';', b'\t', b'|', b',']
        .into_iter()
        .find(fits)
        .unwrap_or(usual)
}

/// Removes quoted text from a line.
fn fields(line: &[u8]) -> Vec<u8> {
    let mut quoted = false;
    let outside = line.iter().filter(|byte| {
        quoted ^= **byte == b'"';
        !quoted
    });
    outside.copied().collect()
}

/// Tables and groups of files.
fn sorted(found: Vec<FileList>, md5: Option<String>) -> BundleContent {
    let mut bundle = BundleContent {
        md5,
        ..BundleContent::default()
    };
    let mut groups: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for FileList { path, table } in found {
        match table {
            Ok(table) => {
                bundle.tables.push(table);
                continue;
            }
            Err(NoTable::Unreadable(reason)) => bundle.unreadable.push((path.clone(), reason)),
            Err(NoTable::NotUtf8 | NoTable::Other) => {}
        }
        let top = top(&path);
        let suffix = path
            .rsplit('/')
            .next()
            .and_then(|name| name.rsplit_once('.'));
        let suffix = suffix.map_or(String::new(), |(_, suffix)| suffix.to_owned());
        groups.entry((top, suffix)).or_default().push(path);
    }
    for ((top, suffix), paths) in groups {
        for (top, paths) in divided(top, paths) {
            bundle.files.push(group(&top, &suffix, &paths));
        }
    }
    bundle
}

/// Divides files with the same names in a few directories, such as `images` and `masks`, by their directories.
fn divided(top: String, paths: Vec<String>) -> Vec<(String, Vec<String>)> {
    let mut directories: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in &paths {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let names = directories.entry(directory.to_owned()).or_default();
        names.insert(name.to_owned());
        if directories.len() > MAX_PARALLEL {
            return vec![(top, paths)];
        }
    }
    let names = || directories.values();
    let all: BTreeSet<&String> = names().flatten().collect();
    // Nearly every name is in nearly every directory.
    let is_parallel = directories.len() > 1
        && all.len() > 1
        && names().all(|names| names.len() * 10 >= all.len() * 8);
    match is_parallel {
        false => vec![(top, paths)],
        true => {
            let of = |(directory, names): (String, BTreeSet<String>)| {
                let paths = names.iter().map(|name| format!("{directory}/{name}"));
                (directory.clone(), paths.collect())
            };
            directories.into_iter().map(of).collect()
        }
    }
}

/// Returns the directory of a file: the first one inside the archives that contain it.
fn top(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let mut top = Vec::new();
    for part in parts.split_last().map_or(&[][..], |(_, folders)| folders) {
        top.push(*part);
        if !part.to_ascii_lowercase().ends_with(".zip") {
            break;
        }
    }
    top.join("/")
}

fn group(top: &str, suffix: &str, paths: &[String]) -> FileGroup {
    let inside = |path: &str| match top {
        "" => path.to_owned(),
        top => path.get(top.len() + 1..).unwrap_or_default().to_owned(),
    };
    let depths: HashSet<usize> = paths
        .iter()
        .map(|path| inside(path).matches('/').count())
        .collect();
    let name = if suffix.is_empty() {
        "*".to_owned()
    } else {
        format!("*.{suffix}")
    };
    let between = match (depths.len(), depths.iter().next()) {
        (1, Some(depth)) => "*/".repeat(*depth),
        _ => "**/".to_owned(),
    };
    let around = if top.is_empty() {
        String::new()
    } else {
        format!("{}/", escaped(top))
    };
    let names = paths
        .iter()
        .take(MAX_NAMES)
        .filter_map(|path| path.rsplit('/').next());
    FileGroup {
        pattern: format!("{around}{between}{name}"),
        folder: top.rsplit('/').next().unwrap_or_default().to_owned(),
        count: paths.len(),
        names: names.map(str::to_owned).collect(),
        nested: depths != HashSet::from([0]),
    }
}

/// A path in which no character is a wildcard.
fn escaped(path: &str) -> String {
    path.chars()
        .map(|c| match c {
            '*' | '?' | '[' | ']' | '{' | '}' => format!("[{c}]"),
            c => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
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

    /// Regression test: each nested archive had a budget of its own, so 40 kB of them took a minute.
    #[test]
    fn nested_archives_share_the_budget_of_the_bundle() {
        let inner = zip("#/t.csv", 10, b"id,x\n1,2\n");
        let bundle = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(bundle.path(), zip("#.zip", 10, &inner)).unwrap();
        let tables = |members| {
            let limits = DecodingLimits {
                members,
                ..DecodingLimits::default()
            };
            local(bundle.path(), &limits).unwrap().tables.len()
        };
        assert_eq!(tables(1_000), 100);
        assert_eq!(tables(45), 40);
    }

    #[test]
    fn values_beyond_the_limit_are_dropped() {
        let limits = DecodingLimits::default();
        let mut walk = Walk {
            limits: &limits,
            budget: limits.budget(0),
            kept_bytes: MAX_KEPT_BYTES - 30,
            found: Vec::new(),
        };
        let mut bytes_of_values = |text: &str| {
            let table = csv_table("t.csv", &mut text.as_bytes(), true, b',', &[]);
            let Ok(table) = table else { panic!("a table") };
            let table = walk.with_values(table);
            assert_eq!((table.rows, table.columns.len()), (4, 1));
            (table.value_bytes, table.frame.column("id").is_some())
        };
        let text = "id\n1\n2\n3\n4\n";
        assert_eq!(bytes_of_values(text), (11, true));
        assert_eq!(
            bytes_of_values("id\n100000\n200000\n300000\n4\n"),
            (0, false)
        );
        assert_eq!(bytes_of_values(text), (11, true));
    }
}
