//! Reads TFRecord files and the `tf.train.Example` messages in them.
//!
//! A record consists of its length (u64, little endian), the masked CRC-32C of the length, the payload, and the masked
//! CRC-32C of the payload. The payload is a protobuf message; [`Example`] reads its features without a schema compiler.

mod error;
mod example;
mod wire;

pub use error::TfRecordError;
pub use example::{Example, Feature};

use std::io::Read;

use crate::limits::{DecodingLimits, Limit};

/// Constant for masking. The format masks CRCs because a CRC over data that contain their own CRC is weak.
const MASK: u32 = 0xa282_ead8;

/// The CRC-32C of `bytes`, masked as in the file format.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(MASK)
}

/// Parsed features that consist of many small values take this multiple of the payload's memory.
const FEATURE_MEMORY_FACTOR: u64 = 4;

/// The payload of a record, and its offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TfRecord {
    /// Offset of the record in the file.
    pub offset: u64,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Iterates over the records of an uncompressed file. The iterator ends after an error.
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

    /// Reads up to `count` bytes, or fewer at the end of the input.
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
