//! The value model of JSON.

use super::{JsonObject, JsonString};

/// A JSON value as Python parses it.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of at most 64 bits, written without point and exponent.
    Int(i64),
    /// An integer that exceeds 64 bits: its digits, after `-` if it is negative.
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

/// `None` becomes null.
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

/// Converts members to an object.
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
