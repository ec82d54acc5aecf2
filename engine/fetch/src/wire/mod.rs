//! HTTP requests: URLs, responses and retries. This module does not access files.

pub(crate) mod answer;
pub(crate) mod api;
pub(crate) mod body;
pub(crate) mod contacts;
pub(crate) mod identity;
pub(crate) mod item;
pub(crate) mod location;
pub(crate) mod retry;
pub(crate) mod send;
pub(crate) mod shared;
