//! Deflated bytes, read at any position.
//!
//! Deflate is read from the beginning: a byte may be copied from any of the 32 KiB before it. But it comes in blocks, and
//! whoever knows where a block begins and what these 32 KiB are can begin there. One pass over the stream notes such places,
//! some megabytes apart: the [`Index`]. With it, the stream is read in [spans](crate::spans): it is [`Deflated`].
//!
//! What deflate could not shorten, such as an archive in an archive, it stores as it is. Of such blocks the index says where
//! their bytes lie, and nothing has to be inflated at all. Nor has anything to be kept for the coded blocks among them.

mod deflated;
mod index;
mod indexer;
mod stream;

pub use deflated::Deflated;
pub use index::{Index, Source, Span, Window};
pub use indexer::{Indexed, Indexer, Windows};
