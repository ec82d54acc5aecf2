//! Sides of joins that are too large to be held.
//!
//! A hash join holds one side in memory and cannot spill it. Where that side is estimated to be larger than the session
//! allows, both sides are sorted instead, and sorts go to disk. The allowance is DataFusion's option
//! `hash_join_single_partition_threshold`.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::operator::Rule;
use super::scan::row_bytes;

/// What the hash table takes for a row, beside the row itself.
const ENTRY_BYTES: usize = 24;

pub(super) const SORT_LARGE_SIDES: Rule = Rule {
    name: "sort_large_sides",
    replace: |plan, config| {
        let held = config.optimizer.hash_join_single_partition_threshold;
        let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
            return Ok(None);
        };
        // A `NOT IN` of several conditions looks for missing values, which only the hash join does.
        let fits = bytes(join.left().as_ref()).is_some_and(|bytes| bytes < held);
        if join.null_aware || join.contains_projection() || fits {
            return Ok(None);
        }
        let sorted = SortMergeJoinExec::try_new(
            join.left().clone(),
            join.right().clone(),
            join.on().to_vec(),
            join.filter().cloned(),
            *join.join_type(),
            vec![SortOptions::default(); join.on().len()],
            join.null_equality(),
        )?;
        Ok(Some(Arc::new(sorted)))
    },
};

/// What it takes to hold the rows of a plan in a hash table; zero where it is not known.
fn bytes(plan: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new()
        .compute(plan, &StatisticsArgs::new())
        .ok()?;
    let row = row_bytes(&plan.schema()) + ENTRY_BYTES;
    let rows = statistics.num_rows.get_value().copied().unwrap_or(0);
    Some(rows.saturating_mul(row))
}
