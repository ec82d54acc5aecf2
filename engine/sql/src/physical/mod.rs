//! What this crate adds to DataFusion's physical plans.
//!
//! * `operator`: what our operators share.
//! * `scan`: the leaf that reads a [`Relation`](crate::Relation). It knows how many rows there are, by which the smaller
//!   side of a join is the one that is held.
//! * `same_rows`: two sides with the same rows need no join to tell that none of them is on one side only.
//! * `joins`: a side that is too large to be held is sorted instead, and what sorts goes to disk.
//! * `windows`: window functions hold a few partitions, not all.
//! * `guard`: between all operators, looks whether the query is to stop, counts what operators hold without counting it
//!   themselves, and cuts rows with long lists before they are unnested.

mod guard;
mod joins;
mod operator;
mod same_rows;
mod scan;
mod watched;
mod windows;

use std::sync::Arc;

use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

pub(crate) use scan::{Kind, Scan};

/// DataFusion's rules with those of this module at their places.
pub(crate) fn rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    // Sides are chosen before, orders that joins need are made after.
    let after = rules
        .iter()
        .position(|rule| rule.name() == "join_selection")
        .map_or(0, |place| place + 1);
    rules.insert(after, Arc::new(same_rows::COMPARE_FIRST));
    rules.insert(after + 1, Arc::new(joins::SORT_LARGE_SIDES));
    rules.push(Arc::new(windows::WINDOWS_IN_PARTS));
    rules.push(Arc::new(guard::GUARD_BELOW));
    rules.push(Arc::new(guard::GuardAbove));
    rules
}

/// How many rows a plan has, if that is known.
fn rows(plan: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new());
    statistics.ok()?.num_rows.get_value().copied()
}
