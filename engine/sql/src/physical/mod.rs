//! Rules and operators that this crate adds to DataFusion's physical plans.
//!
//! * `operator`: the parts that all operators of this crate share.
//! * `scan`: the leaf that reads a [`Relation`](crate::Relation). It reports its exact number of rows, from which
//!   DataFusion chooses the in-memory side of a join.
//! * `same_rows`: skips a join for EXCEPT if both sides have the same rows in the same order.
//! * `joins`: sorts both sides of a join if the in-memory side would be too large.
//! * `repeated`: skips repeated rows on the side of a join that is only looked up.
//! * `windows`: evaluates window functions on a few partitions at a time, not on all rows.
//! * `guard`: between all operators, checks for cancellation, accounts for memory that operators do not account for,
//!   and splits long lists before they are unnested.
//! * `cancellable`: join conditions that check for cancellation.
//! * `equalities`: hides equalities of columns, for queries whose first plan is rejected.

mod cancellable;
mod equalities;
mod guard;
mod joins;
mod operator;
mod repeated;
mod same_rows;
mod scan;
mod windows;

use std::sync::Arc;

use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

pub(crate) use scan::{Scan, ScanColumn};

/// Returns DataFusion's rules with the rules of this module inserted.
pub(crate) fn rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    // These rules run after the join sides are chosen, and before the sorts that joins need are inserted.
    let after = rules
        .iter()
        .position(|rule| rule.name() == "join_selection")
        .map_or(0, |place| place + 1);
    rules.insert(after, Arc::new(same_rows::COMPARE_FIRST));
    rules.insert(after + 1, Arc::new(joins::SORT_LARGE_SIDES));
    rules.insert(after + 2, Arc::new(repeated::SKIP_REPEATED));
    rules.push(Arc::new(windows::WINDOWS_IN_PARTS));
    rules.push(Arc::new(guard::GUARD_BELOW));
    rules.push(Arc::new(guard::GuardAbove));
    rules
}

/// Returns the rules of [`rules`] with a rule that hides equalities before sorts are inserted.
pub(crate) fn rules_without_equalities() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = rules();
    let after = rules
        .iter()
        .position(|rule| rule.name() == joins::SORT_LARGE_SIDES.name)
        .map_or(0, |place| place + 1);
    rules.insert(after, Arc::new(equalities::HIDE_EQUALITIES));
    rules
}

/// Returns the exact or estimated number of rows of a plan, if known.
fn rows(plan: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new());
    statistics.ok()?.num_rows.get_value().copied()
}
