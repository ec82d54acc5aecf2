//! Random access to deflate streams.
//!
//! A decoder can start at any block if it knows the block's window: the 32 KiB of uncompressed bytes before the block. The
//! block may copy these bytes.
//!
//! - [`InflateIndexer`] decodes a stream once and records blocks, some megabytes apart, in an [`InflateIndex`].
//! - [`DeflateSpans`] decodes the stream in [spans](crate::spans) with this index.
//! - Incompressible data are unchanged in the stream and are read without decoding. If a window consists of such data, the
//!   window is also read from the stream and is not stored separately.

mod index;
mod indexer;
mod stream;

pub use index::{DeflateSpans, InflateIndex, InflateSpan, SpanSource, SpanWindow};
pub use indexer::{IndexerResult, InflateIndexer, WindowStore};
