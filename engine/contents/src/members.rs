//! Two archives: which members differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::archive::Archive;
use crate::read::{hash, spool};

/// A member without an equal of its name.
#[derive(Debug)]
pub enum Member<'a> {
    OnlyThere {
        size: u64,
    },
    OnlyHere {
        size: u64,
    },
    /// Theirs has our content under this name, which ours has not.
    Renamed {
        there: &'a str,
        size: u64,
    },
    /// Both contents, as files for the time of the call.
    Differ {
        theirs: &'a Path,
        ours: &'a Path,
    },
}

/// Whose archive cannot be read, and why.
#[derive(Debug)]
pub enum Unreadable {
    Theirs(io::Error),
    Ours(io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Content {
    size: u64,
    hash: blake3::Hash,
}

/// By name; a name that stands in the archive again has its number behind it.
type List = BTreeMap<String, Content>;

/// What the members of both came to.
#[derive(Debug, Default, Clone, Copy)]
pub struct Compared {
    /// Members of one name with equal content.
    pub equal: u64,
    /// Whether members of one name come in another order.
    pub reordered: bool,
}

/// Compares the archives `theirs` and `ours`, both known as `path`, and tells of members that differ. Contents are compared,
/// not checksums that an archive claims. Members that differ are taken out below `temp`: theirs, and one of ours at a time.
///
/// # Errors
/// When one of them cannot be read, and those of `each`.
pub fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    temp: &Path,
    each: &mut dyn FnMut(&str, Member<'_>) -> io::Result<()>,
) -> Result<Compared, Unreadable> {
    let Some(kind) = Archive::of(path) else {
        return Err(Unreadable::Ours(io::ErrorKind::InvalidInput.into()));
    };
    let (there, their_order) = list(kind, theirs, path).map_err(Unreadable::Theirs)?;
    let (here, our_order) = list(kind, ours, path).map_err(Unreadable::Ours)?;
    let common = |order: &[String], other: &List| -> Vec<String> {
        let both = order.iter().filter(|name| other.contains_key(*name));
        both.cloned().collect()
    };
    let mut compared = Compared {
        equal: 0,
        reordered: common(&their_order, &here) != common(&our_order, &there),
    };
    let surplus = there.iter().filter(|(name, _)| !here.contains_key(*name));
    let mut surplus: BTreeMap<&str, Content> = surplus
        .map(|(name, content)| (name.as_str(), *content))
        .collect();
    let mut by_content: HashMap<blake3::Hash, Vec<&str>> = HashMap::new();
    for (name, content) in &surplus {
        by_content.entry(content.hash).or_default().push(name);
    }
    let mut differ: BTreeSet<&str> = BTreeSet::new();
    for (name, content) in &here {
        match there.get(name) {
            Some(other) if other == content => compared.equal += 1,
            Some(_) => {
                differ.insert(name);
            }
            None => {
                let same = by_content.get_mut(&content.hash).and_then(Vec::pop);
                let member = match same {
                    Some(other) => {
                        surplus.remove(other);
                        Member::Renamed {
                            there: other,
                            size: content.size,
                        }
                    }
                    None => Member::OnlyHere { size: content.size },
                };
                each(name, member).map_err(Unreadable::Ours)?;
            }
        }
    }
    for (name, content) in surplus {
        let size = content.size;
        each(name, Member::OnlyThere { size }).map_err(Unreadable::Theirs)?;
    }
    if differ.is_empty() {
        return Ok(compared);
    }
    let mut taken: HashMap<String, NamedTempFile> = HashMap::new();
    numbered(kind, theirs, path, &mut |name, content| {
        if differ.contains(name) {
            taken.insert(name.to_owned(), spool(content, temp)?);
        }
        Ok(())
    })
    .map_err(Unreadable::Theirs)?;
    numbered(kind, ours, path, &mut |name, content| {
        let Some(theirs) = taken.remove(name) else {
            return Ok(());
        };
        let ours = spool(content, temp)?;
        let (theirs, ours) = (theirs.path(), ours.path());
        each(name, Member::Differ { theirs, ours })
    })
    .map_err(Unreadable::Ours)?;
    Ok(compared)
}

/// What is in the archive, and in which order.
fn list(kind: Archive, place: &Path, path: &str) -> io::Result<(List, Vec<String>)> {
    let (mut list, mut order) = (List::new(), Vec::new());
    numbered(kind, place, path, &mut |name, content| {
        let mut counted = Counted { content, size: 0 };
        let hash = hash(&mut counted)?;
        let size = counted.size;
        list.insert(name.to_owned(), Content { size, hash });
        order.push(name.to_owned());
        Ok(())
    })?;
    Ok((list, order))
}

/// Visits members by names of which none stands there twice.
fn numbered(
    kind: Archive,
    place: &Path,
    path: &str,
    visit: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    kind.visit(place, path, &mut |name, _, content| {
        let count = seen.entry(name.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => visit(name, content),
            count => visit(&format!("{name} ({count})"), content),
        }
    })
}

struct Counted<'a> {
    content: &'a mut dyn Read,
    size: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.size += count as u64;
        Ok(count)
    }
}
