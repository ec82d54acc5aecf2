//! State that both servers use.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;

use crate::bundle::Bundle;
use crate::fault::{At, Fault, Kind};
use crate::log::Request;

/// The user of the API.
pub const USERNAME: &str = "somebody";
/// That user's key.
pub const KEY: &str = "0123456789abcdef-key-of-somebody";
/// A bearer token that the API accepts.
pub const TOKEN: &str = "KGAT_0123456789abcdef-token-of-somebody";
/// The refresh token of a login, for which the API issues access tokens.
pub const REFRESH_TOKEN: &str = "refresh-token-of-somebody";
/// Prefix of every access token of a login.
pub const ACCESS_TOKEN: &str = "access-token-of-somebody-";
/// Prefix of every signature, so that tests find leaked ones.
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
    /// Number of issued signatures, and the number of the first valid one.
    pub(crate) signatures: usize,
    pub(crate) first_valid: usize,
    /// Used signatures, if each one is valid for only one request.
    pub(crate) used: HashSet<String>,
    /// Expiry time of each issued access token, on the server's clock.
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

    /// Returns the faults that hit a request of `side`. `covers` returns whether its answer has a byte.
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

    /// Returns whether a header `Authorization` belongs to the user.
    pub(crate) fn knows(&self, given: &str) -> bool {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("{USERNAME}:{KEY}"));
        let (scheme, rest) = given.split_once(' ').unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => rest == basic,
            "bearer" => rest == TOKEN || self.is_current(rest),
            _ => false,
        }
    }

    /// Returns whether an access token was issued and has not expired.
    fn is_current(&self, token: &str) -> bool {
        let number = token
            .strip_prefix(ACCESS_TOKEN)
            .and_then(|number| number.parse::<usize>().ok());
        let expires = number.and_then(|number| self.access_tokens.get(number));
        expires.is_some_and(|expires| *expires > self.now)
    }

    /// Issues a signature. It is valid until all signatures are revoked.
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
