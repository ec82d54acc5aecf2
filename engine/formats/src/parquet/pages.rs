//! Checks the declared sizes of pages before the parquet crate decompresses them.
//!
//! A page header declares the uncompressed size and the number of values. The crate allocates memory for them without a
//! limit. [`Pages`] observes the bytes that the crate reads. Bytes that end where a page begins are the header of that
//! page.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::limits::{ArchiveBudget, DecodingLimits, LimitExceeded};

/// The page headers read so far, and the budget of all pages. Clones share both.
#[derive(Debug, Clone)]
pub(super) struct Pages(Arc<Mutex<PagesState>>);

#[derive(Debug)]
struct PagesState {
    limits: DecodingLimits,
    /// Length of the file in bytes.
    length: u64,
    /// Budget of all pages together.
    budget: ArchiveBudget,
    lists: Vec<ListChunk>,
    /// Number of values in lists so far.
    values: u64,
    /// The offset and bytes of each header. Several columns may have read the header of their next page.
    headers: Vec<(u64, Vec<u8>)>,
}

/// A part of the file with values of lists. One row can contain all of them, and a row is read at once.
#[derive(Debug)]
pub(super) struct ListChunk {
    pub range: Range<u64>,
    /// Bytes of a value, if all values have the same length. Otherwise 0.
    pub width: u64,
}

impl Pages {
    /// Creates the checks for a file of `length` bytes.
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
            headers: Vec::new(),
        })))
    }

    /// Records bytes that were read sequentially, beginning at the offset `start`.
    pub(super) fn add(&self, start: u64, bytes: &[u8]) {
        let mut state = self.0.lock();
        match state.headers.iter_mut().find(|(begin, _)| *begin == start) {
            Some((_, header)) => header.extend_from_slice(bytes),
            None => state.headers.push((start, bytes.to_vec())),
        }
    }

    /// Checks the page of `length` bytes at the offset `start`.
    ///
    /// # Errors
    /// An error that contains [`LimitExceeded`]; [`io::ErrorKind::InvalidData`] if the page has no header, or if a
    /// header field has an unexpected type.
    pub(super) fn check(&self, start: u64, length: u64) -> io::Result<()> {
        let mut state = self.0.lock();
        let ends = |(begin, header): &(u64, Vec<u8>)| begin + header.len() as u64 == start;
        let index = state.headers.iter().position(ends);
        let header = index.map(|index| state.headers.swap_remove(index).1);
        let header = header.and_then(|header| PageHeader::parse(&header));
        let PageHeader { size, values } = header.ok_or(io::ErrorKind::InvalidData)?;
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

/// The type of a header field according to the format.
///
/// The crate reads known fields with the type that the format defines and ignores the type in the file. If the two
/// differ, the crate would find a different end of the field than this module. So a difference is an error.
enum FieldKind {
    Integer,
    Boolean,
    Binary,
    Structure(&'static [FieldKind]),
}

use FieldKind::{Binary, Boolean, Integer, Structure};

/// The fields of `PageHeader` in `parquet.thrift`, numbered from 1.
static PAGE: &[FieldKind] = &[
    Integer,
    Integer,
    Integer,
    Integer,
    Structure(&[Integer, Integer, Integer, Integer, STATISTICS]),
    Structure(&[]),
    Structure(&[Integer, Integer, Boolean]),
    Structure(&[
        Integer, Integer, Integer, Integer, Integer, Integer, Boolean, STATISTICS,
    ]),
];

/// The fields of `Statistics` in `parquet.thrift`.
const STATISTICS: FieldKind = Structure(&[
    Binary, Binary, Integer, Integer, Binary, Binary, Boolean, Boolean,
]);

/// Maximum depth of nested structures. The format has two levels.
const MAX_NESTING: usize = 8;

/// The checked fields of a page header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageHeader {
    /// `uncompressed_page_size`
    size: u64,
    /// `num_values` of a data page, otherwise 0.
    values: u64,
}

impl PageHeader {
    fn parse(header: &[u8]) -> Option<PageHeader> {
        let mut fields = Fields {
            rest: header,
            size: None,
            values: 0,
        };
        fields.structure(PAGE, None)?;
        // The crate truncates the integer to 32 bits.
        Some(PageHeader {
            size: u64::try_from(fields.size? as i32).ok()?,
            values: fields.values,
        })
    }
}

/// The fields of `PageHeader` with the headers of data pages of version 1 and 2.
const DATA_PAGES: [usize; 2] = [5, 8];

/// A parser for Thrift's compact protocol. The methods return `None` at the end and for unexpected content.
struct Fields<'a> {
    rest: &'a [u8],
    size: Option<i64>,
    values: u64,
}

impl Fields<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(count).ok()?..)?;
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

    /// Parses a structure. `parent` is the field of the page header that contains it, and the depth below that field.
    fn structure(&mut self, kinds: &[FieldKind], parent: Option<(usize, usize)>) -> Option<()> {
        let nesting = parent.map_or(0, |(_, depth)| depth + 1);
        let mut field = 0_usize;
        loop {
            let (step, wire) = match self.byte()? {
                byte if byte & 0x0f == 0 => return Some(()),
                byte => (byte >> 4, byte & 0x0f),
            };
            // A field that is encoded with its number is rejected, because it could repeat an earlier field.
            field += usize::from(step);
            let inner = match (kinds.get(field.checked_sub(1)?), wire) {
                _ if step == 0 => return None,
                (Some(Integer), 5 | 6) | (Some(Boolean), 1 | 2) | (Some(Binary), 8) => &[],
                (Some(Structure(inner)), 12) if nesting < MAX_NESTING => *inner,
                (None, 12) if nesting < MAX_NESTING => &[],
                (None, 1..=8) => &[],
                _ => return None,
            };
            match wire {
                1 | 2 => {}
                3 => self.skip(1)?,
                4..=6 => {
                    let zigzag = self.varint()?;
                    let number = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
                    match (parent, field) {
                        (None, 2) => self.size = Some(number),
                        // A header may contain both versions, of which the crate uses one. It truncates to 32 bits.
                        (Some((page, 0)), 1) if DATA_PAGES.contains(&page) => {
                            let values = u64::try_from(number as i32).ok()?;
                            self.values = self.values.max(values);
                        }
                        _ => {}
                    }
                }
                7 => self.skip(8)?,
                8 => {
                    let length = self.varint()?;
                    self.skip(length)?;
                }
                _ => {
                    let page = parent.map_or(field, |(page, _)| page);
                    self.structure(inner, Some((page, nesting)))?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_header_equal_those_that_the_crate_reads() {
        let plain = [0x15, 0, 0x15, 0x80, 0x01, 0x15, 0x40, 0];
        let parsed = |size, values| Some(PageHeader { size, values });
        assert_eq!(PageHeader::parse(&plain), parsed(64, 0));
        // A header with a data page header, its statistics, and an unknown field.
        let full = [
            &plain[..7],
            &[0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6],
            &[0x1c, 0x28, 1, b'x', 0x16, 0, 0x38, 0, 0, 0],
            &[0x9c, 0x18, 2, 1, 2, 0, 0],
        ];
        assert_eq!(PageHeader::parse(&full.concat()), parsed(64, 1));
        // A header of both versions, of which one declares no values.
        let both = [
            &plain[..7],
            &[0x2c, 0x15, 0x80, 0x01, 0x15, 0, 0x15, 6, 0x15, 6, 0],
            &[0x3c, 0x15, 0, 0],
            &[0],
        ];
        assert_eq!(PageHeader::parse(&both.concat()), parsed(64, 64));
        for (why, bytes) in [
            ("cut off", &plain[..5]),
            ("no size", &[0x15, 0, 0x25, 0x40, 0]),
            ("negative", &[0x15, 0, 0x15, 0x01, 0x15, 0x40, 0]),
            ("unexpected type", &[0x15, 0, 0x18, 0x01, 0x15, 0x40, 0]),
            (
                "size field occurs twice",
                &[0x15, 0, 0x15, 2, 0x05, 4, 0x80, 0x01, 0],
            ),
            ("a number of eleven bytes", &[0xff; 12]),
        ] {
            assert_eq!(PageHeader::parse(bytes), None, "{why}");
        }
    }
}
