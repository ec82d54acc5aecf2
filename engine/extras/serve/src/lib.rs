//! Validates submissions over HTTP, for agents that work inside a container.
//!
//! ```text
//! server       accepts connections                   routes     requests and responses, the same as in MLE-bench's server
//! connections  limits of clients and of uploads      upload     a body -> a file, decoded by multipart
//! grading      answers, rules and leaderboards
//! ```
//!
//! `POST /validate` takes a file in the field `file` and returns `{"result": ...}` with MLE-bench's messages. `GET
//! /health` returns `{"status": "running"}`. These responses contain no score, no medal, and no path on this system.
//! `POST /grade` exists only if the server was started with scores, for harnesses on a network without agents. These
//! gradings are logged in the data directory.
//!
//! # Limits for clients
//!
//! | A client sends | The server |
//! |---|---|
//! | requests at the same time as others | writes each upload to a separate file, and grades several submissions at a time, at most [`ServerOptions::graders`] |
//! | too many bytes | returns 413 and removes the partial file |
//! | too slowly, or nothing | returns 408 after [`ServerOptions::timeout`] without a byte or with less than 4 KiB per second, or if the entire upload takes ten times as long as that. If other uploads wait, returns 408 after two seconds with less than 4 KiB per second |
//! | more than 256 uploads at the same time, or more than half of them from one address | lets further uploads wait; answers `GET /health` |
//! | more bytes in all current uploads together than 16 uploads of the maximum length | returns 503 |
//! | a request to a loopback address with a foreign `Host` or `Origin` | returns 403 |
//! | a header without an end | rejects the request after 64 KiB |
//! | an invalid request | returns 400, 404 or 405 |
//!
//! Uploads are written to disk in chunks, into files without a name. The server needs memory for the answers, for a
//! buffer per client, and for the columns of each submission that is being graded.

mod connections;
mod grading;
mod multipart;
mod routes;
mod server;
mod upload;

pub use server::{EventSink, ServerEvent};
pub use server::{ServeError, Server, ServerOptions};
