//! Reads one public file: its length, checksum and names, and as much of its content as is needed.

use std::io::{self, Read};

use prep_contents::read;
use prep_formats::image::{ImageHeader, is_image_name};

use crate::fields;
use crate::world::PublicFile;

/// Maximum length of a text file, or of a file in a format without a reader, that is searched.
pub(super) const MAX_TEXT: u64 = 64 << 20;

/// How much of a file's content is kept in memory while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Only the beginning, which is sufficient for the names in the file and the size of an image.
    Head,
    Text,
    All,
}

pub(super) fn is_text(path: &str) -> bool {
    ends_with(
        path,
        &[
            ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".geojson", ".nmea", ".xml",
            ".html", ".log", ".md", ".yaml", ".yml", ".xyz", ".dat", ".ini", ".toml", ".svg",
            ".tex", ".rst", ".srt", ".py", ".ipynb",
        ],
    )
}

/// Returns whether there is a reader for the format of a file.
pub(super) fn has_reader(path: &str) -> bool {
    let others = [
        ".png", ".jpg", ".jpeg", ".wav", ".wave", ".aif", ".aiff", ".npy", ".npz", ".parquet",
        ".bson", ".zip", ".gz", ".tar", ".tgz", ".7z",
    ];
    is_text(path) || fields::format(path).is_some() || ends_with(path, &others)
}

fn ends_with(path: &str, ends: &[&str]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    ends.iter().any(|end| name.ends_with(end))
}

/// Reads a file once. Returns its length, checksum, names and image size, and as much of its content as `keep`
/// requires.
pub(super) fn see(
    path: &str,
    mut content: &mut dyn Read,
    keep: Keep,
) -> io::Result<(PublicFile, Vec<u8>)> {
    let format = fields::format(path);
    let is_image = is_image_name(path);
    let mut hasher = crc32fast::Hasher::new();
    let mut head = Vec::new();
    let most = match (keep, format, is_image) {
        (Keep::Text | Keep::All, ..) => MAX_TEXT,
        (_, Some("matlab"), _) => 256 << 20,
        (_, Some(_), _) => 4 << 20,
        (_, _, true) => 1 << 16,
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
        crc32: hasher.finalize(),
        names: format
            .map(|format| fields::names(format, &mut head.as_slice()))
            .unwrap_or_default(),
        pixels: is_image
            .then(|| ImageHeader::read(head.as_slice()).ok())
            .flatten()
            .map(|image| (u64::from(image.width), u64::from(image.height))),
    };
    Ok((seen, head))
}
