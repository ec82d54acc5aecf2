//! Formats and parses sizes, durations and counts in the same way for all messages.

use std::fmt::Display;
use std::time::Duration;

/// Formats bytes in decimal units with three digits: `512 B`, `1.23 MB`, `45.6 GB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    // A value of 999.5 would be rounded to 1000.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    // With two decimals, 9.995 would become `10.00`, which has four digits. The same applies to 99.95 with one decimal.
    let decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// The smallest number that [`parse_bytes`] accepts without a unit. A user who writes `8` usually means gigabytes, so
/// smaller numbers except 0 are errors.
const MIN_WITHOUT_UNIT: f64 = 1e6;

/// Parses a size: `20GB`, `512 MiB`, `1.5G`, `16000000`. Units are decimal unless they contain an `i`.
///
/// # Errors
/// If the text is not a size, or is a small number without a unit. The message contains examples of valid sizes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let expected = || format!("`{text}` is not a size; write for example 500MB, 20GB or 16GiB");
    let number: f64 = number.parse().map_err(|_| expected())?;
    if unit.is_empty() && number > 0.0 && number < MIN_WITHOUT_UNIT {
        return Err(format!(
            "`{text}` has no unit; write for example {text}GB, or {text}B for bytes"
        ));
    }
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(expected()),
    };
    #[allow(clippy::cast_precision_loss)]
    let bytes = number * factor as f64;
    if !(0.0..9e18).contains(&bytes) {
        return Err(expected());
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked just above
    Ok(bytes as u64)
}

/// Formats a duration: `0.04 s`, `12.3 s`, `4 min 05 s`, `3 h 07 min`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.2} s", duration.as_secs_f64()),
        10..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Formats a duration approximately: `40 s`, `12 min`, `3 h`.
pub fn approximate_duration(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{} ms", duration.as_millis()),
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// Formats a count: `1 file`, `2 files`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (125_790_000_000, "126 GB"),
            (3_300_000_000_000, "3.30 TB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn sizes_are_parsed() {
        for (text, number) in [
            ("1000B", Ok(1000)),
            ("16000000", Ok(16_000_000)),
            ("0", Ok(0)),
            ("20GB", Ok(20_000_000_000)),
            ("1.5 g", Ok(1_500_000_000)),
            ("2GiB", Ok(1 << 31)),
        ] {
            assert_eq!(parse_bytes(text), number);
        }
        for wrong in ["8", "4096", "", "GB", "-1", "1 parsec", "1e300", "1.2.3"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn approximate_durations_have_one_unit() {
        for (seconds, text) in [(40, "40 s"), (720, "12 min"), (10_800, "3 h")] {
            assert_eq!(approximate_duration(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn longer_durations_have_coarser_units() {
        for (millis, text) in [
            (40, "0.04 s"),
            (12_340, "12.3 s"),
            (245_000, "4 min 05 s"),
            (11_220_000, "3 h 07 min"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
    }
}
