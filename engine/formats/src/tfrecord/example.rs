//! Reads `tf.train.Example` messages: named lists of byte strings, floats or integers.
//!
//! Field numbers of the messages: Example { 1: Features }, Features { 1: map entry }, entry { 1: key, 2: Feature },
//! Feature { 1: BytesList, 2: FloatList, 3: Int64List }, each list { 1: values }. Numbers may be packed.

use super::TfRecordError;
use super::wire::{Field, Fields};

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

/// A message, parsed on each access.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    payload: &'a [u8],
}

impl<'a> Example<'a> {
    /// Creates a message from the payload of a record.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { payload }
    }

    /// The names of the features, in the order of the payload.
    ///
    /// # Errors
    /// [`TfRecordError::NotAnExample`] if the payload is invalid.
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

    /// Returns the feature with this name. If the payload contains the name several times, the last entry is used, as
    /// in every protobuf map. Returns `None` if there is no such entry, or if it has no list.
    ///
    /// # Errors
    /// [`TfRecordError::NotAnExample`] if the payload is invalid.
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

/// Parses a Feature. If it has lists of several types, the last type is used. Lists of the same type are concatenated.
fn feature(message: &[u8], offset: usize) -> Result<Option<Feature>, TfRecordError> {
    let mut found = None;
    let mut fields = Fields::new(message, offset);
    while let Some((number, field)) = fields.next()? {
        let Field::Bytes { bytes, offset } = field else {
            continue;
        };
        let before = found.take();
        found = match number {
            1 => {
                let mut list = match before {
                    Some(Feature::Bytes(list)) => list,
                    _ => Vec::new(),
                };
                for_each_message(bytes, offset, |value, _| {
                    list.push(value.to_vec());
                    Ok(())
                })?;
                Some(Feature::Bytes(list))
            }
            2 => {
                let mut list = match before {
                    Some(Feature::Floats(list)) => list,
                    _ => Vec::new(),
                };
                floats(bytes, offset, &mut list)?;
                Some(Feature::Floats(list))
            }
            3 => {
                let mut list = match before {
                    Some(Feature::Ints(list)) => list,
                    _ => Vec::new(),
                };
                ints(bytes, offset, &mut list)?;
                Some(Feature::Ints(list))
            }
            _ => before,
        };
    }
    Ok(found)
}

fn floats(message: &[u8], offset: usize, list: &mut Vec<f32>) -> Result<(), TfRecordError> {
    let mut fields = Fields::new(message, offset);
    while let Some((number, field)) = fields.next()? {
        match (number, field) {
            (1, Field::Fixed32(bits)) => list.push(f32::from_bits(bits)),
            (1, Field::Bytes { bytes, offset }) => {
                let mut packed = Fields::new(bytes, offset);
                while !packed.is_empty() {
                    let bits = super::little_endian(packed.take(4)?) as u32;
                    list.push(f32::from_bits(bits));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn ints(message: &[u8], offset: usize, list: &mut Vec<i64>) -> Result<(), TfRecordError> {
    let mut fields = Fields::new(message, offset);
    while let Some((number, field)) = fields.next()? {
        match (number, field) {
            (1, Field::Varint(value)) => list.push(value.cast_signed()),
            (1, Field::Bytes { bytes, offset }) => {
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
