//! The list of published files, with their metadata and the origin of their content.
//!
//! ```text
//! DATA/ID/prepared.files
//!   "prep files 4\n"
//!   number of bases, digests of the bases (32 bytes each); a base is an object or bundle with the content of files
//!   number of files, then for each file, sorted by path:
//!     path, as the length of the prefix shared with the previous path, and the rest
//!     bytes, time, inode (time and inode as differences to those of the previous file)
//!     SHA-256 of the content
//!     origin: 0 an entire base, 1 a part of a base, 2 a member of an archive in a base; then the index of the base, and
//!     for 1 and 2 the offset
//! ```
//!
//! Numbers and strings are encoded as in the module `compact`. A file from an archive takes about 55 bytes.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use prep_cache::Digest;
use prep_digests::Sha256;

use super::home::{ManifestError, NEVER, replace_with, trusted_time};
use crate::value::{
    CompactReader, ContentOrigin, OriginKind, TextList, Tree, TreeFile, write_difference,
    write_number, write_text,
};

/// Name of the listing in `DATA/ID`.
pub const LISTING_FILE: &str = "prepared.files";
const MAGIC: [u8; 13] = *b"prep files 4\n";

/// Placeholder for the SHA-256 of a file that was not read yet.
const UNKNOWN_SHA256: Sha256 = Sha256::from_bytes([0; 32]);

/// Metadata of a published file, without its size. Other structs already contain the size. Storing the size twice would
/// waste memory, because there may be millions of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrittenFile {
    /// Modification time in nanoseconds since 1970.
    time: i64,
    /// The inode distinguishes files of the same size that were written within one tick of the clock.
    inode: NonZeroU64,
    /// SHA-256 of the content, or [`UNKNOWN_SHA256`].
    sha256: Sha256,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PublishedListing {
    paths: TextList,
    files: Vec<ListedFile>,
    bases: Vec<Digest>,
    /// Whether the listing was read to its end.
    is_complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedFile {
    pub bytes: u64,
    pub written: WrittenFile,
    /// Files with equal origins have equal contents.
    origin: ContentOrigin,
}

impl WrittenFile {
    pub(super) fn new(metadata: &fs::Metadata, sha256: Option<Sha256>) -> WrittenFile {
        WrittenFile {
            time: prep_cache::modification_time(metadata),
            inode: inode(metadata.ino()),
            sha256: sha256.unwrap_or(UNKNOWN_SHA256),
        }
    }

    pub(super) fn sha256(&self) -> Option<Sha256> {
        Some(self.sha256).filter(|one| *one != UNKNOWN_SHA256)
    }

    pub(super) fn set_sha256(&mut self, sha256: Sha256) {
        self.sha256 = sha256;
    }
}

impl ListedFile {
    /// Returns an entry without metadata. It marks the path of a published file that is not written yet.
    fn claim() -> ListedFile {
        ListedFile {
            bytes: 0,
            written: WrittenFile {
                time: NEVER,
                inode: NonZeroU64::MIN,
                sha256: UNKNOWN_SHA256,
            },
            origin: ContentOrigin {
                kind: OriginKind::Object,
                base: 0,
                offset: 0,
            },
        }
    }

    /// Replaces the modification time by [`NEVER`] if it cannot be trusted, see [`trusted_time`].
    fn with_trusted_time(mut self, began: SystemTime) -> ListedFile {
        self.written.time = trusted_time(self.written.time, began);
        self
    }

    /// Returns false if the file is marked as changed. Otherwise, a file with these metadata has the recorded content.
    pub(super) fn is_trusted(&self) -> bool {
        self.written.time != NEVER
    }
}

/// Returns the number of an inode, with 1 in place of 0, so that `Option<WrittenFile>` takes no extra memory.
fn inode(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
}

/// Writes the listing of a tree. `written` contains the metadata of the files, in the order of the tree. Omits files
/// without metadata. For `began`, see [`trusted_time`].
pub(super) fn write_published(
    home: &Path,
    tree: &Tree,
    written: &[Option<WrittenFile>],
    began: SystemTime,
) -> Result<(), ManifestError> {
    let listed = || {
        let files = tree.files().zip(written);
        files.filter_map(|(file, written)| {
            let listed = ListedFile {
                bytes: file.bytes(),
                written: (*written)?,
                origin: file.origin()?,
            };
            Some((file.path(), listed))
        })
    };
    let files = listed().count() as u64;
    replace_with(home, LISTING_FILE, None, |out| {
        let listed = listed().map(|(path, listed)| (path, listed.with_trusted_time(began)));
        write(out, tree.bases(), files, listed)
    })
}

/// Writes a listing in the format that the module documents.
fn write<'a>(
    out: &mut dyn Write,
    bases: &[Digest],
    files: u64,
    listed: impl Iterator<Item = (&'a str, ListedFile)>,
) -> io::Result<()> {
    let out = &mut io::BufWriter::with_capacity(1 << 18, out);
    out.write_all(&MAGIC)?;
    write_number(out, bases.len() as u64)?;
    for base in bases {
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
        let ContentOrigin { kind, base, offset } = file.origin;
        out.write_all(&[kind as u8])?;
        write_number(out, u64::from(base))?;
        if kind != OriginKind::Object {
            write_number(out, offset)?;
        }
    }
    out.flush()
}

impl PublishedListing {
    /// Replaces the metadata of each file by the result of `metadata` for its index. `None` marks the file as changed.
    pub(super) fn with_metadata(
        &self,
        metadata: impl Fn(usize) -> Option<WrittenFile>,
    ) -> PublishedListing {
        let mut listing = PublishedListing {
            bases: self.bases.clone(),
            is_complete: self.is_complete,
            ..PublishedListing::default()
        };
        for (index, file) in self.files.iter().enumerate() {
            let written = metadata(index).unwrap_or(WrittenFile {
                time: NEVER,
                ..file.written
            });
            listing.push(self.paths.get(index), ListedFile { written, ..*file });
        }
        listing
    }

    /// Marks a file as changed if `is_trusted` returns false for its index. Files that are already marked stay marked.
    pub(super) fn trusting(&self, is_trusted: impl Fn(usize) -> bool) -> PublishedListing {
        self.with_metadata(|index| {
            let file = self.files.get(index).filter(|_| is_trusted(index))?;
            Some(file.written)
        })
    }

    /// Marks as changed all files that may be hard links to cached objects, so that they are written again.
    pub(super) fn without_objects(&self) -> PublishedListing {
        self.trusting(|index| {
            let kind = self.files.get(index).map(|file| file.origin.kind);
            kind != Some(OriginKind::Object)
        })
    }

    /// Adds entries for the files of `desired` with these `indices`, which must be sorted.
    ///
    /// The caller must store this listing before it writes the files. If the publication is interrupted, a later
    /// publication then recognises these files.
    pub(super) fn claiming(&self, desired: &Tree, indices: &[u32]) -> PublishedListing {
        let mut claimed = PublishedListing {
            bases: self.bases.clone(),
            ..PublishedListing::default()
        };
        let mut listed = (0..self.len())
            .filter_map(|index| self.get(index))
            .peekable();
        for file in indices
            .iter()
            .filter_map(|index| desired.file(*index as usize))
        {
            while let Some((path, before)) = listed.next_if(|(path, _)| *path < file.path()) {
                claimed.push(path, *before);
            }
            match listed.next_if(|(path, _)| *path == file.path()) {
                Some((path, before)) => claimed.push(path, *before),
                None => claimed.push(file.path(), ListedFile::claim()),
            }
        }
        for (path, before) in listed {
            claimed.push(path, *before);
        }
        claimed
    }

    fn push(&mut self, path: &str, file: ListedFile) {
        self.paths.push(path);
        self.files.push(file);
    }

    #[cfg(test)]
    pub(super) fn trusted(&self) -> usize {
        self.files.iter().filter(|file| file.is_trusted()).count()
    }

    /// Returns false if files are missing, because the listing is damaged.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns whether the listing contains a file below the directory `path`.
    pub(super) fn has_below(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        let index = self.paths.lower_bound(&inside);
        self.get(index)
            .is_some_and(|(found, _)| found.starts_with(&inside))
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<(&str, &ListedFile)> {
        Some((self.paths.get(index), self.files.get(index)?))
    }

    /// Returns the object whose entire content a file has. Such a file may be a hard link to the object.
    pub(super) fn object(&self, file: &ListedFile) -> Option<&Digest> {
        let base = self.bases.get(file.origin.base as usize);
        base.filter(|_| file.origin.kind == OriginKind::Object)
    }

    pub(super) fn find(&self, path: &str) -> Option<&ListedFile> {
        let index = self.paths.lower_bound(path);
        let (found, listed) = self.get(index)?;
        (found == path).then_some(listed)
    }

    /// Returns the listed file with the path of `desired_file`. Returns `None` if the listed file is marked as changed, or
    /// if its content has a different origin than the content of `desired_file`.
    pub(super) fn with_same_origin(&self, desired_file: &TreeFile<'_>) -> Option<&ListedFile> {
        let listed = self.find(desired_file.path())?;
        let (origin, desired) = (listed.origin, desired_file.origin()?);
        let is_same = listed.is_trusted()
            && (origin.kind, origin.offset) == (desired.kind, desired.offset)
            && self.bases.get(origin.base as usize) == desired_file.base()
            && listed.bytes == desired_file.bytes();
        is_same.then_some(listed)
    }

    /// Reads the listing in `home`. If the listing is damaged, returns only the files before the damage. If there is no
    /// listing, returns an empty one.
    ///
    /// # Errors
    /// Returns an error if the system cannot read the listing.
    pub(super) fn read(home: &Path) -> Result<PublishedListing, ManifestError> {
        let path = home.join(LISTING_FILE);
        let failed = ManifestError::io("read", &path);
        let mut listing = PublishedListing::default();
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listing),
            file => file.map_err(&failed)?,
        };
        match listing.read_from(file) {
            Err(error) if error.raw_os_error().is_some() => return Err(failed(error)),
            read => listing.is_complete = read.is_ok(),
        }
        Ok(listing)
    }

    fn read_from(&mut self, input: impl Read) -> io::Result<()> {
        let mut input = CompactReader::new(input);
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
            let written = WrittenFile {
                time: time.cast_signed(),
                inode: self::inode(inode),
                sha256: Sha256::from_bytes(input.bytes()?),
            };
            let [kind] = input.bytes()?;
            let base = u32::try_from(input.number()?).map_err(io::Error::other)?;
            let (kind, offset) = match kind {
                0 => (OriginKind::Object, 0),
                1 => (OriginKind::Slice, input.number()?),
                2 => (OriginKind::Member, input.number()?),
                _ => return Err(io::ErrorKind::InvalidData.into()),
            };
            let origin = ContentOrigin { kind, base, offset };
            let path = std::str::from_utf8(&path).map_err(io::Error::other)?;
            if self.len() > 0 && self.paths.get(self.len() - 1) >= path {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let listed = ListedFile {
                bytes,
                written,
                origin,
            };
            self.push(path, listed);
        }
        Ok(())
    }

    /// Returns this listing in the format of its file, without times and inodes.
    pub(super) fn without_metadata(&self) -> io::Result<Vec<u8>> {
        let listed = self.files.iter().enumerate().map(|(index, file)| {
            let written = WrittenFile {
                sha256: file.written.sha256,
                ..ListedFile::claim().written
            };
            (self.paths.get(index), ListedFile { written, ..*file })
        });
        let mut bytes = Vec::new();
        write(&mut bytes, &self.bases, self.files.len() as u64, listed)?;
        Ok(bytes)
    }

    /// Writes this listing. For `began`, see [`trusted_time`].
    pub(super) fn write(&self, home: &Path, began: SystemTime) -> Result<(), ManifestError> {
        let files = self.files.iter().enumerate();
        let listed =
            files.map(|(index, file)| (self.paths.get(index), file.with_trusted_time(began)));
        replace_with(home, LISTING_FILE, None, |out| {
            write(out, &self.bases, self.files.len() as u64, listed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{ContentRef, TreeEntry};

    type Sample = (Tree, Vec<Option<WrittenFile>>);

    fn object(digest: Digest) -> ContentRef {
        ContentRef::Object { digest, bytes: 3 }
    }

    fn slice(base: Digest, offset: u64) -> ContentRef {
        ContentRef::Slice {
            base,
            layered: false,
            offset,
            bytes: 4,
            crc32: None,
        }
    }

    fn sample() -> Result<Sample, Box<dyn std::error::Error>> {
        let base = Digest::of_bytes(b"base");
        let contents = [
            ("private/a.csv", Some(object(Digest::of_bytes(b"object")))),
            ("public/empty", None),
            ("public/x/1", Some(slice(base, 5))),
            ("public/x/2", Some(slice(base, 9))),
        ];
        let entries = contents.map(|(path, content)| TreeEntry {
            path: path.into(),
            content,
        });
        let written = |number, content: &[u8]| {
            Some(WrittenFile {
                time: -7,
                inode: inode(number),
                sha256: Sha256::of_bytes(content),
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
    fn listing_round_trips_with_the_origins_of_files() -> Result<(), Box<dyn std::error::Error>> {
        let base = Digest::of_bytes(b"base");
        let (tree, written) = sample()?;
        let home = tempfile::tempdir()?;
        write_published(home.path(), &tree, &written, SystemTime::now())?;
        let read = PublishedListing::read(home.path()).unwrap();
        read.write(home.path(), SystemTime::now())?;
        assert_eq!(PublishedListing::read(home.path()).unwrap(), read);
        assert_eq!(read.len(), 3);
        for (index, file) in tree.files().enumerate() {
            let found = read.find(file.path()).map(|listed| listed.written);
            assert_eq!(found, written[index]);
            let by_origin = read.with_same_origin(&file).map(|listed| listed.written);
            assert_eq!(by_origin, written[index], "{}", file.path());
        }
        for (path, content) in [
            ("public/x/1", slice(base, 6)),
            ("public/x/2", slice(Digest::of_bytes(b"other"), 9)),
            ("private/a.csv", object(base)),
        ] {
            let other = Tree::new(vec![TreeEntry {
                path: path.into(),
                content: Some(content),
            }])?;
            let found = other.files().find_map(|file| read.with_same_origin(&file));
            assert_eq!(found, None, "{path}");
        }
        // Mark `public/x/1` as changed.
        let marked = read.trusting(|index| index != 1);
        assert_eq!((marked.len(), marked.trusted()), (3, 2));
        let changed = tree.files().find(|file| file.path() == "public/x/1");
        assert!(marked.find("public/x/1").is_some() && read.has_below("public/x"));
        assert_eq!(
            changed.and_then(|file| marked.with_same_origin(&file)),
            None
        );
        assert!(!read.has_below("public/x/1") && !read.has_below("public/y"));
        // Two of these paths are not in the listing yet.
        let desired = ["a", "private/a.csv", "public/x/3"].map(|path| TreeEntry {
            path: path.into(),
            content: Some(object(base)),
        });
        let desired = Tree::new(desired.into())?;
        let claimed = read.claiming(&desired, &[0, 1, 2]);
        claimed.write(home.path(), SystemTime::now())?;
        let claimed = PublishedListing::read(home.path()).unwrap();
        assert_eq!((claimed.len(), claimed.trusted()), (5, 3));
        assert_eq!(claimed.find("private/a.csv"), read.find("private/a.csv"));
        for file in desired.files() {
            assert_eq!(claimed.with_same_origin(&file), None, "{}", file.path());
        }
        // A truncated listing contains the files before the damage.
        read.write(home.path(), SystemTime::now())?;
        let path = home.path().join(LISTING_FILE);
        let bytes = fs::read(&path)?;
        fs::write(&path, &bytes[..bytes.len() - 1])?;
        assert_eq!(PublishedListing::read(home.path()).unwrap().len(), 2);
        fs::write(&path, b"something else")?;
        assert_eq!(
            PublishedListing::read(home.path()).unwrap(),
            PublishedListing::default()
        );
        Ok(())
    }
}
