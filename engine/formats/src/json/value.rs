//! The value model of JSON.

use super::{JsonString, Object};

/// A JSON value as in Python.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
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
    List(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// Returns the text if this is a string without unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => text.as_str(),
            _ => None,
        }
    }

    /// Returns the items if this is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the members if this is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the value of `key` if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

/// `None` becomes null.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(list: Vec<Value>) -> Self {
        Self::List(list)
    }
}

/// Converts members to an object.
impl<const N: usize> From<[(&str, Value); N]> for Value {
    fn from(members: [(&str, Value); N]) -> Self {
        Self::Object(Object::from_iter(members))
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}
