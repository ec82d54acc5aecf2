//! Where bundles come from. Each source names what it brings by content and checks it against the published MD5.
//!
//! ```text
//! local        a bundle that is already there, or was
//! kaggle       the same, fetched from Kaggle when it is not
//! part         some members of a bundle, as an archive of its own         members   which ones
//! remote       a bundle's listing by ranges
//! credentials  who asks          network   what all downloads of a process share
//! api          signed addresses  answer    what the store's answers mean; nothing is written before they passed
//! download     sessions until one is complete, then the verdict on its digests
//! session      one object: its pieces, its connections, its failures      pace      how many connections
//! connection   one range, asked for and written
//! receive      from an answer into the partial file, piece by piece       hashing   digests behind the write front
//! map          which pieces are there, beside the partial file            partial   its lock and its final name
//! ```
//!
//! # What a download promises
//!
//! | Promise | How |
//! |---|---|
//! | No damaged bundle under the final name | renamed after MD5 (published, or told by the server) and length hold |
//! | No work is lost | a map of pieces beside the partial file, appended to as each is written |
//! | No bytes of two objects in one file | `If-Range`, and every answer is compared by ETag, length and MD5 |
//! | No second pass over the bytes | BLAKE3 and MD5 follow the write front; the store remembers both |
//! | No secret is shown or sent astray | only the API's own origin gets credentials; messages name hosts, not addresses |
//! | No end without a cause | failures are counted, waited for, and bounded; the last one is the first line |

mod addresses;
mod answer;
mod api;
mod backoff;
mod connection;
mod credentials;
mod digester;
mod download;
mod error;
mod first;
mod hashing;
mod identity;
mod kaggle;
mod local;
mod location;
mod map;
mod members;
mod message;
mod network;
mod options;
mod pace;
mod part;
mod partial;
mod pieces;
mod rate;
mod receive;
mod remote;
mod resume;
mod secret;
mod session;
mod space;
mod trouble;
mod units;

pub use credentials::{Credentials, CredentialsError, Found, Origin, find};
pub use error::FetchError;
pub use kaggle::KaggleBundle;
pub use local::{BundleError, LocalBundle};
pub use members::Members;
pub use network::{LazyNetwork, Network};
pub use options::{ENDPOINT, Options};
pub use part::PartOfBundle;
pub use remote::RemoteZip;
pub use secret::Secret;
pub use space::free as free_space;
pub use trouble::Trouble;
