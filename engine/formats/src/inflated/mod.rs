//! Random access to deflate streams.
//!
//! A deflate stream consists of blocks. A decoder can start at a block if it knows the 32 KiB of uncompressed bytes before
//! it, because the block may copy them.
//!
//! - The [`InflateIndexer`] decodes the stream once. It records blocks some megabytes apart, with their 32 KiB, in an
//!   [`InflateIndex`].
//! - With this index, [`DeflateSpans`] decodes the stream in [spans](crate::spans).
//! - Deflate stores incompressible data unchanged, such as an inner archive. Such bytes are read without decoding.
//! - The 32 KiB before a block are not recorded if they can be read from such unchanged bytes.

mod index;
mod indexer;
mod stream;

pub use index::{DeflateSpans, InflateIndex, InflateSpan, SpanSource, SpanWindow};
pub use indexer::{IndexerResult, InflateIndexer, WindowStore};
