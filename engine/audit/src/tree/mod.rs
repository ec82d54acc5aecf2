//! Compares an audited tree of files with the tree that `prep` prepared.
//!
//! Two files with the same path are read together, up to their first difference, and then analysed as tables, documents or
//! images. Members of archives are compared like files. A file that exists in only one tree may have been renamed.
//! Therefore it is compared with files of the same size in the other tree.

mod document;
mod names;
mod pair;
mod roles;
mod shown;
pub(crate) mod split;
mod swapped;

use std::path::Path;

use prep_contents::listing::Listing;
use prep_contents::{Resources, parallel};

use crate::error::AuditError;
use crate::finding::AuditFinding;
use names::OneSided;
use pair::FileComparison;

pub use roles::Roles;
pub use split::{Hypothesis, SplitSearch};

/// Files that are not compared, because `prep` writes parts of them itself.
pub const IGNORED: [&str; 1] = ["public/description.md"];

pub(crate) struct TreeRoots<'a> {
    pub theirs: &'a Path,
    pub ours: &'a Path,
    pub resources: &'a Resources<'a>,
}

fn listing(root: &Path) -> Result<Listing, AuditError> {
    if !root.is_dir() {
        let path = root.to_owned();
        return Err(AuditError::NotADirectory { path });
    }
    let mut listing = Listing::read(root).map_err(AuditError::reading(root))?;
    for path in IGNORED {
        listing.files.remove(path);
    }
    Ok(listing)
}

#[derive(Debug, Clone)]
pub struct TreeOptions<'a> {
    /// Maximum number of files that are compared at the same time.
    pub threads: usize,
    pub roles: &'a Roles,
    /// The pipeline's split, if a single split produces both the train part and the test part.
    pub split: Option<&'a SplitSearch>,
    pub resources: Resources<'a>,
}

#[derive(Debug)]
pub struct TreeComparison {
    pub findings: Vec<AuditFinding>,
    /// Number of files with equal bytes.
    pub equal: u64,
    /// Number of files that exist on both sides.
    pub common: u64,
}

/// Compares two `prepared` directories. A damaged file is a finding, not an error.
pub fn compare(
    theirs: &Path,
    ours: &Path,
    options: &TreeOptions<'_>,
) -> Result<TreeComparison, AuditError> {
    let (their_list, our_list) = (listing(theirs)?, listing(ours)?);
    let resources = &options.resources;
    let roles = options.roles.completed(ours, &our_list, &resources.limits);
    let roles = roles.map_err(AuditError::reading(ours))?;
    let common = our_list.common(&their_list);
    let compare_pair = |our_path: &str, their_path: &str| {
        let (theirs, ours) = (theirs.join(their_path), ours.join(our_path));
        let paired = pair::with_context(&roles, resources, [&theirs, &ours], |context| {
            pair::compare(our_path, &theirs, &ours, context)
        });
        paired.map_err(AuditError::reading(&theirs))
    };
    let compared = parallel::try_map(&common, options.threads, |path| {
        let paired = compare_pair(path, path)?;
        Ok((!paired.is_equal()).then_some(Box::new(paired)))
    })?;
    let mut pairs: Vec<FileComparison> = compared.into_iter().flatten().map(|pair| *pair).collect();
    let equal = common.len() - pairs.len();
    // Files whose names differ only in case or by a compression suffix are compared, too.
    let mut left = OneSided::new(&their_list, &our_list);
    let mut named = Vec::new();
    for (their_path, our_path) in left.take_renamed_by_case() {
        pairs.push(compare_pair(&our_path, &their_path)?);
        named.push(names::case_finding(&their_path, &our_path));
    }
    for (their_path, our_path) in left.take_packed() {
        let mut paired = compare_pair(&our_path, &their_path)?;
        // The suffix in the file's name shows that the file is compressed, so its format is not reported as damage.
        paired
            .findings
            .retain(|one| one.cause != crate::causes::Cause::FilesDamaged);
        pairs.push(paired);
        named.push(names::packed_finding(&their_path, &our_path));
    }
    for (their_path, our_path) in left.take_inflated() {
        let (their_file, our_file) = (theirs.join(&their_path), ours.join(&our_path));
        let files = [their_file.as_path(), our_file.as_path()];
        let found = pair::with_context(&roles, resources, files, |context| {
            pair::inflated_findings(&their_path, &our_path, files, context)
        });
        named.extend(found.map_err(AuditError::reading(&our_file))?);
    }
    for (archive, directory) in left.take_unpacked(ours, &resources.limits)? {
        // The unpacked files are about as long as the archive, so the archive determines the memory budget.
        let file = ours.join(&archive);
        let found = pair::with_context(&roles, resources, [&file, &file], |context| {
            pair::unpacked_findings(&archive, &directory, theirs, &file, context)
        });
        named.extend(found.map_err(AuditError::reading(&file))?);
    }
    pairs.sort_by(|one, other| one.path.cmp(&other.path));
    let roots = TreeRoots {
        theirs,
        ours,
        resources,
    };
    let explained = split::explain(&mut pairs, &roots, options.split, roles.only_id());
    let mut findings = explained.map_err(AuditError::reading(ours))?;
    let explained = !findings.is_empty();
    swapped::explain(&mut pairs, &roots, &our_list)?;
    findings.extend(pairs.into_iter().flat_map(|pair| pair.findings));
    findings.extend(named);
    findings.extend(names::compare(theirs, ours, left, explained)?);
    let raised = shown::raise(&mut findings, &roots, &roles);
    raised.map_err(AuditError::reading(theirs))?;
    Ok(TreeComparison {
        findings,
        equal: equal as u64,
        common: common.len() as u64,
    })
}
