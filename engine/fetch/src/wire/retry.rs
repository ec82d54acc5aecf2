//! Decides what happens after a failure: retry, request a new address, stop using ranges, or give up.
//!
//! API calls, listings, connections and restarted downloads each count their failures in a [`Retry`].

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::error::{FetchError, Trouble};
use crate::options::{DownloadOptions, WaitReport};

/// If the server rejects this number of addresses in a row, the request fails.
const MAX_NEW_ADDRESSES: u32 = 3;

/// After this number of responses in a row without the requested range, no more ranges are requested.
const MAX_IGNORED_RANGES: u32 = 2;

#[derive(Debug, Default)]
pub(crate) struct Retry {
    failures: u32,
    /// Number of rejected addresses.
    addresses: u32,
    /// Number of responses that ignored the requested range.
    ignored: u32,
    /// Whether the first response "too many requests" is an error.
    stops_when_limited: bool,
}

#[derive(Debug)]
pub(crate) enum RetryAction {
    After(Duration),
    NewAddress,
    /// The server does not support ranges: request the entire file, or give up.
    WithoutRanges(Trouble),
}

impl Retry {
    /// Creates a counter for which "too many requests" (429) is an error instead of a reason to wait.
    pub(crate) fn until_limited() -> Retry {
        Retry {
            stops_when_limited: true,
            ..Retry::default()
        }
    }

    pub(crate) fn reset(&mut self) {
        *self = Retry {
            stops_when_limited: self.stops_when_limited,
            ..Retry::default()
        };
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure and returns the next action. Returns an error after too many failures, or if the server requests
    /// too long a pause.
    ///
    /// `kept` returns the help for [`FetchError::GaveUp`]. This help describes the part of the download that was kept.
    pub(crate) fn next(
        &mut self,
        options: &DownloadOptions,
        trouble: Trouble,
        kept: impl FnOnce() -> String,
    ) -> Result<RetryAction, FetchError> {
        let give_up = |cause, attempts| {
            Err(FetchError::GaveUp {
                cause: Box::new(cause),
                attempts,
                kept: kept(),
            })
        };
        if matches!(trouble, Trouble::Address { .. }) {
            self.addresses += 1;
            return match self.addresses < MAX_NEW_ADDRESSES {
                true => Ok(RetryAction::NewAddress),
                false => give_up(trouble, self.addresses),
            };
        }
        self.failures += 1;
        if matches!(trouble, Trouble::RangeIgnored { .. }) {
            self.ignored += 1;
            if self.ignored >= MAX_IGNORED_RANGES {
                return Ok(RetryAction::WithoutRanges(trouble));
            }
        }
        let requested = trouble.retry_after();
        // The header must not shorten the pause. Otherwise `Retry-After: 0` would use up all attempts within a second.
        let usual = pause_after(self.failures, options);
        let wait = requested.map_or(usual, |requested| requested.max(usual));
        let time_left = trouble
            .unanswered()
            .map(|time| options.first_contact.saturating_sub(time));
        let max_attempts = match &trouble {
            Trouble::NoConnection(failed) => failed.max_attempts(),
            _ => None,
        };
        let last = self.failures >= max_attempts.unwrap_or(u32::MAX).min(options.attempts)
            || time_left.is_some_and(|time_left| time_left < wait);
        let asks_too_much = requested.is_some_and(|requested| requested > options.patience);
        match trouble {
            Trouble::Status {
                host, code: 429, ..
            } if last || self.stops_when_limited || asks_too_much => Err(FetchError::Quota {
                host,
                wait: requested,
                message: String::new(),
            }),
            Trouble::Status { host, code, .. } if asks_too_much => Err(FetchError::Unavailable {
                host,
                code,
                wait: requested.unwrap_or_default(),
            }),
            Trouble::NoConnection(failed) if max_attempts == Some(1) => {
                Err(FetchError::NoConnection(failed))
            }
            trouble if last => give_up(trouble, self.failures),
            trouble => {
                if let Some(waiting) = WaitReport::new(&trouble, wait, self.failures) {
                    (options.watcher)(&waiting);
                }
                Ok(RetryAction::After(wait))
            }
        }
    }
}

/// Maximum pause, unless the server requests a longer one. So a download continues within a minute after an outage.
const MAX_PAUSE: Duration = Duration::from_secs(60);

pub(crate) fn pause_after(failures: u32, options: &DownloadOptions) -> Duration {
    pause(failures, options.backoff, options.patience.min(MAX_PAUSE))
}

/// Returns the pause `first`, doubled for each further failure, but at most `limit`.
fn max_pause(failures: u32, first: Duration, limit: Duration) -> Duration {
    first
        .saturating_mul(1 << failures.saturating_sub(1).min(20))
        .min(limit)
}

/// Returns the pause after `failures` consecutive failures (1 or more). Its maximum doubles from `first` up to `limit`.
///
/// The pause is at least half of its maximum and random, so that clients that failed together do not retry together.
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

/// After a time without transfers, a burst is allowed: as many bytes at once as the rate allows in this duration.
const BURST: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct RateLimit {
    rate: Option<u64>,
    /// At the maximum rate, the transfer of all bytes taken so far lasts until this time. Further bytes must wait for
    /// it.
    used_until: Mutex<Option<Instant>>,
}

impl RateLimit {
    pub(crate) fn new(rate: Option<u64>) -> RateLimit {
        RateLimit {
            rate,
            used_until: Mutex::new(None),
        }
    }

    /// Waits until the rate limit allows `bytes` more bytes.
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
    use crate::wire::connect::{CertificateFault, ConnectionFault, NoConnection};

    fn options() -> DownloadOptions {
        DownloadOptions {
            attempts: 3,
            patience: Duration::from_secs(60),
            first_contact: Duration::from_secs(10),
            ..DownloadOptions::default()
        }
    }

    fn status(code: u16, seconds: Option<u64>) -> Trouble {
        Trouble::Status {
            host: "h".to_owned().into(),
            code,
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    fn address() -> Trouble {
        Trouble::Address {
            host: "h".to_owned().into(),
            code: 403,
        }
    }

    fn ignored() -> Trouble {
        Trouble::RangeIgnored {
            host: "h".to_owned().into(),
        }
    }

    fn failed_at(is_at_proxy: bool, fault: ConnectionFault, seconds: Option<u64>) -> Trouble {
        Trouble::NoConnection(Box::new(NoConnection {
            host: "h".to_owned().into(),
            proxy: None,
            is_at_proxy,
            fault,
            certificates: None,
            unanswered: seconds.map(Duration::from_secs),
        }))
    }

    fn failed(fault: ConnectionFault, seconds: Option<u64>) -> Trouble {
        failed_at(true, fault, seconds)
    }

    fn unreachable(seconds: Option<u64>) -> Trouble {
        failed(ConnectionFault::Other("c".into()), seconds)
    }

    fn certificate() -> Trouble {
        failed(
            ConnectionFault::Certificate(CertificateFault::UnknownIssuer),
            None,
        )
    }

    fn silent(seconds: Option<u64>) -> Trouble {
        Trouble::Stalled {
            host: "h".to_owned().into(),
            offset: 0,
            time: Duration::from_secs(30),
            unanswered: seconds.map(Duration::from_secs),
        }
    }

    /// Returns the name of the action after each failure of a sequence.
    fn actions(troubles: Vec<Trouble>) -> Vec<&'static str> {
        let mut retry = Retry::default();
        let word = |trouble| match retry.next(&options(), trouble, String::new) {
            Ok(RetryAction::After(_)) => "again",
            Ok(RetryAction::NewAddress) => "address",
            Ok(RetryAction::WithoutRanges(_)) => "whole",
            Err(FetchError::Quota { .. }) => "quota",
            Err(FetchError::Unavailable { .. }) => "unavailable",
            Err(FetchError::NoConnection(_)) => "connection",
            Err(_) => "end",
        };
        troubles.into_iter().map(word).collect()
    }

    #[test]
    fn each_kind_of_failure_has_its_own_counter() {
        for (troubles, expected) in [
            (
                vec![status(503, None), status(500, None), status(503, None)],
                vec!["again", "again", "end"],
            ),
            (
                vec![status(429, None), status(429, Some(1)), status(429, None)],
                vec!["again", "again", "quota"],
            ),
            (vec![status(503, Some(61))], vec!["unavailable"]),
            (vec![status(429, Some(61))], vec!["quota"]),
            (
                vec![unreachable(None), unreachable(None), unreachable(None)],
                vec!["again", "again", "end"],
            ),
            (vec![unreachable(Some(9))], vec!["again"]),
            (vec![unreachable(Some(10))], vec!["end"]),
            (vec![silent(Some(10))], vec!["end"]),
            (vec![certificate()], vec!["connection"]),
            (
                vec![failed(ConnectionFault::NoTls, Some(0))],
                vec!["connection"],
            ),
            (vec![status(503, Some(60))], vec!["again"]),
            (
                vec![address(), status(503, None), address(), address()],
                vec!["address", "again", "address", "end"],
            ),
            (vec![ignored(), ignored()], vec!["again", "whole"]),
        ] {
            assert_eq!(actions(troubles), expected);
        }
    }

    #[test]
    fn an_address_that_never_connected_gets_few_attempts() {
        let other: fn(String) -> ConnectionFault = ConnectionFault::Other;
        for (is_at_proxy, fault, unanswered, expected) in [
            (true, other, Some(0), 3),
            (true, other, None, 16),
            (false, other, Some(0), 16),
            (false, ConnectionFault::NoListener, Some(0), 3),
            (false, ConnectionFault::NoListener, None, 16),
        ] {
            let mut retry = Retry::default();
            let options = DownloadOptions {
                first_contact: Duration::MAX,
                ..DownloadOptions::default()
            };
            let attempts = (1..).find(|_| {
                let failed = failed_at(is_at_proxy, fault("c".into()), unanswered);
                retry.next(&options, failed, String::new).is_err()
            });
            assert_eq!(attempts, Some(expected), "{unanswered:?}");
        }
    }

    #[test]
    fn a_requested_pause_does_not_shorten_the_usual_one() {
        for requested in [None, Some(0)] {
            let mut retry = Retry::default();
            for failures in 1..3 {
                let next = retry.next(&options(), status(503, requested), String::new);
                let Ok(RetryAction::After(pause)) = next else {
                    panic!("{next:?}");
                };
                let least = options().backoff.mul_f64(0.5) * failures;
                assert!(pause >= least, "{requested:?}: {pause:?}");
            }
        }
        let next = Retry::default().next(&options(), status(503, Some(50)), String::new);
        assert!(matches!(next, Ok(RetryAction::After(pause)) if pause.as_secs() == 50));
    }

    #[test]
    fn a_success_resets_the_counters() {
        let mut retry = Retry::default();
        for _ in 0..10 {
            assert!(
                retry
                    .next(&options(), status(503, None), String::new)
                    .is_ok()
            );
            retry.reset();
        }
    }
}

#[cfg(test)]
mod backoff_tests {
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
