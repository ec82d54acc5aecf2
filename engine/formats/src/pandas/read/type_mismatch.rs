//! Finds the cell that prevents a column from having the required type, for an error message.

use std::io::Read;

use crate::pandas::read::rows::{RawRow, RowReader, RowSink, Shape};
use crate::pandas::read::scan::unique_names;
use crate::pandas::types::infer::Inference;
use crate::pandas::types::join::JoinedType;
use crate::pandas::{ColumnType, CsvError, ReadOptions};

/// A cell that does not have the required type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeMismatch {
    /// The row, counted from 1 without the header.
    pub row: u64,
    /// Offset of the row in the file, in bytes.
    pub offset: u64,
    /// Content of the cell.
    pub cell: String,
    /// Whether pandas treats the cell as missing.
    pub missing: bool,
}

/// Reads a file again and returns the first cell of `column` whose type does not satisfy `fits`.
///
/// Returns `None` if each cell alone satisfies `fits` (only the mixture does not), or if the column does not exist.
///
/// # Errors
/// Same as [`CsvScanner`](crate::pandas::CsvScanner), for the part of the file before the cell.
pub fn first_type_mismatch(
    input: impl Read,
    options: &ReadOptions,
    column: &str,
    fits: impl Fn(ColumnType) -> bool,
) -> Result<Option<TypeMismatch>, CsvError> {
    let mut rows = RowReader::new(options);
    let mut search = Search {
        options,
        column,
        fits,
        field: None,
        index: 0,
        found: None,
    };
    rows.read(input, &mut search, |search| search.found.is_some())?;
    Ok(search.found)
}

/// The state of the search.
struct Search<'a, F> {
    options: &'a ReadOptions,
    column: &'a str,
    fits: F,
    /// Index of the column among the named columns.
    field: Option<usize>,
    /// Number of unnamed columns before the named ones.
    index: usize,
    found: Option<TypeMismatch>,
}

impl<F: Fn(ColumnType) -> bool> RowSink for Search<'_, F> {
    fn header(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let names = unique_names(row.texts());
        self.field = names.iter().position(|name| name == self.column);
        Ok(())
    }

    fn shape(&mut self, shape: Shape) -> Result<(), CsvError> {
        self.index = shape.index;
        if !self.options.header {
            self.field = self.column.parse().ok();
        }
        Ok(())
    }

    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let (None, Some(field)) = (&self.found, self.field) else {
            return Ok(());
        };
        let cell = row.content(field + self.index);
        let mut alone = Inference::new(self.options.floats);
        alone.push(&cell);
        let block = alone.finish();
        if !(self.fits)(JoinedType::join(&[block]).column_type()) {
            self.found = Some(TypeMismatch {
                row: row.number + 1,
                offset: row.offset,
                cell: String::from_utf8_lossy(&cell).into_owned(),
                missing: block.missing,
            });
        }
        Ok(())
    }
}
