//! AND and OR that evaluate the right side only for the rows whose left side does not decide the result.
//!
//! DataFusion's `BinaryExpr` does so only if few rows of a batch need the right side. With a right side that can fail, for
//! example `10 / n > 2`, the number of rows per batch would decide whether the query fails.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{and_kleene, or_kleene};
use arrow::datatypes::{FieldRef, Schema};
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;

/// An expression whose operator is AND or OR.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShortCircuit(pub Arc<BinaryExpr>);

impl fmt::Display for ShortCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhysicalExpr for ShortCircuit {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let is_or = *self.0.op() == Operator::Or;
        let left = self.0.left().evaluate(batch)?.into_array(rows)?;
        let decided = left.as_boolean();
        let needs_right = |row| decided.is_null(row) || decided.value(row) != is_or;
        let selection = BooleanArray::new(BooleanBuffer::collect_bool(rows, needs_right), None);
        if !selection.has_true() {
            return Ok(ColumnarValue::Array(left));
        }
        let right = self.0.right().evaluate_selection(batch, &selection)?;
        let right = right.into_array(rows)?;
        let combine = if is_or { or_kleene } else { and_kleene };
        let combined = combine(decided, right.as_boolean())?;
        Ok(ColumnarValue::Array(Arc::new(combined)))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.0.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.0.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        sides: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let [left, right] = [0, 1].map(|side| Arc::clone(&sides[side]));
        let replaced = BinaryExpr::new(left, *self.0.op(), right);
        Ok(Arc::new(ShortCircuit(Arc::new(replaced))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}
