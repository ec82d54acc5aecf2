//! Faults: their kind, the requests that they affect, and how often they happen.

use std::time::Duration;

use crate::bundle::Content;

/// The kind of a fault. The affected byte is the one that [`At::Byte`] names, otherwise the first byte of the response.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Cuts the connection at the affected byte.
    Drop,
    /// Sends nothing for this duration, beginning at the affected byte.
    Stall(Duration),
    /// Ends the response before the affected byte, with headers that state the shorter length.
    Truncate,
    /// Flips all bits of the affected byte.
    Corrupt,
    /// Limits the rate of the connection to this number of bytes per second.
    Throttle(u64),
    /// Responds with a different status, with this `Retry-After` and body.
    Status {
        code: u16,
        retry_after: Option<String>,
        body: String,
    },
    /// Responds with a different status and an endless text, one byte at a time, with this pause in between.
    SlowStatus { code: u16, pause: Duration },
    /// Responds with status 200 and a web page.
    Html,
    /// Redirects to a web page.
    RedirectToHtml,
    /// Redirects to the API's login page.
    RedirectToLogin,
    /// Redirects to the same path at a different base address.
    RedirectTo { code: u16, base: String },
    /// The API sends the bundle itself instead of an address.
    SendBundle,
    /// Invalidates all signatures so far: the store responds 403 until the client gets a new signature from the API.
    Expire,
    /// Lets each signature serve a single request. Further requests with the same signature get status 403.
    SingleUse,
    /// Responds with status 200 and the entire bundle, although the client requested a range.
    IgnoreRange,
    /// Replaces the object permanently before the response.
    Replace(Content),
    /// Responds with status 206 and a `Content-Range` that the client did not request.
    OtherRange,
    /// Responds with status 206 without `Content-Range`.
    NoContentRange,
    /// Shortens ranges to this number of bytes. The headers state the shorter range.
    Cap(u64),
    /// Adds this `Content-Encoding` to the response.
    Encoding(String),
    /// Ends the response after a header that promises a body. The connection stays open.
    StopAfterHead,
    /// Sends no response. The connection stays open.
    Silence,
}

impl Kind {
    /// Returns whether the fault stops the transfer, so that it applies to every response.
    pub(crate) fn stops_transfer(&self) -> bool {
        matches!(self, Kind::StopAfterHead | Kind::Silence)
    }

    /// Returns a fault with this status and a short text as body.
    pub fn status(code: u16) -> Kind {
        Kind::Status {
            code,
            retry_after: None,
            body: format!(r#"{{"code":{code},"message":"status {code}"}}"#),
        }
    }
}

/// The requests that a fault can affect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Any,
    /// Requests to the API, with either protocol.
    Api,
    /// Methods of the API, which clients call by POST.
    Rpc,
    /// Paths of the API, which clients read by GET.
    Rest,
    Store,
    /// Requests to the store whose response contains this byte of the bundle.
    Byte(u64),
}

/// A fault, the requests that it affects, and how often it happens.
#[derive(Debug, Clone)]
pub struct Fault {
    pub kind: Kind,
    pub at: At,
    /// Number of requests matching `at` before the first affected request.
    pub skip: usize,
    pub times: usize,
}

impl Fault {
    /// Creates a fault that happens once, at this byte of a bundle.
    pub fn at_byte(offset: u64, kind: Kind) -> Fault {
        Fault {
            kind,
            at: At::Byte(offset),
            skip: 0,
            times: 1,
        }
    }

    /// Creates a fault that happens once, at the first request that matches `at`.
    pub fn at(at: At, kind: Kind) -> Fault {
        Fault {
            kind,
            at,
            skip: 0,
            times: 1,
        }
    }

    pub fn times(mut self, times: usize) -> Fault {
        self.times = times;
        self
    }

    pub fn always(self) -> Fault {
        self.times(usize::MAX)
    }

    pub fn after(mut self, skip: usize) -> Fault {
        self.skip = skip;
        self
    }

    /// Returns whether the fault affects the current request, and updates the counters.
    pub(crate) fn affects_next_request(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if self.times == 0 {
            return false;
        }
        if self.times != usize::MAX {
            self.times -= 1;
        }
        true
    }
}
