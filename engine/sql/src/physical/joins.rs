//! Replaces hash joins whose in-memory side is too large with sort-merge joins.
//!
//! A hash join keeps one side in memory and cannot write it to disk. If the estimated size of this side exceeds the
//! limit, both sides are sorted instead, and sorts can use temporary files. The limit is DataFusion's option
//! `hash_join_single_partition_threshold`.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::operator::Rule;
use super::scan::row_bytes;

/// Size in bytes of a row's entry in a hash table, in addition to the row itself.
const HASH_ENTRY_BYTES: usize = 24;

pub(super) const SORT_LARGE_SIDES: Rule = Rule {
    name: "sort_large_sides",
    replace: |plan, config| {
        let max_build_side = config.optimizer.hash_join_single_partition_threshold;
        let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
            return Ok(None);
        };
        // Only the hash join implements null-aware `NOT IN`.
        let fits = bytes(join.left().as_ref()).is_some_and(|bytes| bytes < max_build_side);
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

/// Returns the estimated size in bytes of the plan's rows in a hash table. 0 if the number of rows is unknown.
fn bytes(plan: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new()
        .compute(plan, &StatisticsArgs::new())
        .ok()?;
    let row = row_bytes(&plan.schema()) + HASH_ENTRY_BYTES;
    let rows = statistics.num_rows.get_value().copied().unwrap_or(0);
    Some(rows.saturating_mul(row))
}
