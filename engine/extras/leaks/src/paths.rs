//! Patterns of file names without the parts that differ between files, and the part of the data to which a path belongs.

/// Returns the file name with every word that contains a digit replaced by `#`: `#-anatomical-structure.json`. Adjacent
/// replaced words become one `#`.
pub(crate) fn pattern(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, end) = match name.rsplit_once('.') {
        Some((stem, end)) => {
            let end = end.to_ascii_lowercase();
            // The suffix `.21o` becomes `.#`, because its number is a year. `.7z` stays.
            let is_numbered = end.len() > 2 && end.starts_with(|c: char| c.is_ascii_digit());
            let masked = if is_numbered { "#" } else { &end };
            (stem, format!(".{masked}"))
        }
        None => (name, String::new()),
    };
    let mut text = String::new();
    for word in stem.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word_end = word.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
        let (word, separator) = word.split_at(word_end);
        let is_hex = word.len() > 2 && word.chars().all(|c| c.is_ascii_hexdigit());
        match is_hex || word.chars().any(|c| c.is_ascii_digit()) {
            // If two masked words are adjacent, one `#` replaces both and the text between them.
            true if text
                .trim_end_matches(|c: char| !c.is_alphanumeric() && c != '#')
                .ends_with('#') =>
            {
                let kept = text.rfind('#').map_or(0, |at| at + 1);
                text.truncate(kept);
            }
            true => text.push('#'),
            false => text.push_str(word),
        }
        text.push_str(separator);
    }
    text + &end
}

/// Returns whether a path belongs to a test part: a directory, or the file itself, is named `test...` or `valid...`.
pub(crate) fn is_test(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = part.to_ascii_lowercase();
        part.starts_with("test") || part.starts_with("valid") || part.contains("_test")
    })
}

/// Returns whether a path belongs to a training part.
pub(crate) fn is_train(path: &str) -> bool {
    path.to_ascii_lowercase().contains("train")
}

/// Returns an id without directories and suffix.
pub(crate) fn stem(id: &str) -> &str {
    let name = id.rsplit('/').next().unwrap_or(id);
    name.split('.').next().unwrap_or(name)
}

/// Returns the suffix of a name: `.json`.
pub(crate) fn ending(pattern: &str) -> &str {
    let at = pattern.rfind('.').unwrap_or(pattern.len());
    pattern.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_digits_are_replaced() {
        for (path, expected) in [
            ("test/2f6.json", "#.json"),
            (
                "test/2f6-anatomical-structure.JSON",
                "#-anatomical-structure.json",
            ),
            ("a/ld_test00-13.tfrec", "ld_#.tfrec"),
            ("supplemental/span_log.nmea", "span_log.nmea"),
            ("x/Sample00300_data.mat", "#_data.mat"),
            ("x/18_7_2.png", "#.png"),
            ("x/58a0-dddb-21bc.jpg", "#.jpg"),
            ("README", "README"),
            ("x/Pixel4.21o", "#.#"),
            ("train.7z", "train.7z"),
        ] {
            assert_eq!(pattern(path), expected, "{path}");
        }
        assert!(is_test("tfrecords/test00-687.tfrec") && is_test("validation1.tar.gz/a"));
        assert!(!is_test("train/contest.csv"));
        assert!(is_train("jpeg/train/a.jpg") && !is_train("test/a.jpg"));
    }
}
