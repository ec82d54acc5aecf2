//! Two archives: their members, looked into as files are.

use std::io;
use std::path::Path;

use prep_contents::members::{self, Member, Unreadable};

use super::pair::{self, Surroundings};
use crate::causes::{NOT_CLASSIFIED, files, writer};
use crate::finding::Finding;

/// Archives in archives that are entered.
const DEPTH: usize = 8;

pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
) -> io::Result<Vec<Finding>> {
    let mut found = Vec::new();
    if around.depth > DEPTH {
        let finding = Finding::new(&files::FILES_CHANGED, path);
        return Ok(vec![
            finding.proof("archives in archives are too many to enter"),
        ]);
    }
    let inside = around.inside();
    let compared = members::compare(path, theirs, ours, around.temp, &mut |name, member| {
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
            Member::Differ { theirs, ours } => {
                let paired = pair::compare(&inner, theirs, ours, &inside);
                found.extend(paired.findings);
            }
        }
        Ok(())
    });
    let compared = match compared {
        Ok(compared) => compared,
        Err(Unreadable::Theirs(error)) => {
            found.push(Finding::new(&files::FILES_DAMAGED, path).example(error.to_string()));
            return Ok(found);
        }
        Err(Unreadable::Ours(error)) => {
            let proof = format!("ours cannot be looked into: {error}");
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
