//! The kinds of steps, and how a pipeline becomes a graph of them.
//!
//! ```text
//! build      a pipeline -> steps and the edges between them
//! members    which members of its bundle a pipeline reads
//! limits     what foreign bytes may demand
//! placed     failures with their place in the pipeline
//! value/     what flows between steps: files, trees (path -> content), tables (ordered rows)
//! relation/  tables as queries read them
//! emit/      rows of a query -> CSV, JSON, parquet, stored table
//! kinds/     one file per kind of step: tables, outputs and splits with their form in the language
//! ```
//!
//! Bytes move once: a member of an archive is a *content reference* ([`value::Content`]), not an extracted file. A tree
//! is a listing of such references, a table is canonical text plus the positions of its rows, and only the kinds that
//! make an output (`files`, `pack`, `csv` ... and `publish`) move bytes.

mod build;
mod description;
mod emit;
mod in_order;
mod kinds;
mod limits;
mod members;
mod placed;
mod relation;
pub mod value;

pub use build::{BuildError, Checksums, Sources, Surroundings, build};
pub use kinds::{
    Expand, Manifest, ManifestError, PublishedOutput, Settled, distrust, is_of_writer, note_origin,
    settle, vocabulary,
};
pub use members::members;
pub use placed::PlacedError;
