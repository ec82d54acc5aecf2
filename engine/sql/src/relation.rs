//! The interface of tables that queries read.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

/// Name of the hidden column with a row's position, from 0.
pub(crate) const ROW: &str = "_row";

/// Tables by the name that the query uses for them.
pub(crate) type Tables = BTreeMap<String, Arc<dyn Relation>>;

/// The error from a relation that could not be read while a query ran.
pub type ScanError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The name of a column, and the type of its values in queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// The name in queries.
    pub name: String,
    /// The Arrow type of the values.
    pub data_type: DataType,
    /// True if `*` does not include the column.
    pub hidden: bool,
}

/// Consecutive rows: one array per requested column, each with `rows` elements.
#[derive(Debug)]
pub struct RelationBatch {
    /// Number of rows.
    pub rows: usize,
    /// The requested columns, in the order of the request.
    pub columns: Vec<ArrayRef>,
}

/// An ordered table that can be scanned in row order.
///
/// Implementations must read lazily: batch by batch, and only the requested columns. So memory does not grow with the
/// table.
pub trait Relation: Debug + Send + Sync {
    /// Returns the columns, without `_row`.
    fn columns(&self) -> &[RelationColumn];

    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns whether a writer can copy the cells of `column`, given their [`origins`](Relation::origins). Otherwise
    /// queries read the column as values.
    fn has_cells(&self, column: usize) -> bool;

    /// Returns the values of `columns` (positions in [`Relation::columns`]) for all rows, in order, in batches of about
    /// `batch` rows. The arrays have the types in [`RelationColumn::data_type`], with nulls for missing values.
    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send>;

    /// Returns the same rows as [`Relation::scan`], but in the fastest order, for queries whose result does not depend on
    /// the row order.
    fn scan_unordered(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send> {
        self.scan(columns, batch)
    }

    /// Returns the origins of the `len` rows that begin with row `first`. The origin of a row is the number of the row
    /// in the stored table, from which a writer can copy the row's cells.
    fn origins(&self, first: u64, len: usize) -> Vec<u64>;
}
