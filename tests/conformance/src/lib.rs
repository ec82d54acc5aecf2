//! Tests whether implementations of the engine's traits give the guarantees that the engine relies on.
//!
//! Call these functions in the tests of your own [`Step`](prep_core::Step), [`Source`](prep_core::Source),
//! [`Sink`](prep_core::Sink) or [`Tier`](prep_cache::Tier):
//!
//! ```text
//! step         check_step      equal inputs give equal outputs, under any limits
//! source       check_source    the state of a source stores nothing, and agrees with the content
//! sink         check_sink      the target is current only after a complete run
//! tier         check_tier      other machines find results, and nobody uses damaged bytes
//! environment  contexts with empty caches
//! violation    a guarantee that an implementation does not give
//! ```
//!
//! Each function returns the first [`Violation`] that it finds.
//!
//! # Example
//!
//! ```
//! use prep_conformance::check_step;
//! use prep_core::{Context, Inputs, Outputs, Step, StepError, Value};
//!
//! struct Upper;
//!
//! impl Step for Upper {
//!     fn kind(&self) -> &'static str {
//!         "upper"
//!     }
//!     fn version(&self) -> u32 {
//!         1
//!     }
//!     fn params(&self) -> serde_json::Value {
//!         serde_json::Value::Null
//!     }
//!     fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
//!         context.check()?;
//!         let text = inputs["text"].body.as_str().unwrap_or_default().to_uppercase();
//!         let object = context.store.put(text.as_bytes())?;
//!         Ok(Outputs::from([("text".to_owned(), Value::new(text.into(), vec![object]))]))
//!     }
//! }
//!
//! # fn main() -> Result<(), prep_conformance::Violation> {
//! check_step(&Upper, |_| Ok(Inputs::from([("text".to_owned(), Value::new("word".into(), Vec::new()))])))
//! # }
//! ```

#![warn(missing_docs)]

mod environment;
mod sink;
mod source;
mod step;
mod tier;
mod violation;

pub use sink::{SinkCase, check_sink};
pub use source::{SourceCase, check_source};
pub use step::check_step;
pub use tier::{TierCase, check_tier};
pub use violation::Violation;
