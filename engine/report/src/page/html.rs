//! Writes text as HTML. All text from data goes through [`escape`].

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Escapes text for elements and for quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // Characters that HTML does not allow, and characters that change the direction of text and could hide its meaning.
            c if c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// Writes a time in seconds since 1970 as `2026-01-31 12:00` (UTC), without line breaks.
pub fn time(seconds: i64) -> String {
    let Ok(time) = Timestamp::from_second(seconds) else {
        return "?".to_owned();
    };
    time.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d\u{a0}%H:%M")
        .to_string()
}

/// Writes an integer with thin spaces between thousands.
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

/// Writes a table that scrolls sideways if it is too wide. Cells are HTML. `>` before a heading aligns a column to the right.
pub fn table(caption: &str, headings: &[&str], rows: &[Vec<String>]) -> String {
    let align = |heading: &str| {
        if heading.starts_with('>') {
            " class=\"n\""
        } else {
            ""
        }
    };
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table><caption>{caption}</caption><thead><tr>",
        caption = escape(caption)
    );
    for heading in headings {
        let _ = write!(
            out,
            "<th scope=\"col\"{}>{}</th>",
            align(heading),
            escape(heading.trim_start_matches('>'))
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (cell, heading) in row.iter().zip(headings) {
            let _ = write!(out, "<td{}>{cell}</td>", align(heading));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// Writes a picture with a caption, which is HTML.
pub fn figure(picture: &str, caption: &str) -> String {
    format!("<figure>{picture}<figcaption>{caption}</figcaption></figure>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(
            escape("<a href=\"x\" b='y'>&\u{0}\u{202e}é\n"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\u{fffd}\u{fffd}é\n"
        );
    }

    #[test]
    fn numbers_and_times_are_for_people() {
        assert_eq!(time(0), "1970-01-01\u{a0}00:00");
        let plain = |number: u64| count(number).replace('\u{202f}', " ");
        assert_eq!(
            [plain(1), plain(1234), plain(12_345_678)],
            ["1", "1 234", "12 345 678"]
        );
    }
}
