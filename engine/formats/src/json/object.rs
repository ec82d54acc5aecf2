//! JSON objects that preserve the order of their keys.

use std::collections::HashMap;
use std::sync::Arc;

use super::{JsonString, JsonValue};

/// An object with more keys has a hash index; a smaller one is searched linearly.
const MAX_UNINDEXED_KEYS: usize = 24;

/// A JSON object. Each key occurs once; keys are in order of first appearance.
#[derive(Debug, Clone, Default)]
pub struct JsonObject {
    entries: Vec<(JsonString, JsonValue)>,
    /// The index of each key in `entries`, if there are many keys.
    index: Option<Arc<KeyIndex>>,
}

type KeyIndex = HashMap<JsonString, usize>;

/// The keys of objects that all have the same keys. The objects share the index of the keys.
#[derive(Debug)]
pub(super) struct SharedKeys {
    keys: Vec<JsonString>,
    index: Option<Arc<KeyIndex>>,
}

impl SharedKeys {
    /// `keys` must be different.
    pub fn new(keys: Vec<JsonString>) -> Self {
        let index = (keys.len() > MAX_UNINDEXED_KEYS).then(|| Arc::new(index_of(keys.iter())));
        Self { keys, index }
    }

    /// Creates an object. `value` returns the value of the key with this number.
    pub fn object(&self, mut value: impl FnMut(usize, &JsonString) -> JsonValue) -> JsonObject {
        let keys = self.keys.iter().enumerate();
        JsonObject {
            entries: keys
                .map(|(number, key)| (key.clone(), value(number, key)))
                .collect(),
            index: self.index.clone(),
        }
    }

    pub fn position(&self, key: &JsonString) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(key).copied(),
            None => self.keys.iter().position(|known| known == key),
        }
    }
}

fn index_of<'a>(keys: impl Iterator<Item = &'a JsonString>) -> KeyIndex {
    let positions = keys.enumerate();
    positions
        .map(|(position, key)| (key.clone(), position))
        .collect()
}

impl JsonObject {
    /// Creates an object without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the object has no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&JsonValue> {
        let position = self.position_of(key.as_bytes())?;
        self.entries.get(position).map(|(_, value)| value)
    }

    /// Returns the value of `key`, which may contain unpaired surrogates.
    pub fn get_key(&self, key: &JsonString) -> Option<&JsonValue> {
        let position = self.position_of(key.as_wtf8())?;
        self.entries.get(position).map(|(_, value)| value)
    }

    /// Returns the value of `key` and replaces it with null.
    pub fn take(&mut self, key: &JsonString) -> Option<JsonValue> {
        let position = self.position_of(key.as_wtf8())?;
        let (_, value) = self.entries.get_mut(position)?;
        Some(std::mem::replace(value, JsonValue::Null))
    }

    /// Returns the value of `key` for modification.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut JsonValue> {
        let position = self.position_of(key.as_bytes())?;
        self.entries.get_mut(position).map(|(_, value)| value)
    }

    /// Sets the value of `key` and returns the previous value. An existing key keeps its position; a new key is
    /// appended.
    pub fn insert(&mut self, key: JsonString, value: JsonValue) -> Option<JsonValue> {
        let position = self.position_of(key.as_wtf8());
        if let Some((_, old)) = position.and_then(|position| self.entries.get_mut(position)) {
            return Some(std::mem::replace(old, value));
        }
        if let Some(index) = &mut self.index {
            Arc::make_mut(index).insert(key.clone(), self.entries.len());
        }
        self.entries.push((key, value));
        if self.index.is_none() && self.entries.len() > MAX_UNINDEXED_KEYS {
            self.index = Some(Arc::new(index_of(self.keys())));
        }
        None
    }

    /// Removes `key` and returns its value. Later keys move up by one position.
    pub fn remove(&mut self, key: &str) -> Option<JsonValue> {
        let position = self.position_of(key.as_bytes())?;
        self.index = None;
        Some(self.entries.remove(position).1)
    }

    /// Iterates over keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&JsonString, &JsonValue)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Iterates over keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &JsonString> {
        self.entries.iter().map(|(key, _)| key)
    }

    fn position_of(&self, key: &[u8]) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(key).copied(),
            None => self
                .entries
                .iter()
                .position(|(known, _)| known.as_wtf8() == key),
        }
    }
}

impl PartialEq for JsonObject {
    /// Compares keys, values and order.
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl IntoIterator for JsonObject {
    type Item = (JsonString, JsonValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<K: Into<JsonString>> FromIterator<(K, JsonValue)> for JsonObject {
    fn from_iter<I: IntoIterator<Item = (K, JsonValue)>>(entries: I) -> Self {
        let mut object = Self::new();
        for (key, value) in entries {
            object.insert(key.into(), value);
        }
        object
    }
}
