//! What running a step took.

use std::time::Duration;

use serde::Serialize;

/// Where the time of one step went. Times in milliseconds, sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// When it began, counted from the beginning of the run.
    pub began: u64,
    /// From its beginning to its end.
    pub wall: u64,
    /// Time on a processor. Of a long query, what the thread that helps to sort used is not in it.
    pub cpu: u64,
    /// Bytes read from files and connections; those of mapped files are not counted.
    pub read: u64,
    pub written: u64,
    /// The most memory that was claimed for it at a time.
    pub memory: u64,
    pub waited: Waited,
}

/// How long a step that could have begun had to wait, and for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Waited {
    /// For other steps to end: as many ran as may run at a time.
    pub turn: u64,
    /// For another process that was about the same thing.
    pub lock: u64,
    /// For memory that other steps held.
    pub memory: u64,
}

impl Waited {
    /// All together.
    pub fn sum(&self) -> u64 {
        self.turn + self.lock + self.memory
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
