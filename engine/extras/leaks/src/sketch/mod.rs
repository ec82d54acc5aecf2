//! A sketch describes a picture, sound or series with a few hundred numbers, which compression, size, brightness, contrast
//! and loudness hardly change.
//!
//! This module collects the sketches of training and test files. If there are more files than can be decoded in a few
//! minutes, only a sample of them is sketched.
//!
//! A hash of the path decides whether a file is in the sample. If the training part or the test part reaches its limit of
//! bytes or sketches, the range of accepted hashes is halved, and sketches outside the range are dropped. So the sample is
//! evenly distributed over the paths, and the number of decoded files grows only with the logarithm of the number of files.

mod picture;
mod prints;
mod sound;

use prints::Print;

use crate::series;
use crate::statistics::hash_of;
use crate::text::ContentKind;

pub(crate) use picture::picture_features;
pub(crate) use sound::sound_features;

/// The BLAKE3 digest of a file's content.
pub(crate) type ContentDigest = [u8; 32];

/// The kind of a sketch. Only sketches of the same kind are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    Picture,
    Sound,
    Series,
}

impl Medium {
    /// Returns the kind of a file by its suffix.
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
pub(crate) struct Sketch(Box<[i16]>);

const SCALE: f64 = 32_767.0;

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
        (length > 0.0 && length.is_finite()).then(|| Sketch(values.iter().map(steps).collect()))
    }

    /// Returns the sketches of the same picture if it is rotated, mirrored or inverted.
    pub(crate) fn variants(&self) -> Vec<(&'static str, Sketch)> {
        picture::variants(&self.0)
    }

    /// Returns the distance of two sketches, between 0 and 2. `None` if it is at least `limit`, or if the sketches have
    /// different lengths.
    pub(crate) fn distance(&self, other: &Sketch, limit: f64) -> Option<f64> {
        let limit = (limit * SCALE).powi(2);
        let mut sum = 0.0;
        if self.0.len() != other.0.len() {
            return None;
        }
        for (own, other) in self.0.chunks(32).zip(other.0.chunks(32)) {
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

/// Maximum length of a file that is sketched, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file and its sketch.
#[derive(Debug)]
pub(crate) struct Sketched {
    pub path: String,
    pub medium: Medium,
    /// Files with equal content are not compared here, because the detector `equal-files` finds them.
    pub content: ContentDigest,
    pub sketch: Sketch,
    /// Fingerprints of small regions of the file.
    pub prints: Box<[Print]>,
    hash: u64,
}

/// The sketches of the test items, or of the training files.
#[derive(Debug)]
pub(crate) struct Wing {
    files: Vec<Sketched>,
    /// Files are not sketched if the hash of their path is larger.
    max_hash: u64,
    /// Bytes decoded since the range of hashes was last halved, and the limit for these bytes.
    spent: u64,
    budget: u64,
    /// Maximum number of sketches.
    room: usize,
}

/// The sketches of both parts.
#[derive(Debug)]
pub(crate) struct Gallery {
    pub test: Wing,
    pub train: Wing,
}

impl Default for Gallery {
    fn default() -> Gallery {
        Gallery {
            test: Wing::new(1 << 30, 2_000),
            train: Wing::new(3 << 30, 60_000),
        }
    }
}

impl Gallery {
    pub(crate) fn wing(&mut self, is_test: bool) -> &mut Wing {
        match is_test {
            true => &mut self.test,
            false => &mut self.train,
        }
    }
}

impl Wing {
    fn new(budget: u64, room: usize) -> Wing {
        Wing {
            files: Vec::new(),
            max_hash: u64::MAX,
            spent: 0,
            budget,
            room,
        }
    }

    /// Returns whether the file is in the sample, so that it must be read entirely.
    pub(crate) fn wants(&self, path: &str, bytes: u64) -> bool {
        Medium::from_path(path).is_some()
            && bytes <= MAX_FILE_BYTES
            && hash_of(path) <= self.max_hash
    }

    pub(crate) fn add(&mut self, path: &str, content: ContentDigest, file: &[u8]) {
        let Some(medium) = Medium::from_path(path) else {
            return;
        };
        self.spent += file.len() as u64;
        if let Some((sketch, prints)) = Sketch::from_file(medium, path, file) {
            self.files.push(Sketched {
                path: path.to_owned(),
                medium,
                content,
                sketch,
                prints,
                hash: hash_of(path),
            });
        }
        if self.spent > self.budget || self.files.len() > self.room {
            self.max_hash /= 2;
            self.spent = 0;
            let most = self.max_hash;
            self.files.retain(|file| file.hash <= most);
        }
    }

    pub(crate) fn of_medium(&self, medium: Medium) -> Vec<&Sketched> {
        let files = self.files.iter();
        files.filter(|file| file.medium == medium).collect()
    }

    /// Returns whether the sketches are only a sample of the files.
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
        let mut wing = Wing::new(u64::MAX, 100);
        for number in 0..1000 {
            let path = format!("train/{number}.wav");
            if wing.wants(&path, file.len() as u64) {
                wing.add(&path, [0; 32], &file);
            }
        }
        let files = wing.of_medium(Medium::Sound);
        assert!((40..=100).contains(&files.len()), "{}", files.len());
        let place = |file: &&&Sketched| file.path[6..file.path.len() - 4].parse::<usize>().unwrap();
        let early = files.iter().filter(|file| place(file) < 500).count();
        assert!((files.len() / 4..files.len()).contains(&early) && wing.is_sample());
        assert!(!wing.wants("train/1.txt", 10) && !wing.wants("train/1.wav", MAX_FILE_BYTES + 1));
    }
}
