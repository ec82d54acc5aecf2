//! Hides the column equalities that DataFusion derives from joins, unions and filters.
//!
//! After a join on `a = id`, DataFusion treats rows ordered by `a` as also ordered by `id`. In rare cases it relies on
//! such an order and then does not find it in its own plan, for example after a projection removed `a`. It rejects such
//! a plan with an error. The query is then planned again with this rule. The rule hides the equalities, so that
//! DataFusion inserts all sorts that the plan needs.

use std::sync::Arc;

use datafusion::common::Statistics;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::PlanProperties;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::union::UnionExec;

use super::operator::{Node, Operator, Plan, Rule};

pub(super) const HIDE_EQUALITIES: Rule = Rule {
    name: "hide_equalities",
    replace: |plan, _| {
        let derives = plan.is::<HashJoinExec>()
            || plan.is::<SortMergeJoinExec>()
            || plan.is::<NestedLoopJoinExec>()
            || plan.is::<CrossJoinExec>()
            || plan.is::<UnionExec>()
            || plan.is::<FilterExec>();
        Ok(derives.then(|| Node::plan(HiddenEqualities::above(Arc::clone(plan)))))
    },
};

/// Passes its input rows on, and reports only their order.
#[derive(Debug)]
struct HiddenEqualities {
    input: Plan,
    properties: Arc<PlanProperties>,
}

impl HiddenEqualities {
    fn above(input: Plan) -> HiddenEqualities {
        let known = input.properties();
        let derived = known.equivalence_properties();
        let orderings = derived.oeq_class().iter().cloned();
        let schema = Arc::clone(derived.schema());
        let properties = PlanProperties::clone(known)
            .with_eq_properties(EquivalenceProperties::new_with_orderings(schema, orderings));
        HiddenEqualities {
            properties: Arc::new(properties),
            input,
        }
    }
}

impl Operator for HiddenEqualities {
    const NAME: &'static str = "HiddenEqualities";
    const KEEPS_ORDER: bool = true;
    const READS_STATISTICS: bool = true;

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn inputs(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn with_inputs(&self, inputs: Vec<Plan>) -> Option<HiddenEqualities> {
        let [input] = inputs.try_into().ok()?;
        Some(HiddenEqualities::above(input))
    }

    fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn statistics(&self, inputs: &[Arc<Statistics>]) -> Arc<Statistics> {
        match inputs {
            [input] => Arc::clone(input),
            _ => Arc::new(Statistics::new_unknown(
                self.properties.equivalence_properties().schema(),
            )),
        }
    }
}
