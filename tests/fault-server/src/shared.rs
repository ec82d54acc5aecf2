//! What both servers know.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;

use crate::bundle::Bundle;
use crate::fault::{At, Fault, Kind};
use crate::log::Request;

/// The user that the API knows.
pub const USERNAME: &str = "somebody";
/// That user's key.
pub const KEY: &str = "0123456789abcdef-key-of-somebody";
/// A bearer token that the API knows.
pub const TOKEN: &str = "KGAT_0123456789abcdef-token-of-somebody";
/// What buys access tokens, for a login.
pub const REFRESH_TOKEN: &str = "refresh-token-of-somebody";
/// What every access token of a login begins with.
pub const ACCESS_TOKEN: &str = "access-token-of-somebody-";
/// What every signature begins with, so that leaks are found.
pub const SIGNATURE: &str = "signed-by-the-store-";

pub(crate) struct Shared {
    pub(crate) api: SocketAddr,
    pub(crate) store: SocketAddr,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) log: Vec<Request>,
    /// How many signatures were given, and from which on they are valid.
    pub(crate) signatures: usize,
    pub(crate) first_valid: usize,
    /// Signatures that have served a request, where each serves only one.
    pub(crate) used: HashSet<String>,
    /// When each access token expires that was issued, on the server's clock.
    access_tokens: Vec<Duration>,
    /// The server's clock, which tests set.
    pub(crate) now: Duration,
}

impl Shared {
    pub(crate) fn new(
        api: SocketAddr,
        store: SocketAddr,
        bundles: Vec<Bundle>,
        faults: Vec<Fault>,
    ) -> Shared {
        let state = State {
            bundles,
            faults,
            log: Vec::new(),
            signatures: 0,
            first_valid: 0,
            used: HashSet::new(),
            access_tokens: Vec::new(),
            now: Duration::ZERO,
        };
        Shared {
            api,
            store,
            state: Mutex::new(state),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(crate) fn bundle(&self, id: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.id == id)
    }

    /// The faults that hit a request of `side`; `covers` tells whether its answer holds a byte.
    pub(crate) fn hits(&mut self, side: At, covers: impl Fn(u64) -> bool) -> Vec<(At, Kind)> {
        let concerns = |at: At| match at {
            At::Byte(offset) => side == At::Store && covers(offset),
            At::Api => matches!(side, At::Rpc | At::Rest),
            other => other == side,
        };
        self.faults
            .iter_mut()
            .filter(|fault| concerns(fault.at))
            .filter_map(|fault| fault.hits().then(|| (fault.at, fault.kind.clone())))
            .collect()
    }

    /// A new access token, valid for some seconds.
    pub(crate) fn issue(&mut self, seconds: u64) -> String {
        self.access_tokens
            .push(self.now + Duration::from_secs(seconds));
        format!("{ACCESS_TOKEN}{}", self.access_tokens.len() - 1)
    }

    /// Whether a header `Authorization` is that of the user.
    pub(crate) fn knows(&self, given: &str) -> bool {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("{USERNAME}:{KEY}"));
        let (scheme, rest) = given.split_once(' ').unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => rest == basic,
            "bearer" => rest == TOKEN || self.is_current(rest),
            _ => false,
        }
    }

    /// Whether an access token is one that was issued, and has not expired.
    fn is_current(&self, token: &str) -> bool {
        let number = token
            .strip_prefix(ACCESS_TOKEN)
            .and_then(|number| number.parse::<usize>().ok());
        let expires = number.and_then(|number| self.access_tokens.get(number));
        expires.is_some_and(|expires| *expires > self.now)
    }

    /// A signature that is valid until one of them expires.
    pub(crate) fn sign(&mut self) -> String {
        self.signatures += 1;
        format!("{SIGNATURE}{}", self.signatures - 1)
    }

    pub(crate) fn is_valid(&self, signature: &str) -> bool {
        signature
            .strip_prefix(SIGNATURE)
            .and_then(|number| number.parse::<usize>().ok())
            .is_some_and(|number| (self.first_valid..self.signatures).contains(&number))
    }
}
