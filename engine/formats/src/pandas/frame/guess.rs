//! Reads the cells of a file while the types of its columns are still being inferred.
//!
//! A column's type is certain only at the end of the file, but nearly always equals the type of the first cells. Therefore
//! the first pass converts each cell to the type of the previous cells.
//!
//! [`FrameScanner::finish`] keeps a column if its converted values equal the values that pandas stores. A second pass reads
//! the other columns.

use super::table::{ColumnData, push};
use crate::pandas::numbers::parse::{Integer, is_missing, parse_f64, parse_i64};
use crate::pandas::read::rows::{RawRow, RowSink, Shape};
use crate::pandas::read::scan::{CsvScan, ScannedColumn, TypeScanner};
use crate::pandas::types::infer::{BlockType, JoinedType, value};
use crate::pandas::{CellValue, CsvError, FloatParser, ObjectColumn, PackedNumbers, ReadOptions};

/// Doubles represent all integers below this magnitude exactly.
const EXACT: f64 = (1_u64 << 53) as f64;

/// An integer below [`EXACT`] is parsed exactly if its text has at most this number of bytes. In a longer text, pandas'
/// default parser may ignore digits.
const EXACT_BYTES: usize = 16;

/// Number of rows after which the memory of the cells is checked.
const ROWS_PER_CHECK: u64 = 1 << 12;

/// Infers the types of the columns, and collects the cells at the same time.
pub(super) struct FrameScanner {
    types: TypeScanner,
    parser: FloatParser,
    /// Number of index fields at the left of each row.
    skipped: usize,
    /// The columns. Empty if no cells are collected.
    columns: Vec<ColumnGuess>,
    /// Maximum memory of the collected cells in bytes.
    max_bytes: usize,
}

/// The cells of a column so far, in the type of these cells.
enum ColumnGuess {
    /// All cells are missing. Contains their number.
    Missing(usize),
    Int {
        values: PackedNumbers<i64>,
        /// Whether the numbers stay the same if the cells are parsed as doubles.
        is_exact: bool,
    },
    Float {
        values: PackedNumbers<f64>,
        /// Whether the numbers stay the same if the integers among the cells are parsed as integers.
        is_exact: bool,
    },
    Text(ObjectColumn),
    /// The cells have different types, or need too much memory.
    None,
}

impl FrameScanner {
    pub fn new(options: &ReadOptions, max_bytes: usize) -> Self {
        Self {
            types: TypeScanner::new(options),
            parser: options.floats,
            skipped: 0,
            columns: Vec::new(),
            max_bytes,
        }
    }

    pub fn width(&self) -> usize {
        self.types.width()
    }

    /// Returns the types of the columns, and the cells of each column whose type was guessed correctly.
    pub fn finish(mut self, rows: u64) -> (CsvScan, Vec<Option<ColumnData>>) {
        self.check_memory();
        let scan = self.types.finish(rows);
        let columns = self.columns.into_iter().zip(&scan.columns);
        let columns = columns.map(|(guess, scanned)| guess.finish(scanned));
        let columns = columns.collect();
        (scan, columns)
    }

    /// Drops all cells if they take too much memory.
    fn check_memory(&mut self) {
        let bytes = self.columns.iter().map(ColumnGuess::memory).sum::<usize>();
        if bytes > self.max_bytes {
            self.columns.fill_with(|| ColumnGuess::None);
        }
    }
}

impl RowSink for FrameScanner {
    fn header(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        self.types.header(row)
    }

    fn shape(&mut self, shape: Shape) -> Result<(), CsvError> {
        self.types.shape(shape)?;
        self.skipped = shape.index;
        if self.max_bytes > 0 {
            let count = self.types.names().count();
            self.columns.resize_with(count, || ColumnGuess::Missing(0));
        }
        Ok(())
    }

    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        self.types.row(row)?;
        for (field, column) in (self.skipped..).zip(&mut self.columns) {
            if !matches!(column, ColumnGuess::None) {
                column.push(&row.content(field), self.parser);
            }
        }
        if row.number.is_multiple_of(ROWS_PER_CHECK) {
            self.check_memory();
        }
        Ok(())
    }
}

impl ColumnGuess {
    /// Adds a cell. If the cell does not have the type of the previous cells, changes the type.
    #[inline]
    fn push(&mut self, cell: &[u8], parser: FloatParser) {
        let is_collected = match self {
            ColumnGuess::Text(cells) => {
                let value = value(cell, BlockType::Text, JoinedType::Object, parser);
                value.map(|value| push(cells, value)).is_some()
            }
            ColumnGuess::Float { values, is_exact } => match parse_f64(cell, parser) {
                Some(value) => {
                    *is_exact &= is_exactly(cell, value) && value.to_bits() != (-0.0_f64).to_bits();
                    values.push(value);
                    true
                }
                None if is_missing(cell) => {
                    values.push(f64::NAN);
                    true
                }
                None => false,
            },
            ColumnGuess::Int { values, is_exact } => match parse_i64(cell) {
                Integer::Value(value) => {
                    let is_negative_zero = value == 0 && cell.contains(&b'-');
                    *is_exact &= is_exactly(cell, value as f64) && !is_negative_zero;
                    values.push(value);
                    true
                }
                _ => false,
            },
            ColumnGuess::Missing(count) if is_missing(cell) => {
                *count += 1;
                true
            }
            ColumnGuess::Missing(_) | ColumnGuess::None => false,
        };
        if !is_collected {
            *self = std::mem::replace(self, ColumnGuess::None).changed(cell, parser);
        }
    }

    /// Converts the cells to a type that also fits `cell`, and adds `cell`. Returns [`ColumnGuess::None`] if there is no such
    /// type.
    #[cold]
    fn changed(self, cell: &[u8], parser: FloatParser) -> Self {
        let is_number = is_missing(cell) || parse_f64(cell, parser).is_some();
        let mut column = match self {
            ColumnGuess::Missing(0) if matches!(parse_i64(cell), Integer::Value(_)) => {
                ColumnGuess::Int {
                    values: PackedNumbers::default(),
                    is_exact: true,
                }
            }
            ColumnGuess::Missing(count) if is_number => ColumnGuess::Float {
                values: std::iter::repeat_n(f64::NAN, count).collect(),
                is_exact: true,
            },
            ColumnGuess::Missing(count) => {
                let missing = std::iter::repeat_n(CellValue::Missing, count);
                ColumnGuess::Text(missing.collect())
            }
            ColumnGuess::Int {
                values,
                is_exact: true,
            } if is_number => ColumnGuess::Float {
                values: values.iter().map(|value| value as f64).collect(),
                is_exact: true,
            },
            _ => return ColumnGuess::None,
        };
        column.push(cell, parser);
        column
    }

    /// Returns an upper bound for the memory of the cells in bytes.
    fn memory(&self) -> usize {
        match self {
            ColumnGuess::None => 0,
            // Missing cells are stored as doubles in the end.
            ColumnGuess::Missing(count) => 8 * count,
            ColumnGuess::Int { values, .. } => 8 * values.len(),
            ColumnGuess::Float { values, .. } => 8 * values.len(),
            ColumnGuess::Text(cells) => cells.memory(),
        }
    }

    /// Returns the cells if pandas stores the same values for the inferred types.
    fn finish(self, scanned: &ScannedColumn) -> Option<ColumnData> {
        let consists_of =
            |kinds: &[BlockType]| scanned.blocks.iter().all(|one| kinds.contains(one));
        match self {
            ColumnGuess::Int { values, .. } if scanned.joined == JoinedType::Int => {
                Some(ColumnData::Int64(values))
            }
            ColumnGuess::Float { values, is_exact } if scanned.joined == JoinedType::Float => {
                // If a block of rows contains only integers, pandas parses them as integers and converts them to doubles later.
                // Therefore both ways of parsing must give the same numbers.
                let as_doubles = consists_of(&[BlockType::Float]);
                let as_numbers =
                    consists_of(&[BlockType::Float, BlockType::Int, BlockType::IntGaps]);
                (as_doubles || as_numbers && is_exact).then_some(ColumnData::Float64(values))
            }
            ColumnGuess::Missing(count) if scanned.joined == JoinedType::Float => {
                let values = std::iter::repeat_n(f64::NAN, count);
                Some(ColumnData::Float64(values.collect()))
            }
            ColumnGuess::Text(cells)
                if scanned.joined == JoinedType::Object && consists_of(&[BlockType::Text]) =>
            {
                Some(ColumnData::Object(cells))
            }
            _ => None,
        }
    }
}

/// Returns whether `cell` has the same `value` when parsed as `int64` and as a double. The result is meaningful only for
/// integers other than zero.
fn is_exactly(cell: &[u8], value: f64) -> bool {
    value.abs() < EXACT && cell.len() <= EXACT_BYTES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pandas::frame::table::read_rows;
    use crate::pandas::read::rows::RowReader;

    /// A scanner with blocks of three rows. pandas' blocks have thousands.
    struct ShortBlocks(FrameScanner);

    impl RowSink for ShortBlocks {
        fn header(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
            self.0.header(row)
        }

        fn shape(&mut self, shape: Shape) -> Result<(), CsvError> {
            self.0.shape(Shape { block: 3, ..shape })
        }

        fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
            self.0.row(row)
        }
    }

    /// Returns the cells that the scan kept, and the cells that a second pass reads.
    fn scan(
        text: &str,
        options: &ReadOptions,
        max_bytes: usize,
    ) -> (Vec<Option<ColumnData>>, Vec<ColumnData>) {
        let mut sink = ShortBlocks(FrameScanner::new(options, max_bytes));
        let mut rows = RowReader::new(options);
        rows.read(text.as_bytes(), &mut sink, |_| false).unwrap();
        let (scan, kept) = sink.0.finish(rows.rows());
        let all: Vec<usize> = (0..scan.columns.len()).collect();
        let read = read_rows(text.as_bytes(), options, &scan, &all);
        (kept, read.unwrap())
    }

    /// Returns whether the scan kept the cells of each column.
    fn kept(text: &str) -> Vec<bool> {
        let (kept, _) = scan(text, &ReadOptions::default(), usize::MAX);
        kept.iter().map(Option::is_some).collect()
    }

    #[test]
    fn columns_of_one_type_are_kept() {
        let all = "i,n,f,t,m\n1,1,0.5,a,\n2,,7,,NA\n3,2.5,1e3,b c,\n-4,7,-1,\"d,\",\n";
        assert_eq!(kept(all), [true; 5]);
        // A block has three rows. In the second block, the first column is text, the second contains a boolean, and the third
        // an integer that no double represents exactly.
        let mixed = "t,b,f\n1,0.5,0.5\n2,0.5,1\n3,0.5,1\na,True,9007199254740993\n";
        assert_eq!(kept(mixed), [false; 3]);
        assert!(kept("").is_empty());
        let (kept, _) = scan("a,b\n1,x\n2,y\n", &ReadOptions::default(), 0);
        assert_eq!(kept.len(), 0);
    }

    #[test]
    fn cells_beyond_the_memory_limit_are_not_kept() {
        let text = format!("a\n{}", "1\n".repeat(2 * ROWS_PER_CHECK as usize));
        let scan = |max_bytes| scan(&text, &ReadOptions::default(), max_bytes).0;
        assert!(
            scan(8 * ROWS_PER_CHECK as usize)
                .iter()
                .all(Option::is_none)
        );
        assert!(scan(usize::MAX).iter().all(Option::is_some));
    }

    const INTEGERS: &[&str] = &[
        "0",
        "-3",
        "007",
        " 5",
        "+6",
        "9007199254740993",
        "-0",
        "00000000000000000000001",
        "-9223372036854775808",
    ];
    const NUMBERS: &[&str] = &[
        "1.5",
        "-0",
        "-0.0",
        "1e3",
        "inf",
        ".5",
        "18446744073709551615",
        "1e400",
        "3",
    ];
    const OTHERS: &[&str] = &[
        "",
        "NA",
        "nan",
        "True",
        "false",
        "a",
        "\"b,\"\"\"",
        "x\0y",
        "1_0",
        "-",
        "\u{e9}",
    ];

    fn column() -> impl Strategy<Value = Vec<&'static str>> {
        let cells = |from: &'static [&[&str]]| {
            let cell = prop::sample::select(from.concat());
            prop::collection::vec(cell, 14)
        };
        prop_oneof![
            cells(&[INTEGERS]),
            cells(&[INTEGERS, NUMBERS]),
            cells(&[NUMBERS, &["", "NA"]]),
            cells(&[OTHERS]),
            cells(&[INTEGERS, NUMBERS, OTHERS]),
            (
                cells(&[INTEGERS]),
                cells(&[NUMBERS, &["", "NA"]]),
                0..14usize
            )
                .prop_map(|(first, second, at)| [&first[..at], &second[at..]].concat()),
        ]
    }

    proptest! {
        #[test]
        fn kept_cells_are_those_that_a_second_pass_reads(
            columns in prop::collection::vec(column(), 1..4),
            rows in 0..14usize,
            is_fast in any::<bool>(),
            header in prop::sample::select(&["a,b,c,d", "a,b,c", "a,b", "a"][..]),
        ) {
            let mut text = format!("{header}\n");
            for row in 0..rows {
                let cells: Vec<&str> = columns.iter().map(|column| column[row]).collect();
                text += &format!("{}\n", cells.join(","));
            }
            let floats = if is_fast { FloatParser::Fast } else { FloatParser::RoundTrip };
            let options = ReadOptions { floats, ..ReadOptions::default() };
            let (kept, read) = scan(&text, &options, usize::MAX);
            for (kept, read) in kept.iter().zip(&read) {
                if let Some(kept) = kept {
                    // Signs of zeros are part of the text, and all missing cells are equal.
                    prop_assert_eq!(format!("{kept:?}"), format!("{read:?}"), "{}", text);
                }
            }
        }
    }
}
