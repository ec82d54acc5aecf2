//! Random access to deflate streams.
//!
//! A decoder can start at a block if it knows the 32 KiB of uncompressed bytes before it, which the block may copy.
//!
//! - [`InflateIndexer`] decodes a stream once and records blocks, some megabytes apart, in an [`InflateIndex`].
//! - [`DeflateSpans`] decodes the stream in [spans](crate::spans) with this index.
//! - Incompressible data are stored unchanged and read without decoding. For blocks after such data, the 32 KiB are read
//!   from the stream instead of the index.

mod index;
mod indexer;
mod stream;

pub use index::{DeflateSpans, InflateIndex, InflateSpan, SpanSource, SpanWindow};
pub use indexer::{IndexerResult, InflateIndexer, WindowStore};
