//! Two archives: their members.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::bundle::members::{self, Member};
use crate::causes::{files, writer};
use crate::finding::Finding;

pub(super) fn compare(path: &str, theirs: &Path, ours: &Path) -> io::Result<Vec<Finding>> {
    let list = |file: &Path| -> io::Result<BTreeMap<String, Member>> {
        let all = members::of_file(file)?
            .into_iter()
            .filter(|member| !member.is_folder());
        Ok(all.map(|member| (member.name.clone(), member)).collect())
    };
    let (there, here) = (list(theirs)?, list(ours)?);
    let mut found = Vec::new();
    for (name, member) in &here {
        let inner = format!("{path}/{name}");
        match there.get(name) {
            None => found.push(
                Finding::new(&files::FILES_MISSING, inner)
                    .example(format!("{name}, {} bytes", member.size)),
            ),
            Some(other) if (other.size, other.crc) != (member.size, member.crc) => {
                let example = format!(
                    "{name}: CRC {:08x} there, {:08x} here",
                    other.crc, member.crc
                );
                found.push(Finding::new(&files::FILES_CHANGED, inner).example(example));
            }
            Some(_) => {}
        }
    }
    for (name, member) in there.iter().filter(|(name, _)| !here.contains_key(*name)) {
        let finding = Finding::new(&files::FILES_SURPLUS, format!("{path}/{name}"));
        found.push(finding.example(format!("{name}, {} bytes", member.size)));
    }
    if found.is_empty() {
        let proof = format!("{} members have equal names, sizes and CRCs", here.len());
        found.push(Finding::new(&writer::ARCHIVE_REPACKED, path).proof(proof));
    }
    Ok(found)
}
