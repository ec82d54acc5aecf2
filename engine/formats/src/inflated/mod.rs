//! Random access to deflate streams.
//!
//! Normally a deflate stream is decoded from the beginning, because each byte may be a copy of any of the 32 KiB before
//! it. But the stream consists of blocks. A decoder can start at a block if it knows the block's position and those 32
//! KiB. The [`InflateIndexer`] decodes the stream once and records such positions, some megabytes apart, in an
//! [`InflateIndex`]. With this index, [`DeflateSpans`] decodes the stream in [spans](crate::spans).
//!
//! Deflate stores incompressible data unchanged, for example an archive inside an archive. For such blocks the index
//! records the offset of the bytes, so they are read without decoding. A compressed block that follows them needs no
//! stored window, because its 32 KiB can be read from the stream.

mod index;
mod indexer;
mod stream;

pub use index::{DeflateSpans, InflateIndex, InflateSpan, SpanSource, SpanWindow};
pub use indexer::{IndexerResult, InflateIndexer, WindowStore};
