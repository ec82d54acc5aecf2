//! Fingerprints of small regions in a picture or sound. They find files that share a section: a cropped picture, the
//! next frame of a film, or a sound with a different start.
//!
//! A picture's region contains nine small squares, its *fields*. The region's hash is computed from the brightness of
//! these fields relative to the region's mean. A sound's region is sixteen samples, from which its hash is computed.
//!
//! Only the regions with the smallest hashes are kept. If two files share a section, this choice keeps many of its regions
//! in both files. The positions of their hashes in both files differ by the same distance.

use std::collections::BTreeMap;

use prep_contents::pixels::Pixels;

const MAX_PRINTS: usize = 96;

/// Width of a field, in pixels.
const FIELD: usize = 3;
/// Distance between two fields, in pixels.
const SPACING: usize = 6;
/// Size of a brightness step, where 255 is white.
const STEP: f64 = 10.0;

/// A picture's region with fewer different brightness steps than this has no fingerprint.
const MIN_STEPS: u32 = 4;

/// A picture has at most about this number of regions. In larger pictures, regions are larger and farther apart.
const MAX_REGIONS: usize = 1 << 16;

/// Pictures with more pixels have no fingerprints.
const MAX_PIXELS: usize = 1 << 24;

/// Number of samples in a region of a sound.
const SAMPLES: usize = 16;
/// A sound's region with fewer different samples than this has no fingerprint.
const MIN_SAMPLES: usize = 8;

/// A fingerprint and its position: the column and row in a picture, or the index of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    pub hash: u32,
    pub place: (u32, u16),
}

#[derive(Default)]
struct Smallest {
    places: BTreeMap<u32, (u32, u16)>,
    /// The largest hash in `places`. `None` while there are fewer than [`MAX_PRINTS`] places, because every hash is
    /// then added.
    largest: Option<u32>,
}

impl Smallest {
    fn wants(&self, hash: u32) -> bool {
        self.largest.is_none_or(|largest| hash < largest)
    }

    fn add(&mut self, hash: u32, place: (u32, u16)) {
        if !self.wants(hash) {
            return;
        }
        self.places.entry(hash).or_insert(place);
        if self.places.len() > MAX_PRINTS {
            self.places.pop_last();
        }
        if self.places.len() == MAX_PRINTS {
            self.largest = self.places.last_key_value().map(|(last, _)| *last);
        }
    }

    fn finish(self) -> Box<[Print]> {
        let prints = self.places.into_iter();
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
    let scale = (width * height).div_ceil(MAX_REGIONS).isqrt().max(1);
    let size = (2 * SPACING + FIELD) * scale;
    let columns = width.saturating_sub(size) / scale;
    let fields = Fields::new(pixels, scale);
    let mut regions = RegionRow::default();
    let mut smallest = Smallest::default();
    for y in 0..height.saturating_sub(size) / scale {
        regions.read(&fields, y, columns);
        for (x, hash) in regions.hashes.iter().enumerate() {
            let hash = mixed(*hash);
            // Steps are counted last, because few regions pass the other condition.
            if smallest.wants(hash) && regions.different_steps(x) >= MIN_STEPS {
                let place = (
                    u32::try_from(x).unwrap_or(0),
                    u16::try_from(y).unwrap_or(u16::MAX),
                );
                smallest.add(hash, place);
            }
        }
    }
    smallest.finish()
}

/// The total brightness of the fields at all positions, row by row. Regions overlap, so a field belongs to up to nine
/// regions. In each of them, the field has a different place.
struct Fields {
    sums: Vec<i32>,
    /// Number of fields in a row.
    width: usize,
    /// Number of pixels in a field.
    area: f32,
}

impl Fields {
    fn new(pixels: &Pixels, scale: usize) -> Fields {
        let side = FIELD * scale;
        let positions = |length: usize| length.checked_sub(side).map_or(0, |rest| rest / scale + 1);
        let width = positions(pixels.width);
        let sums = sums(pixels);
        let line = |y: usize| sums.get(y * (pixels.width + 1)..).unwrap_or_default();
        let mut fields = Vec::with_capacity(width * positions(pixels.height));
        for y in 0..positions(pixels.height) {
            let pairs = line(y * scale).iter().zip(line(y * scale + side));
            let right = pairs.clone().skip(side).step_by(scale);
            let row = pairs.step_by(scale).zip(right).take(width);
            fields.extend(row.map(|((above, below), (above_right, below_right))| {
                // Sums may overflow, but their wrapping differences are correct.
                let light = below_right.wrapping_sub(*below).wrapping_sub(*above_right);
                light.wrapping_add(*above).cast_signed()
            }));
        }
        let area = (side * side) as f32;
        Fields {
            sums: fields,
            width,
            area,
        }
    }

    /// Returns the field at `place` of each region in row `y`.
    fn at(&self, place: usize, y: usize, regions: usize) -> &[i32] {
        let begin = (y + place / 3 * SPACING) * self.width + place % 3 * SPACING;
        self.sums.get(begin..begin + regions).unwrap_or_default()
    }
}

/// A row of regions. Its values are separate vectors, so that loops over the regions compile to vector instructions.
#[derive(Default)]
struct RegionRow {
    /// For each of the nine fields: the field's brightness in all regions of the row, in steps of [`STEP`]. The region's
    /// mean brightness is subtracted, so that a brighter copy has the same hash.
    steps: [Vec<i32>; 9],
    hashes: Vec<u64>,
    /// The sum of each region's fields.
    sums: Vec<i32>,
    /// For each region, not 0 if any of its fields is between two steps.
    between: Vec<u32>,
}

/// Adding this number, 1.5 * 2^23, rounds an `f32` to an integer.
const INTEGERS: f32 = 12_582_912.0;

impl RegionRow {
    fn read(&mut self, fields: &Fields, y: usize, regions: usize) {
        self.sums.clear();
        self.sums.resize(regions, 0);
        for place in 0..9 {
            for (sum, field) in self.sums.iter_mut().zip(fields.at(place, y, regions)) {
                *sum += field;
            }
        }
        self.round(fields, y, regions);
        for region in 0..regions {
            let between = self.between.get(region);
            if between.is_some_and(|between| *between != 0) {
                self.round_exactly(fields, y, region, regions);
            }
        }
        self.hashes.clear();
        self.hashes.resize(regions, 0x9e37);
        for steps in &self.steps {
            for (hash, step) in self.hashes.iter_mut().zip(steps) {
                *hash = hash
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .wrapping_add(i64::from(step + 32).cast_unsigned());
            }
        }
    }

    /// Rounds the brightness of all fields to steps.
    fn round(&mut self, fields: &Fields, y: usize, regions: usize) {
        self.between.clear();
        self.between.resize(regions, 0);
        // `f32` represents all these integers exactly, because nine fields have at most 9 * 255 * 48^2 < 2^24.
        let step_size = STEP as f32 * 9.0 * fields.area;
        let factor = 1.0 / step_size;
        for (place, steps) in self.steps.iter_mut().enumerate() {
            steps.resize(regions, 0);
            let cells = steps.iter_mut().zip(&mut self.between);
            let cells = cells.zip(fields.at(place, y, regions).iter().zip(&self.sums));
            for ((step, between), (field, sum)) in cells {
                let apart = (9 * field - sum) as f32;
                let rounded = apart * factor + INTEGERS;
                *step = (rounded.to_bits().wrapping_sub(INTEGERS.to_bits())).cast_signed();
                let rest = apart - (rounded - INTEGERS) * step_size;
                *between |= u32::from(2.0 * rest.abs() >= step_size);
            }
        }
    }

    /// Rounds the fields of a region in which some fields are between two steps. Computes with `f64`, because rounding
    /// errors of the mean decide how such fields are rounded.
    fn round_exactly(&mut self, fields: &Fields, y: usize, region: usize, regions: usize) {
        let light: [f64; 9] = std::array::from_fn(|place| {
            let field = fields.at(place, y, regions).get(region);
            f64::from(field.copied().unwrap_or(0)) / f64::from(fields.area)
        });
        let mean = light.iter().sum::<f64>() / 9.0;
        for (light, steps) in light.iter().zip(&mut self.steps) {
            if let Some(step) = steps.get_mut(region) {
                *step = ((light - mean) / STEP).round() as i32;
            }
        }
    }

    fn different_steps(&self, region: usize) -> u32 {
        let steps = self.steps.iter().filter_map(|steps| steps.get(region));
        let steps = steps.fold(0_u64, |all, step| all | 1 << ((step + 32) & 63));
        steps.count_ones()
    }
}

/// Returns the summed-area table of a picture: for each corner of a pixel, the sum of all pixels above and left of it.
/// The sum of a field is computed from only four numbers of this table.
fn sums(pixels: &Pixels) -> Vec<u32> {
    let width = pixels.width;
    let stride = pixels.stride().max(1);
    // Use the first byte of a two-byte sample, which is the high byte. Use the green sample of a colour picture, which
    // contributes most to brightness.
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

    /// The fast rounding in `f32` must give the same steps as the rounding of doubles.
    #[test]
    fn steps_equal_those_of_rounded_doubles() {
        let mut random = SplitMix::new(5);
        for (width, height, range) in [(60, 50, 256), (61, 47, 40), (700, 500, 256)] {
            let bytes = (0..width * height).map(|_| random.below(range) as u8);
            let pixels = Pixels {
                width,
                height,
                sample: 1,
                bytes: bytes.collect(),
            };
            let scale = (width * height).div_ceil(MAX_REGIONS).isqrt().max(1);
            let fields = Fields::new(&pixels, scale);
            let regions = width / scale - 2 * SPACING - FIELD;
            let (mut row, mut exact) = (RegionRow::default(), RegionRow::default());
            for y in 0..height / scale - 2 * SPACING - FIELD {
                row.read(&fields, y, regions);
                exact.round(&fields, y, regions);
                for region in 0..regions {
                    exact.round_exactly(&fields, y, region, regions);
                }
                assert_eq!(row.steps, exact.steps, "{width} x {height}, row {y}");
            }
        }
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
