//! Failures of a request that may succeed if the request is repeated.

use std::time::Duration;

use thiserror::Error;

use prep_core::units;

/// A failure after which a request can be repeated.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Trouble {
    /// The connection could not be established.
    #[error("no connection to {host}: {cause}")]
    Unreachable {
        host: String,
        cause: String,
        /// Time since the first request to the host, if it never answered.
        unanswered: Option<Duration>,
    },
    /// The connection broke.
    #[error("the connection to {host} broke at byte {offset}: {cause}")]
    Broken {
        host: String,
        offset: u64,
        cause: String,
    },
    /// The server sent nothing for a long time.
    #[error("{host} sent nothing for {}, at byte {offset}", units::approximate_duration(*.time))]
    Stalled {
        host: String,
        offset: u64,
        time: Duration,
        /// Time since the first request to the host, if it never answered.
        unanswered: Option<Duration>,
    },
    /// The server sent less than the minimum rate.
    #[error(
        "{host} sent only {} in {}, at byte {offset}",
        units::bytes(*.bytes), units::approximate_duration(*.time)
    )]
    Slow {
        host: String,
        offset: u64,
        bytes: u64,
        time: Duration,
    },
    /// The answer ended early.
    #[error("{host} ended its answer at byte {offset}, {} too early", units::bytes(*.missing))]
    Short {
        host: String,
        offset: u64,
        missing: u64,
    },
    /// The server answered with a status that may be temporary.
    #[error("{host} answered {code}")]
    Status {
        host: String,
        code: u16,
        /// The pause that the server requested.
        retry_after: Option<Duration>,
    },
    /// The object store rejected a signed address.
    #[error("{host} does not accept the signed address that Kaggle provided ({code})")]
    Address { host: String, code: u16 },
    /// The server sent a range that was not requested.
    #[error("{host} sent different bytes than requested: {what}")]
    OtherRange { host: String, what: String },
    /// The server does not support ranges.
    #[error("{host} sent the whole bundle instead of a range of it")]
    RangeIgnored { host: String },
}

impl Trouble {
    /// Returns the pause that the server requested.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Trouble::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns the time since the first request to the host, if it never answered.
    pub(crate) fn unanswered(&self) -> Option<Duration> {
        match self {
            Trouble::Unreachable { unanswered, .. } | Trouble::Stalled { unanswered, .. } => {
                *unanswered
            }
            _ => None,
        }
    }

    /// Returns whether fewer connections may help.
    pub(crate) fn is_overload(&self) -> bool {
        matches!(
            self,
            Trouble::Slow { .. }
                | Trouble::Status {
                    code: 429 | 500..,
                    ..
                }
        )
    }
}

/// Returns the causes of a transport error without the error's URL, which may contain a signature.
pub(crate) fn cause(error: reqwest::Error) -> String {
    prep_core::chain(&error.without_url())
}
