//! Facts from XML and HTML. For elements with the id of an item in an attribute or text: their other attributes and
//! texts. For documents that belong to an item: all attributes and texts.
//!
//! An XML parser stops at the first error. HTML is rarely well-formed, and a leak in a damaged document is still a leak,
//! so this module only looks for tags.

use super::{Channel, Facts, ItemOf};

/// Maximum number of attributes and texts that are collected for an element.
const MAX_ENTRIES: usize = 200;

/// Maximum length of a value, in bytes. Longer values are skipped.
const MAX_VALUE: usize = 200;

const MAX_DEPTH: usize = 64;

/// Returns whether the name of a file has the suffix of a markup format.
pub(crate) fn is_markup(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    [".xml", ".html", ".svg", ".gpx", ".kml"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// An open element: its name, and the attributes and texts found so far, as path within the element and value.
#[derive(Default)]
struct Element<'a> {
    name: &'a str,
    entries: Vec<(String, &'a str)>,
}

/// Adds the facts of elements that contain ids of items.
pub(crate) fn collect(path: &str, text: &str, item_of: ItemOf<'_>, facts: &mut Facts) {
    let mut place = 0_usize;
    walk(text, &mut |element| {
        let mut entries = element.entries.iter().enumerate();
        let named = entries.find_map(|(at, (_, value))| Some((at, item_of(value)?)));
        // An element that contains only the id is part of a larger element, which describes the item.
        let Some((at, item)) = named.filter(|_| element.entries.len() > 1) else {
            return true;
        };
        place += 1;
        for (number, (name, value)) in element.entries.iter().enumerate() {
            if number != at {
                let what = format!("`{}/{name}` in {path}", element.name);
                facts.add(Channel::Field, &what, item, value);
            }
        }
        let what = format!("the position in {path}");
        facts.number(Channel::Order, &what, item, place as f64);
        facts.mention(path, item);
        false
    });
}

/// Adds the facts of a document that belongs to an item. Of repeated elements, the first one is used.
pub(crate) fn collect_item(kind: &str, text: &str, item: usize, facts: &mut Facts) {
    let mut last: Vec<(String, String)> = Vec::new();
    walk(text, &mut |element| {
        let entries = element.entries.iter();
        last = entries
            .map(|(name, value)| (format!("{}/{name}", element.name), (*value).to_owned()))
            .collect();
        true
    });
    for (name, value) in last {
        let what = format!("`{name}` in `{kind}`");
        facts.add(Channel::Field, &what, item, &value);
    }
}

/// Calls `closed` for each element at its end. If `closed` returns true, the entries of the element are added to its
/// parent.
fn walk<'a>(text: &'a str, closed: &mut dyn FnMut(&Element<'a>) -> bool) {
    let mut open: Vec<Element<'a>> = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find('<') {
        let content = rest.get(..begin).unwrap_or_default().trim();
        if let Some(element) = open.last_mut().filter(|_| !content.is_empty()) {
            add(element, "text", content);
        }
        let behind = rest.get(begin + 1..).unwrap_or_default();
        let end = match behind.starts_with("!--") {
            true => behind.find("-->").map(|end| end + 2),
            false => end_of_tag(behind),
        };
        let Some(end) = end else { break };
        let tag = behind.get(..end).unwrap_or_default();
        rest = behind.get(end + 1..).unwrap_or_default();
        if tag.starts_with(['!', '?']) {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let name = name.trim();
            // HTML elements without an end tag end with their parent.
            if open.iter().any(|element| element.name == name) {
                while let Some(element) = open.pop() {
                    let is_it = element.name == name;
                    close(&element, &mut open, closed);
                    if is_it {
                        break;
                    }
                }
            }
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let name_end = tag.find(char::is_whitespace).unwrap_or(tag.len());
        let mut element = Element {
            name: tag.get(..name_end).unwrap_or_default(),
            entries: Vec::new(),
        };
        attributes(tag.get(name_end..).unwrap_or_default(), &mut element);
        match is_empty || open.len() >= MAX_DEPTH {
            true => close(&element, &mut open, closed),
            false => open.push(element),
        }
    }
    while let Some(element) = open.pop() {
        close(&element, &mut open, closed);
    }
}

fn close<'a>(
    element: &Element<'a>,
    open: &mut [Element<'a>],
    closed: &mut dyn FnMut(&Element<'a>) -> bool,
) {
    if closed(element)
        && let Some(around) = open.last_mut()
    {
        for (name, value) in &element.entries {
            add(around, &format!("{}/{name}", element.name), value);
        }
    }
}

fn add<'a>(element: &mut Element<'a>, name: &str, value: &'a str) {
    if element.entries.len() < MAX_ENTRIES && value.len() <= MAX_VALUE {
        element.entries.push((name.to_owned(), value));
    }
}

/// Returns the end of a tag: the first `>` outside quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(own), letter) if own == letter => quote = None,
            _ => {}
        }
    }
    None
}

fn attributes<'a>(text: &'a str, element: &mut Element<'a>) {
    let mut rest = text.trim_start();
    while let Some((name, behind)) = rest.split_once('=') {
        let behind = behind.trim_start();
        let Some(quote) = behind.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return;
        };
        let Some((value, behind)) = behind.get(1..).and_then(|text| text.split_once(quote)) else {
            return;
        };
        add(element, name.trim(), value);
        rest = behind.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_with_an_id_add_their_other_values() {
        let item_of = |text: &str| text.strip_prefix("img-")?.parse().ok();
        let text = r#"<?xml version="1.0"?><!-- a > b --><all kind="x">
            <image name="img-3" id="1"><tag label="a > b"/><note>red</note></image>
            <image id="2"><file>img-5</file><br><note>blue</note></image></all>"#;
        let mut facts = Facts::default();
        collect("all.xml", text, &item_of, &mut facts);
        let value = |name: &str, item| {
            let key = (Channel::Field, format!("`image/{name}` in all.xml"));
            facts.all[&key].get(item).map(str::to_owned)
        };
        assert_eq!(value("tag/label", 3).as_deref(), Some("a > b"));
        assert_eq!(value("note/text", 3).as_deref(), Some("red"));
        assert_eq!(value("id", 5).as_deref(), Some("2"));
        let mut facts = Facts::default();
        collect_item("ID.xml", "<a><b><c>oak</c></b></a>", 0, &mut facts);
        let key = (Channel::Field, "`a/b/c/text` in `ID.xml`".to_owned());
        assert_eq!(facts.all[&key].get(0), Some("oak"));
    }
}
