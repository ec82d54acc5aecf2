//! A limit of bytes per second that all downloads share.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Unused time that can be saved for later.
const BURST: Duration = Duration::from_millis(200);

/// A limit in bytes per second, or no limit.
#[derive(Debug)]
pub(crate) struct RateLimit {
    rate: Option<u64>,
    /// Time until which the bytes taken so far use up the rate.
    paid: Mutex<Option<Instant>>,
}

impl RateLimit {
    pub(crate) fn new(rate: Option<u64>) -> RateLimit {
        RateLimit {
            rate,
            paid: Mutex::new(None),
        }
    }

    /// Waits until `bytes` more bytes are allowed.
    pub(crate) async fn take(&self, bytes: u64) {
        let Some(rate) = self.rate else { return };
        let until = {
            let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let earliest = now.checked_sub(BURST).unwrap_or(now);
            let from = paid.unwrap_or(now).max(earliest);
            let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
            let until = from + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            *paid = Some(until);
            until
        };
        sleep_until(until).await;
    }
}
