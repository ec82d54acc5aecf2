//! Reads a single row, whose values become constants of the operators above.
//!
//! If the value of an uncorrelated subquery were a column, it would be copied for each row. In addition, functions could not
//! use the value to prepare their work, for example compile a pattern only once.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion_common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion_execution::TaskContext;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;

use super::operator::{Batches, Node, Operator, Plan};
use crate::error::is_of_value;

/// A value that is computed before the first row arrives.
#[derive(Debug)]
pub(crate) struct ConstantSlot {
    data_type: DataType,
    value: Mutex<Option<ConstantValue>>,
}

/// The value, or the error of its computation. The error is reported only if a row needs the value.
type ConstantValue = std::result::Result<ScalarValue, Arc<DataFusionError>>;

impl ConstantSlot {
    pub(crate) fn new(data_type: DataType) -> ConstantSlot {
        ConstantSlot {
            data_type,
            value: Mutex::new(None),
        }
    }
}

/// Reads the only row of its second input before the rows of its first input.
#[derive(Debug)]
pub(crate) struct Prepared {
    slots: Vec<Arc<ConstantSlot>>,
}

impl Prepared {
    pub(crate) fn plan(input: Plan, row: Plan, slots: Vec<Arc<ConstantSlot>>) -> Plan {
        let properties = Arc::clone(input.properties());
        Node::plan(Prepared { slots }, vec![input, row], properties)
    }
}

impl Operator for Prepared {
    const NAME: &'static str = "Prepared";
    const KEEPS_ORDER: &'static [bool] = &[true, false];

    fn start(&self, node: &Node<Prepared>, context: &Arc<TaskContext>) -> Result<Batches> {
        let (input, slots) = (node.inputs.first().cloned(), self.slots.clone());
        let (mut rows, context) = (node.input(1, context)?, Arc::clone(context));
        let rest = async move {
            let mut found = 0;
            while let Some(batch) = rows.next().await {
                let batch = match batch {
                    Ok(batch) => batch,
                    Err(error) if is_of_value(&error) => {
                        let error = Arc::new(error);
                        for slot in &slots {
                            *slot.value.lock() = Some(Err(Arc::clone(&error)));
                        }
                        found = 1;
                        break;
                    }
                    Err(error) => return Err(error),
                };
                found += batch.num_rows();
                if batch.num_rows() == 0 {
                    continue;
                }
                for (slot, column) in slots.iter().zip(batch.columns()) {
                    *slot.value.lock() = Some(Ok(ScalarValue::try_from_array(column, 0)?));
                }
            }
            match input {
                Some(input) if found == 1 => input.execute(0, context),
                _ => internal_err!("a single row is {found} rows"),
            }
        };
        Ok(Box::pin(futures::stream::once(rest).try_flatten()))
    }
}

/// An expression whose value is in a slot.
#[derive(Debug)]
pub(crate) struct ConstantColumn(pub Arc<ConstantSlot>);

impl PartialEq for ConstantColumn {
    fn eq(&self, other: &ConstantColumn) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ConstantColumn {}

impl Hash for ConstantColumn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl fmt::Display for ConstantColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("constant")
    }
}

impl PhysicalExpr for ConstantColumn {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        match self.0.value.lock().as_ref() {
            Some(Ok(value)) => Ok(ColumnarValue::Scalar(value.clone())),
            Some(Err(_)) if batch.num_rows() == 0 => {
                ScalarValue::try_from(&self.0.data_type).map(ColumnarValue::Scalar)
            }
            Some(Err(error)) => Err(DataFusionError::Shared(Arc::clone(error))),
            None => internal_err!("a constant is not known yet"),
        }
    }

    fn return_field(&self, _schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(
            "constant",
            self.0.data_type.clone(),
            true,
        )))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
