//! Rules for logical plans that change how DataFusion computes values or uses memory.
//!
//! * `values`: integer results beyond 64 bits are an error instead of a wrapped number. Calls whose result size depends
//!   on a value are bounded.
//! * `distinct`: INTERSECT and EXCEPT look up rows first and remove duplicates afterwards.
//! * `totals`: a condition above an aggregate of all rows is not moved below it.
//! * `equalities`: no order is derived from a condition that compares a column with an expression.
//! * `not_in`: `NOT IN` keeps its smaller side in memory, as other joins do.

mod distinct;
mod equalities;
mod not_in;
mod totals;
mod values;

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::analyzer::Analyzer;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

pub(crate) use values::checked_form;

/// An optimizer rule that needs only the plan.
struct LogicalRule {
    name: &'static str,
    /// The order in which DataFusion applies the rule to the nodes of a plan. `None` if the rule does this itself.
    order: Option<ApplyOrder>,
    rewrite: fn(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
}

impl fmt::Debug for LogicalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl OptimizerRule for LogicalRule {
    fn name(&self) -> &str {
        self.name
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.order
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        (self.rewrite)(plan)
    }
}

/// Returns DataFusion's analyzer rules, followed by the rules of this module, which rely on the types that DataFusion's
/// rules set.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.push(Arc::new(values::CheckValues));
    rules
}

/// Returns DataFusion's optimizer rules with the rules of this module inserted.
pub(crate) fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    // After this rule has run, conditions of subqueries are joins with keys.
    let after = rules
        .iter()
        .position(|rule| rule.name() == "extract_equijoin_predicate")
        .map_or(rules.len(), |place| place + 1);
    rules.insert(after, Arc::new(not_in::COUNT_MISSING));
    let before = rules
        .iter()
        .position(|rule| rule.name() == "push_down_filter")
        .unwrap_or(rules.len());
    rules.insert(before, Arc::new(totals::KEEP_CONDITIONS_ABOVE));
    rules.insert(0, Arc::new(distinct::LOOK_UP_FIRST));
    rules.push(Arc::new(equalities::HIDE_EQUALITIES));
    rules
}
