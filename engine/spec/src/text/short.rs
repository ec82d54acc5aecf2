//! Shortens texts and lists in messages, which quote names and values from files of other authors.

/// Returns `text`. If `text` has more than `max` characters, returns the first `max - 1` characters and `…`.
pub fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some(_) => {
            let kept = text.chars().take(max.saturating_sub(1));
            kept.chain(['…']).collect()
        }
        None => text.to_owned(),
    }
}

/// Replaces line breaks and other control characters with spaces, and shortens the text.
pub fn one_line(text: &str, max: usize) -> String {
    let start = text.chars().take(max.saturating_add(1));
    let line: String = start
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    shortened(&line, max)
}

/// Joins at most `max` items, and counts the others: `a, b and 2 more`.
pub fn joined(items: impl ExactSizeIterator<Item: Into<String>>, max: usize) -> String {
    let more = items.len().saturating_sub(max);
    let shown: Vec<String> = items.take(max).map(Into::into).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shortened_by_characters() {
        for (text, max, expected) in [
            ("", 3, ""),
            ("aéb", 3, "aéb"),
            ("aébc", 3, "aé…"),
            ("abc", 1, "…"),
            ("é".repeat(9).as_str(), 4, "ééé…"),
        ] {
            assert_eq!(shortened(text, max), expected);
        }
        assert_eq!(one_line("a\tb\r\nc", 9), "a b  c");
        assert_eq!(one_line("a\nbcd", 3), "a …");
    }
}
