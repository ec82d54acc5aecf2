//! Validates submissions over HTTP: what an agent asks while it works, from inside a container.
//!
//! ```text
//! server    listening, limits on clients and time      routes    which request is answered how
//! upload    a multipart body -> a file of its own      answer    JSON, as the benchmark's server writes it
//! gradings  what submissions are graded with           event     what the server tells its owner
//! ```
//!
//! `POST /validate` takes a file in the field `file` and answers `{"result": ...}` with the benchmark's words;
//! `GET /health` answers `{"status": "running"}`. No answer holds a score, a medal, or a path of this machine, unless the
//! server was started to give scores (`POST /grade`), for harnesses that no agent reaches.
//!
//! # What clients cannot do
//!
//! | They send | What happens |
//! |---|---|
//! | at the same time | every upload is a file of its own; as many are graded at once as there are processors |
//! | too much | 413; what was written is removed |
//! | too slowly, or nothing more | 408 after a time without a byte, or a multiple of it for the whole |
//! | a header or a field's header without an end | refused at 64 KiB |
//! | something else | 400, 404, 405 |
//!
//! Uploads go to disk piece by piece, into files without a name. Memory holds the answers, a buffer per client, and of a
//! submission that is being graded the columns that its rules look at.
//! Nothing here prints or reads the environment.

mod answer;
mod event;
mod gradings;
mod routes;
mod server;
mod upload;
mod worker;

pub use event::{Event, Log};
pub use server::{Options, ServeError, Server};
