//! Arrays of NumPy as tables of text: the last dimension makes the columns, the others the rows.

use std::fs::File;
use std::io;
use std::path::Path;

use arrow::datatypes::{ArrowPrimitiveType, Float16Type};
use prep_formats::npy::{ElementKind, NpyArray, NpyHeader};
use prep_formats::pandas::{push_f32, push_f64};
use prep_formats::read_at::ReadAt;

use super::row::{Row, Rows, Table};

/// A last dimension of more entries is not taken for columns.
const MOST_COLUMNS: u64 = 4096;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 18;

/// An array file.
pub struct ArrayFile {
    file: File,
    header: NpyHeader,
    columns: Vec<String>,
}

impl ArrayFile {
    /// # Errors
    /// When the file cannot be read, or holds no array of plain values.
    pub fn open(path: &Path) -> io::Result<ArrayFile> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let array = NpyArray::open(&file, 0..length).map_err(io::Error::other)?;
        let header = array.header().clone();
        let width = match header.shape.as_slice() {
            [_, .., last] if (1..=MOST_COLUMNS).contains(last) => *last,
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
        })
    }

    /// What the header says.
    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    fn count(&self) -> u64 {
        self.header.data_bytes() / self.header.item_size.max(1)
    }
}

impl Table for ArrayFile {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> io::Result<Box<dyn Rows + '_>> {
        Ok(Box::new(ArrayRows {
            array: self,
            next: 0,
            piece: Vec::new(),
            begin: 0,
        }))
    }
}

struct ArrayRows<'a> {
    array: &'a ArrayFile,
    /// Number of the next element, the last index varying fastest.
    next: u64,
    /// Elements that were read, and the number of the first of them in the file.
    piece: Vec<u8>,
    begin: u64,
}

impl ArrayRows<'_> {
    /// The bytes of the element at this place of the file.
    fn element(&mut self, place: u64) -> io::Result<&[u8]> {
        let header = &self.array.header;
        let size = header.item_size;
        let held = self.piece.len() as u64 / size.max(1);
        if place < self.begin || place >= self.begin + held {
            let left = (self.array.count() - place).saturating_mul(size);
            let length = left.min((PIECE / size.max(1)).max(1) * size);
            self.piece.resize(usize::try_from(length).unwrap_or(0), 0);
            let offset = header.data_offset + place * size;
            self.array.file.read_exact_at(&mut self.piece, offset)?;
            self.begin = place;
        }
        let at = usize::try_from((place - self.begin) * size).unwrap_or(0);
        let end = at + usize::try_from(size).unwrap_or(0);
        Ok(self.piece.get(at..end).unwrap_or_default())
    }
}

impl Rows for ArrayRows<'_> {
    fn next(&mut self, row: &mut Row) -> io::Result<bool> {
        row.clear();
        let array = self.array;
        if self.next >= array.count() {
            return Ok(false);
        }
        for _ in &array.columns {
            let place = place_in_file(&array.header, self.next);
            let element = self.element(place)?;
            print(&array.header, element, row.open());
            row.end_cell();
            self.next += 1;
        }
        Ok(true)
    }
}

/// Where an element lies, whose number counts the last index fastest.
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

fn print(header: &NpyHeader, element: &[u8], out: &mut Vec<u8>) {
    let mut bytes = element.to_vec();
    if header.descr.starts_with('>') && header.element_kind() != Some(ElementKind::Text) {
        bytes.reverse();
    }
    let number = |sign: u8| {
        let fill = if sign & 0x80 == 0 { 0 } else { 0xff };
        let mut wide = [fill; 16];
        for (to, from) in wide.iter_mut().zip(&bytes) {
            *to = *from;
        }
        i128::from_le_bytes(wide)
    };
    match header.element_kind() {
        Some(ElementKind::Bool) => out.extend_from_slice(match bytes.as_slice() {
            [0] => b"False",
            _ => b"True",
        }),
        Some(ElementKind::Integer) => {
            let sign = bytes.last().copied().unwrap_or(0);
            out.extend_from_slice(number(sign).to_string().as_bytes());
        }
        Some(ElementKind::Unsigned) => {
            out.extend_from_slice(number(0).to_string().as_bytes());
        }
        Some(ElementKind::Single) => {
            if let Some(value) = bytes.first_chunk().map(|four| f32::from_le_bytes(*four)) {
                match value.is_nan() {
                    true => out.extend_from_slice(b"nan"),
                    false => push_f32(out, value),
                }
            }
        }
        Some(ElementKind::Double) => {
            if let Some(value) = bytes.first_chunk().map(|eight| f64::from_le_bytes(*eight)) {
                match value.is_nan() {
                    true => out.extend_from_slice(b"nan"),
                    false => push_f64(out, value),
                }
            }
        }
        Some(ElementKind::Text) => {
            let is_big = header.descr.starts_with('>');
            let units = bytes.chunks_exact(4).map(|four| match four {
                [a, b, c, d] if is_big => u32::from_be_bytes([*a, *b, *c, *d]),
                [a, b, c, d] => u32::from_le_bytes([*a, *b, *c, *d]),
                _ => 0,
            });
            let text: String = units
                .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect();
            out.extend_from_slice(text.trim_end_matches('\0').as_bytes());
        }
        None if header.descr.get(1..) == Some("f2") => {
            if let Some(two) = bytes.first_chunk() {
                let value = <Float16Type as ArrowPrimitiveType>::Native::from_le_bytes(*two);
                match value.is_nan() {
                    true => out.extend_from_slice(b"nan"),
                    false => push_f32(out, value.to_f32()),
                }
            }
        }
        None => bytes
            .iter()
            .for_each(|byte| out.extend_from_slice(format!("{byte:02x}").as_bytes())),
    }
}
