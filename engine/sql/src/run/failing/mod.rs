//! Finds the row for which a query failed.
//!
//! Operators compute one batch at a time, and their errors contain neither the row in the batch nor its origin.
//! Therefore, after a query failed because of a value, this module searches its plan from the leaves upward. For each
//! operator, the operator's input runs again with the tables' row numbers added (`trace`). The operator's expressions
//! are evaluated on each batch of this input. If one fails, the search narrows the batch to one row by bisection, and
//! then the expression to its smallest failing part. Queries that succeed have no extra cost.
//!
//! After GROUP BY, UNION and `unnest`, a row does not correspond to a row of a table. The message then shows only the
//! values.

mod trace;

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use arrow::util::display::array_value_to_string;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;

use prep_spec::shortened;

use crate::error::message_of;
use crate::limits::{QueryLimits, QueryPool};
use crate::{QueryError, Session};
use trace::{TracedPlan, trace};

/// Maximum number of values that a message shows, and maximum number of characters of each value.
const MAX_SHOWN_VALUES: usize = 3;
const MAX_SHOWN_CHARACTERS: usize = 60;

/// A failing expression, described for the author of the query.
#[derive(Debug)]
pub(crate) struct FailedRow {
    /// The cause, the row, and the row's values.
    pub message: String,
    /// Line and column in the query's text of the first column in the expression.
    pub place: Option<(u64, u64)>,
}

/// Searches for the row for which `plan` fails. `None` if it cannot be found.
pub(crate) async fn find(
    session: &Session,
    state: &SessionState,
    plan: &LogicalPlan,
    limits: &QueryLimits,
) -> Option<FailedRow> {
    let plan = state.optimize(plan).ok()?;
    let mut nodes = Vec::new();
    // The closure does not fail.
    let _ = plan.apply(|node| {
        nodes.push(node);
        Ok(TreeNodeRecursion::Continue)
    });
    let search = Search {
        session,
        state,
        limits,
    };
    // Inputs come before the operators that read them.
    for node in nodes.into_iter().rev() {
        for (exprs, input) in expressions_by_input(node) {
            let exprs: Vec<Expr> = exprs.into_iter().filter(can_fail).collect();
            if exprs.is_empty() {
                continue;
            }
            let traced = trace(input).ok()?;
            if let Some(found) = search.first_failure(&traced, &exprs).await.ok()? {
                return Some(found);
            }
        }
    }
    None
}

/// Returns the expressions that an operator computes, grouped by the input on which it evaluates them.
fn expressions_by_input(node: &LogicalPlan) -> Vec<(Vec<Expr>, &LogicalPlan)> {
    match node {
        LogicalPlan::Join(join) => {
            let (left, right) = join.on.iter().cloned().unzip();
            vec![(left, &join.left), (right, &join.right)]
        }
        node => match node.inputs().as_slice() {
            [input] => {
                let exprs = node.expressions();
                vec![(exprs.iter().flat_map(arguments).collect(), input)]
            }
            _ => Vec::new(),
        },
    }
}

/// Returns the parts of an expression that are computed row by row. For an aggregate or a window function, these are
/// its arguments.
fn arguments(expr: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut is_row_expression = true;
    // The closure does not fail.
    let _ = expr.apply(|inner| {
        let (args, order, filter) = match inner {
            Expr::AggregateFunction(AggregateFunction { params, .. }) => {
                (&params.args, &params.order_by, &params.filter)
            }
            Expr::WindowFunction(function) => {
                let WindowFunction { params, .. } = function.as_ref();
                found.extend(params.partition_by.iter().cloned());
                (&params.args, &params.order_by, &params.filter)
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        is_row_expression = false;
        found.extend(args.iter().cloned());
        found.extend(order.iter().map(|sort| sort.expr.clone()));
        found.extend(filter.iter().map(|filter| filter.as_ref().clone()));
        Ok(TreeNodeRecursion::Jump)
    });
    if is_row_expression {
        found.push(expr.clone());
    }
    found
}

/// Returns whether an expression computes something from its own row alone.
fn can_fail(expr: &Expr) -> bool {
    let is_plain =
        |expr: &Expr| matches!(expr, Expr::Column(_) | Expr::Literal(..) | Expr::Alias(_));
    let needs_other_rows = |expr: &Expr| {
        matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::Unnest(_)
        )
    };
    let computes = expr.exists(|inner| Ok(!is_plain(inner))).unwrap_or(false);
    computes
        && !expr
            .exists(|inner| Ok(needs_other_rows(inner)))
            .unwrap_or(true)
}

struct Search<'s> {
    session: &'s Session,
    state: &'s SessionState,
    limits: &'s QueryLimits,
}

impl Search<'_> {
    /// Runs `traced` and searches for a row for which one of the expressions fails.
    async fn first_failure(
        &self,
        traced: &TracedPlan,
        exprs: &[Expr],
    ) -> Result<Option<FailedRow>> {
        let schema = traced.plan.schema();
        let compiled = exprs.iter().map(|expr| self.compile(expr, schema));
        let compiled = compiled.collect::<Result<Vec<_>>>()?;
        let planner = self.state.query_planner();
        let physical = planner.create_physical_plan(&traced.plan, self.state);
        let pool = Arc::new(QueryPool::new(self.limits.accounted_bytes()));
        let runtime = self.session.runtime(pool).map_err(external)?;
        let context = TaskContext::from(self.state).with_runtime(runtime);
        let mut stream = execute_stream(physical.await?, Arc::new(context))?;
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            for (expr, compiled) in exprs.iter().zip(&compiled) {
                if let Err(error) = compiled.evaluate(&batch) {
                    return Ok(Some(self.narrow(expr, compiled, error, &batch, traced)));
                }
            }
        }
        Ok(None)
    }

    fn compile(&self, expr: &Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
        let context = PhysicalPlanningContext::default();
        create_physical_expr(expr, schema, self.state.execution_props(), &context)
    }

    /// Reduces `expr` to its smallest failing part, and `batch` to the row for which it fails.
    fn narrow(
        &self,
        expr: &Expr,
        compiled: &Arc<dyn PhysicalExpr>,
        error: DataFusionError,
        batch: &RecordBatch,
        traced: &TracedPlan,
    ) -> FailedRow {
        let schema = traced.plan.schema();
        let (mut expr, mut error, mut batch) = (expr.clone(), error, batch.clone());
        let mut compiled = compiled.clone();
        loop {
            if let Some(row) = first_failing_row(&compiled, &batch) {
                batch = batch.slice(row, 1);
                error = compiled.evaluate(&batch).err().unwrap_or(error);
            }
            let mut smaller = None;
            // The closure does not fail.
            let _ = expr.apply_children(|child| {
                if can_fail(child)
                    && let Ok(part) = self.compile(child, schema)
                    && let Err(cause) = part.evaluate(&batch)
                    && message_of(&cause) == message_of(&error)
                {
                    smaller = Some((child.clone(), part, cause));
                    return Ok(TreeNodeRecursion::Stop);
                }
                Ok(TreeNodeRecursion::Continue)
            });
            match smaller {
                Some(part) => (expr, compiled, error) = part,
                None => break,
            }
        }
        FailedRow {
            message: describe(&expr, &error, &batch, traced),
            place: place(&expr),
        }
    }
}

/// Returns the first row of a batch for which an expression fails even if only this row is evaluated.
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

/// Builds the message from the cause, the row, and the row's values.
fn describe(
    expr: &Expr,
    error: &DataFusionError,
    batch: &RecordBatch,
    traced: &TracedPlan,
) -> String {
    let mut text = message_of(error);
    if batch.num_rows() != 1 {
        return text;
    }
    let schema = traced.plan.schema();
    let cell = |index: usize| batch.columns().get(index);
    let rows = traced.rows.iter().filter_map(|(table, column)| {
        let array = cell(schema.maybe_index_of_column(column)?)?;
        let rows = array.as_primitive_opt::<Int64Type>()?;
        rows.is_valid(0)
            .then(|| format!("row {} of `{table}`", rows.value(0) + 1))
    });
    let rows: Vec<String> = rows.collect();
    if !rows.is_empty() {
        let _ = write!(text, ", in {}", rows.join(" and "));
    }
    let mut columns: Vec<_> = expr.column_refs().into_iter().collect();
    columns.sort_by_key(|column| schema.maybe_index_of_column(column));
    let values = columns.into_iter().filter_map(|column| {
        let array = cell(schema.maybe_index_of_column(column)?)?;
        // Users do not know the names of columns that DataFusion generated.
        let is_generated = column.name.starts_with("__") || column.name.contains('(');
        (!is_generated).then(|| format!("`{}` is {}", column.name, value_text(array)))
    });
    let values: Vec<String> = values.take(MAX_SHOWN_VALUES).collect();
    if !values.is_empty() {
        let _ = write!(text, ", where {}", values.join(" and "));
    }
    text
}

/// Formats the first value of an array for a message.
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

/// Returns the line and column in the query of the expression's first column.
fn place(expr: &Expr) -> Option<(u64, u64)> {
    let mut found = None;
    // The closure does not fail.
    let _ = expr.apply(|inner| {
        let spans = inner.spans();
        found = spans.and_then(|spans| spans.first());
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    found.map(|span| (span.start.line, span.start.column))
}

fn external(error: QueryError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
