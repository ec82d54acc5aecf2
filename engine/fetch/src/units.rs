//! Sizes and times in messages.

use std::time::Duration;

/// `2.4 KB`, `245 MB`: decimal units, two or three digits.
pub(crate) fn bytes(count: u64) -> String {
    let mut unit = 1;
    for name in ["bytes", "KB", "MB", "GB", "TB"] {
        if count < unit * 1000 || name == "TB" {
            let (whole, tenth) = (count / unit, count % unit * 10 / unit);
            return if whole < 10 && unit > 1 {
                format!("{whole}.{tenth} {name}")
            } else {
                format!("{whole} {name}")
            };
        }
        unit *= 1000;
    }
    format!("{count} bytes")
}

/// `40 s`, `12 min`, `3 h`.
pub(crate) fn time(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{} ms", duration.as_millis()),
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_short() {
        for (count, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (2_417, "2.4 KB"),
            (24_170, "24 KB"),
            (245_000_001, "245 MB"),
            (9_999_999_999, "9.9 GB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(bytes(count), text);
        }
        for (seconds, text) in [(40, "40 s"), (720, "12 min"), (10_800, "3 h")] {
            assert_eq!(time(Duration::from_secs(seconds)), text);
        }
    }
}
