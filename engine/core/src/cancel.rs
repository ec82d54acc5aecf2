//! Stopping cleanly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::StepError;

/// A flag that steps look at often enough to stop within a moment. Cloning shares the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error as soon as the flag is set; for `?` in loops.
    pub fn check(&self) -> Result<(), StepError> {
        if self.is_cancelled() {
            Err(StepError::Cancelled)
        } else {
            Ok(())
        }
    }
}
