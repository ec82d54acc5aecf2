//! Digests of files outside the store, such as bundles, so that each file is hashed only once.
//!
//! A record is valid while the file's stamp (length, modification time, change time and inode) is unchanged. Two writes
//! within one tick of the file system's clock give the same stamp. Therefore the store reads a file only after the tick of
//! the file's last change has ended. This takes usually 20 milliseconds, and at most two seconds.
//!
//! A record can also have a name, for example the id of a bundle's competition. A named record remains after its file is
//! removed. Each name has one record for the content that was seen last, and one for the content from which results were
//! produced ([`Store::confirm_source`]).
//!
//! All data directories share these records. Therefore a record does not show from which content a particular directory was
//! prepared.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::digest::{hash, hex, read_chunk};
use crate::layout::Bucket;
use crate::records::ledger::RecordRead;
use crate::system::machine::Stamp;
use crate::system::threads::Consumer;
use crate::{Digest, Permit, Store, StoreError, unix_seconds};

const CHUNK_BYTES: usize = 1024 * 1024;

/// Maximum number of chunks that wait for the MD5 thread. MD5 is slower than BLAKE3, so a longer queue would not help.
const CHUNKS_IN_FLIGHT: usize = 4;

/// Digests of a file outside the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The file's canonical path in printable form.
    pub path: String,
    /// BLAKE3 digest of its bytes.
    pub digest: Digest,
    /// MD5 of the bytes as 32 lower-case hexadecimal digits. `None` if no caller requested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
    /// SHA-256 of the bytes as 64 lower-case hexadecimal digits. `None` if no caller requested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    stamp: Stamp,
    /// The name under which the record is stored. `None` if it is stored under its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// When the record was stored under its name, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    named_at: Option<u64>,
    /// Highest known serial number of a remote's record of this name ([`Store::remote_serial`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    serial: Option<u64>,
}

/// Digests and length of a file, without its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// BLAKE3 digest of the bytes.
    pub digest: Digest,
    /// Number of bytes.
    pub bytes: u64,
    /// MD5 of the bytes, as in [`SourceRecord::md5`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
    /// SHA-256 of the bytes, as in [`SourceRecord::sha256`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl SourceRecord {
    /// Returns a record of content that is not in a local file.
    pub fn of_content(content: &Content) -> SourceRecord {
        SourceRecord {
            path: String::new(),
            digest: content.digest,
            md5: content.md5.clone(),
            sha256: content.sha256.clone(),
            stamp: Stamp::without_file(content.bytes),
            name: None,
            named_at: None,
            serial: None,
        }
    }

    /// Returns when the record was stored under its name, in seconds since 1970.
    pub fn named_at(&self) -> Option<u64> {
        self.named_at
    }

    /// Returns the digests and length without the path.
    pub fn content(&self) -> Content {
        Content {
            digest: self.digest,
            bytes: self.len(),
            md5: self.md5.clone(),
            sha256: self.sha256.clone(),
        }
    }

    /// Returns the length of the file in bytes.
    pub fn len(&self) -> u64 {
        self.stamp.len
    }

    /// Returns whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.stamp.len == 0
    }

    pub(crate) fn is_named(&self) -> bool {
        self.name.is_some()
    }
}

impl Store {
    /// Returns the record of the file `path`, if the store has one and the file has not changed since the record was
    /// written.
    ///
    /// # Errors
    /// If the file cannot be examined, for example because it does not exist.
    pub fn source(&self, path: &Path) -> Result<Option<SourceRecord>, StoreError> {
        let path = canonical(path)?;
        let now = path
            .metadata()
            .map_err(|error| StoreError::io("examine", &path, error))?;
        match self.load::<SourceRecord>(Bucket::Sources, &key_of(&path))? {
            RecordRead::Found(record, _) if record.stamp.agrees_with(Stamp::of_outside(&now)) => {
                Ok(Some(record))
            }
            _ => Ok(None),
        }
    }

    /// Reads the file `path` once and stores its BLAKE3 digest, and its MD5 if `with_md5` is true. Calls `progress` with
    /// the number of bytes of each read. If `progress` returns an error, for example after a cancellation, reads no further.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if the file changes during the call, and errors of reading the file or writing the record.
    pub fn ingest(
        &self,
        path: &Path,
        with_md5: bool,
        progress: &dyn Fn(u64) -> io::Result<()>,
    ) -> Result<SourceRecord, StoreError> {
        self.must_be_writable()?;
        let path = canonical(path)?;
        let permit = if with_md5 { self.thread() } else { None };
        let ((digest, md5), stamp) = self.read_unchanged(&path, None, |reader| {
            if with_md5 {
                let (digest, md5, len) = blake3_and_md5(reader, progress, permit)?;
                return Ok(((digest, Some(md5)), len));
            }
            let (digest, len) = hash(reader, CHUNK_BYTES, progress)?;
            Ok(((digest, None), len))
        })?;
        self.save_source(&path, digest, md5, stamp)
    }

    /// Calls `read` with the file at the canonical path `path`. `read` must return a value and the number of bytes that it
    /// read. This function returns the value and the file's stamp.
    ///
    /// Fails if the file changes during the call, or if its stamp differs from `expected`.
    fn read_unchanged<T>(
        &self,
        path: &Path,
        expected: Option<Stamp>,
        read: impl FnOnce(&File) -> io::Result<(T, u64)>,
    ) -> Result<(T, Stamp), StoreError> {
        let error = |source| StoreError::io("read", path, source);
        let changed = || StoreError::Changed {
            path: path.to_path_buf(),
        };
        let file = File::open(path).map_err(error)?;
        let before = file.metadata().map_err(error)?;
        let stamp = Stamp::of_outside(&before);
        if expected.is_some_and(|expected| !expected.agrees_with(stamp)) {
            return Err(changed());
        }
        wait_until_settled(stamp);
        let (result, len) = read(&file).map_err(error)?;
        // If a program replaced the file by renaming, only the stamp of the file at the path differs.
        let open = Stamp::of_outside(&file.metadata().map_err(error)?);
        let named = Stamp::of_outside(&path.metadata().map_err(error)?);
        match open == stamp && named == stamp && len == stamp.len {
            true => Ok((result, stamp)),
            false => Err(changed()),
        }
    }
}

impl Store {
    /// Stores the digests of `file`, which were computed while the file was written. `path` must be the final path of the
    /// file, and no program may still write to it.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if `path` names a different file, and errors of examining the file or writing the record.
    pub fn remember_source(
        &self,
        path: &Path,
        file: &File,
        digest: Digest,
        md5: &str,
    ) -> Result<SourceRecord, StoreError> {
        self.must_be_writable()?;
        let path = canonical(path)?;
        let error = |source| StoreError::io("examine", &path, source);
        let open = file.metadata().map_err(error)?;
        let stamp = Stamp::of_outside(&open);
        wait_until_settled(stamp);
        if Stamp::of_outside(&path.metadata().map_err(error)?) != stamp {
            return Err(StoreError::Changed { path });
        }
        self.save_source(&path, digest, Some(md5.to_owned()), stamp)
    }

    fn save_source(
        &self,
        canonical: &Path,
        digest: Digest,
        md5: Option<String>,
        stamp: Stamp,
    ) -> Result<SourceRecord, StoreError> {
        let record = SourceRecord {
            path: canonical.display().to_string(),
            digest,
            md5,
            sha256: None,
            stamp,
            name: None,
            named_at: None,
            serial: None,
        };
        self.save(Bucket::Sources, &key_of(canonical), &record)?;
        Ok(record)
    }

    /// Adds the SHA-256 of the file `path` to `record`, the store's record of this file. Reads the file again. For `progress`,
    /// see [`ingest`](Self::ingest).
    ///
    /// # Errors
    /// [`StoreError::Changed`] if the file changed since the record was created, and errors of reading the file or
    /// writing the record.
    pub fn add_sha256(
        &self,
        path: &Path,
        record: SourceRecord,
        progress: &dyn Fn(u64) -> io::Result<()>,
    ) -> Result<SourceRecord, StoreError> {
        self.must_be_writable()?;
        let path = canonical(path)?;
        let (sha256, _) = self.read_unchanged(&path, Some(record.stamp), |mut reader| {
            let (mut sha256, mut len) = (Sha256::new(), 0);
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let read = read_chunk(&mut reader, &mut chunk)?;
                let bytes = chunk.get(..read).unwrap_or_default();
                if bytes.is_empty() {
                    return Ok((hex(&sha256.finalize()), len));
                }
                sha256.update(bytes);
                len += read as u64;
                progress(read as u64)?;
            }
        })?;
        let record = SourceRecord {
            sha256: Some(sha256),
            ..record
        };
        self.save(Bucket::Sources, &key_of(&path), &record)?;
        Ok(record)
    }

    /// Same as [`name_source`](Self::name_source), for content of which only a remote cache has a record.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn name_content(&self, name: &str, content: &Content) -> Result<(), StoreError> {
        self.name_source(name, &SourceRecord::of_content(content))
    }

    /// Returns the highest serial number that the remote cache `remote` is known to have for the source `name`, or 0 if
    /// none is known. [`set_remote_serial`](Self::set_remote_serial) stores this number on this machine. If the remote
    /// returns a record with a lower serial number, that record is outdated.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn remote_serial(&self, remote: &str, name: &str) -> Result<u64, StoreError> {
        let found = self.read_record(&remote_record_name(remote, name))?;
        Ok(found.and_then(|found| found.serial).unwrap_or(0))
    }

    /// Records that the remote cache `remote` has a record of the source `name` with this `content` and the serial number
    /// `serial`.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn set_remote_serial(
        &self,
        remote: &str,
        name: &str,
        content: &Content,
        serial: u64,
    ) -> Result<(), StoreError> {
        let record = SourceRecord {
            serial: Some(serial),
            ..SourceRecord::of_content(content)
        };
        self.set_named(&remote_record_name(remote, name), &record)
    }

    /// Records that the source `name`, for example a competition's bundle, was last seen with the content of `record`.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn name_source(&self, name: &str, record: &SourceRecord) -> Result<(), StoreError> {
        self.set_named(&last_seen_name(name), record)
    }

    /// Records that results were produced from the source `name` with the content of `record`.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn confirm_source(&self, name: &str, record: &SourceRecord) -> Result<(), StoreError> {
        let old = self.read_record(name)?;
        if old.is_some_and(|old| old.content() == record.content()) {
            return Ok(());
        }
        self.set_named(name, record)
    }

    /// Returns the known contents of the source `name`, even if their files no longer exist. The content from which results
    /// were produced comes before the content that was seen last. Each is omitted if it is unknown.
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn named_sources(&self, name: &str) -> Result<Vec<SourceRecord>, StoreError> {
        let records = [
            self.read_record(name)?,
            self.read_record(&last_seen_name(name))?,
        ];
        Ok(records.into_iter().flatten().collect())
    }

    fn set_named(&self, name: &str, record: &SourceRecord) -> Result<(), StoreError> {
        self.must_be_writable()?;
        let named = SourceRecord {
            name: Some(name.to_owned()),
            named_at: Some(unix_seconds()),
            ..record.clone()
        };
        self.save(Bucket::Sources, &key_of_name(name), &named)
    }

    fn read_record(&self, name: &str) -> Result<Option<SourceRecord>, StoreError> {
        match self.load::<SourceRecord>(Bucket::Sources, &key_of_name(name))? {
            RecordRead::Found(record, _) if record.name.as_deref() == Some(name) => {
                Ok(Some(record))
            }
            _ => Ok(None),
        }
    }
}

fn wait_until_settled(stamp: Stamp) {
    thread::sleep(stamp.time_until_settled(SystemTime::now()));
}

fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    path.canonicalize()
        .map_err(|error| StoreError::io("find", path, error))
}

fn key_of(canonical: &Path) -> Digest {
    Digest::of_bytes(canonical.as_os_str().as_encoded_bytes())
}

/// Returns the digest under which a named record is stored. The hashed string contains NUL, but no path does. Therefore
/// the digest differs from those of paths.
fn key_of_name(name: &str) -> Digest {
    Digest::of_bytes(format!("name\0{name}").as_bytes())
}

/// Returns the name of the record for the content that was seen last. It contains NUL, so it differs from the names of
/// sources.
fn last_seen_name(name: &str) -> String {
    format!("{name}\0seen")
}

fn remote_record_name(remote: &str, name: &str) -> String {
    format!("{remote}\0{name}\0remote")
}

/// Computes BLAKE3, MD5 and length of `input` in one pass. MD5 is computed on a separate thread if `permit` is given.
fn blake3_and_md5(
    mut input: impl Read,
    progress: &dyn Fn(u64) -> io::Result<()>,
    permit: Option<Permit>,
) -> io::Result<(Digest, String, u64)> {
    let md5 = Md5::new();
    let mut md5 = match permit {
        Some(permit) => Consumer::start(md5, permit, CHUNKS_IN_FLIGHT, |mut md5, chunks| {
            let _: Result<(), ()> = chunks.for_each(|chunk| {
                md5.update(chunk);
                Ok(())
            });
            md5
        }),
        None => Err(md5),
    };
    let (mut blake3, mut len, mut spare) = (blake3::Hasher::new(), 0, Vec::new());
    loop {
        let mut chunk = std::mem::take(&mut spare);
        chunk.resize(CHUNK_BYTES, 0);
        let read = read_chunk(&mut input, &mut chunk)?;
        if read == 0 {
            break;
        }
        chunk.truncate(read);
        blake3.update(&chunk);
        len += read as u64;
        match &mut md5 {
            Ok(thread) => {
                if !thread.send(chunk) {
                    break;
                }
                spare = thread.recycled().unwrap_or_default();
            }
            Err(md5) => {
                md5.update(&chunk);
                spare = chunk;
            }
        }
        progress(read as u64)?;
    }
    let md5 = match md5 {
        Ok(thread) => thread.finish(),
        Err(md5) => Some(md5),
    };
    let md5 = md5.ok_or_else(|| io::Error::other("the MD5 thread died"))?;
    Ok((blake3.finalize().into(), hex(&md5.finalize()), len))
}
