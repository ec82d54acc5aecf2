//! Hides conditions that compare a column with an expression.
//!
//! From a condition such as `a / 3 = a`, DataFusion derives that rows sorted by one side are also sorted by the other
//! side. For window functions, it then replaces the partition key with the expression, does not find the key in the
//! order any more, and rejects its own plan ("Expects PARTITION BY expression to be ordered"). This rule rewrites the
//! condition as `(a / 3 = a) IS TRUE`. It keeps the same rows, but DataFusion derives nothing from it.
//!
//! Conditions between two columns, or between a column and a constant, do not change. The rule is the last one, so join
//! conditions have already become join keys.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator};
use datafusion::optimizer::ApplyOrder;

use super::LogicalRule;

pub(super) const HIDE_EQUALITIES: LogicalRule = LogicalRule {
    name: "hide_equalities",
    order: Some(ApplyOrder::BottomUp),
    rewrite,
};

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(filter) = plan else {
        return Ok(Transformed::no(plan));
    };
    let conditions = split_conjunction_owned(filter.predicate.clone());
    if !conditions.iter().any(is_derived_from) {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let conditions = conditions
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

/// Returns whether DataFusion would derive an order from an equality. Equalities of two columns, or of a column and a
/// constant, are excluded.
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
