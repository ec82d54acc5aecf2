//! Sketches of sounds: the loudness of 256 sections of equal length, minus its mean. Supports WAV and AIFF files with
//! uncompressed samples.

use super::Sketch;
use super::prints::{self, Print};
use crate::number::integer;

/// Number of sections.
const SECTIONS: usize = 256;
/// Value of a full-scale sample in fingerprints, as in samples of 16 bits.
const SAMPLE_STEPS: f64 = 32_768.0;
/// Minimum standard deviation of the loudness over the sections, where 1 is full scale. Sounds below it are treated as
/// silence.
const MIN_DEVIATION: f64 = 2e-4;

/// The encoding of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Form {
    channels: usize,
    /// Bytes per sample.
    width: usize,
    is_float: bool,
    is_big: bool,
    /// Whether samples are unsigned: 128 is silence for samples of one byte.
    is_unsigned: bool,
}

fn decode(file: &[u8]) -> Option<(Form, &[u8])> {
    match (file.get(..4)?, file.get(8..12)?) {
        (b"RIFF", b"WAVE") => wav(file),
        (b"FORM", b"AIFF" | b"AIFC") => aiff(file),
        _ => None,
    }
}

/// Returns the fingerprints of the first channel.
pub(super) fn prints(file: &[u8]) -> Option<Box<[Print]>> {
    let (form, data) = decode(file)?;
    let frame = form.channels.checked_mul(form.width)?.max(1);
    let samples = data.chunks_exact(frame).map(|bytes| {
        let sample = bytes.get(..form.width).map_or(0.0, |one| value(form, one));
        (sample * SAMPLE_STEPS).round() as i64
    });
    Some(prints::of_samples(samples))
}

pub(super) fn sketch(file: &[u8]) -> Option<Sketch> {
    let (form, data) = decode(file)?;
    let frame = form.channels.checked_mul(form.width)?;
    if form.channels == 0 || !(1..=8).contains(&form.width) {
        return None;
    }
    let frames = data.len() / frame;
    if frames < SECTIONS * 4 {
        return None;
    }
    let mut sums = vec![(0.0_f64, 0.0_f64, 0_u64); SECTIONS];
    for (number, bytes) in data.chunks_exact(frame).enumerate() {
        // Only the first channel is read.
        let sample = bytes.get(..form.width).map_or(0.0, |one| value(form, one));
        if let Some((sum, squares, count)) = sums.get_mut(number * SECTIONS / frames) {
            *sum += sample;
            *squares += sample * sample;
            *count += 1;
        }
    }
    // Loudness is the standard deviation of the samples in the section.
    let loudness = |(sum, squares, count): &(f64, f64, u64)| {
        let count = (*count).max(1) as f64;
        (squares / count - (sum / count).powi(2)).max(0.0).sqrt()
    };
    let loudness: Vec<f64> = sums.iter().map(loudness).collect();
    let mean = loudness.iter().sum::<f64>() / SECTIONS as f64;
    let values: Vec<f64> = loudness.iter().map(|one| one - mean).collect();
    let variance = values.iter().map(|one| one * one).sum::<f64>() / SECTIONS as f64;
    match variance.sqrt() >= MIN_DEVIATION {
        true => Sketch::new(&values),
        false => None,
    }
}

/// Converts a sample to a number between -1 and 1.
fn value(form: Form, bytes: &[u8]) -> f64 {
    let mut wide = [0_u8; 8];
    for (to, from) in wide.iter_mut().rev().zip(bytes.iter().rev()) {
        *to = *from;
    }
    if form.is_big {
        wide = [0; 8];
        for (to, from) in wide.iter_mut().rev().zip(bytes) {
            *to = *from;
        }
    }
    // The bytes of the sample become the highest bytes of the integer, so all widths have the same scale.
    match (form.is_float, form.width) {
        (true, 4) => f64::from(f32::from_bits((u64::from_le_bytes(wide) >> 32) as u32)),
        (true, _) => f64::from_bits(u64::from_le_bytes(wide)),
        (false, _) if form.is_unsigned => u64::from_le_bytes(wide) as f64 / 2_f64.powi(63) - 1.0,
        (false, _) => i64::from_le_bytes(wide) as f64 / 2_f64.powi(63),
    }
}

/// Returns the chunks of a RIFF or IFF file: name and content. The content of the last one may be truncated.
fn chunks(file: &[u8], is_big: bool) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut at = 12_usize;
    std::iter::from_fn(move || {
        let name = file.get(at..at.checked_add(4)?)?;
        let length = integer(file, at + 4, 4, is_big)?;
        let begin = at.checked_add(8)?;
        let end = begin.saturating_add(length).min(file.len());
        at = begin.checked_add(length)?.checked_add(length % 2)?;
        Some((name, file.get(begin..end)?))
    })
}

fn wav(file: &[u8]) -> Option<(Form, &[u8])> {
    let mut form = None;
    for (name, content) in chunks(file, false) {
        match name {
            b"fmt " => {
                let field = |at| integer(content, at, 2, false);
                let tag = match field(0)? {
                    0xfffe => field(24)?,
                    tag => tag,
                };
                if !matches!(tag, 1 | 3) {
                    return None;
                }
                let width = field(14)?.div_ceil(8);
                form = Some(Form {
                    channels: field(2)?,
                    width,
                    is_float: tag == 3,
                    is_big: false,
                    is_unsigned: width == 1,
                });
            }
            b"data" => return Some((form?, content)),
            _ => {}
        }
    }
    None
}

fn aiff(file: &[u8]) -> Option<(Form, &[u8])> {
    let (mut form, mut data) = (None, None);
    for (name, content) in chunks(file, true) {
        match name {
            b"COMM" => {
                let field = |at| integer(content, at, 2, true);
                // AIFC has a field for the encoding of samples, but AIFF does not.
                let (is_float, is_big) = match content.get(18..22) {
                    None | Some(b"NONE" | b"twos") => (false, true),
                    Some(b"sowt") => (false, false),
                    Some(b"fl32" | b"FL32" | b"fl64" | b"FL64") => (true, true),
                    Some(_) => return None,
                };
                form = Some(Form {
                    channels: field(0)?,
                    width: field(6)?.div_ceil(8),
                    is_float,
                    is_big,
                    is_unsigned: false,
                });
            }
            b"SSND" => data = content.get(8..),
            _ => {}
        }
    }
    Some((form?, data?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tone whose loudness rises and falls.
    fn samples() -> Vec<f64> {
        let loud = |at: f64| (0.4 + 0.3 * (at / 700.0).sin()) * (at / 3.0).sin();
        (0..9000).map(|at| loud(f64::from(at))).collect()
    }

    fn chunk(name: &[u8], content: &[u8], is_big: bool) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap();
        let length = match is_big {
            true => length.to_be_bytes(),
            false => length.to_le_bytes(),
        };
        [name, &length, content].concat()
    }

    fn as_wav(tag: u16, width: u16, data: &[u8]) -> Vec<u8> {
        let mut format = Vec::new();
        for field in [tag, 1, 8000, 0, 8000, 0, width, 8 * width] {
            format.extend(field.to_le_bytes());
        }
        let inner = [chunk(b"fmt ", &format, false), chunk(b"data", data, false)].concat();
        [b"RIFF\0\0\0\0WAVE".as_slice(), &inner].concat()
    }

    fn as_aiff(data: &[u8]) -> Vec<u8> {
        let mut common = vec![0; 18];
        (common[1], common[7]) = (1, 16);
        let data = [&[0; 8], data].concat();
        let inner = [chunk(b"COMM", &common, true), chunk(b"SSND", &data, true)].concat();
        [b"FORM\0\0\0\0AIFF".as_slice(), &inner].concat()
    }

    #[test]
    fn sketches_are_equal_for_all_sample_encodings() {
        let samples = samples();
        let bytes = |of: &dyn Fn(f64) -> Vec<u8>| -> Vec<u8> {
            samples.iter().flat_map(|sample| of(*sample)).collect()
        };
        let two = bytes(&|one| ((one * 32767.0) as i16).to_le_bytes().to_vec());
        let one = sketch(&as_wav(1, 2, &two)).unwrap();
        for (what, other) in [
            (
                "8 bits",
                as_wav(1, 1, &bytes(&|one| vec![(128.0 + one * 127.0) as u8])),
            ),
            (
                "24 bits",
                as_wav(
                    1,
                    3,
                    &bytes(&|one| ((one * 8e6) as i32).to_le_bytes()[..3].to_vec()),
                ),
            ),
            (
                "floats",
                as_wav(3, 4, &bytes(&|one| (one as f32).to_le_bytes().to_vec())),
            ),
            (
                "doubles",
                as_wav(3, 8, &bytes(&|one| one.to_le_bytes().to_vec())),
            ),
            (
                "half as loud",
                as_wav(
                    1,
                    2,
                    &bytes(&|one| ((one * 16000.0) as i16).to_le_bytes().to_vec()),
                ),
            ),
            (
                "big end first",
                as_aiff(&bytes(&|one| {
                    ((one * 32767.0) as i16).to_be_bytes().to_vec()
                })),
            ),
        ] {
            let other = sketch(&other).unwrap();
            let apart = one.distance(&other, 2.0).unwrap();
            assert!(apart < 0.02, "{what}: {apart}");
        }
    }

    #[test]
    fn silence_and_other_files_are_not_sketched() {
        assert_eq!(sketch(&as_wav(1, 2, &[0; 9000])), None);
        assert_eq!(sketch(&as_wav(2, 2, &[1; 9000])), None);
        assert_eq!(
            sketch(b"RIFF\xff\xff\xff\xffWAVEdata\xff\xff\xff\xff"),
            None
        );
        assert_eq!(sketch(b""), None);
    }

    #[test]
    fn damaged_files_do_not_cause_a_panic() {
        let data: Vec<u8> = samples()
            .iter()
            .flat_map(|one| ((one * 32767.0) as i16).to_le_bytes())
            .collect();
        let mut random = crate::statistics::Random::new(5);
        for good in [as_wav(1, 2, &data), as_wav(3, 8, &data), as_aiff(&data)] {
            for _ in 0..3000 {
                let mut bad = good.clone();
                // Lengths come first.
                for _ in 0..1 + random.below(4) {
                    let at = random.below(60);
                    bad[at] = [0, 1, 0x7f, 0xff, random.below(256) as u8][random.below(5)];
                }
                bad.truncate(random.below(2 * bad.len()));
                let _ = sketch(&bad);
            }
        }
    }
}
