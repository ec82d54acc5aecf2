//! Parses protobuf's wire format, except groups.

use super::TfRecordError;

/// A field of a message.
pub(super) enum Field<'a> {
    Varint(u64),
    Fixed32(u32),
    Fixed64,
    /// A submessage, a text, or packed numbers. `offset` is its offset in the payload.
    Bytes {
        bytes: &'a [u8],
        offset: usize,
    },
}

/// Iterates over the fields of a message: field number and value.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` in the payload, for error messages.
    offset: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// Returns the next field, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Field<'a>)>, TfRecordError> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Field::Fixed64
            }
            2 => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let offset = self.offset;
                Field::Bytes {
                    bytes: self.take(length)?,
                    offset,
                }
            }
            5 => Field::Fixed32(super::little_endian(self.take(4)?) as u32),
            _ => return Err(self.error("an unknown wire type")),
        };
        Ok(Some((key >> 3, field)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn varint(&mut self) -> Result<u64, TfRecordError> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = u64::from(self.take(1)?.first().copied().unwrap_or(0));
            value |= (byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("a number of more than ten bytes"))
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], TfRecordError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(self.error("a field that extends past its message"));
        };
        self.bytes = rest;
        self.offset += count;
        Ok(taken)
    }

    fn error(&self, reason: &'static str) -> TfRecordError {
        TfRecordError::NotAnExample {
            offset: self.offset,
            reason,
        }
    }
}
