//! Join conditions that check for cancellation.
//!
//! A join may compare a large number of pairs before it produces a row. During that time, no guard between operators
//! runs, so the condition itself must check.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};

use crate::QueryLimits;

/// Returns the plan with a cancellable condition if it is a join with a condition.
pub(super) fn cancellable(
    plan: Arc<dyn ExecutionPlan>,
    config: &ConfigOptions,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(limits) = config.extensions.get::<QueryLimits>() else {
        return Ok(plan);
    };
    let watch = |filter: &JoinFilter| {
        let condition = CancellableCondition {
            inner: filter.expression().clone(),
            limits: limits.clone(),
        };
        JoinFilter::new(
            Arc::new(condition),
            filter.column_indices().to_vec(),
            filter.schema().clone(),
        )
    };
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>()
        && let Some(filter) = join.filter()
    {
        let (left, right) = (join.left().clone(), join.right().clone());
        let join = NestedLoopJoinExecBuilder::new(left, right, *join.join_type())
            .with_filter(Some(watch(filter)))
            .with_projection_ref(join.projection().clone())
            .build()?;
        return Ok(Arc::new(join));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>()
        && let Some(filter) = join.filter()
    {
        return join.builder().with_filter(Some(watch(filter))).build_exec();
    }
    Ok(plan)
}

#[derive(Debug)]
struct CancellableCondition {
    inner: Arc<dyn PhysicalExpr>,
    limits: QueryLimits,
}

impl PartialEq for CancellableCondition {
    fn eq(&self, other: &CancellableCondition) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for CancellableCondition {}

impl Hash for CancellableCondition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for CancellableCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl PhysicalExpr for CancellableCondition {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.limits.check()?;
        self.inner.evaluate(batch)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.inner.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(inner) if children.is_empty() => Ok(Arc::new(CancellableCondition {
                inner,
                limits: self.limits.clone(),
            })),
            _ => internal_err!("a join has one condition"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
