//! Content references: the location of a file's bytes, and readers for them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use prep_cache::{Digest, Store, StoreError, Threads};
use prep_core::{Cancel, Context, FileValue, Location, StepError};
use prep_formats::checked::CheckedReader;
use prep_formats::read_at::ByteSection;
use prep_formats::zip::{MemberInflater, ZipEntry, ZipError};
use thiserror::Error;

use super::layered::BaseFile;
use super::layered::LayeredFile;
use super::layered::Layers;
use super::read_ahead::{CHUNK_BYTES, ReadAhead};

/// The location of a file's bytes.
///
/// If the bytes are a part of another file, that file is the *base*: a bundle or an object. In nested compressed archives
/// (`layered`), the base is the object that describes how to read the inner archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentRef {
    /// An entire object of the cache.
    Object {
        /// Digest of the object.
        digest: Digest,
        /// Length in bytes.
        bytes: u64,
    },
    /// A range of the base, for example in an uncompressed tar archive.
    Slice {
        /// Digest of the base.
        base: Digest,
        /// Whether the bytes are in an archive that is nested in another compressed archive.
        layered: bool,
        /// Start of the range in bytes.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
        /// CRC-32 of the bytes, if it is known, for example for a member of a 7z archive.
        crc32: Option<u32>,
    },
    /// A member of a zip file in the base.
    Member {
        /// Digest of the base.
        base: Digest,
        /// Whether the bytes are in an archive that is nested in another compressed archive.
        layered: bool,
        /// The member's entry in the central directory.
        entry: ZipEntry,
    },
}

/// The reason why the bytes of a file cannot be read.
#[derive(Debug, Error)]
pub enum ContentError {
    /// The store reports an error.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The zip archive is invalid.
    #[error("{0}")]
    Zip(#[from] ZipError),
    /// A read failed.
    #[error("cannot read {subject}")]
    Io {
        /// The file or object.
        subject: String,
        /// The I/O error.
        #[source]
        cause: io::Error,
    },
}

impl From<ContentError> for StepError {
    fn from(error: ContentError) -> StepError {
        StepError::input(error)
    }
}

impl From<FileValue> for ContentRef {
    fn from(file: FileValue) -> ContentRef {
        ContentRef::Object {
            digest: file.digest,
            bytes: file.bytes,
        }
    }
}

impl ContentRef {
    /// Returns the length in bytes after decompression.
    pub fn bytes(&self) -> u64 {
        match self {
            ContentRef::Object { bytes, .. } | ContentRef::Slice { bytes, .. } => *bytes,
            ContentRef::Member { entry, .. } => entry.size,
        }
    }

    /// Returns the range in the base. For a zip member, its header and compressed bytes.
    pub fn range(&self) -> Range<u64> {
        match self {
            ContentRef::Object { bytes, .. } => 0..*bytes,
            ContentRef::Slice { offset, bytes, .. } => *offset..offset + bytes,
            ContentRef::Member { entry, .. } => entry.header_offset..entry.limit,
        }
    }

    /// Returns whether the bytes are in an archive that is nested in another compressed archive.
    pub fn is_layered(&self) -> bool {
        match self {
            ContentRef::Object { .. } => false,
            ContentRef::Slice { layered, .. } | ContentRef::Member { layered, .. } => *layered,
        }
    }

    /// Returns the digest of the base, or of the object.
    pub fn base(&self) -> &Digest {
        match self {
            ContentRef::Object { digest, .. } => digest,
            ContentRef::Slice { base, .. } | ContentRef::Member { base, .. } => base,
        }
    }
}

/// Content up to this length in bytes is verified in memory. Longer content is streamed, which is slower.
const MAX_BUFFERED_BYTES: u64 = 4 << 20;

/// Opens the files to which content references refer, and keeps base files open. All threads of a step share one
/// opener.
pub struct Opener {
    context: Context,
    /// Open base files, by digest and by whether the file is a private copy that no other process can modify.
    bases: Mutex<HashMap<(Digest, bool), BaseFile>>,
    /// Open layered files, by the digest of the object that describes their layers.
    layered: Mutex<HashMap<Digest, BaseFile>>,
}

/// Content up to this length in bytes is not read ahead, because starting a thread would take too long.
const MIN_READ_AHEAD_BYTES: u64 = 4 * CHUNK_BYTES as u64;

/// Reads an object that may have a hard link outside the cache. Fails at the end if it was modified while it was read.
struct ModificationCheck<R> {
    inner: R,
    file: BaseFile,
    base: Digest,
    modified: Option<SystemTime>,
}

/// Returns the modification time of a local file. `None` for other files.
fn modified(file: &BaseFile) -> Option<SystemTime> {
    file.local_file()?
        .metadata()
        .and_then(|found| found.modified())
        .ok()
}

impl<R: Read> Read for ModificationCheck<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() && modified(&self.file) != self.modified {
            let path = self.base.to_string().into();
            return Err(io::Error::other(StoreError::Changed { path }));
        }
        Ok(count)
    }
}

/// A content reference with its open base file.
pub struct OpenContent<'a> {
    file: BaseFile,
    content: &'a ContentRef,
    cancel: Cancel,
    threads: Threads,
}

impl Opener {
    /// Creates an opener for a step.
    pub fn new(context: &Context) -> Opener {
        Opener {
            context: context.clone(),
            bases: Mutex::default(),
            layered: Mutex::default(),
        }
    }

    /// Returns the store of the step.
    pub fn store(&self) -> &Store {
        &self.context.store
    }

    /// Opens the file to which `content` refers. Fails if its base is missing or was modified.
    pub fn open<'a>(&self, content: &'a ContentRef) -> Result<OpenContent<'a>, ContentError> {
        // An entire object is opened without a private copy. If the object is published as a hard link, users can
        // modify it, but `ModificationCheck` notices this. A part of an object is read without this check, so a private
        // copy of the object is opened, which users cannot modify.
        let is_object = matches!(content, ContentRef::Object { .. });
        let file = self.open_base(content, !is_object)?;
        Ok(OpenContent {
            file,
            content,
            cancel: self.context.cancel.clone(),
            threads: self.context.threads.clone(),
        })
    }

    /// Opens the base of `content`: a private copy of an object, a file outside the cache, or the decompressed data of
    /// an archive.
    pub(crate) fn base(&self, content: &ContentRef) -> Result<BaseFile, ContentError> {
        self.open_base(content, true)
    }

    /// Opens a cached object as a private file. Fails if the object is not in the cache of this machine.
    pub fn open_stored(&self, object: &Digest) -> Result<Arc<File>, ContentError> {
        match self.open_file(object, true)? {
            BaseFile::Local(file) => Ok(file),
            BaseFile::Remote(_) | BaseFile::Layered(_) => Err(ContentError::Io {
                subject: object.to_string(),
                cause: io::Error::other("it is not an object of the cache"),
            }),
        }
    }

    /// Returns whether this base is a file on another machine.
    pub fn is_remote(&self, base: &Digest) -> bool {
        let location = self.context.outside.location(base);
        matches!(location, Some(Location::Ranges(_)))
    }

    /// Announces which contents will be read, so that adjacent ranges on another machine are fetched together.
    pub fn expect(&self, contents: impl Iterator<Item = ContentRef>) {
        let mut ranges_by_base: HashMap<Digest, Vec<Range<u64>>> = HashMap::new();
        for content in contents {
            ranges_by_base
                .entry(*content.base())
                .or_default()
                .push(content.range());
        }
        for (base, ranges) in ranges_by_base {
            if let Some(Location::Ranges(content)) = self.context.outside.location(&base) {
                content.expect(ranges);
            }
        }
    }

    /// Opens the base of `content`. If the base is an object and `private` is true, opens a private copy, which no
    /// other process can modify.
    fn open_base(&self, content: &ContentRef, private: bool) -> Result<BaseFile, ContentError> {
        match content.is_layered() {
            true => self.layered(content.base()),
            false => self.open_file(content.base(), private),
        }
    }

    /// Opens the file that the object `layers` describes.
    pub(crate) fn layered(&self, layers: &Digest) -> Result<BaseFile, ContentError> {
        let mut layered = self.layered.lock();
        if let Some(open) = layered.get(layers) {
            return Ok(open.clone());
        }
        let object = self.open_stored(layers)?;
        let failed = |cause| ContentError::Io {
            subject: layers.to_string(),
            cause,
        };
        let found = Layers::read(&object).map_err(failed)?;
        let mut file = self.open_file(&found.base, true)?;
        // Concurrent steps share the decompressed layers.
        let shared = self.context.objects.shared(layers, || {
            for layer in found.layers {
                let opened = LayeredFile::new(&self.context, file, &object, layer);
                file = BaseFile::Layered(Arc::new(opened));
            }
            Ok(file)
        });
        let shared = shared.map_err(|error| failed(io::Error::other(error)))?;
        let file = BaseFile::clone(&shared);
        layered.insert(*layers, file.clone());
        Ok(file)
    }

    fn open_file(&self, base: &Digest, private: bool) -> Result<BaseFile, ContentError> {
        let mut bases = self.bases.lock();
        if let Some(open) = bases.get(&(*base, private)) {
            return Ok(open.clone());
        }
        let outside = match self.context.outside.location(base) {
            Some(Location::Path(path)) => self
                .open_outside_store(base, &path)?
                .map(|file| BaseFile::Local(Arc::new(file))),
            Some(Location::Ranges(content)) => Some(BaseFile::Remote(content)),
            None => None,
        };
        let open = match outside {
            Some(open) => open,
            // The base is an object, or a file outside the cache that no longer exists. For such a file, opening the object
            // fails with `Missing`, and the step that provides the file runs again.
            None => {
                let store = &self.context.store;
                // A read-only cache cannot create a private copy. The object itself suffices, because it is only read, not
                // mapped into memory.
                let object = match private && !store.is_read_only() {
                    true => store.open_private(base)?.into(),
                    false => store.open_object(base)?,
                };
                let file = object.file().try_clone();
                let file = file.map_err(|cause| ContentError::Io {
                    subject: base.to_string(),
                    cause,
                })?;
                BaseFile::Local(Arc::new(file))
            }
        };
        bases.insert((*base, private), open.clone());
        Ok(open)
    }

    /// Opens a file outside the cache. `None` if it does not exist. Fails if it was modified after its digest was recorded.
    fn open_outside_store(&self, base: &Digest, path: &Path) -> Result<Option<File>, ContentError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => {
                let subject = path.display().to_string();
                return Err(ContentError::Io { subject, cause });
            }
        };
        match self.context.store.source(path)? {
            Some(record) if record.digest == *base => Ok(Some(file)),
            _ => {
                let path = path.to_path_buf();
                Err(StoreError::Changed { path }.into())
            }
        }
    }
}

impl OpenContent<'_> {
    /// Returns a sequential reader. It fails if the run is cancelled or, at the latest at the end, if the data are damaged.
    pub fn reader(&self) -> Result<Box<dyn Read + Send>, ContentError> {
        let file = self.file.clone();
        Ok(match self.content {
            ContentRef::Object { bytes, digest } => Box::new(ModificationCheck {
                inner: self
                    .cancel
                    .reader(ByteSection::new(file.clone(), 0..*bytes)),
                modified: modified(&file),
                file,
                base: *digest,
            }),
            ContentRef::Slice {
                offset,
                bytes,
                crc32,
                ..
            } => {
                let section = ByteSection::new(file, *offset..offset + bytes);
                Box::new(CheckedReader::new(
                    self.cancel.reader(section),
                    *bytes,
                    *crc32,
                ))
            }
            ContentRef::Member { entry, .. } => {
                Box::new(self.cancel.reader(entry.clone().into_reader(file)?))
            }
        })
    }

    /// Same as [`reader`](OpenContent::reader), but reads long content on another thread, if one is free.
    pub fn read_ahead(&self) -> Result<Box<dyn BufRead + Send>, ContentError> {
        let reader = self.reader()?;
        let permit = match self.bytes() > MIN_READ_AHEAD_BYTES {
            true => self.threads.try_take(),
            false => None,
        };
        Ok(match ReadAhead::start(reader, permit) {
            Ok(ahead) => Box::new(ahead),
            Err(reader) => Box::new(BufReader::with_capacity(CHUNK_BYTES, reader)),
        })
    }

    /// Returns the content reference.
    pub fn content(&self) -> &ContentRef {
        self.content
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.content.bytes()
    }

    /// Replaces `buffer` with the entire content.
    pub fn read_into(
        &self,
        inflater: &mut MemberInflater,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ContentError> {
        match self.content {
            ContentRef::Member { entry, .. } => Ok(inflater.read_into(&self.file, entry, buffer)?),
            content => {
                buffer.clear();
                let mut reader = self.reader()?;
                let read = reader.read_to_end(buffer);
                read.map_err(|cause| ContentError::Io {
                    subject: content.base().to_string(),
                    cause,
                })?;
                Ok(())
            }
        }
    }

    /// Reads the entire content to verify it. Short content is read into `buffer`.
    pub fn check(
        &self,
        inflater: &mut MemberInflater,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ContentError> {
        if self.bytes() <= MAX_BUFFERED_BYTES {
            return self.read_into(inflater, buffer);
        }
        let read = io::copy(&mut self.reader()?, &mut io::sink());
        read.map(drop).map_err(|cause| ContentError::Io {
            subject: self.content.base().to_string(),
            cause,
        })
    }

    /// Returns the base file and the entry of a zip member, for copying its compressed bytes. `None` for other contents.
    pub(crate) fn member(&self) -> Option<(&BaseFile, &ZipEntry)> {
        match self.content {
            ContentRef::Member { entry, .. } => Some((&self.file, entry)),
            _ => None,
        }
    }
}
