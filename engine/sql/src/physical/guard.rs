//! Guards: operators between all other operators that check for cancellation, account for memory, and remove empty
//! batches.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::PlanProperties;
use futures::{Stream, StreamExt};

use super::operator::{Node, Operator, Plan};
use crate::QueryLimits;

/// Assumed size in bytes of a batch without columns or without data.
const EMPTY_BATCH_BYTES: usize = 1 << 10;

/// The action of a guard, in addition to checking for cancellation.
#[derive(Debug, Clone, PartialEq)]
enum GuardAction {
    Pass,
    /// Accounts for the memory of the rows that pass. The operator above stores them without accounting for them.
    Count {
        /// True if the operator stores each row twice.
        copied: bool,
        /// The expected number of rows, if known.
        rows: Option<usize>,
    },
}

/// Checks for cancellation between two operators.
#[derive(Debug)]
pub(crate) struct Guard {
    input: Plan,
    action: GuardAction,
}

impl Guard {
    /// Guards an operator. An operator with a guard needs no second one.
    pub(crate) fn pass(input: Plan) -> Plan {
        if Node::<Guard>::downcast(input.as_ref()).is_some() {
            return input;
        }
        let action = GuardAction::Pass;
        Node::plan(Guard { input, action })
    }

    /// Accounts for the memory of rows that the operator above stores, twice if `copied`. `rows` is their expected number.
    pub(crate) fn count(input: Plan, copied: bool, rows: Option<usize>) -> Plan {
        let action = GuardAction::Count { copied, rows };
        Node::plan(Guard { input, action })
    }
}

impl Operator for Guard {
    const NAME: &'static str = "Guard";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn inputs(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<Guard> {
        let [input] = inputs.try_into().ok()?;
        let action = self.action.clone();
        Some(Guard { input, action })
    }

    fn details(&self) -> String {
        format!("{:?}", self.action)
    }

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let reservation = matches!(self.action, GuardAction::Count { .. })
            .then(|| MemoryConsumer::new("rows").register(context.memory_pool()));
        Ok(Box::pin(GuardStream {
            schema: self.input.schema(),
            limits: context
                .session_config()
                .options()
                .extensions
                .get::<QueryLimits>()
                .cloned(),
            input: self.input.execute(partition, context)?,
            action: self.action.clone(),
            reservation,
            passed: 0,
        }))
    }
}

struct GuardStream {
    schema: SchemaRef,
    limits: Option<QueryLimits>,
    input: SendableRecordBatchStream,
    action: GuardAction,
    /// Memory accounted for the operator above.
    reservation: Option<MemoryReservation>,
    /// Number of rows that have passed.
    passed: usize,
}

impl GuardStream {
    fn pass(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        match &self.action {
            GuardAction::Pass => Ok(batch),
            GuardAction::Count { copied, rows } => {
                let bytes = batch.get_array_memory_size().max(EMPTY_BATCH_BYTES);
                let bytes = bytes * if *copied { 2 } else { 1 };
                if let Some(reservation) = &self.reservation
                    && let Err(error) = reservation.try_grow(bytes)
                {
                    // Requests the memory for all remaining rows at once, so that the error reports the memory that the
                    // query needs in total.
                    let left = rows.unwrap_or(0).saturating_sub(self.passed);
                    let all = bytes.saturating_mul(left) / batch.num_rows().max(1);
                    if reservation.try_grow(all).is_ok() {
                        reservation.shrink(all);
                    }
                    return Err(error);
                }
                self.passed += batch.num_rows();
                Ok(batch)
            }
        }
    }
}

impl Stream for GuardStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(Err(stopped)) = self.limits.as_ref().map(QueryLimits::check) {
                return Poll::Ready(Some(Err(stopped)));
            }
            return match ready!(self.input.poll_next_unpin(context)) {
                // The operator above would evaluate constants, which can fail, although no row needs them.
                Some(Ok(batch)) if batch.num_rows() == 0 => continue,
                next => Poll::Ready(next.map(|batch| batch.and_then(|batch| self.pass(batch)))),
            };
        }
    }
}

impl RecordBatchStream for GuardStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
