//! A test server that behaves like Kaggle: the API on one loopback port, the object store on another.
//!
//! The API supports `POST /api/v1/competitions.CompetitionApiService/DownloadDataFiles` and
//! `GET /api/v1/competitions/data/download-all/{id}`. It redirects to a signed URL of the store.
//!
//! The API also lists files, sends single files, and renews logins. Kaggle's own clients work with this server.
//!
//! The store supports ranges, `If-Range`, ETag and `x-goog-hash`. `/files/{id}` needs no signature, as on public servers.
//!
//! A [`Fault`] makes a response fail at a byte of the bundle, or at the n-th request to the API or the store.
//! The log of requests contains the number of sent bytes.
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
