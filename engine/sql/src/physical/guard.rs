//! Guards: operators between all other operators that check for cancellation, account for memory, and split batches.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Statistics;
use datafusion::common::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::CrossJoinExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};

use super::cancellable::cancellable;
use super::operator::{Node, Operator, Plan, Rule};
use super::rows;
use crate::QueryLimits;

/// Maximum number of list elements in a batch that is passed to `unnest`.
const MAX_ELEMENTS: usize = 1 << 14;

/// Maximum size in bytes of the unnested rows of such a batch. Each list element gets a copy of the other columns of
/// its row.
const MAX_ELEMENT_BYTES: usize = 8 << 20;

/// Assumed size in bytes of a batch without columns or without data.
const EMPTY_BATCH_BYTES: usize = 1 << 10;

/// Inserts a guard below every operator.
pub(super) const GUARD_BELOW: Rule = Rule {
    name: "guard_below",
    replace: |plan, config| {
        let plan = cancellable(Arc::clone(plan), config)?;
        let actions = actions(plan.as_ref());
        let children = plan.children().into_iter().zip(actions);
        let children = children.map(|(child, action)| Guard::plan(child.clone(), action));
        let children: Vec<Plan> = children.collect();
        if children.is_empty() {
            return Ok(None);
        }
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        plan.replace_children(children, options).map(Some)
    },
};

/// Inserts a guard above the topmost operator.
#[derive(Debug)]
pub(super) struct GuardAbove;

impl PhysicalOptimizerRule for GuardAbove {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        Ok(Guard::plan(plan, GuardAction::Pass))
    }

    fn name(&self) -> &str {
        "guard_above"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

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
    /// Splits batches, and long lists in these columns.
    Cut(Arc<[usize]>),
}

/// Returns the actions of the guards below an operator, one per child.
fn actions(plan: &dyn ExecutionPlan) -> Vec<GuardAction> {
    let rows_of_first = || rows(plan.children().first()?.as_ref());
    if plan.is::<WindowAggExec>() {
        let rows = rows_of_first();
        return vec![GuardAction::Count { copied: true, rows }];
    }
    if plan.is::<CrossJoinExec>() {
        let (copied, rows) = (false, rows_of_first());
        return vec![GuardAction::Count { copied, rows }, GuardAction::Pass];
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let lists = unnest.list_column_indices().iter();
        return vec![GuardAction::Cut(
            lists.map(|list| list.index_in_input_schema).collect(),
        )];
    }
    vec![GuardAction::Pass; plan.children().len()]
}

#[derive(Debug)]
struct Guard {
    input: Plan,
    action: GuardAction,
}

impl Guard {
    fn plan(input: Plan, action: GuardAction) -> Plan {
        Node::plan(Guard { input, action })
    }
}

impl Operator for Guard {
    const NAME: &'static str = "Guard";
    const KEEPS_ORDER: bool = true;
    const READS_STATISTICS: bool = true;

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
            cut: VecDeque::new(),
        }))
    }

    fn statistics(&self, inputs: &[Arc<Statistics>]) -> Arc<Statistics> {
        let unknown = || Arc::new(Statistics::new_unknown(&self.input.schema()));
        inputs.first().cloned().unwrap_or_else(unknown)
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
    /// Parts of the last batch that have not been returned yet.
    cut: VecDeque<BatchPart>,
}

impl GuardStream {
    fn pass(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        match &self.action {
            GuardAction::Pass => Ok(Some(batch)),
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
                Ok(Some(batch))
            }
            GuardAction::Cut(lists) => {
                self.cut = pieces(&batch, lists);
                self.next_piece()
            }
        }
    }

    fn next_piece(&mut self) -> Result<Option<RecordBatch>> {
        match self.cut.pop_front() {
            None => Ok(None),
            Some(piece) => piece.take().map(Some),
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
            if let Some(piece) = self.next_piece().transpose() {
                return Poll::Ready(Some(piece));
            }
            let passed = match ready!(self.input.poll_next_unpin(context)) {
                None => return Poll::Ready(None),
                Some(batch) => batch.and_then(|batch| self.pass(batch)),
            };
            if let Some(passed) = passed.transpose() {
                return Poll::Ready(Some(passed));
            }
        }
    }
}

impl RecordBatchStream for GuardStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// A range of rows of a batch, or a range of the list elements of one row.
struct BatchPart {
    batch: RecordBatch,
    rows: (usize, usize),
    /// The columns with lists, the index of the first element to take from each list, and the number of elements.
    elements: Option<(Arc<[usize]>, usize, usize)>,
}

impl BatchPart {
    fn take(self) -> Result<RecordBatch> {
        let batch = self.batch.slice(self.rows.0, self.rows.1);
        let Some((lists, first, count)) = self.elements else {
            return Ok(batch);
        };
        let columns = batch.columns().iter().enumerate().map(|(index, column)| {
            if lists.contains(&index) {
                element_range(column, first, count)
            } else {
                Ok(column.clone())
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(
            batch.schema(),
            columns,
            &options,
        )?)
    }
}

/// Divides a batch into parts with at most about [`MAX_ELEMENTS`] list elements.
fn pieces(batch: &RecordBatch, lists: &Arc<[usize]>) -> VecDeque<BatchPart> {
    let mut pieces = VecDeque::new();
    let other_columns = batch.columns().iter().enumerate();
    let other_columns = other_columns.filter(|(index, _)| !lists.contains(index));
    let other_columns: usize = other_columns
        .map(|(_, column)| column.get_array_memory_size())
        .sum();
    let width = other_columns / batch.num_rows().max(1) + 1;
    let max_elements = (MAX_ELEMENT_BYTES / width).clamp(1, MAX_ELEMENTS);
    let (mut start, mut elements_before) = (0, 0);
    let mut rows = |from: usize, to: usize, elements| {
        if to > from {
            pieces.push_back(BatchPart {
                batch: batch.clone(),
                rows: (from, to - from),
                elements,
            });
        }
    };
    for row in 0..batch.num_rows() {
        let columns = lists.iter().filter_map(|index| batch.columns().get(*index));
        let longest = columns.map(|column| length(column, row)).max().unwrap_or(0);
        if longest > max_elements {
            rows(start, row, None);
            for first in (0..longest).step_by(max_elements) {
                rows(row, row + 1, Some((lists.clone(), first, max_elements)));
            }
            (start, elements_before) = (row + 1, 0);
        } else if elements_before + longest > max_elements {
            rows(start, row, None);
            (start, elements_before) = (row, longest);
        } else {
            elements_before += longest;
        }
    }
    rows(start, batch.num_rows(), None);
    pieces
}

/// Returns the number of elements of the list in a row.
fn length(column: &ArrayRef, row: usize) -> usize {
    if column.is_null(row) {
        return 0;
    }
    match column.data_type() {
        DataType::List(_) => {
            usize::try_from(column.as_list::<i32>().value_length(row)).unwrap_or(0)
        }
        DataType::LargeList(_) => {
            usize::try_from(column.as_list::<i64>().value_length(row)).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Returns `count` elements, starting at `first`, of the list in the only row of `column`. Null if the list has no such
/// elements.
fn element_range(column: &ArrayRef, first: usize, count: usize) -> Result<ArrayRef> {
    let length = length(column, 0);
    let data_type = column.data_type();
    if first >= length {
        return Ok(new_null_array(data_type, 1));
    }
    let count = count.min(length - first);
    macro_rules! list {
        ($offset:ty, $field:expr) => {{
            let elements = column.as_list::<$offset>().value(0).slice(first, count);
            let offsets = arrow::buffer::OffsetBuffer::from_lengths([count]);
            let list = arrow::array::GenericListArray::<$offset>::try_new(
                $field.clone(),
                offsets,
                elements,
                None,
            )?;
            Ok(Arc::new(list) as ArrayRef)
        }};
    }
    match data_type {
        DataType::List(field) => list!(i32, field),
        DataType::LargeList(field) => list!(i64, field),
        _ => Ok(column.clone()),
    }
}
