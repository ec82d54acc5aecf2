//! Records in sealed JSON: the ledger, the history, and the digests of files outside the store.

pub(crate) mod history;
pub(crate) mod ledger;
pub(crate) mod sealed;
pub(crate) mod source;
