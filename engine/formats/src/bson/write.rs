//! Writes elements as pymongo 4 does in `bson.encode(bson.decode(document))`.
//!
//! - The keys of arrays are renumbered, and all lengths are recomputed.
//! - Undefined values become null.
//! - The options of a regular expression are sorted.

use super::{BsonError, kind};

/// Documents that are nested more deeply are an error. A level takes up to 1 KB of stack. MongoDB stores at most 100
/// levels.
pub(super) const MAX_DEPTH: usize = 200;

/// Range of Python's `datetime`, in milliseconds since 1970.
const PYTHON_DATES: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// Appends elements to a buffer. The parameter `key` is the element's key. Methods that do not write the key need it for
/// errors.
pub(super) struct Writer<'a> {
    pub out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// Writes the value of a document or array: its length, `content`, and a zero byte.
    pub fn nested(
        &mut self,
        key: &str,
        content: impl FnOnce(&mut Self) -> Result<(), BsonError>,
    ) -> Result<(), BsonError> {
        self.with_length(key, |writer| {
            content(writer)?;
            writer.out.push(0);
            Ok(())
        })
    }

    /// Writes a length and `content`. The length includes its own four bytes.
    pub fn with_length(
        &mut self,
        key: &str,
        content: impl FnOnce(&mut Self) -> Result<(), BsonError>,
    ) -> Result<(), BsonError> {
        let start = self.out.len();
        self.out.extend([0; 4]);
        content(self)?;
        let length = i32::try_from(self.out.len() - start).map_err(|_| too_long(key))?;
        if let Some(field) = self.out.get_mut(start..start + 4) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        Ok(())
    }

    /// Writes the type and the key of an element. The value must follow.
    pub fn head(&mut self, kind: u8, key: &str) {
        self.out.push(kind);
        self.c_string(key);
    }

    /// Writes an element whose value has a fixed length.
    pub fn fixed(&mut self, kind: u8, key: &str, bytes: &[u8]) {
        self.head(kind, key);
        self.out.extend(bytes);
    }

    pub fn date(&mut self, key: &str, milliseconds: i64) -> Result<(), BsonError> {
        if !PYTHON_DATES.contains(&milliseconds) {
            return Err(BsonError::CannotWrite {
                key: key.to_owned(),
                reason: "is a date outside of the years 1 to 9999",
            });
        }
        self.fixed(kind::DATE, key, &milliseconds.to_le_bytes());
        Ok(())
    }

    /// Writes a regular expression. Sorts its options, and drops unknown options.
    pub fn regex(&mut self, key: &str, pattern: &str, options: &str) {
        self.head(kind::REGEX, key);
        self.c_string(pattern);
        let known = "ilmsux".chars().filter(|option| options.contains(*option));
        self.c_string(&known.collect::<String>());
    }

    fn c_string(&mut self, text: &str) {
        self.out.extend(text.as_bytes());
        self.out.push(0);
    }

    /// Writes the value of a string: its length, the text, and a zero byte.
    pub fn string(&mut self, key: &str, text: &str) -> Result<(), BsonError> {
        let length = i32::try_from(text.len() + 1).map_err(|_| too_long(key))?;
        self.out.extend(length.to_le_bytes());
        self.c_string(text);
        Ok(())
    }

    pub fn binary(&mut self, key: &str, subtype: u8, bytes: &[u8]) -> Result<(), BsonError> {
        self.head(kind::BINARY, key);
        let inner = i32::try_from(bytes.len()).map_err(|_| too_long(key))?;
        // A value of subtype 2 begins with a second length of four bytes.
        let outer = match subtype {
            2 => inner.checked_add(4),
            _ => Some(inner),
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
}

fn too_long(key: &str) -> BsonError {
    BsonError::CannotWrite {
        key: key.to_owned(),
        reason: "is longer than 2 GiB",
    }
}
