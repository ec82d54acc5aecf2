//! Operators of our own.
//!
//! DataFusion's [`ExecutionPlan`] asks an operator for much that is the same for all of ours. [`Operator`] is what differs,
//! and [`Node`] the plan that is made of it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

pub(super) type Plan = Arc<dyn ExecutionPlan>;

/// What an operator is and does.
pub(super) trait Operator: fmt::Debug + Send + Sync + Sized + 'static {
    const NAME: &'static str;
    /// Whether rows leave in the order in which they come in.
    const KEEPS_ORDER: bool = false;

    fn properties(&self) -> &Arc<PlanProperties>;

    fn inputs(&self) -> Vec<&Plan>;

    /// The same operator with other inputs. None: there are too many or too few.
    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<Self>;

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;

    /// What tells it from others of its kind in a printed plan.
    fn details(&self) -> String;

    /// Whether [`statistics`](Operator::statistics) depend on those of the inputs.
    const READS_STATISTICS: bool = false;

    /// What is known about its rows.
    fn statistics(&self, _inputs: &[Arc<Statistics>]) -> Arc<Statistics> {
        let schema = self.properties().equivalence_properties().schema();
        Arc::new(Statistics::new_unknown(schema))
    }

    /// After how many rows it stops.
    fn limit(&self) -> Option<usize> {
        None
    }

    /// The same operator that stops after so many rows, if it can.
    fn with_limit(&self, _limit: Option<usize>) -> Option<Self> {
        None
    }
}

/// The plan of an operator.
#[derive(Debug)]
pub(crate) struct Node<T>(T);

impl<T: Operator> Node<T> {
    /// The operator of a plan, if it is one of these.
    pub(super) fn of(plan: &dyn ExecutionPlan) -> Option<&T> {
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
        vec![T::KEEPS_ORDER; self.0.inputs().len()]
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

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        let request = || match T::READS_STATISTICS {
            true => ChildStats::At(partition),
            false => ChildStats::Skip,
        };
        self.0.inputs().iter().map(|_| request()).collect()
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(self.0.statistics(inputs))
    }

    fn fetch(&self) -> Option<usize> {
        self.0.limit()
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Plan> {
        self.0.with_limit(limit).map(Node::plan)
    }
}

/// Replaces operators of a plan, from the leaves up.
pub(super) struct Rule {
    pub name: &'static str,
    /// What takes the place of an operator; none if it stays.
    pub replace: fn(&Plan, &ConfigOptions) -> Result<Option<Plan>>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PhysicalOptimizerRule for Rule {
    fn optimize(&self, plan: Plan, config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|plan| {
            Ok(match (self.replace)(&plan, config)? {
                Some(other) => Transformed::yes(other),
                None => Transformed::no(plan),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }
}
