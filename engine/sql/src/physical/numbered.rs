//! Adds the position of each row, in the order in which rows arrive.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::PlanProperties;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;

use super::operator::{Node, Operator, Plan, properties_of};

/// Adds a column with the position of each row, from 0.
#[derive(Debug)]
pub(crate) struct Numbered {
    input: Plan,
    properties: Arc<PlanProperties>,
}

impl Numbered {
    /// Adds the column `name` as the last one.
    pub(crate) fn plan(input: Plan, name: &str) -> Plan {
        let fields = input.schema().fields().iter().cloned().collect::<Vec<_>>();
        let number = Arc::new(Field::new(name, DataType::Int64, false));
        let fields = fields.into_iter().chain([number]).collect::<Vec<_>>();
        let properties = properties_of(Arc::new(Schema::new(fields)));
        Node::plan(Numbered { input, properties })
    }
}

impl Operator for Numbered {
    const NAME: &'static str = "Numbered";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn inputs(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<Numbered> {
        let [input] = inputs.try_into().ok()?;
        let properties = self.properties.clone();
        Some(Numbered { input, properties })
    }

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.properties.equivalence_properties().schema().clone();
        let own = schema.clone();
        let mut next = 0_i64;
        let input = self.input.execute(partition, context)?;
        let batches = input.map(move |batch| {
            let batch = batch?;
            let count = batch.num_rows();
            let end = next.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(next..end));
            next = end;
            let columns = batch.columns().iter().cloned().chain([numbers]).collect();
            let rows = RecordBatchOptions::new().with_row_count(Some(count));
            Ok(RecordBatch::try_new_with_options(
                own.clone(),
                columns,
                &rows,
            )?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
