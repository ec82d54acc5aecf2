//! Describes the content of files by a few numbers, as features for the baseline. Because of these features, the length
//! of a file is reported only if it predicts more than the content does.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::number::integer;
use crate::sketch::decode_picture;

/// Number of fields along each side of a picture. The brightness of each field is a feature.
const SIDE: usize = 6;

/// Returns features of a picture: the brightness of its fields, contrast, grain, and the compression ratio of its
/// lines.
pub(crate) fn picture_features(file: &[u8]) -> Vec<(String, f64)> {
    let Some(pixels) = decode_picture(file) else {
        return Vec::new();
    };
    let stride = pixels.stride().max(1);
    let (width, height) = (pixels.width.max(1), pixels.height.max(1));
    let mut fields = vec![(0.0_f64, 0.0_f64); SIDE * SIDE];
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
            let field = y * SIDE / height * SIDE + x * SIDE / width;
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

/// Returns features of a file in any format: how often bytes of each eighth of the value range occur, and the
/// compression ratio.
pub(crate) fn byte_features(file: &[u8]) -> Vec<(String, f64)> {
    let some = file.get(..1 << 18).unwrap_or(file);
    let count = some.len().max(1) as f64;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    let _ = packed.write_all(some);
    let length = packed.finish().map_or(0, |bytes| bytes.len()) as f64;
    let mut kinds = [0.0_f64; 8];
    for byte in some {
        if let Some(kind) = kinds.get_mut(usize::from(byte >> 5)) {
            *kind += 1.0;
        }
    }
    // Fractions are rounded, because exact fractions would reveal the length.
    let coarse = |share: f64| (share * 50.0).round() / 50.0;
    let kinds = kinds.iter().enumerate();
    let kinds = kinds.map(|(kind, sum)| (format!("bytes {kind}"), coarse(sum / count)));
    let mut found: Vec<(String, f64)> = kinds.collect();
    found.push(("packed".to_owned(), coarse(length / count)));
    found
}

/// Returns features of a WAV file with 16 bits per sample: loudness and frequency of zero crossings in eight sections.
pub(crate) fn sound_features(file: &[u8]) -> Vec<(String, f64)> {
    let Some(begin) = file.windows(4).take(4096).position(|four| four == b"data") else {
        return Vec::new();
    };
    // Chunks after the samples are metadata.
    let length = integer(file, begin + 4, 4, false).unwrap_or(usize::MAX);
    let end = (begin + 8).saturating_add(length).min(file.len());
    let data = file.get(begin + 8..end).unwrap_or_default();
    let samples = data.as_chunks::<2>().0.iter().take(1 << 21);
    let samples = samples.map(|two| f64::from(i16::from_le_bytes(*two)));
    let samples: Vec<f64> = samples.collect();
    let stretch = samples.len().div_ceil(8).max(1);
    let mut found = Vec::new();
    for (number, part) in samples.chunks(stretch).enumerate() {
        let count = part.len() as f64;
        let loud = (part.iter().map(|one| one * one).sum::<f64>() / count).sqrt();
        let is_crossing = |two: &&[f64]| matches!(two, [a, b] if (*a < 0.0) != (*b < 0.0));
        let crossings = part.windows(2).filter(is_crossing).count();
        found.push((format!("loudness {number}"), loud));
        found.push((format!("crossings {number}"), crossings as f64 / count));
    }
    found.push(("samples".to_owned(), samples.len() as f64));
    found
}
