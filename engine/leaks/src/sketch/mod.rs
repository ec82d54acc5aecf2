//! A sketch describes a picture, sound or series with a few hundred numbers. Compression, size, brightness, contrast
//! and loudness hardly change it.

mod gallery;
mod picture;
mod prints;
mod sound;

pub(crate) use gallery::{Gallery, Sketched};
pub(crate) use picture::decode as decode_picture;

use prints::Print;

use crate::series;

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
        let name = path.to_ascii_lowercase();
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        match () {
            () if ends(&[".png", ".jpg", ".jpeg"]) => Some(Medium::Picture),
            () if ends(&[".wav", ".wave", ".aif", ".aiff"]) => Some(Medium::Sound),
            () if ends(&[".csv", ".tsv", ".npy", ".dat"]) => Some(Medium::Series),
            () => None,
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
        let variants = picture::variants(&self.0).into_iter();
        variants
            .map(|(name, values)| (name, Sketch(values)))
            .collect()
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
