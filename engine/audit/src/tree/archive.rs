//! Compares two archives by their members.

use std::path::Path;

use prep_contents::members::{self, Comparison, Member, Side};
use prep_contents::{ContentsError, Result};

use super::pair::{self, Surroundings};
use super::swapped;
use crate::causes::{NOT_CLASSIFIED, files, writer};
use crate::finding::Finding;

pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let inside = around.inside();
    inside.check_depth()?;
    let compared = members::compare(path, theirs, ours, around.resources, &mut |name, member| {
        let inner = format!("{path}/{name}");
        match member {
            Member::OnlyHere { size } => found.push(
                Finding::new(&files::FILES_MISSING, inner).example(format!("{name}, {size} bytes")),
            ),
            Member::OnlyThere { size } => found.push(
                Finding::new(&files::FILES_SURPLUS, inner).example(format!("{name}, {size} bytes")),
            ),
            Member::Renamed { there, .. } => found.push(
                Finding::new(&files::FILES_RENAMED, inner)
                    .example(format!("{there} there, {name} here"))
                    .proof("contents are equal"),
            ),
            Member::Swapped { there, .. } => {
                let example = format!("{there} has there what {name} has here");
                found.push(swapped::finding(&inner, &format!("{path}/{there}")).example(example));
            }
            Member::Differ { theirs, ours } => {
                let paired = pair::compare(&inner, theirs, ours, &inside)?;
                found.extend(paired.findings);
            }
        }
        Ok(())
    });
    let compared = match compared? {
        Comparison::Compared(compared) => compared,
        Comparison::Unreadable(Side::Theirs, ContentsError::Damaged(reason)) => {
            found.push(Finding::new(&files::FILES_DAMAGED, path).example(reason));
            return Ok(found);
        }
        Comparison::Unreadable(side, error) => {
            let whose = match side {
                Side::Theirs => "theirs",
                Side::Ours => "ours",
            };
            let proof = format!("{whose} cannot be looked into: {error}");
            found.push(Finding::new(&NOT_CLASSIFIED, path).proof(proof));
            return Ok(found);
        }
    };
    if found.is_empty() {
        let mut proof = format!("{} members have equal names and contents", compared.equal);
        if compared.reordered {
            proof.push_str(", in another order");
        }
        found.push(Finding::new(&writer::ARCHIVE_REPACKED, path).proof(proof));
    }
    Ok(found)
}
