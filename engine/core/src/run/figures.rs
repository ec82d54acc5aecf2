//! Measurements of running steps.

use std::time::Duration;

use serde::Serialize;

/// Resources that one step used. Times in milliseconds, sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Start time, measured from the start of the run.
    pub began: u64,
    /// Duration from start to end.
    pub wall: u64,
    /// Processor time. It does not include the helper thread that sorts in a long query.
    pub cpu: u64,
    /// Bytes read from files and connections. Reads through memory-mapped files are not counted.
    pub read: u64,
    /// Bytes written to files and connections.
    pub written: u64,
    /// Maximum memory that was claimed for the step at one time.
    pub memory: u64,
    /// Time between becoming ready and starting.
    pub waited: WaitTimes,
}

/// How long a ready step waited before it started, by reason, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WaitTimes {
    /// Waiting because the maximum number of steps was running.
    pub turn: u64,
    /// Waiting because another process was running the same step or updating the same target.
    pub lock: u64,
    /// Waiting for memory that other steps had claimed.
    pub memory: u64,
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
