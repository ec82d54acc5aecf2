//! What stands between operators.

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

use super::operator::{Node, Operator, Plan, Rule};
use super::rows;
use super::watched::watched;
use crate::Grant;

/// Elements of lists that are unnested at a time.
const ELEMENTS: usize = 1 << 14;

/// Bytes that these elements make, since each gets a copy of what stands beside its list.
const ELEMENT_BYTES: usize = 8 << 20;

/// What a batch takes that has no columns, or nothing in them.
const BATCH_BYTES: usize = 1 << 10;

/// Puts a guard below every operator.
pub(super) const GUARD_BELOW: Rule = Rule {
    name: "guard_below",
    replace: |plan, config| {
        let plan = watched(Arc::clone(plan), config)?;
        let duties = duties(plan.as_ref());
        let children = plan.children().into_iter().zip(duties);
        let children = children.map(|(child, duty)| Guard::plan(child.clone(), duty));
        let children: Vec<Plan> = children.collect();
        if children.is_empty() {
            return Ok(None);
        }
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        plan.replace_children(children, options).map(Some)
    },
};

/// Puts a guard above all operators.
#[derive(Debug)]
pub(super) struct GuardAbove;

impl PhysicalOptimizerRule for GuardAbove {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        Ok(Guard::plan(plan, Duty::Pass))
    }

    fn name(&self) -> &str {
        "guard_above"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What a guard does beside looking for a stop.
#[derive(Debug, Clone, PartialEq)]
enum Duty {
    Pass,
    /// Counts the rows that pass: the operator above holds them and does not count them. `copied`: it holds them twice.
    Count {
        copied: bool,
        /// How many there are, as far as that is known.
        rows: Option<usize>,
    },
    /// Cuts batches and long lists in these columns.
    Cut(Arc<[usize]>),
}

/// The duties of the guards below an operator, child by child.
fn duties(plan: &dyn ExecutionPlan) -> Vec<Duty> {
    if plan.is::<WindowAggExec>() {
        let rows = plan
            .children()
            .first()
            .and_then(|input| rows(input.as_ref()));
        return vec![Duty::Count { copied: true, rows }];
    }
    if plan.is::<CrossJoinExec>() {
        let rows = plan
            .children()
            .first()
            .and_then(|input| rows(input.as_ref()));
        let copied = false;
        return vec![Duty::Count { copied, rows }, Duty::Pass];
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let lists = unnest.list_column_indices().iter();
        return vec![Duty::Cut(
            lists.map(|list| list.index_in_input_schema).collect(),
        )];
    }
    vec![Duty::Pass; plan.children().len()]
}

#[derive(Debug)]
struct Guard {
    input: Plan,
    duty: Duty,
}

impl Guard {
    fn plan(input: Plan, duty: Duty) -> Plan {
        Node::plan(Guard { input, duty })
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
        let duty = self.duty.clone();
        Some(Guard { input, duty })
    }

    fn details(&self) -> String {
        format!("{:?}", self.duty)
    }

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let reservation = matches!(self.duty, Duty::Count { .. })
            .then(|| MemoryConsumer::new("rows").register(context.memory_pool()));
        Ok(Box::pin(Guarded {
            schema: self.input.schema(),
            grant: context
                .session_config()
                .options()
                .extensions
                .get::<Grant>()
                .cloned(),
            input: self.input.execute(partition, context)?,
            duty: self.duty.clone(),
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

struct Guarded {
    schema: SchemaRef,
    grant: Option<Grant>,
    input: SendableRecordBatchStream,
    duty: Duty,
    /// What the operator above holds.
    reservation: Option<MemoryReservation>,
    /// Rows that it took.
    passed: usize,
    /// Pieces of the last batch: a stretch of rows, or of the lists in one row.
    cut: VecDeque<Piece>,
}

impl Guarded {
    fn pass(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        match &self.duty {
            Duty::Pass => Ok(Some(batch)),
            Duty::Count { copied, rows } => {
                let bytes = batch.get_array_memory_size().max(BATCH_BYTES);
                let bytes = bytes * if *copied { 2 } else { 1 };
                if let Some(reservation) = &self.reservation
                    && let Err(error) = reservation.try_grow(bytes)
                {
                    // Asked for once, so that what is said to be needed is what all rows take.
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
            Duty::Cut(lists) => {
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

impl Stream for Guarded {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(Err(stopped)) = self.grant.as_ref().map(Grant::check) {
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

impl RecordBatchStream for Guarded {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Some rows of a batch; of a single row, some elements of its lists.
struct Piece {
    batch: RecordBatch,
    rows: (usize, usize),
    /// Columns with lists, the first element that is taken of each, and how many.
    elements: Option<(Arc<[usize]>, usize, usize)>,
}

impl Piece {
    fn take(self) -> Result<RecordBatch> {
        let batch = self.batch.slice(self.rows.0, self.rows.1);
        let Some((lists, first, count)) = self.elements else {
            return Ok(batch);
        };
        let columns = batch.columns().iter().enumerate().map(|(index, column)| {
            if lists.contains(&index) {
                stretch(column, first, count)
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

/// Divides a batch so that no piece has many more than [`ELEMENTS`] elements in its lists.
fn pieces(batch: &RecordBatch, lists: &Arc<[usize]>) -> VecDeque<Piece> {
    let mut pieces = VecDeque::new();
    let beside = batch.columns().iter().enumerate();
    let beside = beside.filter(|(index, _)| !lists.contains(index));
    let beside: usize = beside
        .map(|(_, column)| column.get_array_memory_size())
        .sum();
    let width = beside / batch.num_rows().max(1) + 1;
    let most = (ELEMENT_BYTES / width).clamp(1, ELEMENTS);
    let (mut start, mut held) = (0, 0);
    let mut rows = |from: usize, to: usize, elements| {
        if to > from {
            pieces.push_back(Piece {
                batch: batch.clone(),
                rows: (from, to - from),
                elements,
            });
        }
    };
    for row in 0..batch.num_rows() {
        let columns = lists.iter().filter_map(|index| batch.columns().get(*index));
        let longest = columns.map(|column| length(column, row)).max().unwrap_or(0);
        if longest > most {
            rows(start, row, None);
            for first in (0..longest).step_by(most) {
                rows(row, row + 1, Some((lists.clone(), first, most)));
            }
            (start, held) = (row + 1, 0);
        } else if held + longest > most {
            rows(start, row, None);
            (start, held) = (row, longest);
        } else {
            held += longest;
        }
    }
    rows(start, batch.num_rows(), None);
    pieces
}

/// Elements of the list in a row.
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

/// Of the only row of `column`, the elements from `first` on; a missing list where there are none.
fn stretch(column: &ArrayRef, first: usize, count: usize) -> Result<ArrayRef> {
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
