//! Explains files that exist on one side only: missing, additional, renamed, or moved.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use prep_contents::listing::Listing;
use prep_contents::{DecodingLimits, read};

use crate::bundle;
use crate::causes::{Cause, Harm};
use crate::error::{AuditError, unless_damaged};
use crate::finding::{ANSWERS_SHOWN, AuditFinding, PRIVATE, TEST_ITEMS};
use crate::system_files::is_of_system;

/// Lengths of files by path. `surplus` files are only in the audited tree, `missing` files only in the tree of `prep`.
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

    /// Removes and returns pairs of files whose paths differ only in case, in accents or in the Unicode normalization.
    pub(super) fn take_renamed_by_case(&mut self) -> Vec<(String, String)> {
        let paths = self.surplus.keys();
        let folded: HashMap<String, String> =
            paths.map(|path| (fold(path), path.clone())).collect();
        self.take_pairs(|our_path| folded.get(&fold(our_path)).cloned())
    }

    /// Removes and returns pairs of files. In each pair, only the file of the audited tree is compressed.
    pub(super) fn take_packed(&mut self) -> Vec<(String, String)> {
        self.take_pairs(|our_path| [".gz", ".zip", ".7z"].map(|end| format!("{our_path}{end}")))
    }

    /// Removes and returns pairs of files. In each pair, only the file of the tree of `prep` is compressed (with gzip).
    pub(super) fn take_inflated(&mut self) -> Vec<(String, String)> {
        self.take_pairs(|our_path| our_path.strip_suffix(".gz").map(str::to_owned))
    }

    /// Removes and returns pairs of files that have different paths in the two trees. A pair contains the path in the
    /// audited tree, and the path in the tree of `prep`. `names` returns the possible paths in the audited tree for a path
    /// in the tree of `prep`.
    fn take_pairs<N: IntoIterator<Item = String>>(
        &mut self,
        names: impl Fn(&str) -> N,
    ) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let surplus = &mut self.surplus;
        self.missing.retain(|our_path, _| {
            let mut names = names(our_path).into_iter();
            let their_path = names.find(|their_path| surplus.remove(their_path).is_some());
            let is_missing = their_path.is_none();
            found.extend(their_path.map(|their_path| (their_path, our_path.clone())));
            is_missing
        });
        found
    }

    /// Removes and returns the archives in the tree of `prep` whose members are ordinary files in the audited tree. An item
    /// contains the archive's path, and the directory of its members in the audited tree. The directory ends with `/` or is
    /// empty.
    pub(super) fn take_unpacked(
        &mut self,
        ours: &Path,
        limits: &DecodingLimits,
    ) -> Result<Vec<(String, String)>, AuditError> {
        let mut found = Vec::new();
        let mut failed = None;
        let surplus = &mut self.surplus;
        self.missing.retain(|path, _| {
            if extension(path) != "zip" || failed.is_some() {
                return true;
            }
            let file = ours.join(path);
            let listed = match unless_damaged(bundle::members(&file, limits)) {
                Ok(Some(listed)) => listed,
                Ok(None) => return true,
                Err(error) => {
                    failed = Some(AuditError::reading(&file)(error));
                    return true;
                }
            };
            let list: Vec<_> = listed
                .iter()
                .filter(|member| !member.is_directory())
                .collect();
            let directory = path.trim_end_matches(".zip");
            let parent = path
                .rsplit_once('/')
                .map(|(parent, _)| format!("{parent}/"));
            for prefix in [format!("{directory}/"), parent.unwrap_or_default()] {
                let unpacked_path = |name: &str| format!("{prefix}{name}");
                let mut all = list.iter().map(|member| unpacked_path(&member.name));
                if !list.is_empty() && all.all(|inner| surplus.contains_key(&inner)) {
                    for member in &list {
                        surplus.remove(&unpacked_path(&member.name));
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

pub(super) fn packed_finding(theirs: &str, ours: &str) -> AuditFinding {
    AuditFinding::new(Cause::FilePacked, ours).example(format!("theirs: {theirs}, ours: {ours}"))
}

pub(super) fn case_finding(theirs: &str, ours: &str) -> AuditFinding {
    AuditFinding::new(Cause::FileNamesCase, ours).example(format!("theirs: {theirs}, ours: {ours}"))
}

/// Returns the findings for files that were not paired: renamed, moved, missing or additional files. `other_split` is
/// true if tables show that the items were split differently.
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
        found.push(raise_if_private(
            AuditFinding::new(Cause::FilesMissing, path.as_str())
                .example(format!("{path}, {size} bytes")),
        ));
    }
    for (path, size) in surplus {
        found.push(
            AuditFinding::new(cause_of_surplus(&path), path.as_str())
                .example(format!("{path}, {size} bytes")),
        );
    }
    Ok(found)
}

pub(super) fn cause_of_surplus(path: &str) -> Cause {
    match is_of_system(path) {
        true => Cause::SystemFiles,
        false => Cause::FilesSurplus,
    }
}

fn raise_if_private(finding: AuditFinding) -> AuditFinding {
    match finding.path.starts_with("private/") {
        true => finding.raised(Harm::Answers, PRIVATE),
        false => finding,
    }
}

/// Converts a path to lower case and removes accents, composed or decomposed.
fn fold(path: &str) -> String {
    let plain = path.chars().flat_map(char::to_lowercase).map(base_letter);
    plain
        .filter(|letter| !matches!(u32::from(*letter), 0x300..=0x36f))
        .collect()
}

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

/// Returns `files-other-part` if two conditions hold. The two files have the same name, and either the file moved between
/// train and test, or `other_split` is true. Otherwise returns `files-renamed`.
pub(super) fn cause_of_renaming(path: &str, other: &str, other_split: bool) -> Cause {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let has_moved = is_of_test(other) != is_of_test(path);
    match name(other) == name(path) && (other_split || has_moved) {
        true => Cause::FilesOtherPart,
        false => Cause::FilesRenamed,
    }
}

/// Finds renamed files: removes each pair of files with the same content from `surplus` and `missing`, and returns findings
/// about these pairs. Reads only files whose size occurs in both maps. `other_split` is true if the trees are split
/// differently.
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
        let file = theirs.join(path);
        let hash = read::content(&file).map_err(AuditError::reading(&file))?;
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
        let file = ours.join(&path);
        let hash = read::content(&file).map_err(AuditError::reading(&file))?;
        let Some(others) = by_content.get_mut(&hash) else {
            continue;
        };
        // Of several copies, prefer one with the same file name.
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let same_name = others.iter().position(|other| name(other) == name(&path));
        let Some(position) = same_name.or_else(|| others.len().checked_sub(1)) else {
            continue;
        };
        let other = others.swap_remove(position);
        missing.remove(&path);
        surplus.remove(&other);
        let cause = cause_of_renaming(&path, &other, other_split);
        let mut finding = AuditFinding::new(cause, path.as_str())
            .example(format!("theirs: {other}, ours: {path}"))
            .proof("contents are equal");
        if path.starts_with("private/") && other.starts_with("public/") {
            finding.raise(Harm::Answers, ANSWERS_SHOWN);
        }
        found.push(raise_if_private(finding));
    }
    Ok(found)
}

pub(super) fn swapped_finding(path: &str, other: &str) -> AuditFinding {
    let mut finding = AuditFinding::new(Cause::FilesSwapped, path).proof("contents are equal");
    if is_of_test(path) || is_of_test(other) {
        finding.raise(Harm::Answers, TEST_ITEMS);
    }
    finding.raise_if_private();
    finding
}

/// Returns whether a part of the path shows that the file contains test items.
pub(super) fn is_of_test(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = part.to_ascii_lowercase();
        part.starts_with("test") || part.contains("_test") || part.contains("-test")
    })
}

pub(super) fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default()
}
