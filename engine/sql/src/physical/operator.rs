//! Shared implementation of this crate's physical operators.
//!
//! DataFusion's [`ExecutionPlan`] has many methods that are implemented in the same way by all operators of this crate.
//! [`Operator`] contains the methods that differ, and [`Node`] implements `ExecutionPlan` for any operator.

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

/// The behaviour of an operator.
pub(super) trait Operator: fmt::Debug + Send + Sync + Sized + 'static {
    /// Name in printed plans.
    const NAME: &'static str;
    /// Whether the output rows have the order of the input rows.
    const KEEPS_ORDER: bool = false;

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

    /// Whether the result of [`statistics`](Operator::statistics) depends on the statistics of the inputs.
    const READS_STATISTICS: bool = false;

    /// Returns the statistics of the output.
    fn statistics(&self, _inputs: &[Arc<Statistics>]) -> Arc<Statistics> {
        let schema = self.properties().equivalence_properties().schema();
        Arc::new(Statistics::new_unknown(schema))
    }

    /// Returns the number of rows after which the operator stops, if it has a limit.
    fn limit(&self) -> Option<usize> {
        None
    }

    /// Returns the same operator that stops after `limit` rows, if supported.
    fn with_limit(&self, _limit: Option<usize>) -> Option<Self> {
        None
    }
}

/// A plan node that contains an operator.
#[derive(Debug)]
pub(crate) struct Node<T>(T);

impl<T: Operator> Node<T> {
    /// Returns the operator of a plan node if it has type `T`.
    pub(super) fn downcast(plan: &dyn ExecutionPlan) -> Option<&T> {
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

/// An optimizer rule that replaces operators of a plan, from the leaves upward.
pub(super) struct Rule {
    pub name: &'static str,
    /// Returns the replacement of an operator, or `None` to keep it.
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
