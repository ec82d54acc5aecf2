//! Files that have each other's content: two pictures that were exchanged, or names that were given in another order.

use std::collections::HashMap;

use super::Places;
use super::pair::FileComparison;
use crate::causes::{Harm, files};
use crate::error::AuditError;
use crate::finding::AuditFinding;
use crate::harm::{PRIVATE, TEST_ITEMS};
use prep_contents::read;

/// A file that has there what another file has here.
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
fn is_of_test(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = part.to_ascii_lowercase();
        part.starts_with("test") || part.contains("_test") || part.contains("-test")
    })
}

/// Replaces the findings of pairs whose content there is that of another pair here. Only files whose lengths occur on both sides
/// are read.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn explain(pairs: &mut [FileComparison], places: &Places<'_>) -> Result<(), AuditError> {
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
