//! Random access to deflate streams.
//!
//! Normally a deflate stream is decoded from the beginning, because each byte may be a copy of any of the 32 KiB before
//! it. But the stream consists of blocks. A decoder can start at a block if it knows the block's offset and the 32 KiB of
//! uncompressed bytes before the block. The [`InflateIndexer`] decodes the stream once. For blocks that are some megabytes
//! apart, it records the offset and the 32 KiB in an [`InflateIndex`]. With this index, [`DeflateSpans`] decodes the stream
//! in [spans](crate::spans).
//!
//! Deflate stores incompressible data unchanged, for example an archive inside an archive. For such blocks the index
//! records the offset of the bytes, so they are read without decoding. The index needs no copy of the 32 KiB before a
//! compressed block that follows such bytes, because they can be read from the stream.

mod index;
mod indexer;
mod stream;

pub use index::{DeflateSpans, InflateIndex, InflateSpan, SpanSource, SpanWindow};
pub use indexer::{IndexerResult, InflateIndexer, WindowStore};
