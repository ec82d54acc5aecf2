//! `list`: the files of a tree that a pattern names, as a table.
//!
//! `*` and `?` stay within a path segment, `**` does not. Hidden files count. Rows are sorted by path in code-point order.

use globset::GlobBuilder;
use prep_core::{Context, Inputs, Outputs, Step, StepError};

use super::one;
use crate::relation::listing_schema;
use crate::value::{TableValue, Tree, TreeEntry, input};

pub(crate) struct List {
    pub pattern: String,
}

impl Step for List {
    fn kind(&self) -> &'static str {
        "list"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "pattern": self.pattern })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let glob = GlobBuilder::new(&self.pattern)
            .literal_separator(true)
            .backslash_escape(false)
            .build();
        let matcher = glob.map_err(StepError::pipeline)?.compile_matcher();
        let tree = Tree::load(context, input(inputs, "tree")?)?;
        let chosen: Vec<TreeEntry> = tree
            .entries()
            .iter()
            .filter(|entry| entry.content.is_some() && matcher.is_match(&entry.path))
            .cloned()
            .collect();
        let rows = chosen.len() as u64;
        let listing = Tree::new(chosen).map_err(StepError::internal)?;
        let (object, needs) = listing.save_listing(context)?;
        Ok(one(TableValue::of_listing(
            listing_schema(rows),
            object,
            needs,
        )
        .into_value()))
    }
}
