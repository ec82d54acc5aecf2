//! Rejects constant expressions that would fail at run time. This check runs when the pipeline is loaded.
//!
//! It finds constants that fail (`CAST('x' AS BIGINT)`), integer division by a constant zero, and invalid regular
//! expressions. It also rejects ORDER BY and PARTITION BY keys without a column, because they have no effect.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, lit,
};

use super::types::{input_schema, span};
use crate::rewrite::checked_form;
use crate::{QueryError, Session};

/// Returns an error if an expression of the plan has a constant that fails.
pub(crate) fn check(session: &Session, plan: &LogicalPlan) -> std::result::Result<(), QueryError> {
    let mut found = None;
    let walk = plan.apply_with_subqueries(|node| {
        if found.is_none() {
            found = in_node(&session.state, node)?;
        }
        Ok(if found.is_some() {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    });
    walk.map_err(|error| QueryError::plan(&error))?;
    found.map_or(Ok(()), Err)
}

fn in_node(state: &SessionState, node: &LogicalPlan) -> Result<Option<QueryError>> {
    if let LogicalPlan::Sort(sort) = node
        && let Some(key) = sort.expr.iter().find(|key| is_without_column(&key.expr))
    {
        return Ok(Some(useless_key_error("ORDER BY", &key.expr)));
    }
    let Some(schema) = input_schema(node)? else {
        return Ok(None);
    };
    let mut found = None;
    node.apply_expressions(|expr| {
        if matches!(expr, Expr::Column(_)) {
            return Ok(TreeNodeRecursion::Continue);
        }
        expr.apply(|inner| {
            if found.is_none() {
                found = in_expr(state, inner, &schema)?;
            }
            // The entire constant has been computed, so its parts need no check.
            Ok(if is_plain_constant(inner) {
                TreeNodeRecursion::Jump
            } else {
                TreeNodeRecursion::Continue
            })
        })
    })?;
    Ok(found)
}

fn in_expr(state: &SessionState, expr: &Expr, schema: &DFSchema) -> Result<Option<QueryError>> {
    match expr {
        Expr::WindowFunction(call) => {
            let order = call.params.order_by.iter().map(|key| &key.expr);
            let useless_order = order.clone().find(|key| is_without_column(key));
            if let Some(key) = useless_order {
                return Ok(Some(useless_key_error("ORDER BY", key)));
            }
            let useless_part = call
                .params
                .partition_by
                .iter()
                .find(|key| is_without_column(key));
            Ok(useless_part.map(|key| useless_key_error("PARTITION BY", key)))
        }
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Divide | Operator::Modulo,
            right,
        }) if is_plain_constant(right) => {
            let Ok(divisor) = computed(state, right) else {
                return Ok(None);
            };
            let is_whole = divisor.data_type().is_integer();
            let zero = ScalarValue::new_zero(&divisor.data_type());
            // Division by a zero that is not an integer returns infinity, as in pandas.
            let is_integer = left.get_type(schema)?.is_integer();
            if is_whole && is_integer && zero.is_ok_and(|zero| zero == divisor) {
                return Ok(Some(QueryError::Rejected {
                    message: format!("`{}` divides by zero", expr.human_display()),
                    place: span(expr),
                    help: None,
                }));
            }
            Ok(None)
        }
        Expr::BinaryExpr(BinaryExpr {
            op:
                Operator::RegexMatch
                | Operator::RegexIMatch
                | Operator::RegexNotMatch
                | Operator::RegexNotIMatch,
            right,
            ..
        }) => Ok(pattern(state, right, None)),
        Expr::ScalarFunction(ScalarFunction { func, args })
            if func.name().starts_with("regexp_") =>
        {
            let flags = flags_at(func.name()).and_then(|place| args.get(place));
            Ok(args.get(1).and_then(|text| pattern(state, text, flags)))
        }
        constant if is_plain_constant(constant) => Ok(match computed(state, constant) {
            Err(error) => Some(QueryError::Rejected {
                message: format!(
                    "`{}` cannot be computed: {}",
                    constant.human_display(),
                    cause(&error)
                ),
                place: None,
                help: None,
            }),
            Ok(_) => None,
        }),
        _ => Ok(None),
    }
}

/// Position of the flags among a function's arguments. The flags of `regexp_replace` are not checked, because the flag
/// `g` is valid only there.
fn flags_at(function: &str) -> Option<usize> {
    match function {
        "regexp_like" | "regexp_match" => Some(2),
        "regexp_count" => Some(3),
        "regexp_instr" => Some(4),
        _ => None,
    }
}

/// Compiles a constant pattern by matching it with an empty text. Returns the error if the pattern is invalid.
fn pattern(state: &SessionState, text: &Expr, flags: Option<&Expr>) -> Option<QueryError> {
    let Expr::Literal(value, _) = text else {
        return None;
    };
    let mut args = vec![lit(""), text.clone()];
    if let Some(flags @ Expr::Literal(..)) = flags {
        args.push(flags.clone());
    }
    let function = state.scalar_functions().get("regexp_like")?;
    let trial = Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args));
    let error = computed(state, &trial).err()?;
    let message = error.strip_backtrace();
    // DataFusion's message consists of the pattern, a mark below the error in the pattern, and a line with the reason.
    let why = message
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("error: "));
    let why = why.unwrap_or_else(|| first_line(&message));
    Some(QueryError::Rejected {
        message: format!("invalid regular expression `{value}`: {why}"),
        place: None,
        help: Some("escape special characters with a backslash: `\\(`".to_owned()),
    })
}

/// Returns the reason for an error, without the names of DataFusion's components.
fn cause(error: &datafusion::error::DataFusionError) -> String {
    let message = error.find_root().strip_backtrace();
    let last = first_line(&message).rsplit(" error: ").next();
    last.unwrap_or_default().to_owned()
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

fn useless_key_error(clause: &str, key: &Expr) -> QueryError {
    QueryError::Rejected {
        message: format!(
            "`{clause} {}` names no column, so it has no effect",
            key.human_display()
        ),
        place: None,
        help: None,
    }
}

/// Returns whether an expression contains neither a column nor a part that is computed from other rows.
fn is_without_column(expr: &Expr) -> bool {
    let depends = |inner: &Expr| {
        Ok(matches!(
            inner,
            Expr::Column(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::AggregateFunction(_)
                | Expr::WindowFunction(_)
                | Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::Unnest(_)
        ))
    };
    // The closure does not fail.
    !expr.exists(depends).unwrap_or(true)
}

/// Returns whether an expression consists only of literals, casts and arithmetic. These are cheap to compute.
fn is_plain_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Cast(cast) => is_plain_constant(&cast.expr),
        Expr::Negative(inner) => is_plain_constant(inner),
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
            is_plain_constant(left) && is_plain_constant(right)
        }
        _ => false,
    }
}

fn computed(state: &SessionState, expr: &Expr) -> Result<ScalarValue> {
    if let Expr::Literal(value, _) = expr {
        return Ok(value.clone());
    }
    let checked = checked_form(expr.clone(), &DFSchema::empty())?;
    let physical = state.create_physical_expr(checked, &DFSchema::empty())?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let schema = Arc::new(Schema::empty());
    let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options)?;
    match physical.evaluate(&batch)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0),
    }
}
