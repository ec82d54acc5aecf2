//! Compares two files of the same name.

use std::path::Path;

use prep_contents::archive::Archive;
use prep_contents::pairing::UnpairedKeys;
use prep_contents::read::{self, Bytes};
use prep_contents::table::is_json_lines;
use prep_contents::{ContentsError, Format, Resources, Result};
use prep_failure::QuotedValue;

use super::roles::Roles;
use super::{archive, document, image};
use crate::causes::{Cause, Harm, NOT_CLASSIFIED, files, text};
use crate::finding::AuditFinding;
use crate::harm::PRIVATE;
use crate::table;

/// The context of a comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub roles: &'a Roles,
    pub resources: &'a Resources<'a>,
    /// Number of archives around the file.
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
pub(super) struct FileComparison {
    pub path: String,
    pub findings: Vec<AuditFinding>,
    /// Rows that only one side has in this file. Another file may have them.
    pub moved: Option<UnpairedKeys>,
}

impl FileComparison {
    pub(super) fn is_equal(&self) -> bool {
        self.findings.is_empty()
    }
}

/// # Errors
/// Failures of the system. They show nothing about the files.
pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
) -> Result<FileComparison> {
    let mut paired = FileComparison {
        path: path.to_owned(),
        findings: Vec::new(),
        moved: None,
    };
    match look(path, theirs, ours, around, &mut paired.moved) {
        Ok(findings) => paired.findings = findings,
        Err(error) if error.is_of_the_system() => return Err(error),
        Err(error) => paired.findings.push(unreadable(path, &error)),
    }
    if path.starts_with("private/") {
        for finding in paired
            .findings
            .iter_mut()
            .filter(|finding| finding.harm == Harm::Content)
        {
            finding.raise(Harm::Answers, PRIVATE);
        }
    }
    Ok(paired)
}

/// The mark at the beginning of some texts in UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Longest document that is compared without its mark.
const MAX_MARKED_BYTES: u64 = 64 << 20;

/// Whether a file is a page in HTML or a message of a server, as a failed download leaves it.
fn is_page(path: &Path) -> Result<bool> {
    if matches!(
        ending(&path.to_string_lossy()).as_str(),
        "html" | "htm" | "xml" | "svg" | "md"
    ) {
        return Ok(false);
    }
    let head = read::head(path, 64)?.to_ascii_lowercase();
    let head = head.trim_ascii_start();
    let beginnings: [&[u8]; 4] = [b"<!doctype html", b"<html", b"<?xml version", b"{\"code\":"];
    Ok(beginnings
        .iter()
        .any(|beginning| head.starts_with(beginning)))
}

/// A file of a format that its content does not have.
fn unreadable(path: &str, error: &ContentsError) -> AuditFinding {
    AuditFinding::new(&NOT_CLASSIFIED, path).proof(format!("it cannot be looked into: {error}"))
}

fn look(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
    moved: &mut Option<UnpairedKeys>,
) -> Result<Vec<AuditFinding>> {
    let at = match read::compare(theirs, ours)? {
        Bytes::Equal => return Ok(Vec::new()),
        Bytes::TheirsIsBeginning => None,
        Bytes::Differ { at } => Some(at),
    };
    let (their_size, our_size) = (size(theirs)?, size(ours)?);
    let sizes = format!("{their_size} bytes there, {our_size} here");
    let simple =
        |cause: &'static Cause| Ok(vec![AuditFinding::new(cause, path).example(sizes.clone())]);
    if their_size == 0 {
        return simple(&files::FILES_EMPTY);
    }
    if let Some(findings) = wrapped(path, theirs, ours, around, moved)? {
        return Ok(findings);
    }
    if is_page(theirs)? && !is_page(ours)? {
        let example = format!("it is a page of a server; {sizes}");
        return Ok(vec![
            AuditFinding::new(&files::FILES_DAMAGED, path).example(example),
        ]);
    }
    let limits = &around.resources.limits;
    let is_json = matches!(ending(path).as_str(), "json" | "geojson");
    // The file has one JSON document per line, although its name ends in `.json`.
    let is_lines = is_json && is_json_lines(theirs)? && is_json_lines(ours)?;
    let is_document = is_json && !is_lines;
    let format = match is_lines {
        true => Some(Format::JsonLines),
        false => Format::from_path(path).filter(|_| !is_json),
    };
    let role = around.roles.role(path);
    // A text can end after any of its rows, or differ only in its last line end.
    if at.is_none()
        && !matches!(
            format,
            Some(Format::Csv(_) | Format::Lines | Format::JsonLines)
        )
    {
        return simple(&files::FILES_CUT_OFF);
    }
    let is_text = is_json
        || matches!(
            format,
            Some(Format::Csv(_) | Format::Lines | Format::JsonLines)
        );
    if is_text && is_binary(theirs)? && !is_binary(ours)? {
        let example = format!("it is not text; {sizes}");
        return Ok(vec![
            AuditFinding::new(&files::FILES_DAMAGED, path).example(example),
        ]);
    }
    if matches!(format, Some(Format::Csv(_))) && is_json_text(theirs)? && !is_json_text(ours)? {
        let example = format!("it is a JSON document; {sizes}");
        return Ok(vec![
            AuditFinding::new(&files::FILES_DAMAGED, path).example(example),
        ]);
    }
    let has_mark = is_document && their_size == our_size + 3 && our_size <= MAX_MARKED_BYTES;
    if has_mark && read::head(theirs, 3)? == BYTE_ORDER_MARK {
        let theirs = read::read_file(theirs, limits)?;
        if theirs.get(3..) == Some(read::read_file(ours, limits)?.as_slice()) {
            return simple(&text::BYTE_ORDER_MARK);
        }
    }
    if at == Some(our_size) && is_text && their_size - our_size < 1 << 16 {
        let tail = read::tail(theirs, our_size, 1 << 16)?;
        if tail.iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
            let example = format!("{} bytes of line ends behind the last line", tail.len());
            let finding = AuditFinding::new(&text::FINAL_NEWLINE, path);
            return Ok(vec![finding.example(example)]);
        }
    }
    if at.is_none() && is_text && is_cut_within_line(theirs, ours)? {
        return simple(&files::FILES_CUT_OFF);
    }
    if at == Some(our_size) && is_foreign_tail(theirs, our_size, format)? {
        let tail = read::tail(theirs, our_size, 24)?;
        let example = format!(
            "{} bytes more, which begin with {}",
            their_size - our_size,
            QuotedValue(&String::from_utf8_lossy(&tail))
        );
        return Ok(vec![
            AuditFinding::new(&files::BYTES_APPENDED, path)
                .proof("before them all bytes are equal")
                .example(example),
        ]);
    }
    if let Some(format) = format {
        let outcome = table::compare(path, theirs, ours, format, &role, limits)?;
        *moved = outcome.moved;
        return Ok(outcome.findings);
    }
    if Archive::from_path(path).is_some() {
        return archive::compare(path, theirs, ours, around);
    }
    match ending(path).as_str() {
        _ if is_document => document::compare(path, theirs, ours, &role, limits),
        "png" | "jpg" | "jpeg" => image::compare(path, theirs, ours, limits),
        _ => {
            if let Some(findings) = forms_of_text(path, theirs, ours, &role, limits)? {
                return Ok(findings);
            }
            let finding = AuditFinding::new(&files::FILES_CHANGED, path);
            let finding = match at {
                Some(at) => finding.example(format!("from byte {at} on; {sizes}")),
                None => finding.example(sizes),
            };
            Ok(vec![finding])
        }
    }
}

/// Compares the unpacked content if `theirs` is compressed without the suffix for that, and `ours` is not compressed.
fn wrapped(
    path: &str,
    theirs: &Path,
    ours: &Path,
    around: &Surroundings<'_>,
    moved: &mut Option<UnpairedKeys>,
) -> Result<Option<Vec<AuditFinding>>> {
    let (there, here) = (Wrapping::detect(theirs)?, Wrapping::detect(ours)?);
    let Some(wrapping) = there.filter(|there| Some(*there) != here) else {
        return Ok(None);
    };
    if Archive::from_path(path) == wrapping.archive() && wrapping.archive().is_some() {
        return Ok(None);
    }
    let finding = AuditFinding::new(&files::FILES_DAMAGED, path);
    let Some(archive) = wrapping.archive() else {
        let example = format!(
            "it begins as {} data do, which are not looked into",
            wrapping.name()
        );
        return Ok(Some(vec![finding.example(example)]));
    };
    let (around, resources) = (&around.inside(), around.resources);
    around.check_depth()?;
    let budget = resources.limits.budget(size(theirs)?);
    let (mut inner, mut members) = (None, 0_usize);
    let unpacked = archive.visit(theirs, path, &budget, &mut |_, _, content| {
        members += 1;
        if members == 1 {
            inner = Some(read::spool(content, resources)?);
        }
        Ok(())
    });
    let inner = match (unpacked, inner) {
        (Ok(()), Some(inner)) if members == 1 => inner,
        (Err(error), _) if error.is_of_the_system() => return Err(error),
        _ => {
            let example = format!("it begins as {} data do", wrapping.name());
            return Ok(Some(vec![finding.example(example)]));
        }
    };
    let mut findings = look(path, &inner, ours, around, moved)?;
    let what = match findings.is_empty() {
        true => "its bytes are those of ours",
        false => "it differs, too",
    };
    findings.push(finding.proof(format!(
        "it is packed by {}; unpacked, {what}",
        wrapping.name()
    )));
    Ok(Some(findings))
}

/// The compression of a file, detected by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrapping {
    Gzip,
    Zip,
    SevenZ,
    Tar,
    Bzip2,
    Xz,
    Zstandard,
}

impl Wrapping {
    fn detect(path: &Path) -> Result<Option<Wrapping>> {
        let head = read::head(path, 262)?;
        Ok(Some(match head.as_slice() {
            head if prep_formats::gzip::is_gzip(head) => Wrapping::Gzip,
            head if head.starts_with(b"PK\x03\x04") => Wrapping::Zip,
            head if head.starts_with(b"7z\xbc\xaf\x27\x1c") => Wrapping::SevenZ,
            head if head.get(257..262) == Some(b"ustar") => Wrapping::Tar,
            head if head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY") => {
                Wrapping::Bzip2
            }
            head if head.starts_with(b"\xfd7zXZ\0") => Wrapping::Xz,
            head if head.starts_with(b"\x28\xb5\x2f\xfd") => Wrapping::Zstandard,
            _ => return Ok(None),
        }))
    }

    fn archive(self) -> Option<Archive> {
        match self {
            Wrapping::Gzip => Some(Archive::Gzip),
            Wrapping::Zip => Some(Archive::Zip),
            Wrapping::SevenZ => Some(Archive::SevenZ),
            Wrapping::Tar => Some(Archive::Tar),
            Wrapping::Bzip2 | Wrapping::Xz | Wrapping::Zstandard => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Wrapping::Gzip => "gzip",
            Wrapping::Zip => "zip",
            Wrapping::SevenZ => "7z",
            Wrapping::Tar => "tar",
            Wrapping::Bzip2 => "bzip2",
            Wrapping::Xz => "xz",
            Wrapping::Zstandard => "zstd",
        }
    }
}

/// Whether a file begins with bytes that no text has. Text in UTF-16 contains zeros, but usually begins with a byte order mark.
fn is_binary(path: &Path) -> Result<bool> {
    let head = read::head(path, 4096)?;
    let is_wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let zeros = head.iter().filter(|byte| **byte == 0).count();
    // In UTF-16 without a byte order mark, every other byte of Latin text is zero.
    let is_wide = is_wide || zeros * 5 >= head.len() * 2 && zeros * 5 <= head.len() * 3;
    let control = head
        .iter()
        .filter(|byte| matches!(byte, 0..=8 | 14..=26))
        .count();
    Ok(!is_wide && control * 50 > head.len())
}

/// Whether a file begins as a list or an object in JSON.
fn is_json_text(path: &Path) -> Result<bool> {
    let head = read::head(path, 256)?;
    let mut letters = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = [letters.next(), letters.next()];
    Ok(matches!(
        first,
        [Some(b'['), Some(b'{' | b'[')] | [Some(b'{'), Some(b'"')]
    ))
}

/// The differences of two texts of a format that is not looked into, if they are of form: line ends, encoding, the last line end.
fn forms_of_text(
    path: &str,
    theirs: &Path,
    ours: &Path,
    role: &table::TableUse,
    limits: &prep_contents::DecodingLimits,
) -> Result<Option<Vec<AuditFinding>>> {
    if is_binary(theirs)? || is_binary(ours)? {
        return Ok(None);
    }
    let compared = table::compare(path, theirs, ours, Format::Lines, role, limits);
    let Some(outcome) = crate::error::unless_damaged(compared)? else {
        return Ok(None);
    };
    let of_form = [
        text::LINE_ENDS.id,
        text::BYTE_ORDER_MARK.id,
        text::ENCODING.id,
        text::FINAL_NEWLINE.id,
    ];
    let findings = outcome.findings;
    let is_form = findings.iter().all(|one| of_form.contains(&one.cause.id));
    Ok(is_form.then_some(findings))
}

/// Whether `theirs` ends inside a line. It is equal to the beginning of `ours`.
fn is_cut_within_line(theirs: &Path, ours: &Path) -> Result<bool> {
    let their_size = size(theirs)?;
    let last = read::tail(theirs, their_size.saturating_sub(1), 1)?;
    let next = read::tail(ours, their_size, 1)?;
    let is_end = |bytes: &[u8]| matches!(bytes, [b'\n' | b'\r']);
    Ok(!is_end(&last) && !is_end(&next))
}

/// Whether the bytes after offset `begin` do not belong to a file of this format. In a binary format, no bytes may follow. In a
/// table, lines of another form do not belong to it.
fn is_foreign_tail(theirs: &Path, begin: u64, format: Option<Format>) -> Result<bool> {
    let tail = read::tail(theirs, begin, 1 << 16)?;
    let is_blank = tail.iter().all(u8::is_ascii_whitespace);
    let delimiter = match format {
        Some(Format::Csv(delimiter)) => delimiter,
        Some(Format::Lines) => return Ok(tail.contains(&0)),
        Some(Format::JsonLines) => {
            return Ok(!is_blank && !tail.trim_ascii_start().starts_with(b"{"));
        }
        _ => return Ok(!is_blank),
    };
    let head = read::head(theirs, 1 << 16)?;
    let cells = |line: &[u8]| line.iter().filter(|byte| **byte == delimiter).count();
    let header = head.split(|byte| *byte == b'\n').next().map_or(0, cells);
    let mut lines = tail
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let has_quotes = tail.contains(&b'"');
    Ok(tail.contains(&0) || !has_quotes && lines.any(|line| cells(line) != header))
}

fn size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path)
        .map_err(ContentsError::system_error(path))?
        .len())
}

pub(super) fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase())
        .unwrap_or_default()
}
