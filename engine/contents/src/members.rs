//! Compares the members of two archives.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::{fmt, io};

use prep_formats::archive::ArchiveFormat;
use prep_formats::zip::ZipDirectory;
use tempfile::TempPath;

use crate::entries::{of_archive, open};
use crate::read::{hash, spool};
use crate::{ContentsError, ReadContext, Result};

/// The difference of a member between the archives `theirs` and `ours`. `OnlyThere` means only in `theirs`, `OnlyHere`
/// means only in `ours`.
#[derive(Debug)]
pub enum MemberDifference<'a> {
    OnlyThere {
        size: u64,
    },
    OnlyHere {
        size: u64,
    },
    /// `ours` has no member with this name. `theirs` has the same content under the name `there`.
    Renamed {
        there: &'a str,
        size: u64,
    },
    /// Both archives have a member with this name and a member with the name `there`. This member of `ours` has the same
    /// content as the member `there` of `theirs`.
    Swapped {
        there: &'a str,
        /// Length of the member in each archive.
        theirs: u64,
        ours: u64,
    },
    /// The contents differ. `theirs` and `ours` are files with these contents. They exist only during the call of
    /// `visit`.
    Differ {
        theirs: &'a Path,
        ours: &'a Path,
    },
}

#[derive(Debug)]
pub enum ArchiveComparison {
    Compared(MemberTotals),
    /// An archive is damaged, or exceeds a limit.
    Unreadable(ArchiveSide, ContentsError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveSide {
    Theirs,
    Ours,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemberContent {
    size: u64,
    hash: blake3::Hash,
}

/// A member's path, and the number of earlier members with the same path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MemberName {
    path: String,
    before: u32,
}

impl fmt::Display for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.before {
            0 => f.write_str(&self.path),
            before => write!(f, "{} ({})", self.path, before + 1),
        }
    }
}

type MemberList = BTreeMap<MemberName, MemberContent>;

#[derive(Debug, Default, Clone, Copy)]
pub struct MemberTotals {
    /// Number of members with equal content.
    pub equal: u64,
    pub reordered: bool,
}

pub type VisitDifference<'a> = &'a mut dyn FnMut(&str, MemberDifference<'_>) -> Result<()>;

/// Compares the contents of the archives `theirs` and `ours`, and calls `visit` for each member that differs. Error
/// messages name both archives by `path`.
///
/// Members that differ are copied to the temporary directory. Zip archives allow random access, so only one pair of
/// members is copied at a time. Other archives need copies of all differing members of `theirs`.
pub fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    context: &ReadContext<'_>,
    visit: VisitDifference<'_>,
) -> Result<ArchiveComparison> {
    let Some(kind) = ArchiveFormat::from_path(path) else {
        let reason = format!("{path} is not the name of an archive");
        return Ok(ArchiveComparison::Unreadable(
            ArchiveSide::Ours,
            ContentsError::Damaged(reason),
        ));
    };
    let unreadable = |side, error: ContentsError| match error.is_of_the_system() {
        true => Err(error),
        false => Ok(ArchiveComparison::Unreadable(side, error)),
    };
    let archives = ArchiveReader {
        kind,
        path,
        context,
    };
    let there = match archives.list(theirs) {
        Ok(list) => list,
        Err(error) => return unreadable(ArchiveSide::Theirs, error),
    };
    let here = match archives.list(ours) {
        Ok(list) => list,
        Err(error) => return unreadable(ArchiveSide::Ours, error),
    };
    let mut compared = MemberTotals {
        equal: 0,
        reordered: is_reordered(&there, &here),
    };
    let differ = visit_one_sided_members(&there.members, &here.members, &mut compared, visit)?;
    if differ.is_empty() {
        return Ok(ArchiveComparison::Compared(compared));
    }
    drop((there, here));
    match kind {
        ArchiveFormat::Zip => compare_zip_members(&differ, theirs, ours, context, visit)?,
        _ => archives.compare_in_sequence(&differ, theirs, ours, visit)?,
    }
    Ok(ArchiveComparison::Compared(compared))
}

struct ArchiveMembers {
    members: MemberList,
    order: Vec<MemberName>,
}

fn is_reordered(there: &ArchiveMembers, here: &ArchiveMembers) -> bool {
    let common = there.order.iter();
    let common = common.filter(|name| here.members.contains_key(*name));
    let ours = here.order.iter();
    let ours = ours.filter(|name| there.members.contains_key(*name));
    !common.eq(ours)
}

/// Visits members that only one archive has, renamed members and swapped members. Returns the other members that differ.
fn visit_one_sided_members(
    there: &MemberList,
    here: &MemberList,
    compared: &mut MemberTotals,
    visit: VisitDifference<'_>,
) -> Result<BTreeSet<MemberName>> {
    let surplus = there.iter().filter(|(name, _)| !here.contains_key(*name));
    let mut surplus: BTreeMap<&MemberName, MemberContent> =
        surplus.map(|(name, content)| (name, *content)).collect();
    let mut by_content: HashMap<blake3::Hash, Vec<&MemberName>> = HashMap::new();
    for (name, content) in &surplus {
        by_content.entry(content.hash).or_default().push(name);
    }
    let mut differ = BTreeSet::new();
    for (name, content) in here {
        match there.get(name) {
            Some(other) if other == content => compared.equal += 1,
            Some(_) => {
                differ.insert(name.clone());
            }
            None => {
                let size = content.size;
                let same = by_content.get_mut(&content.hash).and_then(Vec::pop);
                if let Some(other) = same {
                    surplus.remove(other);
                    let there = &other.to_string();
                    visit(&name.to_string(), MemberDifference::Renamed { there, size })?;
                } else {
                    visit(&name.to_string(), MemberDifference::OnlyHere { size })?;
                }
            }
        }
    }
    // A member is swapped if `theirs` has its content under the name of another member that differs.
    let mut elsewhere: HashMap<blake3::Hash, &MemberName> = HashMap::new();
    for name in &differ {
        if let Some(content) = there.get(name) {
            elsewhere.insert(content.hash, name);
        }
    }
    let mut swapped = Vec::new();
    for name in &differ {
        let content = here.get(name).map(|content| content.hash);
        if let Some(other) = content.and_then(|hash| elsewhere.get(&hash)) {
            let size = |list: &MemberList| list.get(name).map_or(0, |content| content.size);
            let (theirs, ours) = (size(there), size(here));
            let there = &other.to_string();
            visit(
                &name.to_string(),
                MemberDifference::Swapped {
                    there,
                    theirs,
                    ours,
                },
            )?;
            swapped.push(name.clone());
        }
    }
    for name in swapped {
        differ.remove(&name);
    }
    for (name, content) in surplus {
        let size = content.size;
        visit(&name.to_string(), MemberDifference::OnlyThere { size })?;
    }
    Ok(differ)
}

/// Visits the differing members of two zip archives, whose members can be read in any order.
fn compare_zip_members(
    differ: &BTreeSet<MemberName>,
    theirs: &Path,
    ours: &Path,
    context: &ReadContext<'_>,
    visit: VisitDifference<'_>,
) -> Result<()> {
    let list = |place: &Path| -> Result<_> {
        let (file, length) = open(place)?;
        let directory = ZipDirectory::read(&file, 0..length, context.budget);
        let directory = directory.map_err(ContentsError::classify)?;
        let (mut names, mut entries) = (MemberNames::default(), HashMap::new());
        for member in directory.iter().filter(|one| !one.is_directory) {
            let name = names.next(member.path);
            if differ.contains(&name) {
                entries.insert(name, member.to_entry());
            }
        }
        Ok((file, entries))
    };
    let ((their_file, their_entries), (our_file, our_entries)) = (list(theirs)?, list(ours)?);
    for name in differ {
        let (Some(one), Some(other)) = (their_entries.get(name), our_entries.get(name)) else {
            continue;
        };
        let copy = |entry: &prep_formats::zip::ZipEntry, file: &File| {
            let mut content = entry.open(file).map_err(ContentsError::classify)?;
            spool(&mut content, context.resources)
        };
        let (theirs, ours) = (copy(one, &their_file)?, copy(other, &our_file)?);
        let (theirs, ours) = (&theirs, &ours);
        visit(&name.to_string(), MemberDifference::Differ { theirs, ours })?;
    }
    Ok(())
}

struct ArchiveReader<'a> {
    kind: ArchiveFormat,
    path: &'a str,
    context: &'a ReadContext<'a>,
}

impl ArchiveReader<'_> {
    /// Hashes the members of an archive.
    fn list(&self, place: &Path) -> Result<ArchiveMembers> {
        let mut listed = ArchiveMembers {
            members: MemberList::new(),
            order: Vec::new(),
        };
        self.visit(place, &mut |name, content| {
            let mut counted = CountedReader { content, size: 0 };
            let hash = hash(&mut counted)?;
            let size = counted.size;
            listed.order.push(name.clone());
            listed.members.insert(name, MemberContent { size, hash });
            Ok(())
        })?;
        Ok(listed)
    }

    /// Visits the differing members of archives that can only be read from front to back. Copies the members of
    /// `theirs` to temporary files, and then reads `ours`.
    fn compare_in_sequence(
        &self,
        differ: &BTreeSet<MemberName>,
        theirs: &Path,
        ours: &Path,
        visit: VisitDifference<'_>,
    ) -> Result<()> {
        let resources = self.context.resources;
        let mut copies: HashMap<MemberName, TempPath> = HashMap::new();
        self.visit(theirs, &mut |name, content| {
            if differ.contains(&name) {
                copies.insert(name, spool(content, resources)?);
            }
            Ok(())
        })?;
        self.visit(ours, &mut |name, content| {
            let Some(theirs) = copies.remove(&name) else {
                return Ok(());
            };
            let (theirs, ours) = (&theirs, &spool(content, resources)?);
            visit(&name.to_string(), MemberDifference::Differ { theirs, ours })
        })
    }

    fn visit(
        &self,
        place: &Path,
        visit: &mut dyn FnMut(MemberName, &mut dyn Read) -> Result<()>,
    ) -> Result<()> {
        let (mut names, budget) = (MemberNames::default(), self.context.budget);
        of_archive(
            self.kind,
            place,
            self.path,
            budget,
            &mut |member, content| visit(names.next(member.path), content),
        )
    }
}

/// Gives members with the same path different names.
#[derive(Default)]
struct MemberNames(HashMap<String, u32>);

impl MemberNames {
    fn next(&mut self, path: &str) -> MemberName {
        let count = self.0.entry(path.to_owned()).or_default();
        let name = MemberName {
            path: path.to_owned(),
            before: *count,
        };
        *count += 1;
        name
    }
}

struct CountedReader<'a> {
    content: &'a mut dyn Read,
    size: u64,
}

impl Read for CountedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.size += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use prep_formats::limits::DecodingLimits;
    use prep_formats::tar::TarWriter;
    use prep_formats::zip::{ZipMethod, ZipWriter};

    use super::*;
    use crate::Resources;

    fn archive(path: &str, members: &[(String, String)]) -> Vec<u8> {
        let length = |content: &str| content.len() as u64;
        if path.ends_with(".tar") {
            let mut writer = TarWriter::new(Vec::new());
            for (name, content) in members {
                let bytes = content.as_bytes();
                writer.add_file(name, length(content), bytes).unwrap();
            }
            return writer.finish().unwrap();
        }
        let mut writer = ZipWriter::new(Vec::new());
        for (name, content) in members {
            let bytes = content.as_bytes();
            writer.add_file(name, ZipMethod::Stored, bytes).unwrap();
        }
        writer.finish().unwrap()
    }

    /// Returns the names of differing members, and the maximum numbers of temporary files and of open files during the
    /// comparison.
    fn differing(path: &str, theirs: &[u8], ours: &[u8]) -> (Vec<String>, usize, usize) {
        let directory = tempfile::tempdir().unwrap();
        let temp = tempfile::tempdir().unwrap();
        let (one, other) = (
            directory.path().join("theirs"),
            directory.path().join("ours"),
        );
        std::fs::write(&one, theirs).unwrap();
        std::fs::write(&other, ours).unwrap();
        let resources = Resources {
            limits: DecodingLimits::default(),
            temp: temp.path(),
        };
        let budget = resources.comparison_budget(&one, &other).unwrap();
        let context = ReadContext::new(&resources, &budget);
        let (mut names, mut copies, mut open) = (Vec::new(), 0, 0);
        let compared = compare(path, &one, &other, &context, &mut |name, member| {
            assert!(
                matches!(member, MemberDifference::Differ { .. }),
                "{member:?}"
            );
            copies = copies.max(temp.path().read_dir()?.count());
            open = open.max(std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count));
            names.push(name.to_owned());
            Ok(())
        });
        assert!(matches!(compared, Ok(ArchiveComparison::Compared(_))));
        (names, copies, open)
    }

    /// Open files are limited to a few thousand per process.
    #[test]
    fn differing_members_keep_no_file_open() {
        let members = |word: &str| -> Vec<(String, String)> {
            let numbers = 100..500;
            let member = |number: usize| (number.to_string(), format!("{word} {number}"));
            numbers.map(member).collect()
        };
        for (path, max_copies) in [("a.zip", 2), ("a.tar", 401)] {
            let theirs = archive(path, &members("theirs"));
            let ours = archive(path, &members("ours"));
            let (names, copies, open) = differing(path, &theirs, &ours);
            assert_eq!(names.len(), 400);
            assert!(copies <= max_copies, "{path}: {copies} copies");
            assert!(open < 200, "{path}: {open} open files");
        }
    }

    /// The members are `a`, `a` and `a (2)`.
    #[test]
    fn members_with_the_same_name_are_distinguished() {
        let member = |name: &str, content: &str| (name.to_owned(), content.to_owned());
        let one = [member("a", "1"), member("a", "2"), member("a (2)", "3")];
        let other = [
            member("a", "1"),
            member("a", "changed"),
            member("a (2)", "3"),
        ];
        let (theirs, ours) = (archive("a.tar", &one), archive("a.tar", &other));
        assert_eq!(differing("a.tar", &theirs, &ours).0, ["a (2)"]);
    }
}
