//! Two files of one name.

use std::io;
use std::path::Path;

use prep_contents::Format;
use prep_contents::archive::Archive;
use prep_contents::pairing::Moved;
use prep_contents::read::{self, Bytes};

use super::roles::Roles;
use super::{archive, document, image};
use crate::causes::{Cause, Harm, NOT_CLASSIFIED, files};
use crate::finding::Finding;
use crate::table;

/// What a comparison needs to know beside the two files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub roles: &'a Roles,
    /// Where members of archives may be put for the time of reading.
    pub temp: &'a Path,
    /// Archives that were entered.
    pub depth: usize,
}

impl Surroundings<'_> {
    pub(super) fn inside(&self) -> Self {
        Self {
            depth: self.depth + 1,
            ..*self
        }
    }
}

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

pub(super) fn compare(path: &str, theirs: &Path, ours: &Path, around: &Surroundings<'_>) -> Paired {
    let mut paired = Paired {
        path: path.to_owned(),
        findings: Vec::new(),
        moved: None,
    };
    match look(path, theirs, ours, around, &mut paired.moved) {
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
    around: &Surroundings<'_>,
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
    let is_document = matches!(ending(path).as_str(), "json" | "geojson");
    let format = Format::of(path).filter(|_| !is_document);
    let role = around.roles.of(path);
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
        let outcome = table::compare(path, theirs, ours, format, &role)?;
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
    if Archive::of(path).is_some() {
        return archive::compare(path, theirs, ours, around);
    }
    match ending(path).as_str() {
        _ if is_document => document::compare(path, theirs, ours, &role),
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
