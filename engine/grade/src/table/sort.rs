//! Sorts like `DataFrame.sort_values` of pandas. That sort is not stable, so the order of equal keys must be reproduced.
//!
//! pandas sorts with NumPy's `argsort`, and puts missing keys last in their original order. If all keys are different, every
//! algorithm gives the same order. If some keys are equal, this module applies NumPy's algorithm (introsort) to the ranks of
//! the keys.
//!
//! Keys are divided into chunks of eight bytes, and are sorted by one chunk after another. A `SortItem` contains the position
//! of a key and the chunk by which it is being sorted. A number has one chunk. A string has as many chunks as are needed to
//! distinguish it from other strings. Therefore the memory of a string is accessed once per chunk, not once per comparison.
//! These accesses are the main cost of sorting ten million strings.

use std::cmp::Ordering;
use std::mem::{Discriminant, discriminant};

use prep_formats::pandas::{ColumnData, argsort};

use super::column::{CellValue, GradedColumn};
use super::numbers::number;
use super::threads::both;
use crate::refusal::{Refusal, RefusalKind};

/// The rows of a column, sorted by their cells. The cell of a row is its key.
pub(crate) struct SortedRows<'a> {
    order: RowOrder,
    /// Positions of the rows whose keys are missing, in their original order.
    missing: Vec<u32>,
    meaning: Option<ChunkMeaning<'a>>,
}

enum RowOrder {
    /// All keys are different. Each row's position is stored with a chunk of its key.
    Distinct(Vec<SortItem>),
    Positions(Vec<u32>),
}

/// Converts a chunk back into its key. A column of strings has no `ChunkMeaning` if the strings have different lengths, or
/// more than one chunk after their common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkMeaning<'a> {
    /// The key is a number of this type.
    Number(Discriminant<ColumnData>),
    /// The key is a string of this length: the prefix and the chunk.
    Text { prefix: &'a [u8], length: usize },
}

impl SortedRows<'_> {
    /// Returns whether the chunks prove that two columns have equal keys, row by row. If the result is `false`, the keys may
    /// still be equal, so the caller must compare the cells.
    pub(crate) fn has_equal_keys(&self, other: &SortedRows<'_>) -> bool {
        let (RowOrder::Distinct(items), RowOrder::Distinct(others)) = (&self.order, &other.order)
        else {
            return false;
        };
        let has_missing = !self.missing.is_empty() || !other.missing.is_empty();
        !has_missing
            && self.meaning.is_some()
            && self.meaning == other.meaning
            && items.len() == others.len()
            && items.iter().zip(others).all(|(a, b)| a.chunk == b.chunk)
    }

    pub(crate) fn into_positions(self) -> Vec<u32> {
        let mut positions = match self.order {
            RowOrder::Distinct(items) => items.iter().map(|item| item.position).collect(),
            RowOrder::Positions(positions) => positions,
        };
        positions.extend(self.missing);
        positions
    }
}

/// Returns the positions of the column's rows in sorted order. A column with both strings and numbers is an error,
/// because they have no common order.
pub fn sort_positions(column: &GradedColumn<'_>) -> Result<Vec<u32>, Refusal> {
    sort(column).map(SortedRows::into_positions)
}

/// Sorts two columns. If both have an error, returns that of `first`.
pub(crate) fn sort_both<'a>(
    first: &GradedColumn<'a>,
    second: &GradedColumn<'a>,
) -> Result<(SortedRows<'a>, SortedRows<'a>), Refusal> {
    let (first, second) = both(first.len(), || sort(first), || sort(second));
    Ok((first?, second?))
}

fn sort<'a>(column: &GradedColumn<'a>) -> Result<SortedRows<'a>, Refusal> {
    let is_missing = |position: &u32| column.is_missing(*position as usize);
    let (missing, present): (Vec<u32>, Vec<u32>) = (0..column.len() as u32).partition(is_missing);
    if matches!(column.data(), ColumnData::Object(_)) {
        let text = |position: &u32| column.text(*position as usize).is_some();
        let first = present.first().is_some_and(text);
        if let Some(odd) = present.iter().find(|position| text(position) != first) {
            let expected = if first {
                "text, as in the rows above"
            } else {
                "a number, as in the rows above"
            };
            return Err(column.refuse(RefusalKind::Ids, *odd as usize, expected));
        }
    }
    // If the positions in `present` are needed after the sort, they are computed again. A copy would need much memory.
    let present_again = || (0..column.len() as u32).filter(|position| !is_missing(position));
    let Some(ordered) = Ordered::new(column, present) else {
        // The column contains numbers of several types, which are compared like in Python.
        let mut present: Vec<u32> = present_again().collect();
        argsort(&mut present, |a, b| {
            compare(column.value(a as usize), column.value(b as usize)) == Ordering::Less
        });
        return Ok(SortedRows {
            order: RowOrder::Positions(present),
            missing,
            meaning: None,
        });
    };
    let meaning = ordered.meaning;
    let order = match &ordered.repeats {
        // All keys are different, so there is only one order.
        None => RowOrder::Distinct(ordered.items),
        Some(_) => {
            let ranks = ordered.ranks(column.len());
            let rank = |position: u32| ranks.get(position as usize);
            let mut present: Vec<u32> = present_again().collect();
            argsort(&mut present, |a, b| rank(a) < rank(b));
            RowOrder::Positions(present)
        }
    };
    Ok(SortedRows {
        order,
        missing,
        meaning,
    })
}

fn compare(a: CellValue<'_>, b: CellValue<'_>) -> Ordering {
    match (a, b) {
        (CellValue::Int(a), CellValue::Int(b)) => a.cmp(&b),
        (CellValue::UInt(a), CellValue::UInt(b)) => a.cmp(&b),
        _ => number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal),
    }
}

/// If at most this number of strings have the same beginning, they are compared entirely instead of chunk by chunk.
const MAX_DIRECT_SORT: usize = 16;

const CHUNK_BYTES: usize = 8;

/// The keys of a column in sorted order.
struct Ordered<'a> {
    items: Vec<SortItem>,
    /// For each item, whether its key equals the previous one. `None` if all keys are different.
    repeats: Option<Vec<bool>>,
    meaning: Option<ChunkMeaning<'a>>,
}

#[derive(Clone, Copy)]
struct SortItem {
    chunk: Chunk,
    position: u32,
}

/// An integer of 64 bits in two halves, so that an item takes 12 bytes instead of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk([u32; 2]);

impl Chunk {
    fn new(value: u64) -> Self {
        Chunk([(value >> 32) as u32, value as u32])
    }

    fn value(self) -> u64 {
        let [upper, lower] = self.0;
        u64::from(upper) << 32 | u64::from(lower)
    }
}

impl SortItem {
    fn key(&self) -> u64 {
        self.chunk.value()
    }
}

impl<'a> Ordered<'a> {
    /// Sorts the keys at `positions`, which must not be missing. Returns `None` for a column of objects if one of the
    /// objects is not a string.
    fn new(column: &GradedColumn<'a>, positions: Vec<u32>) -> Option<Self> {
        let row = |position: u32| column.file_position(position as usize);
        let numbers = |chunk: &dyn Fn(usize) -> Option<u64>| {
            let items = positions.iter().map(|&position| {
                let chunk = Chunk::new(chunk(row(position)? as usize)?);
                Some(SortItem { chunk, position })
            });
            let kind = discriminant(column.data());
            let items = items.collect::<Option<_>>()?;
            Some(Ordered::of_numbers(items, kind))
        };
        match column.data() {
            ColumnData::Int64(values) => {
                numbers(&|row| Some(values.get(row)?.cast_unsigned() ^ (1 << 63)))
            }
            ColumnData::UInt64(values) => numbers(&|row| values.get(row).copied()),
            ColumnData::Bool(values) => numbers(&|row| values.get(row).copied().map(u64::from)),
            ColumnData::Float64(values) => {
                numbers(&|row| values.get(row).map(order_preserving_bits))
            }
            ColumnData::Object(cells) => {
                let text = |position: u32| cells.text(row(position)? as usize);
                Ordered::of_texts(positions, cells.uniform_length(), text)
            }
        }
    }

    fn of_numbers(mut items: Vec<SortItem>, kind: Discriminant<ColumnData>) -> Self {
        items.sort_unstable_by_key(SortItem::key);
        let meaning = Some(ChunkMeaning::Number(kind));
        Ordered::marked(items, meaning, |before, item| before.chunk == item.chunk)
    }

    /// `length` is the common length of all texts, if they have one.
    fn of_texts(
        positions: Vec<u32>,
        length: Option<usize>,
        text: impl Fn(u32) -> Option<&'a [u8]>,
    ) -> Option<Self> {
        let mut shared = match positions.first() {
            Some(&position) => text(position)?,
            None => b"",
        };
        for &position in &positions {
            let text = text(position)?;
            if !text.starts_with(shared) {
                let pairs = shared.iter().zip(text);
                let count = pairs.take_while(|(a, b)| a == b).count();
                shared = shared.get(..count).unwrap_or_default();
            }
        }
        let text = |item: &SortItem| text(item.position).unwrap_or_default();
        let short = length.filter(|length| *length <= shared.len() + CHUNK_BYTES);
        let meaning = short.map(|length| ChunkMeaning::Text {
            prefix: shared,
            length,
        });
        let chunk = Chunk::new(0);
        let items = positions
            .iter()
            .map(|&position| SortItem { chunk, position });
        let mut items: Vec<SortItem> = items.collect();
        drop(positions);
        let mut has_equal = false;
        // Each entry is a range of items, and the index of a byte. The strings in the range are equal before this byte.
        let mut open = vec![(0..items.len(), shared.len())];
        while let Some((range, from)) = open.pop() {
            let start = range.start;
            let Some(alike) = items.get_mut(range) else {
                continue;
            };
            let mut is_at_end = true;
            for item in &mut *alike {
                let text = text(item);
                item.chunk = chunk_at(text, from);
                is_at_end &= text.len() <= from;
            }
            // Strings that ended before this chunk can differ only in trailing zero bytes.
            if is_at_end || alike.len() <= MAX_DIRECT_SORT {
                let order = |a: &SortItem, b: &SortItem| {
                    let chunks = a.key().cmp(&b.key());
                    chunks.then_with(|| text(a).cmp(text(b)))
                };
                alike.sort_unstable_by(order);
                has_equal |= !alike.is_sorted_by(|a, b| order(a, b).is_lt());
                continue;
            }
            alike.sort_unstable_by_key(SortItem::key);
            let mut end = start;
            for run in alike.chunk_by(|a, b| a.chunk == b.chunk) {
                let begin = end;
                end += run.len();
                if run.len() > 1 {
                    open.push((begin..end, from + CHUNK_BYTES));
                }
            }
        }
        if !has_equal {
            return Some(Ordered {
                items,
                repeats: None,
                meaning,
            });
        }
        Some(Ordered::marked(items, meaning, |before, item| {
            text(before) == text(item)
        }))
    }

    /// Creates the result from sorted items. `equal` compares the keys of two adjacent items.
    fn marked(
        items: Vec<SortItem>,
        meaning: Option<ChunkMeaning<'a>>,
        equal: impl Fn(&SortItem, &SortItem) -> bool,
    ) -> Self {
        let repeats = items.windows(2).map(|two| match two {
            [before, item] => equal(before, item),
            _ => false,
        });
        let repeats: Vec<bool> = std::iter::once(false).chain(repeats).collect();
        let has_equal = repeats.contains(&true);
        Ordered {
            items,
            repeats: has_equal.then_some(repeats),
            meaning,
        }
    }

    /// Returns the rank of the key at each position. Equal keys have equal ranks.
    fn ranks(&self, positions: usize) -> Vec<u32> {
        let mut ranks = vec![0; positions];
        let mut rank = 0;
        for (index, item) in self.items.iter().enumerate() {
            let repeats = self.repeats.as_ref().and_then(|all| all.get(index));
            rank += u32::from(repeats != Some(&true));
            if let Some(place) = ranks.get_mut(item.position as usize) {
                *place = rank;
            }
        }
        ranks
    }
}

/// Converts eight bytes of a text to a number with the same order. Bytes beyond the end of the text are zero.
fn chunk_at(text: &[u8], from: usize) -> Chunk {
    let rest = text.get(from..).unwrap_or_default();
    let value = match rest.first_chunk::<CHUNK_BYTES>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; CHUNK_BYTES];
            for (to, from) in bytes.iter_mut().zip(rest) {
                *to = *from;
            }
            u64::from_be_bytes(bytes)
        }
    };
    Chunk::new(value)
}

/// Converts a double to an integer with the same order. 0.0 and -0.0 give the same integer.
fn order_preserving_bits(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}
