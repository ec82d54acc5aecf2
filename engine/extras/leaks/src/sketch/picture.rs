//! Sketches of pictures: the brightness of a 16 x 16 grid minus the mean brightness, and the colour of a 4 x 4 grid.
//! Also computes features of pictures for the baseline.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use prep_contents::DecodingLimits;
use prep_contents::pixels::Pixels;

use super::Sketch;

/// A picture is divided into `SIDE` × `SIDE` fields. Their mean brightness is compared.
const SIDE: usize = 16;
/// Number of larger fields along each side, whose mean colours are compared.
const COLOURS: usize = 4;
/// Pictures with more pixels are not decoded.
const MAX_PIXELS: u64 = 50_000_000;
/// A picture is treated as empty if the standard deviation of the brightness of its fields is below this number. White is 255.
const MIN_DEVIATION: f64 = 6.0;

pub(super) fn decode(file: &[u8]) -> Option<Pixels> {
    let limits = DecodingLimits {
        pixels: MAX_PIXELS,
        ..DecodingLimits::default()
    };
    Pixels::decode(file, &limits).ok()
}

pub(super) fn sketch(pixels: &Pixels) -> Option<Sketch> {
    if pixels.width < SIDE || pixels.height < SIDE {
        return None;
    }
    let stride = pixels.stride();
    let channels = stride / pixels.sample.max(1);
    let columns = FieldShares::new(pixels.width);
    let rows = FieldShares::new(pixels.height);
    // For each field: brightness, red minus brightness, blue minus brightness.
    let mut fields = vec![[0.0_f64; 3]; SIDE * SIDE];
    let lines = pixels.bytes.chunks_exact(stride.max(1) * pixels.width);
    for (line, down) in lines.zip(&rows.0) {
        let mut along = [[0.0_f64; 3]; SIDE];
        for (pixel, across) in line.chunks_exact(stride.max(1)).zip(&columns.0) {
            let channel = |number: usize| -> f64 {
                let at = number * pixels.sample;
                match pixel.get(at..at + pixels.sample) {
                    Some([one]) => f64::from(*one),
                    Some([high, low]) => f64::from(u16::from_be_bytes([*high, *low])),
                    _ => 0.0,
                }
            };
            let colour = match channels {
                1 | 2 => [channel(0), 0.0, 0.0],
                _ => {
                    let (red, green, blue) = (channel(0), channel(1), channel(2));
                    let light = 0.299 * red + 0.587 * green + 0.114 * blue;
                    [light, red - light, blue - light]
                }
            };
            across.add(&mut along, colour);
        }
        for (column, sums) in along.iter().enumerate() {
            for (row, share) in down.fields() {
                if let Some(field) = fields.get_mut(row * SIDE + column) {
                    for (to, from) in field.iter_mut().zip(sums) {
                        *to += share * from;
                    }
                }
            }
        }
    }
    let area = (pixels.width * pixels.height) as f64 / (SIDE * SIDE) as f64;
    let light: Vec<f64> = fields.iter().map(|field| field[0] / area).collect();
    let mean = light.iter().sum::<f64>() / light.len() as f64;
    let mut values: Vec<f64> = light.iter().map(|light| light - mean).collect();
    let variance = values.iter().map(|one| one * one).sum::<f64>() / values.len() as f64;
    let steps = if pixels.sample == 1 { 1.0 } else { 16.0 };
    if variance.sqrt() < MIN_DEVIATION * steps {
        return None;
    }
    let wide = SIDE / COLOURS;
    let mut colours = vec![0.0; 2 * COLOURS * COLOURS];
    for (at, field) in fields.iter().enumerate() {
        let place = at / SIDE / wide * COLOURS + at % SIDE / wide;
        for (number, colour) in field[1..].iter().enumerate() {
            if let Some(sum) = colours.get_mut(number * COLOURS * COLOURS + place) {
                // This weight gives a colour field the influence of the brightness fields that it contains.
                *sum += colour / area / wide as f64;
            }
        }
    }
    values.extend(colours);
    Sketch::new(&values)
}

/// Returns the sketches of the rotated, mirrored and inverted picture, with a name for each change.
pub(super) fn variants(values: &[i16]) -> Vec<(&'static str, Sketch)> {
    let names = [
        "",
        " mirrored",
        " upside down",
        " rotated by 180 degrees",
        " mirrored and rotated",
        " rotated by 90 degrees",
        " rotated by 270 degrees",
        " mirrored and rotated",
    ];
    let colour = SIDE * SIDE;
    let grids = [
        (0, SIDE),
        (colour, COLOURS),
        (colour + COLOURS * COLOURS, COLOURS),
    ];
    let changed = |number: usize, sign: i16| {
        let flip = |bit, place, side| {
            if number & bit == bit {
                side - 1 - place
            } else {
                place
            }
        };
        let cells = grids.iter().flat_map(|(begin, side)| {
            (0..side * side).map(move |at| {
                let (across, down) = (flip(1, at % side, *side), flip(2, at / side, *side));
                let (row, column) = match number & 4 {
                    4 => (across, down),
                    _ => (down, across),
                };
                begin + row * side + column
            })
        });
        let value = |place| sign * values.get(place).copied().unwrap_or(0);
        Sketch::of_steps(cells.map(value).collect())
    };
    let changes = names.iter().enumerate();
    let same = changes
        .clone()
        .skip(1)
        .map(|(number, name)| (*name, changed(number, 1)));
    let inverted = changes.map(|(number, _)| (" inverted", changed(number, -1)));
    same.chain(inverted).collect()
}

/// For each pixel along a side: the field that contains it, or the two fields and their weights.
struct FieldShares(Vec<FieldShare>);

#[derive(Clone, Copy)]
struct FieldShare {
    first: usize,
    /// Weight of the first field. The rest is the weight of the next field.
    share: f64,
}

impl FieldShares {
    fn new(length: usize) -> FieldShares {
        let share = |place: usize| {
            let (begin, end) = (place * SIDE, (place + 1) * SIDE);
            let first = begin / length;
            let border = (first + 1) * length;
            let share = match end > border {
                true => (border - begin) as f64 / SIDE as f64,
                false => 1.0,
            };
            FieldShare { first, share }
        };
        FieldShares((0..length).map(share).collect())
    }
}

impl FieldShare {
    fn fields(self) -> impl Iterator<Item = (usize, f64)> {
        [(self.first, self.share), (self.first + 1, 1.0 - self.share)]
            .into_iter()
            .filter(|(field, share)| *field < SIDE && *share > 0.0)
    }

    fn add(self, sums: &mut [[f64; 3]; SIDE], colour: [f64; 3]) {
        for (field, share) in self.fields() {
            if let Some(sum) = sums.get_mut(field) {
                for (to, from) in sum.iter_mut().zip(colour) {
                    *to += share * from;
                }
            }
        }
    }
}

/// Number of fields along each side of a picture whose brightness is a feature.
const FEATURE_SIDE: usize = 6;

/// Returns features of a picture: mean brightness, the brightness of each field, contrast, grain, size and compression
/// ratio.
pub(crate) fn picture_features(file: &[u8]) -> Vec<(String, f64)> {
    let Some(pixels) = decode(file) else {
        return Vec::new();
    };
    let stride = pixels.stride().max(1);
    let (width, height) = (pixels.width.max(1), pixels.height.max(1));
    let mut fields = vec![(0.0_f64, 0.0_f64); FEATURE_SIDE * FEATURE_SIDE];
    let (mut sum, mut squares, mut grain) = (0.0, 0.0, 0.0);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Of large pictures, only every n-th line is read.
    let step = (width * height / 400_000).max(1);
    let mut lines = 0;
    let all_lines = pixels.bytes.chunks_exact(stride * width).enumerate();
    for (y, line) in all_lines.step_by(step) {
        lines += 1;
        let mut before = 0.0;
        let mut steps = Vec::with_capacity(width);
        for (x, pixel) in line.chunks_exact(stride).enumerate() {
            let light = pixel.first().copied().map_or(0.0, f64::from);
            sum += light;
            squares += light * light;
            grain += (light - before).abs();
            steps.push((light - before) as i32 as u8);
            before = light;
            let field = y * FEATURE_SIDE / height * FEATURE_SIDE + x * FEATURE_SIDE / width;
            if let Some((sum, count)) = fields.get_mut(field) {
                *sum += light;
                *count += 1.0;
            }
        }
        let _ = packed.write_all(&steps);
    }
    let count = (width * lines).max(1) as f64;
    let length = packed.finish().map_or(0, |bytes| bytes.len()) as f64;
    let mean = sum / count;
    let contrast = (squares / count - mean * mean).max(0.0).sqrt();
    let whole_length = length * (height as f64 / lines.max(1) as f64);
    let features = [
        ("light", mean),
        ("contrast", contrast),
        ("grain", grain / count),
        ("packed", length / count),
        ("packed whole", whole_length),
        ("width", width as f64),
        ("height", height as f64),
    ];
    let features = features.map(|(name, value)| (name.to_owned(), value));
    let fields = fields.iter().enumerate().map(|(number, (sum, count))| {
        let name = format!("field {number}");
        (name, sum / count.max(1.0))
    });
    features.into_iter().chain(fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(width: usize, height: usize, channels: usize) -> Pixels {
        let bytes = (0..height).flat_map(|row| {
            (0..width).flat_map(move |column| {
                let (x, y) = (
                    (column as f64 + 0.5) / width as f64,
                    (row as f64 + 0.5) / height as f64,
                );
                let light = 127.0 + 60.0 * (7.0 * x).sin() + 60.0 * (9.0 * y + 3.0 * x).cos();
                vec![light as u8; channels]
            })
        });
        Pixels {
            width,
            height,
            sample: 1,
            bytes: bytes.collect(),
        }
    }

    #[test]
    fn size_and_number_of_channels_hardly_change_a_sketch() {
        let one = sketch(&draw(200, 120, 3)).unwrap();
        for (width, height, channels) in [(200, 120, 1), (67, 90, 3), (311, 47, 4)] {
            let other = sketch(&draw(width, height, channels)).unwrap();
            let apart = one.distance(&other, 2.0).unwrap();
            assert!(apart < 0.03, "{width} x {height}: {apart}");
        }
        let mut other = draw(200, 120, 3);
        other.bytes.reverse();
        let apart = one.distance(&sketch(&other).unwrap(), 2.0).unwrap();
        assert!(apart > 0.5, "{apart}");
    }

    #[test]
    fn variants_equal_the_sketches_of_rotated_pictures() {
        let one = sketch(&draw(96, 96, 3)).unwrap();
        let rotated = |place: fn(usize, usize) -> (usize, usize)| {
            let mut other = draw(96, 96, 3);
            let bytes = other.bytes.clone();
            for y in 0..96 {
                for x in 0..96 {
                    let (from_x, from_y) = place(x, y);
                    let from = 3 * (96 * from_y + from_x);
                    let to = 3 * (96 * y + x);
                    other.bytes[to..to + 3].copy_from_slice(&bytes[from..from + 3]);
                }
            }
            sketch(&other).unwrap()
        };
        type Move = fn(usize, usize) -> (usize, usize);
        let cases: [(&str, Move); 3] = [
            ("mirrored", |x, y| (95 - x, y)),
            ("rotated by 90 degrees", |x, y| (y, 95 - x)),
            ("rotated by 180 degrees", |x, y| (95 - x, 95 - y)),
        ];
        for (name, place) in cases {
            let other = rotated(place);
            let best = other
                .variants()
                .into_iter()
                .min_by_key(|(_, variant)| (variant.distance(&one, 3.0).unwrap() * 1e6) as u64);
            let (_, variant) = best.unwrap();
            assert!(variant.distance(&one, 3.0).unwrap() < 1e-3, "{name}");
            assert!(other.distance(&one, 3.0).unwrap() > 0.3, "{name}");
        }
        let mut inverted = draw(96, 96, 3);
        inverted
            .bytes
            .iter_mut()
            .for_each(|byte| *byte = 255 - *byte);
        let inverted = sketch(&inverted).unwrap().variants();
        let nearest = inverted
            .iter()
            .filter_map(|(_, variant)| variant.distance(&one, 0.01));
        assert_eq!(nearest.count(), 1);
    }

    #[test]
    fn empty_and_small_pictures_are_not_sketched() {
        let mut empty = draw(40, 40, 1);
        empty.bytes.fill(200);
        assert_eq!(sketch(&empty), None);
        assert_eq!(sketch(&draw(15, 40, 1)), None);
        assert!(decode(b"no picture").is_none());
    }

    #[test]
    fn damaged_pictures_do_not_cause_a_panic() {
        let mut good = Vec::new();
        let mut encoder = png::Encoder::new(&mut good, 40, 30);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&draw(40, 30, 3).bytes).unwrap();
        writer.finish().unwrap();
        let sketched = |file: &[u8]| sketch(&decode(file)?);
        assert!(sketched(&good).is_some());
        let mut random = crate::statistics::SplitMix::new(6);
        for _ in 0..3000 {
            let mut bad = good.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bad.len());
                bad[at] = random.below(256) as u8;
            }
            bad.truncate(random.below(2 * bad.len()));
            let _ = sketched(&bad);
        }
    }
}
