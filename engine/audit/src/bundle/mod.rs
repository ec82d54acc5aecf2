//! Checks a downloaded bundle: its first bytes, its end record, its central directory, and the CRC of every member.
//!
//! If all these parts are intact, the members are compared with those of a *verified bundle*, which has the published
//! MD5. The file is read at most twice: once for its MD5, and once for the members.

pub mod known;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use md5::{Digest as _, Md5};
use prep_failure::{QuotedValue, units};
use prep_formats::read_at::ByteSection;
use prep_formats::sniff::{FileType, SNIFF_BYTES};
use prep_formats::zip::{RawListing, RawMember, ZipError, read_tolerant};

use crate::causes::{Cause, Harm};
use crate::error::AuditError;
use crate::finding::{AuditFinding, BUNDLE_NOT_VERIFIED};
use crate::read::hex;
use crate::system_files::is_of_system;
use prep_contents::read::each_chunk;
use prep_contents::{ContentsError, DecodingLimits};

/// Returns the members of an archive. The archive may have errors or unsafe paths, because it is not unpacked.
pub fn members(path: &Path, limits: &DecodingLimits) -> Result<Vec<RawMember>, ContentsError> {
    let file = File::open(path).map_err(ContentsError::system_error(path))?;
    let listed = list(&file, limits).map_err(ContentsError::classify)?;
    Ok(listed.members)
}

fn list(file: &File, limits: &DecodingLimits) -> Result<RawListing, ZipError> {
    let length = file.metadata().map(|metadata| metadata.len());
    let length = length.map_err(|source| ZipError::Io { offset: 0, source })?;
    read_tolerant(file, 0..length, &limits.budget(length))
}

struct MemberContent {
    size: u64,
    crc: u32,
    md5: String,
}

/// Unpacks a member whose data begin at the offset `begin`. Returns the length and checksums of its content.
fn content(file: &File, member: &RawMember, begin: u64) -> Result<MemberContent, ContentsError> {
    let (mut crc, mut md5) = (crc32fast::Hasher::new(), Md5::new());
    let size = unpack(file, member, begin, &mut |bytes| {
        crc.update(bytes);
        md5.update(bytes);
    })?;
    Ok(MemberContent {
        size,
        crc: crc.finalize(),
        md5: hex(md5),
    })
}

/// Returns the length and CRC-32 of a member's content after replacing every CR LF by LF.
fn content_with_lf(
    file: &File,
    member: &RawMember,
    begin: u64,
) -> Result<(u64, u32), ContentsError> {
    let (mut crc, mut size, mut is_after_cr) = (crc32fast::Hasher::new(), 0_u64, false);
    let mut line = Vec::new();
    unpack(file, member, begin, &mut |bytes| {
        line.clear();
        for byte in bytes {
            if is_after_cr && *byte != b'\n' {
                line.push(b'\r');
            }
            is_after_cr = *byte == b'\r';
            if !is_after_cr {
                line.push(*byte);
            }
        }
        crc.update(&line);
        size += line.len() as u64;
    })?;
    if is_after_cr {
        crc.update(b"\r");
        size += 1;
    }
    Ok((size, crc.finalize()))
}

/// Unpacks a member and passes its content to `visit`. Returns the length of the content.
fn unpack(
    file: &File,
    member: &RawMember,
    begin: u64,
    visit: &mut dyn FnMut(&[u8]),
) -> Result<u64, ContentsError> {
    let Some(mut input) = member.content(file, begin) else {
        let reason = format!("compression method {} is not supported", member.method);
        return Err(ContentsError::Damaged(reason));
    };
    Ok(each_chunk(&mut input, visit)?)
}

fn read_at(file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let range = offset..offset.saturating_add(length);
    ByteSection::new(file, range).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The known properties of the published bundle.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    pub md5: Option<String>,
    /// The published size in bytes, which is rounded.
    pub size: Option<u64>,
    /// Members of a verified bundle with the MD5 `md5`, if they are recorded.
    pub members: Option<Vec<RawMember>>,
    /// Paths in the bundle that the pipeline reads, except paths with wildcards.
    pub paths: Vec<String>,
}

#[derive(Debug)]
pub struct BundleCheck {
    pub md5: String,
    pub bytes: u64,
    /// Empty if the bundle has its published MD5, or if it is intact and no MD5 is published.
    pub findings: Vec<AuditFinding>,
}

/// Checks the bundle at `path`. Fails if the bundle cannot be read.
pub fn check(
    path: &Path,
    expected: &Expected,
    limits: &DecodingLimits,
) -> Result<BundleCheck, AuditError> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let read = AuditError::reading(path);
    let check_file = || -> Result<BundleCheck, ContentsError> {
        let file = File::open(path)?;
        let raw = Raw::read(&file)?;
        let mut checked = BundleCheck {
            md5: raw.md5.clone(),
            bytes: raw.bytes,
            findings: Vec::new(),
        };
        if expected
            .md5
            .as_ref()
            .is_some_and(|md5| md5.eq_ignore_ascii_case(&raw.md5))
        {
            return Ok(checked);
        }
        let bundle = Bundle {
            file: &file,
            name: &name,
            raw: &raw,
            expected,
            limits,
        };
        checked.findings = bundle.inspect()?;
        Ok(checked)
    };
    check_file().map_err(read)
}

struct Raw {
    md5: String,
    bytes: u64,
    head: Vec<u8>,
    lf: u64,
    /// Number of line feeds directly after a carriage return.
    crlf: u64,
    /// Number of zero bytes at the end of the file.
    zeros: u64,
}

impl Raw {
    fn read(mut file: &File) -> io::Result<Raw> {
        let mut raw = Raw {
            md5: String::new(),
            bytes: 0,
            head: Vec::new(),
            lf: 0,
            crlf: 0,
            zeros: 0,
        };
        let mut hasher = Md5::new();
        let mut before = 0;
        raw.bytes = each_chunk(&mut file, |bytes| {
            let count = bytes.len();
            if raw.head.is_empty() {
                raw.head = bytes
                    .get(..SNIFF_BYTES.min(count))
                    .unwrap_or_default()
                    .to_vec();
            }
            hasher.update(bytes);
            for place in memchr::memchr_iter(b'\n', bytes) {
                raw.lf += 1;
                let last = place
                    .checked_sub(1)
                    .and_then(|place| bytes.get(place))
                    .copied()
                    .unwrap_or(before);
                raw.crlf += u64::from(last == b'\r');
            }
            let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
            raw.zeros = if zeros == count {
                raw.zeros + count as u64
            } else {
                zeros as u64
            };
            before = bytes.last().copied().unwrap_or(before);
        })?;
        raw.md5 = hex(hasher);
        Ok(raw)
    }

    /// Returns the evidence of converted line endings, if any. Intact archives contain LF with and without CR.
    fn text_mode_evidence(&self) -> Option<&'static str> {
        match (self.lf, self.crlf) {
            (20.., crlf) if crlf == self.lf => Some("every LF comes after a CR"),
            (4096.., 0) => Some("no LF comes after a CR"),
            _ => None,
        }
    }
}

/// Shorter runs of zeros are not reported as holes. Compressed content does not contain longer runs.
const MIN_HOLE_BYTES: usize = 512;

struct Bundle<'a> {
    file: &'a File,
    name: &'a str,
    raw: &'a Raw,
    expected: &'a Expected,
    limits: &'a DecodingLimits,
}

impl Bundle<'_> {
    fn finding(&self, cause: Cause) -> AuditFinding {
        AuditFinding::new(cause, self.name)
    }

    /// Returns the findings for a bundle that does not have its published MD5, or for which no MD5 is published.
    fn inspect(&self) -> Result<Vec<AuditFinding>, ContentsError> {
        let one = |finding| Ok(vec![finding]);
        let size = units::bytes(self.raw.bytes);
        match FileType::detect(&self.raw.head) {
            FileType::Empty => {
                return one(self
                    .finding(Cause::BundleCutOff)
                    .example("the file is empty"));
            }
            // The file has fewer than four bytes, which are the beginning of the signature of a zip archive.
            _ if b"PK\x03\x04".starts_with(&self.raw.head) => return Ok(self.without_end()?),
            FileType::Zeros => {
                return one(self.finding(Cause::BundleHole).example(format!(
                    "the file has {size} and begins with zero bytes instead of a zip header"
                )));
            }
            file_type @ (FileType::Html | FileType::Xml | FileType::Json | FileType::Text) => {
                let text = String::from_utf8_lossy(&self.raw.head).into_owned();
                let line: String = text.chars().take(160).collect();
                let finding = self
                    .finding(Cause::BundleErrorPage)
                    .proof(format!("got {file_type}, {size}"));
                return one(finding.example(QuotedValue(&line).to_string()));
            }
            FileType::Zip => {}
            FileType::Gzip if self.is_gzipped()? => {
                let proof = "the unpacked file has the published MD5";
                return one(self.finding(Cause::BundleGzipped).proof(proof));
            }
            other => {
                let finding = self.finding(Cause::BundleNotAnArchive);
                return one(finding.proof(format!("got {other}, {size}, expected a zip archive")));
            }
        }
        match list(self.file, self.limits) {
            Ok(list) => {
                let damage = self.damage(&list.members)?;
                if damage.is_empty() {
                    self.check_intact(&list)
                } else {
                    Ok(self.or_text_mode(damage))
                }
            }
            Err(ZipError::Truncated { .. } | ZipError::NotAZip { .. }) => {
                let damage = self.without_end()?;
                Ok(self.or_text_mode(damage))
            }
            Err(ZipError::DamagedDirectory { reason, .. }) => {
                let damage = vec![self.finding(Cause::BundleDirectoryDamaged).proof(reason)];
                Ok(self.or_text_mode(damage))
            }
            Err(error) => Err(ContentsError::classify(error)),
        }
    }

    /// Returns whether the file is the gzipped bundle. A bundle is hardly larger than its gzipped form, so unpacking
    /// stops at about four times the size of the file.
    fn is_gzipped(&self) -> io::Result<bool> {
        let Some(expected) = &self.expected.md5 else {
            return Ok(false);
        };
        let mut file = self.file;
        file.seek(SeekFrom::Start(0))?;
        let most = self.raw.bytes.saturating_mul(4).saturating_add(1 << 20);
        let mut unpacked = flate2::read::MultiGzDecoder::new(file).take(most);
        let mut hasher = Md5::new();
        let unpacked = each_chunk(&mut unpacked, |bytes| hasher.update(bytes));
        Ok(unpacked.is_ok() && hex(hasher).eq_ignore_ascii_case(expected))
    }

    /// If there is evidence of converted line endings, returns only this finding, otherwise `damage`.
    fn or_text_mode(&self, damage: Vec<AuditFinding>) -> Vec<AuditFinding> {
        match self.raw.text_mode_evidence() {
            Some(proof) => vec![
                self.finding(Cause::BundleTextMode)
                    .proof(format!("{proof}; the file has {} LF", self.raw.lf)),
            ],
            None => damage,
        }
    }

    /// Returns the finding for an archive without an end record: it ends with zeros or an error page, or is truncated.
    fn without_end(&self) -> io::Result<Vec<AuditFinding>> {
        if self.raw.zeros >= MIN_HOLE_BYTES as u64 {
            let begin = self.raw.bytes - self.raw.zeros;
            let example = format!(
                "the last {} bytes, from byte {begin} on, are zero",
                self.raw.zeros
            );
            return Ok(vec![self.finding(Cause::BundleHole).example(example)]);
        }
        let tail = read_at(self.file, self.raw.bytes.saturating_sub(1 << 16), 1 << 16)?;
        if let Some((place, text)) = find_page(&tail) {
            let offset = self.raw.bytes.saturating_sub(1 << 16) + place as u64;
            let finding = self.finding(Cause::BundlePageInside);
            return Ok(vec![finding.example(format!(
                "starting at byte {offset}: {}",
                QuotedValue(&text)
            ))]);
        }
        let mut finding = self.finding(Cause::BundleCutOff);
        finding = match self.expected.size {
            Some(size) => finding.example(self.sizes(size)),
            None => finding.example(format!(
                "the file ends after {} bytes, and the central directory is missing",
                self.raw.bytes
            )),
        };
        Ok(vec![finding])
    }

    /// Compares the size of the file with the published size, which is rounded.
    fn sizes(&self, published: u64) -> String {
        format!(
            "the file has {} bytes; the published bundle has about {}",
            self.raw.bytes,
            units::bytes(published)
        )
    }

    fn damage(&self, list: &[RawMember]) -> Result<Vec<AuditFinding>, ContentsError> {
        // If members share bytes, a small archive could unpack to any amount.
        let claimed = list
            .iter()
            .fold(0_u64, |sum, member| sum.saturating_add(member.compressed));
        if claimed > self.raw.bytes {
            let proof = format!(
                "the compressed sizes of the members sum to {claimed} bytes, but the archive has {} bytes",
                self.raw.bytes
            );
            return Ok(vec![
                self.finding(Cause::BundleDirectoryDamaged).proof(proof),
            ]);
        }
        let mut found: BTreeMap<Cause, AuditFinding> = BTreeMap::new();
        let mut add = |cause: Cause, example: String| {
            let finding = found.entry(cause).or_insert_with(|| self.finding(cause));
            finding.cells += 1;
            if finding.examples.len() < crate::finding::MAX_EXAMPLES {
                finding.examples.push(example);
            }
        };
        for member in list.iter().filter(|member| !member.is_directory()) {
            let end = member.offset.saturating_add(member.compressed);
            let begin = match member.data_offset(self.file)? {
                Ok(begin) => begin,
                Err(reason) => {
                    match self.find_foreign_bytes(member.offset, end)? {
                        Some((cause, example)) => add(cause, format!("{}: {example}", member.name)),
                        None => add(
                            Cause::BundleDirectoryDamaged,
                            format!("{}: {reason}", member.name),
                        ),
                    }
                    continue;
                }
            };
            let content = content(self.file, member, begin);
            let wrong = match &content {
                Ok(content) if content.crc == member.crc && content.size == member.size => continue,
                Ok(content) => format!(
                    "the content has CRC {:08x} and {} bytes, but the central directory lists CRC {:08x} and {} bytes",
                    content.crc, content.size, member.crc, member.size
                ),
                Err(error) if error.is_of_the_system() => return content.map(|_| Vec::new()),
                Err(error) => format!("the content cannot be unpacked ({error})"),
            };
            let end = begin.saturating_add(member.compressed);
            match self.find_foreign_bytes(begin, end)? {
                Some((cause, example)) => add(cause, format!("{}: {example}", member.name)),
                None => add(
                    Cause::BundleMemberDamaged,
                    format!("{}, bytes {begin} to {end}: {wrong}", member.name),
                ),
            }
        }
        Ok(found.into_values().collect())
    }

    /// Searches a damaged member, at the offsets from `begin` to `end`, for an error page of a server or a run of zeros.
    fn find_foreign_bytes(&self, begin: u64, end: u64) -> io::Result<Option<(Cause, String)>> {
        const CHUNK_BYTES: u64 = 8 << 20;
        let end = end.min(self.raw.bytes);
        let mut at = begin;
        while at < end {
            // The chunks overlap, so that a page at a boundary is found.
            let bytes = read_at(self.file, at, (end - at).min(CHUNK_BYTES + 4096))?;
            if bytes.is_empty() {
                break;
            }
            if let Some((place, text)) = find_page(&bytes) {
                return Ok(Some((
                    Cause::BundlePageInside,
                    format!(
                        "starting at byte {}: {}",
                        at + place as u64,
                        QuotedValue(&text)
                    ),
                )));
            }
            if let Some((place, length)) = find_zeros(&bytes) {
                let example = format!(
                    "at least {length} zero bytes, starting at byte {}",
                    at + place as u64
                );
                return Ok(Some((Cause::BundleHole, example)));
            }
            at += CHUNK_BYTES;
        }
        Ok(None)
    }

    /// Returns the findings for an intact archive that does not have its published MD5, or for which no MD5 is
    /// published.
    fn check_intact(&self, list: &RawListing) -> Result<Vec<AuditFinding>, ContentsError> {
        let (list, tail) = (&list.members, list.trailing_bytes);
        let files: Vec<&RawMember> = list
            .iter()
            .filter(|member| !member.is_directory())
            .collect();
        let mut found = Vec::new();
        let mut names = BTreeSet::new();
        let mut all: Vec<&String> = files.iter().map(|member| &member.name).collect();
        let backslashes: Vec<&String> = all
            .iter()
            .filter(|name| name.contains('\\'))
            .copied()
            .collect();
        all.retain(|name| !names.insert(*name));
        for (cause, names) in [
            (Cause::BundleNameTwice, all),
            (Cause::BundleBackslashes, backslashes),
        ] {
            if !names.is_empty() {
                let finding = self.finding(cause).cells(names.len() as u64);
                found.push(finding.examples(names.into_iter().cloned()));
            }
        }
        if let [only] = files.as_slice()
            && only.name.to_ascii_lowercase().ends_with(".zip")
            && let Some(proof) = self.inner_bundle_evidence(only)?
        {
            found.push(
                self.finding(Cause::BundleZippedTwice)
                    .proof(proof)
                    .example(only.name.clone()),
            );
        }
        if let Some(directory) = self.common_directory(&files) {
            let proof = match self.expected.members {
                Some(_) => {
                    "if this directory is removed from all paths, the names, sizes and CRCs are those of the verified bundle"
                }
                None => {
                    "if this directory is removed from all paths, the archive contains the paths that the pipeline reads"
                }
            };
            found.push(
                self.finding(Cause::BundleFolder)
                    .proof(proof)
                    .example(format!("{directory}/")),
            );
        }
        if tail > 0 {
            let proof = match &self.expected.members {
                Some(known) if contents(list) == contents(known) => {
                    "all members have the names, sizes and CRCs of the verified bundle"
                }
                _ => "all members match their CRCs",
            };
            let finding = self.finding(Cause::BundleBytesAppended).proof(proof);
            let finding = finding.example(format!(
                "{tail} bytes after the end of central directory record"
            ));
            let is_known = self.expected.members.as_deref().map(contents) == Some(contents(list));
            found.push(match is_known || self.expected.md5.is_none() {
                true => finding,
                false => finding.raised(Harm::Content, BUNDLE_NOT_VERIFIED),
            });
            if is_known {
                return Ok(found);
            }
        }
        if !found.is_empty() || self.expected.md5.is_none() {
            return Ok(found);
        }
        let Some(known) = &self.expected.members else {
            let proof = match files.len() {
                1 => "the only member matches its CRC".to_owned(),
                count => format!("all {count} members match their CRCs"),
            };
            let finding = self
                .finding(Cause::BundleOtherMd5)
                // The caller lowers the harm if all outputs have their published checksums.
                .raised(Harm::Content, BUNDLE_NOT_VERIFIED)
                .proof(proof)
                .example(format!("MD5 {}", self.raw.md5));
            return Ok(vec![match self.expected.size {
                Some(size) => finding.example(self.sizes(size)),
                None => finding,
            }]);
        };
        self.compare_members(&files, known)
    }

    /// Returns the evidence, if any, that `member`, the only member of the archive, is the bundle itself.
    fn inner_bundle_evidence(&self, member: &RawMember) -> Result<Option<String>, ContentsError> {
        let Ok(begin) = member.data_offset(self.file)? else {
            return Ok(None);
        };
        let content = content(self.file, member, begin)?;
        if self
            .expected
            .md5
            .as_ref()
            .is_some_and(|md5| md5.eq_ignore_ascii_case(&content.md5))
        {
            return Ok(Some(format!(
                "the member has the published MD5 {}",
                content.md5
            )));
        }
        let reads_it = self
            .expected
            .paths
            .iter()
            .any(|path| path.starts_with(&member.name));
        let own_name = self.name.rsplit('/').next().unwrap_or_default();
        Ok((!reads_it && member.name.ends_with(own_name)).then(|| {
            "the member has the name of the bundle, and the pipeline reads no file in this member".to_owned()
        }))
    }

    /// Returns the directory that contains all members, if the bundle would be correct without this directory in its paths.
    ///
    /// If the members of a verified bundle are known, they must equal the members of this bundle after the directory is
    /// removed from their paths. Otherwise, the paths that the pipeline reads decide: this bundle has no member with such a
    /// path, but has one after the directory is removed.
    fn common_directory(&self, files: &[&RawMember]) -> Option<String> {
        let (directory, _) = files.first()?.name.split_once('/')?;
        let prefix = format!("{directory}/");
        let inner: Option<Vec<&str>> = files
            .iter()
            .map(|member| member.name.strip_prefix(&prefix))
            .collect();
        let inner = inner?;
        let right = match &self.expected.members {
            Some(known) => {
                let stripped = files
                    .iter()
                    .zip(&inner)
                    .map(|(member, name)| (*name, member.size, member.crc));
                stripped.collect::<BTreeSet<_>>() == contents(known)
            }
            None => {
                let paths = &self.expected.paths;
                let count_present = |names: &[&str]| {
                    paths
                        .iter()
                        .filter(|path| names.contains(&path.as_str()))
                        .count()
                };
                let unstripped: Vec<&str> =
                    files.iter().map(|member| member.name.as_str()).collect();
                count_present(&inner) > 0 && count_present(&unstripped) == 0
            }
        };
        right.then(|| directory.to_owned())
    }

    fn compare_members(
        &self,
        files: &[&RawMember],
        known: &[RawMember],
    ) -> Result<Vec<AuditFinding>, ContentsError> {
        let found_members: BTreeMap<&str, &RawMember> = files
            .iter()
            .map(|member| (member.name.as_str(), *member))
            .collect();
        let good: BTreeMap<&str, &RawMember> = known
            .iter()
            .filter(|member| !member.is_directory())
            .map(|member| (member.name.as_str(), member))
            .collect();
        let (mut changes, mut texts, mut of_system) = (Vec::new(), Vec::new(), Vec::new());
        let (mut missing, mut new, mut changed) = (0_u64, 0_u64, 0_u64);
        for (name, member) in &good {
            match found_members.get(name) {
                None => {
                    missing += 1;
                    changes.push(format!("{name} is missing"));
                }
                Some(found) if (found.size, found.crc) != (member.size, member.crc) => {
                    if self.has_other_line_ends(found, member)? {
                        texts.push((*name).to_owned());
                        continue;
                    }
                    changed += 1;
                    let archive = match name.to_ascii_lowercase().ends_with(".zip") {
                        true => "; the member may contain the same files, packed again",
                        false => "",
                    };
                    changes.push(format!(
                        "{name} has {} bytes and CRC {:08x}, but in the verified bundle {} bytes and CRC {:08x}{archive}",
                        found.size, found.crc, member.size, member.crc
                    ));
                }
                Some(_) => {}
            }
        }
        for name in found_members
            .keys()
            .filter(|name| !good.contains_key(*name))
        {
            if is_of_system(name) {
                of_system.push((*name).to_owned());
                continue;
            }
            new += 1;
            changes.push(format!("{name} is new"));
        }
        let mut found = Vec::new();
        for (cause, names) in [
            (Cause::BundleSystemFiles, of_system),
            (Cause::BundleLineEnds, texts),
        ] {
            if !names.is_empty() {
                let finding = self.finding(cause).cells(names.len() as u64);
                found.push(finding.examples(names));
            }
        }
        if changes.is_empty() && !found.is_empty() {
            return Ok(found);
        }
        if changes.is_empty() {
            let proof = match good.len() {
                1 => "the only member has the same name, size and CRC as in the verified bundle"
                    .to_owned(),
                count => {
                    format!(
                        "all {count} members have the same names, sizes and CRCs as in the verified bundle"
                    )
                }
            };
            return Ok(vec![self.finding(Cause::BundleRepacked).proof(proof)]);
        }
        let finding = self.finding(Cause::BundleChanged);
        let finding = finding.cells(changes.len() as u64).proof(format!(
            "of the {} members of the verified bundle, {changed} changed and {missing} are missing; {new} other members are new",
            good.len()
        ));
        found.push(finding.examples(changes));
        Ok(found)
    }

    /// Returns whether a member has CR LF where the verified bundle's member has LF.
    fn has_other_line_ends(
        &self,
        found: &RawMember,
        known: &RawMember,
    ) -> Result<bool, ContentsError> {
        if found.size <= known.size {
            return Ok(false);
        }
        let Ok(begin) = found.data_offset(self.file)? else {
            return Ok(false);
        };
        let content = content_with_lf(self.file, found, begin)?;
        Ok(content == (known.size, known.crc))
    }
}

fn contents(members: &[RawMember]) -> BTreeSet<(&str, u64, u32)> {
    members
        .iter()
        .filter(|member| !member.is_directory())
        .map(|member| (member.name.as_str(), member.size, member.crc))
        .collect()
}

/// Finds an error page or message of a server among other bytes. Returns its offset and its beginning.
fn find_page(bytes: &[u8]) -> Option<(usize, String)> {
    const BEGINS: [&[u8]; 8] = [
        b"<!DOCTYPE html",
        b"<!doctype html",
        b"<html",
        b"<HTML",
        b"<?xml",
        b"{\"code\":",
        b"{\"error\"",
        b"{\"message\"",
    ];
    let found = BEGINS
        .iter()
        .filter_map(|begin| memchr::memmem::find(bytes, begin))
        .min()?;
    let text = bytes.get(found..)?;
    let printable = |byte: &&u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let length = text.iter().take(120).take_while(printable).count();
    // A short match may occur by chance, so the page must have a minimum length.
    (length >= 24).then(|| {
        (
            found,
            String::from_utf8_lossy(text.get(..length.min(80)).unwrap_or_default()).into_owned(),
        )
    })
}

fn find_zeros(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut begin = 0;
    while let Some(found) = bytes.get(begin..)?.iter().position(|byte| *byte == 0) {
        let first = begin + found;
        let length = bytes
            .get(first..)?
            .iter()
            .take_while(|byte| **byte == 0)
            .count();
        if length >= MIN_HOLE_BYTES {
            return Some((first, length));
        }
        begin = first + length;
    }
    None
}
