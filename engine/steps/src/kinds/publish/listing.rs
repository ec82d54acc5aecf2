//! The list of published files: what was written, and from what it was made.
//!
//! ```text
//! DATA/ID/prepared.files
//!   "prep files 2\n"
//!   number of bases, bases (32 bytes each)
//!   number of files, then for each, sorted by path:
//!     path, as what it shares with the one before and the rest
//!     bytes, time, inode (these two as differences to the file before)
//!     blake3 of the content, 32 bytes
//!     origin: 0 the content itself; 1 a part of a base; 2 a member of an archive: then base and offset
//! ```
//!
//! Numbers and texts are written as trees write them, so that a file takes some 60 bytes.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use prep_cache::{Accesses, Digest};

use super::manifest::{ManifestError, replace_with};
use crate::value::{Content, Input, Texts, Tree, write_difference, write_number, write_text};

const LISTING: &str = "prepared.files";
const MAGIC: [u8; 13] = *b"prep files 2\n";

/// A file as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    pub bytes: u64,
    /// Modification time in nanoseconds since 1970.
    pub time: i64,
    /// Tells apart two files of one size that were made within a tick of the clock.
    pub inode: u64,
    /// blake3 of the content.
    pub digest: Digest,
}

/// What a file was made of; equal origins have equal contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An object of the store that has the digest of the content.
    Itself,
    Slice {
        base: u32,
        offset: u64,
    },
    Member {
        base: u32,
        offset: u64,
    },
}

/// All published files, sorted by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    paths: Texts,
    files: Vec<(Written, Origin)>,
    bases: Vec<Digest>,
}

impl Written {
    pub(super) fn of(metadata: &fs::Metadata, digest: Digest) -> Written {
        Written {
            bytes: metadata.len(),
            time: time(metadata),
            inode: metadata.ino(),
            digest,
        }
    }

    /// Is the file on disk this one, as far as inode, size and time tell?
    pub(super) fn is_untouched(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| {
            metadata.is_file() && Written::of(&metadata, self.digest) == *self
        })
    }
}

fn time(metadata: &fs::Metadata) -> i64 {
    metadata
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(metadata.mtime_nsec())
}

impl Listing {
    /// The listing of a tree whose files were written so, by their places in it. Files that were not are left out.
    pub(super) fn of(tree: &Tree, written: &[Option<Written>]) -> Listing {
        let mut listing = Listing::default();
        for (file, written) in tree.files().zip(written) {
            if let (Some(written), Some(content)) = (written, file.content()) {
                let origin = match &content {
                    Content::Object { .. } => Origin::Itself,
                    Content::Slice { base, offset, .. } => Origin::Slice {
                        base: listing.base(base),
                        offset: *offset,
                    },
                    Content::Member { base, entry } => Origin::Member {
                        base: listing.base(base),
                        offset: entry.header_offset,
                    },
                };
                listing.paths.push(file.path());
                listing.files.push((*written, origin));
            }
        }
        listing
    }

    /// Only the files at places for which this holds.
    pub(super) fn only(&self, holds: &[bool]) -> Listing {
        let mut listing = Listing {
            bases: self.bases.clone(),
            ..Listing::default()
        };
        for (place, file) in self.files.iter().enumerate() {
            if holds.get(place).is_some_and(|holds| *holds) {
                listing.paths.push(self.paths.get(place));
                listing.files.push(*file);
            }
        }
        listing
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Path and file at a place.
    pub(super) fn get(&self, place: usize) -> Option<(&str, &Written)> {
        let (written, _) = self.files.get(place)?;
        Some((self.paths.get(place), written))
    }

    fn place(&self, path: &str) -> Option<usize> {
        let place = self.paths.first_not_below(path);
        (place < self.len() && self.paths.get(place) == path).then_some(place)
    }

    /// The file at a path.
    pub(super) fn find(&self, path: &str) -> Option<&Written> {
        self.files
            .get(self.place(path)?)
            .map(|(written, _)| written)
    }

    /// The file at a path, if it was made of this content.
    pub(super) fn made_of(&self, path: &str, content: &Content) -> Option<&Written> {
        let (written, origin) = self.files.get(self.place(path)?)?;
        let base = |number: &u32| self.bases.get(*number as usize);
        let same = match (origin, content) {
            (_, Content::Object { digest, .. }) => *digest == written.digest,
            (
                Origin::Slice {
                    base: number,
                    offset,
                },
                Content::Slice {
                    base: wanted,
                    offset: at,
                    bytes,
                },
            ) => base(number) == Some(wanted) && offset == at && *bytes == written.bytes,
            (
                Origin::Member {
                    base: number,
                    offset,
                },
                Content::Member {
                    base: wanted,
                    entry,
                },
            ) => base(number) == Some(wanted) && *offset == entry.header_offset,
            _ => false,
        };
        same.then_some(written)
    }

    fn base(&mut self, base: &Digest) -> u32 {
        let known = match self.bases.last() == Some(base) {
            true => Some(self.bases.len() - 1),
            // There are as many as archives: few.
            false => self.bases.iter().position(|one| one == base),
        };
        let place = known.unwrap_or_else(|| {
            self.bases.push(*base);
            self.bases.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// The last listing. What cannot be understood is left out: those files are then written anew.
    pub(super) fn read(home: &Path) -> Listing {
        let mut listing = Listing::default();
        if let Ok(file) = File::open(home.join(LISTING)) {
            // As far as it can be read.
            let _ = listing.read_from(file);
        }
        listing
    }

    fn read_from(&mut self, input: impl Read) -> io::Result<()> {
        let mut input = Input::new(input);
        if input.bytes::<{ MAGIC.len() }>()? != MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        for _ in 0..input.number()? {
            self.bases.push(Digest::from_bytes(input.bytes()?));
        }
        let (mut path, mut time, mut inode) = (Vec::new(), 0, 0);
        for _ in 0..input.number()? {
            input.text(&mut path)?;
            let bytes = input.number()?;
            time = input.difference(time)?;
            inode = input.difference(inode)?;
            let written = Written {
                bytes,
                time: time.cast_signed(),
                inode,
                digest: Digest::from_bytes(input.bytes()?),
            };
            let [kind] = input.bytes()?;
            let mut base = || u32::try_from(input.number()?).map_err(io::Error::other);
            let origin = match kind {
                0 => Origin::Itself,
                1 => Origin::Slice {
                    base: base()?,
                    offset: input.number()?,
                },
                2 => Origin::Member {
                    base: base()?,
                    offset: input.number()?,
                },
                _ => return Err(io::ErrorKind::InvalidData.into()),
            };
            let path = std::str::from_utf8(&path).map_err(io::Error::other)?;
            if self.len() > 0 && self.paths.get(self.len() - 1) >= path {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.paths.push(path);
            self.files.push((written, origin));
        }
        Ok(())
    }

    pub(super) fn write(&self, accesses: &Accesses, home: &Path) -> Result<(), ManifestError> {
        replace_with(accesses, home, LISTING, |out| self.write_to(out))
    }

    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let out = &mut io::BufWriter::with_capacity(1 << 18, out);
        out.write_all(&MAGIC)?;
        write_number(out, self.bases.len() as u64)?;
        for base in &self.bases {
            out.write_all(base.as_bytes())?;
        }
        write_number(out, self.files.len() as u64)?;
        let (mut path, mut time, mut inode) = (Vec::new(), 0, 0);
        for (place, (written, origin)) in self.files.iter().enumerate() {
            write_text(out, &mut path, self.paths.get(place).as_bytes())?;
            write_number(out, written.bytes)?;
            let now = written.time.cast_unsigned();
            write_difference(out, now, time)?;
            write_difference(out, written.inode, inode)?;
            (time, inode) = (now, written.inode);
            out.write_all(written.digest.as_bytes())?;
            match origin {
                Origin::Itself => out.write_all(&[0])?,
                Origin::Slice { base, offset } | Origin::Member { base, offset } => {
                    let kind = if matches!(origin, Origin::Slice { .. }) {
                        1
                    } else {
                        2
                    };
                    out.write_all(&[kind])?;
                    write_number(out, u64::from(*base))?;
                    write_number(out, *offset)?;
                }
            }
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::TreeEntry;

    type Sample = (Tree, Vec<Option<Written>>);

    fn sample() -> Result<Sample, Box<dyn std::error::Error>> {
        let object = Digest::of(b"object");
        let base = Digest::of(b"base");
        let contents = [
            (
                "private/a.csv",
                Some(Content::Object {
                    digest: object,
                    bytes: 3,
                }),
            ),
            ("public/empty", None),
            (
                "public/x/1",
                Some(Content::Slice {
                    base,
                    offset: 5,
                    bytes: 4,
                }),
            ),
            (
                "public/x/2",
                Some(Content::Slice {
                    base,
                    offset: 9,
                    bytes: 4,
                }),
            ),
        ];
        let entries = contents.map(|(path, content)| TreeEntry {
            path: path.into(),
            content,
        });
        let written = |bytes, inode, content: &[u8]| {
            Some(Written {
                bytes,
                time: -7,
                inode,
                digest: Digest::of(content),
            })
        };
        let files = vec![
            written(3, 70, b"object"),
            None,
            written(4, u64::MAX, b"one"),
            written(4, 2, b"two"),
        ];
        Ok((Tree::new(entries.into())?, files))
    }

    #[test]
    fn a_listing_reads_back_and_knows_what_files_were_made_of()
    -> Result<(), Box<dyn std::error::Error>> {
        let (tree, written) = sample()?;
        let listing = Listing::of(&tree, &written);
        let home = tempfile::tempdir()?;
        listing.write(&Accesses::default(), home.path())?;
        let read = Listing::read(home.path());
        assert_eq!(read, listing);
        assert_eq!(read.len(), 3);
        for (place, file) in tree.files().enumerate() {
            assert_eq!(read.find(file.path()), written[place].as_ref());
            if let Some(content) = file.content() {
                assert_eq!(read.made_of(file.path(), &content), written[place].as_ref());
                assert_eq!(read.made_of("public/x/1", &content).is_some(), place == 2);
            }
        }
        let some = read.only(&[true, false, true]);
        assert_eq!((some.len(), some.find("public/x/1")), (2, None));
        // One that is cut off still tells of its first files.
        let path = home.path().join(LISTING);
        let bytes = fs::read(&path)?;
        fs::write(&path, &bytes[..bytes.len() - 1])?;
        assert_eq!(Listing::read(home.path()).len(), 2);
        fs::write(&path, b"something else")?;
        assert_eq!(Listing::read(home.path()), Listing::default());
        Ok(())
    }
}
