//! A store that many machines share: results of steps, bundles, and whose word is taken for them.
//!
//! ```text
//! address    URL and credentials -> a store       layout   what lies where in it
//! key        keys that sign                       signed   records that say who wrote them
//! trust      which keys are believed, and for what
//! remote     one operation each, with its error   error    what went wrong, by meaning, without secrets
//! link       the remote as a run uses it: what goes wrong is said once, and the run goes on
//! queue      results on their way there           tier     what the local store asks
//! send       files: in parts, held against their names on the way
//! hashes     of a bundle's stretches, so that each can be verified alone
//! mirror     bundles, read where they lie         requests   which of their stretches move together
//! source     a bundle from the mirror, before it is downloaded
//! ```
//!
//! # What it promises
//!
//! | Promise | How |
//! |---|---|
//! | No wrong bytes are served | objects are held against their names, ranges of bundles against the bundle's hash |
//! | No forged result is believed | entries are signed (Ed25519), and bound to their name and their step; other signers are ignored |
//! | A key counts for what it is trusted for | a trusted key may be limited to competitions, and to a date |
//! | An old record does not come back | records of sources have a serial number and their remote's address; the highest number is kept here |
//! | Nobody fills the disk | entries hold the lengths of their objects; a fetch stops there |
//! | An entry names objects that are there | objects are sent first, the entry last |
//! | Nobody's result replaces another's | entries are made only if there is none; one that differs is reported |
//! | A run never fails of it | every failure means "not there"; it is said once, and asked again only after a while |
//! | No secret gets out | messages are made of our own words, the remote's name, and codes |
//!
//! What an entry says is as good as who signed it. So what a check found is never taken from here, and published
//! checksums are computed where the data are used.

mod address;
mod error;
mod hashes;
mod key;
mod layout;
mod link;
mod mirror;
mod queue;
mod remote;
mod requests;
mod send;
mod signed;
mod source;
mod tier;
mod trust;

pub use address::{Address, Credentials};
pub use error::RemoteError;
pub use key::{KeyError, PublicKey, SigningKey};
pub use layout::Area;
pub use link::{Config, Link, Say};
pub use mirror::MirroredBundle;
pub use queue::Sent;
pub use remote::{Known, Put, Remote};
pub use signed::Rejected;
pub use source::Mirrored;
pub use trust::Trusted;
