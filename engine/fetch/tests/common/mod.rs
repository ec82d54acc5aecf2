//! A fixture for tests: a server, a directory and a cache.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use prep_cache::{Digest, Store};
use prep_core::{Cancel, Context, RunLimits, Source, StepError, Value};
use prep_fault_server::{Bundle, Fault, FaultServer, KEY, USERNAME};
use prep_fetch::{
    DownloadOptions, FetchError, KaggleBundle, KaggleCredentials, Network, RemoteZip, SearchPath,
    Secret,
};
use tempfile::TempDir;

pub type Outcome = Result<(), Box<dyn std::error::Error>>;

pub const ID: &str = "spooky-author-identification";

/// Length of the record at the end of a zip archive.
const END_RECORD: usize = 22;

/// Returns random bytes with the first and the last record of a zip archive without members.
pub fn content(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(length)
    .collect();
    bytes[..4].copy_from_slice(b"PK\x03\x04");
    let end = length - END_RECORD;
    bytes[end..].fill(0);
    bytes[end..end + 4].copy_from_slice(b"PK\x05\x06");
    bytes[end + 16..end + 20].copy_from_slice(&(end as u32).to_le_bytes());
    bytes
}

/// Returns options with small pieces, short timeouts and few attempts.
pub fn options(endpoint: &str) -> DownloadOptions {
    DownloadOptions {
        endpoint: endpoint.to_owned(),
        connections: 4,
        first_connections: 2,
        piece: 16 << 10,
        range: 64 << 10,
        stall: Duration::from_secs(1),
        attempts: 4,
        backoff: Duration::from_millis(5),
        patience: Duration::from_secs(3),
        ..DownloadOptions::default()
    }
}

pub fn key() -> KaggleCredentials {
    KaggleCredentials::Key {
        username: USERNAME.into(),
        key: Secret::new(KEY),
    }
}

/// A server with bundles, a network handle for this server, and an empty data directory and cache.
pub struct Fixture {
    pub server: FaultServer,
    pub dir: TempDir,
    pub context: Context,
    pub network: Network,
}

impl Fixture {
    pub fn new(bundle: Bundle, faults: Vec<Fault>) -> Fixture {
        Fixture::with(vec![bundle], faults, |_| {})
    }

    /// Creates a fixture whose options are changed by `change`.
    pub fn with(
        bundles: Vec<Bundle>,
        faults: Vec<Fault>,
        change: impl FnOnce(&mut DownloadOptions),
    ) -> Fixture {
        let server = FaultServer::start(bundles, faults).unwrap();
        let dir = crate::temporary::directory();
        let mut options = options(&server.endpoint());
        change(&mut options);
        Fixture {
            network: Network::new(options, key()).unwrap(),
            context: context(&dir),
            server,
            dir,
        }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn source(&self, md5: Option<&str>) -> KaggleBundle {
        KaggleBundle::new(ID, search(ID, &self.data()), md5, self.network.clone())
    }

    pub fn run(&self, md5: Option<&str>) -> Result<Value, StepError> {
        self.source(md5).run(&self.context)
    }

    pub fn list(&self, id: &str) -> Result<RemoteZip, FetchError> {
        self.network.list(id, &self.context.cancel)
    }

    pub fn target(&self) -> PathBuf {
        self.data().join(ID).join(format!("{ID}.zip"))
    }

    pub fn partial(&self) -> PathBuf {
        self.target().with_extension("zip.partial")
    }

    /// Checks that the bundle has these bytes, that its digest is recorded, and that no other file is left.
    pub fn assert_complete(&self, bytes: &[u8]) {
        assert!(
            std::fs::read(self.target()).unwrap() == bytes,
            "the bytes differ"
        );
        let record = self.context.store.source(&self.target()).unwrap().unwrap();
        assert_eq!(record.digest, Digest::of_bytes(bytes));
        let names: Vec<_> = self
            .target()
            .parent()
            .unwrap()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}

pub fn search<'a>(id: &'a str, data: &'a Path) -> SearchPath<'a> {
    SearchPath {
        id,
        directories: &[],
        data,
    }
}

pub fn context(dir: &TempDir) -> Context {
    let store = Store::open(&dir.path().join("store")).unwrap();
    let limits = RunLimits {
        jobs: 1,
        memory: 1 << 30,
    };
    Context::new(store, limits, Cancel::default())
}
