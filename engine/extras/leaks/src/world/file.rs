//! Reads one file: its length, digest and image size, and the names of its columns, keys, features or variables.

use std::collections::BTreeSet;
use std::io;
use std::io::Read;

use prep_contents::read;
use prep_formats::image::{ImageHeader, is_image_name};
use prep_formats::matlab;
use prep_formats::tfrecord::{Example, TfRecords};

use super::PublicFile;
use crate::facts::documents::key_paths;
use crate::text::ContentKind;

/// Texts with more bytes than this are not searched. The same limit applies to files in formats without a reader.
pub(super) const MAX_TEXT: u64 = 64 << 20;

/// How much of a file's content is kept in memory while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The beginning, which is sufficient for the names in the file and the size of an image.
    Head,
    Text,
    All,
}

/// Reads a file. Returns its properties, and as much of its content as `keep` requires.
pub(super) fn see(
    path: &str,
    mut content: &mut dyn Read,
    keep: Keep,
) -> io::Result<(PublicFile, Vec<u8>)> {
    let kind = ContentKind::from_path(path);
    let is_image = is_image_name(path);
    let mut hasher = blake3::Hasher::new();
    let mut head = Vec::new();
    let most = match (keep, kind) {
        (Keep::Text | Keep::All, _) => MAX_TEXT,
        (_, ContentKind::Matlab) => 256 << 20,
        (_, ContentKind::Csv | ContentKind::Json | ContentKind::Records) => MAX_HEAD_BYTES as u64,
        _ if is_image => 1 << 16,
        _ => 0,
    };
    let bytes = read::each_chunk(&mut content, |chunk| {
        hasher.update(chunk);
        let left = most.saturating_sub(head.len() as u64);
        let kept = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        head.extend_from_slice(chunk.get(..kept).unwrap_or_default());
    })?;
    let seen = PublicFile {
        path: path.to_owned(),
        bytes,
        content: hasher.finalize().into(),
        names: names(kind, &head),
        pixels: is_image
            .then(|| ImageHeader::read(head.as_slice()).ok())
            .flatten()
            .map(|image| (u64::from(image.width), u64::from(image.height))),
    };
    Ok((seen, head))
}

/// The names of columns and keys are read from this number of bytes at the beginning of a text file.
const MAX_HEAD_BYTES: usize = 4 << 20;

/// The names of features are read from at most this number of TFRecord records of a file.
const MAX_RECORDS: usize = 20;

const MAX_NAMES: usize = 1 << 14;

/// Returns the names of the columns, keys, features or variables in a file. A damaged file contains no names.
fn names(kind: ContentKind, content: &[u8]) -> BTreeSet<String> {
    let head = || String::from_utf8_lossy(content.get(..MAX_HEAD_BYTES).unwrap_or(content));
    let mut names = match kind {
        ContentKind::Csv => table_names(&head()),
        ContentKind::Json => key_paths(&head()),
        ContentKind::Records => record_names(content),
        ContentKind::Matlab => matlab::variable_paths(content).into_iter().collect(),
        _ => BTreeSet::new(),
    };
    while names.len() > MAX_NAMES {
        names.pop_last();
    }
    names
}

fn table_names(text: &str) -> BTreeSet<String> {
    let line = text.lines().next().unwrap_or_default();
    let delimiter = if line.contains('\t') { '\t' } else { ',' };
    let names = line.trim_start_matches('\u{feff}').split(delimiter);
    let names = names.map(|name| name.trim_matches('"').to_owned());
    names.collect()
}

fn record_names(content: &[u8]) -> BTreeSet<String> {
    let records = TfRecords::new(content);
    let names = records
        .take(MAX_RECORDS)
        .filter_map(Result::ok)
        .filter_map(|record| Example::new(&record.payload).names().ok());
    names.flatten().collect()
}
