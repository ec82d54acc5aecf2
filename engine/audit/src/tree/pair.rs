//! Two files of one name.

use std::io;
use std::path::Path;

use super::roles::Roles;
use super::{archive, document, image};
use crate::causes::{Cause, Harm, NOT_CLASSIFIED, files};
use crate::finding::Finding;
use crate::read::{self, Bytes};
use crate::table::{self, Format, Moved};

/// What comparing them came to.
#[derive(Debug)]
pub(super) struct Paired {
    pub path: String,
    pub findings: Vec<Finding>,
    /// Rows that may be in another file.
    pub moved: Option<Moved>,
}

impl Paired {
    pub(super) fn is_equal(&self) -> bool {
        self.findings.is_empty()
    }
}

pub(super) fn compare(path: &str, theirs: &Path, ours: &Path, roles: &Roles) -> Paired {
    let mut paired = Paired {
        path: path.to_owned(),
        findings: Vec::new(),
        moved: None,
    };
    match look(path, theirs, ours, roles, &mut paired.moved) {
        Ok(findings) => paired.findings = findings,
        Err(error) => paired.findings.push(unreadable(path, &error)),
    }
    let answers = path.starts_with("private/");
    for finding in &mut paired.findings {
        if answers && finding.harm == Harm::Content {
            finding.harm = Harm::Answers;
        }
    }
    paired
}

/// A file of a format that its content does not have.
fn unreadable(path: &str, error: &io::Error) -> Finding {
    Finding::new(&NOT_CLASSIFIED, path).proof(format!("it cannot be looked into: {error}"))
}

fn look(
    path: &str,
    theirs: &Path,
    ours: &Path,
    roles: &Roles,
    moved: &mut Option<Moved>,
) -> io::Result<Vec<Finding>> {
    let at = match read::compare(theirs, ours)? {
        Bytes::Equal => return Ok(Vec::new()),
        Bytes::TheirsIsBeginning => None,
        Bytes::Differ { at } => Some(at),
    };
    let (their_size, our_size) = (size(theirs)?, size(ours)?);
    let sizes = format!("{their_size} bytes there, {our_size} here");
    let simple = |cause: &'static Cause| Ok(vec![Finding::new(cause, path).example(sizes.clone())]);
    if their_size == 0 {
        return simple(&files::FILES_EMPTY);
    }
    let format = Format::of(path);
    // A text may well end after any of its rows, or differ in its last line end only.
    if at.is_none()
        && !matches!(
            format,
            Some(Format::Csv(_) | Format::Lines | Format::JsonLines)
        )
    {
        return simple(&files::FILES_CUT_OFF);
    }
    if let Some(format) = format {
        let outcome = table::compare(path, theirs, ours, format, &roles.of(path))?;
        *moved = outcome.moved;
        let mut findings = outcome.findings;
        if at.is_none()
            && ends_within_line(theirs)?
            && !ends_within_line(ours)?
            && our_size - their_size > 2
        {
            findings.push(Finding::new(&files::FILES_CUT_OFF, path).example(sizes));
        }
        return Ok(findings);
    }
    match ending(path).as_str() {
        "json" | "geojson" => document::compare(path, theirs, ours, &roles.of(path)),
        "zip" => archive::compare(path, theirs, ours),
        "png" | "jpg" | "jpeg" => image::compare(path, theirs, ours),
        _ => {
            let finding = Finding::new(&files::FILES_CHANGED, path);
            let finding = match at {
                Some(at) => finding.example(format!("from byte {at} on; {sizes}")),
                None => finding.example(sizes),
            };
            Ok(vec![finding])
        }
    }
}

fn size(path: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.len())
}

fn ends_within_line(path: &Path) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(!matches!(last, [b'\n' | b'\r']))
}

pub(super) fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase())
        .unwrap_or_default()
}
