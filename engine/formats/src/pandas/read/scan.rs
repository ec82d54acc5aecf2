//! Scans a raw file: infers types, and checks whether pandas changes the text of any cell.

use std::collections::{HashMap, HashSet};

use crate::pandas::read::rows::{RawRow, RowReader, RowSink, Shape};
use crate::pandas::types::infer::JoinedType;
use crate::pandas::types::infer::value;
use crate::pandas::types::infer::{BlockResult, BlockType, Inference};
use crate::pandas::{ColumnSchema, ColumnType, CsvError, FloatParser, ReadOptions, Schema};

/// The result of scanning a file.
#[derive(Debug, Clone)]
pub struct CsvScan {
    /// Columns, types and number of rows of the frame, without index columns.
    pub schema: Schema,
    /// Whether the text of each cell equals its formatted value, except for quotes.
    pub(crate) is_canonical: bool,
    /// Number of columns at the left that pandas uses as an index. The canonical text does not contain them.
    pub index_columns: usize,
    pub(crate) columns: Vec<ScannedColumn>,
    pub(crate) block_rows: u64,
}

/// The type of a column in the frame, and in each block of rows.
#[derive(Debug, Clone)]
pub(crate) struct ScannedColumn {
    pub joined: JoinedType,
    pub blocks: Vec<BlockType>,
}

impl ScannedColumn {
    /// Returns the type in the block that contains the row `number`. A block has `block_rows` rows.
    pub fn block(&self, number: u64, block_rows: u64) -> BlockType {
        let block = number
            .checked_div(block_rows)
            .and_then(|block| usize::try_from(block).ok());
        block
            .and_then(|block| self.blocks.get(block))
            .copied()
            .unwrap_or(BlockType::Text)
    }
}

/// Infers from chunks of a file how `read_csv` would read the file. Keeps only the longest row in memory.
pub struct CsvScanner {
    rows: RowReader,
    sink: TypeScanner,
}

impl CsvScanner {
    /// Creates a scanner for a new file.
    #[must_use]
    pub fn new(options: &ReadOptions) -> Self {
        Self {
            rows: RowReader::new(options),
            sink: TypeScanner::new(options),
        }
    }

    /// Adds the next bytes of the file. A chunk may end anywhere.
    ///
    /// # Errors
    /// [`CsvError`] at the first position where pandas rejects the file.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), CsvError> {
        self.rows.feed(chunk, &mut self.sink)
    }

    /// Returns the scan. All chunks of the file must have been added.
    ///
    /// # Errors
    /// Same as [`feed`](Self::feed), and [`CsvError::UnclosedQuote`] if a quote is never closed.
    pub fn finish(mut self) -> Result<CsvScan, CsvError> {
        self.rows.finish(&mut self.sink)?;
        Ok(self.sink.finish(self.rows.rows()))
    }
}

/// The scan of one column.
struct ColumnScan {
    name: String,
    /// The requested type, if any.
    forced: Option<ColumnType>,
    /// The inference in the current block.
    current: Inference,
    /// The results for the previous blocks.
    blocks: Vec<BlockResult>,
    /// For a requested type: whether any cell is missing.
    forced_missing: bool,
    /// For a requested type: whether the text of each cell equals its formatted value.
    forced_is_canonical: bool,
}

/// Infers the types of all columns, row by row.
pub(crate) struct TypeScanner {
    options: ReadOptions,
    /// The unique names, until `columns` contains them.
    names: Vec<String>,
    /// The names in the file. Two columns can have the same name.
    written: Vec<String>,
    columns: Vec<ColumnScan>,
    shape: Shape,
    /// Number of rows in the current block.
    in_block: u64,
    /// Whether all columns contain only integers in this block. If so, the cells of further rows of integers are not
    /// inspected, because they cannot change the types.
    has_integers: bool,
}

impl TypeScanner {
    pub fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            names: Vec::new(),
            written: Vec::new(),
            columns: Vec::new(),
            shape: Shape {
                width: 0,
                index: 0,
                block: 1,
            },
            in_block: 0,
            has_integers: false,
        }
    }

    /// Returns the type that the options request for a column.
    fn requested_type(&self, name: &str) -> Option<ColumnType> {
        let options = &self.options;
        if options.all_text || options.text.iter().any(|text| text == name) {
            return Some(ColumnType::Text);
        }
        options.types.get(name).copied()
    }

    /// Starts the inference for a block. A column with a requested type is scanned as text.
    fn new_inference(forced: Option<ColumnType>, parser: FloatParser) -> Inference {
        if forced.is_some() {
            Inference::text(parser)
        } else {
            Inference::new(parser)
        }
    }

    /// Ends a block of rows: stores the type of each column in the block, and starts new inferences.
    fn end_block(&mut self) {
        let parser = self.options.floats;
        for column in &mut self.columns {
            column.blocks.push(column.current.finish());
            column.current = Self::new_inference(column.forced, parser);
        }
        self.in_block = 0;
        self.has_integers = false;
    }

    /// Adds each cell of a row to its column.
    fn add_cells(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let (parser, skipped) = (self.options.floats, self.shape.index);
        match row.plain(skipped, self.columns.len()) {
            Some(cells) => {
                for (column, cell) in self.columns.iter_mut().zip(cells) {
                    column.push(cell, parser, row)?;
                }
            }
            None => {
                for (field, column) in (skipped..).zip(&mut self.columns) {
                    // A cell with a quote is not missing, so it does not change the state of a text column.
                    if !(row.surely_contains_quote(field) && column.is_text()) {
                        column.push(&row.content(field), parser, row)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the number of fields of a row, including index columns.
    pub fn width(&self) -> usize {
        self.shape.width
    }

    /// Iterates over the column names. They are unknown before `shape` has been called.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    pub fn finish(&mut self, rows: u64) -> CsvScan {
        if self.in_block > 0 {
            self.end_block();
        }
        let mut all_canonical = true;
        let mut schema = Schema {
            columns: Vec::new(),
            rows,
        };
        let mut columns = Vec::new();
        for column in std::mem::take(&mut self.columns) {
            let joined = column
                .forced
                .map_or_else(|| JoinedType::join(&column.blocks), JoinedType::Forced);
            let is_canonical = match joined {
                JoinedType::Forced(ColumnType::Text) | JoinedType::Forced(ColumnType::Json) => {
                    column.blocks.iter().all(|block| block.is_canonical)
                }
                JoinedType::Forced(_) => column.forced_is_canonical,
                joined => column
                    .blocks
                    .iter()
                    .all(|block| block.is_canonical && joined.preserves(block.kind)),
            };
            all_canonical &= is_canonical;
            let nullable = column.forced_missing || column.blocks.iter().any(|block| block.missing);
            schema.columns.push(ColumnSchema {
                name: column.name,
                kind: joined.column_type(),
                nullable,
            });
            columns.push(ScannedColumn {
                joined,
                blocks: column.blocks.iter().map(|block| block.kind).collect(),
            });
        }
        CsvScan {
            schema,
            is_canonical: all_canonical,
            index_columns: self.shape.index,
            columns,
            block_rows: self.shape.block,
        }
    }
}

impl RowSink for TypeScanner {
    fn header(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        self.written = row.texts();
        self.names = unique_names(self.written.clone());
        Ok(())
    }

    fn shape(&mut self, shape: Shape) -> Result<(), CsvError> {
        self.shape = shape;
        if !self.options.header {
            self.names = (0..shape.width).map(|i| i.to_string()).collect();
        }
        let parser = self.options.floats;
        for (position, name) in std::mem::take(&mut self.names).into_iter().enumerate() {
            // A duplicate name gets a suffix, such as `a.1`. A type requested for `a.1` takes precedence over that of `a`.
            let repeated = self.written.get(position);
            let forced = self
                .requested_type(&name)
                .or_else(|| repeated.and_then(|name| self.requested_type(name)));
            self.columns.push(ColumnScan {
                name,
                forced,
                current: Self::new_inference(forced, parser),
                blocks: Vec::new(),
                forced_missing: false,
                forced_is_canonical: true,
            });
        }
        Ok(())
    }

    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        if !(self.has_integers && row.is_of_integers(self.columns.len())) {
            self.add_cells(row)?;
            // If there are index columns and a row is too short, its fields belong to the index.
            self.has_integers = self.shape.index == 0
                && self.columns.iter().all(ColumnScan::contains_only_integers);
        }
        self.in_block += 1;
        if self.in_block == self.shape.block {
            self.end_block();
        }
        Ok(())
    }
}

impl ColumnScan {
    #[inline]
    fn is_text(&self) -> bool {
        matches!(
            self.forced,
            None | Some(ColumnType::Text | ColumnType::Json)
        ) && self.current.is_text()
    }

    fn contains_only_integers(&self) -> bool {
        self.forced.is_none() && self.current.contains_only_integers()
    }

    // Inlined, because a call for each cell would take as long as the work itself.
    #[inline(always)]
    fn push(&mut self, cell: &[u8], parser: FloatParser, row: &RawRow<'_>) -> Result<(), CsvError> {
        match self.forced {
            None | Some(ColumnType::Text | ColumnType::Json) => self.current.push(cell),
            Some(kind) => self.check_forced(cell, kind, parser, row)?,
        }
        Ok(())
    }

    /// Checks a cell of a column with a requested type.
    #[inline(never)]
    fn check_forced(
        &mut self,
        cell: &[u8],
        kind: ColumnType,
        parser: FloatParser,
        row: &RawRow<'_>,
    ) -> Result<(), CsvError> {
        let Some(value) = value(cell, BlockType::Text, JoinedType::Forced(kind), parser) else {
            return Err(CsvError::ForcedType {
                row: row.number + 1,
                column: self.name.clone(),
                offset: row.offset,
                cell: String::from_utf8_lossy(cell).into_owned(),
                kind,
            });
        };
        let mut formatted = Vec::new();
        value.print(&mut formatted);
        self.forced_missing |= formatted.is_empty();
        self.forced_is_canonical &= formatted == cell;
        Ok(())
    }
}

/// Returns unique names for the fields of a header. An empty field gets the name `Unnamed: <position>`. A repeated name gets
/// a suffix: `.1`, `.2`, ...
///
/// Names in the file take precedence over generated names.
pub(crate) fn unique_names(header: Vec<String>) -> Vec<String> {
    let unnamed: HashSet<usize> = (0..header.len())
        .filter(|i| header[*i].is_empty())
        .collect();
    let mut names: Vec<String> = header
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            if name.is_empty() {
                format!("Unnamed: {i}")
            } else {
                name
            }
        })
        .collect();
    let order = (0..names.len())
        .filter(|i| !unnamed.contains(i))
        .chain((0..names.len()).filter(|i| unnamed.contains(i)))
        .collect::<Vec<_>>();
    // For each name, the number of columns that have it now.
    let mut present: HashMap<String, usize> = HashMap::new();
    for name in &names {
        *present.entry(name.clone()).or_default() += 1;
    }
    // For each name, the suffix of its next occurrence. 0 means no suffix.
    let mut counts: HashMap<String, usize> = HashMap::new();
    for i in order {
        let old = names[i].clone();
        let mut name = old.clone();
        let mut count = counts.get(&name).copied().unwrap_or(0);
        while count > 0 {
            counts.insert(old.clone(), count + 1);
            name = format!("{old}.{count}");
            if present.get(&name).copied().unwrap_or(0) > 0 {
                count += 1;
            } else {
                count = counts.get(&name).copied().unwrap_or(0);
            }
        }
        if name != old {
            if let Some(n) = present.get_mut(&old) {
                *n -= 1;
            }
            *present.entry(name.clone()).or_default() += 1;
            names[i] = name.clone();
        }
        counts.insert(name, count + 1);
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A scanner that never skips a row of integers.
    struct OneByOne(TypeScanner);

    impl RowSink for OneByOne {
        fn header(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
            self.0.header(row)
        }

        fn shape(&mut self, shape: Shape) -> Result<(), CsvError> {
            self.0.shape(shape)
        }

        fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
            self.0.has_integers = false;
            self.0.row(row)
        }
    }

    proptest! {
        #[test]
        fn fast_path_for_integers_does_not_change_the_result(
            rows in prop::collection::vec("[1-9][0-9]{0,19},[0-9];?[0-9],(0|[1-9][0-9]{0,5})\n", 0..20),
            odd in "([0-9]{0,20}|-?[0-9]{1,3}|0[0-9]|a|1\\.5|\"7\")(,[0-9]{1,3}){0,2}(,[0-9]{0,19})?\n",
            at in 0..20usize,
            header in prop::sample::select(&["a,b,c", "b,c", "c"][..]),
            delimiter in prop::sample::select(&b",;0"[..]),
        ) {
            let mut text = rows;
            text.insert(at.min(text.len()), odd);
            let text = format!("{header}\n{}", text.concat());
            let options = ReadOptions { delimiter, ..ReadOptions::default() };
            let (mut quick, mut slow) = (TypeScanner::new(&options), OneByOne(TypeScanner::new(&options)));
            let quickly = RowReader::new(&options).read(text.as_bytes(), &mut quick, |_| false);
            let slowly = RowReader::new(&options).read(text.as_bytes(), &mut slow, |_| false);
            prop_assert_eq!(format!("{quickly:?}"), format!("{slowly:?}"));
            let (quick, slow) = (quick.finish(7), slow.0.finish(7));
            prop_assert_eq!(format!("{quick:?}"), format!("{slow:?}"));
        }
    }
}
