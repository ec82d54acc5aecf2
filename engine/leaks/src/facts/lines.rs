//! Facts from text files. For lines that contain the id of an item: their other words, their position, and whether the
//! file contains such a line. For texts that belong to an item: their words.

use super::{Channel, Facts};

/// Maximum number of words of a line that become facts.
const MAX_WORDS: usize = 64;

/// Maximum number of lines after the line with an item's id that are attributed to the item.
const MAX_BLOCK: usize = 40;

/// Maximum number of lines of an item's own text that become facts.
const MAX_LINES: usize = 100;

pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ",;:\"'()[]{}|<>=".contains(c))
        .filter(|word| !word.is_empty())
}

/// Adds the facts of lines that contain ids of items.
pub(crate) fn collect(
    path: &str,
    text: &str,
    item_of: &dyn Fn(&str) -> Option<usize>,
    facts: &mut Facts,
) {
    // The last item whose id was found, and the number of that line.
    let mut above: Option<(usize, usize)> = None;
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = words(line).take(MAX_WORDS).collect();
        let named = words.iter().enumerate().find_map(|(at, word)| {
            let name = word.rsplit('/').next()?;
            let stem = name.split('.').next()?;
            let item = item_of(word)
                .or_else(|| item_of(name))
                .or_else(|| item_of(stem))?;
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
        let what = format!("whether {path} contains the item's id");
        facts.add(Channel::Membership, &what, item, "named");
    }
}

/// Returns whether a line is a comment or the header of a table. Its words are form, not content.
fn is_head(kind: &str, number: usize, line: &str) -> bool {
    let is_table = [".csv", ".tsv", ".dat"]
        .iter()
        .any(|end| kind.ends_with(end));
    number == 0 && is_table && line.contains(char::is_alphabetic)
        || ["#", "%", "//"].iter().any(|sign| line.starts_with(sign))
}

/// Adds the value of a line that follows the line with an item's id, if it has the form `key: value`.
fn below(path: &str, line: &str, item: usize, facts: &mut Facts) {
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

/// Adds the facts of a text that belongs to an item: the values of lines of the form `key: value`, and its words by
/// position.
pub(crate) fn collect_item(kind: &str, text: &str, item: usize, facts: &mut Facts) {
    let mark = if text.starts_with('\u{feff}') {
        "there"
    } else {
        "none"
    };
    facts.add(
        Channel::Form,
        &format!("the byte order mark of `{kind}`"),
        item,
        mark,
    );
    // The byte order mark is not part of the first word.
    let text = text.trim_start_matches('\u{feff}');
    for (number, line) in text.lines().take(MAX_LINES).enumerate() {
        if is_head(kind, number, line) {
            continue;
        }
        let split = line.split_once(['=', ':', '\t']);
        let key = split.map(|(key, value)| (key.trim(), value.trim()));
        if let Some((key, value)) =
            key.filter(|(key, _)| !key.is_empty() && key.len() <= 40 && number < 40)
        {
            facts.add(Channel::Field, &format!("`{key}` in `{kind}`"), item, value);
        }
        if number < 3 {
            for (at, word) in words(line).take(6).enumerate() {
                let what = format!("word {} of line {} of `{kind}`", at + 1, number + 1);
                facts.add(Channel::Field, &what, item, word);
            }
        }
    }
    // The first line may be a header or a comment.
    let first = text.lines().next().unwrap_or_default();
    if first.contains(char::is_alphabetic) {
        let what = format!("the first line of `{kind}`");
        facts.add(Channel::Form, &what, item, first);
    }
    let length = text.trim_end().chars().count();
    facts.number(
        Channel::Look,
        &format!("the length of the text of `{kind}`"),
        item,
        length as f64,
    );
    let tail = text.len() - text.trim_end().len();
    facts.number(
        Channel::Form,
        &format!("the spaces after the text of `{kind}`"),
        item,
        tail as f64,
    );
    let ends = match (text.contains("\r\n"), text.contains('\n')) {
        (true, _) => "CR LF",
        (_, true) => "LF",
        _ => "none",
    };
    facts.add(
        Channel::Form,
        &format!("the line endings of `{kind}`"),
        item,
        ends,
    );
}
