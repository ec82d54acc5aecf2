//! Determines the origin of a competition's data after a run: the bundle, and whether the published checksums match.

use std::collections::{BTreeMap, HashSet};

use prep_cache::Digest;
use prep_core::LastRuns;
use prep_digests::{BundleDigest, BundleStatus, ChecksumStatus, DataOrigin};

use super::assemble::Competition;
use super::ended::Ended;
use super::load::Verification;
use super::origins::Origin;
use crate::error::Error;

/// Returns the digest of the bundle from which the data were prepared. Returns `None` if it is no longer known.
pub(crate) fn bundle(competition: &Competition, origins: &[Origin]) -> Option<BundleDigest> {
    let origin = origins.iter().find(|origin| origin.is_bundle())?;
    let digest = &origin.record.digest;
    if origin.name.is_none() {
        return Some(blake3(digest, BundleStatus::Part));
    }
    let Some(md5) = origin.record.md5.clone() else {
        return Some(blake3(digest, BundleStatus::NotVerified));
    };
    let status = match &competition.published_md5 {
        Some(published) if published.eq_ignore_ascii_case(&md5) => BundleStatus::Verified,
        Some(_) => BundleStatus::Differs,
        None => BundleStatus::NotVerified,
    };
    Some(BundleDigest {
        algorithm: "md5",
        digest: md5,
        status,
    })
}

fn blake3(digest: &Digest, status: BundleStatus) -> BundleDigest {
    BundleDigest {
        algorithm: "blake3",
        digest: digest.to_string(),
        status,
    }
}

/// Returns the origin of complete data that were prepared from `bundle`. `last` has the last runs, with the one that has just
/// ended.
///
/// # Errors
/// Returns an error if the history cannot be read.
pub(crate) fn origin(
    ended: &Ended,
    competition: &Competition,
    bundle: Option<&BundleDigest>,
    last: &LastRuns,
) -> Result<DataOrigin, Error> {
    let checksums = match competition.verification {
        // If checksums had not matched, the data would not be complete.
        Verification::Checked => ChecksumStatus::Passed,
        Verification::Skipped => match known_to_differ(ended, competition, last)? {
            outputs if outputs.is_empty() => ChecksumStatus::Skipped,
            outputs => ChecksumStatus::Differ { outputs },
        },
        Verification::NotPublished => {
            let is_verified = bundle.is_some_and(|one| one.status == BundleStatus::Verified);
            match is_verified || competition.published_md5.is_none() {
                true => ChecksumStatus::NotPublished,
                false => ChecksumStatus::Skipped,
            }
        }
    };
    // The data do not depend on the leaderboard.
    let own = competition.entry.own_files();
    let is_built_in = own.is_some_and(|files| files.iter().all(|file| *file == "leaderboard.csv"));
    Ok(DataOrigin {
        is_built_in,
        checksums,
    })
}

/// Returns the outputs that failed the last comparison with their published checksum and have not changed since.
fn known_to_differ(
    ended: &Ended,
    competition: &Competition,
    last: &LastRuns,
) -> Result<Vec<String>, Error> {
    let sums = competition.entry.published_checksums().ok().flatten();
    let sums = sums.unwrap_or_default();
    let last = last.load(&competition.id)?;
    let outputs = ended.nodes_of(&competition.id).iter();
    let outputs = outputs.filter_map(|node| ended.report.outputs.get(node));
    let made: HashSet<&Digest> = outputs.flat_map(BTreeMap::values).collect();
    let differ = last.iter().filter_map(|(name, last)| {
        let output = name.strip_prefix("checksum/")?;
        let md5 = last.record.params.get("md5")?.as_str()?;
        let is_same = last
            .record
            .inputs
            .values()
            .all(|input| made.contains(input));
        let is_published = sums.of_output(output) == Some(md5);
        (last.failed.is_some() && is_same && is_published).then(|| output.to_owned())
    });
    Ok(differ.collect())
}
