//! Compares a prepared file with the recorded one.
//!
//! Archives are equal if their members are equal, regardless of order, times and compression.
//! Parquet files are equal if their tables are equal.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use prep_formats::archive::{ArchiveFormat, StoredForms};
use prep_formats::limits::DecodingLimits;
use prep_formats::parquet::ParquetTable;
use prep_formats::read_at::ByteSection;
use serde::Deserialize;

use super::parquet;
use crate::support::hex_md5;

#[derive(Deserialize)]
#[serde(untagged)]
pub enum ExpectedContent {
    /// MD5s of members by name. The value of a directory is `dir`.
    Zip {
        zip: BTreeMap<String, String>,
    },
    SevenZ {
        #[serde(rename = "7z")]
        members: BTreeMap<String, String>,
    },
    Tar {
        tar: BTreeMap<String, String>,
    },
    File {
        md5: String,
        table: Option<Table>,
    },
    /// An empty directory (`empty dir` in `expected.json`).
    Folder(String),
}

#[derive(Deserialize)]
pub struct Table {
    columns: Vec<(String, String)>,
    csv_md5: String,
    rows: u64,
}

/// Returns "differs" unless the file at `path` has the expected content. `content` is the MD5 of the file.
pub fn differs(path: &Path, content: &str, expected: &ExpectedContent) -> Option<String> {
    let wrong = match expected {
        ExpectedContent::Folder(kind) => kind != "empty dir" || !path.is_dir(),
        ExpectedContent::Zip { zip } => members(path) != files_of(zip),
        ExpectedContent::SevenZ { members: listed } => members(path) != files_of(listed),
        ExpectedContent::Tar { tar } => members(path) != files_of(tar),
        ExpectedContent::File { md5, table: None } => content != md5,
        ExpectedContent::File {
            md5,
            table: Some(table),
        } => content != md5 && !table_equals(path, table),
    };
    wrong.then(|| "differs".to_owned())
}

/// Returns the files among the members of an archive, because archives need not list directories. Removes the `./` that
/// names in tar archives may begin with.
fn files_of(members: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_file = |(_, md5): &(&String, &String)| *md5 != "dir";
    let files = members.iter().filter(is_file);
    files
        .map(|(name, md5)| {
            let name = name.strip_prefix("./").unwrap_or(name);
            (name.to_owned(), md5.clone())
        })
        .collect()
}

fn members(path: &Path) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    let file = File::open(path).expect("archive");
    let length = file.metadata().expect("metadata").len();
    let archive = ByteSection::new(&file, 0..length);
    let format = ArchiveFormat::from_path(&path.to_string_lossy()).expect("an archive");
    let budget = DecodingLimits::default().budget(1 << 40);
    let read = format.read(
        "",
        archive,
        &budget,
        StoredForms::Skip,
        &mut |member, reader| {
            let mut content = Vec::new();
            reader.read_to_end(&mut content)?;
            if !member.is_directory {
                members.insert(member.path.to_owned(), hex_md5(&content));
            }
            Ok(())
        },
    );
    read.expect("members");
    members
}

fn table_equals(path: &Path, expected: &Table) -> bool {
    let file = File::open(path).expect("table");
    let length = file.metadata().expect("metadata").len();
    let table =
        ParquetTable::open(file, 0..length, &DecodingLimits::default()).expect("a Parquet table");
    let names: Vec<&String> = table
        .schema()
        .fields()
        .iter()
        .map(|field| field.name())
        .collect();
    let expected_names: Vec<&String> = expected.columns.iter().map(|(name, _)| name).collect();
    names == expected_names
        && table.rows() == expected.rows
        && hex_md5(&parquet::to_csv(&table)) == expected.csv_md5
}
