//! Sketches describe pictures and sounds in a few hundred numbers. Other compression, another size, more light or
//! contrast, and loudness hardly change them.

mod gallery;
mod picture;
mod prints;
mod sound;

pub(crate) use gallery::{Gallery, Sketched};

use prints::Print;

use crate::series;

/// Kinds of sketches. Only sketches of one kind are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    Picture,
    Sound,
    Series,
}

impl Medium {
    /// By the name's end.
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

/// A vector of length one, in steps of 1/32767.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sketch(Box<[i16]>);

const SCALE: f64 = 32_767.0;

impl Sketch {
    /// A sketch, and fingerprints of the places of a picture or a sound. Reasons without a sketch: another format, a damaged file, and what
    /// is the same all over.
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

    /// The sketches of the same picture turned, mirrored, and with dark and light exchanged.
    pub(crate) fn variants(&self) -> Vec<(&'static str, Sketch)> {
        picture::variants(&self.0)
            .into_iter()
            .map(|(name, values)| (name, Sketch(values)))
            .collect()
    }

    /// Between 0 and 2; none if it is at least `most`, or between sketches of different kinds.
    pub(crate) fn distance(&self, other: &Sketch, most: f64) -> Option<f64> {
        let most = (most * SCALE).powi(2);
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
            if sum >= most {
                return None;
            }
        }
        Some(sum.sqrt() / SCALE)
    }
}
