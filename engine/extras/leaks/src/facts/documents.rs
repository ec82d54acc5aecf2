//! Facts from JSON documents about the items whose ids occur in a document: the other fields of an object that contains
//! an id, the object's position, and the key of the list that contains the object.
//!
//! Values are not parsed, because parsed values need up to 25 times as much memory as their text. Damaged documents are
//! read up to the damage.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Channel, ItemFacts, ItemOf};
use crate::table::{CellTexts, ColumnTable};

/// Values that are nested in more lists and objects than this are ignored.
const MAX_DEPTH: usize = 24;

/// Objects with more members than this are treated as lists, because their keys are probably ids.
const MAX_MEMBERS: usize = 200;

pub(crate) fn collect(path: &str, text: &str, item_of: ItemOf<'_>, facts: &mut ItemFacts) {
    let mut walk = DocumentWalk {
        path,
        item_of,
        facts,
        place: 0,
    };
    let mut rest = text;
    while let Some((document, behind)) = first(rest).filter(|(document, _)| !document.is_empty()) {
        walk.value(document, "", &mut Vec::new(), 0);
        rest = behind;
    }
}

pub(crate) fn collect_item(kind: &str, text: &str, item: usize, facts: &mut ItemFacts) {
    let breaks = text.trim_end().contains('\n');
    let spaces = text.contains("\": ");
    let layout = format!("line breaks {breaks}, spaces {spaces}");
    let what = format!("the layout of `{kind}`");
    facts.add(Channel::Form, &what, item, &layout);
    let mut walk = DocumentWalk {
        path: kind,
        item_of: &|_| None,
        facts,
        place: 0,
    };
    let described = match parts(text) {
        JsonParts::List(items) => items.first().copied().unwrap_or_default(),
        _ => text,
    };
    if let JsonParts::Object(members) = parts(described) {
        walk.object(members, None, item, "");
    }
}

struct DocumentWalk<'a> {
    path: &'a str,
    item_of: ItemOf<'a>,
    facts: &'a mut ItemFacts,
    place: usize,
}

impl DocumentWalk<'_> {
    fn item(&self, value: &str) -> Option<usize> {
        (self.item_of)(&scalar(value)?)
    }

    /// Adds the facts of a JSON value and of all values inside it. `keys` are the keys from the root of the document to
    /// this value. `shape` is the same path as a pattern: `[]` for an element of a list, `ID` for an id, and `*` for a
    /// key of a very large object.
    fn value(&mut self, text: &str, shape: &str, keys: &mut Vec<String>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match parts(text) {
            JsonParts::List(items) => {
                let inner_shape = format!("{shape}[]");
                for (number, inner) in items.into_iter().enumerate() {
                    if let Some(item) = self.item(inner) {
                        self.add_keys(item, shape, keys);
                        let what = format!("the position in the list `{shape}` of {}", self.path);
                        // The position in the outermost list is the position in the file.
                        if !shape.is_empty() {
                            let facts = &mut self.facts;
                            facts.number(Channel::Order, &what, item, number as f64);
                        }
                    }
                    self.value(inner, &inner_shape, keys, depth + 1);
                }
            }
            JsonParts::Object(members) => {
                let mut values = members.iter();
                let own = values.find_map(|(key, value)| Some((key, self.item(value)?)));
                if let Some((own, item)) = own {
                    self.object(members.clone(), Some(own), item, shape);
                    self.add_keys(item, shape, keys);
                }
                let is_list = members.len() > MAX_MEMBERS;
                for (key, inner) in members {
                    if let Some(item) = (self.item_of)(&key) {
                        self.keyed(inner, item, shape);
                        self.add_keys(item, shape, keys);
                        self.value(inner, &format!("{shape}.ID"), keys, depth + 1);
                        continue;
                    }
                    let inner_shape = format!("{shape}.{}", if is_list { "*" } else { &key });
                    keys.push(key.into_owned());
                    self.value(inner, &inner_shape, keys, depth + 1);
                    keys.pop();
                }
            }
            JsonParts::Other => {}
        }
    }

    /// Adds facts about an item whose id was found: its position, the innermost of `keys`, and the presence of its id.
    fn add_keys(&mut self, item: usize, shape: &str, keys: &[String]) {
        self.place += 1;
        let what = format!("the position in {}", self.path);
        self.facts
            .number(Channel::Order, &what, item, self.place as f64);
        if let Some(key) = keys.last().filter(|_| shape.contains('.')) {
            let what = format!("the key of the list that contains an item in {}", self.path);
            self.facts.add(Channel::Field, &what, item, key);
        }
        self.facts.mention(self.path, item);
    }

    fn keyed(&mut self, value: &str, item: usize, shape: &str) {
        if let JsonParts::Object(members) = parts(value) {
            self.object(members, None, item, shape);
        } else if let Some(text) = scalar(value) {
            let what = format!("the value of `{shape}.ID` in {}", self.path);
            self.facts.add(Channel::Field, &what, item, &text);
        }
    }

    /// Adds the fields of an item's object, including nested ones, and the order of its keys.
    fn object(&mut self, members: ObjectMembers<'_>, own: Option<&str>, item: usize, shape: &str) {
        let keys: Vec<&str> = members.iter().map(|(key, _)| key.as_ref()).collect();
        if keys.len() > 1 && keys.len() <= 60 {
            let what = format!("the order of keys in {}{shape}", self.path);
            self.facts.add(Channel::Form, &what, item, &keys.join(" "));
        }
        self.members(members, own, item, ["", shape]);
    }

    /// Adds the members of the object at the path `prefix` as facts. Members of nested objects are added, too, including
    /// members of JSON objects inside strings.
    fn members(
        &mut self,
        members: ObjectMembers<'_>,
        own: Option<&str>,
        item: usize,
        [prefix, shape]: [&str; 2],
    ) {
        for (key, value) in members {
            if Some(key.as_ref()) == own {
                continue;
            }
            let name = format!("{prefix}{key}");
            let mut add = |what: &str, text: &str| {
                let what = format!("{what}`{name}` in {}{shape}", self.path);
                self.facts.add(Channel::Field, &what, item, text);
            };
            let text = scalar(value);
            if let Some(text) = &text {
                add("", text);
            }
            let value = text
                .as_deref()
                .filter(|text| is_object(text))
                .unwrap_or(value);
            match parts(value) {
                JsonParts::Object(inner) if name.matches('.').count() < 6 => {
                    self.members(inner, None, item, [&format!("{name}."), shape]);
                }
                JsonParts::List(items) => {
                    add("the number of ", &items.len().to_string());
                    if let Some(text) = items.first().and_then(|first| scalar(first)) {
                        add("the first of ", &text);
                    }
                    if items.len() <= MAX_ELEMENTS && items.iter().all(|one| scalar(one).is_some())
                    {
                        add("", value);
                    }
                }
                _ => {}
            }
        }
    }
}

/// If a list has more elements than this, its text is not a fact.
const MAX_ELEMENTS: usize = 50;

fn is_object(text: &str) -> bool {
    text.starts_with("{\"")
}

/// Adds the members of an object in a cell of the column `name`.
pub(super) fn collect_cell(path: &str, name: &str, cell: &str, item: usize, facts: &mut ItemFacts) {
    let item_of: ItemOf<'_> = &|_| None;
    let mut walk = DocumentWalk {
        path,
        item_of,
        facts,
        place: 0,
    };
    if let (true, JsonParts::Object(members)) = (is_object(cell), parts(cell)) {
        walk.members(members, None, item, [&format!("{name}."), ""]);
    }
}

/// Returns the elements of a list in a cell: the values of a JSON list, or the texts between separators.
pub(crate) fn elements(cell: &str) -> BTreeSet<String> {
    let cell = cell.trim();
    if let JsonParts::List(items) = parts(cell) {
        let texts = items.into_iter().filter_map(scalar);
        return texts.map(Cow::into_owned).collect();
    }
    let mut separators = ['|', ';', ',', ' '].into_iter();
    let separator = separators.find(|one| cell.contains(*one)).unwrap_or(',');
    let parts = cell.split(separator).map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// A list with fewer elements than this is not treated as a table.
const MIN_ROWS: usize = 20;

/// If objects have more keys than this, the keys are probably ids. Such objects are neither treated as rows nor searched
/// for lists.
const MAX_COLUMNS: usize = 100;

/// Lists that are nested in more objects than this are not searched.
const MAX_LIST_DEPTH: usize = 4;

/// Returns the lists of a document as tables. Each table has a name, which consists of the keys that lead to the list.
/// A list of objects becomes a table with a column for each key. A list of `items` single values, one for each test
/// item, becomes a table with one column.
pub(crate) fn lists(text: &str, items: usize) -> Vec<(String, ColumnTable)> {
    let mut found = Vec::new();
    if let Some((document, _)) = first(text) {
        add_lists(document, "", items, 0, &mut found);
    }
    found
}

fn add_lists(
    text: &str,
    path: &str,
    items: usize,
    depth: usize,
    found: &mut Vec<(String, ColumnTable)>,
) {
    if depth > MAX_LIST_DEPTH {
        return;
    }
    match parts(text) {
        JsonParts::Object(members) if members.len() <= MAX_COLUMNS => {
            for (key, value) in members {
                let path = joined(path, &key);
                add_lists(value, &path, items, depth + 1, found);
            }
        }
        JsonParts::List(values) if values.len() >= MIN_ROWS => {
            let is_object = |value: &&str| value.trim_start().starts_with('{');
            let table = if values.iter().all(is_object) {
                table_of_objects(&values)
            } else if values.len() == items {
                let cells = values.iter().map(|value| match *value {
                    "null" => Some(Cow::Borrowed("")),
                    value => scalar(value),
                });
                let cells: Option<CellTexts> = cells.collect();
                cells.map(|cells| ColumnTable::new(vec!["value".to_owned()], vec![cells]))
            } else {
                None
            };
            found.extend(table.map(|table| (path.to_owned(), table)));
        }
        _ => {}
    }
}

fn table_of_objects(objects: &[&str]) -> Option<ColumnTable> {
    let mut names: Vec<String> = Vec::new();
    let mut columns: Vec<CellTexts> = Vec::new();
    for (row, object) in objects.iter().enumerate() {
        let JsonParts::Object(members) = parts(object) else {
            return None;
        };
        for (name, value) in members {
            let Some(value) = scalar(value) else { continue };
            let place = names.iter().position(|own| *own == name);
            let place = place.unwrap_or_else(|| {
                names.push(name.into_owned());
                columns.push(CellTexts::default());
                names.len() - 1
            });
            if names.len() > MAX_COLUMNS {
                return None;
            }
            if let Some(column) = columns.get_mut(place).filter(|own| own.len() <= row) {
                column.fill_up_to(row);
                column.push(&value);
            }
        }
    }
    for column in &mut columns {
        column.fill_up_to(objects.len());
    }
    (names.len() > 1).then(|| ColumnTable::new(names, columns))
}

/// Keys are read from at most this number of consecutive documents, and from at most this number of elements of a list.
const MAX_RECORDS: usize = 20;

/// Returns the paths of all keys of one or more consecutive documents, up to a depth of three.
pub(crate) fn key_paths(text: &str) -> BTreeSet<String> {
    let (mut names, mut rest) = (BTreeSet::new(), text);
    for _ in 0..MAX_RECORDS {
        let Some((document, behind)) = first(rest) else {
            break;
        };
        add_key_paths(document, "", 0, &mut names);
        rest = behind;
    }
    names
}

fn add_key_paths(text: &str, outer: &str, depth: usize, names: &mut BTreeSet<String>) {
    // Each level reads the text again, so this also limits the time.
    if depth > MAX_DEPTH {
        return;
    }
    match parts(text) {
        JsonParts::List(items) => {
            let some = items.iter().take(MAX_RECORDS);
            some.for_each(|item| add_key_paths(item, outer, depth + 1, names));
        }
        JsonParts::Object(members) => {
            // Keys of large objects are treated as ids, so they are not part of paths.
            let by_id = members.len() > MAX_MEMBERS;
            for (key, value) in members {
                let path = if by_id {
                    outer.to_owned()
                } else {
                    joined(outer, &key)
                };
                if path.matches('.').count() < 3 {
                    add_key_paths(value, &path, depth + 1, names);
                }
                names.insert(path);
            }
        }
        JsonParts::Other => {}
    }
}

fn joined(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

type ObjectMembers<'a> = Vec<(Cow<'a, str>, &'a str)>;

#[derive(Debug, PartialEq)]
enum JsonParts<'a> {
    List(Vec<&'a str>),
    Object(ObjectMembers<'a>),
    /// A value without parts, or a damaged value.
    Other,
}

/// Returns the text of a JSON string, number or boolean. `None` for other values.
fn scalar(value: &str) -> Option<Cow<'_, str>> {
    match value.as_bytes().first()? {
        b'"' => match value.get(1..value.len() - 1) {
            Some(plain) if !plain.contains(['\\', '"']) => Some(Cow::Borrowed(plain)),
            _ => serde_json::from_str(value).ok().map(Cow::Owned),
        },
        b'[' | b'{' | b'n' => None,
        _ => Some(Cow::Borrowed(value)),
    }
}

/// Returns the first value of a text and the rest of the text. `None` if the text contains only whitespace.
fn first(text: &str) -> Option<(&str, &str)> {
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
fn parts(text: &str) -> JsonParts<'_> {
    let text = text.trim();
    let (inner, is_object) = match text.as_bytes().first() {
        Some(b'[') => (text.get(1..), false),
        Some(b'{') => (text.get(1..), true),
        _ => return JsonParts::Other,
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
        let (Some((value, behind)), Some(key)) = (first(rest), scalar(one)) else {
            break;
        };
        members.push((key, value));
        rest = behind;
    }
    match is_object {
        true => JsonParts::Object(members),
        false => JsonParts::List(items),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_values_are_split_into_their_parts() {
        let text = r#" {"a, b": [1, {"x": "]}\""}], "c" : "d" , "e":null}"#;
        let members = [
            ("a, b", r#"[1, {"x": "]}\""}]"#),
            ("c", r#""d""#),
            ("e", "null"),
        ];
        let members = members.map(|(key, value)| (Cow::Borrowed(key), value));
        assert_eq!(parts(text), JsonParts::Object(members.to_vec()));
        assert_eq!(
            parts("[1,[2, 3], \"x\"]"),
            JsonParts::List(vec!["1", "[2, 3]", "\"x\""])
        );
        assert_eq!(parts("3"), JsonParts::Other);
        assert_eq!(first("{} [1]\n2"), Some(("{}", " [1]\n2")));
        for (value, expected) in [
            (r#""a\"b""#, Some("a\"b")),
            (r#""ab""#, Some("ab")),
            ("\"", None),
            ("1.50", Some("1.50")),
            ("null", None),
            ("[1]", None),
            ("", None),
        ] {
            assert_eq!(scalar(value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn lists_in_a_document_become_tables() {
        let objects: Vec<String> = (0..20)
            .map(|n| match n {
                3 => r#"{"id": 3}"#.to_owned(),
                n => format!(r#"{{"id": {n}, "box": [1, 2], "kind": "k{n}"}}"#),
            })
            .collect();
        let numbers: Vec<String> = (0..25).map(|n| n.to_string()).collect();
        let text = format!(
            r#"{{"info": {{"y": [{}]}}, "items": [{}], "few": [1, 2]}}"#,
            numbers.join(","),
            objects.join(", ")
        );
        let [(vector, values), (path, table)] = lists(&text, 25).try_into().unwrap();
        assert_eq!((vector.as_str(), values.rows()), ("info.y", 25));
        assert_eq!((path.as_str(), table.rows()), ("items", 20));
        assert_eq!(table.names, ["id", "kind"]);
        let cells = (2..5).map(|row| table.columns[1].get(row));
        assert!(cells.eq(["k2", "", "k4"].map(Some)));
        let keys = [
            "few",
            "info",
            "info.y",
            "items",
            "items.box",
            "items.id",
            "items.kind",
        ];
        assert!(key_paths(&text).iter().eq(keys));
    }

    #[test]
    fn keys_of_deeply_nested_documents_are_not_collected() {
        let many: Vec<String> = (0..MAX_MEMBERS).map(|n| format!("\"{n}\":0,")).collect();
        let object = format!("{{{}\"inner\":", many.concat());
        for (level, count) in [("[", 1_000_000), (&*object, 1_000)] {
            let keys = key_paths(&level.repeat(count));
            assert!(keys.len() <= MAX_MEMBERS + 1, "{}", keys.len());
        }
    }
}
