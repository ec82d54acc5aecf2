//! Download state that survives a process: the partial file, the map of its pieces, and their digests.

pub(crate) mod hashing;
pub(crate) mod map;
pub(crate) mod partial;
pub(crate) mod pieces;
