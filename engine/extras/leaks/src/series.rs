//! Reads series of numbers in items' files: CSV tables of numbers, and arrays. Also computes features of files in any
//! format.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use prep_formats::npy::NpyHeader;

use crate::statistics::{deviation, finite, mean};
use crate::text::ContentKind;

/// At most this number of values is read from a file.
const MAX_NUMBERS: usize = 20_000;

/// Number of points at which a column is sampled for a sketch.
const POINTS: usize = 48;

const MIN_ROWS: usize = 12;

/// Returns the numeric columns of a file. `None` if the file is not a series.
pub(crate) fn columns(path: &str, file: &[u8]) -> Option<Vec<Vec<f64>>> {
    let columns = match ContentKind::from_path(path) {
        ContentKind::Csv | ContentKind::Text => text_columns(std::str::from_utf8(file).ok()?),
        ContentKind::Array => array_columns(file),
        _ => None,
    }?;
    let rows = columns.first().map_or(0, Vec::len);
    (rows >= MIN_ROWS).then_some(columns)
}

/// Reads the numeric columns of a text table. Named columns are sorted by name to ignore their order in the file.
fn text_columns(text: &str) -> Option<Vec<Vec<f64>>> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut kept = 0;
    let mut names: Vec<&str> = Vec::new();
    let is_comment = |line: &&str| ["#", "%", "//"].iter().any(|sign| line.starts_with(sign));
    for (number, line) in text.lines().filter(|line| !is_comment(line)).enumerate() {
        let texts = line.split([',', '\t', ';', ' ']).map(str::trim);
        // Further cells of the line are not needed, because the loop ends after `MAX_NUMBERS` cells.
        let texts = texts.filter(|cell| !cell.is_empty()).take(MAX_NUMBERS + 1);
        let texts: Vec<&str> = texts.collect();
        let cells: Vec<Option<f64>> = texts.iter().map(|cell| cell.parse().ok()).collect();
        if number == 0 && cells.iter().any(Option::is_none) {
            names = texts;
            continue;
        }
        if columns.is_empty() {
            columns = vec![Vec::new(); cells.len()];
        }
        for (column, cell) in columns.iter_mut().zip(&cells) {
            column.push(cell.unwrap_or(f64::NAN));
            kept += 1;
        }
        if kept > MAX_NUMBERS {
            break;
        }
    }
    if names.len() == columns.len() {
        let mut named: Vec<(&str, Vec<f64>)> = names.into_iter().zip(columns).collect();
        named.sort_by_key(|(name, _)| *name);
        columns = named.into_iter().map(|(_, column)| column).collect();
    }
    let is_numeric = |column: &Vec<f64>| {
        let finite = column.iter().filter(|one| one.is_finite()).count();
        finite * 10 >= column.len() * 9 && !column.is_empty()
    };
    columns.retain(is_numeric);
    (!columns.is_empty()).then_some(columns)
}

/// Reads a NumPy array of little-endian numbers with one or two dimensions. Returns its columns.
fn array_columns(file: &[u8]) -> Option<Vec<Vec<f64>>> {
    let header = NpyHeader::read(file).ok()?;
    let data = file.get(usize::try_from(header.data_offset).ok()?..)?;
    let width = match header.shape.as_slice() {
        [_] => 1,
        [_, width] => usize::try_from(*width).ok()?.max(1),
        _ => return None,
    };
    let is_number = ["<f8", "<f4", "<i8", "<i4", "<i2", "|u1"].contains(&header.descr.as_str());
    if !is_number || width > 64 {
        return None;
    }
    let items = data.chunks_exact(usize::try_from(header.item_size).ok()?);
    let numbers = items.take(MAX_NUMBERS);
    let numbers = numbers.filter_map(|item| header.value(item)?.to_f64());
    let numbers: Vec<f64> = numbers.collect();
    let rows = numbers.len() / width;
    let column = |place: usize| {
        let numbers = numbers.iter().copied();
        match header.fortran_order {
            true => numbers.skip(place * rows).take(rows).collect(),
            false => numbers.skip(place).step_by(width).collect(),
        }
    };
    Some((0..width).map(column).collect())
}

/// Samples each column at the same number of points, and subtracts the column's mean.
pub(crate) fn course(columns: &[Vec<f64>]) -> Vec<f64> {
    let mut points = Vec::new();
    for column in columns.iter().take(8) {
        let mean =
            column.iter().filter(|one| one.is_finite()).sum::<f64>() / column.len().max(1) as f64;
        let last = column.len().saturating_sub(1) as f64;
        for point in 0..POINTS {
            let at = last * point as f64 / (POINTS - 1) as f64;
            let (low, part) = (at.floor() as usize, at.fract());
            let value = |place: usize| {
                let value = column.get(place).filter(|one| one.is_finite());
                *value.unwrap_or(&mean)
            };
            points.push((1.0 - part) * value(low) + part * value(low + 1) - mean);
        }
    }
    points
}

/// Returns numbers that summarize a series, as features for the baseline.
pub(crate) fn summary(columns: &[Vec<f64>]) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for (place, column) in columns.iter().take(8).enumerate() {
        let finite = finite(column);
        let steps = finite.iter().zip(finite.iter().skip(1));
        let steps: f64 = steps.map(|(a, b)| (a - b).abs()).sum();
        let value = |value: Option<&f64>| value.copied().unwrap_or(0.0);
        for (name, value) in [
            ("mean", mean(&finite)),
            ("spread", deviation(&finite)),
            ("steps", steps / finite.len().max(1) as f64),
            ("first", value(finite.first())),
            ("middle", value(finite.get(finite.len() / 2))),
            ("last", value(finite.last())),
            ("rows", column.len() as f64),
        ] {
            let what = format!("the length of series: {name} of column {}", place + 1);
            found.push((what, value));
        }
    }
    found
}

/// Returns features of a file in any format: the fraction of bytes in each eighth of the range from 0 to 255, and the
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
    let coarse = |fraction: f64| (fraction * 50.0).round() / 50.0;
    let kinds = kinds.iter().enumerate();
    let kinds = kinds.map(|(kind, sum)| (format!("bytes {kind}"), coarse(sum / count)));
    let mut found: Vec<(String, f64)> = kinds.collect();
    found.push(("packed".to_owned(), coarse(length / count)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_equal_in_any_format_and_column_order() {
        let rows =
            |cells: &dyn Fn(usize) -> String| (0..12).map(|n| cells(n) + "\n").collect::<String>();
        let one = "a,b\n".to_owned() + &rows(&|n| format!("{n},{}", n * n));
        let other = "# device 7\nb\ta\n".to_owned() + &rows(&|n| format!("{}\t{n}", n * n));
        let expected = columns("x.csv", one.as_bytes()).unwrap();
        assert_eq!(expected[1][3], 9.0);
        assert_eq!(columns("x.csv", other.as_bytes()), Some(expected.clone()));
        let array = |is_by_column: bool, numbers: Vec<f64>| -> Vec<u8> {
            let order = if is_by_column { "True" } else { "False" };
            let header =
                format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': (12, 2), }}");
            let head = [
                b"\x93NUMPY\x01\x00",
                (header.len() as u16).to_le_bytes().as_slice(),
                header.as_bytes(),
            ]
            .concat();
            let data = numbers.into_iter().flat_map(f64::to_le_bytes);
            head.into_iter().chain(data).collect()
        };
        let by_row = expected[0]
            .iter()
            .zip(&expected[1])
            .flat_map(|(a, b)| [*a, *b]);
        assert_eq!(
            columns("x.npy", &array(false, by_row.collect())),
            Some(expected.clone())
        );
        assert_eq!(
            columns("x.npy", &array(true, expected.concat())),
            Some(expected)
        );
    }
}
