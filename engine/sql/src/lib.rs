//! Runs the SQL queries of a pipeline with DataFusion's operators. No other crate depends on DataFusion.
//!
//! SQL tables have no row order, but published files must have the row order that pandas would produce. Therefore this
//! crate plans queries itself, and DataFusion only executes the plan:
//!
//! ```text
//! syntax tree ─► bind ─► relational plan ─► lower ─► DataFusion's operators ─► run
//!                        with its order              proven to be in order
//! ```
//!
//! * Every table has the hidden column `_row`, the number of a row. Each operator of the relational plan states the order
//!   of its rows.
//! * A query whose row order is not determined is an error when the pipeline is loaded.
//! * Columns that a query only copies are not read. Instead, DataFusion processes the *origin* of each row, which is
//!   the number of a row of the stored table. Later, the writer copies the bytes of the cells from the stored row.
//! * All other columns are read as typed values.
//!
//! ```text
//! check        all queries of a pipeline, when it is loaded
//! relation     a table as queries read it (trait)
//! unpivot      columns as rows, without a query
//! bind/        syntax tree -> relational plan: names, types, subqueries
//! relational/  the relational plan: operators, expressions, order
//! lower/       relational plan -> operators of DataFusion and of this crate
//! physical/    the operators of this crate
//! proof        the row order of the operators that run
//! functions/   one file per function or group of functions
//! limits/      memory limit, temporary files and cancellation
//! session, run operators -> stream of batches
//! number       queries over tables in memory that return one number
//! ```
//!
//! # Examples
//!
//! A query over a table in memory. In `prep`, relations read files in the cache.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use arrow::array::{ArrayRef, AsArray, Int64Array};
//! use arrow::datatypes::{DataType, Int64Type};
//! use prep_spec::model::Query;
//! use prep_sql::{
//!     QueryLimits, Relation, RelationBatch, RelationBatches, RelationColumn, RowForm, Session,
//! };
//!
//! #[derive(Debug)]
//! struct Numbers(Vec<RelationColumn>);
//!
//! impl Relation for Numbers {
//!     fn columns(&self) -> &[RelationColumn] {
//!         &self.0
//!     }
//!     fn rows(&self) -> u64 {
//!         3
//!     }
//!     fn scan(
//!         self: Arc<Self>,
//!         columns: Vec<usize>,
//!         _batch: usize,
//!     ) -> RelationBatches {
//!         let array: ArrayRef = Arc::new(Int64Array::from(vec![3, 1, 2]));
//!         let columns = columns.iter().map(|_| array.clone()).collect();
//!         Box::new(std::iter::once(Ok(RelationBatch { rows: 3, columns })))
//!     }
//!     fn origins(&self, first: u64, len: usize) -> Vec<u64> {
//!         (first..first + len as u64).collect()
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let n = RelationColumn { name: "n".to_owned(), data_type: DataType::Int64, hidden: false };
//! let table: Arc<dyn Relation> = Arc::new(Numbers(vec![n]));
//! let tables = BTreeMap::from([("t".to_owned(), table)]);
//! let query = Query::parse("SELECT n FROM t ORDER BY n")?;
//! let session = Session::new(Path::new("/tmp"));
//! let limits = QueryLimits::with_memory(64 << 20);
//! let mut rows = session.start(&query, tables, RowForm::Values, &limits)?;
//! let batch = rows.next().await?.ok_or("no rows")?;
//! assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod bind;
mod check;
mod error;
mod functions;
mod limits;
mod lower;
mod members;
mod number;
mod physical;
mod proof;
mod relation;
mod relational;
mod run;
mod session;
mod trace;
mod unpivot;

pub use check::{
    CheckedQueries, PUBLISHED, check, check_before_files, known_columns, type_name,
    unwritable_column, unwritable_type,
};
pub use error::{QueryError, RelationError};
pub use functions::strptime::{TimeError, times, unknown_directive};
pub use limits::QueryLimits;
pub use members::{AbsentMember, absent_members};
pub use number::{ArrayTable, NumberError, check_number, number};
pub use relation::{Relation, RelationBatch, RelationBatches, RelationColumn, ScanError};
pub use run::{ColumnSource, QueryRows, ResultColumn, RowForm};
pub use session::Session;
pub use unpivot::Unpivot;

/// Name of the hidden column with an entire row: a record of a JSON table, or an entry of an array.
pub const RECORD_COLUMN: &str = "record";
/// Name of the column that contains the values of a one-dimensional array.
pub const VALUE_COLUMN: &str = "value";
