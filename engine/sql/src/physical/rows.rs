//! Rows in memory.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::PlanProperties;

use super::operator::{Batches, Node, Operator, Plan, properties_of};

/// Returns batches in their order.
#[derive(Debug)]
pub(crate) struct Rows(Vec<RecordBatch>);

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
        Node::plan(Rows(batches), Vec::new(), properties)
    }

    /// Returns whether there is at most one row.
    pub(crate) fn is_single(&self) -> bool {
        self.0.iter().map(RecordBatch::num_rows).sum::<usize>() <= 1
    }
}

impl Operator for Rows {
    const NAME: &'static str = "Rows";
    const KEEPS_ORDER: &'static [bool] = &[];

    fn details(&self) -> String {
        format!("{} batches", self.0.len())
    }

    fn start(&self, _node: &Node<Rows>, _context: &Arc<TaskContext>) -> Result<Batches> {
        let batches = self.0.clone().into_iter().map(Ok);
        Ok(Box::pin(futures::stream::iter(batches)))
    }
}
