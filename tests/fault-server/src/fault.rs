//! Faults: their kind, the requests that they affect, and how often they happen.

use std::time::Duration;

use crate::bundle::Content;

/// The kinds of faults.
#[derive(Debug, Clone)]
pub enum Kind {
    /// The connection is cut at the byte.
    Drop,
    /// From the byte on, nothing is sent for this duration.
    Stall(Duration),
    /// The response ends before the byte, and its headers state the shorter length.
    Truncate,
    /// The byte is sent with all bits flipped.
    Corrupt,
    /// The rate of the connection is limited to this number of bytes per second.
    Throttle(u64),
    /// A different status, with this `Retry-After` and body.
    Status {
        code: u16,
        retry_after: Option<String>,
        body: String,
    },
    /// A different status with a text that never ends. It is sent one byte at a time, with this pause in between.
    SlowStatus { code: u16, pause: Duration },
    /// Status 200 with a web page.
    Html,
    /// A redirect to a web page.
    RedirectToHtml,
    /// A redirect to the API's login page.
    RedirectToLogin,
    /// A redirect with this status to the same path at a different base address.
    RedirectTo { code: u16, base: String },
    /// The API sends the bundle itself instead of an address.
    SendBundle,
    /// Signatures issued so far become invalid: status 403 until the client gets a new signature from the API.
    Expire,
    /// Each signature serves a single request. Further requests with it get status 403.
    SingleUse,
    /// Status 200 with the entire bundle, although a range was requested.
    IgnoreRange,
    /// The object is replaced permanently before the request is answered.
    Replace(Content),
    /// Status 206 with a `Content-Range` that was not requested.
    OtherRange,
    /// Status 206 without `Content-Range`.
    NoContentRange,
    /// Ranges are at most this number of bytes long. The headers state the shorter range.
    Cap(u64),
    /// The response has this `Content-Encoding`.
    Encoding(String),
    /// The response ends after its header, although the header announces a body. The connection stays open.
    StopAfterHead,
    /// There is no response. The connection stays open.
    Silence,
}

impl Kind {
    /// Returns whether the fault concerns any response, independent of its content.
    pub(crate) fn is_of_transport(&self) -> bool {
        matches!(self, Kind::StopAfterHead | Kind::Silence)
    }

    /// Returns a fault with this status and an empty body.
    pub fn status(code: u16) -> Kind {
        Kind::Status {
            code,
            retry_after: None,
            body: format!("status {code}"),
        }
    }
}

/// The requests that a fault can affect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// All requests.
    Any,
    /// Requests to the API, with either protocol.
    Api,
    /// Methods of the API, which are called by POST.
    Rpc,
    /// Paths of the API, which are read by GET.
    Rest,
    /// Requests to the store.
    Store,
    /// Requests to the store whose response contains this byte of the bundle.
    Byte(u64),
}

/// A fault.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: Kind,
    /// The requests that the fault affects.
    pub at: At,
    /// Number of requests that match `at` before the first one that is affected.
    pub skip: usize,
    /// Number of requests that are affected after the skipped ones.
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

    /// Creates a fault that happens once, at the first request.
    pub fn at(at: At, kind: Kind) -> Fault {
        Fault {
            kind,
            at,
            skip: 0,
            times: 1,
        }
    }

    /// Sets the number of requests that the fault affects.
    pub fn times(mut self, times: usize) -> Fault {
        self.times = times;
        self
    }

    /// Lets the fault affect all requests.
    pub fn always(self) -> Fault {
        self.times(usize::MAX)
    }

    /// Lets the fault start after the first `skip` requests.
    pub fn after(mut self, skip: usize) -> Fault {
        self.skip = skip;
        self
    }

    /// Returns whether the fault affects this request. Updates the counters.
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
