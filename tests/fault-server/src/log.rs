//! Defines the log of requests and sent bytes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The server that receives a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The API.
    Api,
    /// The object store.
    Store,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The server that received the request.
    pub side: Side,
    /// Path without the query string.
    pub path: String,
    /// `GET` or `POST`.
    pub method: String,
    /// The body of the request.
    pub body: String,
    /// The requested range, with an exclusive end. `None` if the entire file was requested.
    pub range: Option<Range<u64>>,
    /// The `If-Range` header.
    pub if_range: Option<String>,
    /// Whether the request contains an `Authorization` header.
    pub authorization: bool,
    /// The `Authorization` header of a request to the API.
    pub authorization_header: Option<String>,
    /// Status of the response. 0 if the connection was cut instead.
    pub status: u16,
    sent: Arc<AtomicU64>,
}

impl Request {
    pub(crate) fn new(side: Side, path: &str) -> Request {
        Request {
            side,
            path: path.to_owned(),
            method: String::new(),
            body: String::new(),
            range: None,
            if_range: None,
            authorization: false,
            authorization_header: None,
            status: 0,
            sent: Arc::default(),
        }
    }

    /// Returns the number of bytes of the bundle that were passed to the connection so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.sent)
    }
}
