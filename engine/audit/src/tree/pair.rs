//! Compares two files of the same name.

use std::path::Path;

use prep_contents::archive::Archive;
use prep_contents::pairing::Moved;
use prep_contents::read::{self, Bytes};
use prep_contents::table::is_json_lines;
use prep_contents::{ContentsError, Format, Resources, Result};

use super::roles::Roles;
use super::{archive, document, image};
use crate::causes::{Cause, Harm, NOT_CLASSIFIED, files};
use crate::finding::Finding;
use crate::table;

/// The context of a comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub roles: &'a Roles,
    pub resources: &'a Resources<'a>,
    /// Depth of nested archives.
    pub depth: u64,
}

impl Surroundings<'_> {
    /// Fails if archives are nested too deeply.
    pub(super) fn check_depth(&self) -> Result<()> {
        self.resources.check_nesting(self.depth)
    }

    pub(super) fn inside(&self) -> Self {
        Self {
            depth: self.depth + 1,
            ..*self
        }
    }
}

/// The result of comparing two files.
#[derive(Debug)]
pub(super) struct Paired {
    pub path: String,
    pub findings: Vec<Finding>,
    /// Rows that can be in another file.
    pub moved: Option<Moved>,
}

impl Paired {
    pub(super) fn is_equal(&self) -> bool {
        self.findings.is_empty()
    }
}

/// # Errors
/// Failures of the system, which say nothing about the files.
pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
) -> Result<Paired> {
    let mut paired = Paired {
        path: path.to_owned(),
        findings: Vec::new(),
        moved: None,
    };
    match look(path, theirs, ours, around, &mut paired.moved) {
        Ok(findings) => paired.findings = findings,
        Err(error) if error.is_of_the_system() => return Err(error),
        Err(error) => paired.findings.push(unreadable(path, &error)),
    }
    let answers = path.starts_with("private/");
    for finding in &mut paired.findings {
        if answers && finding.harm == Harm::Content {
            finding.harm = Harm::Answers;
        }
    }
    Ok(paired)
}

/// A file of a format that its content does not have.
fn unreadable(path: &str, error: &ContentsError) -> Finding {
    Finding::new(&NOT_CLASSIFIED, path).proof(format!("it cannot be looked into: {error}"))
}

fn look(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
    moved: &mut Option<Moved>,
) -> Result<Vec<Finding>> {
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
    if let Some(findings) = gzipped(path, theirs, ours, around, moved)? {
        return Ok(findings);
    }
    let limits = &around.resources.limits;
    let is_json = matches!(ending(path).as_str(), "json" | "geojson");
    // One document on each line, in spite of the name.
    let is_lines = is_json && is_json_lines(theirs)? && is_json_lines(ours)?;
    let is_document = is_json && !is_lines;
    let format = match is_lines {
        true => Some(Format::JsonLines),
        false => Format::of(path).filter(|_| !is_json),
    };
    let role = around.roles.of(path);
    // A text can end after any of its rows, or differ only in its last line end.
    if at.is_none()
        && !matches!(
            format,
            Some(Format::Csv(_) | Format::Lines | Format::JsonLines)
        )
    {
        return simple(&files::FILES_CUT_OFF);
    }
    if let Some(format) = format {
        let outcome = table::compare(path, theirs, ours, format, &role, limits)?;
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
        _ if is_document => document::compare(path, theirs, ours, &role, limits),
        "png" | "jpg" | "jpeg" => image::compare(path, theirs, ours, limits),
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

/// If `theirs` is compressed without a matching name, and `ours` is not, their content is compared.
fn gzipped(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
    moved: &mut Option<Moved>,
) -> Result<Option<Vec<Finding>>> {
    let is_gzip =
        |file: &Path| -> Result<bool> { Ok(prep_formats::gzip::is_gzip(&read::head(file, 2)?)) };
    if Archive::of(path).is_some() || !is_gzip(theirs)? || is_gzip(ours)? {
        return Ok(None);
    }
    let finding = Finding::new(&files::FILES_DAMAGED, path);
    let (around, resources) = (&around.inside(), around.resources);
    around.check_depth()?;
    let budget = resources.limits.budget(size(theirs)?);
    let mut inner = None;
    let unpacked = Archive::Gzip.visit(theirs, path, &budget, &mut |_, _, content| {
        inner = Some(read::spool(content, resources)?);
        Ok(())
    });
    let inner = match (unpacked, inner) {
        (Ok(()), Some(inner)) => inner,
        (Err(error), _) if error.is_of_the_system() => return Err(error),
        _ => return Ok(Some(vec![finding.example("it begins as gzip data do")])),
    };
    let mut findings = look(path, &inner, ours, around, moved)?;
    let proof = match findings.is_empty() {
        true => "it is compressed by gzip; unpacked, its bytes are those of ours",
        false => "it is compressed by gzip; unpacked, it differs, too",
    };
    findings.push(finding.proof(proof));
    Ok(Some(findings))
}

fn size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path)
        .map_err(ContentsError::at(path))?
        .len())
}

fn ends_within_line(path: &Path) -> Result<bool> {
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
