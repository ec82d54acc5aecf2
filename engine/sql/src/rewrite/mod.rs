//! What the engine would compute otherwise, or in a larger space.
//!
//! * `values`: whole numbers that are beyond 64 bits are an error, not another number; calls whose result grows with a value
//!   are bounded.
//! * `distinct`: `INTERSECT` and `EXCEPT` look up first and drop what is equal then.
//! * `totals`: a condition stays above an aggregate of all rows.
//! * `not_in`: `NOT IN` holds the smaller side, as other joins do.

mod distinct;
mod not_in;
mod totals;
mod values;

use std::sync::Arc;

use datafusion::optimizer::analyzer::Analyzer;
use datafusion::optimizer::{AnalyzerRule, Optimizer, OptimizerRule};

pub(crate) use values::checked_form;

/// DataFusion's analysis, then this module's, which relies on its types.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.push(Arc::new(values::CheckValues));
    rules
}

/// This module's rules, then DataFusion's.
pub(crate) fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    // Once conditions of subqueries are joins with keys.
    let after = rules
        .iter()
        .position(|rule| rule.name() == "extract_equijoin_predicate")
        .map_or(rules.len(), |place| place + 1);
    rules.insert(after, Arc::new(not_in::CountMissing));
    let before = rules
        .iter()
        .position(|rule| rule.name() == "push_down_filter")
        .unwrap_or(rules.len());
    rules.insert(before, Arc::new(totals::KeepConditionsAbove));
    rules.insert(0, Arc::new(distinct::LookUpFirst));
    rules
}
