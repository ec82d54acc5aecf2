//! Evaluates window functions on a few partitions at a time.
//!
//! DataFusion's operator keeps all rows in memory. With PARTITION BY, its input is sorted by the partition keys, and
//! the result for a partition does not depend on other partitions. Therefore this operator collects complete partitions
//! until there are enough rows, and then evaluates them. The sort below it can use temporary files. Only a few
//! partitions, or one large partition, are in memory at a time.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{concat, partition};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties, WindowExpr};
use futures::StreamExt;

use super::operator::{Node, Operator, Plan, Rule};

/// Minimum number of collected rows before evaluation, if partitions are small.
const MIN_PART_ROWS: usize = 1 << 16;

pub(super) const WINDOWS_IN_PARTS: Rule = Rule {
    name: "windows_in_parts",
    replace: |plan, _| {
        let Some(window) = plan.downcast_ref::<WindowAggExec>() else {
            return Ok(None);
        };
        let divided = window.window_expr().first();
        let keys = divided.map_or(&[][..], |one| one.partition_by()).to_vec();
        let parts = || WindowsInParts {
            keys: keys.clone(),
            exprs: window.window_expr().to_vec(),
            properties: window.properties().clone(),
            input: window.input().clone(),
        };
        Ok((!keys.is_empty()).then(|| Node::plan(parts())))
    },
};

/// Window functions over an input that is sorted by their partition keys.
#[derive(Debug, Clone)]
struct WindowsInParts {
    /// The partition keys.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    exprs: Vec<Arc<dyn WindowExpr>>,
    properties: Arc<PlanProperties>,
    input: Plan,
}

impl Operator for WindowsInParts {
    const NAME: &'static str = "WindowsInParts";
    const KEEPS_ORDER: bool = true;

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn inputs(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<WindowsInParts> {
        let [input] = inputs.try_into().ok()?;
        Some(WindowsInParts {
            input,
            ..self.clone()
        })
    }

    fn details(&self) -> String {
        let names: Vec<&str> = self.exprs.iter().map(|expr| expr.name()).collect();
        names.join(", ")
    }

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("windows").register(context.memory_pool());
        let collecting = PartitionStream {
            input: self.input.execute(partition, context.clone())?,
            parts: self.clone(),
            context,
            pending: Vec::new(),
            rows: 0,
            computing: None,
            is_at_end: false,
            reservation,
        };
        let computed = futures::stream::try_unfold(collecting, PartitionStream::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.properties.equivalence_properties().schema().clone(),
            computed,
        )))
    }
}

/// The stream of results of all partitions.
struct PartitionStream {
    input: SendableRecordBatchStream,
    parts: WindowsInParts,
    context: Arc<TaskContext>,
    /// The latest rows. Their last partition may be incomplete.
    pending: Vec<RecordBatch>,
    rows: usize,
    /// The results of complete partitions that are being computed.
    computing: Option<SendableRecordBatchStream>,
    is_at_end: bool,
    reservation: MemoryReservation,
}

impl PartitionStream {
    async fn next(mut self) -> Result<Option<(RecordBatch, PartitionStream)>> {
        loop {
            if let Some(computing) = &mut self.computing {
                if let Some(batch) = computing.next().await {
                    return Ok(Some((batch?, self)));
                }
                self.computing = None;
                let pending: usize = self.pending.iter().map(accounted_bytes).sum();
                self.reservation.try_resize(pending)?;
            } else if self.is_at_end {
                if self.pending.is_empty() {
                    return Ok(None);
                }
                let last = std::mem::take(&mut self.pending);
                self.compute(last)?;
            } else {
                match self.input.next().await {
                    None => self.is_at_end = true,
                    Some(batch) => self.collect(batch?)?,
                }
            }
        }
    }

    fn collect(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.reservation.try_grow(accounted_bytes(&batch))?;
        // For small batches, the search for the end of the last complete partition would cost more than it saves.
        let start = match self.rows + batch.num_rows() < MIN_PART_ROWS {
            true => None,
            false => self.last_partition(&batch)?,
        };
        match start {
            None => {
                self.rows += batch.num_rows();
                self.pending.push(batch);
            }
            Some(start) => {
                let rest = batch.slice(start, batch.num_rows() - start);
                let mut complete = std::mem::take(&mut self.pending);
                if start > 0 {
                    complete.push(batch.slice(0, start));
                }
                self.rows = rest.num_rows();
                self.pending = vec![rest];
                self.compute(complete)?;
            }
        }
        Ok(())
    }

    /// Returns the index in `batch` of the first row of its last partition. `None` if no row of a different partition
    /// precedes it in the batch or in `pending`.
    fn last_partition(&self, batch: &RecordBatch) -> Result<Option<usize>> {
        let keys = self.keys(batch)?;
        let last = partition(&keys)?.ranges().last().map_or(0, |one| one.start);
        if last > 0 {
            return Ok(Some(last));
        }
        let Some(before) = self.pending.last() else {
            return Ok(None);
        };
        let before = self.keys(&before.slice(before.num_rows() - 1, 1))?;
        let both = before.iter().zip(&keys);
        let both = both.map(|(one, other)| Ok(concat(&[one.as_ref(), &other.slice(0, 1)])?));
        let both = both.collect::<Result<Vec<ArrayRef>>>()?;
        Ok((partition(&both)?.len() > 1).then_some(0))
    }

    fn keys(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let rows = batch.num_rows();
        let keys = self.parts.keys.iter();
        keys.map(|key| key.evaluate(batch)?.into_array(rows))
            .collect()
    }

    fn compute(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let complete = Node::plan(CompletePartitions {
            properties: self.parts.input.properties().clone(),
            batches,
        });
        let window = WindowAggExec::try_new(self.parts.exprs.clone(), complete, false)?;
        self.computing = Some(window.execute(0, self.context.clone())?);
        Ok(())
    }
}

/// Returns the number of bytes to account for a batch. The batch is copied during evaluation.
fn accounted_bytes(batch: &RecordBatch) -> usize {
    2 * batch.get_array_memory_size()
}

/// Provides complete partitions as an input with the properties of the original input.
#[derive(Debug, Clone)]
struct CompletePartitions {
    properties: Arc<PlanProperties>,
    batches: Vec<RecordBatch>,
}

impl Operator for CompletePartitions {
    const NAME: &'static str = "Whole";

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn inputs(&self) -> Vec<&Plan> {
        Vec::new()
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<CompletePartitions> {
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
