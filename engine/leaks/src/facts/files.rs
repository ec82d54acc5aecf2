//! Facts from the names, positions, times, compression and content of items' files.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::{Channel, Facts, ids, look, matlab, metadata, strings};
use crate::detectors::pattern;

/// Number of seconds in a day.
const DAY_SECONDS: f64 = 86_400.0;

/// The properties of a file that are known before it is opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileProperties {
    /// Position in the archive, or in the order of the directory.
    pub position: usize,
    /// Modification time in seconds, from the archive or the file system. Only differences are used, so the epoch does
    /// not matter.
    pub time: Option<f64>,
    /// Describes how the archive or the file system stores the file, for example permissions or compression method.
    pub packing: Option<String>,
    /// Compressed length, if the archive compresses its members separately.
    pub compressed_bytes: Option<u64>,
}

/// Adds the parts of the path other than the id.
pub(crate) fn add_path(path: &str, id: &str, item: usize, facts: &mut Facts) {
    let kind = kind(path, id);
    let segments: Vec<&str> = path.split('/').collect();
    let (directories, name) = match segments.split_last() {
        Some((name, directories)) => (directories, *name),
        None => return,
    };
    for (depth, directory) in directories.iter().enumerate() {
        if !directory.contains(id) {
            let what = format!("directory {} of the paths of `{kind}`", depth + 1);
            facts.add(Channel::Name, &what, item, directory);
        }
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let rest = match stem.split_once(id) {
        Some((before, behind)) if !id.is_empty() => [before, behind],
        _ => ["", ""],
    };
    for (side, rest) in ["before", "after"].iter().zip(rest) {
        for (place, word) in ids::words(rest).iter().enumerate() {
            let what = format!("word {} {side} the id in the names of `{kind}`", place + 1);
            facts.add(Channel::Name, &what, item, word);
        }
    }
}

/// Adds the facts that are known without opening the file.
pub(crate) fn add_properties(
    path: &str,
    id: &str,
    item: usize,
    bytes: u64,
    known: &FileProperties,
    facts: &mut Facts,
) {
    let kind = kind(path, id);
    facts.number(
        Channel::Size,
        &format!("the length of `{kind}`"),
        item,
        bytes as f64,
    );
    facts.number(
        Channel::Order,
        &format!("the position of `{kind}`"),
        item,
        known.position as f64,
    );
    if let Some(time) = known.time {
        facts.number(Channel::Time, &format!("the time of `{kind}`"), item, time);
        let in_day = time.rem_euclid(DAY_SECONDS);
        let what = format!("the time of day of `{kind}`");
        facts.number(Channel::Time, &what, item, in_day);
        let weekday = (time / DAY_SECONDS).floor().rem_euclid(7.0);
        let what = format!("the day of the week of `{kind}`");
        facts.number(Channel::Time, &what, item, weekday);
    }
    if let Some(packing) = &known.packing {
        let what = format!("how `{kind}` is stored");
        facts.add(Channel::Packing, &what, item, packing);
    }
}

/// Maximum length of a file that is compressed for comparison.
const MAX_RECOMPRESSED: usize = 1 << 20;

/// Adds the ratio of the member's compressed length in its archive to its length if `prep` compresses it. Members that
/// were compressed at a different level have a different ratio.
pub(crate) fn add_compression(
    path: &str,
    id: &str,
    item: usize,
    content: &[u8],
    known: &FileProperties,
    facts: &mut Facts,
) {
    let Some(stored_bytes) = known.compressed_bytes else {
        return;
    };
    if content.len() > MAX_RECOMPRESSED || content.len() < 64 {
        return;
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    let Ok(compressed) = written else { return };
    // At the same level, libraries differ by less than one percent.
    let ratio = (stored_bytes as f64 / compressed.len().max(1) as f64 * 100.0).round();
    let what = format!("how well `{}` is compressed", kind(path, id));
    facts.number(Channel::Packing, &what, item, ratio);
}

/// Adds the width and height of a picture.
pub(crate) fn add_pixels(path: &str, id: &str, item: usize, pixels: (u64, u64), facts: &mut Facts) {
    let (width, height) = pixels;
    let what = format!("the width and height of `{}`", kind(path, id));
    facts.add(Channel::Pixels, &what, item, &format!("{width} x {height}"));
}

/// Adds the facts of the content: metadata, variables, and features of pictures, sounds and other data.
pub(crate) fn add_content(path: &str, id: &str, item: usize, content: &[u8], facts: &mut Facts) {
    let kind = kind(path, id);
    for (name, value) in metadata::read(content) {
        facts.add(
            Channel::Metadata,
            &format!("{name} of `{kind}`"),
            item,
            &value,
        );
    }
    let name = path.to_ascii_lowercase();
    let mut add_features = |found: Vec<(String, f64)>| {
        for (name, value) in found {
            facts.number(Channel::Look, &format!("{name} of `{kind}`"), item, value);
        }
    };
    match name.rsplit('.').next().unwrap_or_default() {
        "png" | "jpg" | "jpeg" => add_features(look::picture_features(content)),
        "wav" => add_features(look::sound_features(content)),
        "mat" => {
            for (name, value) in matlab::values(content) {
                facts.add(
                    Channel::Field,
                    &format!("`{name}` of `{kind}`"),
                    item,
                    &value,
                );
            }
        }
        "csv" | "tsv" | "txt" | "json" | "xml" => {}
        "npy" => add_features(look::byte_features(content)),
        _ => {
            add_features(look::byte_features(content));
            strings::collect_item(&kind, content, item, facts);
        }
    }
}

/// Returns the pattern of a path, with `ID` in place of the item's id.
pub(crate) fn kind(path: &str, id: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.split_once(id) {
        Some((_, behind)) if !id.is_empty() => {
            let end = behind.rsplit_once('.').map_or("", |(_, end)| end);
            format!("ID.{end}")
        }
        _ => pattern(path),
    }
}
