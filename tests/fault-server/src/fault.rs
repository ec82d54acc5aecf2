//! Faults: their kind, their place, and how often they happen.

use std::time::Duration;

use crate::bundle::Content;

/// Kinds of faults.
#[derive(Debug, Clone)]
pub enum Kind {
    /// The connection is cut at the byte.
    Drop,
    /// Nothing is sent for this long, from the byte on.
    Stall(Duration),
    /// The answer ends before the byte, and its headers have the shorter length.
    Truncate,
    /// The byte is sent with all bits flipped.
    Corrupt,
    /// Bytes per second on this connection.
    Throttle(u64),
    /// Another status, with this `Retry-After` and body.
    Status {
        code: u16,
        retry_after: Option<String>,
        body: String,
    },
    /// Another status with an endless text, one byte at a time with this pause in between.
    SlowStatus { code: u16, pause: Duration },
    /// 200 with a web page.
    Html,
    /// A redirect to a web page.
    RedirectToHtml,
    /// A redirect to the API's login page.
    RedirectToLogin,
    /// A redirect to the same path below another address, with this status.
    RedirectTo { code: u16, base: String },
    /// The API sends the bundle itself, instead of an address.
    SendBundle,
    /// The signature is no longer valid: 403 until the API gave a new one.
    Expire,
    /// Each signature serves one request; further ones get 403.
    SingleUse,
    /// 200 with the entire bundle, although a range was requested.
    IgnoreRange,
    /// The object is replaced (for good) before the request is answered.
    Replace(Content),
    /// 206 whose `Content-Range` is not the requested one.
    OtherRange,
    /// 206 without `Content-Range`.
    NoContentRange,
}

impl Kind {
    /// A status with nothing further.
    pub fn status(code: u16) -> Kind {
        Kind::Status {
            code,
            retry_after: None,
            body: format!("status {code}"),
        }
    }
}

/// The requests that a fault can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// At requests of the API, in either protocol.
    Api,
    /// At methods of the API, which are called by POST.
    Rpc,
    /// At paths of the API, which are read by GET.
    Rest,
    /// At requests of the store.
    Store,
    /// At requests of the store whose answer covers this byte of the bundle.
    Byte(u64),
}

/// A fault.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The kind.
    pub kind: Kind,
    /// The place.
    pub at: At,
    /// Number of requests of that place before the first fault.
    pub skip: usize,
    /// Number of requests that it then hits.
    pub times: usize,
}

impl Fault {
    /// Once, at a byte.
    pub fn at_byte(offset: u64, kind: Kind) -> Fault {
        Fault {
            kind,
            at: At::Byte(offset),
            skip: 0,
            times: 1,
        }
    }

    /// Once, at the first request of a side.
    pub fn at(at: At, kind: Kind) -> Fault {
        Fault {
            kind,
            at,
            skip: 0,
            times: 1,
        }
    }

    /// Repeats the fault `times` times.
    pub fn times(mut self, times: usize) -> Fault {
        self.times = times;
        self
    }

    /// Repeats the fault for all requests.
    pub fn always(self) -> Fault {
        self.times(usize::MAX)
    }

    /// Starts after the first `skip` requests.
    pub fn after(mut self, skip: usize) -> Fault {
        self.skip = skip;
        self
    }

    /// Returns whether the fault hits this request, and counts it if so.
    pub(crate) fn hits(&mut self) -> bool {
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
