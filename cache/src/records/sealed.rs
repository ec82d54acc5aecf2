//! Small JSON files with a hash that reveals truncation and modification.
//!
//! The first line is the hexadecimal BLAKE3 hash of bucket, key and JSON. The rest is the JSON. A file that was
//! truncated, modified or copied to the path of another key does not match its hash and is treated as absent. Files are
//! replaced by renaming and never written in place.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::digest::hex;
use crate::layout::Bucket;
use crate::store::write_all;
use crate::{Digest, Store, StoreError};

/// Length of the first line in bytes, without the line break.
const SEAL_LEN: usize = 2 * Digest::LEN;

/// Maximum length of a record in bytes. The store never writes longer records, so a longer file is not a record.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Result of reading a record.
pub(crate) enum RecordRead<T> {
    Absent,
    /// The file exists, but it is not a complete record of this key.
    Garbled,
    /// The record and its open file.
    Found(T, File),
}

impl Store {
    /// Reads the record of `key`.
    pub(crate) fn load<T: DeserializeOwned>(
        &self,
        bucket: Bucket,
        key: &Digest,
    ) -> Result<RecordRead<T>, StoreError> {
        let path = bucket.file(self.root(), key);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(RecordRead::Absent),
            Err(error) => return Err(StoreError::io("open", &path, error)),
        };
        let Some(bytes) = contents(&file, &path)? else {
            return Ok(RecordRead::Garbled);
        };
        Ok(match unseal(bucket, key, &bytes) {
            Some(record) => RecordRead::Found(record, file),
            None => RecordRead::Garbled,
        })
    }

    /// Writes the record of `key`. Replaces an existing record atomically.
    pub(crate) fn save<T: Serialize>(
        &self,
        bucket: Bucket,
        key: &Digest,
        record: &T,
    ) -> Result<(), StoreError> {
        let path = bucket.file(self.root(), key);
        let bytes = sealed(bucket, key, record)
            .map_err(|error| StoreError::io("write as JSON", &path, error.into()))?;
        let temp = self.temp_file()?;
        write_all(temp.as_file(), temp.path(), &bytes)?;
        self.rename_into(temp, &path)
    }
}

/// Reads a record's file in one call. Returns `None` if it cannot be a record.
fn contents(file: &File, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let error = |source| StoreError::io("read", path, source);
    let metadata = file.metadata().map_err(error)?;
    let len = metadata.len();
    if len > MAX_RECORD_BYTES || metadata.is_dir() {
        return Ok(None);
    }
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(Some(bytes)),
        Err(source) if source.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(source) => Err(error(source)),
    }
}

fn sealed<T: Serialize>(
    bucket: Bucket,
    key: &Digest,
    record: &T,
) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(record)?;
    let mut bytes = seal(bucket, key, &json).into_bytes();
    bytes.push(b'\n');
    bytes.extend(json);
    Ok(bytes)
}

fn unseal<T: DeserializeOwned>(bucket: Bucket, key: &Digest, bytes: &[u8]) -> Option<T> {
    let (found, rest) = bytes.split_at_checked(SEAL_LEN)?;
    let json = rest.strip_prefix(b"\n")?;
    if found != seal(bucket, key, json).as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

fn seal(bucket: Bucket, key: &Digest, json: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bucket.name().as_bytes());
    hasher.update(key.as_bytes());
    hasher.update(json);
    hex(hasher.finalize().as_bytes())
}
