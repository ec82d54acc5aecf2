//! Facts about the columns of a table: which may identify a row, which may be predicted, which names a group of rows.

use std::collections::BTreeSet;

use prep_formats::pandas::ColumnType;

use super::bundle::CsvFile;
use super::guess::{Target, texts};

/// Names of columns that are usually predicted, the most likely first.
const USUAL_TARGETS: [&str; 7] = [
    "target", "label", "labels", "class", "outcome", "y", "survived",
];

/// Words in names of columns whose rows belong together.
const GROUP_WORDS: &str =
    "patient subject participant person user customer speaker session group site family";

/// Minimum number of groups.
const MIN_GROUPS: usize = 10;

/// Rows whose target is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingTargets {
    /// All rows have a target.
    None,
    /// Some rows have no target, so they cannot be graded.
    Unlabelled,
    /// An empty target is an answer: the run-length code of an empty mask.
    Masks,
}

/// Returns whether values are unique in the first rows.
pub fn is_unique(table: &CsvFile, name: &str) -> bool {
    let Some(values) = texts(&table.frame, name) else {
        return false;
    };
    let different: BTreeSet<&Option<String>> = values.iter().collect();
    different.len() == values.len() && !values.contains(&None) && !values.is_empty()
}

/// Returns whether cells are texts, numbers or booleans, and not lists or objects.
fn is_scalar(table: &CsvFile, name: &str) -> bool {
    let declared = table.declared.as_ref();
    declared.is_none_or(|declared| declared.kinds.get(name).is_none_or(|kind| *kind != "json"))
}

/// Returns whether all known cells are missing.
fn is_empty(table: &CsvFile, name: &str) -> bool {
    texts(&table.frame, name)
        .is_some_and(|values| !values.is_empty() && values.iter().all(Option::is_none))
}

/// Returns the first column that may identify a row: its values are unique, and no measurements.
pub fn identifier<'t>(
    table: &CsvFile,
    names: impl IntoIterator<Item = &'t String>,
) -> Option<&'t String> {
    names.into_iter().find(|name| {
        let column = table.column(name);
        let is_fraction = column.is_some_and(|column| column.kind == ColumnType::Float64);
        !is_fraction && is_scalar(table, name) && is_unique(table, name)
    })
}

/// Returns the column that is probably predicted: one with a usual name, or the last one.
pub fn target<'t>(table: &'t CsvFile, id: Option<&str>) -> Option<&'t String> {
    let names = table.columns.iter().map(|column| &column.name);
    let fits = |name: &&String| {
        Some(name.as_str()) != id && is_scalar(table, name) && !is_empty(table, name)
    };
    let names: Vec<&String> = names.filter(fits).collect();
    let usual = USUAL_TARGETS.iter().find_map(|usual| {
        let mut names = names.iter();
        names.find(|name| name.eq_ignore_ascii_case(usual)).copied()
    });
    usual.or(names.last().copied())
}

/// Returns the column that names groups of rows, such as `patient_id`: it has a name for that, and its values repeat.
pub fn group(table: &CsvFile, id: &str, target: &Target) -> Option<String> {
    let columns = table.columns.iter().map(|column| &column.name);
    let candidates = columns.filter(|name| {
        *name != id && !target.has(name) && is_scalar(table, name) && is_group_name(name)
    });
    let counted = candidates.filter_map(|name| {
        let values = texts(&table.frame, name)?;
        let different: BTreeSet<&Option<String>> = values.iter().collect();
        let repeats = different.len() * 6 <= values.len() * 5;
        let fits = repeats && different.len() >= MIN_GROUPS && !different.contains(&None);
        fits.then_some((!has_group_word(name), different.len(), name))
    });
    counted.min().map(|(_, _, name)| name.clone())
}

/// Returns whether a name is that of an identifier (`id`, `Study ID`, `store_id`, `userId`) or of a usual group.
fn is_group_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let camel = name.ends_with("Id") || name.ends_with("ID");
    words.next_back() == Some("id") || camel || has_group_word(name)
}

fn has_group_word(name: &str) -> bool {
    let name = name.to_lowercase();
    GROUP_WORDS.split(' ').any(|word| name.contains(word))
}

/// Returns which rows have no target.
pub fn missing_targets(table: &CsvFile, target: &Target) -> MissingTargets {
    let mut found = MissingTargets::None;
    for name in target.columns() {
        let Some(values) = texts(&table.frame, name) else {
            continue;
        };
        if !values.contains(&None) {
            continue;
        }
        let mut known = values.iter().flatten().peekable();
        let is_mask = known.peek().is_some() && known.all(|text| is_run_lengths(text));
        match is_mask {
            true if found == MissingTargets::None => found = MissingTargets::Masks,
            true => {}
            false => return MissingTargets::Unlabelled,
        }
    }
    found
}

/// Returns whether a text is a run-length code: pairs of a start and a length.
fn is_run_lengths(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    !words.is_empty() && words.len().is_multiple_of(2) && words.iter().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups() {
        for name in "id,patient_id,userId,StudyID,Site,Family group,Store ID".split(',') {
            assert!(is_group_name(name), "{name}");
        }
        for name in ["paid", "width", "humid", "identity", "valid", "idea"] {
            assert!(!is_group_name(name), "{name}");
        }
    }

    #[test]
    fn run_length_codes() {
        assert!(is_run_lengths("1 3 10 5"));
        for text in ["", "1", "1 3 5", "a b", "1 -3", "0.5 1"] {
            assert!(!is_run_lengths(text), "{text}");
        }
    }
}
