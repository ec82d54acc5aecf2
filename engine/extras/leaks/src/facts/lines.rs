//! Facts from text files. If a line contains the id of an item, the facts are the line's other words, the line's position,
//! and the presence of the id in the file. The words of an item's own file are also facts.
//!
//! Files in formats without a reader, for example databases and pickles, are searched for strings. If a string contains
//! an item's id, the strings before and after this string are facts about the item.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::cells::line_endings;
use super::{Channel, ItemFacts, ItemOf};

/// Maximum number of words of a line that become facts.
const MAX_WORDS: usize = 64;

/// After a line with an item's id, at most this number of lines without an id are treated as facts of this item.
const MAX_BLOCK: usize = 40;

/// Maximum number of lines of an item's own text that become facts.
const MAX_LINES: usize = 100;

pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|c: char| c.is_whitespace() || ",;:\"'()[]{}|<>=".contains(c))
        .filter(|word| !word.is_empty())
}

/// The names of elements that are nested in more elements than this are not kept.
const MAX_OPEN: usize = 64;

/// Converts XML or HTML to lines of the form `parent/element attribute: value` and `parent/element: text`. If a tag has
/// several attributes, a line with all of them comes first. A missing end tag is not an error.
pub(crate) fn lines_of_markup(text: &str) -> String {
    let (mut lines, mut open) = (String::new(), Vec::new());
    for piece in text.split('<').skip(1) {
        let (tag, content) = piece.split_once('>').unwrap_or((piece, ""));
        let name = tag.split(char::is_whitespace).next().unwrap_or_default();
        let name = name.trim_end_matches('/');
        if let Some(closed) = name.strip_prefix('/') {
            while open.pop().is_some_and(|own| own != closed) {}
        } else if !name.starts_with(['!', '?']) {
            let parent = open.last().copied().unwrap_or_default();
            let mut parts = tag.get(name.len()..).unwrap_or_default().split(['"', '\'']);
            let mut attributes = Vec::new();
            while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                let key = key.trim_matches(|c: char| c.is_whitespace() || c == '=');
                attributes.push(format!("{parent}/{name} {key}: {value}"));
            }
            if attributes.len() > 1 {
                lines.push_str(&tag.replace(['\n', '=', ':'], " "));
                lines.push('\n');
            }
            lines.extend(attributes.iter().flat_map(|line| [line, "\n"]));
            if !tag.ends_with('/') && open.len() < MAX_OPEN {
                open.push(name);
            }
            if !content.trim().is_empty() {
                let content = content.trim().replace('\n', " ");
                lines.push_str(&format!("{parent}/{name}: {content}\n"));
            }
        }
    }
    lines
}

/// Words with fewer characters than this are not decoded from base64.
const MIN_ENCODED: usize = 200;

/// Adds the facts of texts that are encoded in base64. Long words are decoded, or the entire text if it consists only of
/// base64 characters and line breaks.
pub(crate) fn collect_encoded(path: &str, text: &str, item_of: ItemOf<'_>, facts: &mut ItemFacts) {
    let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let joined = match text
        .chars()
        .all(|c| is_digit(c) || matches!(c, '\n' | '\r'))
    {
        true => Cow::Owned(text.split(['\n', '\r']).collect::<String>()),
        false => Cow::Borrowed(text),
    };
    let long = joined.split(|c: char| !is_digit(c));
    for word in long.filter(|word| word.len() >= MIN_ENCODED && word.len().is_multiple_of(4)) {
        let decoded = STANDARD.decode(word).ok();
        if let Some(text) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
            let path = format!("{path}, decoded from base64");
            collect(&path, &text, item_of, facts);
        }
    }
}

pub(crate) fn collect(path: &str, text: &str, item_of: ItemOf<'_>, facts: &mut ItemFacts) {
    // The item of the last line that contains an id, and the number of this line.
    let mut above: Option<(usize, usize)> = None;
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = words(line).take(MAX_WORDS).collect();
        let named = words.iter().enumerate().find_map(|(at, word)| {
            let name = word.rsplit('/').next()?;
            let stem = name.split('.').next()?;
            let item = [*word, name, stem].into_iter().find_map(item_of)?;
            Some((at, item))
        });
        let Some((own, item)) = named else {
            if let Some((item, _)) = above.filter(|(_, begin)| number - begin <= MAX_BLOCK) {
                below(path, line, item, facts);
            }
            continue;
        };
        above = Some((item, number));
        for (at, word) in words.iter().enumerate().filter(|(at, _)| *at != own) {
            let what = format!("word {} of the lines of {path} that name items", at + 1);
            facts.add(Channel::Field, &what, item, word);
        }
        let directory = words.get(own).and_then(|word| word.rsplit_once('/'));
        if let Some((directory, _)) = directory {
            let what = format!("the directory in the lines of {path} that name items");
            facts.add(Channel::Field, &what, item, directory);
        }
        let what = format!("the position of the line in {path}");
        facts.number(Channel::Order, &what, item, number as f64);
        facts.mention(path, item);
    }
}

/// Returns whether a line is a comment or the header of a table. The words of such a line are not content.
fn is_head(kind: &str, number: usize, line: &str) -> bool {
    let mut table_ends = [".csv", ".tsv", ".dat"].iter();
    let is_table = table_ends.any(|end| kind.ends_with(end));
    number == 0 && is_table && line.contains(char::is_alphabetic)
        || ["#", "%", "//"].iter().any(|sign| line.starts_with(sign))
}

/// Adds the value of `line`, which has the form `key: value` or `key=value`. It is below the line with the id of
/// `item`.
fn below(path: &str, line: &str, item: usize, facts: &mut ItemFacts) {
    let Some((key, value)) = line.split_once([':', '=']) else {
        return;
    };
    let key = key.trim().trim_start_matches(['-', ' ', '"', '\'']);
    let value = value.trim().trim_matches(['"', '\'', ',', ';']);
    if !key.is_empty() && key.len() <= 40 {
        let what = format!("`{key}` below the lines of {path} that name items");
        facts.add(Channel::Field, &what, item, value);
    }
}

/// Adds the facts of a text that belongs to an item: the values of lines `key: value`, and words by position.
pub(crate) fn collect_item(kind: &str, text: &str, item: usize, facts: &mut ItemFacts) {
    let has_mark = text.starts_with('\u{feff}');
    let mark = if has_mark { "there" } else { "none" };
    let what = format!("the byte order mark of `{kind}`");
    facts.add(Channel::Form, &what, item, mark);
    let text = text.trim_start_matches('\u{feff}');
    for (number, line) in text.lines().take(MAX_LINES).enumerate() {
        if is_head(kind, number, line) {
            continue;
        }
        if let Some((key, value)) = line.split_once(['=', ':', '\t']) {
            let key = key.trim();
            if !key.is_empty() && key.len() <= 40 && number < 40 {
                let what = format!("`{key}` in `{kind}`");
                facts.add(Channel::Field, &what, item, value.trim());
            }
        }
        if number < 3 {
            for (at, word) in words(line).take(6).enumerate() {
                let what = format!("word {} of line {} of `{kind}`", at + 1, number + 1);
                facts.add(Channel::Field, &what, item, word);
            }
        }
    }
    // The first line may be a header or a comment, so it is a separate fact.
    let first = text.lines().next().unwrap_or_default();
    if first.contains(char::is_alphabetic) {
        let what = format!("the first line of `{kind}`");
        facts.add(Channel::Form, &what, item, first);
    }
    let length = text.trim_end().chars().filter(|c| *c != '\r').count();
    let what = format!("the length of the text of `{kind}`");
    facts.number(Channel::Look, &what, item, length as f64);
    let tail = text.chars().rev().take_while(|c| c.is_whitespace());
    let tail = tail.filter(|c| *c != '\r').count();
    let what = format!("the amount of whitespace after the text of `{kind}`");
    facts.number(Channel::Form, &what, item, tail as f64);
    let what = format!("the line endings of `{kind}`");
    facts.add(Channel::Form, &what, item, line_endings(text));
}

/// Maximum length of the text of a fact, in bytes. Longer texts are truncated.
const MAX_TEXT: usize = 200;

/// A run of fewer printable characters than this is not treated as a text.
const MIN_TEXT: usize = 2;

/// Only this number of bytes at the beginning of an item's own file is searched for strings.
const MAX_HEAD: usize = 1 << 16;

/// Only the first strings of an item's own file, up to this number, become facts.
const MAX_TEXTS: usize = 24;

/// Adds the strings before and after each string that contains an item's id. `shortest` is the length of the shortest id.
pub(crate) fn collect_strings(
    path: &str,
    content: &[u8],
    shortest: usize,
    item_of: ItemOf<'_>,
    facts: &mut ItemFacts,
) {
    let (mut before, mut named, mut place) = ("", None, 0_usize);
    for text in texts(content, MIN_TEXT) {
        // If the id and the next string are not separated, `text` contains both. The rest of `text` after the id is then
        // the next string.
        let following = match name_in(text, shortest, item_of) {
            Some((item, rest)) => {
                place += 1;
                facts.mention(path, item);
                let what = format!("the position in {path}");
                facts.number(Channel::Order, &what, item, place as f64);
                let what = format!("the text before the item's name in {path}");
                facts.add(Channel::Field, &what, item, before);
                named = Some(item).filter(|_| rest.is_empty());
                Some((item, rest)).filter(|_| !rest.is_empty())
            }
            None => named.take().map(|item| (item, text)),
        };
        if let Some((item, text)) = following {
            let what = format!("the text following the item's name in {path}");
            facts.add(Channel::Field, &what, item, text);
        }
        before = text;
    }
}

/// Finds an item's id in a text. At most four other bytes may precede the id. Returns the item and the text after the
/// id.
fn name_in<'a>(text: &'a str, shortest: usize, item_of: ItemOf<'_>) -> Option<(usize, &'a str)> {
    let longest_prefix = text.len().checked_sub(shortest)?;
    for begin in 0..=4.min(longest_prefix) {
        let own = text.get(begin..)?;
        // The id may be the entire rest of the text, end before a separator, or have the length of the shortest id.
        let sign = own.find(|c: char| !c.is_alphanumeric() && !"-_.".contains(c));
        let ends = [Some(own.len()), sign, Some(shortest)];
        for end in ends.into_iter().flatten() {
            if let Some(item) = own.get(..end).and_then(item_of) {
                return Some((item, own.get(end..).unwrap_or_default()));
            }
        }
    }
    None
}

/// Adds the first strings of an item's own file as facts. The name of a fact contains the position of the string.
pub(crate) fn collect_strings_of_item(
    kind: &str,
    content: &[u8],
    item: usize,
    facts: &mut ItemFacts,
) {
    let head = content.get(..MAX_HEAD).unwrap_or(content);
    // Strings with fewer than six characters also occur in random data.
    for (number, text) in texts(head, 6).take(MAX_TEXTS).enumerate() {
        let what = format!("text {} of `{kind}`", number + 1);
        facts.add(Channel::Metadata, &what, item, text);
    }
}

/// Returns the runs of at least `shortest` printable ASCII characters. Long runs are truncated.
fn texts(content: &[u8], shortest: usize) -> impl Iterator<Item = &str> {
    content
        .split(|byte| !(0x20..0x7f).contains(byte))
        .filter(move |text| text.len() >= shortest)
        .filter_map(|text| std::str::from_utf8(text.get(..MAX_TEXT).unwrap_or(text)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_converted_to_lines() {
        for (text, expected) in [
            ("<?xml?><a><b x='1'/><c>t u</c></a>", "a/b x: 1\na/c: t u\n"),
            (
                "<i id=\"8f\" k=\"v w\">\n<j>x</i><k>y",
                "i id \"8f\" k \"v w\"\n/i id: 8f\n/i k: v w\ni/j: x\n/k: y\n",
            ),
            ("a < b", ""),
            ("<p", ""),
        ] {
            assert_eq!(lines_of_markup(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_next_to_ids_are_found() {
        let item_of = |text: &str| match text {
            "8f3a21" => Some(0),
            "77aa90" => Some(1),
            _ => None,
        };
        let mut facts = ItemFacts::default();
        let content = b"\x01\x068f3a21\x02\x05class-a\0\0\x03x77aa90oak\xff";
        collect_strings("cache.pkl", content, 6, &item_of, &mut facts);
        let what = "the text following the item's name in cache.pkl".to_owned();
        let values = &facts.all[&(Channel::Field, what)];
        assert_eq!(values.get(0), Some("class-a"));
        assert_eq!(values.get(1), Some("oak"));
    }
}
