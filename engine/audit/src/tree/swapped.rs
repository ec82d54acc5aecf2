//! Finds files of the audited tree whose content prep's own tree has at a different path, for example two swapped
//! images.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use prep_contents::listing::Listing;
use prep_contents::{Format, read};

use super::TreeRoots;
use super::names::swapped_finding;
use super::pair::FileComparison;
use crate::causes::Cause;
use crate::error::AuditError;
use crate::finding::AuditFinding;

/// Finds files that have the content of a different file of prep's own tree. Replaces the findings about these files.
pub(super) fn explain(
    pairs: &mut [FileComparison],
    roots: &TreeRoots<'_>,
    our_list: &Listing,
) -> Result<(), AuditError> {
    find_exchanged(pairs, roots)?;
    find_copied(pairs, roots, our_list)
}

fn length(file: &Path) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}

/// A file with fewer bytes is not reported as a copy, because it can equal another file by chance.
const MIN_COPIED_BYTES: u64 = 256;

/// Finds audited files that contain the content of another path in prep's own tree. The audited tree may also have this
/// content at its correct path.
fn find_copied(
    pairs: &mut [FileComparison],
    roots: &TreeRoots<'_>,
    our_list: &Listing,
) -> Result<(), AuditError> {
    let is_unexplained = |pair: &FileComparison| {
        let is_swap = |one: &AuditFinding| one.cause == Cause::FilesSwapped;
        // Differences between tables are reported cell by cell instead.
        let is_table = Format::from_path(&pair.path).is_some();
        !pair.findings.is_empty() && !pair.findings.iter().any(is_swap) && !is_table
    };
    let lengths: HashSet<u64> = pairs
        .iter()
        .filter(|pair| is_unexplained(pair))
        .map(|pair| length(&roots.theirs.join(&pair.path)))
        .filter(|length| *length >= MIN_COPIED_BYTES)
        .collect();
    let mut our_paths: HashMap<blake3::Hash, &String> = HashMap::new();
    for (path, _) in our_list
        .files
        .iter()
        .filter(|(_, length)| lengths.contains(length))
    {
        let file = roots.ours.join(path);
        let hash = read::content(&file).map_err(AuditError::reading(&file))?;
        our_paths.entry(hash).or_insert(path);
    }
    for pair in pairs.iter_mut().filter(|pair| is_unexplained(pair)) {
        let file = roots.theirs.join(&pair.path);
        if our_paths.is_empty() || !lengths.contains(&length(&file)) {
            continue;
        }
        let hash = read::content(&file).map_err(AuditError::reading(&file))?;
        if let Some(other) = our_paths.get(&hash).filter(|other| ***other != pair.path) {
            let example = format!(
                "the audited file {} has the content of the prepared file {other}",
                pair.path
            );
            pair.findings = vec![swapped_finding(&pair.path, other).example(example)];
        }
    }
    Ok(())
}

fn find_exchanged(pairs: &mut [FileComparison], roots: &TreeRoots<'_>) -> Result<(), AuditError> {
    let wanted = |pair: &&FileComparison| !pair.findings.is_empty() && pair.moved.is_none();
    let ours: Vec<(String, u64)> = pairs
        .iter()
        .filter(wanted)
        .map(|pair| (pair.path.clone(), length(&roots.ours.join(&pair.path))))
        .collect();
    if ours.len() < 2 {
        return Ok(());
    }
    let lengths: HashSet<u64> = ours.iter().map(|(_, length)| *length).collect();
    let mut their_paths: HashMap<blake3::Hash, String> = HashMap::new();
    let mut found_lengths = HashSet::new();
    for (path, _) in &ours {
        let file = roots.theirs.join(path);
        let file_length = length(&file);
        if file_length > 0 && lengths.contains(&file_length) && file.is_file() {
            let hash = read::content(&file).map_err(AuditError::reading(&file))?;
            their_paths.insert(hash, path.clone());
            found_lengths.insert(file_length);
        }
    }
    for pair in pairs
        .iter_mut()
        .filter(|pair| !pair.findings.is_empty() && pair.moved.is_none())
    {
        let file = roots.ours.join(&pair.path);
        if !found_lengths.contains(&length(&file)) {
            continue;
        }
        let hash = read::content(&file).map_err(AuditError::reading(&file))?;
        if let Some(other) = their_paths.get(&hash).filter(|other| **other != pair.path) {
            let example = format!(
                "the audited file {other} has the content of the prepared file {}",
                pair.path
            );
            pair.findings = vec![swapped_finding(&pair.path, other).example(example)];
        }
    }
    Ok(())
}
