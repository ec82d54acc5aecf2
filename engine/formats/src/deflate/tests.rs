//! Compares the decoder with flate2's.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use proptest::prelude::*;

use super::*;

/// Generates concatenated pieces: noise, two kinds of biased noise, repetitions, or short noise.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let piece = (0..5, 0..90_000_usize, any::<u64>());
    let piece = piece.prop_map(|(kind, count, seed)| {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as u8
        };
        match kind {
            0 => (0..count).map(|_| next()).collect(),
            1 => (0..count).map(|_| next() & next()).collect(),
            2 => (0..count).map(|_| (next() & 7) * (next() & 3)).collect(),
            3 => {
                let unit: Vec<u8> = (0..1 + seed % 40_000).map(|_| next()).collect();
                unit.into_iter().cycle().take(count).collect()
            }
            _ => (0..count % 40).map(|_| next()).collect::<Vec<_>>(),
        }
    });
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn deflate(content: &[u8], level: u32) -> Vec<u8> {
    let mut out = DeflateEncoder::new(Vec::new(), Compression::new(level));
    out.write_all(content).unwrap();
    out.finish().unwrap()
}

/// Decodes `packed` in one call, to at most `room` bytes. Returns the output, the number of used input bytes, and whether the
/// stream has ended.
fn decode(packed: &[u8], room: usize) -> Result<(Vec<u8>, usize, bool), String> {
    let mut out = vec![0; room];
    let decoded = Inflater::default().decode(packed, &mut out);
    let Decoded {
        used,
        written,
        stop,
    } = decoded.map_err(|error| error.to_string())?;
    out.truncate(written);
    Ok((out, used, stop == Stop::End))
}

/// Like [`decode`], but with the decoder of flate2.
fn decode_expected(packed: &[u8], room: usize) -> Result<(Vec<u8>, usize, bool), String> {
    let mut out = Vec::with_capacity(room);
    let mut decoder = Decompress::new(false);
    let status = decoder.decompress_vec(packed, &mut out, FlushDecompress::Finish);
    let status = status.map_err(|error| error.to_string())?;
    Ok((
        out,
        decoder.total_in() as usize,
        status == Status::StreamEnd,
    ))
}

/// The message with which zlib-rs, the decoder in flate2, replaces some messages.
const UNKNOWN_REASON: &str = "repeated call with bad state";

/// Decodes `packed` in several calls. `lengths` contains the sizes of the input and output buffer of each call, and is
/// repeated. With `blocks`, decoding also stops at the end of each block.
fn decode_in_parts(packed: &[u8], lengths: &[(usize, usize)], blocks: bool) -> Vec<u8> {
    let (mut decoder, mut content, mut used) = (Inflater::default(), Vec::new(), 0);
    for (input, output) in lengths.iter().cycle().take(1 << 22) {
        let input = &packed[used..packed.len().min(used + input)];
        let mut part = vec![0; *output];
        let decoded = match blocks {
            true => decoder.decode_block(input, &mut part),
            false => decoder.decode(input, &mut part),
        };
        let decoded = decoded.unwrap();
        used += decoded.used;
        content.extend_from_slice(&part[..decoded.written]);
        if decoded.stop == Stop::End {
            break;
        }
    }
    assert_eq!(used, packed.len());
    content
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn decodes_valid_streams(
        content in content(),
        level in 0..10_u32,
        lengths in prop::collection::vec((1..3000_usize, 1..3000_usize), 1..9),
        blocks in any::<bool>(),
    ) {
        let packed = deflate(&content, level);
        let followed = [&packed[..], &[0xff; 70]].concat();
        let (found, used, ended) = decode(&followed, content.len() + 400).unwrap();
        prop_assert!(found == content && used == packed.len() && ended);
        prop_assert!(decode(&packed, content.len()).unwrap().0 == content);
        prop_assert!(decode_in_parts(&packed, &lengths, blocks) == content);
        if content.len() < 50_000 {
            prop_assert!(decode_in_parts(&packed, &[(1, 1)], blocks) == content);
        }
    }

    /// The messages of errors must be equal, too, unless flate2 reports [`UNKNOWN_REASON`].
    #[test]
    fn treats_damaged_streams_like_flate2(
        content in content(),
        level in 0..10_u32,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        is_truncated in any::<bool>(),
        room in 0..100_000_usize,
    ) {
        let mut packed = deflate(&content, level);
        for (place, byte) in changes {
            let place = place.index(packed.len());
            packed[place] = byte;
        }
        if is_truncated {
            packed.truncate(end.index(packed.len()));
        }
        let (ours, theirs) = (decode(&packed, room), decode_expected(&packed, room));
        match (&ours, &theirs) {
            (Ok((ours, used, ended)), Ok((theirs, expected, expected_end))) => {
                prop_assert!(ours == theirs && ended == expected_end);
                prop_assert!(!ended || used == expected);
            }
            (Err(_), Err(theirs)) if theirs.ends_with(UNKNOWN_REASON) => {}
            _ => prop_assert_eq!(ours, theirs),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn treats_arbitrary_bytes_like_flate2(
        kind in 0..8_u8,
        mut packed in prop::collection::vec(any::<u8>(), 1..200),
        zeros in 0..40_usize,
    ) {
        // The first three bits mark the last block and contain the kind of the block.
        packed[0] = packed[0] & !7 | kind;
        let part = zeros.min(packed.len() - 1);
        packed[1..=part].iter_mut().step_by(2).for_each(|byte| *byte = 0);
        let (ours, theirs) = (decode(&packed, 5000), decode_expected(&packed, 5000));
        match (&ours, &theirs) {
            (Ok((ours, _, ended)), Ok((theirs, _, expected_end))) => {
                prop_assert!(ours == theirs && ended == expected_end);
            }
            (Err(_), Err(theirs)) if theirs.ends_with(UNKNOWN_REASON) => {}
            _ => prop_assert_eq!(ours, theirs),
        }
    }
}
