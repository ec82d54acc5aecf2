//! TFRecord files, and the part of `tf.train.Example` that they hold.
//!
//! A record is: length (u64, little endian), masked CRC-32C of the length,
//! payload, masked CRC-32C of the payload. The payload is a protobuf message;
//! [`Example`] reads its features without a schema compiler.

mod error;
mod example;
mod wire;

pub use error::TfRecordError;
pub use example::{Example, Feature};

use std::io::Read;

use crate::limits::{Limit, Limits};

/// Added by the format, so that a CRC stored inside data that has a CRC itself does no harm.
const MASK: u32 = 0xa282_ead8;

/// CRC-32C of `bytes`, masked as the format stores it.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(MASK)
}

/// Its features may take this many times the memory of a payload of many small values.
const FEATURES: u64 = 4;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// Iterator over the records of an uncompressed file. After an error it ends.
#[derive(Debug)]
pub struct TfRecords<R> {
    input: R,
    offset: u64,
    done: bool,
    limits: Limits,
}

impl<R: Read> TfRecords<R> {
    /// Reads from `input`; it should be buffered.
    pub fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            done: false,
            limits: Limits::default(),
        }
    }

    /// Rejects records that take more memory than one may, instead of [`Limits::default`].
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.limits = *limits;
        self
    }

    fn record(&mut self) -> Result<Option<Record>, TfRecordError> {
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
            .check(Limit::Record, length.saturating_mul(FEATURES));
        checked.map_err(|cause| TfRecordError::TooLong { offset, cause })?;
        let payload = self.take(length)?;
        let crc = self.take(4)?;
        if payload.len() as u64 != length || crc.len() < 4 {
            return Err(TfRecordError::Truncated { offset });
        }
        if little_endian(&crc) != u64::from(masked_crc32c(&payload)) {
            return Err(TfRecordError::WrongPayloadCrc { offset });
        }
        Ok(Some(Record { offset, payload }))
    }

    /// Up to `count` bytes; fewer at the end of the input.
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
    type Item = Result<Record, TfRecordError>;

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
