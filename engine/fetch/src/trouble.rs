//! What goes wrong with one request and may go right with the next.

use std::time::Duration;

use thiserror::Error;

use prep_core::units;

/// A failure that is worth another attempt.
#[derive(Debug, Error)]
pub enum Trouble {
    #[error("no connection to {host}: {cause}")]
    Unreachable { host: String, cause: String },
    #[error("the connection to {host} broke at byte {offset}: {cause}")]
    Broken {
        host: String,
        offset: u64,
        cause: String,
    },
    #[error("{host} sent nothing for {}, at byte {offset}", units::about(*.time))]
    Stalled {
        host: String,
        offset: u64,
        time: Duration,
    },
    #[error("{host} ended its answer at byte {offset}, {} too early", units::bytes(*.missing))]
    Short {
        host: String,
        offset: u64,
        missing: u64,
    },
    #[error("{host} answered {code}")]
    Status {
        host: String,
        code: u16,
        /// What the server asks for.
        retry_after: Option<Duration>,
    },
    #[error("{host} does not accept the signed address that Kaggle gave ({code})")]
    Address { host: String, code: u16 },
    #[error("{host} sent other bytes than asked for: {what}")]
    OtherRange { host: String, what: String },
    #[error("{host} sent the whole bundle instead of a range of it")]
    RangeIgnored { host: String },
}

impl Trouble {
    /// The pause that the server asks for.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Trouble::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the server has too much to do.
    pub(crate) fn is_overload(&self) -> bool {
        matches!(
            self,
            Trouble::Status {
                code: 429 | 500..,
                ..
            }
        )
    }
}

/// The causes of a transport error, without its URL, which may hold a signature.
pub(crate) fn cause(error: reqwest::Error) -> String {
    prep_core::chain(&error.without_url())
}
