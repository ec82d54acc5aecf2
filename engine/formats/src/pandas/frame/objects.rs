//! Stores the cells of a column compactly.
//!
//! - An [`ObjectColumn`] stores cells of different types in one vector of bytes.
//! - [`PackedNumbers`] stores numbers of one type in blocks, each in the narrowest sufficient type.

use std::hint::black_box;

/// The value of a cell, as a Python object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CellValue<'a> {
    /// NaN.
    Missing,
    /// `True` or `False`.
    Bool(bool),
    /// A Python integer.
    Int(i64),
    /// A Python integer from a `uint64` block.
    UInt(u64),
    /// A Python float; not NaN.
    Float(f64),
    /// A string; may be empty.
    Text(&'a str),
}

impl CellValue<'_> {
    /// Returns the value as text, with floats as Rust prints them. Returns `None` for a missing cell.
    #[must_use]
    pub fn text(self) -> Option<String> {
        match self {
            CellValue::Missing => None,
            CellValue::Bool(value) => Some(if value { "True" } else { "False" }.to_owned()),
            CellValue::Int(value) => Some(value.to_string()),
            CellValue::UInt(value) => Some(value.to_string()),
            CellValue::Float(value) => Some(value.to_string()),
            CellValue::Text(text) => Some(text.to_owned()),
        }
    }

    /// Returns the value of an integer or a boolean, or `None` for other cells.
    #[must_use]
    pub fn integer(self) -> Option<i128> {
        match self {
            CellValue::Bool(value) => Some(i128::from(value)),
            CellValue::Int(value) => Some(i128::from(value)),
            CellValue::UInt(value) => Some(i128::from(value)),
            CellValue::Missing | CellValue::Float(_) | CellValue::Text(_) => None,
        }
    }
}

// Tags: the first byte of each cell that is not text. UTF-8 text cannot begin with these bytes.
const MISSING: u8 = 0xff;
const FALSE: u8 = 0xfe;
const TRUE: u8 = 0xfd;
const INT: u8 = 0xfc;
const UINT: u8 = 0xfb;
const FLOAT: u8 = 0xfa;
/// A float with an integer value, stored as an integer.
const INTEGER: u8 = 0xf9;

/// The cells of a column of dtype `object`.
#[derive(Clone, Default)]
pub struct ObjectColumn {
    /// The bytes of all cells: the text of a string, or a tag and the bytes of a number.
    bytes: Vec<u8>,
    ends: CellEnds,
}

/// The offset at which each cell of an [`ObjectColumn`] ends.
#[derive(Clone)]
enum CellEnds {
    /// All cells have the same length, for example identifiers. The ends of cells are not stored, which saves a cache miss
    /// for each cell.
    Uniform { length: usize, count: usize },
    Listed {
        /// End offset of each cell, modulo 2^32.
        ends: Vec<u32>,
        /// Indices of the cells at which the end offset exceeds another multiple of 2^32.
        wraps: Vec<usize>,
    },
}

impl Default for CellEnds {
    fn default() -> Self {
        CellEnds::Uniform {
            length: 0,
            count: 0,
        }
    }
}

impl CellEnds {
    fn len(&self) -> usize {
        match self {
            CellEnds::Uniform { count, .. } => *count,
            CellEnds::Listed { ends, .. } => ends.len(),
        }
    }

    /// Returns the offset at which the cell of a row ends.
    fn get(&self, row: usize) -> Option<usize> {
        match self {
            CellEnds::Uniform { length, count } => (row < *count).then(|| (row + 1) * length),
            CellEnds::Listed { ends, wraps } => {
                let low = *ends.get(row)? as usize;
                match wraps.is_empty() {
                    true => Some(low),
                    false => Some((wraps.partition_point(|wrap| *wrap <= row) << 32) + low),
                }
            }
        }
    }

    /// Adds a cell that ends at the offset `end`.
    fn push(&mut self, end: usize) {
        match self {
            CellEnds::Uniform { length, count } => {
                if *count == 0 {
                    *length = end;
                }
                match end == (*count + 1) * *length {
                    true => *count += 1,
                    false => {
                        let ends = (1..=*count).map(|cells| cells * *length);
                        let mut listed = CellEnds::listed(*count);
                        ends.chain([end]).for_each(|end| listed.push(end));
                        *self = listed;
                    }
                }
            }
            CellEnds::Listed { ends, wraps } => {
                let end = (end & u32::MAX as usize) as u32;
                // A cell is shorter than 2^32 bytes, so its end exceeds at most one multiple of 2^32.
                if ends.last().is_some_and(|before| end < *before) {
                    wraps.push(ends.len());
                }
                ends.push(end);
            }
        }
    }

    fn listed(cells: usize) -> Self {
        CellEnds::Listed {
            ends: Vec::with_capacity(cells),
            wraps: Vec::new(),
        }
    }
}

impl ObjectColumn {
    /// Returns the number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the length of each cell in bytes, if all cells have the same length.
    #[must_use]
    pub fn uniform_length(&self) -> Option<usize> {
        match self.ends {
            CellEnds::Uniform { length, .. } => Some(length),
            CellEnds::Listed { .. } => None,
        }
    }

    /// Returns the memory of the cells in bytes.
    pub(crate) fn memory(&self) -> usize {
        let ends = match &self.ends {
            CellEnds::Uniform { .. } => 0,
            CellEnds::Listed { ends, .. } => 4 * ends.len(),
        };
        self.bytes.len() + ends
    }

    /// Appends a cell.
    pub fn push(&mut self, cell: CellValue<'_>) {
        match cell {
            CellValue::Missing => self.bytes.push(MISSING),
            CellValue::Bool(false) => self.bytes.push(FALSE),
            CellValue::Bool(true) => self.bytes.push(TRUE),
            CellValue::Int(value) => self.number(INT, zigzag(value)),
            CellValue::UInt(value) => self.number(UINT, value),
            CellValue::Float(value) => match value as i64 {
                // -0.0 is excluded, because integers have no negative zero.
                integer if (integer as f64).to_bits() == value.to_bits() => {
                    self.number(INTEGER, zigzag(integer));
                }
                // The low bytes of many floats are zero. Swapped, they become high bytes, which are not stored.
                _ => self.number(FLOAT, value.to_bits().swap_bytes()),
            },
            CellValue::Text(text) => self.bytes.extend_from_slice(text.as_bytes()),
        }
        self.ends.push(self.bytes.len());
    }

    /// Appends a tag and a number without its high bytes that are zero.
    fn number(&mut self, tag: u8, value: u64) {
        let bytes = value.to_le_bytes();
        let length = 8 - value.leading_zeros() as usize / 8;
        self.bytes.push(tag);
        self.bytes
            .extend_from_slice(bytes.get(..length).unwrap_or_default());
    }

    /// Returns the cell of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<CellValue<'_>> {
        let bytes = self.bytes_of(row)?;
        let number = |bytes: &[u8]| {
            let mut padded = [0; 8];
            padded
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(padded)
        };
        Some(match bytes {
            [MISSING] => CellValue::Missing,
            [FALSE] => CellValue::Bool(false),
            [TRUE] => CellValue::Bool(true),
            [INT, rest @ ..] => CellValue::Int(unzigzag(number(rest))),
            [UINT, rest @ ..] => CellValue::UInt(number(rest)),
            [INTEGER, rest @ ..] => CellValue::Float(unzigzag(number(rest)) as f64),
            [FLOAT, rest @ ..] => CellValue::Float(f64::from_bits(number(rest).swap_bytes())),
            text => CellValue::Text(std::str::from_utf8(text).unwrap_or_default()),
        })
    }

    /// Prefetches the cells of `rows`, so that their cache misses overlap. Ignores rows beyond the end.
    pub fn fetch(&self, rows: &[u32]) {
        let ends = || rows.iter().map(|row| self.ends.get(*row as usize));
        if matches!(self.ends, CellEnds::Listed { .. }) {
            black_box(ends().fold(0, |all, end| all ^ end.unwrap_or(0)));
        }
        let last = |end: Option<usize>| self.bytes.get(end?.checked_sub(1)?).copied();
        black_box(ends().fold(0, |all, end| all ^ last(end).unwrap_or(0)));
    }

    /// Returns the bytes of a text, or `None` for other cells.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<&[u8]> {
        let bytes = self.bytes_of(row)?;
        let is_text = bytes.first().is_none_or(|first| *first < INTEGER);
        is_text.then_some(bytes)
    }

    /// Returns whether the cell of a row is missing.
    #[must_use]
    pub fn is_missing(&self, row: usize) -> bool {
        self.bytes_of(row) == Some(&[MISSING])
    }

    /// Returns the stored bytes of a cell.
    fn bytes_of(&self, row: usize) -> Option<&[u8]> {
        let end = self.ends.get(row)?;
        let start = match row.checked_sub(1) {
            Some(before) => self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(start..end)
    }

    /// Iterates over the cells.
    pub fn iter(&self) -> impl Iterator<Item = CellValue<'_>> {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Returns whether any cell equals `cell`.
    #[must_use]
    pub fn contains(&self, cell: CellValue<'_>) -> bool {
        self.iter().any(|other| other == cell)
    }
}

impl std::fmt::Debug for ObjectColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for ObjectColumn {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a> FromIterator<CellValue<'a>> for ObjectColumn {
    fn from_iter<I: IntoIterator<Item = CellValue<'a>>>(cells: I) -> Self {
        let mut objects = ObjectColumn::default();
        cells.into_iter().for_each(|cell| objects.push(cell));
        objects
    }
}

/// Zigzag encoding: maps integers of small magnitude to small unsigned integers.
fn zigzag(value: i64) -> u64 {
    (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned()
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Number of numbers in a packed block.
const BLOCK_NUMBERS: usize = 1 << 16;

/// A type of numbers that can be stored in narrower types.
pub trait PackedNumber: Copy + PartialEq + std::fmt::Debug {
    /// A block of numbers.
    type Block: Clone;

    /// Packs a block.
    fn pack(block: &[Self]) -> Self::Block;

    /// Returns the number at an index of a block.
    fn unpack(block: &Self::Block, at: usize) -> Option<Self>;
}

/// A list of numbers that is packed in blocks.
#[derive(Clone)]
pub struct PackedNumbers<T: PackedNumber> {
    /// The packed blocks.
    full: Vec<T::Block>,
    /// The numbers after the last packed block.
    open: Vec<T>,
}

impl<T: PackedNumber> Default for PackedNumbers<T> {
    fn default() -> Self {
        PackedNumbers::with_capacity(0)
    }
}

impl<T: PackedNumber> PackedNumbers<T> {
    /// Reserves memory for the packed blocks of `count` numbers, and for one unpacked block.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        PackedNumbers {
            full: Vec::with_capacity(count / BLOCK_NUMBERS),
            open: Vec::with_capacity(count.min(BLOCK_NUMBERS)),
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full.len() * BLOCK_NUMBERS + self.open.len()
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a number.
    pub fn push(&mut self, value: T) {
        self.open.push(value);
        if self.open.len() == BLOCK_NUMBERS {
            self.full.push(T::pack(&self.open));
            self.open.clear();
        }
    }

    /// Returns the number at an index.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<T> {
        match self.full.get(at / BLOCK_NUMBERS) {
            Some(block) => T::unpack(block, at % BLOCK_NUMBERS),
            None => self.open.get(at - self.full.len() * BLOCK_NUMBERS).copied(),
        }
    }

    /// Iterates over the numbers.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

impl<T: PackedNumber> FromIterator<T> for PackedNumbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values = values.into_iter();
        let mut packed = PackedNumbers::with_capacity(values.size_hint().0);
        values.for_each(|value| packed.push(value));
        packed
    }
}

impl<T: PackedNumber> PartialEq for PackedNumbers<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: PackedNumber> std::fmt::Debug for PackedNumbers<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A block of integers in the narrowest type that can represent all of them.
#[derive(Clone)]
pub enum Integers {
    /// One byte per integer.
    One(Vec<i8>),
    /// Two bytes per integer.
    Two(Vec<i16>),
    /// Four bytes per integer.
    Four(Vec<i32>),
    /// Eight bytes per integer.
    Eight(Vec<i64>),
}

impl PackedNumber for i64 {
    type Block = Integers;

    fn pack(block: &[i64]) -> Integers {
        fn all<T: TryFrom<i64>>(block: &[i64]) -> Option<Vec<T>> {
            block.iter().map(|value| T::try_from(*value).ok()).collect()
        }
        let narrow = || all(block).map(Integers::One);
        let narrow = narrow().or_else(|| all(block).map(Integers::Two));
        let narrow = narrow.or_else(|| all(block).map(Integers::Four));
        narrow.unwrap_or_else(|| Integers::Eight(block.to_vec()))
    }

    fn unpack(block: &Integers, at: usize) -> Option<i64> {
        match block {
            Integers::One(values) => values.get(at).map(|value| i64::from(*value)),
            Integers::Two(values) => values.get(at).map(|value| i64::from(*value)),
            Integers::Four(values) => values.get(at).map(|value| i64::from(*value)),
            Integers::Eight(values) => values.get(at).copied(),
        }
    }
}

/// A block of doubles, in single precision if that preserves all values.
#[derive(Clone)]
pub enum Doubles {
    /// Four bytes per double.
    Four(Vec<f32>),
    /// Eight bytes per double.
    Eight(Vec<f64>),
}

impl PackedNumber for f64 {
    type Block = Doubles;

    fn pack(block: &[f64]) -> Doubles {
        let narrow = |value: &f64| {
            let narrow = *value as f32;
            let is_same = f64::from(narrow).to_bits() == value.to_bits();
            (is_same || value.is_nan()).then_some(narrow)
        };
        let all = block.iter().map(narrow).collect::<Option<Vec<f32>>>();
        all.map_or_else(|| Doubles::Eight(block.to_vec()), Doubles::Four)
    }

    fn unpack(block: &Doubles, at: usize) -> Option<f64> {
        match block {
            Doubles::Four(values) => values.get(at).map(|value| f64::from(*value)),
            Doubles::Eight(values) => values.get(at).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_all_types_round_trip() {
        let integers = [0, 1, -1, 63, -64, 64, 255, 256, i64::MAX, i64::MIN, 1 << 53];
        let floats = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.1,
            1e300,
            -1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            9_007_199_254_740_993.0,
            9.3e18,
        ];
        let mut cells = vec![
            CellValue::Missing,
            CellValue::Bool(true),
            CellValue::Bool(false),
            CellValue::Text(""),
            CellValue::Text("a"),
            CellValue::Text("\u{ff}\u{10ffff}"),
            CellValue::UInt(0),
            CellValue::UInt(u64::MAX),
        ];
        cells.extend(integers.map(CellValue::Int));
        cells.extend(floats.map(CellValue::Float));
        let objects: ObjectColumn = cells.iter().copied().collect();
        assert_eq!(objects.iter().collect::<Vec<_>>(), cells);
        for (row, cell) in cells.iter().enumerate() {
            let text = match cell {
                CellValue::Text(text) => Some(text.as_bytes()),
                _ => None,
            };
            assert_eq!(objects.text(row), text);
            assert_eq!(objects.is_missing(row), *cell == CellValue::Missing);
            if let (CellValue::Float(a), Some(CellValue::Float(b))) = (cell, objects.get(row)) {
                assert_eq!(a.to_bits(), b.to_bits());
            }
        }
        assert_eq!(objects.get(cells.len()), None);
        assert!(objects.contains(CellValue::Missing) && !objects.contains(CellValue::Text("b")));
    }

    #[test]
    fn offsets_beyond_four_gibibytes_are_correct() {
        let full = 1 << 32;
        let expected = [7, full - 1, full + 3, full + 3, 2 * full + 2, 2 * full + 9];
        let mut ends = CellEnds::default();
        expected.iter().for_each(|end| ends.push(*end));
        assert!(
            (0..7)
                .map(|row| ends.get(row))
                .eq(expected.map(Some).into_iter().chain([None]))
        );
        let length = full - 1;
        let mut uniform = CellEnds::default();
        (1..=4).for_each(|cells| uniform.push(cells * length));
        assert!(matches!(uniform, CellEnds::Uniform { .. }));
        uniform.push(4 * length);
        let ends: Vec<_> = (0..5).filter_map(|row| uniform.get(row)).collect();
        assert_eq!(
            ends,
            [length, 2 * length, 3 * length, 4 * length, 4 * length]
        );
    }

    #[test]
    fn cells_of_one_length_have_no_offsets() {
        let mut objects = ObjectColumn::default();
        for (count, text) in ["ab", "cd", "ef", "g", "", "hij"].iter().enumerate() {
            assert_eq!(matches!(objects.ends, CellEnds::Uniform { .. }), count <= 3);
            objects.push(CellValue::Text(text));
        }
        let texts: Vec<_> = objects.iter().filter_map(CellValue::text).collect();
        assert_eq!(texts, ["ab", "cd", "ef", "g", "", "hij"]);
        let empty: ObjectColumn = [CellValue::Text(""); 3].into_iter().collect();
        assert_eq!((empty.len(), empty.get(2)), (3, Some(CellValue::Text(""))));
        assert_eq!((empty.get(3), empty.memory()), (None, 0));
    }

    #[test]
    fn short_cells_take_little_memory() {
        let objects: ObjectColumn = (0..1000).map(|row| CellValue::Int(row % 100)).collect();
        assert!(objects.bytes.len() <= 2000);
        let objects: ObjectColumn = (0..1000)
            .map(|row| CellValue::Float(f64::from(row % 100)))
            .collect();
        assert!(objects.bytes.len() <= 2000);
    }
}

#[cfg(test)]
mod packed_tests {
    use super::*;

    #[test]
    fn integers_of_every_width_round_trip() {
        let edges = [
            0,
            127,
            -128,
            128,
            -32768,
            32767,
            32768,
            i64::from(i32::MIN),
            i64::MAX,
        ];
        let count = BLOCK_NUMBERS * edges.len() + 5;
        let value = |at: usize| match at % 1000 {
            999 => edges[at / BLOCK_NUMBERS % edges.len()],
            _ => (at % 100) as i64,
        };
        let packed: PackedNumbers<i64> = (0..count).map(value).collect();
        assert_eq!(packed.len(), count);
        assert!((0..count).all(|at| packed.get(at) == Some(value(at))));
        assert!(packed.iter().eq((0..count).map(value)));
        assert_eq!((packed.get(count), packed.get(usize::MAX)), (None, None));
        assert!(matches!(packed.full[0], Integers::One(_)));
        assert!(matches!(packed.full[3], Integers::Two(_)));
        assert!(matches!(packed.full[6], Integers::Four(_)));
        assert!(matches!(packed.full[8], Integers::Eight(_)));
    }

    #[test]
    fn doubles_round_trip_bit_by_bit() {
        let narrow = [0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, 16_777_216.0];
        let wide = [0.1, 1e300, f64::MIN_POSITIVE, 16_777_217.0, -1e-320];
        for edge in narrow.into_iter().chain(wide) {
            let value = |at: usize| if at == 7 { edge } else { at as f64 };
            let packed: PackedNumbers<f64> = (0..BLOCK_NUMBERS + 3).map(value).collect();
            let back = packed.get(7).unwrap();
            assert!(back.to_bits() == edge.to_bits() || edge.is_nan() && back.is_nan());
            assert!((8..BLOCK_NUMBERS + 3).all(|at| packed.get(at) == Some(at as f64)));
            let is_narrow = matches!(packed.full[0], Doubles::Four(_));
            assert_eq!(
                is_narrow,
                narrow.iter().any(|one| one.to_bits() == edge.to_bits())
            );
        }
    }
}
