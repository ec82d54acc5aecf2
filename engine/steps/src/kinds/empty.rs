//! `empty`: a folder without files.

use prep_core::{Context, Inputs, Outputs, Step, StepError};

use super::one;
use crate::value::{Tree, TreeEntry};

pub(crate) struct Empty;

impl Step for Empty {
    fn kind(&self) -> &'static str {
        "empty"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn run(&self, context: &Context, _inputs: &Inputs) -> Result<Outputs, StepError> {
        let folder = TreeEntry {
            path: String::new(),
            content: None,
        };
        Ok(one(Tree::new(vec![folder])
            .map_err(StepError::internal)?
            .save(context)?))
    }
}
