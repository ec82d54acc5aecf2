//! Texts inside files of formats without a reader (databases, pickles, scans): those that name an item, and the texts next to them.

use super::{Channel, Facts};

/// Longest text that is kept.
const MAX_TEXT: usize = 200;

/// Shortest stretch of printable characters that is a text.
const SHORTEST: usize = 2;

/// Bytes of an item's own file in which texts are looked for.
const MAX_HEAD: usize = 1 << 16;

/// Texts of an item's own file that are kept.
const MAX_TEXTS: usize = 24;

/// Adds the texts before and behind those that name an item. `shortest` is the length of the shortest id.
pub(crate) fn collect(
    path: &str,
    content: &[u8],
    shortest: usize,
    item_of: &dyn Fn(&str) -> Option<usize>,
    facts: &mut Facts,
) {
    let (mut before, mut named, mut place) = ("", None, 0_usize);
    for text in texts(content, SHORTEST) {
        // Where there are no lengths between texts, several are one.
        let found = match text.len() >= shortest {
            true => name_in(text, shortest, item_of),
            false => None,
        };
        if let Some((item, rest)) = found {
            place += 1;
            let what = format!("whether {path} names the item");
            facts.add(Channel::Membership, &what, item, "named");
            let what = format!("the place in {path}");
            facts.number(Channel::Order, &what, item, place as f64);
            let what = format!("the text before the item's name in {path}");
            facts.add(Channel::Field, &what, item, before);
            if rest.is_empty() {
                named = Some(item);
            } else {
                let what = format!("the text behind the item's name in {path}");
                facts.add(Channel::Field, &what, item, rest);
                named = None;
            }
        } else if let Some(item) = named.take() {
            let what = format!("the text behind the item's name in {path}");
            facts.add(Channel::Field, &what, item, text);
        }
        before = text;
    }
}

/// The item that a text begins with, and the rest of the text.
fn name_in<'a>(
    text: &'a str,
    shortest: usize,
    item_of: &dyn Fn(&str) -> Option<usize>,
) -> Option<(usize, &'a str)> {
    let length = text.len();
    for begin in 0..=4.min(length.saturating_sub(shortest)) {
        let own = text.get(begin..)?;
        // The whole text, then a part of it up to a sign, then beginnings.
        let sign = own.find(|c: char| !c.is_alphanumeric() && !"-_.".contains(c));
        for end in [Some(own.len()), sign, Some(shortest)]
            .into_iter()
            .flatten()
        {
            if let Some(item) = own.get(..end).and_then(item_of) {
                return Some((item, own.get(end..).unwrap_or_default()));
            }
        }
    }
    None
}

/// Adds the texts of a file that belongs to an item, by their number.
pub(crate) fn of_item(kind: &str, content: &[u8], item: usize, facts: &mut Facts) {
    let head = content.get(..MAX_HEAD).unwrap_or(content);
    // Short texts occur in any noise.
    for (number, text) in texts(head, 6).take(MAX_TEXTS).enumerate() {
        let what = format!("text {} of `{kind}`", number + 1);
        facts.add(Channel::Metadata, &what, item, text);
    }
}

/// Stretches of printable ASCII characters.
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
    fn texts_next_to_names_are_found() {
        let item_of = |text: &str| match text {
            "8f3a21" => Some(0),
            "77aa90" => Some(1),
            _ => None,
        };
        let mut facts = Facts::default();
        let content = b"\x01\x068f3a21\x02\x05class-a\0\0\x03x77aa90oak\xff";
        collect("cache.pkl", content, 6, &item_of, &mut facts);
        let what = "the text behind the item's name in cache.pkl".to_owned();
        let values = &facts.all[&(Channel::Field, what)];
        assert_eq!(values.get(0), Some("class-a"));
        assert_eq!(values.get(1), Some("oak"));
    }
}
