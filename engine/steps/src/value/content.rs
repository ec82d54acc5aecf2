//! Where the bytes of a tree's file are, and reading them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use prep_cache::{Digest, Store, StoreError, Threads};
use prep_core::{Cancel, Context, Location, StepError};
use prep_formats::checked::Checked;
use prep_formats::read_at::Section;
use prep_formats::zip::{MemberInflater, ZipEntry, ZipError};
use thiserror::Error;

use super::ahead::{Ahead, PIECE};
use super::base::BaseFile;
use super::layered::LayeredFile;
use super::layers::Layers;

/// The bytes of one file.
///
/// The base of a part is the file that holds it: a bundle, or an object of the store. Where the archive is itself packed in
/// a bundle (`layered`), it is the object with its layers, by which it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A whole object of the store.
    Object { digest: Digest, bytes: u64 },
    /// `bytes` from `offset` on of what `base` holds: a file in an archive.
    Slice {
        base: Digest,
        layered: bool,
        offset: u64,
        bytes: u64,
        /// Its CRC-32, where nothing else tells whether it is right.
        crc32: Option<u32>,
    },
    /// A member of a zip, which `base` holds.
    Member {
        base: Digest,
        layered: bool,
        entry: ZipEntry,
    },
}

#[derive(Debug, Error)]
pub enum ContentError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Zip(#[from] ZipError),
    #[error("cannot read {what}: {cause}")]
    Io {
        what: String,
        #[source]
        cause: io::Error,
    },
}

impl From<ContentError> for StepError {
    fn from(error: ContentError) -> StepError {
        StepError::input(error)
    }
}

impl Content {
    pub fn bytes(&self) -> u64 {
        match self {
            Content::Object { bytes, .. } | Content::Slice { bytes, .. } => *bytes,
            Content::Member { entry, .. } => entry.size,
        }
    }

    /// Where in its base the bytes lie; of a member, with its header.
    pub fn range(&self) -> Range<u64> {
        match self {
            Content::Object { bytes, .. } => 0..*bytes,
            Content::Slice { offset, bytes, .. } => *offset..offset + bytes,
            Content::Member { entry, .. } => entry.header_offset..entry.limit,
        }
    }

    /// Whether the base has to be unpacked.
    pub fn is_layered(&self) -> bool {
        match self {
            Content::Object { .. } => false,
            Content::Slice { layered, .. } | Content::Member { layered, .. } => *layered,
        }
    }

    /// The object or outside file that holds the bytes, or the layers around them.
    pub fn base(&self) -> &Digest {
        match self {
            Content::Object { digest, .. } => digest,
            Content::Slice { base, .. } | Content::Member { base, .. } => base,
        }
    }
}

/// Contents up to this length are checked in one piece, which is faster.
const SHORT: u64 = 4 << 20;

/// Opens contents; keeps base files open. Shared by the threads of a step.
pub struct Opener {
    context: Context,
    /// By base, and whether it was opened for nobody else to write to.
    bases: Mutex<HashMap<(Digest, bool), BaseFile>>,
    /// By the object of its layers.
    layered: Mutex<HashMap<Digest, BaseFile>>,
}

/// Only a content longer than this is read ahead: below, starting a thread takes longer.
const LONG: u64 = 4 * PIECE as u64;

/// Reads an object that may have another name outside the store: at its end, nobody must have written to it.
struct Unchanged<R> {
    inner: R,
    file: BaseFile,
    base: Digest,
    modified: Option<SystemTime>,
}

fn modified(file: &BaseFile) -> Option<SystemTime> {
    file.here()?
        .metadata()
        .and_then(|found| found.modified())
        .ok()
}

impl<R: Read> Read for Unchanged<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() && modified(&self.file) != self.modified {
            let path = self.base.to_string().into();
            return Err(io::Error::other(StoreError::Changed { path }));
        }
        Ok(count)
    }
}

/// An opened base file and what to read of it.
pub struct OpenContent<'a> {
    file: BaseFile,
    content: &'a Content,
    cancel: Cancel,
    threads: Threads,
}

impl Opener {
    pub fn new(context: &Context) -> Opener {
        Opener {
            context: context.clone(),
            bases: Mutex::default(),
            layered: Mutex::default(),
        }
    }

    pub fn store(&self) -> &Store {
        &self.context.store
    }

    pub fn open<'a>(&self, content: &'a Content) -> Result<OpenContent<'a>, ContentError> {
        // An object as a whole may be published and checked; what is only a part of one is never linked.
        let is_whole = matches!(content, Content::Object { .. });
        let file = self.holder(content, !is_whole)?;
        Ok(OpenContent {
            file,
            content,
            cancel: self.context.cancel.clone(),
            threads: self.context.threads.clone(),
        })
    }

    /// What holds a content: a verified object that nobody can write to, the outside file, or what is packed there.
    pub fn base(&self, content: &Content) -> Result<BaseFile, ContentError> {
        self.holder(content, true)
    }

    /// The open file behind the digest of an object, which is on this machine.
    pub fn stored(&self, object: &Digest) -> Result<Arc<File>, ContentError> {
        match self.base_as(object, true)? {
            BaseFile::Here(file) => Ok(file),
            BaseFile::Elsewhere(_) | BaseFile::Layered(_) => Err(ContentError::Io {
                what: object.to_string(),
                cause: io::Error::other("it is no object of the store"),
            }),
        }
    }

    /// Whether contents of this base lie on another machine.
    pub fn is_elsewhere(&self, base: &Digest) -> bool {
        let location = self.context.location(base);
        matches!(location, Some(Location::Ranges(_)))
    }

    /// Announces which contents are going to be read, so that neighbours on another machine come together.
    pub fn expect(&self, contents: impl Iterator<Item = Content>) {
        let mut wanted: HashMap<Digest, Vec<Range<u64>>> = HashMap::new();
        for content in contents {
            wanted
                .entry(*content.base())
                .or_default()
                .push(content.range());
        }
        for (base, ranges) in wanted {
            if let Some(Location::Ranges(content)) = self.context.location(&base) {
                content.expect(ranges);
            }
        }
    }

    fn holder(&self, content: &Content, private: bool) -> Result<BaseFile, ContentError> {
        match content.is_layered() {
            true => self.layered(content.base()),
            false => self.base_as(content.base(), private),
        }
    }

    /// What is packed, by the object of its layers.
    pub(crate) fn layered(&self, layers: &Digest) -> Result<BaseFile, ContentError> {
        let mut layered = self.layered.lock();
        if let Some(open) = layered.get(layers) {
            return Ok(open.clone());
        }
        let object = self.stored(layers)?;
        let failed = |cause| ContentError::Io {
            what: layers.to_string(),
            cause,
        };
        let found = Layers::read(&object).map_err(failed)?;
        let mut file = self.base_as(&found.base, true)?;
        // What one step unpacks, those that run beside it need not.
        let shared = self.context.shared(layers, || {
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

    fn base_as(&self, base: &Digest, private: bool) -> Result<BaseFile, ContentError> {
        let mut bases = self.bases.lock();
        if let Some(open) = bases.get(&(*base, private)) {
            return Ok(open.clone());
        }
        let outside = match self.context.location(base) {
            Some(Location::Path(path)) => self
                .outside(base, &path)?
                .map(|file| BaseFile::Here(Arc::new(file))),
            Some(Location::Ranges(content)) => Some(BaseFile::Elsewhere(content)),
            None => None,
        };
        let open = match outside {
            Some(open) => open,
            // What is known, but not there any more, its source brings again.
            None => {
                let store = &self.context.store;
                // A read-only handle cannot make an object private. Its bytes are only read here, not mapped.
                let object = match private && !store.is_read_only() {
                    true => store.open_private(base)?.into(),
                    false => store.open_object(base)?,
                };
                let file = object.file().try_clone();
                let file = file.map_err(|cause| ContentError::Io {
                    what: base.to_string(),
                    cause,
                })?;
                BaseFile::Here(Arc::new(file))
            }
        };
        bases.insert((*base, private), open.clone());
        Ok(open)
    }

    /// The outside file, if it is there. It must hold what it held when it was read for its digest.
    fn outside(&self, base: &Digest, path: &Path) -> Result<Option<File>, ContentError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => {
                let what = path.display().to_string();
                return Err(ContentError::Io { what, cause });
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
    /// Reads the content in sequence; damage is an error, never wrong bytes that pass for right ones. Reading ends with
    /// an error, too, when the run is cancelled.
    pub fn reader(&self) -> Result<Box<dyn Read + Send>, ContentError> {
        let file = self.file.clone();
        Ok(match self.content {
            Content::Object { bytes, digest } => Box::new(Unchanged {
                inner: self.cancel.reader(Section::new(file.clone(), 0..*bytes)),
                modified: modified(&file),
                file,
                base: *digest,
            }),
            Content::Slice {
                offset,
                bytes,
                crc32,
                ..
            } => {
                let section = Section::new(file, *offset..offset + bytes);
                Box::new(Checked::new(self.cancel.reader(section), *bytes, *crc32))
            }
            Content::Member { entry, .. } => {
                Box::new(self.cancel.reader(entry.clone().into_reader(file)?))
            }
        })
    }

    /// As [`reader`](OpenContent::reader), for who has work to do with the bytes: a long content is read on another
    /// thread, if one is free, while they are used.
    pub fn ahead(&self) -> Result<Box<dyn BufRead + Send>, ContentError> {
        let reader = self.reader()?;
        let permit = match self.bytes() > LONG {
            true => self.threads.try_take(),
            false => None,
        };
        let started = match permit {
            Some(permit) => Ahead::start(reader, permit),
            None => Err(reader),
        };
        Ok(match started {
            Ok(ahead) => Box::new(ahead),
            Err(reader) => Box::new(BufReader::with_capacity(PIECE, reader)),
        })
    }

    pub fn content(&self) -> &Content {
        self.content
    }

    /// Length of the content.
    pub fn bytes(&self) -> u64 {
        self.content.bytes()
    }

    /// Reads the whole content into `buffer`, which is replaced.
    pub fn read_into(
        &self,
        inflater: &mut MemberInflater,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ContentError> {
        match self.content {
            Content::Member { entry, .. } => Ok(inflater.read_into(&self.file, entry, buffer)?),
            content => {
                buffer.clear();
                let mut reader = self.reader()?;
                let read = reader.read_to_end(buffer);
                read.map_err(|cause| ContentError::Io {
                    what: content.base().to_string(),
                    cause,
                })?;
                Ok(())
            }
        }
    }

    /// Reads the content to its end, as far as it is not known to be whole, and keeps nothing of it. `buffer` serves for
    /// short contents.
    pub fn check(
        &self,
        inflater: &mut MemberInflater,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ContentError> {
        if self.bytes() <= SHORT {
            return self.read_into(inflater, buffer);
        }
        let read = io::copy(&mut self.reader()?, &mut io::sink());
        read.map(drop).map_err(|cause| ContentError::Io {
            what: self.content.base().to_string(),
            cause,
        })
    }

    /// The zip member behind the content, with its base file, when its compressed bytes can be passed on.
    pub fn member(&self) -> Option<(&BaseFile, &ZipEntry)> {
        match self.content {
            Content::Member { entry, .. } => Some((&self.file, entry)),
            _ => None,
        }
    }
}
