//! Guards between operators check for cancellation, account for memory, and drop empty batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, ready};

use arrow::array::RecordBatch;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_physical_expr::LexOrdering;
use futures::StreamExt;

use super::operator::{Batches, Node, Operator, Plan, properties_of, properties_with};
use crate::QueryLimits;
use crate::error::MemoryError;
use crate::limits::QueryPool;

/// Minimum number of bytes that are counted for a batch.
const EMPTY_BATCH_BYTES: usize = 1 << 10;

/// Passes on the rows of its input.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// Number of copies of each row that the operator above stores without reserving their memory.
    copies: usize,
    /// Expected number of rows. If memory runs out earlier, the error message extrapolates the used memory to all rows.
    rows: Option<u64>,
}

impl Guard {
    /// Guards an operator, unless the operator is a guard.
    pub(crate) fn pass(input: Plan) -> Plan {
        match Node::<Guard>::downcast(input.as_ref()) {
            Some(_) => input,
            None => Guard::default().above(input),
        }
    }

    /// Guards an operator that first reads its entire input, and then returns about `rows` rows.
    pub(crate) fn after_all(input: Plan, rows: u64) -> Plan {
        let rows = Some(rows);
        Guard { rows, copies: 0 }.above(input)
    }

    /// Guards `input`, and states `order` as the order of its rows for an operator that requires a stated order. Does not
    /// sort. `None` states no order.
    pub(crate) fn ordered(input: Plan, order: Option<LexOrdering>) -> Plan {
        let properties = properties_with(input.schema(), order);
        Node::plan(Guard::default(), vec![input], properties)
    }

    /// Guards rows that the operator above stores without reserving memory, and reserves this memory. If `copied` is true,
    /// the operator stores each row twice.
    pub(crate) fn count(input: Plan, copied: bool, rows: u64) -> Plan {
        let (copies, rows) = (1 + usize::from(copied), Some(rows));
        Guard { copies, rows }.above(input)
    }

    /// Creates a guard. The guard hides what DataFusion infers about the order of the input's rows and about constant
    /// columns.
    ///
    /// Some of these inferences are wrong. For example, a column can be constant in the right input of a LEFT JOIN, but
    /// NULL in joined rows without a match. DataFusion infers that the column is constant in the joined rows, too.
    fn above(self, input: Plan) -> Plan {
        let properties = properties_of(input.schema());
        Node::plan(self, vec![input], properties)
    }
}

/// Converts DataFusion's error about a lack of memory to [`MemoryError`]. Otherwise the operator above would treat the
/// error as its own lack of memory.
fn of_input(error: DataFusionError) -> DataFusionError {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(text) => {
            DataFusionError::External(Box::new(MemoryError(text.clone())))
        }
        _ => error,
    }
}

impl Operator for Guard {
    const NAME: &'static str = "Guard";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn details(&self) -> String {
        format!("copies={}", self.copies)
    }

    fn start(&self, node: &Node<Guard>, context: &Arc<TaskContext>) -> Result<Batches> {
        let extensions = &context.session_config().options().extensions;
        let limits = extensions.get::<QueryLimits>().cloned();
        let pool = context.memory_pool();
        let reservation = MemoryConsumer::new("rows").register(pool);
        let passed = self.rows.zip(pool.downcast_ref::<QueryPool>());
        let passed = passed.map(|(rows, pool)| pool.start_scan(rows));
        let copies = self.copies;
        let mut input = node.input(0, context)?;
        let count = move |batch: RecordBatch| {
            if copies > 0 {
                let bytes = batch.get_array_memory_size().max(EMPTY_BATCH_BYTES);
                reservation.try_grow(copies * bytes)?;
            }
            if let Some(passed) = &passed {
                passed.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            }
            Ok(batch)
        };
        Ok(Box::pin(futures::stream::poll_fn(move |context| {
            loop {
                if let Some(Err(stopped)) = limits.as_ref().map(QueryLimits::check) {
                    return Poll::Ready(Some(Err(stopped)));
                }
                return match ready!(input.poll_next_unpin(context)) {
                    // The operator above would evaluate constants for an empty batch, and could fail.
                    Some(Ok(batch)) if batch.num_rows() == 0 => continue,
                    next => Poll::Ready(next.map(|batch| batch.map_err(of_input).and_then(&count))),
                };
            }
        })))
    }
}
