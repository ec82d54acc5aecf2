//! Shared implementation of this crate's physical operators.
//!
//! DataFusion's [`ExecutionPlan`] has many methods that are implemented in the same way by all operators of this crate.
//! [`Operator`] contains the methods that differ, and [`Node`] implements `ExecutionPlan` for any operator.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

pub(crate) type Plan = Arc<dyn ExecutionPlan>;

/// The behaviour of an operator.
pub(crate) trait Operator: fmt::Debug + Send + Sync + Sized + 'static {
    /// Name in printed plans.
    const NAME: &'static str;
    /// For each input, whether the output rows have its order.
    const KEEPS_ORDER: &'static [bool];

    /// Schema, ordering and partitioning of the output.
    fn properties(&self) -> &Arc<PlanProperties>;

    /// Returns the plans that the operator reads.
    fn inputs(&self) -> Vec<&Plan>;

    /// Returns the same operator with different inputs. `None` if their number is wrong.
    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<Self>;

    /// Starts to produce the output.
    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;

    /// Returns the operator's parameters, for a printed plan.
    fn details(&self) -> String {
        String::new()
    }
}

/// A plan node that contains an operator.
#[derive(Debug)]
pub(crate) struct Node<T>(T);

impl<T: Operator> Node<T> {
    /// Returns the operator of a plan node if it has type `T`.
    pub(crate) fn downcast(plan: &dyn ExecutionPlan) -> Option<&T> {
        plan.downcast_ref::<Node<T>>().map(|node| &node.0)
    }

    pub(super) fn plan(operator: T) -> Plan {
        Arc::new(Node(operator))
    }
}

impl<T: Operator> DisplayAs for Node<T> {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", T::NAME, self.0.details())
    }
}

impl<T: Operator> ExecutionPlan for Node<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        T::KEEPS_ORDER.to_vec()
    }

    fn children(&self) -> Vec<&Plan> {
        self.0.inputs()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Plan>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Plan> {
        match self.0.with_inputs(children) {
            Some(operator) => Ok(Node::plan(operator)),
            None => internal_err!("{} has {} inputs", T::NAME, self.0.inputs().len()),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.0.start(partition, context)
    }
}

/// Returns the properties of an operator whose rows have a schema, and an order that is not stated.
pub(super) fn properties_of(schema: SchemaRef) -> Arc<PlanProperties> {
    let properties = PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    // Guards check for cancellation between operators, so DataFusion need not add its own checks.
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}
