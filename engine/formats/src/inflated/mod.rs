//! Random access to deflate streams.
//!
//! A decoder can start at any block if it knows the 32 KiB of uncompressed bytes before the block. The block may copy these
//! bytes.
//!
//! - [`InflateIndexer`] decodes a stream once and records blocks, some megabytes apart, in an [`InflateIndex`].
//! - [`DeflateSpans`] decodes the stream in [spans](crate::spans) with this index.
//! - Incompressible data are stored unchanged and read without decoding. The 32 KiB before a block after such data are also
//!   read from the stream, so no window is stored for this block.

mod index;
mod indexer;
mod stream;

pub use index::{DeflateSpans, InflateIndex, InflateSpan, SpanSource, SpanWindow};
pub use indexer::{IndexerResult, InflateIndexer, WindowStore};
