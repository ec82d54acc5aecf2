//! Rows in memory.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::PlanProperties;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;

use super::operator::{Node, Operator, Plan, properties_of};

/// Returns batches in their order.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    batches: Vec<RecordBatch>,
    properties: Arc<PlanProperties>,
}

impl Rows {
    /// Returns the rows of a batch.
    pub(crate) fn plan(batch: RecordBatch) -> Plan {
        let properties = properties_of(batch.schema());
        Rows::with_properties(vec![batch], properties)
    }

    /// Returns the rows of batches that an operator with these properties has returned.
    pub(super) fn with_properties(
        batches: Vec<RecordBatch>,
        properties: Arc<PlanProperties>,
    ) -> Plan {
        Node::plan(Rows {
            batches,
            properties,
        })
    }

    /// Returns whether there is at most one row.
    pub(crate) fn is_single(&self) -> bool {
        self.batches
            .iter()
            .map(RecordBatch::num_rows)
            .sum::<usize>()
            <= 1
    }
}

impl Operator for Rows {
    const NAME: &'static str = "Rows";
    const KEEPS_ORDER: &'static [bool] = &[];

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn inputs(&self) -> Vec<&Plan> {
        Vec::new()
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<Rows> {
        inputs.is_empty().then(|| self.clone())
    }

    fn details(&self) -> String {
        format!("{} batches", self.batches.len())
    }

    fn start(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batches = self.batches.clone().into_iter().map(Ok);
        let schema = self.properties.equivalence_properties().schema().clone();
        let batches = futures::stream::iter(batches);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
