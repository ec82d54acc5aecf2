//! Compares the members of two archives.

use std::path::Path;

use prep_contents::members::{self, ArchiveComparison, ArchiveSide, MemberDifference};
use prep_contents::{ContentsError, Result};

use super::pair::{self, PairContext};
use super::{names, swapped};
use crate::causes::Cause;
use crate::finding::AuditFinding;

/// Compares two archives with different bytes.
pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    context: &PairContext<'_>,
) -> Result<Vec<AuditFinding>> {
    let mut found = Vec::new();
    let inside = context.inside()?;
    let compared = members::compare(path, theirs, ours, &inside.read, &mut |name, member| {
        let inner = format!("{path}/{name}");
        match member {
            MemberDifference::OnlyHere { size } => found.push(
                AuditFinding::new(Cause::FilesMissing, inner)
                    .example(format!("{name}, {size} bytes")),
            ),
            MemberDifference::OnlyThere { size } => found.push(
                AuditFinding::new(names::cause_of_surplus(name), inner)
                    .example(format!("{name}, {size} bytes")),
            ),
            MemberDifference::Renamed { there, .. } => {
                let cause = names::cause_of_renaming(name, there, false);
                found.push(
                    AuditFinding::new(cause, inner)
                        .example(format!("theirs: {there}, ours: {name}"))
                        .proof("contents are equal"),
                );
            }
            MemberDifference::Swapped { there, .. } => {
                let example = format!("their {there} has the content of our {name}");
                found.push(swapped::finding(&inner, &format!("{path}/{there}")).example(example));
            }
            MemberDifference::Differ { theirs, ours } => {
                let paired = pair::compare(&inner, theirs, ours, &inside)?;
                found.extend(paired.findings);
            }
        }
        Ok(())
    });
    let compared = match compared? {
        ArchiveComparison::Compared(compared) => compared,
        ArchiveComparison::Unreadable(ArchiveSide::Theirs, ContentsError::Damaged(reason)) => {
            found.push(AuditFinding::new(Cause::FilesDamaged, path).example(reason));
            return Ok(found);
        }
        ArchiveComparison::Unreadable(side, error) => {
            let whose = match side {
                ArchiveSide::Theirs => "theirs",
                ArchiveSide::Ours => "ours",
            };
            let proof = format!("{whose} cannot be read: {error}");
            found.push(AuditFinding::new(Cause::NotClassified, path).proof(proof));
            return Ok(found);
        }
    };
    if found.is_empty() {
        let mut proof = format!("{} members have equal names and contents", compared.equal);
        if compared.reordered {
            proof.push_str(", but a different order");
        }
        found.push(AuditFinding::new(Cause::ArchiveRepacked, path).proof(proof));
    }
    Ok(found)
}
