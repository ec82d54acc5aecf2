//! Parses numbers and dates in several spellings, and integers in binary files. Also determines the pattern of file
//! names.

use prep_contents::{ArchiveFormat, Format};

/// Parses a number, or a date as seconds. A number may contain digit groups (`1,234`) or a decimal
/// comma, and a unit may follow.
pub(crate) fn number(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    let parse =
        |text: &str| -> Option<f64> { text.parse().ok().filter(|one: &f64| one.is_finite()) };
    parse(cell).or_else(|| time_of(cell)).or_else(|| {
        let end = cell.find(|c: char| !c.is_ascii_digit() && !"+-.,eE".contains(c));
        let (digits, unit) = cell.split_at(end.unwrap_or(cell.len()));
        let unit = unit.trim_start();
        let is_unit = unit.chars().count() <= 6
            && unit.chars().all(|c| c.is_alphabetic() || "%°/".contains(c));
        let digits = digits.trim_end_matches(['e', 'E']);
        if !is_unit || !digits.ends_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let groups: Vec<&str> = digits.split(',').collect();
        let is_of_three = |group: &&str| group.split('.').next().is_some_and(|one| one.len() == 3);
        let is_grouped = groups.split_first().is_some_and(|(first, rest)| {
            !rest.is_empty() && (1..=4).contains(&first.len()) && rest.iter().all(is_of_three)
        });
        match (is_grouped, groups.len()) {
            (true, _) => parse(&groups.concat()),
            (false, 2) if !digits.contains('.') => parse(&groups.join(".")),
            (false, 1) => parse(digits),
            _ => None,
        }
    })
}

/// Parses each cell. A cell without a number is NaN.
pub(crate) fn numbers_or_nan(cells: &[Option<&str>]) -> Vec<f64> {
    let number = |cell: &Option<&str>| cell.and_then(number).unwrap_or(f64::NAN);
    cells.iter().map(number).collect()
}

/// Converts a date such as `2019-05-01`, `2019:05:01 10:20:30` or `01/05/2019` to seconds. `None` for other texts. The
/// epoch is arbitrary, and every month has 31 days.
pub(crate) fn time_of(text: &str) -> Option<f64> {
    if text.len() < 8 || text.len() > 40 || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let parts = text.split(|c: char| !c.is_ascii_digit());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let is_letter = |c: char| c.is_alphabetic() && !matches!(c, 'T' | 'Z');
    let has_letters = text.contains(is_letter);
    if has_letters || parts.len() < 3 || !text.contains(['-', ':', '/']) {
        return None;
    }
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<f64>().ok());
    let (year, month, day) = match (parts.first()?.len(), parts.get(2)?.len()) {
        (4, _) => (number(0)?, number(1)?, number(2)?),
        (_, 4) => (number(2)?, number(1)?, number(0)?),
        _ => return None,
    };
    if !(1.0..=31.0).contains(&month) || !(1.0..=31.0).contains(&day) {
        return None;
    }
    let days = year * 372.0 + month * 31.0 + day;
    let clock = [3600.0, 60.0, 1.0].iter().zip(3..);
    let clock = clock.filter_map(|(unit, at)| Some(unit * number(at)?));
    Some(days * 86_400.0 + clock.sum::<f64>())
}

/// Returns the unsigned integer of `length` bytes at offset `at`, in big-endian order if `is_big` is true. `None` if
/// `bytes` is too short.
pub(crate) fn integer(bytes: &[u8], at: usize, length: usize, is_big: bool) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    let add = |sum: usize, byte: &u8| sum << 8 | usize::from(*byte);
    Some(match is_big {
        true => bytes.iter().fold(0, add),
        false => bytes.iter().rev().fold(0, add),
    })
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the file name, with `#` in place of each word that contains digits, for example
/// `#-anatomical-structure.json`. Adjacent replaced words become one `#`.
pub(crate) fn pattern(path: &str) -> String {
    let name = file_name(path);
    let (stem, end) = match name.rsplit_once('.') {
        Some((stem, end)) => {
            let end = end.to_ascii_lowercase();
            // The suffix `.21o` becomes `.#`, because its number is a year. The suffix `.7z` does
            // not change.
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

/// Returns whether a directory or file name in the path begins with `test` or `valid`, or contains `_test`, ignoring
/// case.
pub(crate) fn is_test(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = part.to_ascii_lowercase();
        part.starts_with("test") || part.starts_with("valid") || part.contains("_test")
    })
}

pub(crate) fn is_train(path: &str) -> bool {
    path.to_ascii_lowercase().contains("train")
}

/// Returns an id without directories and suffix.
pub(crate) fn stem(id: &str) -> &str {
    let name = file_name(id);
    name.split('.').next().unwrap_or(name)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ContentKind {
    /// Tables and series of numbers as text.
    Csv,
    Json,
    Markup,
    Text,
    Picture,
    Sound,
    Array,
    Records,
    Matlab,
    /// Other tables, and archives. Other crates read their formats.
    Read,
    /// A format without a reader.
    Opaque,
}

const SUFFIXES: [(ContentKind, &[&str]); 9] = [
    (ContentKind::Csv, &["csv", "tsv", "dat"]),
    (ContentKind::Json, &["json", "jsonl", "ndjson", "geojson"]),
    (ContentKind::Markup, &["xml", "html", "svg", "gpx", "kml"]),
    (
        ContentKind::Text,
        &[
            "txt", "nmea", "log", "md", "yaml", "yml", "xyz", "ini", "toml", "tex", "rst", "srt",
            "py", "ipynb", "tokens",
        ],
    ),
    (ContentKind::Picture, &["png", "jpg", "jpeg"]),
    (ContentKind::Sound, &["wav", "wave"]),
    (ContentKind::Array, &["npy"]),
    (ContentKind::Records, &["tfrec", "tfrecord", "tfrecords"]),
    (ContentKind::Matlab, &["mat"]),
];

impl ContentKind {
    pub(crate) fn from_path(path: &str) -> ContentKind {
        let name = file_name(path);
        let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
        let suffix = suffix.to_ascii_lowercase();
        let known = SUFFIXES.iter().find(|(_, all)| all.contains(&&*suffix));
        let is_read = ArchiveFormat::from_path(path).is_some() || Format::from_path(path).is_some();
        match known {
            Some((kind, _)) => *kind,
            None if is_read => ContentKind::Read,
            None => ContentKind::Opaque,
        }
    }

    pub(crate) fn is_text(self) -> bool {
        self <= ContentKind::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_in_several_spellings() {
        for (text, expected) in [
            ("52.3 kg", Some(52.3)),
            ("52,31", Some(52.31)),
            ("12,345", Some(12_345.0)),
            ("1,234.5", Some(1234.5)),
            ("40%", Some(40.0)),
            ("-3e2", Some(-300.0)),
            ("12 Main Street", None),
            ("a1", None),
            ("1,2,3", None),
            ("", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

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
