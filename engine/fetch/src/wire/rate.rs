//! A limit in bytes per second for all downloads together.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// Maximum unused time that is saved for later.
const BURST: Duration = Duration::from_millis(200);

/// A limit in bytes per second, or no limit.
#[derive(Debug)]
pub(crate) struct RateLimit {
    rate: Option<u64>,
    /// The time at which the rate allows more bytes than have been taken so far.
    used_until: Mutex<Option<Instant>>,
}

impl RateLimit {
    pub(crate) fn new(rate: Option<u64>) -> RateLimit {
        RateLimit {
            rate,
            used_until: Mutex::new(None),
        }
    }

    /// Waits until `bytes` more bytes are allowed.
    pub(crate) async fn take(&self, bytes: u64) {
        let Some(rate) = self.rate else { return };
        let until = {
            let mut used_until = self.used_until.lock();
            let now = Instant::now();
            let earliest = now.checked_sub(BURST).unwrap_or(now);
            let from = used_until.unwrap_or(now).max(earliest);
            let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
            let until = from + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            *used_until = Some(until);
            until
        };
        sleep_until(until).await;
    }
}
