//! Implements DataFusion's [`ExecutionPlan`] once for all operators of this crate.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::Stream;

/// A tree of operators.
pub(crate) type Plan = Arc<dyn ExecutionPlan>;

/// A stream of batches. Each batch is computed when it is read.
pub(super) type Batches = Pin<Box<dyn Stream<Item = Result<RecordBatch>> + Send>>;

/// An operator of this crate.
pub(crate) trait Operator: fmt::Debug + Send + Sync + Sized + 'static {
    const NAME: &'static str;
    /// For each input: whether the output rows have the order of this input.
    const KEEPS_ORDER: &'static [bool];

    /// Returns the stream of the operator's rows. `node` contains the operator's inputs.
    fn start(&self, node: &Node<Self>, context: &Arc<TaskContext>) -> Result<Batches>;

    /// Describes the operator in a printed plan.
    fn details(&self) -> String {
        String::new()
    }
}

/// An operator with its inputs, as a node of DataFusion's plan.
#[derive(Debug)]
pub(crate) struct Node<T> {
    operator: Arc<T>,
    pub(super) inputs: Vec<Plan>,
    properties: Arc<PlanProperties>,
}

impl<T: Operator> Node<T> {
    pub(crate) fn downcast(plan: &dyn ExecutionPlan) -> Option<&T> {
        let node = plan.downcast_ref::<Node<T>>();
        node.map(|node| node.operator.as_ref())
    }

    pub(super) fn plan(operator: T, inputs: Vec<Plan>, properties: Arc<PlanProperties>) -> Plan {
        Arc::new(Node {
            operator: Arc::new(operator),
            inputs,
            properties,
        })
    }

    /// Creates a node whose rows have the properties of its input.
    pub(super) fn above(operator: T, input: Plan) -> Plan {
        let properties = Arc::clone(input.properties());
        Node::plan(operator, vec![input], properties)
    }

    pub(super) fn operator(&self) -> Arc<T> {
        Arc::clone(&self.operator)
    }

    /// Starts an input, and returns the stream of its rows.
    pub(super) fn input(
        &self,
        index: usize,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        match self.inputs.get(index) {
            Some(input) => input.execute(0, Arc::clone(context)),
            None => internal_err!("{} has {} inputs", T::NAME, self.inputs.len()),
        }
    }
}

impl<T: Operator> DisplayAs for Node<T> {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", T::NAME, self.operator.details())
    }
}

impl<T: Operator> ExecutionPlan for Node<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        T::KEEPS_ORDER.to_vec()
    }

    fn children(&self) -> Vec<&Plan> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        inputs: Vec<Plan>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Plan> {
        if inputs.len() != self.inputs.len() {
            return internal_err!("{} has {} inputs", T::NAME, self.inputs.len());
        }
        Ok(Arc::new(Node {
            operator: Arc::clone(&self.operator),
            inputs,
            properties: Arc::clone(&self.properties),
        }))
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Plan>) -> Result<Plan> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(inputs, options)
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batches = self.operator.start(self, &context)?;
        let stream = RecordBatchStreamAdapter::new(self.schema(), batches);
        Ok(Box::pin(stream))
    }
}

/// Returns properties of rows with a schema. No order is stated.
pub(super) fn properties_of(schema: SchemaRef) -> Arc<PlanProperties> {
    properties_with(schema, None)
}

/// Returns properties of rows with a schema and, if given, an order.
pub(super) fn properties_with(
    schema: SchemaRef,
    order: Option<LexOrdering>,
) -> Arc<PlanProperties> {
    let properties = PlanProperties::new(
        EquivalenceProperties::new_with_orderings(schema, order),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    // Guards check for cancellation, so DataFusion adds no checks.
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}

/// Returns a batch of `rows` rows, which may have no columns.
pub(super) fn batch_of(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
    Ok(batch?)
}
