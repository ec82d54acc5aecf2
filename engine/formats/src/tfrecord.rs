//! Reads TFRecord files and the `tf.train.Example` messages in them.
//!
//! A record consists of its length (u64, little endian), the masked CRC-32C of the length, the payload, and the masked
//! CRC-32C of the payload.
//!
//! The payload is a protobuf message with named lists of byte strings, floats or integers, the *features*. The fields of
//! this message are:
//!
//! - Example { 1: Features }, Features { 1: map entry }, map entry { 1: key, 2: Feature }
//! - Feature { 1: BytesList, 2: FloatList, 3: Int64List }, each list { 1: values }. Numbers may be packed.

use std::io;
use std::io::Read;

use crate::limits::{DecodingLimits, Limit, LimitExceeded};

/// Constant that is added to mask a CRC. The format masks CRCs because a CRC over data that contain their own CRC is weak.
const MASK: u32 = 0xa282_ead8;

/// Returns the CRC-32C of `bytes`, masked as in the file format.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(MASK)
}

/// A parsed record can need this many times the memory of its payload. This happens if its features have many small values.
const FEATURE_MEMORY_FACTOR: u64 = 4;

/// The payload of a record, and its offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TfRecord {
    /// Offset of the record in the file.
    pub offset: u64,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Iterates over the records of an uncompressed file. Ends after an error.
#[derive(Debug)]
pub struct TfRecords<R> {
    input: R,
    offset: u64,
    done: bool,
    limits: DecodingLimits,
}

impl<R: Read> TfRecords<R> {
    /// Reads from `input`, which should be buffered.
    pub fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            done: false,
            limits: DecodingLimits::default(),
        }
    }

    /// Limits the size of a record with `limits` instead of [`DecodingLimits::default`].
    pub fn with_limits(mut self, limits: &DecodingLimits) -> Self {
        self.limits = *limits;
        self
    }

    /// Reads the next record. Returns `None` at the end of the file.
    fn record(&mut self) -> Result<Option<TfRecord>, TfRecordError> {
        let offset = self.offset;
        let length_bytes = self.take(8)?;
        if length_bytes.is_empty() {
            return Ok(None);
        }
        let crc = self.take(4)?;
        let length = little_endian(&length_bytes);
        if crc.len() < 4 {
            return Err(TfRecordError::Truncated { offset });
        }
        if little_endian(&crc) != u64::from(masked_crc32c(&length_bytes)) {
            return Err(TfRecordError::WrongLengthCrc { offset });
        }
        let checked = self
            .limits
            .check(Limit::Record, length.saturating_mul(FEATURE_MEMORY_FACTOR));
        checked.map_err(|cause| TfRecordError::TooLong { offset, cause })?;
        let payload = self.take(length)?;
        let crc = self.take(4)?;
        if payload.len() as u64 != length || crc.len() < 4 {
            return Err(TfRecordError::Truncated { offset });
        }
        if little_endian(&crc) != u64::from(masked_crc32c(&payload)) {
            return Err(TfRecordError::WrongPayloadCrc { offset });
        }
        Ok(Some(TfRecord { offset, payload }))
    }

    /// Reads up to `count` bytes, fewer at the end of the file.
    fn take(&mut self, count: u64) -> Result<Vec<u8>, TfRecordError> {
        let offset = self.offset;
        let mut bytes = Vec::new();
        let input = Read::by_ref(&mut self.input);
        input
            .take(count)
            .read_to_end(&mut bytes)
            .map_err(|source| TfRecordError::Io { offset, source })?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }
}

impl<R: Read> Iterator for TfRecords<R> {
    type Item = Result<TfRecord, TfRecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let result = self.record();
        self.done = !matches!(result, Ok(Some(_)));
        result.transpose()
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A file or record that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TfRecordError {
    /// The file ends within a record.
    #[error("the TFRecord file ends within the record at byte {offset}; fetch it again")]
    Truncated {
        /// Offset of the record.
        offset: u64,
    },
    /// The CRC of the record's length is wrong. The file is damaged, compressed, or not a TFRecord file.
    #[error(
        "the record length at byte {offset} has a wrong CRC; the file is damaged, or not an uncompressed TFRecord file"
    )]
    WrongLengthCrc {
        /// Offset of the record.
        offset: u64,
    },
    /// The CRC of the payload is wrong.
    #[error("the record at byte {offset} is damaged (wrong CRC); fetch the file again")]
    WrongPayloadCrc {
        /// Offset of the record.
        offset: u64,
    },
    /// The record exceeds the limit.
    #[error("the record at byte {offset} is too long")]
    TooLong {
        /// Offset of the record.
        offset: u64,
        /// The exceeded limit.
        #[source]
        cause: LimitExceeded,
    },
    /// The payload is not a `tf.train.Example`.
    #[error("the record is not a tf.train.Example: {reason} at byte {offset} of its payload")]
    NotAnExample {
        /// Offset in the payload.
        offset: usize,
        /// The violated rule.
        reason: &'static str,
    },
    /// An I/O error.
    #[error("reading the TFRecord file failed at byte {offset}")]
    Io {
        /// Offset in the file.
        offset: u64,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
}

/// The value of a field in a protobuf message, by its wire type.
enum Field<'a> {
    Varint(u64),
    Fixed32(u32),
    Fixed64,
    /// A submessage, a string, or packed numbers. `offset` is its offset in the payload.
    Bytes {
        bytes: &'a [u8],
        offset: usize,
    },
}

/// Iterates over the fields of a protobuf message.
struct Fields<'a> {
    /// The remaining bytes of the message.
    bytes: &'a [u8],
    /// Offset of `bytes` in the payload.
    offset: usize,
}

impl<'a> Fields<'a> {
    fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// Returns the number and value of the next field.
    fn next(&mut self) -> Result<Option<(u64, Field<'a>)>, TfRecordError> {
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
            5 => Field::Fixed32(little_endian(self.take(4)?) as u32),
            _ => return Err(self.error("an unknown wire type")),
        };
        Ok(Some((key >> 3, field)))
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads an integer of up to ten bytes.
    fn varint(&mut self) -> Result<u64, TfRecordError> {
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

    fn take(&mut self, count: usize) -> Result<&'a [u8], TfRecordError> {
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

/// Values of a feature.
#[derive(Debug, Clone, PartialEq)]
pub enum Feature {
    /// Byte strings.
    Bytes(Vec<Vec<u8>>),
    /// Single-precision floats.
    Floats(Vec<f32>),
    /// Integers.
    Ints(Vec<i64>),
}

/// A `tf.train.Example` message, which is parsed on each access.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    payload: &'a [u8],
}

impl<'a> Example<'a> {
    /// Creates a message from the payload of a record.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { payload }
    }

    /// Returns the names of the features, in the order of the payload.
    pub fn names(&self) -> Result<Vec<String>, TfRecordError> {
        let mut names = Vec::new();
        for_each_message(self.payload, 0, |features, offset| {
            for_each_message(features, offset, |entry, offset| {
                let mut fields = Fields::new(entry, offset);
                while let Some((number, field)) = fields.next()? {
                    if let (1, Field::Bytes { bytes, .. }) = (number, field) {
                        names.push(String::from_utf8_lossy(bytes).into_owned());
                    }
                }
                Ok(())
            })
        })?;
        Ok(names)
    }

    /// Returns the feature `name`. Returns `None` if no entry of the map has this name, or if the entry has no list.
    ///
    /// If several entries have this name, the last entry is used, as in every protobuf map.
    pub fn feature(&self, name: &str) -> Result<Option<Feature>, TfRecordError> {
        let mut found = None;
        for_each_message(self.payload, 0, |features, offset| {
            for_each_message(features, offset, |entry, offset| {
                if let Some((value, offset)) = entry_value(entry, offset, name)? {
                    found = feature(value, offset)?;
                }
                Ok(())
            })
        })?;
        Ok(found)
    }
}

/// Calls `visit` with each submessage in field 1 and its offset in the payload.
fn for_each_message<'a>(
    message: &'a [u8],
    offset: usize,
    mut visit: impl FnMut(&'a [u8], usize) -> Result<(), TfRecordError>,
) -> Result<(), TfRecordError> {
    let mut fields = Fields::new(message, offset);
    while let Some((number, field)) = fields.next()? {
        if let (1, Field::Bytes { bytes, offset }) = (number, field) {
            visit(bytes, offset)?;
        }
    }
    Ok(())
}

/// Returns the value of a map entry and its offset, if the key is `name`. Key and value may be in any order.
fn entry_value<'a>(
    entry: &'a [u8],
    offset: usize,
    name: &str,
) -> Result<Option<(&'a [u8], usize)>, TfRecordError> {
    let (mut key, mut value) = (&[][..], (&[][..], offset));
    let mut fields = Fields::new(entry, offset);
    while let Some((number, field)) = fields.next()? {
        match (number, field) {
            (1, Field::Bytes { bytes, .. }) => key = bytes,
            (2, Field::Bytes { bytes, offset }) => value = (bytes, offset),
            _ => {}
        }
    }
    Ok((key == name.as_bytes()).then_some(value))
}

/// Parses a Feature. Lists of the same type are concatenated. A list of another type replaces all earlier lists.
fn feature(message: &[u8], offset: usize) -> Result<Option<Feature>, TfRecordError> {
    let mut found: Option<Feature> = None;
    let mut fields = Fields::new(message, offset);
    while let Some((number, field)) = fields.next()? {
        let Field::Bytes { bytes, offset } = field else {
            continue;
        };
        let list = match (number, &mut found) {
            (1, Some(list @ Feature::Bytes(_)))
            | (2, Some(list @ Feature::Floats(_)))
            | (3, Some(list @ Feature::Ints(_))) => list,
            (1, found) => found.insert(Feature::Bytes(Vec::new())),
            (2, found) => found.insert(Feature::Floats(Vec::new())),
            (3, found) => found.insert(Feature::Ints(Vec::new())),
            _ => continue,
        };
        list.extend(bytes, offset)?;
    }
    Ok(found)
}

impl Feature {
    /// Appends the values of a BytesList, FloatList or Int64List, which must have the type of this feature.
    fn extend(&mut self, message: &[u8], offset: usize) -> Result<(), TfRecordError> {
        let mut fields = Fields::new(message, offset);
        while let Some((number, field)) = fields.next()? {
            match (&mut *self, field) {
                _ if number != 1 => {}
                (Feature::Bytes(list), Field::Bytes { bytes, .. }) => list.push(bytes.to_vec()),
                (Feature::Floats(list), Field::Fixed32(bits)) => list.push(f32::from_bits(bits)),
                (Feature::Floats(list), Field::Bytes { bytes, offset }) => {
                    let mut packed = Fields::new(bytes, offset);
                    while !packed.is_empty() {
                        let bits = little_endian(packed.take(4)?) as u32;
                        list.push(f32::from_bits(bits));
                    }
                }
                (Feature::Ints(list), Field::Varint(value)) => list.push(value.cast_signed()),
                (Feature::Ints(list), Field::Bytes { bytes, offset }) => {
                    let mut packed = Fields::new(bytes, offset);
                    while !packed.is_empty() {
                        list.push(packed.varint()?.cast_signed());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
