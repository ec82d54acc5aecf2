//! Validates submissions over HTTP, for agents that work inside a container.
//!
//! ```text
//! server    listening, limits for clients and time     routes    requests and their answers
//! upload    a multipart body -> a file                 answer    JSON, as upstream's server writes it
//! gradings  answers, rules and leaderboards            event     events for the owner of the server
//! ```
//!
//! `POST /validate` takes a file in the field `file` and answers `{"result": ...}` with upstream's texts.
//! `GET /health` answers `{"status": "running"}`. No answer has a score, a medal, or a path of this machine. Only a server that was
//! started with scores answers `POST /grade`, for harnesses on a network without agents.
//!
//! # Limits for clients
//!
//! | A client sends | The server |
//! |---|---|
//! | at the same time as others | writes each upload to a separate file, and grades as many at a time as there are processors |
//! | too many bytes | answers 413 and removes the partial file |
//! | too slowly, or nothing | answers 408 after a time without a byte, or after a multiple of that time for the entire request |
//! | a header without an end | rejects it at 64 KiB |
//! | another request | answers 400, 404 or 405 |
//!
//! Uploads are written to disk piece by piece, into files without a name. Memory is needed for the answers, a buffer per client, and
//! the columns that the rules need of each submission that is being graded.

mod answer;
mod connections;
mod event;
mod gradings;
mod multipart;
mod routes;
mod server;
mod upload;
mod worker;

pub use event::{EventSink, ServerEvent};
pub use server::{ServeError, Server, ServerOptions};
