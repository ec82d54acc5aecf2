//! Skips the join of EXCEPT if both sides have the same rows in the same order.
//!
//! Most checks of pipelines verify that two files list the same identifiers, and the files usually have the same order.
//! In that case a lookup is unnecessary: both sides are read in parallel and compared. At the first difference, the
//! comparison ends and the join runs, which reads both sides again.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{EmptyRecordBatchStream, PlanProperties};
use futures::{StreamExt, TryStreamExt};

use super::operator::{Node, Operator, Plan};
use super::{Guard, Scan};

/// Returns whether a plan only reads a relation.
fn reads_only(plan: &Plan) -> bool {
    let passes = plan.is::<ProjectionExec>() || Node::<Guard>::downcast(plan.as_ref()).is_some();
    Node::<Scan>::downcast(plan.as_ref()).is_some()
        || passes && plan.children().into_iter().all(reads_only)
}

/// One side of a join, and the columns to compare.
#[derive(Debug, Clone)]
struct JoinSide {
    input: Plan,
    keys: Vec<usize>,
}

impl JoinSide {
    fn start(&self, partition: usize, context: &Arc<TaskContext>) -> Result<SideReader> {
        Ok(SideReader {
            input: self.input.execute(partition, Arc::clone(context))?,
            keys: self.keys.clone(),
            batch: None,
        })
    }
}

/// Returns no rows if both sides have the same rows, and the result of the join otherwise.
#[derive(Debug)]
pub(crate) struct SameRows {
    one: JoinSide,
    other: JoinSide,
    join: Plan,
}

impl SameRows {
    /// Compares two inputs before `join` runs, which keeps the rows of one without an equal row in the other. The inputs
    /// are given with the columns to compare, and have the same number of rows. They are read twice, so an input that
    /// computes something is not compared.
    pub(crate) fn around(join: Plan, inputs: [(Plan, Vec<usize>); 2]) -> Plan {
        if !inputs.iter().all(|(input, _)| reads_only(input)) {
            return join;
        }
        let [one, other] = inputs.map(|(input, keys)| JoinSide { input, keys });
        Node::plan(SameRows { one, other, join })
    }

    /// Returns the index of the join among the inputs. The other inputs are only compared.
    pub(crate) fn join_index(&self) -> usize {
        2
    }
}

impl Operator for SameRows {
    const NAME: &'static str = "SameRows";
    const KEEPS_ORDER: &'static [bool] = &[false, false, true];

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn inputs(&self) -> Vec<&Plan> {
        vec![&self.one.input, &self.other.input, &self.join]
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<SameRows> {
        let [one, other, join] = inputs.try_into().ok()?;
        let side = |input, side: &JoinSide| JoinSide {
            input,
            keys: side.keys.clone(),
        };
        Some(SameRows {
            one: side(one, &self.one),
            other: side(other, &self.other),
            join,
        })
    }

    fn details(&self) -> String {
        format!("{:?} and {:?}", self.one.keys, self.other.keys)
    }

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let one = self.one.start(partition, &context)?;
        let other = self.other.start(partition, &context)?;
        let (join, schema) = (Arc::clone(&self.join), self.join.schema());
        let rest = async move {
            match is_same(one, other).await? {
                true => {
                    Ok(Box::pin(EmptyRecordBatchStream::new(schema)) as SendableRecordBatchStream)
                }
                false => join.execute(partition, context),
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.join.schema(),
            futures::stream::once(rest).try_flatten(),
        )))
    }
}

/// Reads one side of the join batch by batch.
struct SideReader {
    input: SendableRecordBatchStream,
    keys: Vec<usize>,
    /// The remaining rows of the last batch.
    batch: Option<RecordBatch>,
}

impl SideReader {
    /// Reads the next batch if the current one is empty. `None` at the end.
    async fn batch(&mut self) -> Result<Option<&RecordBatch>> {
        while self.batch.as_ref().is_none_or(|one| one.num_rows() == 0) {
            self.batch = match self.input.next().await.transpose()? {
                Some(batch) => Some(batch),
                None => return Ok(None),
            };
        }
        Ok(self.batch.as_ref())
    }

    /// Removes the first `count` rows from the batch and returns their keys.
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

/// Returns whether two sides have the same keys in the same order.
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
