//! Hides conditions that compare a column with an expression.
//!
//! From a condition such as `a / 3 = a`, DataFusion derives that rows that are sorted by one side are also sorted by the
//! other side. For window functions, it then replaces the partition key by the expression, does not find the key in the
//! order any more, and rejects its own plan ("Expects PARTITION BY expression to be ordered"). This rule writes such a
//! condition as `(a / 3 = a) IS TRUE`, from which DataFusion derives nothing, and which keeps the same rows.
//!
//! Conditions between two columns, or between a column and a constant, stay as they are. The rule is the last one, so
//! conditions have already become keys of joins.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

#[derive(Debug)]
pub(super) struct HideEqualities;

impl OptimizerRule for HideEqualities {
    fn name(&self) -> &str {
        "hide_equalities"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = plan else {
            return Ok(Transformed::no(plan));
        };
        let conditions = split_conjunction_owned(filter.predicate.clone());
        if !conditions.iter().any(is_derived_from) {
            return Ok(Transformed::no(LogicalPlan::Filter(filter)));
        }
        let conditions =
            conditions
                .into_iter()
                .map(|condition| match is_derived_from(&condition) {
                    true => Expr::IsTrue(Box::new(condition)),
                    false => condition,
                });
        let Some(predicate) = conjunction(conditions) else {
            return Ok(Transformed::no(LogicalPlan::Filter(filter)));
        };
        let hidden = Filter::try_new(predicate, filter.input)?;
        Ok(Transformed::yes(LogicalPlan::Filter(hidden)))
    }
}

/// Returns whether DataFusion would derive an order from a condition, which is not just one between columns and
/// constants.
fn is_derived_from(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = condition
    else {
        return false;
    };
    let is_simple = |side: &Expr| matches!(side, Expr::Column(_) | Expr::Literal(..));
    !(is_simple(left) && is_simple(right)) && (is_column(left) || is_column(right))
}

fn is_column(side: &Expr) -> bool {
    matches!(side, Expr::Column(_))
}
