//! A remote cache that several machines use: results of steps, bundles, and the keys that are trusted for them.
//!
//! ```text
//! address    URL and credentials -> object store   layout     names of files in the store
//! key        signing keys                          trust      signed records; which keys are trusted, and for what
//! remote     single operations that return errors  error      errors by meaning, without secrets
//! link       the remote as a run uses it: errors are reported once, and the run continues
//! upload     sends results and bundles             send       files in parts; results that wait to be sent
//! hashes     hash lists of bundles, for verifying parts
//! mirror     bundles that are read in place
//! tier       the remote as the second level of the local cache; bundles from the mirror instead of a download
//! ```
//!
//! # Guarantees
//!
//! | Guarantee | Mechanism |
//! |---|---|
//! | No wrong bytes are used | objects are compared with their digest, ranges of bundles with the bundle's digest |
//! | No forged result is trusted | entries are signed (Ed25519) together with their name and their step; other signers are ignored |
//! | A key is trusted only for its purpose | a trusted key may be limited to competitions and to a date |
//! | An old record cannot replace a newer one | records of sources contain a serial number and their remote's address; the highest number is stored locally |
//! | The remote cannot fill the disk | entries contain the lengths of their objects, which limit each fetch |
//! | An entry's objects exist | objects are sent first, and the entry last |
//! | No result replaces a different one | an entry is created only if none exists; a different one is reported |
//! | An error of the remote never fails a run | any error is treated as a cache miss, reported once, and followed by a pause |
//! | No secret is printed | messages contain only prep's own words, the remote's name, and status codes |
//!
//! An entry is only as trustworthy as its signer. Therefore results of checks are never read from a remote, and
//! published checksums are computed on the machine that uses the data.
//!
//! # Example
//!
//! A remote in a directory that is opened without a key can be read but not written:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! use prep_remote::{Address, CloudCredentials, Remote};
//! let address = Address::parse(&format!("file://{}", dir.path().display()))?;
//! let remote = Remote::open(&address, &CloudCredentials::default(), None, &[])?;
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
pub use layout::Area;
pub use link::{Link, LinkWarning, WarningSink};
pub use mirror::MirroredBundle;
pub use remote::{PutOutcome, Remote, RemoteSource};
pub use tier::{MirroredSource, RemoteContent};
pub use trust::{Rejection, TrustedSigner, check as check_signer, sign_text, signer};
pub use upload::SendOutcome;
