//! The state that the servers of the API and the store have in common.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use parking_lot::{Mutex, MutexGuard};

use crate::bundle::Bundle;
use crate::fault::{At, Fault, Kind};
use crate::log::Request;

/// The only user of the API.
pub const USERNAME: &str = "somebody";
pub const KEY: &str = "0123456789abcdef-key-of-somebody";
/// A bearer token of the user.
pub const TOKEN: &str = "KGAT_0123456789abcdef-token-of-somebody";
/// The refresh token of the user's login, for which the API issues access tokens.
pub const REFRESH_TOKEN: &str = "refresh-token-of-somebody";
pub const ACCESS_TOKEN: &str = "access-token-of-somebody-";
/// Prefix of all signatures, by which tests find signatures in messages and files.
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
    /// Number of issued signatures. A signature contains its index, from 0.
    pub(crate) signatures: usize,
    /// Signatures below this index are no longer valid.
    pub(crate) first_valid: usize,
    /// Used signatures, if each signature serves a single request.
    pub(crate) used: HashSet<String>,
    /// Ids of bundles that the store has sent at least once.
    pub(crate) served: HashSet<String>,
    /// Expiration times of access tokens, on the server's clock.
    access_tokens: Vec<Duration>,
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
            served: HashSet::new(),
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
        self.state.lock()
    }
}

impl State {
    pub(crate) fn bundle(&self, id: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.id == id)
    }

    /// Returns the faults for a request of `side`. `covers` returns whether the response contains the byte at an offset.
    pub(crate) fn active_faults(
        &mut self,
        side: At,
        covers: impl Fn(u64) -> bool,
    ) -> Vec<(At, Kind)> {
        self.faults_where(side, covers, |kind| !kind.stops_transfer())
    }

    /// Returns the transport fault for a request of `side`, if any. It does not depend on the content of the response.
    pub(crate) fn transport_fault(&mut self, side: At) -> Option<Kind> {
        let faults = self.faults_where(side, |_| false, Kind::stops_transfer);
        faults.into_iter().next().map(|(_, kind)| kind)
    }

    fn faults_where(
        &mut self,
        side: At,
        covers: impl Fn(u64) -> bool,
        is_selected: impl Fn(&Kind) -> bool,
    ) -> Vec<(At, Kind)> {
        let concerns = |at: At| match at {
            At::Any => true,
            At::Byte(offset) => side == At::Store && covers(offset),
            At::Api => matches!(side, At::Rpc | At::Rest),
            other => other == side,
        };
        self.faults
            .iter_mut()
            .filter(|fault| is_selected(&fault.kind) && concerns(fault.at))
            .filter_map(|fault| {
                fault
                    .affects_next_request()
                    .then(|| (fault.at, fault.kind.clone()))
            })
            .collect()
    }

    pub(crate) fn issue(&mut self, seconds: u64) -> String {
        self.access_tokens
            .push(self.now + Duration::from_secs(seconds));
        format!("{ACCESS_TOKEN}{}", self.access_tokens.len() - 1)
    }

    /// Returns whether the value of an `Authorization` header belongs to the user.
    pub(crate) fn knows(&self, given: &str) -> bool {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("{USERNAME}:{KEY}"));
        let (scheme, rest) = given.split_once(' ').unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => rest == basic,
            "bearer" => rest == TOKEN || self.is_current(rest),
            _ => false,
        }
    }

    fn is_current(&self, token: &str) -> bool {
        let number = token
            .strip_prefix(ACCESS_TOKEN)
            .and_then(|number| number.parse::<usize>().ok());
        let expires = number.and_then(|number| self.access_tokens.get(number));
        expires.is_some_and(|expires| *expires > self.now)
    }

    /// Issues a signature, which is valid until the server revokes all signatures.
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
