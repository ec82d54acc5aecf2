//! Fetches bundles and other sources. Each source identifies its content by a digest and verifies the published MD5.
//!
//! ```text
//! bundle/      the sources: local bundles, full and partial downloads, listings, files at URLs, directories
//! download/    the download of one file: sessions, connections, the number of connections, the final verification
//! resume/      state that survives a process: partial file, piece map, running digests
//! wire/        the API and the object store: URLs, meaning of responses, retries, rate limit
//! network      the handle that the other modules use     credentials   finds and renews credentials
//! options      limits and timeouts; the reports about waiting downloads; a clock that tests can replace
//! ```
//!
//! Each of `bundle`, `download`, `resume` and `wire` depends only on the modules listed after it.
//!
//! # Guarantees
//!
//! - A bundle gets its final name only after its length and MD5 (published, or sent by the server) are verified.
//! - A piece that is intact on disk is never fetched again, not even by a later process.
//! - A file never contains bytes of two objects: every response must prove by a strong ETag or MD5 that it belongs to the
//!   same object. If the server sends neither, all bytes come from one response.
//! - No server blocks a download for ever: a request fails if its response begins too late or arrives too slowly.
//! - Only the API's own hosts get credentials. Messages name hosts, not URLs.
//! - Failures are counted and limited (`wire/retry`).
//!
//! # Example: a bundle on local disk
//!
//! ```
//! use prep_fetch::LocalBundle;
//! let dir = std::env::temp_dir();
//! let bundle = LocalBundle::new("no-such-competition", &[&dir], None);
//! assert!(bundle.path().is_none());
//! ```

#![warn(missing_docs)]

mod credentials;
mod download;
mod error;
mod network;
mod options;

mod resume {
    //! Download state that survives a process: the partial file, the map of its pieces, and their digests.

    pub(crate) mod partial;
    pub(crate) mod pieces;
}

mod bundle {
    //! Sources: bundles (local, downloaded entirely or in part, or only listed), files at URLs, and directories.

    pub(crate) mod directory;
    pub(crate) mod kaggle;
    pub(crate) mod local;
    pub(crate) mod part;
    pub(crate) mod remote;
    pub(crate) mod web;
}

mod wire {
    //! HTTP requests: URLs, responses and retries. This module does not access files.

    pub(crate) mod answer;
    pub(crate) mod ask;
    pub(crate) mod body;
    pub(crate) mod calls;
    pub(crate) mod connect;
    pub(crate) mod identity;
    pub(crate) mod location;
    pub(crate) mod proxy;
    pub(crate) mod queries;
    pub(crate) mod retry;
    pub(crate) mod shared;
}

pub use bundle::directory::{DirectoryError, LocalDirectory, Members, UnsupportedEntry};
pub use bundle::kaggle::{KaggleBundle, bundle_files, discard, partial_bytes};
pub use bundle::local::{BundleChecksums, BundleError, LocalBundle, SearchPath, bundle_stem};
pub use bundle::part::PartOfBundle;
pub use bundle::remote::{BundlePreview, RemoteZip};
pub use bundle::web::{WebAddress, WebFile};
pub use credentials::{
    CredentialVariables, CredentialsError, FoundCredentials, KaggleCredentials, Login, Origin,
    Secret, find_credentials,
};
pub use error::{ENDPOINT_VARIABLE, FetchError, Server, Trouble};
pub use network::{LazyNetwork, Network};
pub use options::{Clock, DownloadOptions, ENDPOINT, WaitReport, Watcher};
pub use prep_cache::free_space;
pub use wire::calls::{Protocol, check_endpoint};
pub use wire::connect::{
    CertificateFault, ConnectionFault, NetworkVariables, NoConnection, is_connecting,
};
pub use wire::proxy::{Proxies, Proxy, ProxyRefusal};
pub use wire::queries::{Account, DataFile, DataSummary};
pub use wire::shared::CertificateVariable;
