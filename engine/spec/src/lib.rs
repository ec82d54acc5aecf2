//! The pipeline language: text to a checked [`Pipeline`].
//!
//! A pipeline is a YAML file with SQL in it. [`load`] parses it, resolves every name and checks every rule that can
//! be checked without data; all findings of a file come at once, each with its place and, where there is one, a way
//! out. [`read`] does the same and returns a [`Draft`], to which others add what they find (queries that cannot be
//! planned, a metric that does not exist) before it is a pipeline. The modules, in the order in which a text passes
//! them:
//!
//! - `yaml`: the YAML parser behind a tree of nodes that know their places;
//! - `merge`: the differences of a variant, laid over the tree;
//! - `parse`: nodes to the [`model`], by the vocabulary in [`words`] and the kinds that are passed in;
//! - `query`: SQL, its macros, and the tables that it reads;
//! - `links`: how tables hang together.
//!
//! [`schema`] and [`mod@reference`] print the vocabulary for editors and for people.

#![forbid(unsafe_code)]

mod align;
mod context;
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
mod query;
pub mod reference;
pub mod schema;
mod suggest;
pub mod words;
mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
pub use draft::{Draft, Reading};
pub use load::{BASE_VARIANT, known_variants, load, read, variants};
pub use model::Pipeline;
pub use paths::split_source;
pub use suggest::{alternatives, listed, nearest};
pub use words::Vocabulary;
