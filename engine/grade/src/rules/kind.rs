//! The trait that rules implement, and the description of a kind of rule.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::refusal::{Refusal, RowPolicy};
use crate::spec::definition::Definition;
use crate::table::pair::Pair;

/// A rule with its parameters.
pub trait Rule: fmt::Debug + Send + Sync {
    /// Checks the submission, and prepares both tables for the next rules. An error is a mistake of the submission's author.
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal>;

    /// Returns whether the rule checks only names of columns and numbers of rows, and changes neither table.
    fn is_about_shape(&self) -> bool {
        false
    }

    /// Returns whether the columns of the rule are identifiers that both tables need.
    fn identifies_rows(&self) -> bool {
        false
    }

    /// Returns whether the rule drops rows of the answers because of their cells. These rows do not count for the score.
    fn drops_answers(&self) -> bool {
        false
    }

    /// Returns the effect of the rule on the number of rows.
    fn rows(&self) -> RowPolicy {
        match self.is_about_shape() {
            true => RowPolicy::Kept,
            false => RowPolicy::Any,
        }
    }
}

/// A kind of rule: its description and parser.
#[derive(Debug)]
pub struct RuleKind {
    /// Name, documentation and parameters.
    pub definition: Definition,
    pub(crate) parse: fn(Value) -> Result<Box<dyn Rule>, serde_json::Error>,
}

impl RuleKind {
    pub(super) const fn new<R: Rule + DeserializeOwned + 'static>(definition: Definition) -> Self {
        RuleKind {
            definition,
            parse: |value| Ok(Box::new(serde_json::from_value::<R>(value)?)),
        }
    }
}
