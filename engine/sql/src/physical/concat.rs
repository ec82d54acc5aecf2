//! The rows of several inputs, one input after the other.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion_common::{Result, internal_err};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan as _;
use futures::{StreamExt, TryStreamExt};

use super::operator::{Batches, Node, Operator, Plan, batch_of, properties_of};

/// Reads its inputs one after the other. Rows keep the order in which the inputs return them.
#[derive(Debug)]
pub(crate) struct Concat;

impl Concat {
    /// Concatenates inputs whose columns have the same types and names.
    pub(crate) fn plan(inputs: Vec<Plan>) -> Result<Plan> {
        let Some(first) = inputs.first() else {
            return internal_err!("a union has at least one branch");
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
    // Rows of one input keep their order, and all rows of an input precede those of the next. `proof` knows this.
    const KEEPS_ORDER: &'static [bool] = &[];

    fn start(&self, node: &Node<Concat>, context: &Arc<TaskContext>) -> Result<Batches> {
        let (schema, context) = (node.schema(), Arc::clone(context));
        // Each input starts when the previous one has ended.
        let inputs = futures::stream::iter(node.inputs.clone());
        let batches = inputs.map(move |input| input.execute(0, Arc::clone(&context)));
        Ok(Box::pin(batches.try_flatten().map(move |batch| {
            let batch = batch?;
            batch_of(&schema, batch.columns().to_vec(), batch.num_rows())
        })))
    }
}
