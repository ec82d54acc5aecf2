//! The stored format of a tree.
//!
//! ```text
//! "prep tree 3\n"
//! number of bases, digests of the bases (32 bytes each)
//! number of files, then the files in chunks, sorted by path
//!
//! a chunk: number of files, then columns; a column contains values only for the files named in its line:
//!   kind       0 directory, 1 object, 2 slice, 3 stored member, 4 deflated member, 5 row of a table of files;
//!              in an archive inside compressed data (the base is an object that describes how to decompress it, see
//!              `layered`):
//!              6 stored member, 7 deflated member, 8 slice, 9 slice with a checksum
//!   path       of all files: string
//!   bytes      of all files except directories
//!   base       of all files except directories and rows: index of the base, minus the index of the previous file's base
//!   offset     of slices and members: offset in the base, relative to the end of the previous file's bytes
//!   compressed of members: compressed length, minus the uncompressed length
//!   limit      of members: end of the member's record, minus the end that the record would have without extra fields
//!   crc        of members and of kind 9: CRC-32, 4 bytes, not compressed
//!   name       of members: the name may end like the path; the offset of this common end in the path, and the rest of the
//!              name as a string
//! strings: lengths shared with the start and with the end of the previous string, length of the middle, and its bytes
//! ```
//!
//! Similar values are adjacent in a column, so each column is compressed separately (see `columns`). A member takes about
//! 14 bytes if its name and position are random, and otherwise about 7 bytes. Its checksum takes four of these bytes.
//!
//! The reader does not trust a listing: it limits the files per chunk, and the bytes of their paths and names.

use std::io::{self, Read, Write};

use prep_cache::Digest;

use super::chunk::{Chunk, ListingEntry, MAX_FILES};
use super::columns::{ColumnReader, ColumnWriter};
use super::{TextList, Tree, TreeError};
use crate::value::compact::{CompactReader, write_number};

const MAGIC: [u8; 12] = *b"prep tree 3\n";

/// Maximum number of files for which memory is reserved in advance, because the number in a damaged listing may be wrong.
const MAX_RESERVED_FILES: usize = 1 << 22;

/// Writes a tree of `count` files. `entries` must be sorted by path.
pub(super) fn write<'a>(
    bases: &[Digest],
    count: u64,
    entries: impl Iterator<Item = ListingEntry<'a>>,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    write_number(out, bases.len() as u64)?;
    for base in bases {
        out.write_all(base.as_bytes())?;
    }
    write_number(out, count)?;
    let mut writer = ColumnWriter::new()?;
    let mut chunk = Chunk::default();
    for entry in entries {
        chunk.push(&entry);
        if chunk.is_full() {
            chunk.write(&mut writer, out)?;
        }
    }
    match chunk.is_empty() {
        true => Ok(()),
        false => chunk.write(&mut writer, out),
    }
}

/// Reads a tree.
pub(super) fn read(input: impl Read) -> Result<Tree, ListingError> {
    let mut input = CompactReader::new(input);
    if input.bytes::<{ MAGIC.len() }>()? != MAGIC {
        return Err(TreeError::Damaged { file: 0 }.into());
    }
    let mut tree = Tree::default();
    for _ in 0..input.number()? {
        tree.bases.push(Digest::from_bytes(input.bytes()?));
    }
    let files = usize::try_from(input.number()?).unwrap_or(usize::MAX);
    let mut input = ColumnReader::new(input)?;
    tree.locations.reserve_exact(files.min(MAX_RESERVED_FILES));
    tree.paths = TextList::with_capacity(files.min(MAX_RESERVED_FILES), 0);
    let mut chunk = Chunk::default();
    while tree.len() < files {
        let damaged = |tree: &Tree| TreeError::Damaged { file: tree.len() };
        let count = usize::try_from(input.number()?).unwrap_or(usize::MAX);
        if count == 0 || count > MAX_FILES.min(files - tree.len()) {
            return Err(damaged(&tree).into());
        }
        chunk.read(&mut input, count)?;
        for file in 0..count {
            chunk.take(file, &mut tree).ok_or_else(|| damaged(&tree))?;
        }
    }
    tree.paths.shrink_to_fit();
    tree.names.shrink_to_fit();
    Ok(tree)
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ListingError {
    #[error("{0}")]
    Tree(#[from] TreeError),
    #[error("a stored listing cannot be read")]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use prep_core::Cancel;
    use prep_formats::zip::{ZipEntry, ZipMethod};
    use proptest::prelude::*;

    use super::super::{TreeBuilder, TreeEntry};
    use super::*;
    use crate::value::ContentRef;

    type Test = Result<(), Box<dyn std::error::Error>>;

    fn member(name: &str, offset: u64) -> ContentRef {
        let entry = ZipEntry {
            path: name.to_owned(),
            is_directory: false,
            method: ZipMethod::Stored,
            header_offset: offset,
            limit: offset + 100,
            compressed_size: 3,
            size: 3,
            crc32: 5,
        };
        ContentRef::Member {
            base: Digest::of_bytes(b"bundle"),
            layered: false,
            entry,
        }
    }

    fn write_tree(tree: &Tree, out: &mut Vec<u8>) -> io::Result<()> {
        write(&tree.bases, tree.len() as u64, tree.entries(), out)
    }

    fn content() -> impl Strategy<Value = Option<ContentRef>> {
        let base = any::<u8>().prop_map(|number| Digest::of_bytes(&[number % 3]));
        let numbers = (any::<[u64; 4]>(), any::<u32>(), any::<[bool; 2]>());
        (0..4, base, numbers, "[ab/é]{0,6}").prop_map(
            |(
                kind,
                base,
                ([size, offset, limit, compressed], crc32, [layered, deflated]),
                name,
            )| match kind {
                0 => None,
                1 => Some(ContentRef::Object {
                    digest: base,
                    bytes: size,
                }),
                2 => Some(ContentRef::Slice {
                    base,
                    layered,
                    offset,
                    bytes: size,
                    crc32: (layered && deflated).then_some(crc32),
                }),
                _ => Some(ContentRef::Member {
                    base,
                    layered,
                    entry: ZipEntry {
                        path: name,
                        is_directory: false,
                        method: if deflated {
                            ZipMethod::Deflate
                        } else {
                            ZipMethod::Stored
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
        fn a_tree_round_trips_and_does_not_depend_on_insertion_order(
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
            let mut reversed = Vec::new();
            write_tree(&Tree::new(entries.into_iter().rev().collect())?, &mut reversed)?;
            prop_assert_eq!(&reversed, &bytes);
            prop_assert!(read(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn random_bytes_are_a_tree_or_an_error(bytes in any::<Vec<u8>>()) {
            let mut all = MAGIC.to_vec();
            all.extend(bytes);
            let _ = read(&all[..]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn damaged_bytes_are_a_tree_or_an_error(
            files in proptest::collection::btree_map("[abé/\n]{0,8}", content(), 1..40),
            change in 1..=u8::MAX,
        ) {
            let entries = files.into_iter().map(|(path, content)| TreeEntry { path, content });
            let mut bytes = Vec::new();
            write_tree(&Tree::new(entries.collect())?, &mut bytes)?;
            for offset in 0..bytes.len() {
                prop_assert!(read(&bytes[..offset]).is_err(), "truncated at {offset}");
                bytes[offset] ^= change;
                // The cache verifies the digest, so the reader only must not panic.
                let found = read(&bytes[..]);
                prop_assert!(found.is_err() || offset >= MAGIC.len(), "a wrong header is read");
                bytes[offset] ^= change;
            }
        }
    }

    #[test]
    fn many_files_and_long_paths_round_trip_in_chunks() -> Test {
        let long = "long/".repeat(60_000);
        let short = (0..2 * MAX_FILES + 1).map(|number| (format!("{number:05}.png"), 0));
        let long = (0..9).map(|number| (format!("{long}{number}"), number));
        // The name of a member is its path without the first `cut` bytes.
        let entries = short.chain(long).map(|(path, cut)| TreeEntry {
            content: Some(member(&path[cut..], path.len() as u64)),
            path,
        });
        let tree = Tree::new(entries.collect())?;
        let mut bytes = Vec::new();
        write_tree(&tree, &mut bytes)?;
        assert_eq!(read(&bytes[..])?, tree);
        Ok(())
    }

    #[test]
    fn rows_of_a_table_of_files_round_trip_without_content() -> Test {
        let mut files = TreeBuilder::default();
        files.push_row("a/1.png", 70);
        files.push_row("a/2.png", u64::MAX);
        let tree = files.finish(&Cancel::default())?;
        let mut bytes = Vec::new();
        write_tree(&tree, &mut bytes)?;
        let found = read(&bytes[..])?;
        assert_eq!(found, tree);
        let file = found.find("a/1.png").ok_or("no file")?;
        assert_eq!((file.bytes(), file.is_directory()), (70, false));
        assert_eq!((file.base(), file.origin()), (None, None));
        assert_eq!(file.content(), None);
        Ok(())
    }

    #[test]
    fn an_older_format_version_is_rejected() {
        let found = read(&b"prep tree 2\n\0\0"[..]);
        let damaged = matches!(
            found,
            Err(ListingError::Tree(TreeError::Damaged { file: 0 }))
        );
        assert!(damaged, "{found:?}");
    }

    /// Returns a listing of one chunk. `files` and `chunk` are the numbers of files that the listing and the chunk declare.
    /// Both may be wrong. `starts` contains the length of the prefix that each path shares with the previous path.
    /// `lengths` and `middles` describe the rest of each path.
    fn forged_listing(
        files: u64,
        chunk: u64,
        starts: &[u64],
        lengths: &[u64],
        middles: &[u8],
    ) -> io::Result<Vec<u8>> {
        let mut out = MAGIC.to_vec();
        let mut writer = ColumnWriter::new()?;
        for number in [0, files, chunk] {
            write_number(&mut out, number)?;
        }
        writer.bytes(&mut out, &vec![0; starts.len()])?;
        writer.numbers(&mut out, starts)?;
        writer.numbers(&mut out, &vec![0; starts.len()])?;
        writer.numbers(&mut out, lengths)?;
        writer.bytes(&mut out, middles)?;
        Ok(out)
    }

    #[test]
    fn wrong_sizes_in_a_listing_allocate_no_memory() -> Test {
        // A valid listing, to show that only the wrong sizes make the others invalid.
        let valid = forged_listing(2, 2, &[0, 0], &[1, 1], b"ab")?;
        // Append the columns that are empty.
        let valid = [&valid[..], &[0; 10]].concat();
        assert_eq!(read(&valid[..])?.len(), 2);
        let many = usize::MAX as u64;
        let huge = vec![b'a'; 1 << 26];
        let growing: Vec<u64> = (0..4096).map(|file| file << 8).collect();
        for (wrong, bytes) in [
            (
                "a huge number of files in the listing",
                forged_listing(many, 2, &[0, 0], &[1, 1], b"ab")?,
            ),
            (
                "a huge number of files in a chunk",
                forged_listing(many, many, &[0, 0], &[1, 1], b"ab")?,
            ),
            (
                "a chunk with more files than the listing",
                forged_listing(1, 2, &[0, 0], &[1, 1], b"ab")?,
            ),
            (
                "a chunk without files",
                forged_listing(2, 0, &[0, 0], &[1, 1], b"ab")?,
            ),
            (
                "two huge lengths",
                forged_listing(2, 2, &[0, 0], &[many, many], b"ab")?,
            ),
            ("a huge length", forged_listing(1, 1, &[0], &[many], b"ab")?),
            (
                "a path of 64 MiB",
                forged_listing(1, 1, &[0], &[1 << 26], &huge)?,
            ),
            (
                "paths with more bytes than their declared lengths",
                forged_listing(1, 1, &[0], &[17], &huge)?,
            ),
            (
                "a shared prefix longer than the previous path",
                forged_listing(2, 2, &[0, 2], &[1, 1], b"ab")?,
            ),
            // Each path contains the previous one, so all paths together would take two gigabytes.
            (
                "paths that grow",
                forged_listing(4096, 4096, &growing, &[256; 4096], &huge[..1 << 20])?,
            ),
        ] {
            let bytes = [&bytes[..], &[0; 10]].concat();
            assert!(read(&bytes[..]).is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn archive_member_needs_few_bytes() -> Test {
        let mut offset = 0;
        let entries = (0..10_000_u64).map(|number| {
            let hash = blake3::hash(&number.to_le_bytes());
            let name = hash.to_hex();
            let (a, b, c) = (&name[..1], &name[1..2], &name[2..3]);
            let path = format!("train/{a}/{b}/{c}/{}.png", &name[..12]);
            let compressed = 2000 + number * 7919 % 3000;
            let header_offset = offset;
            offset += 30 + path.len() as u64 + compressed;
            let entry = ZipEntry {
                path: path.clone(),
                is_directory: false,
                method: ZipMethod::Deflate,
                header_offset,
                limit: offset,
                compressed_size: compressed,
                size: compressed + 11,
                crc32: u32::from_le_bytes(*hash.as_bytes()[8..].first_chunk().unwrap()),
            };
            // As in most outputs, the directory differs from the directory in the archive.
            let path = path.replace("train", "test");
            let base = Digest::of_bytes(b"bundle");
            let layered = false;
            let content = Some(ContentRef::Member {
                base,
                layered,
                entry,
            });
            TreeEntry { path, content }
        });
        let tree = Tree::new(entries.collect())?;
        let mut bytes = Vec::new();
        write_tree(&tree, &mut bytes)?;
        // Half a byte for each digit, four bytes for the checksum, four for the position, and two for the size.
        let each = bytes.len() / 10_000;
        assert!(each < 16, "{each} bytes per member");
        Ok(())
    }
}
