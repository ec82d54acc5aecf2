//! `strptime(text, format)`: parses a string as a timestamp, like Python's `datetime.strptime`.
//!
//! A directive reads as many digits as it allows, and does not backtrack. Therefore `11` does not match `%d%m`: `%d` reads
//! both digits. Python backtracks, and reads `11` as the 1st of January. The default date is 1900-01-01.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, StringArray, TimestampMicrosecondArray, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion_expr::{Signature, Volatility};
use thiserror::Error;

use super::json::{argument_error, texts};
use super::scalar::{SimpleFunction, arguments};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

pub(super) fn function() -> SimpleFunction {
    let signature = Signature::exact(vec![DataType::Utf8, DataType::Utf8], Volatility::Immutable);
    let returns = |_: &[DataType]| Ok(DataType::Timestamp(TimeUnit::Microsecond, None));
    SimpleFunction::new("strptime", signature, returns, call)
}

fn call(columns: &[ArrayRef]) -> datafusion_common::Result<ArrayRef> {
    let [column, formats] = arguments(columns)?;
    let (column, formats) = (texts(column)?, texts(formats)?);
    let mut out = TimestampMicrosecondBuilder::with_capacity(column.len());
    for (text, format) in column.iter().zip(&formats) {
        let Some((text, format)) = text.zip(format) else {
            out.append_null();
            continue;
        };
        let time = microseconds(text, format);
        out.append_value(time.map_err(|error| argument_error(format!("strptime: {error}")))?);
    }
    Ok(Arc::new(out.finish()))
}

/// A string that does not match the format, or an unsupported format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TimeError {
    /// Index of the string.
    pub row: usize,
    message: String,
}

/// Parses strings as `strptime` does. NULL stays NULL.
///
/// # Errors
/// If a string does not match the format, or if a directive is unknown.
pub fn times(texts: &StringArray, format: &str) -> Result<TimestampMicrosecondArray, TimeError> {
    let mut out = TimestampMicrosecondBuilder::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        let time = text.map(|text| microseconds(text, format)).transpose();
        out.append_option(time.map_err(|message| TimeError { row, message })?);
    }
    Ok(out.finish())
}

/// Returns a message about the first directive that [`times`] does not support.
pub fn unknown_directive(format: &str) -> Option<String> {
    let mut characters = format.chars();
    while characters.any(|character| character == '%') {
        let directive = characters.next();
        if directive.is_none_or(|one| !"YymdHMSfbB%".contains(one)) {
            return Some(unsupported(directive));
        }
    }
    None
}

fn unsupported(directive: Option<char>) -> String {
    let directive = directive.map(String::from).unwrap_or_default();
    format!("`%{directive}` is not supported; use %Y, %y, %m, %b, %B, %d, %H, %M, %S, %f and %%")
}

/// Returns the microseconds since 1970, or a message.
fn microseconds(text: &str, format: &str) -> Result<i64, String> {
    let time = Time::parse(text, format)?;
    let time = time.and_then(|time| time.microseconds());
    time.ok_or_else(|| format!("`{text}` does not match `{format}`"))
}

#[derive(Debug)]
struct Time {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    microsecond: i64,
}

impl Time {
    /// Parses a string. Returns `None` if it does not match the format. An unknown directive is an error.
    fn parse(text: &str, format: &str) -> Result<Option<Time>, String> {
        let mut time = Time {
            year: 1900,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
            microsecond: 0,
        };
        let mut rest = text;
        let mut directives = format.chars();
        while let Some(character) = directives.next() {
            let matches = match (character, character.is_whitespace()) {
                ('%', _) => match directives.next() {
                    Some('%') => skip(&mut rest, "%"),
                    directive => time.read(directive, &mut rest)?,
                },
                (_, true) => {
                    let trimmed = rest.trim_start();
                    let has_space = trimmed.len() < rest.len();
                    rest = trimmed;
                    has_space
                }
                _ => skip(&mut rest, character.encode_utf8(&mut [0; 4])),
            };
            if !matches {
                return Ok(None);
            }
        }
        Ok(rest.is_empty().then_some(time))
    }

    /// Parses a directive from the front of `rest`. Returns false if `rest` does not match the directive.
    fn read(&mut self, directive: Option<char>, rest: &mut &str) -> Result<bool, String> {
        let digits = |count, rest: &mut &str| number(count, rest).map(|(value, _)| value);
        let (part, found) = match directive {
            Some('Y') => (
                &mut self.year,
                number(4, rest)
                    .filter(|year| year.1 == 4)
                    .map(|year| year.0),
            ),
            Some('y') => {
                let year = number(2, rest).filter(|year| year.1 == 2);
                // As in POSIX: 69 is 1969, and 68 is 2068.
                let year = year.map(|(year, _)| year + if year < 69 { 2000 } else { 1900 });
                (&mut self.year, year)
            }
            Some('m') => (&mut self.month, digits(2, rest)),
            Some('d') => (&mut self.day, digits(2, rest)),
            Some('H') => (&mut self.hour, digits(2, rest)),
            Some('M') => (&mut self.minute, digits(2, rest)),
            Some('S') => (&mut self.second, digits(2, rest)),
            Some('f') => {
                let fraction = number(6, rest);
                let fraction = fraction.map(|(value, count)| value * 10_i64.pow(6 - count));
                (&mut self.microsecond, fraction)
            }
            Some('b') => (&mut self.month, month(3, rest)),
            Some('B') => (&mut self.month, month(usize::MAX, rest)),
            other => return Err(unsupported(other)),
        };
        *part = found.unwrap_or(*part);
        Ok(found.is_some())
    }

    fn microseconds(&self) -> Option<i64> {
        let is_leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let days = match self.month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let is_valid = self.year > 0
            && (1..=days).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60;
        // Years begin in March here, so that the leap day is the last day of a year.
        let (year, month) = match self.month {
            1 | 2 => (self.year - 1, self.month + 9),
            _ => (self.year, self.month - 3),
        };
        // (153 * month + 2) / 5 is the number of days before a month that is counted from March. There are 719,468 days
        // between 0000-03-01 and 1970-01-01, and `day` counts from 1.
        let leap_days = year / 4 - year / 100 + year / 400;
        let days = year * 365 + leap_days + (month * 153 + 2) / 5 + self.day - 719_469;
        let seconds = ((days * 24 + self.hour) * 60 + self.minute) * 60 + self.second;
        is_valid.then_some(seconds * 1_000_000 + self.microsecond)
    }
}

/// Removes `prefix` from the front of `rest`. Returns whether `rest` began with `prefix`.
fn skip(rest: &mut &str, prefix: &str) -> bool {
    let after = rest.strip_prefix(prefix);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

/// Reads at most `count` digits. Returns their value and how many there are, or `None` if there are no digits.
fn number(count: usize, rest: &mut &str) -> Option<(i64, u32)> {
    let digits = rest.bytes().take(count).take_while(u8::is_ascii_digit);
    let (digits, after) = rest.split_at(digits.count());
    *rest = after;
    Some((digits.parse().ok()?, digits.len() as u32))
}

/// Reads the English name of a month, or its first `length` letters, in upper or lower case.
fn month(length: usize, rest: &mut &str) -> Option<i64> {
    let mut months = (1..).zip(MONTHS);
    months.find_map(|(number, name)| {
        let name = name.get(..length).unwrap_or(name);
        let begins = rest.get(..name.len());
        begins.filter(|text| text.eq_ignore_ascii_case(name))?;
        *rest = rest.get(name.len()..).unwrap_or_default();
        Some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::Time;

    /// The expected microseconds are those of Python. `None` means that Python raises an error.
    #[test]
    fn times_are_those_of_python() {
        for (text, format, expected) in [
            ("31.12.2019", "%d.%m.%Y", Some(1_577_750_400_000_000)),
            ("12/31/19", "%m/%d/%y", Some(1_577_750_400_000_000)),
            ("1/2/69", "%d/%m/%y", Some(-28_857_600_000_000)),
            ("1/2/68", "%d/%m/%y", Some(3_095_280_000_000_000)),
            ("29.02.2020", "%d.%m.%Y", Some(1_582_934_400_000_000)),
            ("29.02.2019", "%d.%m.%Y", None),
            ("29.02.2000", "%d.%m.%Y", Some(951_782_400_000_000)),
            ("29.02.1900", "%d.%m.%Y", None),
            ("31.04.2020", "%d.%m.%Y", None),
            ("0.1.2020", "%d.%m.%Y", None),
            ("1.13.2020", "%d.%m.%Y", None),
            (
                "01Jan2013:07:08:09",
                "%d%b%Y:%H:%M:%S",
                Some(1_357_024_089_000_000),
            ),
            ("1 february 1970", "%d %B %Y", Some(2_678_400_000_000)),
            ("3 MAY 2001", "%d %b %Y", Some(988_848_000_000_000)),
            ("May 5, 2020", "%B %d, %Y", Some(1_588_636_800_000_000)),
            (
                "2019-01-02T03:04:05.5",
                "%Y-%m-%dT%H:%M:%S.%f",
                Some(1_546_398_245_500_000),
            ),
            (
                "2019-01-02 23:59:59.123456",
                "%Y-%m-%d %H:%M:%S.%f",
                Some(1_546_473_599_123_456),
            ),
            ("24:00", "%H:%M", None),
            ("7:5", "%H:%M", Some(-2_208_963_300_000_000)),
            ("20191231", "%Y%m%d", Some(1_577_750_400_000_000)),
            ("019-01-01", "%Y-%m-%d", None),
            ("2019-01-01 ", "%Y-%m-%d", None),
            ("2019-01-01x", "%Y-%m-%d", None),
            ("", "%Y", None),
            ("2019", "%Y", Some(1_546_300_800_000_000)),
            ("100%", "1%S%%", Some(-2_208_988_800_000_000)),
            ("1969-12-31", "%Y-%m-%d", Some(-86_400_000_000)),
            ("0001-01-01", "%Y-%m-%d", Some(-62_135_596_800_000_000)),
            ("9999-12-31", "%Y-%m-%d", Some(253_402_214_400_000_000)),
            ("2019  01", "%Y %m", Some(1_546_300_800_000_000)),
            ("2019-1-1", "%Y-%m-%d", Some(1_546_300_800_000_000)),
            ("31.12.2019", "%m.%d.%Y", None),
            ("٣", "%d", None),
        ] {
            let found = Time::parse(text, format).expect("a valid format");
            let found = found.and_then(|time| time.microseconds());
            assert_eq!(found, expected, "{text} {format}");
        }
        assert!(Time::parse("1", "%Q").is_err() && Time::parse("1", "%").is_err());
    }
}
