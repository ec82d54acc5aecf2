//! Replaces the null-aware join of `x NOT IN (SELECT y ...)` with an ordinary anti join.
//!
//! `NOT IN` keeps a row if no `y` equals its `x`. If some `y` is missing, it keeps no row. If `x` is missing, it keeps
//! the row only if the subquery is empty. DataFusion implements this with a join that keeps its left side in memory,
//! regardless of its size. The ordinary anti join keeps the smaller side in memory or sorts both. The subquery's rows
//! and its missing values are counted separately, and a filter checks the counts.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::logical_plan::{Join, Projection};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, col, lit};
use datafusion::optimizer::ApplyOrder;

use super::LogicalRule;

/// Names of the columns that contain the number of rows of the subquery, and the number of its values that are not
/// missing.
const ROW_COUNT: &str = "__all";
const VALUE_COUNT: &str = "__known";

pub(super) const COUNT_MISSING: LogicalRule = LogicalRule {
    name: "count_missing",
    order: Some(ApplyOrder::BottomUp),
    rewrite,
};

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = &plan else {
        return Ok(Transformed::no(plan));
    };
    let is_not_in = join.null_aware && join.join_type == JoinType::LeftAnti;
    let ([(x, y)], None, true) = (join.on.as_slice(), &join.filter, is_not_in) else {
        return Ok(Transformed::no(plan));
    };
    let kept = Join {
        null_aware: false,
        ..join.clone()
    };
    let counts = vec![
        count(lit(1_i64)).alias(ROW_COUNT),
        count(y.clone()).alias(VALUE_COUNT),
    ];
    let counted = LogicalPlanBuilder::from(join.right.clone())
        .aggregate(Vec::<Expr>::new(), counts)?
        .cross_join(LogicalPlan::Join(kept))?
        .filter(
            col(ROW_COUNT).eq(lit(0_i64)).or(x
                .clone()
                .is_not_null()
                .and(col(ROW_COUNT).eq(col(VALUE_COUNT)))),
        )?;
    let columns = join.left.schema().columns().into_iter().map(Expr::Column);
    let columns: Vec<Expr> = columns.collect();
    let plan = Projection::try_new(columns, Arc::new(counted.build()?))?;
    Ok(Transformed::yes(LogicalPlan::Projection(plan)))
}
