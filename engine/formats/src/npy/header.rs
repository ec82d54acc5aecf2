//! Parses and writes the headers of array files (.npy). A header contains a Python dictionary.

use std::io::Read;

use prep_failure::Quoted;

use super::NpyError;
use crate::sniff::FileType;

/// A header with more bytes is an error. NumPy's limit is 10,000.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// If rows have no bytes, the length of the file does not limit their number. In this case, more rows than this
/// number are an error.
const MAX_EMPTY_ROWS: u64 = 1 << 20;
/// Number of characters that NumPy reserves for the first dimension, so that arrays can grow without moving the data.
const GROWTH_DIGITS: usize = 21;

/// The header of an array file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    /// Element type in NumPy's notation, which begins with the byte order: `<f4`, `|b1`, `<U2`.
    pub descr: String,
    /// Whether the first index varies fastest in the file.
    pub fortran_order: bool,
    /// Length of each dimension. Empty for a single value.
    pub shape: Vec<u64>,
    /// Size of an element in bytes.
    pub item_size: u64,
    /// Offset of the data in the file.
    pub data_offset: u64,
}

impl NpyHeader {
    /// Returns the shape as Python prints it: `()`, `(3,)`, `(2, 3)`.
    pub fn shape_text(&self) -> String {
        match self.shape.as_slice() {
            [length] => format!("({length},)"),
            lengths => {
                let lengths: Vec<String> = lengths.iter().map(u64::to_string).collect();
                format!("({})", lengths.join(", "))
            }
        }
    }

    /// Reads a header of version 1.0, 2.0 or 3.0.
    pub fn read(mut input: impl Read) -> Result<Self, NpyError> {
        let mut magic = Vec::new();
        Read::by_ref(&mut input).take(8).read_to_end(&mut magic)?;
        let [0x93, b'N', b'U', b'M', b'P', b'Y', major, minor] = *magic.as_slice() else {
            return Err(NpyError::NotNpy {
                found: FileType::detect(&magic),
            });
        };
        let width = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(NpyError::UnknownVersion { major, minor }),
        };
        let mut length = vec![0; width];
        input.read_exact(&mut length)?;
        let length = length
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        if length > MAX_HEADER_BYTES {
            return Err(bad(format!("its length is {length} bytes")));
        }
        let mut text = Vec::new();
        let read = Read::by_ref(&mut input)
            .take(length)
            .read_to_end(&mut text)? as u64;
        if read < length {
            return Err(NpyError::Truncated {
                available: read,
                needed: length,
            });
        }
        // Before version 3.0 the text is Latin-1, but the relevant parts are ASCII.
        let text = String::from_utf8_lossy(&text);
        let (descr, fortran_order, shape) = fields(&text)?;
        let (descr, item_size) = element_type(&descr)?;
        let data_offset = 8 + width as u64 + length;
        let header = Self {
            descr,
            fortran_order,
            shape,
            item_size,
            data_offset,
        };
        header
            .checked_bytes()
            .ok_or_else(|| bad(format!("the shape {} is too large", header.shape_text())))?;
        if header.row_bytes() == 0 && header.rows() > MAX_EMPTY_ROWS {
            return Err(bad(format!("the array has {} empty rows", header.rows())));
        }
        Ok(header)
    }

    /// Returns the number of rows: the first dimension, or 1 for a single value.
    pub fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }

    /// Size of a row in bytes.
    pub fn row_bytes(&self) -> u64 {
        self.shape
            .iter()
            .skip(1)
            .product::<u64>()
            .saturating_mul(self.item_size)
    }

    /// Size of all data in bytes.
    pub fn data_bytes(&self) -> u64 {
        self.checked_bytes().unwrap_or(u64::MAX)
    }

    /// Returns the size of all data in bytes, or `None` if it exceeds 64 bits.
    fn checked_bytes(&self) -> Option<u64> {
        // Even if one dimension is 0, the product of the others must not overflow.
        self.shape
            .iter()
            .try_fold(self.item_size, |bytes, dimension| {
                bytes.checked_mul((*dimension).max(1))
            })?;
        Some(self.shape.iter().fold(self.item_size, |bytes, dimension| {
            bytes.wrapping_mul(*dimension)
        }))
    }

    /// Returns the header as NumPy 1.26 writes it: version 1.0, padded to a multiple of 64 bytes.
    ///
    /// # Errors
    /// [`NpyError::BadHeader`] if the header is too long for version 1.0.
    pub fn to_bytes(&self) -> Result<Vec<u8>, NpyError> {
        let shape = self.shape_text();
        let order = if self.fortran_order { "True" } else { "False" };
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': {shape}, }}",
            self.descr
        );
        // NumPy can append elements along the dimension that varies slowest.
        let growing = if self.fortran_order {
            self.shape.last()
        } else {
            self.shape.first()
        };
        if let Some(dimension) = growing {
            let room = GROWTH_DIGITS.saturating_sub(dimension.to_string().len());
            text.push_str(&" ".repeat(room));
        }
        let unpadded = 10 + text.len() + 1;
        text.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
        text.push('\n');
        let length = u16::try_from(text.len())
            .map_err(|_| bad("its length exceeds version 1.0".to_owned()))?;
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(text.as_bytes());
        Ok(bytes)
    }
}

/// Parses the dictionary of a header. Returns its entries `descr`, `fortran_order` and `shape`.
fn fields(text: &str) -> Result<(String, bool, Vec<u64>), NpyError> {
    let entries = dictionary(text)
        .ok_or_else(|| bad(format!("{} is not a dictionary", Quoted(text.trim()))))?;
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("descr", Literal::Text(text)) => descr = Some(text),
            ("descr", Literal::List) => {
                return Err(NpyError::UnsupportedType {
                    descr: "record".to_owned(),
                });
            }
            ("fortran_order", Literal::Bool(value)) => fortran_order = Some(value),
            ("shape", Literal::Tuple(values)) => shape = Some(values),
            (key, _) => return Err(bad(format!("unexpected value of the key {}", Quoted(key)))),
        }
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok((descr, fortran_order, shape)),
        _ => Err(bad("an entry is missing".to_owned())),
    }
}

/// Normalizes an element type to NumPy's notation, which begins with the byte order or `|`. Also returns its size in bytes.
fn element_type(descr: &str) -> Result<(String, u64), NpyError> {
    let unsupported = || NpyError::UnsupportedType {
        descr: descr.to_owned(),
    };
    let (order, rest) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, descr.get(1..).unwrap_or_default()),
        _ => ('=', descr),
    };
    let mut characters = rest.chars();
    let kind = characters.next().ok_or_else(unsupported)?;
    let after = characters.as_str();
    let (digits, unit) = after.split_at(after.find('[').unwrap_or(after.len()));
    let count: u64 = digits.parse().map_err(|_| unsupported())?;
    let size = match (kind, count) {
        ('U', _) => count.checked_mul(4).ok_or_else(unsupported)?,
        ('S' | 'V', _)
        | ('b', 1)
        | ('i' | 'u', 1 | 2 | 4 | 8)
        | ('f', 2 | 4 | 8 | 16)
        | ('c', 8 | 16 | 32) => count,
        ('M' | 'm', 8) => count,
        _ => return Err(unsupported()),
    };
    let order = match (kind, size, order) {
        ('S' | 'V', _, _) | ('b' | 'i' | 'u', 1, _) => '|',
        (_, _, '>') => '>',
        _ => '<',
    };
    Ok((format!("{order}{kind}{digits}{unit}"), size))
}

fn bad(reason: String) -> NpyError {
    NpyError::BadHeader { reason }
}

/// A value in the dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Bool(bool),
    Integer(u64),
    Tuple(Vec<u64>),
    /// A list. It describes a record array and is not parsed.
    List,
}

/// Parses `{'key': literal, ...}`. Returns `None` for any other text.
pub(super) fn dictionary(text: &str) -> Option<Vec<(String, Literal)>> {
    let mut rest = text.trim().strip_prefix('{')?.trim_start();
    let mut entries = Vec::new();
    while !rest.starts_with('}') {
        let (key, after) = quoted(rest)?;
        let after = after.trim_start().strip_prefix(':')?;
        let (value, after) = literal(after.trim_start())?;
        entries.push((key, value));
        rest = comma(after, '}')?;
    }
    rest.strip_prefix('}')?.trim().is_empty().then_some(entries)
}

/// Parses the value at the beginning of `text`. Like the parsers below, returns the value and the text after it.
fn literal(text: &str) -> Option<(Literal, &str)> {
    if let Some(rest) = text.strip_prefix("True") {
        return Some((Literal::Bool(true), rest));
    }
    if let Some(rest) = text.strip_prefix("False") {
        return Some((Literal::Bool(false), rest));
    }
    match text.chars().next()? {
        '\'' | '"' => quoted(text).map(|(text, rest)| (Literal::Text(text), rest)),
        '(' => tuple(text),
        '[' => text.rsplit_once(']').map(|(_, rest)| (Literal::List, rest)),
        _ => integer(text).map(|(value, rest)| (Literal::Integer(value), rest)),
    }
}

fn tuple(text: &str) -> Option<(Literal, &str)> {
    let mut rest = text.strip_prefix('(')?.trim_start();
    let mut values = Vec::new();
    while !rest.starts_with(')') {
        let (value, after) = integer(rest)?;
        values.push(value);
        rest = comma(after, ')')?;
    }
    Some((Literal::Tuple(values), rest.strip_prefix(')')?))
}

/// Skips the comma after an element. If there is no comma, `end` must follow.
fn comma(text: &str, end: char) -> Option<&str> {
    let text = text.trim_start();
    match text.strip_prefix(',') {
        Some(rest) => Some(rest.trim_start()),
        None => text.starts_with(end).then_some(text),
    }
}

/// Parses a string in single or double quotes. Returns `None` if it contains escape sequences.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text
        .chars()
        .next()
        .filter(|quote| matches!(quote, '\'' | '"'))?;
    let (content, rest) = text.get(1..)?.split_once(quote)?;
    (!content.contains('\\')).then(|| (content.to_owned(), rest))
}

/// Parses an integer, with or without the suffix `L` of Python 2.
fn integer(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest.strip_prefix('L').unwrap_or(rest)))
}
