//! Serves tools for agents with the Model Context Protocol: list competitions, describe a competition, and validate or
//! grade a submission.
//!
//! ```text
//! server    handles requests of the protocol on two streams       rpc       messages of JSON-RPC
//! tools/    one file per tool                                    answer    a tool's result, or an error with help
//! options   the competitions and files that tools can access
//! ```
//!
//! The tool `grade` exists only if the server was started with scores, because an agent that gets scores can optimize
//! against the answers. Tools read `private` only to compare a submission with the answers, and no result contains an
//! answer.
//!
//! Submissions are files. A server opens only regular files below one directory, without following links, because a
//! message about an invalid submission quotes cells of the file. It opens no file in the data directory or the cache.
//!
//! A server of tools needs only four requests of the protocol, so this crate implements them itself. The official
//! library (`rmcp`) depends on an asynchronous runtime and enables features of `chrono`, which would require compiling
//! DataFusion a second time.

mod options;
mod rpc;
mod server;
mod tools;

pub use options::McpOptions;
pub use server::serve;
