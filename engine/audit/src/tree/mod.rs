//! Compares two trees of files.
//!
//! Each pair of files with one name is read once, side by side, up to its first difference; several pairs at a time. Only
//! files that differ are analysed as tables, documents or images. Members of archives are compared like files. Files of one side only are paired by content, if sizes allow it.

mod archive;
mod document;
mod image;
mod names;
mod pair;
mod roles;
mod shown;
pub(crate) mod split;
mod swapped;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use prep_contents::Resources;
use prep_contents::listing::Listing;

use crate::error::AuditError;
use crate::finding::AuditFinding;
use names::OneSided;
use pair::{FileComparison, Surroundings};

pub use roles::Roles;
pub use split::{Hypothesis, SplitSearch};

/// Files that are not compared, because `prep` writes its own text.
pub const IGNORED: [&str; 1] = ["public/description.md"];

/// The directories of both trees.
pub(crate) struct Places<'a> {
    pub theirs: &'a Path,
    pub ours: &'a Path,
}

fn listing(root: &Path) -> Result<Listing, AuditError> {
    if !root.is_dir() {
        let path = root.to_owned();
        return Err(AuditError::NoFolder { path });
    }
    let mut listing = Listing::read(root).map_err(AuditError::reading(root))?;
    for path in IGNORED {
        listing.files.remove(path);
    }
    Ok(listing)
}

/// Options of a comparison.
#[derive(Debug, Clone)]
pub struct TreeOptions<'a> {
    /// Maximum files that are compared at the same time.
    pub threads: usize,
    /// The roles of the tables in grading.
    pub roles: &'a Roles,
    /// The split of the pipeline, if a single split makes both parts.
    pub split: Option<&'a SplitSearch>,
    pub resources: Resources<'a>,
}

/// The result of comparing two trees.
#[derive(Debug)]
pub struct TreeComparison {
    pub findings: Vec<AuditFinding>,
    /// Files with equal bytes, and files that exist on both sides.
    pub equal: u64,
    pub common: u64,
}

/// Compares a foreign tree with ours. Both are `prepared` directories, with `public` and `private`.
///
/// # Errors
/// When a tree does not exist, or the system fails. A damaged file is a finding.
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
    let around = Surroundings {
        roles: &roles,
        resources,
        depth: 0,
    };
    let equal = AtomicUsize::new(0);
    let pairs: Mutex<Vec<FileComparison>> = Mutex::new(Vec::new());
    let compare_pair = |here: &str, there: &str| {
        let paired = pair::compare(here, &theirs.join(there), &ours.join(here), &around);
        paired.map_err(AuditError::reading(&theirs.join(there)))
    };
    for_each_path(&common, options.threads, |path| {
        let paired = compare_pair(path, path)?;
        match paired.is_equal() {
            true => {
                equal.fetch_add(1, Ordering::Relaxed);
            }
            false => pairs.lock().push(paired),
        }
        Ok(())
    })?;
    let mut pairs = pairs.into_inner();
    // Renamed files are also compared by content.
    let mut left = OneSided::new(&their_list, &our_list);
    let mut named = Vec::new();
    for (there, here) in left.same_but_case() {
        pairs.push(compare_pair(&here, &there)?);
        named.push(names::of_case(&there, &here));
    }
    for (there, here) in left.packed() {
        let mut paired = compare_pair(&here, &there)?;
        // The name already shows that it is packed.
        paired
            .findings
            .retain(|one| one.cause.id != crate::causes::files::FILES_DAMAGED.id);
        pairs.push(paired);
        named.push(names::of_packed(&there, &here));
    }
    for (there, here) in left.inflated() {
        let found = names::of_inflated(&there, &here, theirs, ours, &around);
        named.extend(found.map_err(AuditError::reading(&ours.join(&here)))?);
    }
    for (archive, folder) in left.unpacked(ours, &resources.limits)? {
        let found = names::of_unpacked(&archive, &folder, theirs, ours, &around);
        named.extend(found.map_err(AuditError::reading(&ours.join(&archive)))?);
    }
    pairs.sort_by(|one, other| one.path.cmp(&other.path));
    let trees = split::Trees {
        theirs,
        ours,
        limits: &resources.limits,
    };
    let explained = split::explain(&mut pairs, &trees, options.split, roles.first_id());
    let mut findings = explained.map_err(AuditError::reading(ours))?;
    let explained = !findings.is_empty();
    let places = Places { theirs, ours };
    swapped::explain(&mut pairs, &places, &our_list)?;
    findings.extend(pairs.into_iter().flat_map(|pair| pair.findings));
    findings.extend(named);
    findings.extend(names::compare(theirs, ours, left, explained)?);
    let raised = shown::raise(&mut findings, &places, &roles, resources);
    raised.map_err(AuditError::reading(theirs))?;
    Ok(TreeComparison {
        findings,
        equal: equal.into_inner() as u64,
        common: common.len() as u64,
    })
}

/// Calls `work` for each path on several threads. The calling thread works as well, so it also works if no thread can be started.
///
/// # Errors
/// The first error of `work`. No further path is then started.
fn for_each_path(
    paths: &[String],
    threads: usize,
    work: impl Fn(&str) -> Result<(), AuditError> + Sync,
) -> Result<(), AuditError> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<AuditError>> = Mutex::new(None);
    let run = || {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(path) {
                next.store(paths.len(), Ordering::Relaxed);
                failed.lock().get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            if std::thread::Builder::new()
                .spawn_scoped(scope, run)
                .is_err()
            {
                break;
            }
        }
        run();
    });
    let failed = failed.into_inner();
    failed.map_or(Ok(()), Err)
}
