//! Writes elements as pymongo 4 does in `bson.encode(bson.decode(document))`.
//!
//! Elements of arrays are renumbered, undefined values become null, the options of a regular expression are sorted, and
//! all lengths are recomputed.

use super::{BsonError, BsonValue, RawDocument, kind};

/// Maximum depth of nested documents. Python's recursion limit has this order of magnitude.
pub(super) const MAX_DEPTH: usize = 500;

/// Range of Python's `datetime`, in milliseconds since 1970.
const PYTHON_DATES: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// Appends elements to a buffer.
pub(super) struct Writer<'a> {
    pub out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// Writes a document: its length, the content, a zero. `key` appears in errors.
    pub fn nested(
        &mut self,
        key: &str,
        content: impl FnOnce(&mut Self) -> Result<(), BsonError>,
    ) -> Result<(), BsonError> {
        let start = self.out.len();
        self.out.extend([0; 4]);
        content(self)?;
        self.out.push(0);
        self.set_length(key, start)
    }

    /// Fills in the length of the document that begins at `start` and ends at the end of the buffer.
    fn set_length(&mut self, key: &str, start: usize) -> Result<(), BsonError> {
        let length = i32::try_from(self.out.len() - start).map_err(|_| too_long(key))?;
        if let Some(field) = self.out.get_mut(start..start + 4) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        Ok(())
    }

    /// Writes the type and key of an element.
    pub fn head(&mut self, kind: u8, key: &str) {
        self.out.push(kind);
        self.c_string(key);
    }

    fn c_string(&mut self, text: &str) {
        self.out.extend(text.as_bytes());
        self.out.push(0);
    }

    pub fn string(&mut self, key: &str, text: &str) -> Result<(), BsonError> {
        let length = i32::try_from(text.len() + 1).map_err(|_| too_long(key))?;
        self.out.extend(length.to_le_bytes());
        self.c_string(text);
        Ok(())
    }

    pub fn binary(&mut self, key: &str, subtype: u8, bytes: &[u8]) -> Result<(), BsonError> {
        let inner = i32::try_from(bytes.len()).map_err(|_| too_long(key))?;
        let outer = if subtype == 2 {
            inner.checked_add(4)
        } else {
            Some(inner)
        };
        let outer = outer.ok_or_else(|| too_long(key))?;
        self.out.extend(outer.to_le_bytes());
        self.out.push(subtype);
        if subtype == 2 {
            self.out.extend(inner.to_le_bytes());
        }
        self.out.extend(bytes);
        Ok(())
    }

    /// Writes an element. `depth` is the number of documents around it.
    pub fn element(
        &mut self,
        key: &str,
        value: BsonValue<'_>,
        depth: usize,
    ) -> Result<(), BsonError> {
        if depth > MAX_DEPTH {
            return Err(BsonError::TooDeep { limit: MAX_DEPTH });
        }
        let cannot_write = |reason| BsonError::CannotWrite {
            key: key.to_owned(),
            reason,
        };
        match value {
            BsonValue::Double(value) => {
                self.head(kind::DOUBLE, key);
                self.out.extend(value.to_le_bytes());
            }
            BsonValue::String(text) | BsonValue::Symbol(text) => {
                self.head(kind::STRING, key);
                self.string(key, text)?;
            }
            BsonValue::Document(inner) => {
                self.head(kind::DOCUMENT, key);
                self.members(key, inner, depth)?;
            }
            BsonValue::Array(inner) => {
                self.head(kind::ARRAY, key);
                self.nested(key, |writer| {
                    for (index, element) in inner.elements()?.enumerate() {
                        writer.element(&index.to_string(), element?.1, depth + 1)?;
                    }
                    Ok(())
                })?;
            }
            BsonValue::Binary { subtype, bytes, .. } => {
                self.head(kind::BINARY, key);
                self.binary(key, subtype, bytes)?;
            }
            BsonValue::ObjectId(id) => {
                self.head(kind::OBJECT_ID, key);
                self.out.extend(id);
            }
            BsonValue::Bool(value) => {
                self.head(kind::BOOL, key);
                self.out.push(value.into());
            }
            BsonValue::Date(milliseconds) => {
                if !PYTHON_DATES.contains(&milliseconds) {
                    return Err(cannot_write("is a date outside of the years 1 to 9999"));
                }
                self.head(kind::DATE, key);
                self.out.extend(milliseconds.to_le_bytes());
            }
            BsonValue::Null | BsonValue::Undefined => self.head(kind::NULL, key),
            BsonValue::Regex { pattern, options } => {
                self.head(kind::REGEX, key);
                self.c_string(pattern);
                let known = "ilmsux".chars().filter(|option| options.contains(*option));
                self.c_string(&known.collect::<String>());
            }
            BsonValue::Pointer { .. } => {
                return Err(cannot_write("is a DBPointer (type 0x0c)"));
            }
            BsonValue::Code(code) => {
                self.head(kind::CODE, key);
                self.string(key, code)?;
            }
            BsonValue::CodeWithScope { code, scope } => {
                self.head(kind::CODE_WITH_SCOPE, key);
                let start = self.out.len();
                self.out.extend([0; 4]);
                self.string(key, code)?;
                self.members(key, scope, depth)?;
                self.set_length(key, start)?;
            }
            BsonValue::Int32(value) => {
                self.head(kind::INT32, key);
                self.out.extend(value.to_le_bytes());
            }
            BsonValue::Timestamp { time, increment } => {
                self.head(kind::TIMESTAMP, key);
                self.out.extend(increment.to_le_bytes());
                self.out.extend(time.to_le_bytes());
            }
            BsonValue::Int64(value) => {
                self.head(kind::INT64, key);
                self.out.extend(value.to_le_bytes());
            }
            BsonValue::Decimal128(value) => {
                self.head(kind::DECIMAL128, key);
                self.out.extend(value);
            }
            BsonValue::MinKey => self.head(kind::MIN_KEY, key),
            BsonValue::MaxKey => self.head(kind::MAX_KEY, key),
        }
        Ok(())
    }

    /// Writes a document element by element.
    fn members(
        &mut self,
        key: &str,
        document: RawDocument<'_>,
        depth: usize,
    ) -> Result<(), BsonError> {
        self.nested(key, |writer| {
            for element in document.elements()? {
                let (key, value) = element?;
                writer.element(key, value, depth + 1)?;
            }
            Ok(())
        })
    }
}

fn too_long(key: &str) -> BsonError {
    BsonError::CannotWrite {
        key: key.to_owned(),
        reason: "is longer than 2 GiB",
    }
}
