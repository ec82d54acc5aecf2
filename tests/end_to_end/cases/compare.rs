//! Compares a prepared file with the recorded one.
//!
//! Archives are compared by their members, ignoring order, times and compression. Parquet files are compared by their
//! table, ignoring its encoding.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use prep_formats::archive::MemberKind;
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{EntryKind, ZipListing};
use prep_formats::{parquet::ParquetTable, sevenz, tar};
use serde::Deserialize;

use super::parquet;
use crate::support::hex_md5;

/// Expected content of a path.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum ExpectedContent {
    /// MD5s of members by name; `dir` for a directory.
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

/// A table, with its cells as pandas prints them.
#[derive(Deserialize)]
pub struct Table {
    /// Names and types of the columns.
    columns: Vec<(String, String)>,
    csv_md5: String,
    rows: u64,
}

/// Returns how the file at `path`, whose MD5 is `content`, differs from the expected content.
pub fn differs(path: &Path, content: &str, expected: &ExpectedContent) -> Option<String> {
    let wrong = match expected {
        ExpectedContent::Folder(kind) => kind != "empty dir" || !path.is_dir(),
        ExpectedContent::Zip { zip } => zip_members(path) != files_of(zip),
        ExpectedContent::SevenZ { members } => sevenz_members(path) != files_of(members),
        ExpectedContent::Tar { tar } => tar_members(path) != files_of(tar),
        ExpectedContent::File { md5, table: None } => content != md5,
        ExpectedContent::File {
            md5,
            table: Some(table),
        } => content != md5 && !table_equals(path, table),
    };
    wrong.then(|| "differs".to_owned())
}

/// Returns the members that are files, because archives need not list directories. Removes a leading `./`, which tar
/// archives may have.
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

fn zip_members(path: &Path) -> BTreeMap<String, String> {
    let bytes = fs::read(path).expect("archive");
    let length = bytes.len() as u64;
    let listing = ZipListing::read(&bytes, 0..length, &DecodingLimits::default().budget(length))
        .expect("a zip archive");
    let files = listing
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File);
    files
        .map(|entry| {
            let mut content = Vec::new();
            let mut reader = entry.open(&bytes).expect("member");
            std::io::Read::read_to_end(&mut reader, &mut content).expect("member");
            (entry.path.clone(), hex_md5(&content))
        })
        .collect()
}

fn sevenz_members(path: &Path) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    let file = File::open(path).expect("archive");
    let budget = DecodingLimits::default().budget(1 << 40);
    sevenz::read(file, &budget, |name, kind, reader| {
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        if matches!(kind, MemberKind::File { .. }) {
            members.insert(name.to_owned(), hex_md5(&content));
        }
        Ok(())
    })
    .expect("a 7z archive");
    members
}

fn tar_members(path: &Path) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    let file = File::open(path).expect("archive");
    let budget = DecodingLimits::default().budget(1 << 40);
    tar::read(file, &budget, |name, kind, reader| {
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        if matches!(kind, MemberKind::File { .. }) {
            members.insert(name.to_owned(), hex_md5(&content));
        }
        Ok(())
    })
    .expect("a tar archive");
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
