//! Errors; offsets are those of the record in its file.

use std::io;

use crate::limits::LimitExceeded;

/// Why a file or record is refused.
#[derive(Debug, thiserror::Error)]
pub enum TfRecordError {
    /// The file ends within a record.
    #[error("the TFRecord file ends within the record at byte {offset}; fetch it again")]
    Truncated {
        /// Where the record begins.
        offset: u64,
    },
    /// The length of a record does not have its CRC: not a TFRecord file, a
    /// compressed one, or damage.
    #[error(
        "the record length at byte {offset} has a wrong CRC; the file is damaged, or not an uncompressed TFRecord file"
    )]
    WrongLengthCrc {
        /// Where the record begins.
        offset: u64,
    },
    /// The payload does not have its CRC.
    #[error("the record at byte {offset} is damaged (wrong CRC); fetch the file again")]
    WrongPayloadCrc {
        /// Where the record begins.
        offset: u64,
    },
    /// A record over the limit.
    #[error("the record at byte {offset}: {cause}")]
    TooLong {
        /// Where the record begins.
        offset: u64,
        /// The limit.
        #[source]
        cause: LimitExceeded,
    },
    /// The payload is not a `tf.train.Example`.
    #[error("the record is not a tf.train.Example: {reason} at byte {place} of its payload")]
    NotAnExample {
        /// Offset in the payload.
        place: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// Reading failed.
    #[error("reading the TFRecord file failed at byte {offset}")]
    Io {
        /// Where.
        offset: u64,
        /// Cause.
        #[source]
        source: io::Error,
    },
}
