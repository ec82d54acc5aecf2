//! A server that plays Kaggle: its API on one port, the object store behind it on another, both on loopback.
//!
//! The API speaks both of Kaggle's protocols: `POST /api/v1/competitions.CompetitionApiService/DownloadDataFiles` and `GET
//! /api/v1/competitions/data/download-all/{id}` are answered with a redirect to a signed URL of the store, as the real one
//! does. It lists files, sends single ones, and renews logins. Kaggle's own clients can download from it, unchanged. The store serves the bundle with ranges, `If-Range`, ETag and `x-goog-hash`. At `/files/{id}` it serves
//! the same bytes to anybody, as a server of public files does. Every answer can be made to fail by a [`Fault`]: at a byte of the bundle, or at the n-th request of a side. All requests are logged
//! with what was sent, so that tests can count.
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

pub use bundle::{Bundle, Content, MemberFile};
pub use fault::{At, Fault, Kind};
pub use log::{Request, Side};
pub use server::FaultServer;
pub use shared::{ACCESS_TOKEN, KEY, REFRESH_TOKEN, SIGNATURE, TOKEN, USERNAME};
