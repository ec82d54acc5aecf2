//! Errors when reading TFRecord files. Offsets are those of the record in its file.

use std::io;

use crate::limits::LimitExceeded;

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
