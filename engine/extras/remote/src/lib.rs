//! A remote cache that several machines use: results of steps, and bundles.
//!
//! ```text
//! address    parses the address of a remote, and opens its object store
//! layout     paths of files in the store
//! key        signing keys
//! trust      signed records, and the keys that may sign them
//! remote     single operations that return errors
//! error      kinds of errors; their messages contain no secrets
//! link       the remote as a run uses it: errors do not fail the run, and each kind is reported once
//! upload     sends results, bundles and source records
//! send       sends files in parts; the queue of uploads
//! hashes     hash lists, which verify a part of a bundle
//! mirror     reads parts of bundles without downloading them entirely
//! tier       the remote as a second level of the local cache, and as a substitute for downloads
//! ```
//!
//! # Guarantees
//!
//! An *entry* is the signed list of the outputs of a step.
//!
//! - No wrong bytes are used: objects and ranges of bundles are verified against digests.
//! - No forged result is used: a signature (Ed25519) covers an entry, its name and its step.
//! - The trust in a key can be limited to some competitions, and can end at a date.
//! - No outdated source record is used: each record has a serial number, and the highest serial number is stored locally.
//! - No object fills the disk: an entry contains the lengths of its objects, which limit each fetch.
//! - Every object of an entry exists: the objects are sent first, and the entry last.
//! - No result replaces a different one: an entry is created only if the remote has no entry with this key.
//!
//! An entry is only as trustworthy as its signer. Therefore results of checks are never read from a remote, and the machine
//! that uses the data compares them with the published checksums itself.
//!
//! # Example
//!
//! A remote in a directory that is opened without a key can be read but not written:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! use prep_fetch::NetworkVariables;
//! use prep_remote::{Address, CloudCredentials, Remote};
//! let address = Address::parse(&format!("file://{}", dir.path().display()))?;
//! let (credentials, variables) = (CloudCredentials::default(), NetworkVariables::default());
//! let remote = Remote::open(&address, &credentials, variables, Ok(None), &[])?;
//! assert!(!remote.is_writable());
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod address;
mod error;
mod hashes;
mod key;
mod layout;
mod link;
mod mirror;
mod remote;
mod send;
mod tier;
mod trust;
mod upload;

pub use address::{Address, CloudCredentials};
pub use error::RemoteError;
pub use key::{KeyError, PublicKey, SigningKey, require_closed};
pub use link::{Link, LinkWarning, WarningSink};
pub use mirror::MirroredBundle;
pub use remote::{PutOutcome, Remote, RemoteSource};
pub use tier::{MirroredSource, RemoteContent};
pub use trust::{Rejection, TrustedSigner, check as check_signer, sign_text, signer};
pub use upload::{SendOutcome, SourceOutcome};
