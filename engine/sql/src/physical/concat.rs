//! The rows of several inputs, one input after the other.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use datafusion_common::{Result, internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::PlanProperties;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt};

use super::operator::{Node, Operator, Plan, properties_of};

/// Reads its inputs one after the other. Rows keep the order in which the inputs return them.
#[derive(Debug)]
pub(crate) struct Concat {
    inputs: Vec<Plan>,
    properties: Arc<PlanProperties>,
}

impl Concat {
    /// Concatenates inputs whose columns have the same types and names.
    pub(crate) fn plan(inputs: Vec<Plan>) -> Result<Plan> {
        let Some(first) = inputs.first() else {
            return internal_err!("a union has at least one branch");
        };
        let schema = first.schema();
        let fields = schema.fields().iter();
        let fields = fields.map(|field| Field::new(field.name(), field.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Node::plan(Concat {
            inputs,
            properties: properties_of(schema),
        }))
    }
}

impl Operator for Concat {
    const NAME: &'static str = "Concat";
    // Rows of one input keep their order, and all rows of an input precede those of the next. `proof` knows this.
    const KEEPS_ORDER: &'static [bool] = &[];

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn inputs(&self) -> Vec<&Plan> {
        self.inputs.iter().collect()
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<Concat> {
        (inputs.len() == self.inputs.len()).then(|| Concat {
            inputs,
            properties: self.properties.clone(),
        })
    }

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.properties.equivalence_properties().schema().clone();
        let own = schema.clone();
        // Each input starts when the previous one has ended.
        let inputs = futures::stream::iter(self.inputs.clone());
        let batches = inputs
            .map(move |input| input.execute(partition, context.clone()))
            .try_flatten()
            .map(move |batch| {
                let batch = batch?;
                let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let columns = batch.columns().to_vec();
                Ok(RecordBatch::try_new_with_options(
                    own.clone(),
                    columns,
                    &rows,
                )?)
            });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
