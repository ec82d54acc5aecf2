//! Strings that may contain unpaired surrogates.

use std::borrow::{Borrow, Cow};
use std::fmt;

use compact_str::CompactString;

/// A string as in Python: a sequence of any code points. It may contain U+D800 to U+DFFF, which JSON can express
/// (`"\ud83c"`) but UTF-8 cannot.
///
/// The order is that of the code points, as in Python.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonString {
    /// WTF-8, which is UTF-8 that can also encode surrogates. A surrogate pair is always encoded as the character that
    /// it represents. So equal strings have equal bytes, and the order of bytes is the order of code points.
    wtf8: Text,
}

/// The bytes of a string. Valid UTF-8 has a separate variant, so that it is validated only once. Most strings are keys;
/// strings of up to 24 bytes are stored without allocation.
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
    /// Creates a string from WTF-8, as the parser decodes it.
    pub(super) fn from_wtf8(bytes: &[u8]) -> Self {
        let wtf8 = match std::str::from_utf8(bytes) {
            Ok(text) => Text::Utf8(text.into()),
            Err(_) => Text::Wtf8(bytes.into()),
        };
        Self { wtf8 }
    }

    /// The text; `None` if it contains unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match &self.wtf8 {
            Text::Utf8(text) => Some(text),
            Text::Wtf8(_) => None,
        }
    }

    /// The bytes of the string in WTF-8.
    pub fn as_wtf8(&self) -> &[u8] {
        self.wtf8.bytes()
    }

    /// The text, with U+FFFD in place of unpaired surrogates.
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

/// Appends a code point below U+110000 in WTF-8.
pub(super) fn push_code_point(out: &mut Vec<u8>, code_point: u32) {
    match char::from_u32(code_point) {
        Some(character) => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        None => {
            // A surrogate, encoded like other code points of three bytes.
            let [.., high, low] = code_point.to_be_bytes();
            out.extend_from_slice(&[
                0xe0 | high >> 4,
                0x80 | (high << 2 | low >> 6) & 0x3f,
                0x80 | low & 0x3f,
            ]);
        }
    }
}
