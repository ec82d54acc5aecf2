//! Random access to deflate streams.

use std::cell::RefCell;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use prep_formats::inflated::{
    DeflateSpans, IndexerResult, InflateIndex, InflateIndexer, InflateSpan, SpanSource, SpanWindow,
};
use prep_formats::read_at::ReadAt;
use prep_formats::spans::SpanReader;
use proptest::prelude::*;

/// Returns incompressible bytes.
fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(|_| (next() >> 11) as u8).collect()
}

/// Returns compressible bytes: random words.
fn text(count: usize, seed: u64) -> Vec<u8> {
    let words = noise(count / 4 + 1, seed);
    let words = words
        .iter()
        .flat_map(|byte| WORDS[usize::from(*byte) % WORDS.len()].bytes());
    words.cycle().take(count).collect()
}

const WORDS: [&str; 5] = ["river ", "stone,", "winter\n", "a ", "morning "];

/// Compresses the content. Ends a block after every `flush_every` bytes, if given.
fn deflate(content: &[u8], level: u32, flush_every: Option<usize>) -> Vec<u8> {
    let mut out = DeflateEncoder::new(Vec::new(), Compression::new(level));
    for piece in content.chunks(flush_every.unwrap_or(usize::MAX)) {
        out.write_all(piece).unwrap();
        if flush_every.is_some() {
            out.flush().unwrap();
        }
    }
    out.finish().unwrap()
}

/// Decodes a stream. Returns the result with the index, and the stored windows.
fn indexed(packed: &[u8]) -> (IndexerResult<&[u8]>, Vec<u8>) {
    let windows = RefCell::new(Vec::new());
    let indexer = InflateIndexer::new(packed, &windows).unwrap();
    let found = indexer.finish(u64::MAX).unwrap();
    (found, windows.take())
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let piece = (0..4, 0..2_500_000_usize, any::<u64>());
    let piece = piece.prop_map(|(kind, count, seed)| match kind {
        0 => noise(count, seed),
        1 => text(count, seed),
        2 => vec![seed as u8; count],
        _ => noise(count % 1000, seed),
    });
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_access_returns_the_original_bytes(
        content in content(),
        level in 0..10_u32,
        flush_every in prop::option::of(1_000..1_000_000_usize),
        trailing in 0..3_usize,
        capacity in 0..3_usize,
        reads in prop::collection::vec((any::<u32>(), 1..300_000_usize), 20),
    ) {
        let packed = deflate(&content, level, flush_every);
        let used = packed.len() as u64;
        let packed = [packed, vec![0xff; trailing]].concat();
        let (mut found, windows) = indexed(&packed);
        prop_assert_eq!((found.used, found.len), (used, content.len() as u64));
        let mut rest = Vec::new();
        found.rest.read_to_end(&mut rest)?;
        prop_assert_eq!(rest, vec![0xff; trailing]);
        prop_assert_eq!(found.crc32, crc32fast::hash(&content));
        let index = found.index.expect("blocks are short");
        prop_assert!(windows.len() as u64 <= found.len / 256 + 2 * 32768, "too many windows");
        let inflated = SpanReader::new(DeflateSpans::new(&packed[..], &windows[..], index), capacity);
        let mut all = vec![1; content.len()];
        inflated.read_exact_at(&mut all, 0)?;
        prop_assert!(all == content);
        prop_assert_eq!(inflated.read_at(&mut [0], found.len)?, 0);
        for (at, count) in reads {
            let at = at as usize % (content.len() + 1);
            let count = count.min(content.len() - at);
            let mut part = vec![1; count];
            inflated.read_exact_at(&mut part, at as u64)?;
            prop_assert!(part == content[at..at + count], "{} at {}", count, at);
        }
    }

    #[test]
    fn damaged_streams_do_not_panic(
        content in content(),
        level in 0..10_u32,
        place in any::<prop::sample::Index>(),
        change in 1..=u8::MAX,
    ) {
        let mut packed = deflate(&content[..content.len().min(300_000)], level, None);
        let place = place.index(packed.len());
        packed[place] ^= change;
        let windows = RefCell::new(Vec::new());
        let found = InflateIndexer::new(&packed[..], &windows);
        let found = found.and_then(|indexer| indexer.finish(1 << 20));
        let Ok(found) = found else { return Ok(()) };
        prop_assert!(found.len <= (1 << 20) + (1 << 18));
        if let Some(index) = found.index {
            let inflated = SpanReader::new(DeflateSpans::new(&packed[..], windows.take(), index), 1);
            let mut all = vec![0; found.len as usize];
            let _ = inflated.read_exact_at(&mut all, 0);
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(packed in prop::collection::vec(any::<u8>(), 0..400)) {
        let windows = RefCell::new(Vec::new());
        let found = InflateIndexer::new(&packed[..], &windows);
        let found = found.and_then(|indexer| indexer.finish(1 << 20));
        if let Err(error) = found {
            let known = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof];
            prop_assert!(known.contains(&error.kind()), "{}", error);
        }
    }

    #[test]
    fn wrong_index_does_not_panic(
        spans in prop::collection::vec((0..1000_u64, any::<[u16; 3]>(), any::<bool>()), 0..6),
        len in 0..2000_u64,
    ) {
        let packed = deflate(&text(3000, 1), 6, None);
        let spans = spans.into_iter().map(|(start, [at, other, window], coded)| InflateSpan {
            start,
            source: match coded {
                true => SpanSource::Coded {
                    at: at.into(),
                    bit: (other % 9) as u8,
                    window: if other % 2 == 0 { SpanWindow::Stored } else { SpanWindow::Kept(window.into()) },
                },
                false => SpanSource::Stored { at: at.into(), block: other.into() },
            },
        });
        if let Some(index) = InflateIndex::new(spans.collect(), len) {
            let inflated = SpanReader::new(DeflateSpans::new(&packed[..], &packed[..], index), 2);
            for at in (0..len).step_by(97) {
                let _ = inflated.read_at(&mut [0; 50], at);
            }
        }
    }
}

/// Incompressible content needs no windows and few spans.
#[test]
fn stored_blocks_are_read_without_decoding() {
    // Not level 1: there, zlib-rs always uses fixed codes, and never stored blocks.
    for level in [0, 6, 9] {
        let content = noise(9_000_000, 3);
        let packed = deflate(&content, level, None);
        let (found, windows) = indexed(&packed);
        let index = found.index.unwrap();
        assert!(windows.len() <= 2 << 15, "level {level}");
        let stored = |span: &&InflateSpan| matches!(span.source, SpanSource::Stored { .. });
        assert!(
            index.spans().iter().filter(stored).count() <= 9_000_000 / 16_383,
            "level {level}"
        );
        assert!(coded_bytes(&index) < 50_000, "level {level}");
    }
}

/// Returns the number of uncompressed bytes in compressed spans.
fn coded_bytes(index: &InflateIndex) -> u64 {
    let ends = index.spans().iter().skip(1).map(|span| span.start);
    let coded = index
        .spans()
        .iter()
        .zip(ends.chain([index.len()]))
        .map(|(span, end)| match span.source {
            SpanSource::Coded { .. } => end - span.start,
            SpanSource::Stored { .. } => 0,
        });
    coded.sum()
}

/// A compressed block after stored blocks needs a window only if the stored blocks have less than 32 KiB.
#[test]
fn compressed_blocks_between_stored_blocks_are_decoded_separately() {
    // Number of bytes of noise before each 2,000 bytes of text, and the maximum number of bytes in compressed spans.
    for (noisy, max_coded) in [(100_000, 100_000), (10_000, 600_000)] {
        let pieces = |seed| [noise(noisy, seed), text(2_000, seed)].concat();
        let content: Vec<u8> = (1..=50).flat_map(pieces).collect();
        let mut out = DeflateEncoder::new(Vec::new(), Compression::new(6));
        for piece in (1..=50).map(pieces) {
            for part in [&piece[..noisy], &piece[noisy..]] {
                out.write_all(part).unwrap();
                out.flush().unwrap();
            }
        }
        let packed = out.finish().unwrap();
        let (found, windows) = indexed(&packed);
        let index = found.index.unwrap();
        assert!(windows.len() <= 2 << 15, "{noisy}: {}", windows.len());
        let coded = coded_bytes(&index);
        assert!(coded <= max_coded, "{noisy}: {coded} bytes");
        let inflated = SpanReader::new(DeflateSpans::new(&packed[..], &windows[..], index), 1);
        for at in (0..content.len() - 500).rev().step_by(777) {
            let mut part = [0; 500];
            inflated.read_exact_at(&mut part, at as u64).unwrap();
            assert!(part == content[at..at + 500], "{noisy}: {at}");
        }
    }
}

#[test]
fn decoding_starts_every_few_megabytes() {
    let content = text(30_000_000, 5);
    let packed = deflate(&content, 6, None);
    let (found, windows) = indexed(&packed);
    let index = found.index.unwrap();
    let coded = index.spans().len() as u64;
    assert!((3..=4).contains(&coded), "{coded}");
    assert_eq!(windows.len() as u64, (coded - 1) << 15);
    // Reads at the offsets `places`, with at most `capacity` spans in memory. Returns the number of bytes that were
    // decoded repeatedly.
    let read = |capacity, places: &mut dyn Iterator<Item = usize>| {
        let index = index.clone();
        let spans = DeflateSpans::new(&packed[..], &windows[..], index);
        let inflated = SpanReader::new(spans, capacity);
        for at in places {
            inflated.read_exact_at(&mut [0; 10], at as u64).unwrap();
        }
        inflated.repeated_bytes()
    };
    let forwards = || (0..content.len() - 10).step_by(100_000);
    assert_eq!(read(1, &mut forwards()), 0);
    assert_eq!(read(1, &mut forwards().chain(forwards())), 0);
    assert_eq!(read(2, &mut forwards().flat_map(|at| [at, at / 2])), 0);
    let scattered = |at: usize| at * 7_919 % (content.len() - 10);
    assert!(read(1, &mut forwards().map(scattered)) > 500_000_000);
}

#[test]
fn single_endless_block_has_no_index() {
    // The header of the last block with fixed codes, many codes of the literal byte 0, and the end of the block. Codes are
    // written with their highest bit first.
    let bits = [true, true, false].into_iter();
    let zero = [false, false, true, true, false, false, false, false];
    let zeros = std::iter::repeat_n(zero, 20 << 20).flatten();
    let end = [false; 7];
    let mut packed = Vec::new();
    let (mut byte, mut count) = (0_u8, 0);
    for bit in bits.chain(zeros).chain(end) {
        byte |= u8::from(bit) << count;
        count += 1;
        if count == 8 {
            packed.push(byte);
            (byte, count) = (0, 0);
        }
    }
    packed.push(byte);
    let (found, _) = indexed(&packed);
    assert_eq!((found.len, found.used), (20 << 20, packed.len() as u64));
    assert!(found.index.is_none());
}

/// Threads that need the same span wait for the thread that decodes it.
#[test]
fn concurrent_threads_read_the_same_bytes() {
    let content = text(20_000_000, 7);
    let packed = deflate(&content, 6, None);
    let (found, windows) = indexed(&packed);
    let inflated = SpanReader::new(
        DeflateSpans::new(&packed[..], &windows[..], found.index.unwrap()),
        2,
    );
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (inflated, content) = (&inflated, &content);
            scope.spawn(move || {
                for at in (thread * 5000..content.len() - 5000).step_by(20_000) {
                    let mut part = vec![0; 5000];
                    inflated.read_exact_at(&mut part, at as u64).unwrap();
                    assert!(part == content[at..at + 5000]);
                }
            });
        }
    });
}
