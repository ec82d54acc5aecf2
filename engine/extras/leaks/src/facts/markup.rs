//! Facts from XML and HTML. For elements with the id of an item in an attribute or text: their other attributes and
//! texts. For documents that belong to an item: all attributes and texts.

use super::{Channel, Facts, ItemOf};
use crate::xml::{self, Part, Tag};

/// Maximum number of attributes and texts that are collected for an element.
const MAX_ENTRIES: usize = 200;

/// Maximum length of a value, in bytes. Longer values are skipped.
const MAX_VALUE: usize = 200;

/// Maximum number of open elements, and maximum length of their joined names in bytes. Elements inside are treated as
/// empty.
const MAX_DEPTH: usize = 64;
const MAX_PATH: usize = 300;

/// Returns whether the name of a file has the suffix of a markup format.
pub(crate) fn is_markup(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    [".xml", ".html", ".svg", ".gpx", ".kml"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Adds the facts of elements that contain ids of items.
pub(crate) fn collect(path: &str, text: &str, item_of: ItemOf<'_>, facts: &mut Facts) {
    let mut place = 0_usize;
    walk(text, item_of, &mut |element, entries| {
        let mut numbered = entries.iter().enumerate();
        let named = numbered.find_map(|(at, entry)| Some((at, entry.item?)));
        // An element that contains only the id is part of a larger element, which describes the item.
        let Some((at, item)) = named.filter(|_| entries.len() > 1) else {
            return true;
        };
        place += 1;
        for (number, entry) in entries.iter().enumerate() {
            if number != at {
                let what = format!("`{}` in {path}", element.path_of(entry));
                facts.add(Channel::Field, &what, item, &entry.value);
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
    walk(text, &|_| None, &mut |element, entries| {
        if element.is_outermost {
            let entries = entries.iter();
            let named =
                entries.map(|entry| (element.path_of(entry).to_owned(), entry.value.to_string()));
            last = named.collect();
        }
        true
    });
    for (name, value) in last {
        let what = format!("`{name}` in `{kind}`");
        facts.add(Channel::Field, &what, item, &value);
    }
}

/// An attribute or a text.
struct Entry {
    /// The names of the open elements and of the attribute, or `text`.
    path: Box<str>,
    value: Box<str>,
    /// The item whose id the value contains.
    item: Option<usize>,
}

/// An element whose end was found.
struct Closed {
    /// Where its name begins in the paths of its entries.
    begin: usize,
    is_outermost: bool,
}

impl Closed {
    /// Returns the path of an entry within the element.
    fn path_of<'a>(&self, entry: &'a Entry) -> &'a str {
        entry.path.get(self.begin..).unwrap_or_default()
    }
}

/// Calls `closed` for each element at its end, with the attributes and texts inside. If `closed` returns true, they are
/// also those of its parent.
fn walk(text: &str, item_of: ItemOf<'_>, closed: &mut dyn FnMut(&Closed, &[Entry]) -> bool) {
    let mut open = Open {
        path: String::new(),
        elements: Vec::new(),
        entries: Vec::new(),
        item_of,
        closed,
    };
    xml::walk(text, &mut |part| match part {
        Part::Begin(tag) => open.begin(&tag),
        Part::End(name) => open.end(name.trim()),
        Part::Text(text) if !text.trim().is_empty() => open.add("text", text.trim()),
        Part::Text(_) => {}
    });
    while open.close() {}
}

/// The open elements.
struct Open<'a> {
    /// Their joined names.
    path: String,
    elements: Vec<OpenElement>,
    /// The entries of all open elements. Each element owns the last ones, together with the elements inside.
    entries: Vec<Entry>,
    item_of: ItemOf<'a>,
    closed: &'a mut dyn FnMut(&Closed, &[Entry]) -> bool,
}

struct OpenElement {
    /// Where its name begins and ends in `path`.
    name: std::ops::Range<usize>,
    /// The number of entries before its own.
    entries_before: usize,
}

impl Open<'_> {
    fn begin(&mut self, tag: &Tag<'_>) {
        let begin = self.path.len();
        let name = tag.name();
        self.path.push_str(
            name.get(..name.floor_char_boundary(MAX_VALUE))
                .unwrap_or_default(),
        );
        let name = begin..self.path.len();
        self.path.push('/');
        self.elements.push(OpenElement {
            name,
            entries_before: self.entries.len(),
        });
        for (name, value) in tag.attributes() {
            self.add(name, &value);
        }
        if tag.is_empty || self.elements.len() > MAX_DEPTH || self.path.len() > MAX_PATH {
            self.close();
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        let Some(element) = self.elements.last() else {
            return;
        };
        let is_full = self.entries.len() - element.entries_before >= MAX_ENTRIES;
        if is_full || value.len() > MAX_VALUE || name.len() > MAX_VALUE {
            return;
        }
        self.entries.push(Entry {
            path: [&self.path, name].concat().into(),
            value: value.into(),
            item: (self.item_of)(value),
        });
    }

    /// Closes the innermost element with this name and the elements inside. HTML elements without an end tag end with
    /// their parent.
    fn end(&mut self, name: &str) {
        let is_named = |element: &OpenElement| self.path.get(element.name.clone()) == Some(name);
        if let Some(at) = self.elements.iter().rposition(is_named) {
            while self.elements.len() > at {
                self.close();
            }
        }
    }

    /// Closes the innermost element. Returns false if no element is open.
    fn close(&mut self) -> bool {
        let Some(element) = self.elements.pop() else {
            return false;
        };
        let closed = Closed {
            begin: element.name.start,
            is_outermost: self.elements.is_empty(),
        };
        let entries = self.entries.get(element.entries_before..);
        let is_kept = (self.closed)(&closed, entries.unwrap_or_default());
        self.path.truncate(element.name.start);
        let kept = match self.elements.last().filter(|_| is_kept) {
            Some(parent) => parent.entries_before + MAX_ENTRIES,
            None => element.entries_before,
        };
        self.entries.truncate(kept);
        true
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
