//! The progress of a running step.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that a step increases while it works and that a reporter reads when it draws.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes processed so far.
    pub bytes: AtomicU64,
    /// Files processed so far.
    pub files: AtomicU64,
    /// Total number of bytes, 0 while unknown.
    pub total_bytes: AtomicU64,
}

impl Progress {
    /// Adds processed bytes.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds one processed file.
    pub fn add_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the total number of bytes.
    pub fn set_total_bytes(&self, bytes: u64) {
        self.total_bytes.store(bytes, Ordering::Relaxed);
    }
}
