//! Parses numbers and dates in several spellings, and integers in binary files.

/// Parses a number, or a date as days. Numbers may have digit groups (`1,234`), a decimal comma, and a unit after them.
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

/// Parses each cell. A missing cell, or one that is not a number, is NaN.
pub(crate) fn numbers_or_nan(cells: &[Option<&str>]) -> Vec<f64> {
    let number = |cell: &Option<&str>| cell.and_then(number).unwrap_or(f64::NAN);
    cells.iter().map(number).collect()
}

/// Converts a date, with or without a time of day, to seconds. Supports `2019-05-01`, `2019:05:01 10:20:30` and
/// `01/05/2019`. `None` for other texts. The epoch is arbitrary.
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

/// Returns the unsigned integer of `length` bytes at offset `at`. `None` if the file ends before.
pub(crate) fn integer(bytes: &[u8], at: usize, length: usize, is_big: bool) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    let add = |sum: usize, byte: &u8| sum << 8 | usize::from(*byte);
    Some(match is_big {
        true => bytes.iter().fold(0, add),
        false => bytes.iter().rev().fold(0, add),
    })
}

#[cfg(test)]
mod tests {
    use super::number;

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
}
