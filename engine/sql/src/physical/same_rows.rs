//! Skips the join of EXCEPT if both sides have the same rows in the same order.
//!
//! Most checks of pipelines verify that two files list the same identifiers, and the files usually have the same order.
//! In that case a lookup is unnecessary: both sides are read in parallel and compared. At the first difference, the
//! comparison ends and the join runs, which reads both sides again.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::{JoinType, NullEquality};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{EmptyRecordBatchStream, PlanProperties};
use futures::{StreamExt, TryStreamExt};

use super::operator::{Node, Operator, Plan, Rule};
use super::{Scan, rows};

/// Replaces a join that searches for rows without a matching row with [`SameRows`], if both sides have the same number
/// of rows.
pub(super) const COMPARE_FIRST: Rule = Rule {
    name: "compare_first",
    replace: |plan, _| {
        let compared = plan.downcast_ref::<HashJoinExec>().and_then(compared_sides);
        Ok(compared.map(|[one, other]| {
            let join = Arc::clone(plan);
            Node::plan(SameRows { one, other, join })
        }))
    },
};

/// Returns the sides of a join whose result is empty if both sides have the same keys in the same order. `None` if the
/// join has no such property, or if the numbers of rows differ.
fn compared_sides(join: &HashJoinExec) -> Option<[JoinSide; 2]> {
    let is_difference = matches!(join.join_type(), JoinType::LeftAnti | JoinType::RightAnti);
    let is_plain = join.filter().is_none() && !join.null_aware && !join.contains_projection();
    // Missing values must be equal to each other. Otherwise they would match no row.
    let is_equal = join.null_equality() == NullEquality::NullEqualsNull;
    if !is_difference || !is_plain || !is_equal {
        return None;
    }
    let keys = join.on().iter();
    let (left, right) = keys
        .map(|(left, right)| Some((column(left)?, column(right)?)))
        .collect::<Option<(Vec<usize>, Vec<usize>)>>()?;
    let sides = [join.left(), join.right()];
    let [one, other] = sides.map(|side| rows(side.as_ref()));
    // A side that is read twice must be cheap to read, so it must not compute anything.
    (one? == other? && sides.into_iter().all(reads_only)).then(|| {
        [(join.left(), left), (join.right(), right)].map(|(input, keys)| JoinSide {
            input: Arc::clone(input),
            keys,
        })
    })
}

/// Returns whether a plan only reads a relation.
fn reads_only(plan: &Plan) -> bool {
    Node::<Scan>::downcast(plan.as_ref()).is_some()
        || plan.is::<ProjectionExec>() && plan.children().into_iter().all(reads_only)
}

fn column(key: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    Some(key.downcast_ref::<Column>()?.index())
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
struct SameRows {
    one: JoinSide,
    other: JoinSide,
    join: Plan,
}

impl Operator for SameRows {
    const NAME: &'static str = "SameRows";

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
