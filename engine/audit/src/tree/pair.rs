//! Compares two files of the same name, and the members of archives.

use std::path::Path;

use prep_contents::entries::of_archive;
use prep_contents::members::{ArchiveComparison, ArchiveSide, MemberDifference};
use prep_contents::pairing::UnpairedKeys;
use prep_contents::read::Bytes;
use prep_contents::table::is_json_lines;
use prep_contents::{
    ArchiveFormat, ContentsError, DecodingLimits, Format, ReadContext, Resources, Result, members,
    read,
};
use prep_failure::QuotedValue;
use prep_formats::sniff::FileType;

use super::names::{extension, swapped_finding};
use super::roles::Roles;
use super::{document, names};
use crate::causes::Cause;
use crate::finding::AuditFinding;
use crate::table;

#[derive(Debug, Clone, Copy)]
pub(super) struct PairContext<'a> {
    pub roles: &'a Roles,
    pub read: ReadContext<'a>,
}

impl PairContext<'_> {
    /// Returns the context for members of an archive. Fails if archives are nested too deeply.
    pub(super) fn inside(&self) -> Result<Self> {
        Ok(Self {
            read: self.read.inside()?,
            ..*self
        })
    }
}

/// Calls `compare` with a new context for two files. The files and the archives in them share one memory budget.
pub(super) fn with_context<T>(
    roles: &Roles,
    resources: &Resources<'_>,
    [theirs, ours]: [&Path; 2],
    compare: impl FnOnce(&PairContext<'_>) -> Result<T>,
) -> Result<T> {
    let budget = resources.comparison_budget(theirs, ours)?;
    let read = ReadContext::new(resources, &budget);
    compare(&PairContext { roles, read })
}

#[derive(Debug)]
pub(super) struct FileComparison {
    pub path: String,
    pub findings: Vec<AuditFinding>,
    /// Keys of the rows that only one side has in this file. The other side may have these rows in a different file.
    pub moved: Option<UnpairedKeys>,
}

impl FileComparison {
    pub(super) fn is_equal(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Compares two files. The suffix of `path` determines the format. A damaged file is a finding, not an error.
pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    context: &PairContext<'_>,
) -> Result<FileComparison> {
    let mut paired = FileComparison {
        path: path.to_owned(),
        findings: Vec::new(),
        moved: None,
    };
    match find_differences(path, theirs, ours, context, &mut paired.moved) {
        Ok(findings) => paired.findings = findings,
        Err(error) if error.is_of_the_system() => return Err(error),
        Err(error) => paired.findings.push(unreadable_finding(path, &error)),
    }
    let findings = paired.findings.iter_mut();
    findings.for_each(AuditFinding::raise_if_private);
    Ok(paired)
}

const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A document with a byte order mark is compared without the mark only if it has at most this number of further bytes.
const MAX_BYTES_WITH_MARK: u64 = 64 << 20;

/// Returns whether a file is an HTML page or an error message of a server, as a failed download leaves it.
fn is_error_page(path: &Path) -> Result<bool> {
    if matches!(
        extension(&path.to_string_lossy()).as_str(),
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

fn unreadable_finding(path: &str, error: &ContentsError) -> AuditFinding {
    AuditFinding::new(Cause::NotClassified, path).proof(format!("the file cannot be read: {error}"))
}

fn find_differences(
    path: &str,
    theirs: &Path,
    ours: &Path,
    context: &PairContext<'_>,
    moved: &mut Option<UnpairedKeys>,
) -> Result<Vec<AuditFinding>> {
    let at = match read::compare(theirs, ours)? {
        Bytes::Equal => return Ok(Vec::new()),
        Bytes::TheirsIsBeginning => None,
        Bytes::Differ { at } => Some(at),
    };
    let (their_size, our_size) = (size(theirs)?, size(ours)?);
    let sizes = format!("theirs: {their_size} bytes, ours: {our_size} bytes");
    let with_sizes = |cause: Cause| Ok(vec![AuditFinding::new(cause, path).example(sizes.clone())]);
    if their_size == 0 {
        return with_sizes(Cause::FilesEmpty);
    }
    if let Some(findings) = compare_unexpectedly_packed(path, theirs, ours, context, moved)? {
        return Ok(findings);
    }
    let damaged = |what: &str| {
        let finding = AuditFinding::new(Cause::FilesDamaged, path);
        Ok(vec![
            finding.example(format!("the audited file is {what}; {sizes}")),
        ])
    };
    if is_error_page(theirs)? && !is_error_page(ours)? {
        return damaged("an error page of a server");
    }
    let limits = &context.read.resources.limits;
    let is_json = matches!(extension(path).as_str(), "json" | "geojson");
    // Some files with the suffix `.json` contain one JSON document per line.
    let is_lines = is_json && is_json_lines(theirs)? && is_json_lines(ours)?;
    let is_document = is_json && !is_lines;
    let format = match is_lines {
        true => Some(Format::JsonLines),
        false => Format::from_path(path).filter(|_| !is_json),
    };
    let role = context.roles.role(path);
    // A binary file in the audited tree is truncated if it equals the beginning of the file in the tree of `prep`. A text
    // file may instead be a complete table with fewer rows, or lack only the last line break.
    let is_csv = matches!(format, Some(Format::Csv(_)));
    let is_in_lines = is_csv || matches!(format, Some(Format::Lines | Format::JsonLines));
    if at.is_none() && !is_in_lines {
        return with_sizes(Cause::FilesCutOff);
    }
    let is_text = is_json || is_in_lines;
    if is_text && is_binary(theirs)? && !is_binary(ours)? {
        return damaged("not text");
    }
    if is_csv && is_json_text(theirs)? && !is_json_text(ours)? {
        return damaged("a JSON document");
    }
    let has_mark = is_document && their_size == our_size + 3 && our_size <= MAX_BYTES_WITH_MARK;
    if has_mark && read::head(theirs, 3)? == BYTE_ORDER_MARK {
        let theirs = read::read_file(theirs, limits)?;
        if theirs.get(3..) == Some(read::read_file(ours, limits)?.as_slice()) {
            return with_sizes(Cause::ByteOrderMark);
        }
    }
    if at == Some(our_size) && is_text && their_size - our_size < 1 << 16 {
        let tail = read::tail(theirs, our_size, 1 << 16)?;
        if tail.iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
            let example = format!("{} bytes of line breaks after the last line", tail.len());
            let finding = AuditFinding::new(Cause::FinalNewline, path);
            return Ok(vec![finding.example(example)]);
        }
    }
    if at.is_none() && is_text && is_cut_within_line(theirs, ours)? {
        return with_sizes(Cause::FilesCutOff);
    }
    if at == Some(our_size) && is_foreign_tail(theirs, our_size, format)? {
        let tail = read::tail(theirs, our_size, 24)?;
        let example = format!(
            "{} additional bytes, which begin with {}",
            their_size - our_size,
            QuotedValue(&String::from_utf8_lossy(&tail))
        );
        return Ok(vec![
            AuditFinding::new(Cause::BytesAppended, path)
                .proof("all bytes before the additional ones are equal")
                .example(example),
        ]);
    }
    if let Some(format) = format {
        let outcome = table::compare(path, [theirs, ours], format, &role, limits)?;
        *moved = outcome.moved;
        return Ok(outcome.findings);
    }
    if ArchiveFormat::from_path(path).is_some() {
        return compare_archives(path, theirs, ours, context);
    }
    match extension(path).as_str() {
        _ if is_document => document::compare(path, theirs, ours, &role, limits),
        "png" | "jpg" | "jpeg" => document::compare_images(path, theirs, ours, limits),
        _ => {
            if let Some(findings) = compare_text_form(path, theirs, ours, &role, limits)? {
                return Ok(findings);
            }
            let finding = AuditFinding::new(Cause::FilesChanged, path);
            let finding = match at {
                Some(at) => finding.example(format!("the bytes differ from byte {at} on; {sizes}")),
                None => finding.example(sizes),
            };
            Ok(vec![finding])
        }
    }
}

/// Compares the decompressed content of the file `theirs` with `ours`. Returns `None` if `theirs` is not compressed, if its
/// name shows the compression, or if `ours` is compressed in the same way.
fn compare_unexpectedly_packed(
    path: &str,
    theirs: &Path,
    ours: &Path,
    context: &PairContext<'_>,
    moved: &mut Option<UnpairedKeys>,
) -> Result<Option<Vec<AuditFinding>>> {
    let our_wrapping = Wrapping::detect(ours)?;
    let their_wrapping = Wrapping::detect(theirs)?;
    let Some(wrapping) = their_wrapping.filter(|wrapping| Some(*wrapping) != our_wrapping) else {
        return Ok(None);
    };
    if ArchiveFormat::from_path(path) == wrapping.archive && wrapping.archive.is_some() {
        return Ok(None);
    }
    let finding = AuditFinding::new(Cause::FilesDamaged, path);
    let Some(archive) = wrapping.archive else {
        let example = format!(
            "the audited file begins like {} data, which the audit does not unpack",
            wrapping.name
        );
        return Ok(Some(vec![finding.example(example)]));
    };
    let context = &context.inside()?;
    let (mut inner, mut members) = (None, 0_usize);
    let unpacked = of_archive(
        archive,
        theirs,
        path,
        context.read.budget,
        &mut |_, content| {
            members += 1;
            if members == 1 {
                inner = Some(read::spool(content, context.read.resources)?);
            }
            Ok(())
        },
    );
    let inner = match (unpacked, inner) {
        (Ok(()), Some(inner)) if members == 1 => inner,
        (Err(error), _) if error.is_of_the_system() => return Err(error),
        _ => {
            let example = format!(
                "the audited file begins like {} data, but cannot be unpacked to one file",
                wrapping.name
            );
            return Ok(Some(vec![finding.example(example)]));
        }
    };
    let mut findings = find_differences(path, &inner, ours, context, moved)?;
    let result = match findings.is_empty() {
        true => "its bytes equal those of the prepared file",
        false => "its content also differs from that of the prepared file",
    };
    findings.push(finding.proof(format!(
        "the audited file is compressed with {}; after unpacking, {result}",
        wrapping.name
    )));
    Ok(Some(findings))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wrapping {
    name: &'static str,
    /// `None` if the audit does not unpack this format.
    archive: Option<ArchiveFormat>,
}

impl Wrapping {
    fn detect(path: &Path) -> Result<Option<Wrapping>> {
        let head = read::head(path, 262)?;
        let (name, archive) = match FileType::detect(&head) {
            FileType::Gzip => ("gzip", Some(ArchiveFormat::Gzip)),
            FileType::Zip if !head.starts_with(b"PK\x05") => ("zip", Some(ArchiveFormat::Zip)),
            FileType::SevenZ => ("7z", Some(ArchiveFormat::SevenZ)),
            FileType::Tar => ("tar", Some(ArchiveFormat::Tar)),
            FileType::Bzip2 if head.get(4..10) == Some(b"1AY&SY") => ("bzip2", None),
            FileType::Xz => ("xz", None),
            FileType::Zstd => ("zstd", None),
            _ => return Ok(None),
        };
        Ok(Some(Wrapping { name, archive }))
    }
}

/// Returns whether a file begins with bytes that do not occur in text, including UTF-16.
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

fn is_json_text(path: &Path) -> Result<bool> {
    let head = read::head(path, 256)?;
    let mut letters = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = [letters.next(), letters.next()];
    Ok(matches!(
        first,
        [Some(b'['), Some(b'{' | b'[')] | [Some(b'{'), Some(b'"')]
    ))
}

/// Compares two text files of an unknown format. Returns findings if only their form differs (line endings, encoding,
/// byte order mark, line breaks at the end), otherwise `None`.
fn compare_text_form(
    path: &str,
    theirs: &Path,
    ours: &Path,
    role: &table::TableUse,
    limits: &DecodingLimits,
) -> Result<Option<Vec<AuditFinding>>> {
    if is_binary(theirs)? || is_binary(ours)? {
        return Ok(None);
    }
    let compared = table::compare(path, [theirs, ours], Format::Lines, role, limits);
    let Some(outcome) = crate::error::unless_damaged(compared)? else {
        return Ok(None);
    };
    let of_form = [
        Cause::LineEnds,
        Cause::ByteOrderMark,
        Cause::Encoding,
        Cause::FinalNewline,
    ];
    let findings = outcome.findings;
    let is_form = findings.iter().all(|one| of_form.contains(&one.cause));
    Ok(is_form.then_some(findings))
}

/// Returns whether `theirs`, which equals the beginning of `ours`, ends within a line.
fn is_cut_within_line(theirs: &Path, ours: &Path) -> Result<bool> {
    let their_size = size(theirs)?;
    let last = read::tail(theirs, their_size.saturating_sub(1), 1)?;
    let next = read::tail(ours, their_size, 1)?;
    let is_end = |bytes: &[u8]| matches!(bytes, [b'\n' | b'\r']);
    Ok(!is_end(&last) && !is_end(&next))
}

/// Returns whether the bytes of `theirs` from the offset `begin` on do not belong to the format of the file. For
/// example, appended bytes do not belong to a CSV file if one of their lines has a different number of fields than the
/// header. Appended bytes do not belong to a binary file, unless all of them are whitespace.
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

fn compare_archives(
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
                let example = format!(
                    "the audited member {there} has the content of the prepared member {name}"
                );
                found.push(swapped_finding(&inner, &format!("{path}/{there}")).example(example));
            }
            MemberDifference::Differ { theirs, ours } => {
                let paired = compare(&inner, theirs, ours, &inside)?;
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
                ArchiveSide::Theirs => "the audited file",
                ArchiveSide::Ours => "the prepared file",
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

/// Returns the findings for an archive of `ours` that was unpacked in `theirs`.
pub(super) fn unpacked_findings(
    path: &str,
    directory: &str,
    theirs: &Path,
    ours: &Path,
    context: &PairContext<'_>,
) -> Result<Vec<AuditFinding>> {
    let (mut found, mut count) = (Vec::new(), 0_u64);
    let inside = context.inside()?;
    let visited = of_archive(
        ArchiveFormat::Zip,
        ours,
        path,
        inside.read.budget,
        &mut |member, content| {
            let inner = member.path;
            count += 1;
            let ours = read::spool(content, inside.read.resources)?;
            let theirs = theirs.join(format!("{directory}{inner}"));
            let inner = format!("{path}/{inner}");
            let paired = compare(&inner, &theirs, &ours, &inside)?;
            found.extend(paired.findings);
            Ok(())
        },
    );
    found.extend(unread_archive(path, visited)?);
    let example =
        format!("{count} members of {path} are separate files in the audited tree: {directory}*");
    found.push(AuditFinding::new(Cause::ArchiveUnpacked, path).example(example));
    Ok(found)
}

/// Returns the findings for a file that is compressed only in `ours`: the compression, and each difference in content.
pub(super) fn inflated_findings(
    their_path: &str,
    our_path: &str,
    [theirs, ours]: [&Path; 2],
    context: &PairContext<'_>,
) -> Result<Vec<AuditFinding>> {
    let mut found = vec![names::packed_finding(their_path, our_path)];
    let inside = context.inside()?;
    let visited = of_archive(
        ArchiveFormat::Gzip,
        ours,
        our_path,
        inside.read.budget,
        &mut |_, content| {
            let ours = read::spool(content, inside.read.resources)?;
            let paired = compare(their_path, theirs, &ours, &inside)?;
            found.extend(paired.findings);
            Ok(())
        },
    );
    found.extend(unread_archive(our_path, visited)?);
    Ok(found)
}

/// Returns a finding if an archive of `ours` could not be read to its end. `visited` is the outcome of reading it.
fn unread_archive(path: &str, visited: Result<()>) -> Result<Option<AuditFinding>> {
    match visited {
        Ok(()) => Ok(None),
        Err(error) if error.is_of_the_system() => Err(error),
        Err(error) => {
            let proof = format!("the prepared file cannot be read: {error}");
            Ok(Some(
                AuditFinding::new(Cause::NotClassified, path).proof(proof),
            ))
        }
    }
}
