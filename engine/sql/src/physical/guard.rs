//! Guards: operators between all other operators that check for cancellation, account for memory, and remove empty
//! batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, ready};

use arrow::array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::MemoryConsumer;
use futures::StreamExt;

use super::operator::{Batches, Node, Operator, Plan};
use crate::QueryLimits;
use crate::limits::QueryPool;

/// Assumed size in bytes of a batch without columns or without data.
const EMPTY_BATCH_BYTES: usize = 1 << 10;

/// Checks for cancellation between two operators.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// How many times the operator above stores each row without accounting for its memory. The guard then does.
    copies: usize,
    /// The expected number of rows. If the memory does not suffice, it is extrapolated to all of them.
    rows: Option<u64>,
}

impl Guard {
    /// Guards an operator. An operator with a guard needs no second one.
    pub(crate) fn pass(input: Plan) -> Plan {
        match Node::<Guard>::downcast(input.as_ref()) {
            Some(_) => input,
            None => Node::above(Guard::default(), input),
        }
    }

    /// Guards an operator that returns about this number of rows after it has read all of its input.
    pub(crate) fn after_all(input: Plan, rows: u64) -> Plan {
        let rows = Some(rows);
        Node::above(Guard { rows, copies: 0 }, input)
    }

    /// Accounts for the memory of rows that the operator above stores, twice if `copied`. `rows` is their expected number.
    pub(crate) fn count(input: Plan, copied: bool, rows: u64) -> Plan {
        let (copies, rows) = (1 + usize::from(copied), Some(rows));
        Node::above(Guard { copies, rows }, input)
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
                    // The operator above would evaluate constants, which can fail, although no row needs them.
                    Some(Ok(batch)) if batch.num_rows() == 0 => continue,
                    next => Poll::Ready(next.map(|batch| batch.and_then(&count))),
                };
            }
        })))
    }
}
