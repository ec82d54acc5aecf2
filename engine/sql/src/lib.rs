//! Queries: the only crate that sees DataFusion.
//!
//! SQL has no row order; pipelines need one, since upstream's bytes follow pandas' order. And SQL engines read columns as
//! values, while most of a preparation only moves text about. Two transformations of the logical plan settle both:
//!
//! * `order`: every table has the hidden column `_row`. The rows of a query come in the order of its tables in FROM, the
//!   first table first; the plan is rewritten so that this order is carried along and sorted by where joins lose it. A
//!   query whose order is not determined is refused, when the pipeline is loaded, not discovered in a checksum.
//! * `usage`: a column that a query only passes on is *opaque* to it. The query is planned a second time with such
//!   columns replaced by the number of the row they come from, so the engine joins and filters row numbers, and the
//!   writer copies the cells' bytes. What is computed with is read as typed values.
//!
//! ```text
//! relation   a table as queries see it (trait)         session    DataFusion, set up once
//! provider   relation -> DataFusion table              wildcard   `*` without `_row`
//! plan       text -> logical plan, both rewrites       run        plan -> stream of batches
//! calls      functions and clauses that fit them       types      text and numbers do not meet
//! constants  what cannot be computed, found at load    collapse   columns that a query does not name, as one
//! replace    `* REPLACE` of columns that there are     mismatch   the planner's words for types, in the language's
//! integers   whole numbers of 64 bits
//! check      all queries of a pipeline, at load time   functions  one file per function
//! rewrite    what the engine would compute otherwise   physical   operators and their memory
//! grant      what a running query may use          failing    the row at which a query failed
//! spill      files for what it has no memory for
//! ```

mod calls;
mod check;
mod collapse;
mod constants;
mod error;
mod failing;
mod functions;
mod grant;
mod integers;
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

pub use check::check;
pub use error::{Cause, QueryError};
pub use grant::Grant;
pub use relation::{Relation, RelationColumn, ScanError, Values};
pub use run::{ColumnSource, ResultColumn, Rows};
pub use session::Session;

/// Name of the hidden column that holds a row as a whole: the record of a JSON table, the entry of an array.
pub const RECORD: &str = "record";
/// Name of the column with the values of an array of one axis.
pub const VALUE: &str = "value";
