//! Reads NumPy arrays as tables of text. The index in the last dimension is the column; the other indices determine the row.

use std::fs::File;
use std::path::Path;

use prep_formats::hex;
use prep_formats::limits::{DecodingLimits, Limit};
use prep_formats::npy::{Element, NpyArray, NpyHeader};
use prep_formats::pandas::{push_f32, push_f64};
use prep_formats::read_at::ReadAt;

use super::{Row, Rows, TableReader};
use crate::{ContentsError, Result};

/// Maximum length of a last dimension that is treated as columns.
const MAX_COLUMNS: u64 = 4096;

/// Usual size of a block of rows that is read at once.
const BLOCK_BYTES: u64 = 1 << 22;

pub struct ArrayFile {
    file: File,
    header: NpyHeader,
    columns: Vec<String>,
    limits: DecodingLimits,
}

impl ArrayFile {
    pub fn open(path: &Path, limits: &DecodingLimits) -> Result<ArrayFile> {
        let file = File::open(path).map_err(ContentsError::system_error(path))?;
        let length = file
            .metadata()
            .map_err(ContentsError::system_error(path))?
            .len();
        let array = NpyArray::open(&file, 0..length).map_err(ContentsError::classify)?;
        let header = array.header().clone();
        let width = match header.shape.as_slice() {
            [_, .., last] if (1..=MAX_COLUMNS).contains(last) => *last,
            _ => 1,
        };
        let columns = match width {
            1 => vec!["value".to_owned()],
            width => (0..width).map(|place| place.to_string()).collect(),
        };
        Ok(ArrayFile {
            file,
            header,
            columns,
            limits: *limits,
        })
    }

    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// Returns whether elements of one row are far apart in the file.
    fn is_scattered(&self) -> bool {
        self.header.fortran_order && self.header.shape.len() > 2
    }

    fn count(&self) -> u64 {
        self.header.data_bytes() / self.header.item_size.max(1)
    }
}

impl TableReader for ArrayFile {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>> {
        Ok(Box::new(Blocks::new(self)))
    }
}

impl Rows for Blocks<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        let header = &self.array.header;
        let Some(bytes) = self.next_row()? else {
            return Ok(false);
        };
        for element in bytes.chunks_exact(element_size(header)) {
            print(header, element, row.open());
            row.end_cell();
        }
        Ok(true)
    }
}

struct Blocks<'a> {
    array: &'a ArrayFile,
    /// Number of rows read from the file so far.
    read: u64,
    /// The current block, row by row.
    block: Vec<u8>,
    /// Index of the next row in the block.
    next: usize,
}

impl<'a> Blocks<'a> {
    fn new(array: &'a ArrayFile) -> Self {
        Blocks {
            array,
            read: 0,
            block: Vec::new(),
            next: 0,
        }
    }

    fn next_row(&mut self) -> Result<Option<&[u8]>> {
        let length = self.array.columns.len() * element_size(&self.array.header);
        if (self.next + 1) * length > self.block.len() {
            self.fill()?;
        }
        let row = self.block.get(self.next * length..(self.next + 1) * length);
        self.next += 1;
        Ok(row)
    }

    /// Reads the next block, and stores its elements row by row.
    fn fill(&mut self) -> Result<()> {
        let (header, width) = (&self.array.header, self.array.columns.len() as u64);
        let size = header.item_size.max(1);
        let rows = self.array.count() / width;
        let left = rows - self.read;
        let wanted = match self.array.is_scattered() {
            // Elements of a row are far apart, so read all rows at once.
            true => left,
            false => (BLOCK_BYTES / size / width).max(1).min(left),
        };
        self.next = 0;
        let length = wanted.saturating_mul(width).saturating_mul(size);
        let limits = &self.array.limits;
        // A block of the usual size is always permitted. Only the bytes beyond it count against the limit.
        let checked = limits.check(Limit::Record, length.saturating_sub(BLOCK_BYTES));
        checked.map_err(ContentsError::Limit)?;
        self.block.resize(usize::try_from(length).unwrap_or(0), 0);
        let read = |place: u64, to: &mut [u8]| {
            let offset = header.data_offset + place * size;
            self.array.file.read_exact_at(to, offset)
        };
        let size = element_size(header);
        if !header.fortran_order || header.shape.len() < 2 {
            read(self.read * width, &mut self.block)?;
        } else if header.shape.len() == 2 {
            let mut column_bytes = vec![0; self.block.len() / self.array.columns.len().max(1)];
            for column in 0..self.array.columns.len() {
                read(column as u64 * rows + self.read, &mut column_bytes)?;
                let to = self.block.chunks_exact_mut(size);
                let to = to.skip(column).step_by(self.array.columns.len());
                for (to, element) in to.zip(column_bytes.chunks_exact(size)) {
                    to.copy_from_slice(element);
                }
            }
        } else {
            let mut stored = vec![0; self.block.len()];
            read(0, &mut stored)?;
            for (to, number) in self.block.chunks_exact_mut(size).zip(0..) {
                let place = usize::try_from(place_in_file(header, number)).unwrap_or(usize::MAX);
                let begin = place.saturating_mul(size);
                if let Some(element) = stored.get(begin..begin.saturating_add(size)) {
                    to.copy_from_slice(element);
                }
            }
        }
        self.read += wanted;
        Ok(())
    }
}

fn element_size(header: &NpyHeader) -> usize {
    usize::try_from(header.item_size)
        .unwrap_or(usize::MAX)
        .max(1)
}

/// Converts an index in row-major order to the index in the file, which may be column-major.
fn place_in_file(header: &NpyHeader, number: u64) -> u64 {
    if !header.fortran_order || header.shape.len() < 2 {
        return number;
    }
    let (mut rest, mut place, mut stride) = (number, 0, header.shape.iter().product::<u64>());
    for length in header.shape.iter().rev() {
        let length = (*length).max(1);
        stride /= length;
        place += (rest % length) * stride;
        rest /= length;
    }
    place
}

/// Appends an element as text. An element of an unsupported type is written in hexadecimal.
fn print(header: &NpyHeader, element: &[u8], out: &mut Vec<u8>) {
    match header.value(element) {
        Some(Element::Bool(value)) => {
            out.extend_from_slice(if value { &b"True"[..] } else { b"False" })
        }
        Some(Element::Integer(value)) => out.extend_from_slice(value.to_string().as_bytes()),
        Some(Element::Unsigned(value)) => out.extend_from_slice(value.to_string().as_bytes()),
        Some(Element::Half(value) | Element::Single(value)) if value.is_nan() => {
            out.extend_from_slice(b"nan");
        }
        Some(Element::Half(value) | Element::Single(value)) => push_f32(out, value),
        Some(Element::Double(value)) if value.is_nan() => out.extend_from_slice(b"nan"),
        Some(Element::Double(value)) => push_f64(out, value),
        Some(Element::Text(text)) => out.extend_from_slice(text.as_bytes()),
        None => {
            let mut bytes = element.to_vec();
            if header.descr.starts_with('>') {
                bytes.reverse();
            }
            out.extend_from_slice(hex::encode(&bytes).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(shape: &[u64], is_fortran: bool, descr: &str, data: &[u8]) -> tempfile::NamedTempFile {
        let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
        let order = if is_fortran { "True" } else { "False" };
        let mut header = format!(
            "{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({},), }}",
            shape.join(", ")
        );
        while !(header.len() + 11).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(data);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), out).unwrap();
        file
    }

    fn elements(file: &tempfile::NamedTempFile) -> Vec<u64> {
        let array = ArrayFile::open(file.path(), &DecodingLimits::default()).unwrap();
        let (mut found, mut row, mut rows) = (Vec::new(), Row::default(), array.rows().unwrap());
        while rows.next(&mut row).unwrap() {
            let cell = |at| -> u64 { String::from_utf8_lossy(row.cell(at)).parse().unwrap() };
            found.extend((0..array.columns().len()).map(cell));
        }
        found
    }

    /// Returns the position in the file of the element with this index in row-major order.
    fn offset(shape: &[u64], is_fortran: bool, number: u64) -> u64 {
        let (mut rest, mut indices) = (number, vec![0; shape.len()]);
        for (index, length) in indices.iter_mut().zip(shape).rev() {
            *index = rest % length;
            rest /= length;
        }
        let mut stride = 1;
        let strides = indices.iter().zip(shape).map(|(index, length)| {
            let own = index * stride;
            stride *= length;
            own
        });
        match is_fortran {
            true => strides.sum(),
            false => number,
        }
    }

    #[test]
    fn elements_are_read_row_by_row() {
        let count = 3 * 300_000;
        let data: Vec<u8> = (0..count).flat_map(|n: u64| n.to_le_bytes()).collect();
        for (shape, is_fortran) in [
            (vec![300_000, 3], false),
            (vec![300_000, 3], true),
            (vec![count], true),
            (vec![7, 11, 5], true),
            (vec![7, 11, 5], false),
            (vec![0, 4], false),
        ] {
            let length: u64 = shape.iter().product();
            let data = &data[..usize::try_from(length * 8).unwrap()];
            let found = elements(&file(&shape, is_fortran, "<u8", data));
            let expected = (0..length).map(|number| offset(&shape, is_fortran, number));
            assert!(
                found.into_iter().eq(expected),
                "shape {shape:?}, column-major: {is_fortran}"
            );
        }
    }
}
