//! Finds files with the content of other files: two pictures that were exchanged, or ids that were assigned in another order.

use std::collections::HashMap;

use super::Places;
use super::pair::FileComparison;
use crate::causes::{Harm, files};
use crate::error::AuditError;
use crate::finding::AuditFinding;
use crate::harm::{PRIVATE, TEST_ITEMS};
use prep_contents::Format;
use prep_contents::listing::Listing;
use prep_contents::read;

/// A file whose content in their tree is the content of another file in ours.
pub(super) fn finding(path: &str, other: &str) -> AuditFinding {
    let mut finding = AuditFinding::new(&files::FILES_SWAPPED, path).proof("contents are equal");
    if is_of_test(path) || is_of_test(other) {
        finding.raise(Harm::Answers, TEST_ITEMS);
    }
    if path.starts_with("private/") {
        finding.raise(Harm::Answers, PRIVATE);
    }
    finding
}

/// Whether a file is of the test part: a directory, the file itself or an archive that holds it is named so.
pub(super) fn is_of_test(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = part.to_ascii_lowercase();
        part.starts_with("test") || part.contains("_test") || part.contains("-test")
    })
}

/// Replaces the findings of files whose content in their tree is the content of another file in ours. Only files whose lengths
/// occur on both sides are read.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn explain(
    pairs: &mut [FileComparison],
    places: &Places<'_>,
    our_list: &Listing,
) -> Result<(), AuditError> {
    exchanged(pairs, places)?;
    copied(pairs, places, our_list)
}

/// Shortest file that is not equal to another one by chance.
const MIN_COPIED_BYTES: u64 = 256;

/// Files that have there the content of another file of ours, which itself may be unchanged.
fn copied(
    pairs: &mut [FileComparison],
    places: &Places<'_>,
    our_list: &Listing,
) -> Result<(), AuditError> {
    let length = |place: &std::path::Path| place.metadata().map_or(0, |metadata| metadata.len());
    let is_open = |pair: &FileComparison| {
        let is_known = |one: &AuditFinding| one.cause.id == files::FILES_SWAPPED.id;
        // Differences of two tables or documents are reported cell by cell.
        let is_read = Format::from_path(&pair.path).is_some();
        !pair.findings.is_empty() && !pair.findings.iter().any(is_known) && !is_read
    };
    let lengths: std::collections::HashSet<u64> = pairs
        .iter()
        .filter(|pair| is_open(pair))
        .map(|pair| length(&places.theirs.join(&pair.path)))
        .filter(|length| *length >= MIN_COPIED_BYTES)
        .collect();
    let mut here: HashMap<blake3::Hash, &String> = HashMap::new();
    for (path, _) in our_list
        .files
        .iter()
        .filter(|(_, length)| lengths.contains(length))
    {
        let place = places.ours.join(path);
        let hash = read::content(&place).map_err(AuditError::reading(&place))?;
        here.entry(hash).or_insert(path);
    }
    for pair in pairs.iter_mut().filter(|pair| is_open(pair)) {
        let place = places.theirs.join(&pair.path);
        if here.is_empty() || !lengths.contains(&length(&place)) {
            continue;
        }
        let hash = read::content(&place).map_err(AuditError::reading(&place))?;
        if let Some(other) = here.get(&hash).filter(|other| ***other != pair.path) {
            let example = format!("{} has there what {other} has here", pair.path);
            pair.findings = vec![finding(&pair.path, other).example(example)];
        }
    }
    Ok(())
}

/// Files that were exchanged.
fn exchanged(pairs: &mut [FileComparison], places: &Places<'_>) -> Result<(), AuditError> {
    let length = |place: &std::path::Path| place.metadata().map_or(0, |metadata| metadata.len());
    let wanted = |pair: &&FileComparison| !pair.findings.is_empty() && pair.moved.is_none();
    let ours: Vec<(String, u64)> = pairs
        .iter()
        .filter(wanted)
        .map(|pair| (pair.path.clone(), length(&places.ours.join(&pair.path))))
        .collect();
    if ours.len() < 2 {
        return Ok(());
    }
    let lengths: std::collections::HashSet<u64> = ours.iter().map(|(_, length)| *length).collect();
    let mut there: HashMap<blake3::Hash, String> = HashMap::new();
    let mut found_lengths = std::collections::HashSet::new();
    for (path, _) in &ours {
        let place = places.theirs.join(path);
        let own = length(&place);
        if own > 0 && lengths.contains(&own) && place.is_file() {
            let hash = read::content(&place).map_err(AuditError::reading(&place))?;
            there.insert(hash, path.clone());
            found_lengths.insert(own);
        }
    }
    for pair in pairs
        .iter_mut()
        .filter(|pair| !pair.findings.is_empty() && pair.moved.is_none())
    {
        let place = places.ours.join(&pair.path);
        if !found_lengths.contains(&length(&place)) {
            continue;
        }
        let hash = read::content(&place).map_err(AuditError::reading(&place))?;
        if let Some(other) = there.get(&hash).filter(|other| **other != pair.path) {
            let example = format!("{other} has there what {} has here", pair.path);
            pair.findings = vec![finding(&pair.path, other).example(example)];
        }
    }
    Ok(())
}
