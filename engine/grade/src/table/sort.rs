//! Sorts like `DataFrame.sort_values`, which is unstable, so the order of equal keys is part of the result.
//!
//! Missing keys are last, in their original order. pandas sorts the other keys with NumPy's `argsort`, which uses
//! introsort for keys that are compared one by one, and for 64-bit numbers on processors without AVX-512. If all keys
//! are different, every algorithm gives the same order. If some keys are equal, this module applies NumPy's algorithm
//! to the ranks of the keys.
//!
//! Entire keys are not compared. A key is divided into chunks of eight bytes, and the current chunk is stored next to the
//! key's position. A number has one chunk. A text has as many chunks as are needed to distinguish it from the other texts.
//! So the memory of a text is accessed once per chunk and not once per comparison. These accesses are the main cost of
//! sorting ten million texts.

use std::cmp::Ordering;

use prep_formats::pandas::{ColumnData, argsort};

use super::column::{CellValue, GradedColumn};
use super::numbers::number;
use crate::refusal::{Refusal, RefusalKind};

/// Returns the positions of the column's rows in sorted order.
///
/// # Errors
/// If the column contains both texts and numbers, which have no common order.
pub fn sort_positions(column: &GradedColumn<'_>) -> Result<Vec<u32>, Refusal> {
    let (mut present, missing): (Vec<u32>, Vec<u32>) =
        (0..column.len() as u32).partition(|&position| !column.is_missing(position as usize));
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
    match Ordered::new(column, &present) {
        Some(ordered) => match ordered.distinct() {
            Some(positions) => present = positions,
            None => {
                let ranks = ordered.ranks(column.len());
                let rank = |position: u32| ranks.get(position as usize);
                argsort(&mut present, |a, b| rank(a) < rank(b));
            }
        },
        // The column contains numbers of several types, which are compared by Python's rules.
        None => argsort(&mut present, |a, b| {
            compare(column.value(a as usize), column.value(b as usize)) == Ordering::Less
        }),
    }
    present.extend(missing);
    Ok(present)
}

/// Compares two numbers in a column of objects.
fn compare(a: CellValue<'_>, b: CellValue<'_>) -> Ordering {
    match (a, b) {
        (CellValue::Int(a), CellValue::Int(b)) => a.cmp(&b),
        (CellValue::UInt(a), CellValue::UInt(b)) => a.cmp(&b),
        _ => number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal),
    }
}

/// Maximum number of texts with equal chunks so far that are compared entirely.
const MAX_DIRECT_SORT: usize = 16;

/// Number of bytes in a chunk.
const CHUNK_BYTES: usize = 8;

/// Positions in ascending order of their keys.
pub(crate) struct Ordered {
    items: Vec<SortItem>,
    /// For each item, whether its key equals the key of the previous item. `None` if all keys are different.
    repeats: Option<Vec<bool>>,
}

#[derive(Clone, Copy)]
struct SortItem {
    piece: u64,
    position: u32,
}

impl Ordered {
    /// Returns the order of the keys at these positions, none of which is missing. `None` for a column of objects that
    /// are not all texts.
    pub(crate) fn new(column: &GradedColumn<'_>, positions: &[u32]) -> Option<Ordered> {
        let row = |position: u32| column.file_position(position as usize);
        let numbers = |piece: &dyn Fn(usize) -> Option<u64>| {
            let items = positions.iter().map(|&position| {
                let piece = piece(row(position)? as usize)?;
                Some(SortItem { piece, position })
            });
            Some(Ordered::of_numbers(items.collect::<Option<_>>()?))
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
                Ordered::of_texts(positions, text)
            }
        }
    }

    fn of_numbers(mut items: Vec<SortItem>) -> Ordered {
        items.sort_unstable_by_key(|item| item.piece);
        Ordered::marked(items, |before, item| before.piece == item.piece)
    }

    fn of_texts<'a>(positions: &[u32], text: impl Fn(u32) -> Option<&'a [u8]>) -> Option<Ordered> {
        // A common prefix does not distinguish the texts.
        let mut shared = match positions.first() {
            Some(&position) => text(position)?,
            None => b"",
        };
        for &position in positions {
            let text = text(position)?;
            if !text.starts_with(shared) {
                let pairs = shared.iter().zip(text);
                let count = pairs.take_while(|(a, b)| a == b).count();
                shared = shared.get(..count).unwrap_or_default();
            }
        }
        let text = |item: &SortItem| text(item.position).unwrap_or_default();
        let items = positions
            .iter()
            .map(|&position| SortItem { piece: 0, position });
        let mut items: Vec<SortItem> = items.collect();
        let mut has_equal = false;
        // Ranges of items whose texts are equal before some byte, each with the index of this byte.
        let mut open = vec![(0..items.len(), shared.len())];
        while let Some((range, from)) = open.pop() {
            let start = range.start;
            let Some(alike) = items.get_mut(range) else {
                continue;
            };
            let mut is_at_end = true;
            for item in &mut *alike {
                let text = text(item);
                item.piece = piece(text, from);
                is_at_end &= text.len() <= from;
            }
            // Texts that ended before this chunk can only differ in trailing zero bytes.
            if is_at_end || alike.len() <= MAX_DIRECT_SORT {
                let order = |a: &SortItem, b: &SortItem| {
                    let pieces = a.piece.cmp(&b.piece);
                    pieces.then_with(|| text(a).cmp(text(b)))
                };
                alike.sort_unstable_by(order);
                has_equal |= !alike.is_sorted_by(|a, b| order(a, b).is_lt());
                continue;
            }
            alike.sort_unstable_by_key(|item| item.piece);
            let mut end = start;
            for run in alike.chunk_by(|a, b| a.piece == b.piece) {
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
            });
        }
        Some(Ordered::marked(items, |before, item| {
            text(before) == text(item)
        }))
    }

    fn marked(items: Vec<SortItem>, equal: impl Fn(&SortItem, &SortItem) -> bool) -> Ordered {
        let repeats = items.windows(2).map(|two| match two {
            [before, item] => equal(before, item),
            _ => false,
        });
        let repeats: Vec<bool> = std::iter::once(false).chain(repeats).collect();
        let has_equal = repeats.contains(&true);
        Ordered {
            items,
            repeats: has_equal.then_some(repeats),
        }
    }

    /// Returns the positions in ascending order if all keys are different, because then there is only one ascending
    /// order.
    pub(crate) fn distinct(&self) -> Option<Vec<u32>> {
        let positions = self.items.iter().map(|item| item.position);
        self.repeats.is_none().then(|| positions.collect())
    }

    /// Returns the rank of the key at each position below `positions`. Equal keys have equal ranks.
    pub(crate) fn ranks(&self, positions: usize) -> Vec<u32> {
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
fn piece(text: &[u8], from: usize) -> u64 {
    let rest = text.get(from..).unwrap_or_default();
    match rest.first_chunk::<CHUNK_BYTES>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; CHUNK_BYTES];
            for (to, from) in bytes.iter_mut().zip(rest) {
                *to = *from;
            }
            u64::from_be_bytes(bytes)
        }
    }
}

/// Converts a double to an integer with the same order. 0.0 and -0.0 give the same integer.
fn order_preserving_bits(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}
