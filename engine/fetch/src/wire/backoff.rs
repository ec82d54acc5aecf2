//! The pause before the next attempt, and the limit in bytes per second for all downloads together.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::options::DownloadOptions;

/// Maximum pause, unless the server requests a longer one. So a server that works again is noticed within a minute.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Returns the pause after `failures` failures in a row, with the limits of `options`.
pub(crate) fn pause_after(failures: u32, options: &DownloadOptions) -> Duration {
    pause(failures, options.backoff, options.patience.min(MAX_PAUSE))
}

/// Returns the approximate sum of the pauses that follow `failures` failures in a row, if every further attempt fails.
pub(crate) fn later_pauses(failures: u32, options: &DownloadOptions) -> Duration {
    let limit = options.patience.min(MAX_PAUSE);
    let later = (failures + 1)..options.attempts;
    // On average, a pause is three quarters of its maximum.
    later
        .map(|failures| max_pause(failures, options.backoff, limit).mul_f64(0.75))
        .sum()
}

/// Returns the maximum pause after `failures` failures in a row. It doubles with every failure, up to `limit`.
fn max_pause(failures: u32, first: Duration, limit: Duration) -> Duration {
    first
        .saturating_mul(1 << failures.saturating_sub(1).min(20))
        .min(limit)
}

/// Returns the pause after `failures` failures in a row (1 or more). Its maximum doubles from `first` up to `limit`. The
/// pause is a random value between half of the maximum and the maximum, so that clients that failed together do not
/// retry together.
fn pause(failures: u32, first: Duration, limit: Duration) -> Duration {
    let full = max_pause(failures, first, limit);
    // The random seed of a hash map is sufficient for this purpose.
    let random = RandomState::new().build_hasher().finish();
    let part = f64::from(u32::try_from(random >> 32).unwrap_or(0)) / f64::from(u32::MAX);
    full.mul_f64(0.5 + part / 2.0)
}

/// Parses `Retry-After`: seconds, or a date.
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_limit_and_are_random() {
        let first = Duration::from_millis(100);
        let limit = Duration::from_millis(450);
        for (failures, full) in [(1, 100), (2, 200), (3, 400), (4, 450), (99, 450)] {
            let pauses: Vec<Duration> = (0..50).map(|_| pause(failures, first, limit)).collect();
            let full = Duration::from_millis(full);
            assert!(
                pauses
                    .iter()
                    .all(|pause| *pause >= full / 2 && *pause <= full)
            );
            assert!(pauses.iter().any(|pause| pause != &pauses[0]));
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Tue, 10 Dec 2024 09:08:07 GMT").unwrap();
        for (text, seconds) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("Tue, 10 Dec 2024 09:09:07 GMT", Some(60)),
            ("Tue, 10 Dec 2024 09:00:00 GMT", Some(0)),
            ("soon", None),
            ("-5", None),
        ] {
            assert_eq!(
                retry_after(text, now),
                seconds.map(Duration::from_secs),
                "{text}"
            );
        }
    }
}
