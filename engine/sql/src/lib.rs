//! Runs the SQL queries of a pipeline in DataFusion. No other crate depends on DataFusion.
//!
//! Two rewrites of the logical plan adapt SQL to pipelines:
//!
//! * `order`: SQL tables have no row order, but published files must have the row order of pandas. Therefore every
//!   table has the hidden column `_row`, and the rows of a query are sorted by the rows of its tables in FROM, the
//!   first table first. The rewrite carries `_row` through the plan and sorts by it where a join loses the order. A
//!   query whose row order is not determined is an error when the pipeline is loaded, not a wrong checksum later.
//! * `usage`: most columns of a pipeline are only copied. A column that a query passes on without computing with it is
//!   *opaque*. The query is planned a second time with each opaque column replaced by its *origins*, the numbers of the
//!   stored rows. DataFusion then joins and filters integers, and the writer copies the bytes of the cells. All other
//!   columns are read as typed values.
//!
//! ```text
//! relation   a table as queries see it (trait)         session    DataFusion, configured once
//! provider   relation -> DataFusion table              wildcard   `*` without hidden columns
//! plan       text -> logical plan, both rewrites       run        plan -> stream of batches
//! calls      clauses that a function does not accept   types      no implicit conversion of text and numbers
//! constants  errors in constant expressions            collapse   columns that no query names, planned as one
//! replace    unknown columns in `* REPLACE`            mismatch   DataFusion's type errors in SQL words
//! integers   64-bit results of all functions           functions  one file per function
//! check      all queries of a pipeline, when loaded    physical   operators and their memory
//! rewrite    logical rules for values and memory       failing    the row at which a query failed
//! limits     memory limit and cancellation             spill      temporary files
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
//! use prep_sql::{QueryLimits, Relation, RelationBatch, RelationColumn, ScanError, Session};
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
//!     fn has_cells(&self, _column: usize) -> bool {
//!         false
//!     }
//!     fn scan(
//!         self: Arc<Self>,
//!         columns: Vec<usize>,
//!         _batch: usize,
//!     ) -> Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send> {
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
//! let mut rows = session.values(&query, tables, &QueryLimits::with_memory(64 << 20)).await?;
//! let batch = rows.next().await?.ok_or("no rows")?;
//! assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod calls;
mod check;
mod collapse;
mod constants;
mod error;
mod failing;
mod functions;
mod integers;
mod limits;
mod mismatch;
mod order;
mod physical;
mod plan;
mod provider;
mod relation;
mod replace;
mod rewrite;
mod run;
mod session;
mod spill;
mod types;
mod usage;
mod wildcard;

pub use check::{check, check_before_files, known_columns};
pub use error::{QueryError, RelationError};
pub use limits::QueryLimits;
pub use relation::{Relation, RelationBatch, RelationColumn, ScanError};
pub use run::{ColumnSource, QueryRows, ResultColumn};
pub use session::Session;

/// Name of the hidden column that contains an entire row: the record of a JSON table, or the entry of an array.
pub const RECORD_COLUMN: &str = "record";
/// Name of the column that contains the values of a one-dimensional array.
pub const VALUE_COLUMN: &str = "value";
