//! Checks the declared sizes of pages before the parquet crate decompresses them.
//!
//! The crate allocates memory for declared sizes without a limit. Therefore [`Pages`] parses each page header first.
//!
//! [`walk`] reads Thrift's compact protocol with limited recursion. If [`walk`] and the crate found different numbers,
//! the check would be useless. Therefore [`walk`] rejects content that the crate might read differently:
//!
//! - Values whose type is not the type that the format defines. The crate assumes the types of the format.
//! - Deeply nested unknown structures, which the crate skips.
//! - Lists of booleans, which the crate skips without consuming their bytes.

use std::collections::BTreeMap;
use std::io;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use FieldKind::{Binary, Boolean, Integer, Structure};

use crate::limits::{ArchiveBudget, DecodingLimits, LimitExceeded};

/// Bytes of a header that are read first. Headers contain a minimum and a maximum, which are usually short.
const HEADER_BYTES: u64 = 1 << 12;
/// A page header with more bytes is an error.
const MAX_HEADER_BYTES: u64 = HEADER_BYTES << 12;

/// The page headers read so far, and the budget of all pages. Clones share both.
#[derive(Debug, Clone)]
pub(super) struct Pages(Arc<Mutex<PagesState>>);

#[derive(Debug)]
struct PagesState {
    limits: DecodingLimits,
    /// Length of the file in bytes.
    length: u64,
    budget: ArchiveBudget,
    /// Sorted by offset, without overlaps.
    lists: Vec<ListChunk>,
    /// Number of values in lists, in the pages so far.
    values: u64,
    /// For each page whose data were not read yet, the declared size and the number of values. The key is the offset of the
    /// page's data.
    headers: BTreeMap<u64, (u64, u64)>,
}

/// A part of the file with values of lists. The number of these values is limited, because one row may contain all of them.
#[derive(Debug)]
pub(super) struct ListChunk {
    pub range: Range<u64>,
    /// Bytes of a value, or 0 if the values have different lengths.
    pub width: u64,
}

impl Pages {
    /// Creates the state for a file of `length` bytes.
    pub(super) fn new(limits: &DecodingLimits, length: u64, mut lists: Vec<ListChunk>) -> Self {
        lists.sort_unstable_by_key(|list| list.range.start);
        // Chunks that overlap are treated as one.
        lists.dedup_by(|next, list| {
            let overlaps = next.range.start < list.range.end;
            if overlaps {
                list.range.end = list.range.end.max(next.range.end);
                list.width = list.width.max(next.width);
            }
            overlaps
        });
        Self(Arc::new(Mutex::new(PagesState {
            limits: *limits,
            length,
            budget: limits.budget(length),
            lists,
            values: 0,
            headers: BTreeMap::new(),
        })))
    }

    /// Reads the page header at the offset `start`, and returns its bytes. Returns no bytes if page data begin at `start`.
    pub(super) fn header(&self, start: u64, from: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut state = self.0.lock();
        let mut bytes = Vec::new();
        if state.headers.contains_key(&start) {
            return Ok(bytes);
        }
        let mut wanted = HEADER_BYTES;
        loop {
            let missing = wanted - bytes.len() as u64;
            let is_at_end = (from.by_ref().take(missing).read_to_end(&mut bytes)? as u64) < missing;
            if let Some((size, values, length)) = PageHeader::parse(&bytes) {
                bytes.truncate(length);
                let page = start + length as u64;
                state.headers.insert(page, (size, values));
                return Ok(bytes);
            }
            if is_at_end || wanted >= MAX_HEADER_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            wanted *= 16;
        }
    }

    /// Checks the page of `length` bytes at the offset `start`, whose header must have been read.
    pub(super) fn check(&self, start: u64, length: u64) -> io::Result<()> {
        let mut state = self.0.lock();
        let header = state.headers.remove(&start);
        let (size, values) = header.ok_or(io::ErrorKind::InvalidData)?;
        state.limits.check_packed_record(length, size)?;
        let place = state.lists.partition_point(|list| list.range.end <= start);
        let list = state.lists.get(place);
        if let Some(list) = list.filter(|list| list.range.start <= start) {
            let bytes = values.saturating_mul(list.width);
            state.values = state.values.saturating_add(values);
            state.limits.check_cells(state.length, state.values)?;
            state.limits.check_packed_record(length, bytes)?;
            state.budget.add_bytes(bytes)?;
        }
        let within: Result<(), LimitExceeded> = state.budget.add_bytes(size);
        Ok(within?)
    }
}

/// The fields of `PageHeader` in `parquet.thrift`.
static PAGE: &[FieldKind] = &[
    Integer, // type
    Integer, // uncompressed_page_size
    Integer, // compressed_page_size
    Integer, // crc
    // data_page_header
    Structure(&[Integer, Integer, Integer, Integer, STATISTICS]),
    // index_page_header
    Structure(&[]),
    // dictionary_page_header
    Structure(&[Integer, Integer, Boolean]),
    // data_page_header_v2
    Structure(&[
        Integer, Integer, Integer, Integer, Integer, Integer, Boolean, STATISTICS,
    ]),
];

/// The fields of `Statistics` in `parquet.thrift`.
pub(super) const STATISTICS: FieldKind = Structure(&[
    Binary, Binary, Integer, Integer, Binary, Binary, Boolean, Boolean,
]);

/// The sizes that a page header declares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PageHeader {
    /// `uncompressed_page_size`
    size: Option<u64>,
    /// `num_values` of a data page, or 0 for other pages. If the header contains both `data_page_header` and
    /// `data_page_header_v2`, the larger of their numbers.
    values: u64,
}

impl PageHeader {
    /// Parses the header at the beginning of `bytes`. Returns the uncompressed size of the page, the number of its values, and
    /// the length of the header. Returns `None` if the header is incomplete or damaged.
    fn parse(bytes: &[u8]) -> Option<(u64, u64, usize)> {
        let mut header = PageHeader::default();
        let length = walk(bytes, PAGE, &mut header)?;
        Some((header.size?, header.values, length))
    }
}

impl Visitor for PageHeader {
    fn integer(&mut self, path: &[usize], value: i64) -> Option<()> {
        // The crate truncates integers to 32 bits.
        match path {
            [2] => self.size = Some(u64::try_from(value as i32).ok()?),
            [5 | 8, 1] => self.values = self.values.max(u64::try_from(value as i32).ok()?),
            _ => {}
        }
        Some(())
    }
}

/// The type of a field in `parquet.thrift`.
pub(super) enum FieldKind {
    Boolean,
    Byte,
    Integer,
    Double,
    Binary,
    List(&'static FieldKind),
    /// The fields, numbered from 1.
    Structure(&'static [FieldKind]),
    /// A field that the format does not define. The crate skips such a field according to its type in the file.
    Undefined,
}

/// Structures and lists that are nested more deeply are rejected. The format has nine levels.
const MAX_NESTING: usize = 16;

/// Receives the content of a structure from [`walk`]. The walk ends if a method returns `None`.
///
/// `path` contains the field numbers from the root to the value. An element of a list has the path of the list.
pub(super) trait Visitor {
    fn integer(&mut self, _path: &[usize], _value: i64) -> Option<()> {
        Some(())
    }

    fn binary(&mut self, _path: &[usize], _bytes: usize) -> Option<()> {
        Some(())
    }

    /// Receives the end of a structure.
    fn end(&mut self, _path: &[usize]) -> Option<()> {
        Some(())
    }
}

/// Walks through the structure at the beginning of `bytes`. `kinds` contains the kinds of its fields. Returns the length of
/// the structure in bytes.
///
/// Returns `None` if the structure is truncated or has unexpected content, or if the visitor ended the walk.
pub(super) fn walk(
    bytes: &[u8],
    kinds: &'static [FieldKind],
    visitor: &mut impl Visitor,
) -> Option<usize> {
    let mut walk = Walk {
        rest: bytes,
        path: Vec::new(),
        nesting: 0,
        visitor,
    };
    walk.structure(kinds)?;
    Some(bytes.len() - walk.rest.len())
}

/// The state of [`walk`]. Methods return `None` if the walk must end.
struct Walk<'a, V> {
    rest: &'a [u8],
    path: Vec<usize>,
    nesting: usize,
    visitor: &'a mut V,
}

impl<V: Visitor> Walk<'_, V> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(count..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for index in 0..10 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a signed integer in zigzag encoding.
    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Walks through a structure, whose fields have these kinds.
    fn structure(&mut self, kinds: &'static [FieldKind]) -> Option<()> {
        let mut field = 0_usize;
        loop {
            let (step, wire) = match self.byte()? {
                byte if byte & 0x0f == 0 => break,
                byte => (byte >> 4, byte & 0x0f),
            };
            let next = match step {
                0 => usize::from(u16::try_from(self.zigzag()?).ok()?),
                step => field + usize::from(step),
            };
            // Rejects a repeated field, because the crate `parquet` would use the last value, which may differ from the first one.
            if next <= field {
                return None;
            }
            field = next;
            let kind = kinds.get(field - 1).unwrap_or(&FieldKind::Undefined);
            self.path.push(field);
            // The types 1 and 2 are the booleans true and false, which have no further bytes.
            if !matches!(wire, 1 | 2) {
                self.value(kind, wire)?;
            } else if !matches!(kind, FieldKind::Boolean | FieldKind::Undefined) {
                return None;
            }
            self.path.pop();
        }
        self.visitor.end(&self.path)
    }

    /// Walks through a value. `wire` is its type in the file, which must not be boolean.
    fn value(&mut self, kind: &'static FieldKind, wire: u8) -> Option<()> {
        use FieldKind::{Binary, Byte, Double, Integer, List, Structure, Undefined};
        match (kind, wire) {
            (Byte | Undefined, 3) => self.skip(1),
            (Integer | Undefined, 4..=6) => {
                let value = self.zigzag()?;
                self.visitor.integer(&self.path, value)
            }
            (Double | Undefined, 7) => self.skip(8),
            (Binary | Undefined, 8) => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.skip(length)?;
                self.visitor.binary(&self.path, length)
            }
            (List(inner), 9) => self.nested(|walk| walk.list(inner)),
            (Undefined, 9) => self.nested(|walk| walk.list(&Undefined)),
            (Structure(inner), 12) => self.nested(|walk| walk.structure(inner)),
            (Undefined, 12) => self.nested(|walk| walk.structure(&[])),
            _ => None,
        }
    }

    /// Walks through a structure or list, unless it is nested too deeply.
    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        inner(self)?;
        self.nesting -= 1;
        Some(())
    }

    /// Walks through a list. The first byte contains the length, if it is below 15, and the type of the elements.
    fn list(&mut self, inner: &'static FieldKind) -> Option<()> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            length => usize::from(length),
        };
        // Each element takes a byte or more.
        if length > self.rest.len() {
            return None;
        }
        (0..length).try_for_each(|_| self.value(inner, header & 0x0f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_header_equal_those_that_the_crate_reads() {
        let plain = [0x15, 0, 0x15, 0x80, 0x01, 0x15, 0x40, 0];
        let parsed = |size, values, length| Some((size, values, length));
        assert_eq!(PageHeader::parse(&plain), parsed(64, 0, 8));
        // A header with a data page header, its statistics, and an unknown field.
        let full = [
            &plain[..7],
            &[0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6],
            &[0x1c, 0x28, 1, b'x', 0x16, 0, 0x38, 0, 0, 0],
            &[0x9c, 0x18, 2, 1, 2, 0, 0],
        ];
        assert_eq!(
            PageHeader::parse(&full.concat()),
            parsed(64, 1, full.concat().len())
        );
        // A header with data page headers of version 1 and of version 2. The latter declares no values.
        let both = [
            &plain[..7],
            &[0x2c, 0x15, 0x80, 0x01, 0x15, 0, 0x15, 6, 0x15, 6, 0],
            &[0x3c, 0x15, 0, 0],
            &[0],
        ];
        assert_eq!(
            PageHeader::parse(&both.concat()),
            parsed(64, 64, both.concat().len())
        );
        for (why, bytes) in [
            ("cut off", &plain[..5]),
            ("no size", &[0x15, 0, 0x25, 0x40, 0]),
            ("negative", &[0x15, 0, 0x15, 0x01, 0x15, 0x40, 0]),
            ("unexpected type", &[0x15, 0, 0x18, 0x01, 0x15, 0x40, 0]),
            (
                "size field occurs twice",
                &[0x15, 0, 0x15, 2, 0x05, 4, 0x80, 0x01, 0],
            ),
        ] {
            assert_eq!(PageHeader::parse(bytes), None, "{why}");
        }
    }
}

#[cfg(test)]
mod thrift_tests {
    use super::*;

    #[test]
    fn deep_nesting_and_elements_without_bytes_are_errors() {
        struct Ignored;
        impl Visitor for Ignored {}
        let parsed = |bytes: &[u8]| walk(bytes, &[FieldKind::Integer], &mut Ignored);
        let nested =
            |header: u8, levels: usize| [vec![header; levels], vec![0; levels + 1]].concat();
        assert_eq!(parsed(&nested(0x2c, 16)), Some(33));
        assert_eq!(parsed(&nested(0x2c, 17)), None);
        assert_eq!(parsed(&nested(0x2c, 1 << 20)), None);
        assert_eq!(
            parsed(&[[0x29].as_slice(), &[0x19; 1 << 20]].concat()),
            None
        );
        for (why, bytes, expected) in [
            ("a list of two bytes", &[0x29, 0x23, 1, 2, 0][..], Some(5)),
            ("the list is cut off", &[0x29, 0x23, 1], None),
            (
                "2^31 - 1 booleans",
                &[0x29, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0],
                None,
            ),
            ("a boolean", &[0x29, 0x11, 1, 0], None),
            ("an empty list", &[0x29, 0, 0], Some(3)),
            ("a field with its number", &[0x05, 2, 4, 0], Some(4)),
            (
                "the number of an earlier field",
                &[0x25, 4, 0x05, 2, 4, 0],
                None,
            ),
            ("a negative number", &[0x05, 1, 4, 0], None),
            ("a boolean instead of an integer", &[0x11, 0], None),
            (
                "a number of eleven bytes",
                &[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
                None,
            ),
        ] {
            assert_eq!(parsed(bytes), expected, "{why}");
        }
    }
}
