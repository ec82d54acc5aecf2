//! The address of a session's object, which all its connections use.
//!
//! A rejected address is treated as a failure only if it never served a request. After a rejection, one connection
//! tries the new address, and the other connections wait for its answer. So if an address has expired, or serves only
//! one request, the download only needs another API call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::download::order::Order;
use crate::error::FetchError;
use crate::wire::api;
use crate::wire::location::Location;

pub(crate) struct SessionAddress<'a> {
    pub(crate) location: &'a mut Option<Location>,
    /// A failure of a connection with a smaller number has already been handled.
    pub(crate) number: u64,
    /// Whether the address has served a request.
    pub(crate) has_served: Arc<AtomicBool>,
    /// Whether a connection is trying the address, which has not served a request yet.
    is_tried: bool,
}

impl<'a> SessionAddress<'a> {
    pub(crate) fn new(location: &'a mut Option<Location>, has_served: bool) -> SessionAddress<'a> {
        SessionAddress {
            location,
            number: 0,
            has_served: Arc::new(AtomicBool::new(has_served)),
            is_tried: false,
        }
    }

    /// Returns whether another connection may use the address.
    pub(crate) fn is_usable(&self) -> bool {
        !self.is_tried || self.has_served.load(Ordering::Relaxed)
    }

    /// Prepares the address for another connection. Requests a new address if the last one was rejected.
    pub(crate) async fn prepare(&mut self, order: &Order) -> Result<(), FetchError> {
        if self.location.is_none() {
            *self.location = Some(api::address(&order.shared, &order.item).await?);
        }
        self.is_tried = !self.has_served.load(Ordering::Relaxed);
        Ok(())
    }

    /// Records that a connection to the address with this number has ended.
    pub(crate) fn end_connection(&mut self, number: u64) {
        if number == self.number {
            self.is_tried = false;
        }
    }

    /// Discards the address with this number, which the server rejected. Returns whether this is a failure.
    pub(crate) fn reject(&mut self, number: u64, order: &Order) -> bool {
        if number < self.number {
            return false;
        }
        self.number += 1;
        *self.location = None;
        order.shared.addresses.forget(&order.item.key());
        !std::mem::take(&mut self.has_served).load(Ordering::Relaxed)
    }
}
