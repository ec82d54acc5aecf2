//! Skips the join of EXCEPT if both sides have the same rows in the same order.
//!
//! Most checks of pipelines compare identifiers that are in the same order. Therefore both sides are first compared row by
//! row. At the first difference, the join runs and reads both sides again.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion_common::{Result, internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::{EmptyRecordBatchStream, ExecutionPlan as _};
use futures::{StreamExt, TryStreamExt};

use super::operator::{Batches, Node, Operator, Plan};
use super::{Guard, Scan};

/// Returns whether a plan consists only of a scan, projections and guards, so that reading its rows twice is cheap.
fn reads_only(plan: &Plan) -> bool {
    let passes = plan.is::<ProjectionExec>() || Node::<Guard>::downcast(plan.as_ref()).is_some();
    Node::<Scan>::downcast(plan.as_ref()).is_some()
        || passes && plan.children().into_iter().all(reads_only)
}

/// Returns no rows if both sides are equal, otherwise the rows of the join. The operator has three inputs: the two
/// sides and the join.
#[derive(Debug)]
pub(crate) struct SameRows {
    keys: [Vec<usize>; 2],
}

impl SameRows {
    /// Compares two inputs by some of their columns before `join` runs.
    ///
    /// `join` must return the rows of one input that have no equal row in the other input. If the inputs differ, `join`
    /// reads them a second time. Therefore inputs that compute something are not compared.
    pub(crate) fn around(join: Plan, inputs: [(Plan, Vec<usize>); 2]) -> Plan {
        if !inputs.iter().all(|(input, _)| reads_only(input)) {
            return join;
        }
        let properties = Arc::clone(join.properties());
        let [(one, keys), (other, other_keys)] = inputs;
        let keys = [keys, other_keys];
        Node::plan(SameRows { keys }, vec![one, other, join], properties)
    }

    pub(crate) fn join_index(&self) -> usize {
        2
    }
}

impl Operator for SameRows {
    const NAME: &'static str = "SameRows";
    const KEEPS_ORDER: &'static [bool] = &[false, false, true];

    fn details(&self) -> String {
        let [one, other] = &self.keys;
        format!("{one:?} and {other:?}")
    }

    fn start(&self, node: &Node<SameRows>, context: &Arc<TaskContext>) -> Result<Batches> {
        let side = |index: usize, keys: &[usize]| -> Result<SideReader> {
            Ok(SideReader {
                input: node.input(index, context)?,
                keys: keys.to_vec(),
                batch: None,
            })
        };
        let [one, other] = &self.keys;
        let (one, other) = (side(0, one)?, side(1, other)?);
        let Some(join) = node.inputs.get(self.join_index()).cloned() else {
            return internal_err!("a comparison has no join");
        };
        let (schema, context) = (node.schema(), Arc::clone(context));
        let rest = async move {
            match is_same(one, other).await? {
                true => {
                    Ok(Box::pin(EmptyRecordBatchStream::new(schema)) as SendableRecordBatchStream)
                }
                false => join.execute(0, context),
            }
        };
        Ok(Box::pin(futures::stream::once(rest).try_flatten()))
    }
}

/// Reads the rows of one side.
struct SideReader {
    input: SendableRecordBatchStream,
    keys: Vec<usize>,
    /// The rows of the current batch that were not compared yet.
    batch: Option<RecordBatch>,
}

impl SideReader {
    /// Reads the next batch if the current batch is empty. Returns `None` at the end.
    async fn batch(&mut self) -> Result<Option<&RecordBatch>> {
        while self.batch.as_ref().is_none_or(|one| one.num_rows() == 0) {
            self.batch = match self.input.next().await.transpose()? {
                Some(batch) => Some(batch),
                None => return Ok(None),
            };
        }
        Ok(self.batch.as_ref())
    }

    /// Removes the first `count` rows of the current batch, and returns their keys.
    fn take(&mut self, count: usize) -> Vec<ArrayRef> {
        let Some(batch) = self.batch.take() else {
            return Vec::new();
        };
        let keys = self.keys.iter();
        let keys = keys.map(|key| batch.column(*key).slice(0, count));
        let keys = keys.collect();
        self.batch = Some(batch.slice(count, batch.num_rows() - count));
        keys
    }
}

async fn is_same(mut one: SideReader, mut other: SideReader) -> Result<bool> {
    loop {
        let rows = one.batch().await?.map(RecordBatch::num_rows);
        let others = other.batch().await?.map(RecordBatch::num_rows);
        let (Some(rows), Some(others)) = (rows, others) else {
            return Ok(rows == others);
        };
        let count = rows.min(others);
        if one.take(count) != other.take(count) {
            return Ok(false);
        }
    }
}
