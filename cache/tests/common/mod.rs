//! Helper functions of the tests.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use prep_cache::{Digest, LedgerEntry, Store};
use tempfile::TempDir;

pub type Outcome = Result<(), Box<dyn Error>>;

pub fn empty_store() -> Result<(TempDir, Store), Box<dyn Error>> {
    let dir = crate::temporary::directory();
    let store = Store::open(&dir.path().join("store"))?;
    Ok((dir, store))
}

/// Opens a second handle. Like the handle of another process, it has a separate set of verified objects.
pub fn second_handle(store: &Store) -> Result<Store, Box<dyn Error>> {
    Ok(Store::open(store.root())?)
}

/// Returns the path of the file for `digest` in `bucket`. The layout of a store must stay compatible with older
/// versions, so the tests do not use the store's code to build this path.
pub fn file_of(store: &Store, bucket: &str, digest: &Digest) -> PathBuf {
    let hex = digest.to_string();
    store.root().join(bucket).join(&hex[..2]).join(&hex[2..])
}

pub fn object_file(store: &Store, digest: &Digest) -> PathBuf {
    file_of(store, "objects-v1", digest)
}

/// Inverts a bit of the byte at `offset`.
pub fn flip(path: &Path, offset: u64) -> Outcome {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset)?;
    file.write_all_at(&[byte[0] ^ 1], offset)?;
    Ok(())
}

/// Sets the length of a file. New bytes at its end are zero.
pub fn set_len(path: &Path, len: u64) -> Outcome {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
    OpenOptions::new().write(true).open(path)?.set_len(len)?;
    Ok(())
}

/// Sets the modification time of a file to `days` days ago.
pub fn make_old(path: &Path, days: u64) -> Outcome {
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    File::open(path)?.set_modified(then)?;
    Ok(())
}

/// Returns an entry that was created `days` days ago.
pub fn entry(outputs: &[Digest], days: u64) -> Result<LedgerEntry, Box<dyn Error>> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let named = outputs.iter().enumerate();
    Ok(LedgerEntry {
        record: serde_json::json!({"step": "sql", "version": 1, "query": "SELECT 1"}),
        outputs: named
            .map(|(n, digest)| (format!("out{n}.csv"), *digest))
            .collect::<BTreeMap<_, _>>(),
        references: Vec::new(),
        unstored: Vec::new(),
        created: since.as_secs() - days * 24 * 60 * 60,
        millis: 12,
        lengths: Vec::new(),
        is_remote: false,
        is_discarded: false,
    })
}

/// Returns the number of files and directories in a directory of the store.
pub fn count(store: &Store, bucket: &str) -> Result<usize, Box<dyn Error>> {
    Ok(fs::read_dir(store.root().join(bucket))?.count())
}

/// Returns pseudorandom bytes that depend only on `len` and `seed`.
pub fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut state = 2 * seed + 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}
