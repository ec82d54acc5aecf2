//! Where bundles come from. Each source names what it brings by content and checks it against the published MD5.
//!
//! ```text
//! bundle/      the sources: a bundle that is there, fetched whole, fetched in part; a listing without the bundle; a file
//!              at an address, a folder
//! download/    one download to its end: sessions, connections, how many of them, the verdict
//! resume/      what outlives a process: partial file, map of pieces, digests behind the write front
//! wire/        the API and the object store: addresses, what answers mean, when to ask again, rate
//! network      the handle that all of these go through        credentials   who asks, and where that is found
//! waiting      reports of waiting                             clock         the time, as the caller tells it
//! ```
//!
//! Arrows point downwards only: `bundle`, `download`, `resume`, `wire`. There is one policy of what to do after a failure
//! (`wire/retry`).
//!
//! # What a download promises
//!
//! | Promise | How |
//! |---|---|
//! | No damaged bundle under the final name | renamed after MD5 (published, or told by the server) and length hold |
//! | No work is lost | a map of pieces beside the partial file, appended to as each is written |
//! | No bytes of two objects in one file | `If-Range`, and every answer is compared by ETag, length and MD5 |
//! | No second pass over the bytes | BLAKE3 and MD5 follow the write front; the store remembers both |
//! | No secret is shown or sent astray | only the API's own hosts get credentials; messages name hosts, not addresses |
//! | No end without a cause | failures are counted, waited for, and bounded; the last one is the first line |

mod bundle;
mod clock;
mod credentials;
mod download;
mod error;
mod message;
mod network;
mod options;
mod resume;
mod secret;
mod trouble;
mod waiting;
mod wire;

pub use bundle::downloaded::{discard, partial_bytes};
pub use bundle::folder::{FolderError, LocalFolder};
pub use bundle::kaggle::KaggleBundle;
pub use bundle::local::{BundleError, LocalBundle, Sums};
pub use bundle::members::Members;
pub use bundle::part::PartOfBundle;
pub use bundle::remote::{Looked, RemoteZip};
pub use bundle::web::{WebAddress, WebFile};
pub use clock::Clock;
pub use credentials::{Credentials, CredentialsError, Found, Login, Origin, Places, find};
pub use error::FetchError;
pub use network::{LazyNetwork, Network};
pub use options::{ENDPOINT, Options};
pub use prep_cache::free_space;
pub use secret::Secret;
pub use trouble::Trouble;
pub use waiting::{Waiting, Watcher};
pub use wire::api::endpoint::Protocol;
pub use wire::api::{Account, DataFile, DataSummary};
