//! Evaluates window functions on a few partitions at a time.
//!
//! DataFusion's operator keeps all rows in memory. With PARTITION BY, the input is sorted by the partition keys. Therefore
//! this operator collects complete partitions until they contain enough rows, and then evaluates the window functions on
//! these partitions.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{concat, partition};
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::windows::WindowAggExec;
use datafusion_physical_plan::{ExecutionPlan, PlanProperties, WindowExpr};
use futures::StreamExt;

use super::operator::{Batches, Node, Operator, Plan, properties_of};
use super::rows::Rows;

/// Number of rows that are collected before evaluation, if partitions are small.
const MIN_PART_ROWS: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct WindowsInParts {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    exprs: Vec<Arc<dyn WindowExpr>>,
}

impl WindowsInParts {
    pub(crate) fn plan(
        keys: Vec<Arc<dyn PhysicalExpr>>,
        exprs: Vec<Arc<dyn WindowExpr>>,
        input: Plan,
    ) -> Result<Plan> {
        let window = WindowAggExec::try_new(exprs.clone(), input.clone(), false)?;
        let properties = Arc::clone(window.properties());
        Ok(Node::plan(
            WindowsInParts { keys, exprs },
            vec![input],
            properties,
        ))
    }

    pub(crate) fn exprs(&self) -> &[Arc<dyn WindowExpr>] {
        &self.exprs
    }
}

impl Operator for WindowsInParts {
    const NAME: &'static str = "WindowsInParts";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn details(&self) -> String {
        let names: Vec<&str> = self.exprs.iter().map(|expr| expr.name()).collect();
        names.join(", ")
    }

    fn start(&self, node: &Node<WindowsInParts>, context: &Arc<TaskContext>) -> Result<Batches> {
        let input = node.input(0, context)?;
        let properties = node
            .inputs
            .first()
            .map(|input| Arc::clone(input.properties()));
        let collecting = PartitionStream {
            properties: properties.unwrap_or_else(|| properties_of(input.schema())),
            input,
            operator: node.operator(),
            context: Arc::clone(context),
            pending: Vec::new(),
            rows: 0,
            computing: None,
            is_at_end: false,
            reservation: MemoryConsumer::new("windows").register(context.memory_pool()),
        };
        let computed = futures::stream::try_unfold(collecting, PartitionStream::next);
        Ok(Box::pin(computed))
    }
}

/// The stream of the rows of all partitions, with the columns of the window functions.
struct PartitionStream {
    input: SendableRecordBatchStream,
    properties: Arc<PlanProperties>,
    operator: Arc<WindowsInParts>,
    context: Arc<TaskContext>,
    /// The rows that are not evaluated yet. Their last partition may be incomplete.
    pending: Vec<RecordBatch>,
    /// Number of rows in `pending`.
    rows: usize,
    /// The rows of the partitions that are being evaluated.
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

    /// Adds a batch to the pending rows. If enough rows are pending, evaluates the complete partitions among them.
    fn collect(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.reservation.try_grow(accounted_bytes(&batch))?;
        // If few rows are collected, searching for the last complete partition costs more than it saves.
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

    /// Returns the index in `batch` of the first row of its last partition. `None` if this partition begins in `pending`.
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
        let keys = self.operator.keys.iter();
        keys.map(|key| key.evaluate(batch)?.into_array(rows))
            .collect()
    }

    /// Starts the evaluation of complete partitions.
    fn compute(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let complete = Rows::with_properties(batches, Arc::clone(&self.properties));
        let window = WindowAggExec::try_new(self.operator.exprs.clone(), complete, false)?;
        self.computing = Some(window.execute(0, self.context.clone())?);
        Ok(())
    }
}

/// Returns twice the memory of a batch in bytes, because the evaluation copies the batch.
fn accounted_bytes(batch: &RecordBatch) -> usize {
    2 * batch.get_array_memory_size()
}
