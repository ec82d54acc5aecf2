//! Operators that concatenate, number or limit rows, or return rows in memory.

use std::sync::Arc;
use std::task::{Poll, ready};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::{Result, internal_err};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{ExecutionPlan as _, PlanProperties};
use futures::{StreamExt, TryStreamExt};

use super::operator::{Batches, Node, Operator, Plan, batch_of, properties_of};

/// Returns the rows of all inputs, one input after the other.
#[derive(Debug)]
pub(crate) struct Concat;

impl Concat {
    pub(crate) fn plan(inputs: Vec<Plan>) -> Result<Plan> {
        let Some(first) = inputs.first() else {
            return internal_err!("a union must have at least one branch");
        };
        let schema = first.schema();
        let fields = schema.fields().iter();
        let fields = fields.map(|field| Field::new(field.name(), field.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Node::plan(Concat, inputs, properties_of(schema)))
    }
}

impl Operator for Concat {
    const NAME: &'static str = "Concat";
    // DataFusion's flags cannot express an order across inputs. `proof` has a rule for this operator.
    const KEEPS_ORDER: &'static [bool] = &[];

    fn start(&self, node: &Node<Concat>, context: &Arc<TaskContext>) -> Result<Batches> {
        let (schema, context) = (node.schema(), Arc::clone(context));
        let inputs = futures::stream::iter(node.inputs.clone());
        let batches = inputs.map(move |input| input.execute(0, Arc::clone(&context)));
        Ok(Box::pin(batches.try_flatten().map(move |batch| {
            let batch = batch?;
            batch_of(&schema, batch.columns().to_vec(), batch.num_rows())
        })))
    }
}

/// Adds a column with the number of each row, from 0.
#[derive(Debug)]
pub(crate) struct Numbered;

impl Numbered {
    pub(crate) fn plan(input: Plan, name: &str) -> Plan {
        let fields = input.schema().fields().iter().cloned().collect::<Vec<_>>();
        let number = Arc::new(Field::new(name, DataType::Int64, false));
        let fields = fields.into_iter().chain([number]).collect::<Vec<_>>();
        let properties = properties_of(Arc::new(Schema::new(fields)));
        Node::plan(Numbered, vec![input], properties)
    }
}

impl Operator for Numbered {
    const NAME: &'static str = "Numbered";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn start(&self, node: &Node<Numbered>, context: &Arc<TaskContext>) -> Result<Batches> {
        let schema = node.schema();
        let mut next = 0_i64;
        Ok(Box::pin(node.input(0, context)?.map(move |batch| {
            let batch = batch?;
            let count = batch.num_rows();
            let end = next.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(next..end));
            next = end;
            let columns = batch.columns().iter().cloned().chain([numbers]).collect();
            batch_of(&schema, columns, count)
        })))
    }
}

/// Returns rows in memory.
#[derive(Debug)]
pub(crate) struct Rows(Vec<RecordBatch>);

impl Rows {
    pub(crate) fn plan(batch: RecordBatch) -> Plan {
        let properties = properties_of(batch.schema());
        Rows::with_properties(vec![batch], properties)
    }

    pub(super) fn with_properties(
        batches: Vec<RecordBatch>,
        properties: Arc<PlanProperties>,
    ) -> Plan {
        Node::plan(Rows(batches), Vec::new(), properties)
    }

    pub(crate) fn is_single(&self) -> bool {
        self.0.iter().map(RecordBatch::num_rows).sum::<usize>() <= 1
    }
}

impl Operator for Rows {
    const NAME: &'static str = "Rows";
    const KEEPS_ORDER: &'static [bool] = &[];

    fn details(&self) -> String {
        format!("{} batches", self.0.len())
    }

    fn start(&self, _node: &Node<Rows>, _context: &Arc<TaskContext>) -> Result<Batches> {
        let batches = self.0.clone().into_iter().map(Ok);
        Ok(Box::pin(futures::stream::iter(batches)))
    }
}

/// Skips `skip` rows, and returns the next `fetch` rows.
#[derive(Debug)]
pub(crate) struct FirstRows {
    skip: usize,
    fetch: usize,
    /// Whether later rows are read, too, because they may cause errors. Otherwise the batch size would determine whether
    /// such an error is reported.
    reads_all: bool,
}

impl FirstRows {
    pub(crate) fn plan(input: Plan, skip: usize, fetch: Option<usize>, reads_all: bool) -> Plan {
        let first = FirstRows {
            skip,
            fetch: fetch.unwrap_or(usize::MAX),
            reads_all,
        };
        Node::above(first, input)
    }
}

impl Operator for FirstRows {
    const NAME: &'static str = "FirstRows";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn details(&self) -> String {
        format!("skip={}, fetch={}", self.skip, self.fetch)
    }

    fn start(&self, node: &Node<FirstRows>, context: &Arc<TaskContext>) -> Result<Batches> {
        let (mut skip, mut left, reads_all) = (self.skip, self.fetch, self.reads_all);
        let mut input = node.input(0, context)?;
        Ok(Box::pin(futures::stream::poll_fn(move |context| {
            loop {
                if left == 0 && !reads_all {
                    return Poll::Ready(None);
                }
                let batch = match ready!(input.poll_next_unpin(context)) {
                    Some(Ok(batch)) => batch,
                    end => return Poll::Ready(end),
                };
                let start = skip.min(batch.num_rows());
                let rows = left.min(batch.num_rows() - start);
                skip -= start;
                left -= rows;
                if rows > 0 {
                    return Poll::Ready(Some(Ok(batch.slice(start, rows))));
                }
            }
        })))
    }
}
