//! Rules for logical plans that change how DataFusion computes values or uses memory.
//!
//! * `values`: integers beyond 64 bits are an error instead of a wrapped number. Calls whose result grows with a value
//!   are bounded.
//! * `distinct`: INTERSECT and EXCEPT look up first and remove duplicates afterwards.
//! * `totals`: a condition stays above an aggregate of all rows.
//! * `equalities`: no order is derived from a condition that compares a column with an expression.
//! * `not_in`: `NOT IN` keeps its smaller side in memory, as other joins do.

mod distinct;
mod equalities;
mod not_in;
mod totals;
mod values;

use std::sync::Arc;

use datafusion::optimizer::analyzer::Analyzer;
use datafusion::optimizer::{AnalyzerRule, Optimizer, OptimizerRule};

pub(crate) use values::checked_form;

/// DataFusion's analyzer rules, followed by those of this module, which rely on the types that DataFusion's rules set.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.push(Arc::new(values::CheckValues));
    rules
}

/// DataFusion's optimizer rules with those of this module at their places.
pub(crate) fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    // After this rule, conditions of subqueries have become joins with keys.
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
    rules.push(Arc::new(equalities::HideEqualities));
    rules
}
