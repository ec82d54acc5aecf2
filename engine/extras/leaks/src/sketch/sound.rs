//! Sketches of sounds: the loudness of 256 sections of equal length, minus the mean loudness. Also computes features of
//! sounds for the baseline. Supports WAV files with uncompressed samples.

use hound::{SampleFormat, WavReader};

use super::prints::Print;
use super::{Sketch, prints};
use crate::statistics::{deviation, mean};

/// Number of sections of a sound from which its sketch is computed.
const SECTIONS: usize = 256;
/// Number of sections of a sound from which its features are computed.
const FEATURE_SECTIONS: usize = 8;
/// Value of a full-scale sample in fingerprints.
const SAMPLE_STEPS: f64 = 32_768.0;
/// A sound is treated as silence if the standard deviation of its sections' loudness is below this number. Full scale is 1.
const MIN_DEVIATION: f64 = 2e-4;
/// Features are computed from at most this number of samples.
const MAX_SAMPLES: usize = 1 << 21;

/// Returns the number of channels, and the samples of the first channel between -1 and 1. If the file is
/// truncated, returns the samples before the end.
fn samples(file: &[u8]) -> Option<(usize, Vec<f64>)> {
    let reader = WavReader::new(file).ok()?;
    let form = reader.spec();
    let channels = usize::from(form.channels);
    let samples = match form.sample_format {
        SampleFormat::Float => {
            let all = reader.into_samples::<f32>().map_while(Result::ok);
            all.step_by(channels).map(f64::from).collect()
        }
        SampleFormat::Int => {
            let full_scale = 2_f64.powi(i32::from(form.bits_per_sample) - 1);
            let all = reader.into_samples::<i32>().map_while(Result::ok);
            let all = all.step_by(channels).map(f64::from);
            all.map(|sample| sample / full_scale).collect()
        }
    };
    Some((channels, samples))
}

pub(super) fn prints(file: &[u8]) -> Option<Box<[Print]>> {
    let (_, samples) = samples(file)?;
    let steps = samples
        .iter()
        .map(|sample| (sample * SAMPLE_STEPS).round() as i64);
    Some(prints::of_samples(steps))
}

pub(super) fn sketch(file: &[u8]) -> Option<Sketch> {
    let (_, samples) = samples(file)?;
    let count = samples.len();
    if count < SECTIONS * 4 {
        return None;
    }
    let mut sums = vec![(0.0_f64, 0.0_f64, 0_u64); SECTIONS];
    for (number, sample) in samples.iter().enumerate() {
        if let Some((sum, squares, count)) = sums.get_mut(number * SECTIONS / count) {
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
    let mean = mean(&loudness);
    let values: Vec<f64> = loudness.iter().map(|one| one - mean).collect();
    Sketch::new(&values).filter(|_| deviation(&values) >= MIN_DEVIATION)
}

/// Returns features of a sound: loudness and frequency of zero crossings in eight sections.
pub(crate) fn sound_features(file: &[u8]) -> Vec<(String, f64)> {
    let Some((channels, samples)) = samples(file) else {
        return Vec::new();
    };
    let all = channels * samples.len();
    let samples = samples.get(..MAX_SAMPLES).unwrap_or(&samples);
    let section = samples.len().div_ceil(FEATURE_SECTIONS).max(1);
    let mut found = Vec::new();
    for (number, part) in samples.chunks(section).enumerate() {
        let count = part.len() as f64;
        let loud = (part.iter().map(|one| one * one).sum::<f64>() / count).sqrt();
        let is_crossing = |two: &&[f64]| matches!(two, [a, b] if (*a < 0.0) != (*b < 0.0));
        let crossings = part.windows(2).filter(is_crossing).count();
        found.push((format!("loudness {number}"), loud));
        found.push((format!("crossings {number}"), crossings as f64 / count));
    }
    found.push(("samples".to_owned(), all as f64));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<f64> {
        let loud = |at: f64| (0.4 + 0.3 * (at / 700.0).sin()) * (at / 3.0).sin();
        (0..9000).map(|at| loud(f64::from(at))).collect()
    }

    fn chunk(name: &[u8], content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap().to_le_bytes();
        [name, &length, content].concat()
    }

    fn as_wav(tag: u16, width: u16, data: &[u8]) -> Vec<u8> {
        let mut format = Vec::new();
        for field in [tag, 1, 8000, 0, 8000 * width, 0, width, 8 * width] {
            format.extend(field.to_le_bytes());
        }
        let inner = [chunk(b"fmt ", &format), chunk(b"data", data)].concat();
        [b"RIFF\0\0\0\0WAVE".as_slice(), &inner].concat()
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
                "half as loud",
                as_wav(
                    1,
                    2,
                    &bytes(&|one| ((one * 16000.0) as i16).to_le_bytes().to_vec()),
                ),
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
        let mut random = crate::statistics::SplitMix::new(5);
        for good in [as_wav(1, 2, &data), as_wav(3, 4, &data)] {
            for _ in 0..3000 {
                let mut bad = good.clone();
                // Damage the header at the beginning, because it contains the lengths.
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
