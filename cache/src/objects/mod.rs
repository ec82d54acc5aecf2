//! Objects: writing them, reading and verifying them, publishing them, and mapping them into memory.

pub(crate) mod buffer;
pub(crate) mod link;
pub(crate) mod link_mode;
pub(crate) mod object;
pub(crate) mod private;
pub(crate) mod scattered;
pub(crate) mod writer;
