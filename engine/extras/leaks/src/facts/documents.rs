//! Facts from JSON documents: the fields of objects that contain the id of an item, the keys of the lists that contain
//! such objects, and their positions.

use serde_json::Value;

use super::files::{Parts, first, parts};
use super::{Channel, Facts, ItemOf};

const MAX_DEPTH: usize = 24;

/// Objects with more members are treated as lists.
const MAX_MEMBERS: usize = 200;

/// Maximum length of a value that is parsed at once, in bytes. Longer values are split first, because parsed values
/// need up to 25 times as much memory as their text.
const MAX_PARSED: usize = 1 << 20;

/// Returns whether a file is a JSON document, by its name.
pub(crate) fn is_document(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    let ends = [".json", ".jsonl", ".ndjson", ".geojson"];
    ends.iter().any(|end| name.ends_with(end))
}

/// Adds the facts of one or more consecutive documents.
pub(crate) fn collect(path: &str, text: &str, item_of: ItemOf<'_>, facts: &mut Facts) {
    let mut walk = Walk {
        path,
        item_of,
        facts,
        place: 0,
    };
    let mut rest = text;
    while let Some((document, behind)) = first(rest) {
        // The parts before an error have been added.
        if !walk.text(document, "", &mut Vec::new(), 0) {
            break;
        }
        rest = behind;
    }
}

/// Adds the facts of a document that belongs to an item.
pub(crate) fn collect_item(kind: &str, text: &str, item: usize, facts: &mut Facts) {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let breaks = text.trim_end().contains('\n');
    let spaces = text.contains("\": ");
    let layout = format!("line breaks {breaks}, spaces {spaces}");
    let what = format!("the layout of `{kind}`");
    facts.add(Channel::Form, &what, item, &layout);
    let mut walk = Walk {
        path: kind,
        item_of: &|_| None,
        facts,
        place: 0,
    };
    let described = match &value {
        Value::Array(items) => items.first(),
        other => Some(other),
    };
    if let Some(Value::Object(members)) = described {
        walk.object(members, None, item, "");
    }
}

/// Returns whether a value is a number, without parsing it.
fn is_number(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
}

type Members = serde_json::Map<String, Value>;

struct Walk<'a> {
    path: &'a str,
    item_of: ItemOf<'a>,
    facts: &'a mut Facts,
    place: usize,
}

impl Walk<'_> {
    fn item(&self, value: &Value) -> Option<usize> {
        match value {
            Value::String(text) => (self.item_of)(text),
            Value::Number(number) => (self.item_of)(&number.to_string()),
            _ => None,
        }
    }

    /// Same as [`Walk::value`], but for a value that is not parsed yet. Returns false if the value is damaged.
    fn text(&mut self, text: &str, shape: &str, keys: &mut Vec<String>, depth: usize) -> bool {
        if text.len() <= MAX_PARSED || depth > MAX_DEPTH {
            let parsed = serde_json::from_str::<Value>(text);
            return parsed.is_ok_and(|value| {
                self.value(&value, shape, keys, depth);
                true
            });
        }
        match parts(text) {
            Parts::List(items) => {
                let inner_shape = format!("{shape}[]");
                for (number, item) in items.iter().enumerate() {
                    if item.len() > MAX_PARSED {
                        self.text(item, &inner_shape, keys, depth + 1);
                    } else if is_number(item) && (self.item_of)(item).is_none() {
                        // Lists may have millions of numbers, and none of them is an id.
                    } else if let Ok(value) = serde_json::from_str::<Value>(item) {
                        self.inner(&value, number, shape, keys, depth);
                    }
                }
                true
            }
            Parts::Object(members) => {
                let is_list = members.len() > MAX_MEMBERS;
                for (key, inner) in members {
                    let key = serde_json::from_str::<String>(key).unwrap_or_default();
                    if let Some(item) = (self.item_of)(&key) {
                        if let Ok(value) = serde_json::from_str::<Value>(inner) {
                            self.keyed(&value, item, shape);
                        }
                        self.add_keys(item, shape, keys);
                        self.text(inner, &format!("{shape}.ID"), keys, depth + 1);
                        continue;
                    }
                    let inner_shape = match is_list {
                        true => format!("{shape}.*"),
                        false => format!("{shape}.{key}"),
                    };
                    keys.push(key);
                    self.text(inner, &inner_shape, keys, depth + 1);
                    keys.pop();
                }
                true
            }
            Parts::Other => false,
        }
    }

    /// Walks through an element of a list.
    fn inner(
        &mut self,
        inner: &Value,
        number: usize,
        shape: &str,
        keys: &mut Vec<String>,
        depth: usize,
    ) {
        if let Some(item) = self.item(inner) {
            self.add_keys(item, shape, keys);
            let what = format!("the position in the list `{shape}` of {}", self.path);
            self.facts
                .number(Channel::Order, &what, item, number as f64);
        }
        self.value(inner, &format!("{shape}[]"), keys, depth + 1);
    }

    /// Walks through a value. `keys` are the keys on the path from the root to it.
    fn value(&mut self, value: &Value, shape: &str, keys: &mut Vec<String>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Array(items) => {
                for (number, inner) in items.iter().enumerate() {
                    self.inner(inner, number, shape, keys, depth);
                }
            }
            Value::Object(members) => {
                let own = members
                    .iter()
                    .find_map(|(key, value)| Some((key, self.item(value)?)));
                if let Some((own, item)) = own {
                    self.object(members, Some(own), item, shape);
                    self.add_keys(item, shape, keys);
                }
                for (key, inner) in members {
                    if let Some(item) = (self.item_of)(key) {
                        self.keyed(inner, item, shape);
                        self.add_keys(item, shape, keys);
                        self.value(inner, &format!("{shape}.ID"), keys, depth + 1);
                        continue;
                    }
                    keys.push(key.clone());
                    // An object with many members is treated as a list.
                    let inner_shape = match members.len() > MAX_MEMBERS {
                        true => format!("{shape}.*"),
                        false => format!("{shape}.{key}"),
                    };
                    self.value(inner, &inner_shape, keys, depth + 1);
                    keys.pop();
                }
            }
            _ => {}
        }
    }

    /// Adds the keys on the path to an item, its position, and the fact that the document contains it.
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

    fn keyed(&mut self, value: &Value, item: usize, shape: &str) {
        if let Value::Object(members) = value {
            self.object(members, None, item, shape);
        } else if let Some(text) = plain(value) {
            let what = format!("the value of `{shape}.ID` in {}", self.path);
            self.facts.add(Channel::Field, &what, item, &text);
        }
    }

    /// Adds the fields of an item's object, including nested ones, and the order of its keys.
    fn object(&mut self, members: &Members, own: Option<&String>, item: usize, shape: &str) {
        let mut left: Vec<(String, &Members)> = vec![(String::new(), members)];
        while let Some((prefix, members)) = left.pop() {
            for (key, value) in members {
                if prefix.is_empty() && Some(key) == own {
                    continue;
                }
                let name = format!("{prefix}{key}");
                match value {
                    Value::Object(inner) if name.matches('.').count() < 6 => {
                        left.push((format!("{name}."), inner));
                    }
                    Value::Array(items) => {
                        let what = format!("the number of `{name}` in {}{shape}", self.path);
                        self.facts
                            .number(Channel::Field, &what, item, items.len() as f64);
                        if let Some(text) = items.first().and_then(plain) {
                            let what = format!("the first of `{name}` in {}{shape}", self.path);
                            self.facts.add(Channel::Field, &what, item, &text);
                        }
                    }
                    value => {
                        if let Some(text) = plain(value) {
                            let what = format!("`{name}` in {}{shape}", self.path);
                            self.facts.add(Channel::Field, &what, item, &text);
                        }
                    }
                }
            }
        }
        let keys: Vec<&str> = members.keys().map(String::as_str).collect();
        if keys.len() > 1 && keys.len() <= 60 {
            let what = format!("the order of keys in {}{shape}", self.path);
            self.facts.add(Channel::Form, &what, item, &keys.join(" "));
        }
    }
}

/// Returns a text, a number or a boolean as text.
pub(crate) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document has 40 MB, but each of its elements is short.
    #[test]
    fn long_documents_have_the_same_facts_as_short_ones() {
        let padding = "x".repeat(4000);
        let records: Vec<String> = (0..10_000)
            .map(|n| {
                format!(
                    r#"{{"name": "item-{n}", "pad": "{padding}", "kind": {{"grade": {}}}}}"#,
                    n % 3
                )
            })
            .collect();
        let item_of = |text: &str| {
            text.strip_prefix("item-")?
                .parse::<usize>()
                .ok()
                .filter(|n| *n < 50)
        };
        let collected = |text: &str| {
            let mut facts = Facts::default();
            collect("all.json", text, &item_of, &mut facts);
            facts.all
        };
        let long = collected(&format!(
            r#"{{"info": {{"by": "me"}}, "list": [{}]}}"#,
            records.join(",\n")
        ));
        let few = records.get(..50).unwrap_or_default();
        let short = collected(&format!(
            r#"{{"info": {{"by": "me"}}, "list": [{}]}}"#,
            few.join(",\n")
        ));
        assert!(long.keys().eq(short.keys()));
        let grade = &long[&(Channel::Field, "`kind.grade` in all.json.list[]".to_owned())];
        assert_eq!((grade.get(4), grade.len()), (Some("1"), 50));
    }
}
