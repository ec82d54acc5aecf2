//! Reports that a download waits for a server that is unreachable, is silent, or requests a pause, by a clock that the
//! caller can replace.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prep_core::units;

use crate::trouble::Trouble;

/// Silence of a server that is longer than this is reported.
pub(crate) const REPORT_SILENCE_AFTER: Duration = Duration::from_secs(3);

/// A pause between two attempts that is shorter than this is not reported, unless there is no connection.
const MIN_REPORTED_PAUSE: Duration = Duration::from_secs(2);

/// The reason for waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReport {
    /// No answer has arrived, or the connection is not established yet.
    Silence {
        /// The server.
        host: String,
        /// Duration after which the attempt ends, from its start.
        until: Duration,
    },
    /// An attempt failed and will be repeated.
    Retry {
        /// The error.
        cause: String,
        /// Time until the next attempt.
        pause: Duration,
        /// Approximate time until the last attempt, if all attempts fail.
        until: Duration,
    },
}

impl WaitReport {
    /// Returns the report about waiting after a failure. `None` if the wait is too short to be reported.
    pub(crate) fn new(trouble: &Trouble, pause: Duration, until: Duration) -> Option<WaitReport> {
        let is_offline = matches!(trouble, Trouble::Unreachable { .. });
        (is_offline || pause >= MIN_REPORTED_PAUSE).then(|| WaitReport::Retry {
            cause: trouble.to_string(),
            pause,
            until,
        })
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitReport::Silence { host, until } => {
                let (slow, until) = (
                    units::approximate_duration(REPORT_SILENCE_AFTER),
                    units::approximate_duration(*until),
                );
                write!(
                    formatter,
                    "no answer from {host} for {slow}; waiting up to {until}"
                )
            }
            WaitReport::Retry {
                cause,
                pause,
                until,
            } => {
                let (pause, until) = (
                    units::approximate_duration(*pause),
                    units::approximate_duration(*until),
                );
                write!(
                    formatter,
                    "{cause}; trying again in {pause}, giving up in about {until}"
                )
            }
        }
    }
}

/// Receives the reports about waiting.
#[derive(Clone, Default)]
pub struct Watcher(Option<Arc<Report>>);

type Report = dyn Fn(&WaitReport) + Send + Sync;

impl Watcher {
    /// Creates a watcher that calls `report`. The calls come from several threads.
    pub fn new(report: impl Fn(&WaitReport) + Send + Sync + 'static) -> Watcher {
        Watcher(Some(Arc::new(report)))
    }

    pub(crate) fn report(&self, waiting: &WaitReport) {
        if let Some(report) = &self.0 {
            report(waiting);
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watcher").finish_non_exhaustive()
    }
}

/// A function that returns the current time. The default is the system's clock.
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<dyn Fn() -> SystemTime + Send + Sync>>);

impl Clock {
    /// Creates a clock that calls `now`.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Clock {
        Clock(Some(Arc::new(now)))
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.0.as_ref().map_or_else(SystemTime::now, |now| now())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Clock").finish_non_exhaustive()
    }
}
