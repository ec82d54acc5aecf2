//! Validates submissions over HTTP, for agents that work inside a container.
//!
//! ```text
//! server       accepts connections                   routes     requests and responses, as in MLE-bench's server
//! connections  limits connections and uploads        upload     writes the uploaded file to disk
//! grading      answers, rules and leaderboards       multipart  decodes the body of an upload
//! ```
//!
//! - `POST /validate` takes a file in the field `file`, and returns `{"result": ...}` with MLE-bench's messages.
//! - `GET /health` returns `{"status": "running"}`.
//! - `POST /grade` returns scores. It exists only if the server was started with scores, for harnesses on a network without
//!   agents. Its gradings are logged in the data directory.
//!
//! Responses to `/validate` and `/health` contain no score, no medal, and no path on this system.
//!
//! # Limits for clients
//!
//! | A client sends | The server |
//! |---|---|
//! | a submission while others are graded | grades at most [`ServerOptions::graders`] submissions at the same time |
//! | too many bytes | returns 413 |
//! | no byte for [`ServerOptions::timeout`], or less than 4 KiB per second in this time | returns 408 |
//! | less than 4 KiB per second for two seconds, while other uploads wait | returns 408 |
//! | an upload that takes ten times the timeout | returns 408 |
//! | more than 256 uploads at the same time, or more than 128 from one address | lets the further uploads wait |
//! | an upload, if all current uploads together are longer than 16 times the maximum length | returns 503 |
//! | a request to a loopback address with a foreign `Host` or `Origin` | returns 403 |
//! | a header without an end | rejects the request after 64 KiB |
//! | an invalid request | returns 400, 404 or 405 |
//!
//! Uploads are written to disk in chunks. Therefore, until an upload is graded, its length does not change how much
//! memory the server needs.

mod connections;
mod grading;
mod multipart;
mod routes;
mod server;
mod upload;

pub use server::{EventSink, ServerEvent};
pub use server::{ServeError, Server, ServerOptions};
