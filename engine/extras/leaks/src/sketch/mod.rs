//! A sketch is a vector of a few hundred numbers that describes a picture, a sound or a series. It hardly changes if a
//! picture is compressed again, resized or brightened, or if a sound becomes louder.
//!
//! Decoding all files could take hours, so only a sample of many files is sketched. A file is in the sample if the hash
//! of its path is below a limit. When the training or test part has too many bytes or sketches, this limit is halved,
//! and sketches above it are dropped.
//!
//! Between two halvings, a limited number of bytes is decoded, and each halving halves the fraction of files that are
//! decoded. Therefore the time grows only with the logarithm of the number of files.

mod picture;
mod prints;
mod sound;

use prep_contents::parallel;
use prints::Print;

use crate::series;
use crate::statistics::hash_of;
use crate::text::ContentKind;

pub(crate) use picture::picture_features;
pub(crate) use sound::sound_features;

/// The BLAKE3 digest of a file's content.
pub(crate) type ContentDigest = [u8; 32];

/// The kind of a sketch. Only sketches of one kind are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    Picture,
    Sound,
    Series,
}

impl Medium {
    pub(crate) fn from_path(path: &str) -> Option<Medium> {
        match ContentKind::from_path(path) {
            ContentKind::Picture => Some(Medium::Picture),
            ContentKind::Sound => Some(Medium::Sound),
            ContentKind::Csv | ContentKind::Array => Some(Medium::Series),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Medium::Picture => "pictures",
            Medium::Sound => "sounds",
            Medium::Series => "series",
        }
    }
}

/// A unit vector whose elements are multiples of 1/32767.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sketch {
    values: Box<[i16]>,
    /// The square of the vector's length, in units of the square of 1/32767. The length is only nearly 1, because
    /// elements are rounded.
    square: i32,
}

const SCALE: f64 = 32_767.0;

/// The exact square of a distance, divided by the rounded square that [`Sketch::distance`] computes, is below this number.
const MARGIN: f64 = 1.00001;

impl Sketch {
    /// Returns the sketch of a file, and fingerprints of small regions of a picture or sound. `None` if the file is
    /// damaged, has an unknown format, or is uniform, for example silent.
    pub(crate) fn from_file(
        medium: Medium,
        path: &str,
        file: &[u8],
    ) -> Option<(Sketch, Box<[Print]>)> {
        match medium {
            Medium::Series => {
                let course = series::course(&series::columns(path, file)?);
                Some((Sketch::new(&course)?, Box::default()))
            }
            Medium::Picture => {
                let pixels = picture::decode(file)?;
                Some((picture::sketch(&pixels)?, prints::of_pixels(&pixels)))
            }
            Medium::Sound => Some((sound::sketch(file)?, sound::prints(file)?)),
        }
    }

    fn new(values: &[f64]) -> Option<Sketch> {
        let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        let steps = |value: &f64| (value / length * SCALE).round() as i16;
        let is_long = length > 0.0 && length.is_finite();
        is_long.then(|| Sketch::of_steps(values.iter().map(steps).collect()))
    }

    /// `values` must be a unit vector.
    fn of_steps(values: Box<[i16]>) -> Sketch {
        let square = product(&values, &values);
        Sketch { values, square }
    }

    pub(crate) fn variants(&self) -> Vec<(&'static str, Sketch)> {
        picture::variants(&self.values)
    }

    /// Returns the exact square of the distance, in units of the square of 1/32767. This method is 20 times as fast as
    /// [`distance`](Self::distance).
    fn square_of_distance(&self, other: &Sketch) -> f64 {
        let both = f64::from(self.square) + f64::from(other.square);
        both - 2.0 * f64::from(product(&self.values, &other.values))
    }

    /// Returns, for each sketch of `several`, a lower bound of the distances between this sketch and the sketches `others`.
    pub(crate) fn lower_bounds<'a>(
        several: &[&Sketch],
        others: impl Iterator<Item = &'a Sketch>,
    ) -> Vec<f64> {
        let mut nearest = vec![f64::INFINITY; several.len()];
        // The other sketches do not fit into the processor's cache, so each of them is read only once.
        for other in others {
            for (sketch, nearest) in several.iter().zip(&mut nearest) {
                if sketch.values.len() == other.values.len() {
                    *nearest = nearest.min(sketch.square_of_distance(other));
                }
            }
        }
        let bound = |nearest: &f64| (nearest.max(0.0) / MARGIN).sqrt() / SCALE;
        nearest.iter().map(bound).collect()
    }

    /// Returns the distance of two sketches, between 0 and 2. `None` if the distance is at least
    /// `limit`, or if the sketches have different lengths.
    pub(crate) fn distance(&self, other: &Sketch, limit: f64) -> Option<f64> {
        let limit = (limit * SCALE).powi(2);
        let mut sum = 0.0;
        if self.values.len() != other.values.len() {
            return None;
        }
        if self.square_of_distance(other) >= limit * MARGIN {
            return None;
        }
        for (own, other) in self.values.chunks(32).zip(other.values.chunks(32)) {
            let squares = own.iter().zip(other).map(|(a, b)| {
                let apart = f32::from(*a) - f32::from(*b);
                apart * apart
            });
            sum += f64::from(squares.sum::<f32>());
            if sum >= limit {
                return None;
            }
        }
        Some(sum.sqrt() / SCALE)
    }
}

/// Returns the scalar product of two unit vectors whose elements are in steps of 1/32767. The product fits into 32 bits,
/// because it is at most about 32767 squared.
fn product(one: &[i16], other: &[i16]) -> i32 {
    let sum = |one: &[i16], other: &[i16]| {
        let products = one.iter().zip(other);
        let products = products.map(|(one, other)| i32::from(*one) * i32::from(*other));
        products.fold(0, i32::wrapping_add)
    };
    // The compiler unrolls chunks of a fixed length, which halves the time.
    let (chunks, rest) = one.as_chunks::<32>();
    let (other_chunks, other_rest) = other.as_chunks::<32>();
    let sums = chunks.iter().zip(other_chunks);
    let sums = sums.map(|(one, other)| sum(one, other));
    sums.fold(sum(rest, other_rest), i32::wrapping_add)
}

/// Files with more bytes are not sketched.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Sketched {
    pub path: String,
    pub medium: Medium,
    /// Files with equal content are not compared, because the detector `equal-files` finds them.
    pub content: ContentDigest,
    pub sketch: Sketch,
    pub prints: Box<[Print]>,
    hash: u64,
}

#[derive(Debug)]
struct Pending {
    path: String,
    medium: Medium,
    content: ContentDigest,
    file: Vec<u8>,
}

/// When this number of small files is pending, they are sketched together.
const MAX_PENDING: usize = 64;
/// When pending small files have more bytes than this, they are sketched together.
const MAX_PENDING_BYTES: usize = 1 << 20;
/// A file with more bytes is sketched alone.
const MAX_SMALL_BYTES: usize = 1 << 18;
/// A picture with more pixels is sketched alone to save memory.
const MAX_SMALL_PIXELS: u64 = 1 << 20;
const MAX_THREADS: usize = 4;

/// The sketches of the files of one part (test or train), or of a sample of these files.
#[derive(Debug)]
pub(crate) struct Wing {
    files: Vec<Sketched>,
    pending: Vec<Pending>,
    threads: usize,
    /// A file is sketched only if the hash of its path is at most this number.
    max_hash: u64,
    /// Number of bytes that were decoded since `max_hash` was last halved.
    spent: u64,
    /// If `spent` exceeds this number of bytes, `max_hash` is halved.
    budget: u64,
    /// Maximum number of sketches. If there are more, `max_hash` is halved.
    room: usize,
}

/// The sketches of both parts.
#[derive(Debug)]
pub(crate) struct Gallery {
    pub test: Wing,
    pub train: Wing,
    pub threads: usize,
}

impl Default for Gallery {
    fn default() -> Gallery {
        Gallery::new(1)
    }
}

impl Gallery {
    pub(crate) fn new(threads: usize) -> Gallery {
        Gallery {
            test: Wing::new(1 << 30, 2_000, threads),
            train: Wing::new(3 << 30, 60_000, threads),
            threads,
        }
    }

    pub(crate) fn finish(&mut self) {
        self.test.sketch_pending();
        self.train.sketch_pending();
    }

    pub(crate) fn wing(&mut self, is_test: bool) -> &mut Wing {
        match is_test {
            true => &mut self.test,
            false => &mut self.train,
        }
    }
}

impl Wing {
    fn new(budget: u64, room: usize, threads: usize) -> Wing {
        Wing {
            files: Vec::new(),
            pending: Vec::new(),
            threads: threads.min(MAX_THREADS),
            max_hash: u64::MAX,
            spent: 0,
            budget,
            room,
        }
    }

    /// Returns whether the file is in the sample, and must be read entirely.
    pub(crate) fn wants(&self, path: &str, bytes: u64) -> bool {
        Medium::from_path(path).is_some()
            && bytes <= MAX_FILE_BYTES
            && hash_of(path) <= self.max_hash
    }

    /// Adds a file. `pixels` is the number of pixels of a picture. Small files are sketched later on several threads,
    /// with the same result as on one thread.
    pub(crate) fn add(
        &mut self,
        path: &str,
        content: ContentDigest,
        file: &[u8],
        pixels: Option<u64>,
    ) {
        let Some(medium) = Medium::from_path(path) else {
            return;
        };
        self.spent += file.len() as u64;
        let has_few_pixels = match medium {
            Medium::Picture => pixels.is_some_and(|pixels| pixels <= MAX_SMALL_PIXELS),
            Medium::Sound | Medium::Series => true,
        };
        if has_few_pixels && file.len() <= MAX_SMALL_BYTES {
            self.pending.push(Pending {
                path: path.to_owned(),
                medium,
                content,
                file: file.to_vec(),
            });
            // Damaged files have no sketch, so only sketching the pending files shows whether the limit of sketches is
            // reached.
            let may_be_full = self.files.len() + self.pending.len() > self.room;
            let bytes: usize = self.pending.iter().map(|one| one.file.len()).sum();
            let are_many = self.pending.len() >= MAX_PENDING || bytes > MAX_PENDING_BYTES;
            if may_be_full || are_many || self.spent > self.budget {
                self.sketch_pending();
            }
        } else {
            self.sketch_pending();
            let sketched = Sketch::from_file(medium, path, file);
            self.push(path.to_owned(), medium, content, sketched);
        }
        if self.spent > self.budget || self.files.len() > self.room {
            self.max_hash /= 2;
            self.spent = 0;
            let most = self.max_hash;
            self.files.retain(|file| file.hash <= most);
        }
    }

    fn sketch_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let sketched = parallel::map(&pending, self.threads, |one| {
            Sketch::from_file(one.medium, &one.path, &one.file)
        });
        for (one, sketched) in pending.into_iter().zip(sketched) {
            self.push(one.path, one.medium, one.content, sketched);
        }
    }

    fn push(
        &mut self,
        path: String,
        medium: Medium,
        content: ContentDigest,
        sketched: Option<(Sketch, Box<[Print]>)>,
    ) {
        if let Some((sketch, prints)) = sketched {
            self.files.push(Sketched {
                hash: hash_of(&path),
                path,
                medium,
                content,
                sketch,
                prints,
            });
        }
    }

    pub(crate) fn of_medium(&self, medium: Medium) -> Vec<&Sketched> {
        let files = self.files.iter();
        files.filter(|file| file.medium == medium).collect()
    }

    pub(crate) fn is_sample(&self) -> bool {
        self.max_hash < u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_wing_contains_an_even_sample() {
        let tone = |at: u32| 100.0 * f64::from(at % 977) * f64::from(at % 13);
        let data: Vec<u8> = (0..4000)
            .flat_map(|at| (tone(at) as i16).to_le_bytes())
            .collect();
        let head = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\x02\0\x10\0data\x40\x1f\0\0";
        let file = [head.as_slice(), &data].concat();
        let filled = |threads| {
            let mut wing = Wing::new(u64::MAX, 100, threads);
            for number in 0..1000 {
                let path = format!("train/{number}.wav");
                if wing.wants(&path, file.len() as u64) {
                    wing.add(&path, [0; 32], &file, None);
                }
            }
            wing.sketch_pending();
            wing
        };
        let wing = filled(1);
        let paths = |wing: &Wing| -> Vec<String> {
            wing.files.iter().map(|file| file.path.clone()).collect()
        };
        assert_eq!(paths(&wing), paths(&filled(3)));
        let files = wing.of_medium(Medium::Sound);
        assert!((40..=100).contains(&files.len()), "{}", files.len());
        let place = |file: &&&Sketched| file.path[6..file.path.len() - 4].parse::<usize>().unwrap();
        let early = files.iter().filter(|file| place(file) < 500).count();
        assert!((files.len() / 4..files.len()).contains(&early) && wing.is_sample());
        assert!(!wing.wants("train/1.txt", 10) && !wing.wants("train/1.wav", MAX_FILE_BYTES + 1));
    }
}
