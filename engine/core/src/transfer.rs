//! The minimum rate of a transfer; and whether a host is this machine.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

const MIN_BYTES_PER_SECOND: u32 = 4 << 10;

/// Checks whether a transfer is fast enough. The caller measures how long it waits for bytes. A minimum number of bytes,
/// the quota, must arrive before the waiting times add up to one period. The next period begins when the quota has
/// arrived.
#[derive(Debug, Clone)]
pub struct RateCheck {
    period: Duration,
    /// Minimum number of bytes per period.
    quota: u64,
    /// Waiting time in the current period.
    waited: Duration,
    /// Bytes that arrived in the current period.
    bytes: u64,
}

impl RateCheck {
    /// Creates a check whose periods have this duration.
    pub fn new(period: Duration) -> RateCheck {
        let quota = period.as_millis() * u128::from(MIN_BYTES_PER_SECOND) / 1000;
        RateCheck {
            period,
            quota: u64::try_from(quota).unwrap_or(u64::MAX).max(1),
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Returns the duration of a period.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Returns the time for which the caller may still wait in the current period.
    pub fn left(&self) -> Duration {
        self.period.saturating_sub(self.waited)
    }

    /// Returns the number of bytes that arrived in the current period.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts `bytes` that arrived after the caller waited for `time`. Returns whether the transfer is fast enough.
    pub fn add(&mut self, bytes: u64, time: Duration) -> bool {
        self.waited += time;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes >= self.quota {
            self.waited = Duration::ZERO;
            self.bytes = 0;
        }
        self.waited < self.period
    }
}

/// Returns whether `host`, as written in a URL (`localhost`, `[::1]`), is a loopback address.
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback(),
        Ok(IpAddr::V6(ip)) => {
            ip == Ipv6Addr::LOCALHOST || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each read waits for `millis` and returns `bytes`. Returns the index of the read after which the transfer is too slow.
    fn first_slow_read(bytes: u64, millis: u64) -> Option<usize> {
        let mut check = RateCheck::new(Duration::from_secs(30));
        (0..10_000).position(|_| !check.add(bytes, Duration::from_millis(millis)))
    }

    #[test]
    fn transfers_below_the_minimum_rate_are_too_slow() {
        for (bytes, millis, expected) in [
            (1, 1000, Some(29)),
            (4095, 1000, Some(29)),
            (4096, 1000, None),
            (0, 30_000, Some(0)),
            (200_000, 29_000, None),
            (1 << 20, 40_000, None),
        ] {
            let found = first_slow_read(bytes, millis);
            assert_eq!(found, expected, "{bytes} B in {millis} ms");
        }
    }

    #[test]
    fn bytes_above_the_quota_do_not_count_in_the_next_period() {
        let mut check = RateCheck::new(Duration::from_secs(30));
        assert!(check.add(1 << 40, Duration::from_secs(1)));
        assert!(check.add(1, Duration::from_secs(29)));
        assert_eq!(check.left(), Duration::from_secs(1));
        assert!(!check.add(1, Duration::from_secs(1)));
    }
}

#[cfg(test)]
mod loopback_tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for host in [
            "localhost",
            "LOCALHOST",
            "127.0.0.1",
            "127.9.8.7",
            "[::1]",
            "::1",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "[fe80::1]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
