//! A test server that behaves like Kaggle. It serves the API on one port and the object store on another port, both on
//! loopback.
//!
//! The API supports both of Kaggle's protocols: `POST /api/v1/competitions.CompetitionApiService/DownloadDataFiles` and
//! `GET /api/v1/competitions/data/download-all/{id}`. It answers both with a redirect to a signed URL of the store, as
//! Kaggle does. It also lists files, sends single files, and renews logins. Kaggle's own clients can download from it
//! without changes.
//!
//! The store serves the bundle with ranges, `If-Range`, ETag and `x-goog-hash`. At `/files/{id}` it serves the same
//! bytes without a signature, like a server of public files.
//!
//! A [`Fault`] can make any response fail: at a byte of the bundle, or at the n-th request to the API or the store. All
//! requests are logged with the number of sent bytes, so that tests can count them.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! use prep_fault_server::{Bundle, Fault, FaultServer, Kind};
//! let bundle = Bundle::new("spooky", vec![7; 100_000]);
//! let server = FaultServer::start(vec![bundle], vec![Fault::at_byte(5_000, Kind::Drop)])?;
//! assert!(server.endpoint().starts_with("http://127.0.0.1:"));
//! assert!(server.requests().is_empty());
//! # Ok(())
//! # }
//! ```

mod answer;
mod api;
mod body;
mod bundle;
mod data;
mod fault;
mod log;
mod server;
mod shared;
mod store;

pub use bundle::{Bundle, Content, Etag, MemberFile, Modified, Validators};
pub use fault::{At, Fault, Kind};
pub use log::{Request, Side};
pub use server::FaultServer;
pub use shared::{ACCESS_TOKEN, KEY, REFRESH_TOKEN, SIGNATURE, TOKEN, USERNAME};
