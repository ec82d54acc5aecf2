//! Facts from the names, positions, times, compression and content of items' files. Splits long JSON texts into the
//! elements of a list or the members of an object without parsing them.

use std::io::Write as _;
use std::rc::Rc;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::{Channel, Facts, ids, lines, look, matlab, metadata};
use crate::paths::pattern;

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

/// Maximum length of a file that is compressed for comparison.
const MAX_RECOMPRESSED: usize = 1 << 20;

/// A file of an item, whose facts are added.
pub(crate) struct ItemFile<'a> {
    path: &'a str,
    id: &'a str,
    item: usize,
    kind: Rc<str>,
    pub facts: &'a mut Facts,
}

impl<'a> ItemFile<'a> {
    /// Creates the file of an item. `id` is the part of the path that is the item's id, or a part of it.
    pub(crate) fn new(path: &'a str, id: &'a str, item: usize, facts: &'a mut Facts) -> Self {
        ItemFile {
            path,
            id,
            item,
            kind: kind(path, id).into(),
            facts,
        }
    }

    fn add(&mut self, channel: Channel, what: &str, value: &str) {
        self.facts.add(channel, what, self.item, value);
    }

    fn number(&mut self, channel: Channel, what: &str, value: f64) {
        self.facts.number(channel, what, self.item, value);
    }

    /// Returns the pattern of the path, with `ID` in place of the item's id.
    pub(crate) fn kind(&self) -> Rc<str> {
        Rc::clone(&self.kind)
    }

    /// Adds the parts of the path other than the id.
    pub(crate) fn add_path(&mut self) {
        let (id, kind) = (self.id, self.kind());
        let (directories, name) = match self.path.rsplit_once('/') {
            Some((directories, name)) => (directories.split('/').collect(), name),
            None => (Vec::new(), self.path),
        };
        for (depth, directory) in directories.into_iter().enumerate() {
            if !directory.contains(id) {
                let what = format!("directory {} of the paths of `{kind}`", depth + 1);
                self.add(Channel::Name, &what, directory);
            }
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let (before, behind) = match stem.split_once(id) {
            Some(parts) if !id.is_empty() => parts,
            _ => ("", ""),
        };
        for (side, rest) in [("before", before), ("after", behind)] {
            for (place, word) in ids::words(rest).iter().enumerate() {
                let what = format!("word {} {side} the id in the names of `{kind}`", place + 1);
                self.add(Channel::Name, &what, word);
            }
        }
    }

    /// Adds the facts that are known without opening the file.
    pub(crate) fn add_properties(&mut self, bytes: u64, known: &FileProperties) {
        let kind = self.kind();
        let what = format!("the length of `{kind}`");
        self.number(Channel::Size, &what, bytes as f64);
        let what = format!("the position of `{kind}`");
        self.number(Channel::Order, &what, known.position as f64);
        if let Some(time) = known.time {
            let in_day = time.rem_euclid(DAY_SECONDS);
            let weekday = (time / DAY_SECONDS).floor().rem_euclid(7.0);
            for (what, value) in [
                ("the time", time),
                ("the time of day", in_day),
                ("the day of the week", weekday),
            ] {
                self.number(Channel::Time, &format!("{what} of `{kind}`"), value);
            }
        }
        if let Some(packing) = &known.packing {
            let what = format!("how `{kind}` is stored");
            self.add(Channel::Packing, &what, packing);
        }
    }

    /// Adds the ratio of the member's compressed length in its archive to its length if `prep` compresses it. Members
    /// that were compressed at a different level have a different ratio.
    pub(crate) fn add_compression(&mut self, content: &[u8], known: &FileProperties) {
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
        let what = format!("how well `{}` is compressed", self.kind());
        self.number(Channel::Packing, &what, ratio);
    }

    /// Adds the width and height of a picture.
    pub(crate) fn add_pixels(&mut self, (width, height): (u64, u64)) {
        let what = format!("the width and height of `{}`", self.kind());
        self.add(Channel::Pixels, &what, &format!("{width} x {height}"));
    }

    /// Adds the facts of the content: metadata, variables, and features of pictures, sounds and other data.
    pub(crate) fn add_content(&mut self, content: &[u8]) {
        let kind = self.kind();
        for (name, value) in metadata::read(content) {
            self.add(Channel::Metadata, &format!("{name} of `{kind}`"), &value);
        }
        let name = self.path.to_ascii_lowercase();
        match name.rsplit('.').next().unwrap_or_default() {
            "png" | "jpg" | "jpeg" => self.add_features(&kind, look::picture_features(content)),
            "wav" => self.add_features(&kind, look::sound_features(content)),
            "mat" => {
                for (name, value) in matlab::values(content) {
                    self.add(Channel::Field, &format!("`{name}` of `{kind}`"), &value);
                }
            }
            "csv" | "tsv" | "txt" | "json" | "xml" => {}
            "npy" => self.add_features(&kind, look::byte_features(content)),
            _ => {
                self.add_features(&kind, look::byte_features(content));
                lines::collect_strings_of_item(&kind, content, self.item, self.facts);
            }
        }
    }

    fn add_features(&mut self, kind: &str, features: Vec<(String, f64)>) {
        for (name, value) in features {
            self.number(Channel::Look, &format!("{name} of `{kind}`"), value);
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

/// The parts of a value.
#[derive(Debug, PartialEq)]
pub(crate) enum Parts<'a> {
    List(Vec<&'a str>),
    /// Keys, with their quotes, and values.
    Object(Vec<(&'a str, &'a str)>),
    /// A value without parts, or a damaged value.
    Other,
}

/// Returns the first value of a text and the rest of the text. `None` at the end, and for damaged texts.
pub(crate) fn first(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.is_empty() {
        return None;
    }
    let end = end_of_value(text.as_bytes());
    Some((text.get(..end)?, text.get(end..)?))
}

/// Returns the length of the value at the beginning of a text.
fn end_of_value(bytes: &[u8]) -> usize {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_text => {}
            b',' | b':' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return at,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

/// Returns the parts of a value. For a damaged value, returns the parts before the damage.
pub(crate) fn parts(text: &str) -> Parts<'_> {
    let text = text.trim();
    let (inner, is_object) = match text.as_bytes().first() {
        Some(b'[') => (text.get(1..), false),
        Some(b'{') => (text.get(1..), true),
        _ => return Parts::Other,
    };
    let (mut items, mut members, mut rest) = (Vec::new(), Vec::new(), inner.unwrap_or_default());
    let between = |c: char| c.is_whitespace() || c == ',';
    loop {
        rest = rest.trim_start_matches(between);
        if rest.is_empty() || rest.starts_with([']', '}']) {
            break;
        }
        let Some((one, behind)) = first(rest).filter(|(one, _)| !one.is_empty()) else {
            break;
        };
        rest = behind;
        if !is_object {
            items.push(one);
            continue;
        }
        rest = rest.trim_start().trim_start_matches(':');
        let Some((value, behind)) = first(rest) else {
            break;
        };
        members.push((one, value));
        rest = behind;
    }
    match is_object {
        true => Parts::Object(members),
        false => Parts::List(items),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_into_their_parts() {
        let text = r#" {"a, b": [1, {"x": "]}\""}], "c" : "d" , "e":null}"#;
        let members = vec![
            (r#""a, b""#, r#"[1, {"x": "]}\""}]"#),
            (r#""c""#, r#""d""#),
            (r#""e""#, "null"),
        ];
        let Parts::Object(found) = parts(text) else {
            panic!("no object")
        };
        assert_eq!(found, members);
        assert_eq!(
            parts("[1,[2, 3], \"x\"]"),
            Parts::List(vec!["1", "[2, 3]", "\"x\""])
        );
        assert_eq!(parts("3"), Parts::Other);
        assert_eq!(first("{} [1]\n2"), Some(("{}", " [1]\n2")));
    }
}
