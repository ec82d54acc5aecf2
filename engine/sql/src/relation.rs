//! Defines tables as queries read them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

/// Name of the hidden column with the number of each row, from 0.
pub(crate) const ROW: &str = "_row";

/// Tables by their name in the query.
pub(crate) type Tables = BTreeMap<String, Arc<dyn Relation>>;

/// The error of a relation that could not be read.
pub type ScanError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A column with the type of its values in queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// The name in queries.
    pub name: String,
    /// The Arrow type of the values.
    pub data_type: DataType,
    /// Whether `*` leaves the column out.
    pub hidden: bool,
}

/// Consecutive rows of a relation.
#[derive(Debug)]
pub struct RelationBatch {
    /// Number of rows.
    pub rows: usize,
    /// The requested columns in the order of the request, each with `rows` elements.
    pub columns: Vec<ArrayRef>,
}

/// The batches of a scan.
pub type RelationBatches = Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send>;

/// An ordered table that queries scan. Implementations must read batch by batch, to limit memory.
pub trait Relation: Debug + Send + Sync {
    /// Returns the columns without `_row`.
    fn columns(&self) -> &[RelationColumn];

    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns whether a writer can copy the cells of `column`. Queries read other columns as values.
    fn has_cells(&self, _column: usize) -> bool {
        false
    }

    /// Returns whether the cells of `column` may be printed differently from its values, for example `1.0` for the text `1.00`.
    /// If a query passes on such a column, the cells are copied, even if the query also computes with the values.
    fn prints_cells(&self, _column: usize) -> bool {
        false
    }

    /// Returns the values of `columns` in row order, in batches of about `batch` rows.
    ///
    /// `columns` are indices of [`Relation::columns`], which also states the types of the arrays. Missing values are null.
    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches;

    /// Same as [`Relation::scan`], but the rows may come in any order, if this is faster.
    fn scan_unordered(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        self.scan(columns, batch)
    }

    /// Returns the origin of each of `len` rows, starting with the row `first`. The origin of a row is the index of
    /// the stored row from which the writer copies the cells.
    fn origins(&self, first: u64, len: usize) -> Vec<u64>;
}
