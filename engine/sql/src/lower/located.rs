//! Finds the row for which an expression fails.
//!
//! Errors of operators name no row. If a query fails because of a value, the query is lowered again, with row numbers and
//! with [`Located`] around each expression that can fail. Bisection then finds the row.
//!
//! The results of GROUP BY, UNION ALL and unnest are not rows of a table. Therefore messages about these results show
//! only values.

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Int64Type, Schema};
use arrow::util::display::array_value_to_string;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use prep_spec::shortened;

use super::{Layout, Lowering};
use crate::error::{LocatedError, message_of, place};
use crate::relational::{Expr, ExprKind};

/// A message shows at most this number of values, and at most this number of characters of each value.
const MAX_SHOWN_VALUES: usize = 3;
const MAX_SHOWN_CHARACTERS: usize = 60;

/// An expression whose errors name the row.
#[derive(Debug)]
pub(super) struct Located {
    expr: Expr,
    physical: Arc<dyn PhysicalExpr>,
    layout: Layout,
    /// The name of each column. `None` if the query does not name the column.
    names: Vec<Option<String>>,
    /// For each table whose rows are known: the column with the row numbers, and the name of the table.
    rows: Vec<(usize, String)>,
    options: Arc<ConfigOptions>,
}

impl Located {
    pub(super) fn around(
        expr: &Expr,
        physical: Arc<dyn PhysicalExpr>,
        layout: &Layout,
        lowering: &Lowering<'_>,
    ) -> Arc<dyn PhysicalExpr> {
        let info = |id| lowering.catalog.get(id);
        let names = layout.columns.iter().map(|id| {
            let is_named = !lowering.is_row(*id);
            is_named.then(|| info(*id).name.clone())
        });
        let rows = layout.columns.iter().enumerate();
        let rows = rows
            .filter(|(_, id)| lowering.is_row(**id))
            .filter_map(|(index, id)| {
                let (table, _) = info(*id).source.clone()?;
                Some((index, table))
            });
        Arc::new(Located {
            expr: expr.clone(),
            physical,
            names: names.collect(),
            rows: rows.collect(),
            layout: layout.clone(),
            options: lowering.options.clone(),
        })
    }

    /// Finds the row and the innermost part of the expression that fail, and returns an error that names them.
    fn located(&self, error: DataFusionError, batch: &RecordBatch) -> DataFusionError {
        let (mut expr, mut error, mut batch) = (&self.expr, error, batch.clone());
        if let Some(row) = first_failing_row(&self.physical, &batch) {
            batch = batch.slice(row, 1);
            error = self.physical.evaluate(&batch).err().unwrap_or(error);
        }
        while batch.num_rows() == 1 {
            let evaluated = self.evaluated_parts(expr, &batch);
            let failing = evaluated.into_iter().find_map(|part| {
                let physical = self.layout.expr(part, &self.options).ok()?;
                let cause = physical.evaluate(&batch).err()?;
                (message_of(&cause) == message_of(&error)).then_some((part, cause))
            });
            match failing {
                Some((part, cause)) => (expr, error) = (part, cause),
                None => break,
            }
        }
        let message = self.message(expr, &error, &batch);
        let at = expr.at;
        DataFusionError::External(Box::new(LocatedError::new(error, message, place(at))))
    }

    /// Returns the parts of an expression that are evaluated for the row of `batch`, which must have exactly one row.
    fn evaluated_parts<'e>(&self, expr: &'e Expr, batch: &RecordBatch) -> Vec<&'e Expr> {
        let is = |condition: &Expr, expected: bool| {
            let physical = self.layout.expr(condition, &self.options).ok();
            let value = physical.and_then(|physical| physical.evaluate(batch).ok());
            let value = value.and_then(|value| value.into_array(1).ok());
            let value = value.and_then(|value| ScalarValue::try_from_array(&value, 0).ok());
            value == Some(ScalarValue::Boolean(Some(expected)))
        };
        match &expr.kind {
            ExprKind::Case {
                branches,
                otherwise,
            } => {
                let mut parts = Vec::new();
                for (when, then) in branches {
                    parts.push(when);
                    if is(when, true) {
                        parts.push(then);
                        return parts;
                    }
                }
                parts.extend(otherwise.as_deref());
                parts
            }
            ExprKind::Binary(Operator::Or, left, _) if is(left, true) => vec![left],
            ExprKind::Binary(Operator::And, left, _) if is(left, false) => vec![left],
            _ => expr.children(),
        }
    }

    fn message(&self, expr: &Expr, error: &DataFusionError, batch: &RecordBatch) -> String {
        let mut text = message_of(error);
        if batch.num_rows() != 1 {
            return text;
        }
        let rows = self.rows.iter().filter_map(|(index, table)| {
            let rows = batch
                .columns()
                .get(*index)?
                .as_primitive_opt::<Int64Type>()?;
            rows.is_valid(0)
                .then(|| format!("row {} of `{table}`", rows.value(0) + 1))
        });
        let rows: Vec<String> = rows.collect();
        if !rows.is_empty() {
            let _ = write!(text, ", in {}", rows.join(" and "));
        }
        let used = expr.columns();
        let columns = self
            .layout
            .columns
            .iter()
            .zip(&self.names)
            .zip(batch.columns());
        let values = columns.filter_map(|((id, name), array)| {
            let name = name.as_ref().filter(|_| used.contains(id))?;
            Some(format!("`{name}` is {}", value_text(array)))
        });
        let values: Vec<String> = values.take(MAX_SHOWN_VALUES).collect();
        if !values.is_empty() {
            let _ = write!(text, ", where {}", values.join(" and "));
        }
        text
    }
}

/// Returns the first row of a batch for which an expression fails when only this row is evaluated.
fn first_failing_row(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Option<usize> {
    let (mut start, mut length) = (0, batch.num_rows());
    let fails = |start, length| expr.evaluate(&batch.slice(start, length)).is_err();
    while length > 1 {
        let half = length / 2;
        if fails(start, half) {
            length = half;
        } else {
            (start, length) = (start + half, length - half);
        }
    }
    (length == 1 && fails(start, 1)).then_some(start)
}

fn value_text(array: &Arc<dyn Array>) -> String {
    if array.is_null(0) {
        return "missing".to_owned();
    }
    let text = array_value_to_string(array, 0).unwrap_or_default();
    let short = shortened(&text, MAX_SHOWN_CHARACTERS);
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => format!("'{short}'"),
        _ => short,
    }
}

impl PartialEq for Located {
    fn eq(&self, other: &Located) -> bool {
        self.physical.eq(&other.physical)
    }
}

impl Eq for Located {}

impl Hash for Located {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.physical.hash(state);
    }
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.physical, f)
    }
}

impl PhysicalExpr for Located {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.physical
            .evaluate(batch)
            .map_err(|error| self.located(error, batch))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.physical.return_field(schema)
    }

    // DataFusion uses this method to replace parts of an expression. Nothing does so after the plan is built, so no parts
    // are returned.
    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.physical.fmt_sql(f)
    }
}
