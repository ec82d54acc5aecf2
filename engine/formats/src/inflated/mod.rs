//! Random access to deflate streams.
//!
//! Normally a deflate stream is decoded from the beginning, because each byte may be a copy of any of the 32 KiB before
//! it. But it consists of blocks. A decoder can start at a block if it knows the block's position and those 32 KiB. The
//! [`InflateIndexer`] decodes the stream once and records such positions, some megabytes apart, in an [`InflateIndex`]. By means of
//! the index, [`DeflateSpans`] decodes the stream in [spans](crate::spans).
//!
//! Deflate stores incompressible data unchanged, for example an archive inside an archive. For such blocks the index
//! records the offset of the bytes, so they are read without decoding. Compressed blocks that follow them need no copy
//! of the 32 KiB.

mod deflated;
mod index;
mod indexer;
mod stream;

pub use deflated::DeflateSpans;
pub use index::{InflateIndex, InflateSpan, SpanSource, SpanWindow};
pub use indexer::{IndexerResult, InflateIndexer, WindowStore};
