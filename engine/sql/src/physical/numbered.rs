//! Adds the position of each row, in the order in which rows arrive.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan as _;
use futures::StreamExt;

use super::operator::{Batches, Node, Operator, Plan, batch_of, properties_of};

/// Adds a column with the position of each row, from 0.
#[derive(Debug)]
pub(crate) struct Numbered;

impl Numbered {
    /// Adds the column `name` as the last one.
    pub(crate) fn plan(input: Plan, name: &str) -> Plan {
        let fields = input.schema().fields().iter().cloned().collect::<Vec<_>>();
        let number = Arc::new(Field::new(name, DataType::Int64, false));
        let fields = fields.into_iter().chain([number]).collect::<Vec<_>>();
        let properties = properties_of(Arc::new(Schema::new(fields)));
        Node::plan(Numbered, vec![input], properties)
    }
}

impl Operator for Numbered {
    const NAME: &'static str = "Numbered";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn start(&self, node: &Node<Numbered>, context: &Arc<TaskContext>) -> Result<Batches> {
        let schema = node.schema();
        let mut next = 0_i64;
        Ok(Box::pin(node.input(0, context)?.map(move |batch| {
            let batch = batch?;
            let count = batch.num_rows();
            let end = next.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(next..end));
            next = end;
            let columns = batch.columns().iter().cloned().chain([numbers]).collect();
            batch_of(&schema, columns, count)
        })))
    }
}
