//! JSON documents: fields of the objects that name an item, keys of the lists that hold it, and its place.

use serde_json::Value;

use super::{Channel, Facts};

const MAX_DEPTH: usize = 24;

/// Maximum bytes of a document. Parsed values take up to 25 times as much memory as their text.
const MAX_DOCUMENT: usize = 16 << 20;

/// Adds a document, or documents one after the other.
pub(crate) fn collect(
    path: &str,
    text: &str,
    item_of: &dyn Fn(&str) -> Option<usize>,
    facts: &mut Facts,
) {
    if text.len() > MAX_DOCUMENT {
        return;
    }
    let mut walk = Walk {
        path,
        item_of,
        facts,
        place: 0,
    };
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    for value in values {
        // A document that cannot be parsed has been read as far as it goes.
        let Ok(value) = value else { break };
        walk.value(&value, "", &mut Vec::new(), 0);
    }
}

/// Adds the document that belongs to an item.
pub(crate) fn of_item(kind: &str, text: &str, item: usize, facts: &mut Facts) {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let mut walk = Walk {
        path: kind,
        item_of: &|_| None,
        facts,
        place: 0,
    };
    let first = match &value {
        Value::Array(items) => items.first(),
        other => Some(other),
    };
    if let Some(Value::Object(members)) = first {
        walk.object(members, None, item, "");
    }
}

struct Walk<'a> {
    path: &'a str,
    item_of: &'a dyn Fn(&str) -> Option<usize>,
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

    /// `keys` are those on the way from the root.
    fn value(&mut self, value: &Value, shape: &str, keys: &mut Vec<String>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Array(items) => {
                for (number, inner) in items.iter().enumerate() {
                    if let Some(item) = self.item(inner) {
                        self.add_keys(item, shape, keys);
                        let what = format!("the place in the list `{shape}` of {}", self.path);
                        self.facts
                            .number(Channel::Order, &what, item, number as f64);
                    }
                    self.value(inner, &format!("{shape}[]"), keys, depth + 1);
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
                    // Many members are a list by another name.
                    let inner_shape = match members.len() > 200 {
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

    /// The keys on the way to an item, and that it is there.
    fn add_keys(&mut self, item: usize, shape: &str, keys: &[String]) {
        self.place += 1;
        let what = format!("the place in {}", self.path);
        self.facts
            .number(Channel::Order, &what, item, self.place as f64);
        let shape: Vec<&str> = shape.split('.').collect();
        let above = keys.last().filter(|_| shape.len() > 1);
        if let Some(key) = above {
            let what = format!("the key of the list that holds an item in {}", self.path);
            self.facts.add(Channel::Field, &what, item, key);
        }
        let what = format!("whether {} names the item", self.path);
        self.facts.add(Channel::Membership, &what, item, "named");
    }

    fn keyed(&mut self, value: &Value, item: usize, shape: &str) {
        match value {
            Value::Object(members) => self.object(members, None, item, shape),
            other => {
                if let Some(text) = plain(other) {
                    let what = format!("the value of `{shape}.ID` in {}", self.path);
                    self.facts.add(Channel::Field, &what, item, &text);
                }
            }
        }
    }

    /// The fields of an item's object, nested ones too, and the order of its keys.
    fn object(
        &mut self,
        members: &serde_json::Map<String, Value>,
        own: Option<&String>,
        item: usize,
        shape: &str,
    ) {
        let mut left: Vec<(String, &serde_json::Map<String, Value>)> =
            vec![(String::new(), members)];
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

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
