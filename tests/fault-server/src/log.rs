//! The log of requests and sent bytes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Api,
    Store,
}

#[derive(Debug, Clone)]
pub struct Request {
    pub side: Side,
    /// Path without the query string.
    pub path: String,
    pub method: String,
    pub body: String,
    /// The requested range, with an exclusive end. `None` for the entire file.
    pub range: Option<Range<u64>>,
    pub if_range: Option<String>,
    pub authorization: bool,
    /// The `Authorization` header of a request to the API.
    pub authorization_header: Option<String>,
    /// Status of the response, or 0 if the server cut the connection.
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

    /// Returns the number of bytes of the bundle that the server has sent so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.sent)
    }
}
