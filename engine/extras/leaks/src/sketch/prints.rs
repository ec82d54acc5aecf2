//! Fingerprints of small regions in a picture or sound. They find files that share a section: a cropped picture, the
//! next frame of a film, or a sound with a different start.
//!
//! Each region has a hash. In a picture, it is computed from the mean brightness of nine fields, relative to the region's
//! mean and rounded to steps. In a sound, it is computed from sixteen samples. The regions with the smallest hashes are kept
//! with their positions. So two files that share a section have many equal hashes, whose positions all differ by the same
//! distance.

use std::collections::BTreeMap;

use prep_contents::pixels::Pixels;

/// Maximum number of fingerprints of a file.
const MAX_PRINTS: usize = 96;

/// Width of a field, in pixels.
const FIELD: usize = 3;
/// Distance between two fields, in pixels.
const SPACING: usize = 6;
/// Size of a brightness step, where 255 is white.
const STEP: f64 = 10.0;

/// Minimum number of different brightness steps in a region.
const MIN_STEPS: u32 = 4;

/// Maximum number of regions of a picture. In larger pictures, regions are larger and farther apart.
const MAX_REGIONS: usize = 1 << 16;

/// Maximum number of pixels of a picture for which fingerprints are computed.
const MAX_PIXELS: usize = 1 << 24;

/// Number of samples in a region of a sound.
const SAMPLES: usize = 16;
/// Minimum number of different samples in a region of a sound.
const MIN_SAMPLES: usize = 8;

/// A fingerprint and its position: the column and row in a picture, or the index of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    pub hash: u32,
    pub place: (u32, u16),
}

/// The smallest hashes found so far.
#[derive(Default)]
struct Smallest(BTreeMap<u32, (u32, u16)>);

impl Smallest {
    /// Returns whether this hash is among the smallest ones so far.
    fn wants(&self, hash: u32) -> bool {
        let last = self.0.last_key_value();
        self.0.len() < MAX_PRINTS || last.is_none_or(|(last, _)| hash < *last)
    }

    fn add(&mut self, hash: u32, place: (u32, u16)) {
        if !self.wants(hash) {
            return;
        }
        self.0.entry(hash).or_insert(place);
        if self.0.len() > MAX_PRINTS {
            self.0.pop_last();
        }
    }

    fn finish(self) -> Box<[Print]> {
        let prints = self.0.into_iter();
        prints.map(|(hash, place)| Print { hash, place }).collect()
    }
}

fn mixed(sum: u64) -> u32 {
    let mixed = (sum ^ (sum >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    u32::try_from(mixed >> 32).unwrap_or(0)
}

pub(super) fn of_pixels(pixels: &Pixels) -> Box<[Print]> {
    let (width, height) = (pixels.width, pixels.height);
    if width * height > MAX_PIXELS {
        return Box::default();
    }
    // Factor by which regions are enlarged.
    let scale = (width * height).div_ceil(MAX_REGIONS).isqrt().max(1);
    let sums = sums(pixels);
    let sum = |x: usize, y: usize| sums.get(y * (width + 1) + x).copied().unwrap_or(0);
    let side = FIELD * scale;
    let field = |x: usize, y: usize| -> f64 {
        // Sums may have overflowed, but the wrapping differences of sums are correct.
        let light = sum(x + side, y + side)
            .wrapping_sub(sum(x, y + side))
            .wrapping_sub(sum(x + side, y))
            .wrapping_add(sum(x, y));
        f64::from(light) / (side * side) as f64
    };
    let size = (2 * SPACING + FIELD) * scale;
    let mut smallest = Smallest::default();
    for y in 0..height.saturating_sub(size) / scale {
        for x in 0..width.saturating_sub(size) / scale {
            let fields: [f64; 9] = std::array::from_fn(|at| {
                let (across, down) = (x + at % 3 * SPACING, y + at / 3 * SPACING);
                field(across * scale, down * scale)
            });
            // Subtract the mean, so that brightness does not change the hash.
            let mean = fields.iter().sum::<f64>() / 9.0;
            let (mut hash, mut steps) = (0x9e37_u64, 0_u64);
            for light in fields {
                let step = ((light - mean) / STEP).round() as i64 + 32;
                steps |= 1 << (step & 63);
                hash = hash
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .wrapping_add(step.cast_unsigned());
            }
            if steps.count_ones() >= MIN_STEPS {
                let place = (
                    u32::try_from(x).unwrap_or(0),
                    u16::try_from(y).unwrap_or(u16::MAX),
                );
                smallest.add(mixed(hash), place);
            }
        }
    }
    smallest.finish()
}

/// Returns the summed-area table of a picture: for each corner of a pixel, the sum of all pixels above and left of it. So
/// the sum of a field needs only four lookups.
fn sums(pixels: &Pixels) -> Vec<u32> {
    let width = pixels.width;
    let stride = pixels.stride().max(1);
    // For samples of two bytes, use the high byte, which comes first. For colours, use green, which contributes most to
    // brightness.
    let channel = match stride / pixels.sample.max(1) {
        1 | 2 => 0,
        _ => pixels.sample,
    };
    let mut sums = vec![0_u32; (width + 1) * (pixels.height + 1)];
    let mut above = vec![0_u32; width + 1];
    let lines = pixels.bytes.chunks_exact(stride * width.max(1));
    for (line, sums) in lines.zip(sums.chunks_exact_mut(width + 1).skip(1)) {
        let mut sum = 0_u32;
        let pixels = line.chunks_exact(stride);
        let cells = sums.iter_mut().skip(1).zip(above.iter().skip(1));
        for (pixel, (cell, above)) in pixels.zip(cells) {
            let light = pixel.get(channel).copied().unwrap_or(0);
            sum = sum.wrapping_add(u32::from(light));
            *cell = above.wrapping_add(sum);
        }
        above.copy_from_slice(sums);
    }
    sums
}

/// Returns the fingerprints of the samples of a sound.
pub(super) fn of_samples(samples: impl Iterator<Item = i64>) -> Box<[Print]> {
    let mut smallest = Smallest::default();
    let mut last = [0_i64; SAMPLES];
    for (number, sample) in samples.enumerate() {
        if let Some(cell) = last.get_mut(number % SAMPLES) {
            *cell = sample;
        }
        if number + 1 < SAMPLES {
            continue;
        }
        let (behind, before) = last.split_at((number + 1) % SAMPLES);
        let ordered = before.iter().chain(behind);
        let hash = ordered.fold(0_u64, |hash, sample| {
            hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(sample.cast_unsigned())
        });
        let hash = mixed(hash);
        if !smallest.wants(hash) {
            continue;
        }
        let mut sorted = last;
        sorted.sort_unstable();
        let equal = sorted.chunk_by(|one, other| one == other);
        if equal.count() >= MIN_SAMPLES {
            smallest.add(hash, (u32::try_from(number).unwrap_or(u32::MAX), 0));
        }
    }
    smallest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SplitMix;

    /// Returns the largest number of fingerprints that two files share with the same shift.
    fn common(one: &[Print], other: &[Print]) -> usize {
        let mut votes: BTreeMap<(i64, i64), usize> = BTreeMap::new();
        for print in one {
            for same in other.iter().filter(|other| other.hash == print.hash) {
                let across = i64::from(same.place.0) - i64::from(print.place.0);
                let down = i64::from(same.place.1) - i64::from(print.place.1);
                *votes.entry((across / 4, down / 4)).or_default() += 1;
            }
        }
        votes.into_values().max().unwrap_or(0)
    }

    #[test]
    fn cropped_pictures_share_fingerprints() {
        let mut random = SplitMix::new(4);
        let spots: Vec<(f64, f64, f64)> = (0..40)
            .map(|_| {
                (
                    random.below(120) as f64,
                    random.below(120) as f64,
                    random.below(120) as f64 - 60.0,
                )
            })
            .collect();
        let light = |x: usize, y: usize| {
            let spots = spots.iter().map(|(cx, cy, light)| {
                let apart = (x as f64 - cx).powi(2) + (y as f64 - cy).powi(2);
                light * (-apart / 90.0).exp()
            });
            (120.0 + spots.sum::<f64>()).clamp(0.0, 255.0)
        };
        let mut cut = |left: usize, top: usize, noise: usize| {
            let bytes = (0..80).flat_map(|y| (0..80).map(move |x| (x, y)));
            let bytes = bytes.map(|(x, y)| {
                let grain = random.below(2 * noise + 1) as f64 - noise as f64;
                (light(x + left, y + top) + grain).clamp(0.0, 255.0) as u8
            });
            Pixels {
                width: 80,
                height: 80,
                sample: 1,
                bytes: bytes.collect(),
            }
        };
        let whole = of_pixels(&cut(0, 0, 0));
        assert!(common(&whole, &of_pixels(&cut(9, 14, 0))) > 20);
        assert!(common(&whole, &of_pixels(&cut(9, 14, 3))) > 8);
        assert!(
            common(&whole, &of_pixels(&cut(40, 40, 0)))
                < common(&whole, &of_pixels(&cut(9, 14, 0)))
        );
    }

    #[test]
    fn sounds_with_different_starts_share_fingerprints() {
        let mut random = SplitMix::new(8);
        let samples: Vec<i64> = (0..9000).map(|_| random.below(4000) as i64).collect();
        let whole = of_samples(samples.iter().copied());
        let later = of_samples(samples.iter().copied().skip(3000));
        let shared = later.iter().filter(|print| {
            whole
                .iter()
                .any(|one| one.hash == print.hash && one.place.0 == print.place.0 + 3000)
        });
        assert!(shared.count() > 50);
        assert!(of_samples(std::iter::repeat_n(7, 9000)).is_empty());
    }
}
