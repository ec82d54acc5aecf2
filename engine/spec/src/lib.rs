//! The pipeline language: parses the YAML file of a pipeline, including its SQL queries, into a checked [`Pipeline`].
//!
//! [`load`] reports all errors of a file at once, each with its position and, if possible, a suggestion. [`read`] returns a
//! [`ParsedFile`], to which callers can add the errors of further checks.
//!
//! - `text`: parses YAML into nodes with positions, and prints diagnostics;
//! - `load`: creates the variants of the pipeline, each by merging some of the file's corrections into the nodes;
//! - `parse`: converts the nodes into the [`model`], and checks the dependencies between tables;
//! - [`words`]: the vocabulary, which describes the keys of the language;
//! - [`query`]: parses SQL into a syntax tree, expands macros, and finds the tables that a query reads;
//! - `paths`: checks paths and file patterns;
//! - `pack`: parses the ids of competitions, and the file `pack.yaml`, which describes a directory of competitions;
//! - [`schema`] and [`mod@reference`]: generate a JSON Schema and a reference page from the vocabulary.
//!
//! # Example
//!
//! ```
//! use prep_spec::{Vocabulary, load};
//! let vocabulary = Vocabulary { tables: Vec::new(), outputs: Vec::new() };
//! let text = "name: Taxis\ncategory: Tabular\nbundle: { kaggle: taxis }\nlist: { a: [x] }\n";
//! let errors = load(&vocabulary, "taxis", "pipeline.yaml", text, "v1").unwrap_err();
//! assert!(errors.to_string().starts_with("pipeline.yaml:4:1: error: "));
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod load;
pub mod model;
mod pack;
mod parse;
mod paths;
pub mod query;
mod variant;
pub mod words;

mod text {
    //! The text of a pipeline file: YAML with positions, and diagnostics that refer to positions.

    pub mod align;
    pub mod diagnostic;
    pub mod short;
    pub mod suggest;
    pub mod yaml;
}

pub use load::{ParsedFile, corrections, load, load_checked, query_pipeline, read, variants};
pub use model::{Pipeline, Reading};
pub use pack::{
    BUILT_IN_PACK, CompetitionFacts, CompetitionId, Day, Pack, PackLayout, check_pack_name,
    read_pack,
};
pub use paths::{FILE_COLUMNS, FilePattern, path_glob, path_part, split_source, without_extension};
pub use query::{RESERVED_ROW, is_row};
pub use text::diagnostic::{self, Diagnostic, Diagnostics, Severity, SourceFile, Span};
pub use text::short::{joined, one_line, shortened};
pub use text::suggest::{
    alternatives, construct, decimal_comma, is_typing_error, list_names, nearest,
};
pub use text::yaml::{self, help_if_cut};
pub use variant::{
    BASE_VARIANT, Corrections, known_variants, variant_directory, variant_of_directory,
};
pub use words::{Vocabulary, reference, schema};
