//! Two trees of files.
//!
//! Each pair of files with one name is read once, side by side, up to its first difference; several pairs at a time. Only
//! files that differ are looked into: as tables, documents or images; archives are entered, and their members compared as
//! files are. Files of one side only are paired by content, if sizes allow it.

mod archive;
mod document;
mod image;
mod names;
mod pair;
mod roles;
pub(crate) mod split;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use prep_contents::listing::Listing;

use crate::error::AuditError;
use crate::finding::Finding;
use names::OneSided;
use pair::{Paired, Surroundings};

pub use roles::Roles;
pub use split::{Hypothesis, SplitSearch};

/// Files that are not compared: what they say is completed here from what is prepared.
pub const IGNORED: [&str; 1] = ["public/description.md"];

fn listing(root: &Path) -> Result<Listing, AuditError> {
    if !root.is_dir() {
        let path = root.to_owned();
        return Err(AuditError::NoFolder { path });
    }
    let read = Listing::read(root);
    let mut listing = read.map_err(|(path, source)| AuditError::Read { path, source })?;
    for path in IGNORED {
        listing.files.remove(path);
    }
    Ok(listing)
}

/// How trees are compared.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Files compared at the same time.
    pub threads: usize,
    /// What grading says of tables.
    pub roles: &'a Roles,
    /// How the benchmark splits, if one kind of split explains both parts.
    pub split: Option<&'a SplitSearch>,
    /// A folder for members of archives, for the time of reading.
    pub temp: &'a Path,
}

/// What comparing two trees came to.
#[derive(Debug)]
pub struct Compared {
    pub findings: Vec<Finding>,
    /// Files with equal bytes, and all that have one name on both sides.
    pub equal: u64,
    pub common: u64,
}

/// Compares somebody's tree with ours. Both are `prepared` folders, with `public` and `private`.
///
/// # Errors
/// When a tree is not there. A single file that cannot be read is a finding.
pub fn compare(theirs: &Path, ours: &Path, options: &Options<'_>) -> Result<Compared, AuditError> {
    let (their_list, our_list) = (listing(theirs)?, listing(ours)?);
    let roles = options.roles.completed(ours, &our_list);
    let common = our_list.common(&their_list);
    let around = Surroundings {
        roles: &roles,
        temp: options.temp,
        depth: 0,
    };
    let next = AtomicUsize::new(0);
    let pairs: Mutex<Vec<Paired>> = Mutex::new(Vec::new());
    let equal = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                while let Some(path) = common.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let paired = pair::compare(path, &theirs.join(path), &ours.join(path), &around);
                    if paired.is_equal() {
                        equal.fetch_add(1, Ordering::Relaxed);
                    } else {
                        pairs
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(paired);
                    }
                }
            });
        }
    });
    let mut pairs = pairs.into_inner().unwrap_or_else(PoisonError::into_inner);
    // What has another name has its content, too.
    let mut left = OneSided::of(&their_list, &our_list);
    let mut named = Vec::new();
    for (there, here) in left.same_but_case() {
        pairs.push(pair::compare(
            &here,
            &theirs.join(&there),
            &ours.join(&here),
            &around,
        ));
        named.push(names::of_case(&there, &here));
    }
    for (archive, folder) in left.unpacked(ours) {
        named.extend(names::of_unpacked(&archive, &folder, theirs, ours, &around));
    }
    pairs.sort_by(|one, other| one.path.cmp(&other.path));
    let mut findings = split::explain(&mut pairs, theirs, ours, options.split, roles.first_id());
    let explained = !findings.is_empty();
    findings.extend(pairs.into_iter().flat_map(|pair| pair.findings));
    findings.extend(named);
    findings.extend(names::compare(theirs, ours, left, explained)?);
    Ok(Compared {
        findings,
        equal: equal.into_inner() as u64,
        common: common.len() as u64,
    })
}
