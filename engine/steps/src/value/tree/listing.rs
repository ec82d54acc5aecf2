//! The stored form of a tree.
//!
//! ```text
//! "prep tree 2\n"
//! number of bases, bases (32 bytes each)
//! number of files, then for each, sorted by path:
//!   bytes that its path shares with the one before, bytes that follow, these
//!   kind: 0 folder, 1 object, 2 slice, 3 member as it is, 4 deflated member; +8 when the base is the one before,
//!         +16 when the name in the archive is the end of the path
//!   base             unless it is the one before
//!   bytes            unless a folder
//!   offset           of slices and members, counted from the end of the one before
//!   compressed       of members, as the difference to its bytes
//!   limit            of members, counted from the least end of the record
//!   crc              of members, 4 bytes
//!   name             of members: the byte of the path from which on it is the name; or as the path is, after the name before
//! ```
//!
//! Numbers and texts are written as `compact` has them. An archive's members take some 30 bytes each.

use std::io::{self, Read, Write};

use prep_cache::Digest;

use super::{Kind, NOTHING, Name, Place, Texts, Tree, TreeError};
use crate::value::compact::{Input, write_difference, write_number, write_text};

const MAGIC: [u8; 12] = *b"prep tree 2\n";

const SAME_BASE: u8 = 8;
const END_OF_PATH: u8 = 16;

/// Length of a zip record without its name, its other fields and its data.
const RECORD: u64 = 30;

/// What the next file is told relative to.
#[derive(Default)]
struct Before {
    path: Vec<u8>,
    name: Vec<u8>,
    base: u32,
    end: u64,
}

/// A file of a tree.
pub(super) struct Entry<'a> {
    pub path: &'a str,
    /// Its base is counted among those of the listing.
    pub place: Place,
    /// What a member is called in its archive.
    pub name: &'a str,
}

/// Writes a tree of so many files, sorted by path.
pub(super) fn write<'a>(
    bases: &[Digest],
    count: u64,
    entries: impl Iterator<Item = Entry<'a>>,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    write_number(out, bases.len() as u64)?;
    for base in bases {
        out.write_all(base.as_bytes())?;
    }
    write_number(out, count)?;
    let mut before = Before::default();
    for Entry { path, place, name } in entries {
        write_text(out, &mut before.path, path.as_bytes())?;
        let mut kind = match place.kind {
            Kind::Folder => 0,
            Kind::Object => 1,
            Kind::Slice => 2,
            Kind::Stored => 3,
            Kind::Deflated => 4,
        };
        let is_member = matches!(place.kind, Kind::Stored | Kind::Deflated);
        if place.kind != Kind::Folder && place.base == before.base {
            kind |= SAME_BASE;
        }
        if is_member && matches!(place.name, Name::EndOfPath(_)) {
            kind |= END_OF_PATH;
        }
        out.write_all(&[kind])?;
        if place.kind == Kind::Folder {
            continue;
        }
        if place.base != before.base {
            write_number(out, u64::from(place.base))?;
            before.base = place.base;
        }
        write_number(out, place.bytes)?;
        if place.kind == Kind::Object {
            continue;
        }
        write_difference(out, place.offset, before.end)?;
        before.end = place.offset.wrapping_add(place.bytes);
        if !is_member {
            continue;
        }
        write_difference(out, place.compressed, place.bytes)?;
        let name = name.as_bytes();
        let least = least_end(place.offset, place.compressed, name.len());
        write_difference(out, place.limit, least)?;
        before.end = place.limit;
        out.write_all(&place.crc32.to_le_bytes())?;
        match place.name {
            Name::EndOfPath(from) => write_number(out, u64::from(from))?,
            Name::Own(_) => write_text(out, &mut before.name, name)?,
        }
    }
    Ok(())
}

/// Where the record of a member ends at the least.
fn least_end(offset: u64, compressed: u64, name: usize) -> u64 {
    offset
        .wrapping_add(RECORD)
        .wrapping_add(name as u64)
        .wrapping_add(compressed)
}

/// Reads what [`write`] wrote.
pub(super) fn read(input: impl Read) -> Result<Tree, ReadError> {
    let mut input = Input::new(input);
    if input.bytes::<{ MAGIC.len() }>()? != MAGIC {
        return Err(TreeError::Damaged { file: 0 }.into());
    }
    let mut tree = Tree::default();
    for _ in 0..input.number()? {
        tree.bases.push(Digest::from_bytes(input.bytes()?));
    }
    let files = usize::try_from(input.number()?).unwrap_or(usize::MAX);
    // A number that is wrong must not take all memory.
    let room = files.min(1 << 24);
    tree.places.reserve_exact(room);
    tree.paths = Texts::with_capacity(room, 0);
    let mut before = Before::default();
    for file in 0..files {
        let damaged = || ReadError::from(TreeError::Damaged { file });
        input.text(&mut before.path)?;
        let path = std::str::from_utf8(&before.path).map_err(|_| damaged())?;
        if file > 0 && tree.paths.get(file - 1) >= path {
            return Err(damaged());
        }
        tree.paths.push(path);
        let place = place(&mut input, &mut before, &mut tree.names)?.ok_or_else(damaged)?;
        if place.kind != Kind::Folder && place.base as usize >= tree.bases.len() {
            return Err(damaged());
        }
        tree.places.push(place);
    }
    tree.paths.shrink_to_fit();
    tree.names.shrink_to_fit();
    Ok(tree)
}

/// Why a listing cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("{0}")]
    Tree(#[from] TreeError),
    #[error("a stored listing cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// None: it makes no sense.
fn place(
    input: &mut Input<impl Read>,
    before: &mut Before,
    names: &mut Texts,
) -> Result<Option<Place>, ReadError> {
    let [flags] = input.bytes()?;
    let kind = match flags & 7 {
        0 => return Ok(Some(NOTHING)),
        1 => Kind::Object,
        2 => Kind::Slice,
        3 => Kind::Stored,
        4 => Kind::Deflated,
        _ => return Ok(None),
    };
    if flags & SAME_BASE == 0 {
        let Ok(base) = u32::try_from(input.number()?) else {
            return Ok(None);
        };
        before.base = base;
    }
    let mut place = Place {
        kind,
        base: before.base,
        bytes: input.number()?,
        ..NOTHING
    };
    if kind == Kind::Object {
        return Ok(Some(place));
    }
    place.offset = input.difference(before.end)?;
    before.end = place.offset.wrapping_add(place.bytes);
    if kind == Kind::Slice {
        return Ok(Some(place));
    }
    place.compressed = input.difference(place.bytes)?;
    let room = input.difference(0)?;
    place.crc32 = u32::from_le_bytes(input.bytes()?);
    let length = if flags & END_OF_PATH != 0 {
        let from = u32::try_from(input.number()?).unwrap_or(u32::MAX);
        place.name = Name::EndOfPath(from);
        let end = std::str::from_utf8(&before.path).ok();
        match end.and_then(|path| path.get(from as usize..)) {
            Some(name) => name.len(),
            None => return Ok(None),
        }
    } else {
        input.text(&mut before.name)?;
        let Ok(name) = std::str::from_utf8(&before.name) else {
            return Ok(None);
        };
        names.push(name);
        place.name = Name::Own(u32::try_from(names.len() - 1).unwrap_or(u32::MAX));
        name.len()
    };
    let least = least_end(place.offset, place.compressed, length);
    place.limit = least.wrapping_add(room);
    before.end = place.limit;
    Ok(Some(place))
}

#[cfg(test)]
mod tests {
    use prep_formats::zip::{EntryKind, Method, ZipEntry};
    use proptest::prelude::*;

    use super::super::TreeEntry;
    use super::*;
    use crate::value::Content;

    fn write_tree(tree: &Tree, out: &mut Vec<u8>) -> io::Result<()> {
        write(&tree.bases, tree.len() as u64, tree.entries(), out)
    }

    fn content() -> impl Strategy<Value = Option<Content>> {
        let base = any::<u8>().prop_map(|number| Digest::of(&[number % 3]));
        let numbers = (any::<[u64; 4]>(), any::<u32>(), any::<bool>());
        (0..4, base, numbers, "[ab/é]{0,6}").prop_map(
            |(kind, base, ([size, offset, limit, compressed], crc32, deflated), name)| match kind {
                0 => None,
                1 => Some(Content::Object {
                    digest: base,
                    bytes: size,
                }),
                2 => Some(Content::Slice {
                    base,
                    offset,
                    bytes: size,
                }),
                _ => Some(Content::Member {
                    base,
                    entry: ZipEntry {
                        path: name,
                        kind: EntryKind::File,
                        method: if deflated {
                            Method::Deflate
                        } else {
                            Method::Stored
                        },
                        header_offset: offset,
                        limit,
                        compressed_size: compressed,
                        size,
                        crc32,
                    },
                }),
            },
        )
    }

    proptest! {
        #[test]
        fn a_tree_reads_back_and_does_not_depend_on_the_order_it_was_made_in(
            files in proptest::collection::btree_map("[abé/\n]{0,8}", content(), 0..20)
        ) {
            let entries: Vec<TreeEntry> = files
                .into_iter()
                .map(|(path, content)| TreeEntry { path, content })
                .collect();
            let tree = Tree::new(entries.clone())?;
            let found: Vec<TreeEntry> = tree
                .files()
                .map(|file| TreeEntry { path: file.path().to_owned(), content: file.content() })
                .collect();
            prop_assert_eq!(&found, &entries);
            let mut bytes = Vec::new();
            write_tree(&tree, &mut bytes)?;
            prop_assert_eq!(read(&bytes[..])?, tree);
            let mut turned = Vec::new();
            write_tree(&Tree::new(entries.into_iter().rev().collect())?, &mut turned)?;
            prop_assert_eq!(&turned, &bytes);
            // One that is cut off is refused.
            prop_assert!(read(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn any_bytes_are_a_tree_or_refused(bytes in any::<Vec<u8>>()) {
            let mut all = MAGIC.to_vec();
            all.extend(bytes);
            let _ = read(&all[..]);
        }
    }

    #[test]
    fn a_member_of_an_archive_takes_few_bytes() -> Result<(), Box<dyn std::error::Error>> {
        let base = Digest::of(b"bundle");
        let mut offset = 0;
        let entries = (0..10_000_u64).map(|number| {
            let name = blake3::hash(&number.to_le_bytes()).to_hex();
            let path = format!(
                "train/{}/{}/{}/{}.png",
                &name[..1],
                &name[1..2],
                &name[2..3],
                &name[..12]
            );
            let compressed = 2000 + number * 7919 % 3000;
            let header_offset = offset;
            offset += 30 + path.len() as u64 + compressed;
            let entry = ZipEntry {
                path: path.clone(),
                kind: EntryKind::File,
                method: Method::Deflate,
                header_offset,
                limit: offset,
                compressed_size: compressed,
                size: compressed + 11,
                crc32: u32::from_le_bytes([name.as_bytes()[0], 1, 2, 3]),
            };
            TreeEntry {
                path,
                content: Some(Content::Member { base, entry }),
            }
        });
        let tree = Tree::new(entries.collect())?;
        let mut bytes = Vec::new();
        write_tree(&tree, &mut bytes)?;
        assert!(
            bytes.len() < 45 * 10_000,
            "{} bytes a member",
            bytes.len() / 10_000
        );
        Ok(())
    }
}
