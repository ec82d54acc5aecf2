//! Formats values like Python's `%` operator, which follows C's `printf`.
//!
//! - Supported: `%d %i %u %s %f %F %e %E %g %G %x %X %o %%`, the flags `-`, `+`, space, `0` and `#`, width and precision.
//! - This module does not use a crate that implements `printf`, because such crates follow C. For example, C's `%x` prints
//!   -255 as `ffffff01`, but Python prints `-ff`.

use std::fmt::Write;

/// A value to format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrintfArgument<'a> {
    /// An integer.
    Integer(i64),
    /// A double.
    Number(f64),
    /// Text.
    Text(&'a str),
}

/// An invalid format, or values that do not match it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrintfError {
    /// `%` is followed by an unsupported conversion.
    #[error(
        "`{conversion}` is not a supported conversion; write %d, %i, %u, %s, %f, %e, %g, %x, %o, or %% for a percent sign"
    )]
    UnknownConversion {
        /// The conversion, beginning with `%`.
        conversion: String,
    },
    /// The number of values differs from the number of conversions.
    #[error("the format takes {wanted} values, but {given} values are given")]
    Count {
        /// Number of conversions.
        wanted: usize,
        /// Number of values.
        given: usize,
    },
    /// The conversion cannot format a value of this type.
    #[error("`{conversion}` cannot format {found}")]
    Type {
        /// The conversion as written.
        conversion: String,
        /// The type of the value.
        found: &'static str,
    },
    /// A width or precision exceeds [`MAX_WIDTH`].
    #[error("a width or precision of the format is over {MAX_WIDTH}")]
    TooWide,
}

/// A larger width or precision, in characters, is an error, because both allocate memory.
pub const MAX_WIDTH: usize = 1000;

/// A parsed format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintfFormat {
    parts: Vec<Part>,
}

/// A part of a format: text that is copied, or a conversion that formats a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Conversion),
}

/// A conversion, for example `%-8.3f`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Conversion {
    /// The conversion as in the format, for error messages.
    spelled: String,
    /// The flag `-`: pads on the right.
    left: bool,
    /// The flag `+`.
    plus: bool,
    /// The flag space: a space in place of a plus sign.
    space: bool,
    /// The flag `0`: pads numbers with zeros.
    zero: bool,
    /// The flag `#`: writes the prefix of `%x` and `%o`, and always writes the decimal point.
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// The letter at the end of the conversion, for example `d`.
    letter: char,
}

impl PrintfFormat {
    /// Parses a format.
    pub fn new(format: &str) -> Result<Self, PrintfError> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('%') {
            text.push_str(before);
            if let Some(after) = after.strip_prefix('%') {
                text.push('%');
                rest = after;
                continue;
            }
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            let (conversion, after) = Conversion::read(after)?;
            parts.push(Part::Value(conversion));
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { parts })
    }

    /// Returns the number of values that the format takes.
    pub fn values(&self) -> usize {
        let is_value = |part: &&Part| matches!(part, Part::Value(_));
        self.parts.iter().filter(is_value).count()
    }

    /// Formats `values` and appends the text to `out`.
    pub fn push(&self, values: &[PrintfArgument<'_>], out: &mut String) -> Result<(), PrintfError> {
        let wanted = self.values();
        if wanted != values.len() {
            return Err(PrintfError::Count {
                wanted,
                given: values.len(),
            });
        }
        let mut values = values.iter();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Value(conversion) => {
                    if let Some(value) = values.next() {
                        conversion.push(*value, out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Conversion {
    /// Parses a conversion. `text` must begin after the `%`. Returns the conversion and the text after it.
    fn read(text: &str) -> Result<(Self, &str), PrintfError> {
        let mut conversion = Self::default();
        let mut rest = text;
        loop {
            match rest.chars().next() {
                Some('-') => conversion.left = true,
                Some('+') => conversion.plus = true,
                Some(' ') => conversion.space = true,
                Some('0') => conversion.zero = true,
                Some('#') => conversion.alternate = true,
                _ => break,
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        let width;
        (width, rest) = number(rest)?;
        conversion.width = width.unwrap_or(0);
        if let Some(after) = rest.strip_prefix('.') {
            let precision;
            (precision, rest) = number(after)?;
            conversion.precision = Some(precision.unwrap_or(0));
        }
        let letter = rest.chars().next();
        let end = letter.map_or(0, char::len_utf8);
        let (_, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let length = text.len() - rest.len();
        conversion.spelled = format!("%{}", text.get(..length).unwrap_or(text));
        match letter {
            Some(letter) if "diusfFeEgGxXo".contains(letter) => {
                conversion.letter = letter;
                Ok((conversion, rest))
            }
            _ => Err(PrintfError::UnknownConversion {
                conversion: conversion.spelled,
            }),
        }
    }

    /// Formats a value and appends the text to `out`.
    fn push(&self, value: PrintfArgument<'_>, out: &mut String) -> Result<(), PrintfError> {
        if self.letter == 's' {
            let text = Self::text(value);
            let end = self
                .precision
                .and_then(|precision| text.char_indices().nth(precision));
            let text = text
                .get(..end.map_or(text.len(), |(end, _)| end))
                .unwrap_or(&text);
            self.pad("", text, false, out);
            return Ok(());
        }
        let (negative, digits) = match self.letter {
            'd' | 'i' | 'u' => {
                let (negative, digits) = self.decimal(value)?;
                (negative, self.pad_digits(digits))
            }
            'x' | 'X' | 'o' => {
                let PrintfArgument::Integer(value) = value else {
                    return Err(self.mismatch(value));
                };
                let size = value.unsigned_abs();
                let digits = match self.letter {
                    'x' => format!("{size:x}"),
                    'X' => format!("{size:X}"),
                    _ => format!("{size:o}"),
                };
                (value < 0, self.pad_digits(digits))
            }
            _ => {
                let value = match value {
                    PrintfArgument::Integer(value) => value as f64,
                    PrintfArgument::Number(value) => value,
                    PrintfArgument::Text(_) => return Err(self.mismatch(value)),
                };
                let negative = value.is_sign_negative() && !value.is_nan();
                (negative, self.float(value.abs()))
            }
        };
        let sign = match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        let base = match (self.alternate, self.letter) {
            (true, 'x') => "0x",
            (true, 'X') => "0X",
            (true, 'o') => "0o",
            _ => "",
        };
        self.pad(&format!("{sign}{base}"), &digits, true, out);
        Ok(())
    }

    /// Returns the text of a value for `%s`. A double is formatted like Python's `str`.
    fn text(value: PrintfArgument<'_>) -> String {
        match value {
            PrintfArgument::Integer(value) => value.to_string(),
            PrintfArgument::Number(value) => crate::python::python_repr(value),
            PrintfArgument::Text(text) => text.to_owned(),
        }
    }

    /// Returns whether an integer is negative, and its digits. Truncates doubles, as in Python.
    fn decimal(&self, value: PrintfArgument<'_>) -> Result<(bool, String), PrintfError> {
        match value {
            PrintfArgument::Integer(value) => Ok((value < 0, value.unsigned_abs().to_string())),
            PrintfArgument::Number(value) if value.is_finite() => {
                let truncated = value.trunc();
                Ok((truncated < 0.0, format!("{:.0}", truncated.abs())))
            }
            _ => Err(self.mismatch(value)),
        }
    }

    /// Adds leading zeros up to the precision, which is the minimum number of digits of an integer.
    fn pad_digits(&self, digits: String) -> String {
        let zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        "0".repeat(zeros) + &digits
    }

    /// Formats a number that is not negative with one of the letters `f`, `e` and `g`.
    fn float(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let lower = match (value.is_nan(), value.is_infinite()) {
            (true, _) => "nan".to_owned(),
            (_, true) => "inf".to_owned(),
            _ => match self.letter.to_ascii_lowercase() {
                'f' => self.with_point(format!("{value:.precision$}")),
                'e' => {
                    let text = format!("{value:.precision$e}");
                    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                    let mantissa = self.with_point(mantissa.to_owned());
                    exponential(&mantissa, exponent.parse().unwrap_or(0))
                }
                _ => self.general(value, precision.max(1)),
            },
        };
        match self.letter.is_ascii_uppercase() {
            true => lower.to_ascii_uppercase(),
            false => lower,
        }
    }

    /// Appends a decimal point if the flag `#` is set and `digits` has no point.
    fn with_point(&self, mut digits: String) -> String {
        if self.alternate && !digits.contains('.') {
            digits.push('.');
        }
        digits
    }

    /// Formats a value for `%g` with `digits` significant digits, in decimal or exponential notation. Removes trailing zeros
    /// unless the flag `#` is set.
    fn general(&self, value: f64, digits: usize) -> String {
        let text = format!("{value:.*e}", digits - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        // Rounding can change the exponent, so the exponent of the rounded value decides.
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let strip = |text: &str| match self.alternate {
            true => self.with_point(text.to_owned()),
            false if text.contains('.') => {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            false => text.to_owned(),
        };
        if exponent < -4 || exponent >= digits as i64 {
            return exponential(&strip(mantissa), exponent);
        }
        let decimals = (digits as i64 - 1 - exponent).max(0) as usize;
        strip(&format!("{value:.decimals$}"))
    }

    /// Appends `sign` and `body`, padded to the width. The flag `0` pads only numbers (`is_number`) with zeros.
    fn pad(&self, sign: &str, body: &str, is_number: bool, out: &mut String) {
        let length = sign.len() + body.chars().count();
        let missing = self.width.saturating_sub(length);
        let zeros = self.zero && !self.left && is_number;
        if !self.left && !zeros {
            out.push_str(&" ".repeat(missing));
        }
        out.push_str(sign);
        if zeros {
            out.push_str(&"0".repeat(missing));
        }
        out.push_str(body);
        if self.left {
            out.push_str(&" ".repeat(missing));
        }
    }

    /// Returns the error for a value that the conversion cannot format.
    fn mismatch(&self, value: PrintfArgument<'_>) -> PrintfError {
        PrintfError::Type {
            conversion: self.spelled.clone(),
            found: match value {
                PrintfArgument::Integer(_) => "an integer",
                PrintfArgument::Number(_) => {
                    "a floating-point number; %d requires a finite number, and %x and %o require an integer"
                }
                PrintfArgument::Text(_) => "text",
            },
        }
    }
}

/// Joins a mantissa and an exponent like C: the exponent has a sign and at least two digits.
fn exponential(mantissa: &str, exponent: i64) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    let mut text = mantissa.to_owned();
    // Writing to a string cannot fail.
    let _ = write!(text, "e{sign}{:02}", exponent.unsigned_abs());
    text
}

/// Parses the number at the beginning of `text`, if any. Returns the number and the text after it.
fn number(text: &str) -> Result<(Option<usize>, &str), PrintfError> {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return Ok((None, rest));
    }
    let number = digits.parse().ok().filter(|number| *number <= MAX_WIDTH);
    number
        .map(|number| (Some(number), rest))
        .ok_or(PrintfError::TooWide)
}
