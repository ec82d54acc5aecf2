//! A kind of table or output: its keys in the language, and the function that builds its step.

use prep_core::Step;
use prep_spec::model::Declaration;
use prep_spec::words::KindSpec;
use prep_sql::Session;

/// A kind of table or output.
pub(crate) struct StepKind {
    pub form: KindSpec,
    /// Returns the step of a declaration. `None` if the declaration lacks a required key.
    pub step: fn(&Declaration, &Session) -> Option<Box<dyn Step>>,
}
