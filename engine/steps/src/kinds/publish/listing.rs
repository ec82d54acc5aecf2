//! The list of published files: what was written, and from what it was made.
//!
//! ```text
//! DATA/ID/prepared.files
//!   "prep files 4\n"
//!   number of bases, bases (32 bytes each)
//!   number of files, then for each, sorted by path:
//!     path, as what it shares with the one before and the rest
//!     bytes, time, inode (these two as differences to the file before)
//!     SHA-256 of the content
//!     origin: 0 a whole base; 1 a part of one; 2 a member of an archive: then base, and in 1 and 2 the offset
//! ```
//!
//! Numbers and texts are written as trees write them, so that a file of an archive takes some 55 bytes.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use prep_cache::Digest;
use prep_digests::Sha256;

use super::manifest::{ManifestError, replace_with};
use crate::value::{
    File as TreeFile, Input, Origin, Texts, Tree, write_difference, write_number, write_text,
};

const LISTING: &str = "prepared.files";
const MAGIC: [u8; 13] = *b"prep files 4\n";

/// Stands for a SHA-256 that nobody has computed yet.
const UNKNOWN: Sha256 = Sha256::from_bytes([0; 32]);

/// A file as it was written. There may be millions, so its length is where it is known anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// Modification time in nanoseconds since 1970.
    time: i64,
    /// Tells apart two files of one size that were made within a tick of the clock.
    inode: NonZeroU64,
    /// Of the content, unless it is [`UNKNOWN`].
    sha256: Sha256,
}

/// All published files, sorted by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    paths: Texts,
    files: Vec<Listed>,
    bases: Vec<Digest>,
}

/// A file of the listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pub bytes: u64,
    pub written: Written,
    /// What it was made of; equal origins have equal contents.
    origin: Origin,
}

impl Written {
    pub(super) fn of(metadata: &fs::Metadata, sha256: Option<Sha256>) -> Written {
        Written {
            time: time(metadata),
            inode: inode(metadata.ino()),
            sha256: sha256.unwrap_or(UNKNOWN),
        }
    }

    /// SHA-256 of the content; none until somebody has read it.
    pub(super) fn sha256(&self) -> Option<Sha256> {
        Some(self.sha256).filter(|one| *one != UNKNOWN)
    }

    pub(super) fn set_sha256(&mut self, sha256: Sha256) {
        self.sha256 = sha256;
    }
}

impl Listed {
    /// Is the file on disk this one, as far as inode, size and time tell?
    pub(super) fn is_untouched(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| {
            metadata.is_file()
                && metadata.len() == self.bytes
                && Written::of(&metadata, self.written.sha256()) == self.written
        })
    }
}

fn time(metadata: &fs::Metadata) -> i64 {
    metadata
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(metadata.mtime_nsec())
}

/// No file has the inode 0.
fn inode(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
}

/// Writes the listing of a tree whose files were written so, by their places in it. Files that were not are left out.
pub(super) fn write_published(
    home: &Path,
    tree: &Tree,
    written: &[Option<Written>],
) -> Result<(), ManifestError> {
    let listed = || {
        let files = tree.files().zip(written);
        files.filter_map(|(file, written)| {
            let listed = Listed {
                bytes: file.bytes(),
                written: (*written)?,
                origin: file.origin()?,
            };
            Some((file.path(), listed))
        })
    };
    let files = listed().count() as u64;
    let origins = || listed().map(|(_, listed)| listed.origin);
    let bases = Bases::used(tree.bases(), origins());
    replace_with(home, LISTING, |out| write(out, &bases, files, listed()))
}

/// Those of some bases that origins refer to.
struct Bases {
    used: Vec<Digest>,
    /// By place among all: place among those used.
    places: Vec<u32>,
}

impl Bases {
    fn used(all: &[Digest], origins: impl Iterator<Item = Origin>) -> Bases {
        let mut bases = Bases {
            used: Vec::new(),
            places: vec![u32::MAX; all.len()],
        };
        for origin in origins {
            if let Some(place) = bases.places.get_mut(origin.base() as usize)
                && *place == u32::MAX
            {
                *place = u32::try_from(bases.used.len()).unwrap_or(u32::MAX);
                bases.used.extend(all.get(origin.base() as usize));
            }
        }
        bases
    }

    fn place(&self, base: u32) -> u64 {
        let place = self.places.get(base as usize);
        u64::from(place.copied().unwrap_or(u32::MAX))
    }
}

fn write<'a>(
    out: &mut dyn Write,
    bases: &Bases,
    files: u64,
    listed: impl Iterator<Item = (&'a str, Listed)>,
) -> io::Result<()> {
    let out = &mut io::BufWriter::with_capacity(1 << 18, out);
    out.write_all(&MAGIC)?;
    write_number(out, bases.used.len() as u64)?;
    for base in &bases.used {
        out.write_all(base.as_bytes())?;
    }
    write_number(out, files)?;
    let (mut before, mut time, mut inode) = (Vec::new(), 0, 0);
    for (path, file) in listed {
        let written = file.written;
        write_text(out, &mut before, path.as_bytes())?;
        write_number(out, file.bytes)?;
        let now = written.time.cast_unsigned();
        write_difference(out, now, time)?;
        write_difference(out, written.inode.get(), inode)?;
        (time, inode) = (now, written.inode.get());
        out.write_all(written.sha256.as_bytes())?;
        let (kind, offset) = match file.origin {
            Origin::Object { .. } => (0, None),
            Origin::Slice { offset, .. } => (1, Some(offset)),
            Origin::Member { offset, .. } => (2, Some(offset)),
        };
        out.write_all(&[kind])?;
        write_number(out, bases.place(file.origin.base()))?;
        if let Some(offset) = offset {
            write_number(out, offset)?;
        }
    }
    out.flush()
}

impl Listing {
    /// Only the files at places for which this holds.
    pub(super) fn only(&self, holds: impl Fn(usize) -> bool) -> Listing {
        let mut listing = Listing {
            bases: self.bases.clone(),
            ..Listing::default()
        };
        for (place, file) in self.files.iter().enumerate() {
            if holds(place) {
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
    pub(super) fn get(&self, place: usize) -> Option<(&str, &Listed)> {
        Some((self.paths.get(place), self.files.get(place)?))
    }

    /// The file at a path.
    pub(super) fn find(&self, path: &str) -> Option<&Listed> {
        let place = self.paths.first_not_below(path);
        let (found, listed) = self.get(place)?;
        (found == path).then_some(listed)
    }

    /// The file at the path of a wanted one, if it was made of the same.
    pub(super) fn made_of(&self, wanted: &TreeFile<'_>) -> Option<&Listed> {
        let listed = self.find(wanted.path())?;
        let same = match (listed.origin, wanted.origin()?) {
            (Origin::Object { .. }, Origin::Object { .. }) => true,
            (Origin::Slice { offset, .. }, Origin::Slice { offset: at, .. })
            | (Origin::Member { offset, .. }, Origin::Member { offset: at, .. }) => offset == at,
            _ => false,
        };
        let base = self.bases.get(listed.origin.base() as usize);
        (same && base == wanted.base() && listed.bytes == wanted.bytes()).then_some(listed)
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
                time: time.cast_signed(),
                inode: self::inode(inode),
                sha256: Sha256::from_bytes(input.bytes()?),
            };
            let [kind] = input.bytes()?;
            let base = u32::try_from(input.number()?).map_err(io::Error::other)?;
            let origin = match kind {
                0 => Origin::Object { base },
                1 => Origin::Slice {
                    base,
                    offset: input.number()?,
                },
                2 => Origin::Member {
                    base,
                    offset: input.number()?,
                },
                _ => return Err(io::ErrorKind::InvalidData.into()),
            };
            let path = std::str::from_utf8(&path).map_err(io::Error::other)?;
            if self.len() > 0 && self.paths.get(self.len() - 1) >= path {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.paths.push(path);
            self.files.push(Listed {
                bytes,
                written,
                origin,
            });
        }
        Ok(())
    }

    pub(super) fn write(&self, home: &Path) -> Result<(), ManifestError> {
        let origins = self.files.iter().map(|file| file.origin);
        let bases = Bases::used(&self.bases, origins);
        let files = self.files.iter().enumerate();
        let listed = files.map(|(place, file)| (self.paths.get(place), *file));
        replace_with(home, LISTING, |out| {
            write(out, &bases, self.files.len() as u64, listed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Content, TreeEntry};

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
                    layered: false,
                    offset: 5,
                    bytes: 4,
                    crc32: None,
                }),
            ),
            (
                "public/x/2",
                Some(Content::Slice {
                    base,
                    layered: false,
                    offset: 9,
                    bytes: 4,
                    crc32: None,
                }),
            ),
        ];
        let entries = contents.map(|(path, content)| TreeEntry {
            path: path.into(),
            content,
        });
        let written = |number, content: &[u8]| {
            Some(Written {
                time: -7,
                inode: inode(number),
                sha256: Sha256::of(content),
            })
        };
        let files = vec![
            written(70, b"object"),
            None,
            written(u64::MAX, b"one"),
            written(2, b"two"),
        ];
        Ok((Tree::new(entries.into())?, files))
    }

    #[test]
    fn a_listing_reads_back_and_knows_what_files_were_made_of()
    -> Result<(), Box<dyn std::error::Error>> {
        let base = Digest::of(b"base");
        let (tree, written) = sample()?;
        let home = tempfile::tempdir()?;
        write_published(home.path(), &tree, &written)?;
        let read = Listing::read(home.path());
        read.write(home.path())?;
        assert_eq!(Listing::read(home.path()), read);
        assert_eq!(read.len(), 3);
        for (place, file) in tree.files().enumerate() {
            let found = read.find(file.path()).map(|listed| listed.written);
            assert_eq!(found, written[place]);
            let made = read.made_of(&file).map(|listed| listed.written);
            assert_eq!(made, written[place], "{}", file.path());
        }
        // The same paths with other bytes.
        for (path, content) in [
            (
                "public/x/1",
                Content::Slice {
                    base,
                    layered: false,
                    offset: 6,
                    bytes: 4,
                    crc32: None,
                },
            ),
            (
                "public/x/2",
                Content::Slice {
                    base: Digest::of(b"other"),
                    layered: false,
                    offset: 9,
                    bytes: 4,
                    crc32: None,
                },
            ),
            (
                "private/a.csv",
                Content::Object {
                    digest: base,
                    bytes: 3,
                },
            ),
        ] {
            let other = Tree::new(vec![TreeEntry {
                path: path.into(),
                content: Some(content),
            }])?;
            let found = other.files().find_map(|file| read.made_of(&file));
            assert_eq!(found, None, "{path}");
        }
        let some = read.only(|place| place != 1);
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
