//! Tools for agents, by the Model Context Protocol: list competitions, describe one, validate a submission, grade it.
//!
//! ```text
//! server    the protocol's requests, over a pair of streams      rpc       messages of JSON-RPC
//! tools/    one file per tool                                    answer    a tool's result, or an error with help
//! ```
//!
//! The tool `grade` exists only on a server that was started with scores: an agent that can ask for scores can search for them.
//! No tool reads `private` except to compare a submission with the answers, and no result contains an answer.
//!
//! Submissions are files. A server accepts those below one directory only, because a message about an invalid submission quotes
//! cells of the file.
//!
//! A server of tools needs four requests of the protocol, so it is written out here. The protocol's own library (`rmcp`) brings an
//! asynchronous runtime and features of `chrono` with which all of DataFusion would be compiled again.

mod answer;
mod rpc;
mod server;
mod tools;

pub use server::{McpOptions, serve};
