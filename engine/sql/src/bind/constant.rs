//! Evaluates constant expressions when a query is resolved.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Schema};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, ScalarValue};
use datafusion_expr::ColumnarValue;
use prep_spec::query::tree::{self, Operator};

use super::types::{refused, rejected, text};
use crate::QueryError;
use crate::error::{message_of, regex_fault};
use crate::functions::{compiled, is_operator_name};
use crate::lower::physical_constant;
use crate::relational::{Expr, ExprKind};

/// Replaces an expression by its value if all its operands are literals.
///
/// Returns an error if an operator or a cast fails. If a function fails, the call remains in the query, and fails only if
/// a row needs its value.
pub(super) fn folded(expr: Expr, source: &tree::Expr) -> Result<Expr, QueryError> {
    let children = expr.children();
    let is_constant = children.iter().all(|child| child.as_literal().is_some());
    if children.is_empty() || !is_constant {
        return Ok(expr);
    }
    match value(&expr) {
        Ok(value) => Ok(Expr::literal(value, expr.at)),
        Err(error) if is_plain(&expr.kind) => {
            let message = format!(
                "`{}` cannot be computed: {}",
                text(source),
                message_of(&error)
            );
            Err(refused(source.at, message))
        }
        Err(_) => Ok(expr),
    }
}

/// Returns whether an expression is an operator or a cast, and not a call of a function.
fn is_plain(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Call { function, .. } => is_operator_name(function.name()),
        ExprKind::Cast { .. } | ExprKind::Binary(..) => true,
        _ => false,
    }
}

/// Computes the value of an expression without columns.
pub(super) fn value(expr: &Expr) -> Result<ScalarValue, DataFusionError> {
    let options = Arc::new(ConfigOptions::default());
    let physical = physical_constant(expr, &options)?;
    let rows = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &rows)?;
    match physical.evaluate(&batch)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0),
    }
}

/// Rejects a division of integers by the constant 0.
pub(super) fn reject_zero_divisor(
    op: Operator,
    divisor: &Expr,
    source: &tree::Expr,
) -> Result<(), QueryError> {
    let divides = matches!(op, Operator::Divide | Operator::Remainder);
    if divides && divisor.as_literal() == Some(&ScalarValue::Int64(Some(0))) {
        let message = format!("`{}` divides by zero", text(source));
        let help = "use NULLIF(x, 0) as the divisor to make the result missing";
        return Err(rejected(source.at, message, Some(help)));
    }
    Ok(())
}

/// Rejects a constant pattern that is not a valid regular expression.
pub(super) fn check_pattern(
    pattern: &Expr,
    flags: Option<&Expr>,
    source: &tree::Expr,
) -> Result<(), QueryError> {
    let Some(ScalarValue::Utf8(Some(pattern))) = pattern.as_literal() else {
        return Ok(());
    };
    let flags = match flags.and_then(Expr::as_literal) {
        Some(ScalarValue::Utf8(Some(flags))) => flags,
        _ => "",
    };
    let Err(error) = compiled(pattern, flags) else {
        return Ok(());
    };
    let message = error.to_string();
    let why = regex_fault(&message);
    Err(rejected(
        source.at,
        format!("invalid regular expression `{pattern}`: {why}"),
        Some("escape special characters with a backslash: `\\(`"),
    ))
}

/// Returns the literal NULL with a type.
pub(super) fn null(data_type: &DataType) -> Expr {
    let value = ScalarValue::try_from(data_type).unwrap_or(ScalarValue::Null);
    Expr::literal(value, tree::Position::default())
}
