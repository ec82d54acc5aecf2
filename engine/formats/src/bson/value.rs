//! Parses the elements of a document.

use super::{BsonError, kind};

/// The bytes of a document or array inside another document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawDocument<'a> {
    bytes: &'a [u8],
    /// Offset in the outermost document.
    start: usize,
    /// Whether this is an array, whose keys have no meaning.
    is_array: bool,
}

/// The value of an element. The variants have the names of the specification.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum BsonValue<'a> {
    Double(f64),
    String(&'a str),
    Document(RawDocument<'a>),
    Array(RawDocument<'a>),
    Binary {
        subtype: u8,
        /// The content; for subtype 2 without the inner length.
        bytes: &'a [u8],
        /// Offset of the content in the outermost document.
        position: usize,
    },
    Undefined,
    ObjectId([u8; 12]),
    Bool(bool),
    /// Milliseconds since 1970, UTC.
    Date(i64),
    Null,
    Regex {
        pattern: &'a str,
        options: &'a str,
    },
    Pointer,
    Code(&'a str),
    Symbol(&'a str),
    CodeWithScope {
        code: &'a str,
        scope: RawDocument<'a>,
    },
    Int32(i32),
    Timestamp {
        time: u32,
        increment: u32,
    },
    Int64(i64),
    Decimal128,
    MinKey,
    MaxKey,
}

impl<'a> RawDocument<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            start: 0,
            is_array: false,
        }
    }

    /// Iterates over keys and values. The keys of an array are returned as empty strings, because readers ignore them.
    ///
    /// # Errors
    /// [`BsonError::Damaged`] if the document's length or final zero byte is wrong.
    pub fn elements(&self) -> Result<DocumentElements<'a>, BsonError> {
        let damaged = |reason| BsonError::Damaged {
            position: self.start,
            reason,
        };
        let length = self
            .bytes
            .first_chunk()
            .map(|four| i32::from_le_bytes(*four));
        if length.and_then(|length| usize::try_from(length).ok()) != Some(self.bytes.len()) {
            return Err(damaged("its length is wrong"));
        }
        let (Some(0), Some(content)) = (
            self.bytes.last(),
            self.bytes.get(4..self.bytes.len().saturating_sub(1)),
        ) else {
            return Err(damaged("it does not end with a zero byte"));
        };
        Ok(DocumentElements {
            rest: content,
            position: self.start + 4,
            is_array: self.is_array,
        })
    }
}

/// Iterates over the elements of a document. Ends after an error.
#[derive(Debug, Clone)]
pub struct DocumentElements<'a> {
    rest: &'a [u8],
    position: usize,
    is_array: bool,
}

impl<'a> Iterator for DocumentElements<'a> {
    type Item = Result<(&'a str, BsonValue<'a>), BsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let element = self.element();
        if element.is_err() {
            self.rest = &[];
        }
        Some(element)
    }
}

impl<'a> DocumentElements<'a> {
    /// Parses the next element: its type, its key and its value.
    fn element(&mut self) -> Result<(&'a str, BsonValue<'a>), BsonError> {
        let position = self.position;
        let [kind] = self.array()?;
        let key = match self.is_array {
            true => self.until_zero().map(|_| "")?,
            false => self.c_string()?,
        };
        let value = match kind {
            kind::DOUBLE => BsonValue::Double(f64::from_le_bytes(self.array()?)),
            kind::STRING => BsonValue::String(self.string()?),
            kind::DOCUMENT => BsonValue::Document(self.document(false)?),
            kind::ARRAY => BsonValue::Array(self.document(true)?),
            kind::BINARY => self.binary()?,
            kind::UNDEFINED => BsonValue::Undefined,
            kind::OBJECT_ID => BsonValue::ObjectId(self.array()?),
            kind::BOOL => match self.array()? {
                [0] => BsonValue::Bool(false),
                [1] => BsonValue::Bool(true),
                [_] => return Err(self.damaged("a boolean is neither 0 nor 1")),
            },
            kind::DATE => BsonValue::Date(i64::from_le_bytes(self.array()?)),
            kind::NULL => BsonValue::Null,
            kind::REGEX => BsonValue::Regex {
                pattern: self.c_string()?,
                options: self.c_string()?,
            },
            kind::POINTER => {
                self.string()?;
                self.take(12)?;
                BsonValue::Pointer
            }
            kind::CODE => BsonValue::Code(self.string()?),
            kind::SYMBOL => BsonValue::Symbol(self.string()?),
            kind::CODE_WITH_SCOPE => self.code_with_scope()?,
            kind::INT32 => BsonValue::Int32(i32::from_le_bytes(self.array()?)),
            kind::TIMESTAMP => BsonValue::Timestamp {
                increment: u32::from_le_bytes(self.array()?),
                time: u32::from_le_bytes(self.array()?),
            },
            kind::INT64 => BsonValue::Int64(i64::from_le_bytes(self.array()?)),
            kind::DECIMAL128 => {
                self.take(16)?;
                BsonValue::Decimal128
            }
            kind::MIN_KEY => BsonValue::MinKey,
            kind::MAX_KEY => BsonValue::MaxKey,
            kind => return Err(BsonError::UnknownType { position, kind }),
        };
        Ok((key, value))
    }

    /// Returns the next `count` bytes.
    fn take(&mut self, count: usize) -> Result<&'a [u8], BsonError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.damaged("an element is longer than its document"));
        };
        self.rest = rest;
        self.position += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BsonError> {
        let taken = self.take(N)?;
        <[u8; N]>::try_from(taken).map_err(|_| self.damaged("an element is too short"))
    }

    /// Reads a length of four bytes.
    fn length(&mut self) -> Result<usize, BsonError> {
        let length = i32::from_le_bytes(self.array()?);
        usize::try_from(length).map_err(|_| self.damaged("a length is negative"))
    }

    /// Reads text that ends with a zero byte and has no length prefix.
    fn c_string(&mut self) -> Result<&'a str, BsonError> {
        let text = self.until_zero()?;
        self.utf8(text)
    }

    /// Returns the bytes before the next zero byte, which is skipped.
    fn until_zero(&mut self) -> Result<&'a [u8], BsonError> {
        let Some(end) = memchr::memchr(0, self.rest) else {
            return Err(self.damaged("a key or regular expression does not end with a zero byte"));
        };
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    /// Reads text that begins with its length and ends with a zero byte.
    fn string(&mut self) -> Result<&'a str, BsonError> {
        let length = self.length()?;
        match self.take(length)? {
            [text @ .., 0] => self.utf8(text),
            _ => Err(self.damaged("a string does not end with a zero byte")),
        }
    }

    fn utf8(&self, text: &'a [u8]) -> Result<&'a str, BsonError> {
        std::str::from_utf8(text).map_err(|_| self.damaged("a string is not UTF-8"))
    }

    /// Returns the bytes of an inner document or array, without parsing its elements.
    fn document(&mut self, is_array: bool) -> Result<RawDocument<'a>, BsonError> {
        let start = self.position;
        let four = self.rest.first_chunk().copied().unwrap_or_default();
        let length = usize::try_from(i32::from_le_bytes(four)).unwrap_or(0);
        if length < 5 {
            return Err(self.damaged("the length of an inner document is wrong"));
        }
        let bytes = self.take(length)?;
        Ok(RawDocument {
            bytes,
            start,
            is_array,
        })
    }

    fn binary(&mut self) -> Result<BsonValue<'a>, BsonError> {
        let length = self.length()?;
        let [subtype] = self.array()?;
        let mut bytes = self.take(length)?;
        // A value of subtype 2 begins with a second length.
        if subtype == 2 {
            let inner = bytes.split_first_chunk().map(|(four, rest)| {
                let inner = usize::try_from(i32::from_le_bytes(*four));
                (inner.ok(), rest)
            });
            bytes = match inner {
                Some((Some(inner), rest)) if inner == rest.len() => rest,
                _ => return Err(self.damaged("the inner length of a binary value is wrong")),
            };
        }
        let position = self.position - bytes.len();
        Ok(BsonValue::Binary {
            subtype,
            bytes,
            position,
        })
    }

    fn code_with_scope(&mut self) -> Result<BsonValue<'a>, BsonError> {
        let start = self.position;
        let length = self.length()?;
        let code = self.string()?;
        let scope = self.document(false)?;
        if self.position - start != length {
            return Err(self.damaged("the length of JavaScript code with scope is wrong"));
        }
        Ok(BsonValue::CodeWithScope { code, scope })
    }

    fn damaged(&self, reason: &'static str) -> BsonError {
        BsonError::Damaged {
            position: self.position,
            reason,
        }
    }
}
