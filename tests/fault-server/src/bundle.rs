//! The competitions and bundles that the server provides.

use base64::Engine as _;
use bytes::Bytes;
use md5::{Digest as _, Md5};

#[derive(Debug, Clone)]
pub enum Content {
    /// Bytes in memory.
    Memory(Bytes),
    /// A block, repeated up to `len` bytes, so that a large bundle needs little memory.
    Repeat { block: Bytes, len: u64 },
}

impl Content {
    pub fn len(&self) -> u64 {
        match self {
            Content::Memory(bytes) => bytes.len() as u64,
            Content::Repeat { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns at most `max` bytes from `offset`: fewer at the end of a block, none at the end of the content.
    pub fn read(&self, offset: u64, max: usize) -> Bytes {
        let (block, from, left) = match self {
            Content::Memory(bytes) => (bytes, offset, self.len().saturating_sub(offset)),
            Content::Repeat { block, len } => (
                block,
                offset % block.len().max(1) as u64,
                len.saturating_sub(offset),
            ),
        };
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(block.len());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let count = max.min(left).min(block.len() - from);
        block.slice(from..from + count)
    }

    /// Returns the MD5 in hexadecimal, and in base64 for `x-goog-hash`.
    pub(crate) fn md5(&self) -> (String, String) {
        let mut md5 = Md5::new();
        let mut at = 0;
        loop {
            let part = self.read(at, 1 << 20);
            if part.is_empty() {
                break;
            }
            md5.update(&part);
            at += part.len() as u64;
        }
        let sum = md5.finalize();
        let hex = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        (hex, base64::engine::general_purpose::STANDARD.encode(sum))
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content::Memory(bytes.into())
    }
}

#[derive(Debug, Clone)]
pub struct MemberFile {
    /// Path within the bundle.
    pub path: String,
    pub bytes: Bytes,
    /// A zip archive that contains only this file.
    pub zipped: Bytes,
}

/// The headers by which clients recognise a version of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validators {
    pub etag: Etag,
    pub modified: Modified,
    /// Whether only the first response has these headers.
    pub once: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Etag {
    /// Depends on the content.
    Strong,
    /// Depends on the content.
    Weak,
    /// The same for all contents.
    ConstantWeak,
    /// The same for all bundles.
    Shared,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modified {
    /// Depends on the content.
    Changing,
    /// The same for all contents.
    Constant,
    None,
}

impl Default for Validators {
    fn default() -> Validators {
        Validators {
            etag: Etag::Strong,
            modified: Modified::Constant,
            once: false,
        }
    }
}

/// The bundle of a competition, and whether it may be downloaded.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub id: String,
    pub content: Content,
    pub md5: String,
    pub(crate) md5_base64: String,
    /// Whether the user has accepted the rules. If not, the API responds with 403.
    pub rules_accepted: bool,
    /// Whether responses contain `x-goog-hash`.
    pub hash_header: bool,
    /// The other headers that identify the version.
    pub validators: Validators,
    /// The files that the API lists and sends one by one.
    pub files: Vec<MemberFile>,
}

impl Bundle {
    /// Creates a bundle that may be downloaded.
    pub fn new(id: &str, content: impl Into<Content>) -> Bundle {
        let content = content.into();
        let (md5, md5_base64) = content.md5();
        Bundle {
            id: id.to_owned(),
            content,
            md5,
            md5_base64,
            rules_accepted: true,
            hash_header: true,
            validators: Validators::default(),
            files: Vec::new(),
        }
    }

    /// Creates a bundle that is too long to compute its digest. Its ETag depends on its length.
    pub fn without_digest(id: &str, content: Content) -> Bundle {
        Bundle {
            id: id.to_owned(),
            md5: format!("length-{}", content.len()),
            md5_base64: String::new(),
            content,
            rules_accepted: true,
            hash_header: false,
            validators: Validators::default(),
            files: Vec::new(),
        }
    }

    pub fn with_files(mut self, files: Vec<MemberFile>) -> Bundle {
        self.files = files;
        self
    }

    pub(crate) fn file(&self, path: &str) -> Option<&MemberFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Marks the rules as not accepted.
    pub fn without_consent(mut self) -> Bundle {
        self.rules_accepted = false;
        self
    }

    pub fn without_hash(mut self) -> Bundle {
        self.hash_header = false;
        self
    }

    /// Sets the headers that identify the version, and omits the MD5 from responses.
    pub fn with_validators(mut self, validators: Validators) -> Bundle {
        self.hash_header = false;
        self.validators = validators;
        self
    }

    pub(crate) fn etag(&self) -> Option<String> {
        match self.validators.etag {
            Etag::Strong => Some(format!("\"{}\"", self.md5)),
            Etag::Weak => Some(format!("W/\"{}\"", self.md5)),
            Etag::ConstantWeak => Some("W/\"1\"".to_owned()),
            Etag::Shared => Some("\"1\"".to_owned()),
            Etag::None => None,
        }
    }

    pub(crate) fn modified(&self) -> Option<String> {
        let second = match self.validators.modified {
            Modified::None => return None,
            Modified::Constant => 7,
            Modified::Changing => {
                self.md5
                    .bytes()
                    .fold(0, |sum: u32, byte| sum * 31 % 60 + u32::from(byte))
                    % 60
            }
        };
        Some(format!("Tue, 10 Dec 2024 09:08:{second:02} GMT"))
    }
}
