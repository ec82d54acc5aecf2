//! Join conditions that check for cancellation.
//!
//! A join may compare a large number of pairs before it produces a row. During that time, no guard between operators
//! runs, so the condition itself must check.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema};
use datafusion_common::{Result, internal_err};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use crate::QueryLimits;

/// A condition that checks for cancellation when it is evaluated.
#[derive(Debug)]
pub(crate) struct CancellableCondition {
    inner: Arc<dyn PhysicalExpr>,
    limits: QueryLimits,
}

impl CancellableCondition {
    pub(crate) fn around(
        inner: Arc<dyn PhysicalExpr>,
        limits: QueryLimits,
    ) -> Arc<dyn PhysicalExpr> {
        Arc::new(CancellableCondition { inner, limits })
    }
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
