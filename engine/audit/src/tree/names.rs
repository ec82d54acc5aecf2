//! Files of one side only: gone, too many, under other names, or elsewhere.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use prep_contents::listing::Listing;
use prep_contents::read;

use super::pair::ending;
use crate::bundle::members;
use crate::causes::{Harm, files};
use crate::error::AuditError;
use crate::finding::Finding;

pub(super) fn compare(
    theirs: &Path,
    their_list: &Listing,
    ours: &Path,
    our_list: &Listing,
    other_split: bool,
) -> Result<Vec<Finding>, AuditError> {
    let mut surplus = their_list.beside(our_list);
    let mut missing = our_list.beside(their_list);
    let mut found = Vec::new();
    found.extend(unpacked(&mut surplus, &mut missing, ours));
    // Names that differ in case or in how letters are composed.
    let folded: HashMap<String, String> = surplus
        .keys()
        .map(|path| (fold(path), path.clone()))
        .collect();
    let mut case = Vec::new();
    missing.retain(|path, size| match folded.get(&fold(path)) {
        Some(other) if surplus.get(other) == Some(size) => {
            surplus.remove(other);
            case.push((other.clone(), path.clone()));
            false
        }
        _ => true,
    });
    for (there, here) in case {
        found.push(
            Finding::new(&files::FILE_NAMES_CASE, here.as_str())
                .example(format!("{there} there, {here} here")),
        );
    }
    found.extend(renamed(
        theirs,
        &mut surplus,
        ours,
        &mut missing,
        other_split,
    )?);
    for (path, size) in missing {
        found.push(of_part(
            Finding::new(&files::FILES_MISSING, path.as_str())
                .example(format!("{path}, {size} bytes")),
        ));
    }
    for (path, size) in surplus {
        found.push(
            Finding::new(&files::FILES_SURPLUS, path.as_str())
                .example(format!("{path}, {size} bytes")),
        );
    }
    Ok(found)
}

/// What is missing in the private part are answers.
fn of_part(finding: Finding) -> Finding {
    match finding.path.starts_with("private/") {
        true => finding.harm(Harm::Answers),
        false => finding,
    }
}

/// Lower case, and accents that stand by themselves left out together with those that do not.
fn fold(path: &str) -> String {
    let plain = path.chars().flat_map(char::to_lowercase).map(base_letter);
    plain
        .filter(|letter| !matches!(u32::from(*letter), 0x300..=0x36f))
        .collect()
}

/// The letter below an accent, of Latin letters.
fn base_letter(letter: char) -> char {
    match letter {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        other => other,
    }
}

/// Archives of ours whose members lie in a folder of their name there.
fn unpacked(
    surplus: &mut BTreeMap<String, u64>,
    missing: &mut BTreeMap<String, u64>,
    ours: &Path,
) -> Vec<Finding> {
    let mut found = Vec::new();
    missing.retain(|path, _| {
        if ending(path) != "zip" {
            return true;
        }
        let folder = path.trim_end_matches(".zip");
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let Ok(listed) = members::of_file(&ours.join(path)) else {
            return true;
        };
        let list: Vec<_> = listed.iter().filter(|member| !member.is_folder()).collect();
        for prefix in [format!("{folder}/"), format!("{parent}/")] {
            let whole = !list.is_empty()
                && list.iter().all(|member| {
                    surplus.get(&format!("{prefix}{}", member.name)) == Some(&member.size)
                });
            if whole {
                for member in &list {
                    surplus.remove(&format!("{prefix}{}", member.name));
                }
                let example = format!("{} members of {path} lie in {prefix}", list.len());
                found.push(Finding::new(&files::ARCHIVE_UNPACKED, path.as_str()).example(example));
                return false;
            }
        }
        true
    });
    found
}

/// Pairs files of equal content; only those whose size occurs on both sides are read.
fn renamed(
    theirs: &Path,
    surplus: &mut BTreeMap<String, u64>,
    ours: &Path,
    missing: &mut BTreeMap<String, u64>,
    other_split: bool,
) -> Result<Vec<Finding>, AuditError> {
    let sizes: HashSet<u64> = missing.values().copied().collect();
    let mut by_content: HashMap<blake3::Hash, Vec<String>> = HashMap::new();
    let mut common: HashSet<u64> = HashSet::new();
    for (path, size) in surplus
        .iter()
        .filter(|(_, size)| **size > 0 && sizes.contains(size))
    {
        let place = theirs.join(path);
        let hash = read::content(&place).map_err(AuditError::reading(&place))?;
        by_content.entry(hash).or_default().push(path.clone());
        common.insert(*size);
    }
    let mut found = Vec::new();
    let wanted: Vec<String> = missing
        .iter()
        .filter(|(_, size)| common.contains(size))
        .map(|(path, _)| path.clone())
        .collect();
    for path in wanted {
        let place = ours.join(&path);
        let hash = read::content(&place).map_err(AuditError::reading(&place))?;
        let Some(others) = by_content.get_mut(&hash) else {
            continue;
        };
        // Of several copies, the one with this name in another folder.
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let same_name = others.iter().position(|other| name(other) == name(&path));
        let Some(place) = same_name.or_else(|| others.len().checked_sub(1)) else {
            continue;
        };
        let other = others.swap_remove(place);
        missing.remove(&path);
        surplus.remove(&other);
        let elsewhere = name(&other) == name(&path) && other_split;
        let cause = if elsewhere {
            &files::FILES_OTHER_PART
        } else {
            &files::FILES_RENAMED
        };
        found.push(
            Finding::new(cause, path.as_str())
                .example(format!("{other} there, {path} here"))
                .proof("contents are equal"),
        );
    }
    Ok(found)
}
