//! Makes functions that depend on row order deterministic by appending the order of the rows to their ORDER BY.
//!
//! Ties of an ORDER BY are resolved by the row order of the table. This applies to window functions that number or pick
//! rows, to frames that count rows, and to ORDER BY inside the parentheses of aggregates. Above GROUP BY and DISTINCT,
//! their keys are used instead of the table's row order. If neither is known, the query is an error.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{
    AggregateFunction, NullTreatment, Sort as SortExpr, WindowFunction, WindowFunctionDefinition,
};
use datafusion::logical_expr::logical_plan::{Aggregate, Window};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, WindowFrameBound, WindowFrameUnits,
};

use super::inside::depends_on_order;
use super::{OrderColumnNames, PlanOrder, ascending, build, carry_order, names_column};
use crate::QueryError;
use crate::plan::calls::ORDER_SENSITIVE;

/// Window functions whose result depends on the position of each row.
const POSITIONAL: [&str; 5] = ["row_number", "lag", "lead", "ntile", "first_seen"];

/// Describes how the result of a window function depends on rows that are equal in its ORDER BY.
enum TieHandling {
    /// The result does not depend on their order.
    Free,
    /// The function processes equal rows one by one, so their order matters. The order of the table is appended to the
    /// ORDER BY.
    Broken,
    /// The frame always contains all equal rows, and their order matters. Appending to the ORDER BY would change the
    /// frame.
    Together,
}

impl TieHandling {
    fn from_function(function: &WindowFunction) -> TieHandling {
        let name = function_name(function);
        if POSITIONAL.contains(&name) {
            return TieHandling::Broken;
        }
        let (params, frame) = (&function.params, &function.params.window_frame);
        let from_first =
            matches!(&frame.start_bound, WindowFrameBound::Preceding(rows) if rows.is_null());
        let to_last =
            matches!(&frame.end_bound, WindowFrameBound::Following(rows) if rows.is_null());
        let counts_rows = frame.units == WindowFrameUnits::Rows && !(from_first && to_last);
        if counts_rows {
            return TieHandling::Broken;
        }
        if !ORDER_SENSITIVE.contains(&name) || is_determined(&params.args, &params.order_by) {
            return TieHandling::Free;
        }
        let skips_missing = params.null_treatment == Some(NullTreatment::IgnoreNulls);
        let is_first = name == "first_value"
            && from_first
            && !skips_missing
            && !matches!(frame.end_bound, WindowFrameBound::Preceding(_));
        let is_last = name == "last_value"
            && to_last
            && !skips_missing
            && !matches!(frame.start_bound, WindowFrameBound::Following(_));
        match (from_first && to_last) || is_first || is_last {
            true => TieHandling::Broken,
            false => TieHandling::Together,
        }
    }
}

fn function_name(function: &WindowFunction) -> &str {
    match &function.fun {
        WindowFunctionDefinition::WindowUDF(udf) => udf.name(),
        WindowFunctionDefinition::AggregateUDF(udf) => udf.name(),
    }
}

/// Returns whether rows that are equal in `order_by` have equal `args`.
fn is_determined(args: &[Expr], order_by: &[SortExpr]) -> bool {
    args.iter().all(|arg| {
        let mut columns = arg.column_refs().into_iter();
        order_by.iter().any(|key| key.expr == *arg)
            || columns.all(|column| names_column(order_by, column))
    })
}

/// Returns the columns of `order` that `order_by` does not contain.
fn tie_breakers(order: &PlanOrder, order_by: &[SortExpr]) -> Result<Vec<SortExpr>, QueryError> {
    let columns = match order {
        PlanOrder::Columns { columns, .. } | PlanOrder::Keys(columns) => columns,
        PlanOrder::Stream => {
            return Err(QueryError::Order(
                "window functions and functions such as first_value() cannot follow ORDER BY or unnest of an inner query; make a table of the inner query".to_owned(),
            ));
        }
        PlanOrder::Lost(why) => return Err(QueryError::Order((*why).to_owned())),
    };
    let missing = columns
        .iter()
        .filter(|column| !names_column(order_by, column));
    Ok(missing.cloned().map(ascending).collect())
}

/// Rewrites window functions over rows with a known order.
pub(super) fn order_window(
    window: &Window,
    names: &mut OrderColumnNames,
) -> Result<(LogicalPlan, PlanOrder), QueryError> {
    let (input, order) = carry_order(&window.input, names)?;
    let inner = window.input.schema().fields().len();
    // DataFusion's operator uses the ORDER BY of its first function for all functions. Therefore each function with an
    // extended ORDER BY gets its own operator.
    let (mut unchanged, mut extended) = (Vec::new(), Vec::new());
    for (index, expr) in window.window_expr.iter().enumerate() {
        let Some(function) = window_function(expr) else {
            unchanged.push(expr.clone());
            continue;
        };
        let ties = TieHandling::from_function(function);
        let missing = match ties {
            TieHandling::Free => Vec::new(),
            TieHandling::Broken | TieHandling::Together => {
                tie_breakers(&order, &function.params.order_by)?
            }
        };
        if missing.is_empty() {
            unchanged.push(expr.clone());
            continue;
        }
        if matches!(ties, TieHandling::Together) {
            return Err(QueryError::Order(format!(
                "{}() over a frame of RANGE or GROUPS treats rows with equal ORDER BY values as one; write ROWS BETWEEN ..., or end the ORDER BY with `_row`",
                function_name(function)
            )));
        }
        let mut function = function.clone();
        function.params.order_by.extend(missing);
        let name = window.schema.field(inner + index).name().clone();
        extended.push(Expr::WindowFunction(Box::new(function)).alias(name));
    }
    let mut plan = input;
    for exprs in [unchanged, extended] {
        if !exprs.is_empty() {
            plan = build(LogicalPlanBuilder::from(plan).window(exprs))?;
        }
    }
    // DataFusion sorts by the window's ORDER BY, so the rows no longer arrive in the input's order.
    let order = order.shuffled(
        "ORDER BY or unnest of an inner query has no effect below a window function; order the whole query",
    );
    Ok((plan, order))
}

fn window_function(expr: &Expr) -> Option<&WindowFunction> {
    match expr {
        Expr::WindowFunction(function) => Some(function),
        Expr::Alias(alias) => window_function(&alias.expr),
        _ => None,
    }
}

/// Rewrites an aggregate. Its output rows have no order, but its functions may depend on the order of the input.
pub(super) fn order_aggregate(
    aggregate: &Aggregate,
    names: &mut OrderColumnNames,
) -> Result<LogicalPlan, QueryError> {
    if let Some(name) = unordered_call(aggregate) {
        return Err(needs_order_by(&name));
    }
    let is_ordered = aggregate.aggr_expr.iter().any(has_ordered_call);
    if !is_ordered && !depends_on_order(&aggregate.input) {
        return Ok(LogicalPlan::Aggregate(aggregate.clone()));
    }
    let (input, order) = carry_order(&aggregate.input, names)?;
    let exprs = aggregate.aggr_expr.iter();
    let exprs = exprs.map(|expr| with_ties_broken(expr, &order));
    let exprs = exprs.collect::<Result<Vec<Expr>, QueryError>>()?;
    check_sorting(&exprs)?;
    let rebuilt = Aggregate::try_new(Arc::new(input), aggregate.group_expr.clone(), exprs);
    let rebuilt = rebuilt.map_err(|error| QueryError::plan(&error))?;
    Ok(LogicalPlan::Aggregate(rebuilt))
}

/// Aggregates for which DataFusion sorts the input. It sorts once for all aggregates of a SELECT.
const SORTED_BY_ENGINE: [&str; 2] = ["string_agg", "nth_value"];

/// Returns an error if such aggregates need different sort orders.
fn check_sorting(exprs: &[Expr]) -> Result<(), QueryError> {
    let mut finest: &[SortExpr] = &[];
    for expr in exprs {
        let function = match expr {
            Expr::Alias(alias) => alias.expr.as_ref(),
            expr => expr,
        };
        let Expr::AggregateFunction(AggregateFunction { func, params }) = function else {
            continue;
        };
        if !SORTED_BY_ENGINE.contains(&func.name()) {
            continue;
        }
        let order = params.order_by.as_slice();
        if order.starts_with(finest) {
            finest = order;
        } else if !finest.starts_with(order) {
            return Err(QueryError::Unsupported(
                "string_agg() and nth_value() of one SELECT need the same ORDER BY; compute them in separate tables and join these".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Returns the same aggregate under the same name. Its ORDER BY ends with the order of the rows.
fn with_ties_broken(expr: &Expr, order: &PlanOrder) -> Result<Expr, QueryError> {
    let mut failure = None;
    let rewritten = expr.clone().transform_down(|inner| {
        let Expr::AggregateFunction(mut function) = inner else {
            return Ok(Transformed::no(inner));
        };
        if !is_ordered(&function.func) {
            return Ok(Transformed::no(Expr::AggregateFunction(function)));
        }
        let params = &mut function.params;
        // DataFusion is inconsistent about a key that is named twice: some of its code counts it once, and some twice.
        let mut named: Vec<Expr> = Vec::new();
        params.order_by.retain(|key| {
            let is_new = !named.contains(&key.expr);
            named.push(key.expr.clone());
            is_new
        });
        let is_free = is_determined(&params.args, &params.order_by);
        if is_free {
            return Ok(Transformed::no(Expr::AggregateFunction(function)));
        }
        match tie_breakers(order, &params.order_by) {
            Ok(missing) if missing.is_empty() => {}
            Ok(_) if params.distinct => {
                let name = function.func.name();
                let message = format!("{name}(DISTINCT x ORDER BY ...) needs `x` in its ORDER BY");
                failure = failure.take().or(Some(QueryError::Order(message)));
            }
            Ok(missing) => params.order_by.extend(missing),
            Err(error) => failure = failure.take().or(Some(error)),
        }
        Ok(Transformed::yes(Expr::AggregateFunction(function)))
    });
    let rewritten = rewritten.map_err(|error| QueryError::plan(&error))?;
    if let Some(error) = failure {
        return Err(error);
    }
    let name = expr.schema_name().to_string();
    let is_renamed = rewritten.data.schema_name().to_string() != name;
    Ok(match is_renamed {
        true => rewritten.data.alias(name),
        false => rewritten.data,
    })
}

fn is_ordered(function: &datafusion::logical_expr::AggregateUDF) -> bool {
    ORDER_SENSITIVE.contains(&function.name())
}

/// Returns whether an expression calls an aggregate that depends on the order of rows.
pub(super) fn has_ordered_call(expr: &Expr) -> bool {
    let is_call = |inner: &Expr| {
        Ok(matches!(inner, Expr::AggregateFunction(function) if is_ordered(&function.func)))
    };
    // The closure does not fail.
    expr.exists(is_call).unwrap_or(true)
}

/// Returns the name of an aggregate that depends on the order of rows and has no ORDER BY.
pub(super) fn unordered_call(aggregate: &Aggregate) -> Option<String> {
    let mut found = None;
    for expr in &aggregate.aggr_expr {
        let _ = expr.apply(|inner| {
            if let Expr::AggregateFunction(AggregateFunction { func, params }) = inner
                && is_ordered(func)
                && params.order_by.is_empty()
            {
                found = Some(func.name().to_owned());
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }
    found
}

pub(super) fn needs_order_by(name: &str) -> QueryError {
    QueryError::Order(format!("{name}() needs an ORDER BY inside its parentheses"))
}
