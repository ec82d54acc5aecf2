//! JSON values: objects that preserve the order of their keys, and strings that may contain unpaired surrogates.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use compact_str::CompactString;

/// A JSON value as Python parses it.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer in the range of `i64`, written without point and exponent.
    Int(i64),
    /// An integer outside the range of `i64`: its digits, after `-` if it is negative.
    BigInt(Box<str>),
    /// A number with point or exponent, as the nearest double. Also `NaN`, `Infinity` and `-Infinity`.
    Float(f64),
    /// A string.
    String(JsonString),
    /// A list.
    List(Vec<JsonValue>),
    /// An object.
    Object(JsonObject),
}

impl JsonValue {
    /// Returns the text if this is a string without unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => text.as_str(),
            _ => None,
        }
    }

    /// Returns the items if this is a list.
    pub fn as_list(&self) -> Option<&[JsonValue]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the members if this is an object.
    pub fn as_object(&self) -> Option<&JsonObject> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the value of `key` if this is an object that contains this key.
    pub fn get(&self, key: &str) -> Option<&JsonValue> {
        self.as_object()?.get(key)
    }
}

impl From<&str> for JsonValue {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for JsonValue {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl<T: Into<JsonValue>> From<Option<T>> for JsonValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<i64> for JsonValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for JsonValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for JsonValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Vec<JsonValue>> for JsonValue {
    fn from(list: Vec<JsonValue>) -> Self {
        Self::List(list)
    }
}

impl<const N: usize> From<[(&str, JsonValue); N]> for JsonValue {
    fn from(members: [(&str, JsonValue); N]) -> Self {
        Self::Object(JsonObject::from_iter(members))
    }
}

impl From<JsonObject> for JsonValue {
    fn from(object: JsonObject) -> Self {
        Self::Object(object)
    }
}

/// An object with up to this number of keys is searched linearly. A larger object has a hash index.
const MAX_UNINDEXED_KEYS: usize = 24;

/// A JSON object. Each key occurs once, and the keys are in order of first appearance.
#[derive(Debug, Clone, Default)]
pub struct JsonObject {
    entries: Vec<(JsonString, JsonValue)>,
    index: Option<Arc<KeyIndex>>,
}

type KeyIndex = HashMap<JsonString, usize>;

/// The keys that many objects have in common. The objects share the index of the keys.
#[derive(Debug)]
pub(super) struct SharedKeys {
    keys: Vec<JsonString>,
    index: Option<Arc<KeyIndex>>,
}

impl SharedKeys {
    /// Creates the shared keys and, if there are many, their index. `keys` must not contain duplicates.
    pub fn new(keys: Vec<JsonString>) -> Self {
        let index = (keys.len() > MAX_UNINDEXED_KEYS).then(|| Arc::new(index_of(keys.iter())));
        Self { keys, index }
    }

    /// Creates an object with these keys. `value` receives the position of a key and the key, and returns its
    /// value.
    pub fn object(&self, mut value: impl FnMut(usize, &JsonString) -> JsonValue) -> JsonObject {
        let keys = self.keys.iter().enumerate();
        JsonObject {
            entries: keys
                .map(|(number, key)| (key.clone(), value(number, key)))
                .collect(),
            index: self.index.clone(),
        }
    }

    /// Returns the position of `key`, or `None` if it is not among these keys.
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

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the object has no keys.
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

    /// Sets the value of `key` and returns the previous value. A new key is appended.
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

/// A string as in Python, ordered by code points. It may contain unpaired surrogates (`"\ud83c"`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonString {
    /// WTF-8: UTF-8 that can also encode unpaired surrogates. Equal strings have equal bytes.
    wtf8: Text,
}

/// The bytes of a string. `CompactString` stores short keys, the usual case, without an allocation.
#[derive(Clone)]
enum Text {
    Utf8(CompactString),
    Wtf8(Box<[u8]>),
}

impl Text {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Utf8(text) => text.as_bytes(),
            Self::Wtf8(bytes) => bytes,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl JsonString {
    pub(super) fn from_wtf8(bytes: &[u8]) -> Self {
        let wtf8 = match std::str::from_utf8(bytes) {
            Ok(text) => Text::Utf8(text.into()),
            Err(_) => Text::Wtf8(bytes.into()),
        };
        Self { wtf8 }
    }

    /// Returns the text, or `None` if it contains unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match &self.wtf8 {
            Text::Utf8(text) => Some(text),
            Text::Wtf8(_) => None,
        }
    }

    /// Returns the bytes of the string in WTF-8.
    pub fn as_wtf8(&self) -> &[u8] {
        self.wtf8.bytes()
    }

    /// Returns the text, with U+FFFD in place of unpaired surrogates.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_wtf8())
    }
}

impl From<&str> for JsonString {
    fn from(text: &str) -> Self {
        Self {
            wtf8: Text::Utf8(text.into()),
        }
    }
}

impl From<String> for JsonString {
    fn from(text: String) -> Self {
        Self {
            wtf8: Text::Utf8(text.into()),
        }
    }
}

impl Borrow<[u8]> for JsonString {
    fn borrow(&self) -> &[u8] {
        self.as_wtf8()
    }
}

impl fmt::Debug for JsonString {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), out)
    }
}

/// Appends a code point in WTF-8. An unpaired surrogate takes three bytes.
pub(super) fn push_code_point(out: &mut Vec<u8>, code_point: u32) {
    match char::from_u32(code_point) {
        Some(character) => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        None => {
            let [.., high, low] = code_point.to_be_bytes();
            out.extend_from_slice(&[
                0xe0 | high >> 4,
                0x80 | (high << 2 | low >> 6) & 0x3f,
                0x80 | low & 0x3f,
            ]);
        }
    }
}
