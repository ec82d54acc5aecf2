//! Facts from files in formats without a reader, for example databases and pickles: texts that contain the id of an
//! item, and the texts next to them.

use super::{Channel, Facts, ItemOf};

/// Maximum length of a text that becomes a fact, in bytes.
const MAX_TEXT: usize = 200;

/// Minimum length of a run of printable characters that is treated as a text.
const MIN_TEXT: usize = 2;

/// Maximum number of bytes of an item's own file that are searched for texts.
const MAX_HEAD: usize = 1 << 16;

/// Maximum number of texts of an item's own file that become facts.
const MAX_TEXTS: usize = 24;

/// Adds the texts before and after texts that contain the id of an item. `shortest` is the length of the shortest id.
pub(crate) fn collect(
    path: &str,
    content: &[u8],
    shortest: usize,
    item_of: ItemOf<'_>,
    facts: &mut Facts,
) {
    let (mut before, mut named, mut place) = ("", None, 0_usize);
    for text in texts(content, MIN_TEXT) {
        // If texts are not separated by lengths, several of them look like one.
        if let Some((item, rest)) = name_in(text, shortest, item_of) {
            place += 1;
            facts.mention(path, item);
            let what = format!("the position in {path}");
            facts.number(Channel::Order, &what, item, place as f64);
            let what = format!("the text before the item's name in {path}");
            facts.add(Channel::Field, &what, item, before);
            if rest.is_empty() {
                named = Some(item);
            } else {
                let what = format!("the text following the item's name in {path}");
                facts.add(Channel::Field, &what, item, rest);
                named = None;
            }
        } else if let Some(item) = named.take() {
            let what = format!("the text following the item's name in {path}");
            facts.add(Channel::Field, &what, item, text);
        }
        before = text;
    }
}

/// Returns the item whose id is at the beginning of a text, and the rest of the text.
fn name_in<'a>(text: &'a str, shortest: usize, item_of: ItemOf<'_>) -> Option<(usize, &'a str)> {
    let longest_prefix = text.len().checked_sub(shortest)?;
    for begin in 0..=4.min(longest_prefix) {
        let own = text.get(begin..)?;
        // Try the entire text, then the part before a separator, then other beginnings.
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

/// Adds the texts of a file that belongs to an item, by their position.
pub(crate) fn collect_item(kind: &str, content: &[u8], item: usize, facts: &mut Facts) {
    let head = content.get(..MAX_HEAD).unwrap_or(content);
    // Short texts occur in random data, too.
    for (number, text) in texts(head, 6).take(MAX_TEXTS).enumerate() {
        let what = format!("text {} of `{kind}`", number + 1);
        facts.add(Channel::Metadata, &what, item, text);
    }
}

/// Returns the runs of printable ASCII characters with at least this length.
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
    fn texts_next_to_ids_are_found() {
        let item_of = |text: &str| match text {
            "8f3a21" => Some(0),
            "77aa90" => Some(1),
            _ => None,
        };
        let mut facts = Facts::default();
        let content = b"\x01\x068f3a21\x02\x05class-a\0\0\x03x77aa90oak\xff";
        collect("cache.pkl", content, 6, &item_of, &mut facts);
        let what = "the text following the item's name in cache.pkl".to_owned();
        let values = &facts.all[&(Channel::Field, what)];
        assert_eq!(values.get(0), Some("class-a"));
        assert_eq!(values.get(1), Some("oak"));
    }
}
