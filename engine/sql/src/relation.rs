//! A table as queries see it.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

/// Why a table could not be read while a query ran.
pub type ScanError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A column's name and the type in which queries compute with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    pub name: String,
    pub data_type: DataType,
    /// Not part of `*`.
    pub hidden: bool,
}

/// Columns of consecutive rows, one array per requested column, all of `rows` length.
#[derive(Debug)]
pub struct Values {
    pub rows: usize,
    pub columns: Vec<ArrayRef>,
}

/// An ordered table that can be scanned in row order.
///
/// Implementations read lazily: only the requested columns, batch by batch, so that memory does not grow with the table.
pub trait Relation: Debug + Send + Sync {
    fn columns(&self) -> &[RelationColumn];

    fn rows(&self) -> u64;

    /// Can a writer copy the cells of this column by origin? If not, it is read as values.
    fn has_cells(&self, column: usize) -> bool;

    /// The values of `columns` (positions in [`Relation::columns`]) for all rows, in order, in batches of about
    /// `batch` rows, typed as declared. Missing values are null.
    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send>;

    /// The same values in whatever order is fastest: for queries whose result does not depend on it.
    fn scan_unordered(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send> {
        self.scan(columns, batch)
    }

    /// For `len` rows from `first`, the number that the cell writer needs to find a row's cells again: the row of the
    /// stored table behind this one.
    fn origins(&self, first: u64, len: usize) -> Vec<u64>;
}
