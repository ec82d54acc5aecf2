//! What goes wrong, where, and how often.

use std::time::Duration;

use crate::bundle::Content;

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Kind {
    /// The connection is cut at the byte.
    Drop,
    /// Nothing is sent for this long, from the byte on.
    Stall(Duration),
    /// The answer ends before the byte, and says so in its headers.
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
    /// Another status, whose text comes a byte at a time with this pause between, and never ends.
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
    /// 200 with the whole bundle, whatever was asked for.
    IgnoreRange,
    /// The object is replaced (for good) before the request is answered.
    Replace(Content),
    /// 206 whose `Content-Range` is not what was asked for.
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

/// Where it goes wrong.
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

/// One thing that goes wrong.
#[derive(Debug, Clone)]
pub struct Fault {
    /// What.
    pub kind: Kind,
    /// Where.
    pub at: At,
    /// Requests of that place that are spared first.
    pub skip: usize,
    /// How many requests it then hits.
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

    /// The same, this many times.
    pub fn times(mut self, times: usize) -> Fault {
        self.times = times;
        self
    }

    /// The same, without end.
    pub fn always(self) -> Fault {
        self.times(usize::MAX)
    }

    /// The same, after the first `skip` requests.
    pub fn after(mut self, skip: usize) -> Fault {
        self.skip = skip;
        self
    }

    /// Whether it hits now; counts it if so.
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
