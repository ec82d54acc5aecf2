//! Formats numbers and times for readers, and escapes text for pictures.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::html;

/// Escapes text for an SVG picture, in elements and in attributes with double quotes. The templates escape the other texts.
pub fn escape(text: &str) -> String {
    html! { (text) }.into_string()
}

/// Replaces control characters, and characters that change the direction of text, with U+FFFD. They could hide a part of a
/// name, and HTML does not allow control characters.
pub fn visible(page: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    page.replace(is_hidden, "\u{fffd}")
}

/// Formats a time in seconds since 1970 as `2026-01-31 12:00` (UTC), with a no-break space.
pub fn time(seconds: i64) -> String {
    let Ok(time) = Timestamp::from_second(seconds) else {
        return "?".to_owned();
    };
    time.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d\u{a0}%H:%M")
        .to_string()
}

pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_hidden_characters_are_replaced() {
        assert_eq!(
            escape("<a href=\"x\" b='y'>&é\n"),
            "&lt;a href=&quot;x&quot; b='y'&gt;&amp;é\n"
        );
        assert_eq!(
            visible("a\u{0}\u{202e}é\n\tb\r"),
            "a\u{fffd}\u{fffd}é\n\tb\u{fffd}"
        );
    }

    #[test]
    fn numbers_and_times_are_formatted_for_readers() {
        assert_eq!(time(0), "1970-01-01\u{a0}00:00");
        let plain = |number: u64| count(number).replace('\u{202f}', " ");
        assert_eq!(
            [plain(1), plain(1234), plain(12_345_678)],
            ["1", "1 234", "12 345 678"]
        );
    }
}
