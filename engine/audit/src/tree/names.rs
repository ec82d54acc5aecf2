//! Files of one side only: missing, additional, renamed, or moved.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use prep_contents::archive::Archive;
use prep_contents::listing::Listing;
use prep_contents::{ContentsError, DecodingLimits, read};

use super::pair::{self, Surroundings, ending};
use super::swapped::is_of_test;
use crate::bundle::members;
use crate::causes::{Cause, Harm, NOT_CLASSIFIED, files};
use crate::error::{AuditError, unless_damaged};
use crate::finding::AuditFinding;
use crate::harm::{ANSWERS_SHOWN, PRIVATE};

/// Files of one side only, by path, with their lengths.
pub(super) struct OneSided {
    surplus: BTreeMap<String, u64>,
    missing: BTreeMap<String, u64>,
}

impl OneSided {
    pub(super) fn new(theirs: &Listing, ours: &Listing) -> OneSided {
        OneSided {
            surplus: theirs.missing_from(ours),
            missing: ours.missing_from(theirs),
        }
    }

    /// Removes files whose names differ only in case or in the composition of letters. Returns their path and ours.
    pub(super) fn same_but_case(&mut self) -> Vec<(String, String)> {
        let folded: HashMap<String, String> = self
            .surplus
            .keys()
            .map(|path| (fold(path), path.clone()))
            .collect();
        let mut found = Vec::new();
        let surplus = &mut self.surplus;
        self.missing.retain(|here, _| {
            let there = folded.get(&fold(here));
            let Some(there) = there.filter(|there| surplus.remove(*there).is_some()) else {
                return true;
            };
            found.push((there.clone(), here.clone()));
            false
        });
        found
    }

    /// Removes our archives whose members are in a directory of `theirs`, and these members. Returns the archive and that directory, which
    /// ends in `/` or is the top.
    ///
    /// # Errors
    /// When an archive of ours cannot be read.
    pub(super) fn unpacked(
        &mut self,
        ours: &Path,
        limits: &DecodingLimits,
    ) -> Result<Vec<(String, String)>, AuditError> {
        let mut found = Vec::new();
        let mut failed = None;
        let surplus = &mut self.surplus;
        self.missing.retain(|path, _| {
            if ending(path) != "zip" || failed.is_some() {
                return true;
            }
            let place = ours.join(path);
            let listed = match unless_damaged(members::of_file(&place, limits)) {
                Ok(Some(listed)) => listed,
                Ok(None) => return true,
                Err(error) => {
                    failed = Some(AuditError::reading(&place)(error));
                    return true;
                }
            };
            let list: Vec<_> = listed.iter().filter(|member| !member.is_folder()).collect();
            let directory = path.trim_end_matches(".zip");
            let parent = path
                .rsplit_once('/')
                .map(|(parent, _)| format!("{parent}/"));
            for prefix in [format!("{directory}/"), parent.unwrap_or_default()] {
                let place = |name: &str| format!("{prefix}{name}");
                let mut all = list.iter().map(|member| place(&member.name));
                if !list.is_empty() && all.all(|inner| surplus.contains_key(&inner)) {
                    for member in &list {
                        surplus.remove(&place(&member.name));
                    }
                    found.push((path.clone(), prefix));
                    return false;
                }
            }
            true
        });
        failed.map_or(Ok(found), Err)
    }
}

impl OneSided {
    /// Removes files of ours that `theirs` has under the same name with the ending of a compression. Returns their path and ours.
    pub(super) fn packed(&mut self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let surplus = &mut self.surplus;
        self.missing.retain(|here, _| {
            let names = [".gz", ".zip", ".7z"].map(|end| format!("{here}{end}"));
            let there = names
                .into_iter()
                .find(|there| surplus.remove(there).is_some());
            found.extend(there.clone().map(|there| (there, here.clone())));
            there.is_none()
        });
        found
    }
}

impl OneSided {
    /// Removes compressed files of ours that `theirs` has without the ending of the compression. Returns their path and ours.
    pub(super) fn inflated(&mut self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let surplus = &mut self.surplus;
        self.missing.retain(|here, _| {
            let there = here.strip_suffix(".gz");
            let Some(there) = there.filter(|there| surplus.remove(*there).is_some()) else {
                return true;
            };
            found.push((there.to_owned(), here.clone()));
            false
        });
        found
    }
}

/// Findings for a compressed file of ours that is not compressed in `theirs`.
///
/// # Errors
/// When the system fails.
pub(super) fn of_inflated(
    there: &str,
    here: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
) -> Result<Vec<AuditFinding>, ContentsError> {
    let mut found = vec![of_packed(there, here)];
    let place = ours.join(here);
    let length = place.metadata();
    let length = length.map_err(ContentsError::system_error(&place))?.len();
    let budget = around.resources.limits.budget(length);
    let visited = Archive::Gzip.visit(&place, here, &budget, &mut |_, _, content| {
        let ours = read::spool(content, around.resources)?;
        let paired = pair::compare(there, &theirs.join(there), &ours, &around.inside())?;
        found.extend(paired.findings);
        Ok(())
    });
    unless_damaged(visited)?;
    Ok(found)
}

pub(super) fn of_packed(there: &str, here: &str) -> AuditFinding {
    AuditFinding::new(&files::FILE_PACKED, here).example(format!("{there} there, {here} here"))
}

pub(super) fn of_case(there: &str, here: &str) -> AuditFinding {
    AuditFinding::new(&files::FILE_NAMES_CASE, here).example(format!("{there} there, {here} here"))
}

/// Findings for an archive that was unpacked in `theirs`: that fact, and differences of its members.
pub(super) fn of_unpacked(
    path: &str,
    directory: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
) -> Result<Vec<AuditFinding>, ContentsError> {
    let (mut found, mut count) = (Vec::new(), 0_u64);
    let place = ours.join(path);
    let length = place
        .metadata()
        .map_err(ContentsError::system_error(&place))?
        .len();
    let budget = around.resources.limits.budget(length);
    let visited = Archive::Zip.visit(&place, path, &budget, &mut |inner, _, content| {
        count += 1;
        let ours = read::spool(content, around.resources)?;
        let theirs = theirs.join(format!("{directory}{inner}"));
        let inner = format!("{path}/{inner}");
        let paired = pair::compare(&inner, &theirs, &ours, &around.inside())?;
        found.extend(paired.findings);
        Ok(())
    });
    if let Err(error) = visited {
        if error.is_of_the_system() {
            return Err(error);
        }
        let proof = format!("ours cannot be looked into: {error}");
        found.push(AuditFinding::new(&NOT_CLASSIFIED, path).proof(proof));
    }
    let example = format!("{count} members of {path} are in {directory}");
    found.push(AuditFinding::new(&files::ARCHIVE_UNPACKED, path).example(example));
    Ok(found)
}

/// Findings for the remaining files: renamed, moved, missing or additional.
pub(super) fn compare(
    theirs: &Path,
    ours: &Path,
    left: OneSided,
    other_split: bool,
) -> Result<Vec<AuditFinding>, AuditError> {
    let OneSided {
        mut surplus,
        mut missing,
    } = left;
    let mut found = Vec::new();
    found.extend(renamed(
        theirs,
        &mut surplus,
        ours,
        &mut missing,
        other_split,
    )?);
    for (path, size) in missing {
        found.push(of_part(
            AuditFinding::new(&files::FILES_MISSING, path.as_str())
                .example(format!("{path}, {size} bytes")),
        ));
    }
    for (path, size) in surplus {
        found.push(
            AuditFinding::new(&files::FILES_SURPLUS, path.as_str())
                .example(format!("{path}, {size} bytes")),
        );
    }
    Ok(found)
}

/// Missing files of the private part are answers.
fn of_part(finding: AuditFinding) -> AuditFinding {
    match finding.path.starts_with("private/") {
        true => finding.raised(Harm::Answers, PRIVATE),
        false => finding,
    }
}

/// Converts to lower case and removes accents, composed or not.
fn fold(path: &str) -> String {
    let plain = path.chars().flat_map(char::to_lowercase).map(base_letter);
    plain
        .filter(|letter| !matches!(u32::from(*letter), 0x300..=0x36f))
        .collect()
}

/// Returns a Latin letter without its accent.
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

/// Whether a file was renamed, or is in the directory of another part.
pub(super) fn cause_of_renaming(path: &str, other: &str, other_split: bool) -> &'static Cause {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let has_moved = is_of_test(other) != is_of_test(path);
    match name(other) == name(path) && (other_split || has_moved) {
        true => &files::FILES_OTHER_PART,
        false => &files::FILES_RENAMED,
    }
}

/// Pairs files of equal content; only those whose size occurs on both sides are read.
fn renamed(
    theirs: &Path,
    surplus: &mut BTreeMap<String, u64>,
    ours: &Path,
    missing: &mut BTreeMap<String, u64>,
    other_split: bool,
) -> Result<Vec<AuditFinding>, AuditError> {
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
        // Of several copies, the one with this name in another directory is used.
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let same_name = others.iter().position(|other| name(other) == name(&path));
        let Some(place) = same_name.or_else(|| others.len().checked_sub(1)) else {
            continue;
        };
        let other = others.swap_remove(place);
        missing.remove(&path);
        surplus.remove(&other);
        let cause = cause_of_renaming(&path, &other, other_split);
        let mut finding = AuditFinding::new(cause, path.as_str())
            .example(format!("{other} there, {path} here"))
            .proof("contents are equal");
        if path.starts_with("private/") && other.starts_with("public/") {
            finding.raise(Harm::Answers, ANSWERS_SHOWN);
        }
        found.push(of_part(finding));
    }
    Ok(found)
}
