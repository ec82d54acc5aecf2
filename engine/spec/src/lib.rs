//! The pipeline language: parses a text into a checked [`Pipeline`].
//!
//! A pipeline is a YAML file that contains SQL. [`load`] parses it, resolves all names, and checks all rules that need
//! no data. It reports all errors of a file at once, each with its position and, if possible, a suggestion. [`read`]
//! does the same but returns a [`ParsedFile`], to which other checks can add errors (queries that cannot be planned,
//! unknown metrics) before it becomes a pipeline. The modules process a text in this order:
//!
//! - `yaml`: the YAML parser, which returns a tree of nodes with positions;
//! - `merge`: applies the differences of a variant to the tree;
//! - `parse`: converts nodes into the [`model`], using the vocabulary in [`words`] and the kinds that the caller
//!   passes;
//! - `query`: parses SQL, expands its macros, and finds the tables that it reads;
//! - `links`: checks the dependencies between tables.
//!
//! [`schema`] and [`mod@reference`] generate a JSON Schema and a reference page from the vocabulary.
//!
//! # Example
//!
//! ```
//! use prep_spec::{Vocabulary, load};
//! let vocabulary = Vocabulary { tables: Vec::new(), outputs: Vec::new() };
//! let text = "name: Taxis\ncategory: Tabular\nbundle: { kaggle: taxis }\nlists: { a: [x] }\n";
//! let errors = load(&vocabulary, "taxis", "pipeline.yaml", text, "v1").unwrap_err();
//! assert!(errors.to_string().starts_with("pipeline.yaml:4:10: error: "));
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod align;
mod declaration;
pub mod diagnostic;
mod draft;
mod json;
mod links;
mod load;
mod merge;
pub mod model;
mod parse;
mod paths;
mod pattern;
mod query;
mod query_pipeline;
pub mod reference;
pub mod schema;
mod state;
mod suggest;
mod synonyms;
mod variant;
pub mod words;
mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
pub use draft::{ParsedFile, Reading};
pub use load::{corrections, load, read, variants};
pub use model::Pipeline;
pub use paths::split_source;
pub use pattern::{FILE_COLUMNS, FilePattern};
pub use query_pipeline::query_pipeline;
pub use suggest::{alternatives, list_names, nearest};
pub use synonyms::construct;
pub use variant::{
    BASE_VARIANT, Corrections, known_variants, variant_directory, variant_of_directory,
};
pub use words::Vocabulary;
