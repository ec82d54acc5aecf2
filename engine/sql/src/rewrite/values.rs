//! Replaces expressions that could overflow or use unbounded memory with checked functions.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::{Arithmetic, bounded, checked_function};

/// Replaces integer arithmetic with functions that fail if the result exceeds 64 bits, and functions whose result size
/// depends on a value with bounded ones. Keeps the names of columns.
#[derive(Debug)]
pub(super) struct CheckValues;

impl AnalyzerRule for CheckValues {
    fn name(&self) -> &str {
        "check_values"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(rewrite)?.data)
    }
}

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let rewritten = expr.transform_up(|expr| rewrite_expr(expr, &schema))?;
        Ok(rewritten.update_data(|expr| name.restore(expr)))
    })?
    .map_data(LogicalPlan::recompute_schema)
}

/// Returns an expression with the same replacements.
pub(crate) fn checked_form(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(expr.transform_up(|expr| rewrite_expr(expr, schema))?.data)
}

fn rewrite_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let function = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let kind = match op {
                Operator::Plus => Arithmetic::Add,
                Operator::Minus => Arithmetic::Subtract,
                Operator::Multiply => Arithmetic::Multiply,
                Operator::Divide => Arithmetic::Divide,
                Operator::Modulo => Arithmetic::Remainder,
                Operator::StringConcat => Arithmetic::Join,
                _ => return Ok(Transformed::no(expr)),
            };
            let data_type = left.get_type(schema)?;
            if right.get_type(schema)? != data_type {
                return Ok(Transformed::no(expr));
            }
            let applies = match kind {
                Arithmetic::Join => data_type == DataType::Utf8,
                _ => data_type.is_integer(),
            };
            applies.then_some(kind)
        }
        Expr::Negative(inner) => inner
            .get_type(schema)?
            .is_integer()
            .then_some(Arithmetic::Negate),
        // With one argument, `trunc` returns 0.0 for -0.0. With two, it keeps the sign.
        Expr::ScalarFunction(ScalarFunction { func, args })
            if func.name() == "trunc" && args.len() == 1 =>
        {
            let args = args.iter().cloned().chain([lit(0_i64)]).collect();
            let func = func.clone();
            let call = ScalarFunction { func, args };
            return Ok(Transformed::yes(Expr::ScalarFunction(call)));
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            return Ok(match bounded(func) {
                Some(func) => Transformed::yes(Expr::ScalarFunction(ScalarFunction {
                    func,
                    args: args.clone(),
                })),
                None => Transformed::no(expr),
            });
        }
        _ => None,
    };
    let Some(function) = function else {
        return Ok(Transformed::no(expr));
    };
    let args = match expr {
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => vec![*left, *right],
        Expr::Negative(inner) => vec![*inner],
        other => return Ok(Transformed::no(other)),
    };
    let func = Arc::new(checked_function(function));
    Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction {
        func,
        args,
    })))
}
