//! Rewrites a plan so that the order of its rows is explicit and determined.
//!
//! The rewrite of each plan node adds the columns that determine its order, and returns the order as a [`PlanOrder`].
//! These nodes keep the order:
//!
//! * projection, filter, window, semi join and anti join;
//! * inner and left joins: by the left rows first, then by the right rows;
//! * UNION ALL: branch by branch;
//! * `unnest`: the elements of a row in the order of their list;
//! * ORDER BY: its ties keep the order of the rows below.
//!
//! GROUP BY and DISTINCT lose the order until an ORDER BY names all their keys. Any other node is an error.
//!
//! The submodules rewrite the parts of a plan that depend on an order:
//!
//! * `functions`: window functions and aggregates that depend on the order.
//! * `inside`: subqueries, and inputs of GROUP BY and DISTINCT.

mod functions;
mod inside;

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::Sort as SortExpr;
use datafusion::logical_expr::logical_plan::{
    Distinct, Filter, Join, Limit, Projection, Sort, SubqueryAlias, Union, Unnest,
};
use datafusion::logical_expr::{
    Expr, ExprSchemable, JoinType, LogicalPlan, LogicalPlanBuilder, Volatility, lit,
};

use crate::QueryError;
use crate::table::relation::ROW;
use functions::{needs_order_by, order_aggregate, order_window, unordered_call};
use inside::{determine_inside, determine_subqueries, without_carried};

/// Whether the caller needs the rows of a query in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOrder {
    Ordered,
    AnyOrder,
}

/// The order of a node's rows.
#[derive(Debug, Clone)]
enum PlanOrder {
    /// The rows are ordered by these columns, ascending. `natural` is true if the rows already arrive in this order.
    Columns { columns: Vec<Column>, natural: bool },
    /// The rows arrive in a determined order that no column expresses, for example after an inner ORDER BY.
    Stream,
    /// The rows have no order, but no two rows are equal in all of these columns.
    Keys(Vec<Column>),
    /// The order is undetermined, for this reason.
    Lost(&'static str),
}

/// Rewrites `plan` so that its rows arrive in a determined order. If the rows may come in any order, only the set of
/// rows is determined.
///
/// # Errors
/// If the query does not determine the order.
pub(crate) fn determine(plan: LogicalPlan, rows: RowOrder) -> Result<LogicalPlan, QueryError> {
    let mut names = OrderColumnNames {
        count: 0,
        natural: rows == RowOrder::Ordered,
    };
    let plan = determine_subqueries(plan, &mut names)?;
    if rows == RowOrder::AnyOrder {
        return determine_inside(&plan, &mut names);
    }
    let (ordered, order) = carry_order(&plan, &mut names)?;
    without_carried(sort(ordered, &order)?, &plan)
}

/// Returns an error for functions with undetermined results. These are functions that depend on an order that the query
/// does not specify, and functions that return a different value at each call (`random`, `now`). Results are cached and
/// not computed again, so they must be reproducible. Queries whose own order does not matter (checks) need only this
/// check.
pub(crate) fn check_functions(plan: &LogicalPlan) -> Result<(), QueryError> {
    let mut found = None;
    let walk = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            let missing = || unordered_call(aggregate).map(|name| needs_order_by(&name));
            found = found.take().or_else(missing);
        }
        if let LogicalPlan::Projection(projection) = node
            && projection.expr.iter().any(is_membership)
        {
            let message = "IN (SELECT ...) and EXISTS are only supported in WHERE; use a join to select their result";
            found.get_or_insert(QueryError::Unsupported(message.to_owned()));
        }
        node.apply_expressions(|expr| {
            expr.apply(|inner| {
                if let Expr::ScalarFunction(function) = inner
                    && function.func.signature().volatility != Volatility::Immutable
                {
                    let name = function.name();
                    let message = format!("{name}() returns a different value each time, but results must be reproducible");
                    found.get_or_insert(QueryError::Unsupported(message));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    walk.map_err(|error| QueryError::plan(&error))?;
    found.map_or(Ok(()), Err)
}

/// Returns whether an expression tests a value for membership in another query. DataFusion supports this only in a
/// filter.
fn is_membership(expr: &Expr) -> bool {
    let is_lookup = |inner: &Expr| Ok(matches!(inner, Expr::InSubquery(_) | Expr::Exists(_)));
    // The closure does not fail.
    expr.exists(is_lookup).unwrap_or_default()
}

const UNORDERED_KEYS: &str = "GROUP BY and DISTINCT lose the order of the rows; add an ORDER BY that names all their columns";

/// Generates unique names for the columns that carry the order.
struct OrderColumnNames {
    count: usize,
    /// True if tables are read in the order of their rows.
    natural: bool,
}

impl OrderColumnNames {
    fn next(&mut self) -> String {
        self.count += 1;
        format!("_order_{}", self.count)
    }
}

fn carry_order(
    plan: &LogicalPlan,
    names: &mut OrderColumnNames,
) -> Result<(LogicalPlan, PlanOrder), QueryError> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let columns = vec![Column::new(Some(scan.table_name.clone()), ROW)];
            let order = PlanOrder::columns(columns, names.natural);
            Ok((plan.clone(), order))
        }
        LogicalPlan::EmptyRelation(_) => Ok((plan.clone(), PlanOrder::columns(Vec::new(), true))),
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
            let (input, order) = carry_order(input, names)?;
            let requalify = |column: Column| Column::new(Some(alias.clone()), column.name);
            let plan = build(LogicalPlanBuilder::from(input).alias(alias.clone()))?;
            Ok((plan, order.map(requalify)))
        }
        LogicalPlan::Projection(projection) => project(projection, names),
        LogicalPlan::Filter(Filter {
            predicate, input, ..
        }) => {
            let (input, order) = carry_order(input, names)?;
            let order = match has_subquery(predicate) {
                true => order.shuffled(
                    "an ORDER BY below a filter with a subquery has no effect; move it to the end",
                ),
                false => order,
            };
            let plan = build(LogicalPlanBuilder::from(input).filter(predicate.clone()))?;
            Ok((plan, order))
        }
        LogicalPlan::Join(join) => order_join(join, names),
        LogicalPlan::Sort(inner) => order_sort(inner, names),
        LogicalPlan::Limit(limit) => {
            let (input, order) = carry_order(&limit.input, names)?;
            let limit = Limit {
                input: Arc::new(sort(input, &order)?),
                ..limit.clone()
            };
            Ok((LogicalPlan::Limit(limit), order.in_place()))
        }
        LogicalPlan::Window(window) => order_window(window, names),
        LogicalPlan::Union(union) => {
            let mut inputs = Vec::new();
            flatten(union, &mut inputs);
            let branches = inputs.into_iter().map(|input| carry_order(input, names));
            let branches = branches.collect::<Result<Vec<_>, _>>()?;
            order_union(branches, plan.schema().fields().len(), names)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let rebuilt = order_aggregate(aggregate, names)?;
            if aggregate.group_expr.is_empty() {
                return Ok((rebuilt, PlanOrder::columns(Vec::new(), true)));
            }
            let mut keys = plan.schema().columns();
            keys.truncate(aggregate.group_expr.len());
            Ok((rebuilt, PlanOrder::Keys(keys)))
        }
        LogicalPlan::Unnest(unnest) => order_unnest(unnest, names),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let input = Arc::new(determine_inside(input, names)?);
            let distinct = LogicalPlan::Distinct(Distinct::All(input));
            Ok((distinct, PlanOrder::Keys(plan.schema().columns())))
        }
        LogicalPlan::Distinct(Distinct::On(_)) => Ok((
            plan.clone(),
            PlanOrder::Lost("DISTINCT ON is not supported"),
        )),
        LogicalPlan::Values(_) => Ok((
            plan.clone(),
            PlanOrder::Lost("VALUES has no order; add a column with row numbers and use ORDER BY"),
        )),
        _ => Ok((
            plan.clone(),
            PlanOrder::Lost(
                "this kind of query has no determined order; add an ORDER BY that names all its columns",
            ),
        )),
    }
}

impl PlanOrder {
    fn columns(columns: Vec<Column>, natural: bool) -> PlanOrder {
        PlanOrder::Columns { columns, natural }
    }

    fn map(self, rename: impl Fn(Column) -> Column) -> PlanOrder {
        match self {
            PlanOrder::Columns { columns, natural } => {
                PlanOrder::columns(columns.into_iter().map(rename).collect(), natural)
            }
            PlanOrder::Keys(columns) => PlanOrder::Keys(columns.into_iter().map(rename).collect()),
            other => other,
        }
    }

    /// Returns the same order for rows that no longer arrive in it. `why` is the reason to report if the rows were a
    /// [`Stream`](PlanOrder::Stream), whose order is lost.
    fn shuffled(self, why: &'static str) -> PlanOrder {
        match self {
            PlanOrder::Columns { columns, .. } => PlanOrder::columns(columns, false),
            PlanOrder::Stream => PlanOrder::Lost(why),
            other => other,
        }
    }

    /// Returns the same order, marked as the order in which the rows arrive.
    fn in_place(self) -> PlanOrder {
        match self {
            PlanOrder::Columns { columns, .. } => PlanOrder::columns(columns, true),
            other => other,
        }
    }
}

fn project(
    projection: &Projection,
    names: &mut OrderColumnNames,
) -> Result<(LogicalPlan, PlanOrder), QueryError> {
    let (input, order) = carry_order(&projection.input, names)?;
    let mut exprs = projection.expr.clone();
    let order = match order {
        PlanOrder::Columns { columns, natural } => {
            let mut carried = Vec::new();
            for column in columns {
                let name = names.next();
                exprs.push(Expr::Column(column).alias(&name));
                carried.push(Column::new_unqualified(name));
            }
            PlanOrder::columns(carried, natural)
        }
        PlanOrder::Keys(keys) => {
            let schema = projection.schema.columns();
            let place = |key: &Column| {
                let position = projection
                    .expr
                    .iter()
                    .position(|expr| passed_column(expr) == Some(key));
                position.and_then(|position| schema.get(position).cloned())
            };
            match keys.iter().map(place).collect::<Option<Vec<Column>>>() {
                Some(keys) => PlanOrder::Keys(keys),
                None => PlanOrder::Lost(UNORDERED_KEYS),
            }
        }
        other => other,
    };
    Ok((columns_of(input, exprs)?, order))
}

/// Builds a projection. The plan builder's own method would search the entire plan for each column, which takes
/// quadratic time.
fn columns_of(input: LogicalPlan, exprs: Vec<Expr>) -> Result<LogicalPlan, QueryError> {
    let projection = Projection::try_new(exprs, Arc::new(input));
    let projection = projection.map_err(|error| QueryError::plan(&error))?;
    Ok(LogicalPlan::Projection(projection))
}

fn order_join(
    join: &Join,
    names: &mut OrderColumnNames,
) -> Result<(LogicalPlan, PlanOrder), QueryError> {
    let (left, left_order) = carry_order(&join.left, names)?;
    let (right, right_order) = carry_order(&join.right, names)?;
    let order = match join.join_type {
        JoinType::Inner | JoinType::Left => match (left_order, right_order) {
            // Keys of the right rows are distinct, and each left row is joined with each right row at most once.
            (
                PlanOrder::Columns {
                    columns: mut left, ..
                },
                PlanOrder::Keys(right) | PlanOrder::Columns { columns: right, .. },
            ) => {
                left.extend(right);
                PlanOrder::columns(left, false)
            }
            (
                PlanOrder::Keys(mut left),
                PlanOrder::Keys(right) | PlanOrder::Columns { columns: right, .. },
            ) => {
                left.extend(right);
                PlanOrder::Keys(left)
            }
            (PlanOrder::Lost(why), _) | (_, PlanOrder::Lost(why)) => PlanOrder::Lost(why),
            (PlanOrder::Stream, _) | (_, PlanOrder::Stream) => PlanOrder::Lost(
                "ORDER BY in a joined subquery has no effect; order the whole query",
            ),
        },
        JoinType::LeftSemi | JoinType::LeftAnti => left_order
            .shuffled("ORDER BY in a joined subquery has no effect; order the whole query"),
        _ => PlanOrder::Lost(
            "RIGHT and FULL joins have no determined order; write a LEFT join, or add an ORDER BY",
        ),
    };
    let rebuilt = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        join.on.clone(),
        join.filter.clone(),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    );
    Ok((
        LogicalPlan::Join(rebuilt.map_err(|error| QueryError::plan(&error))?),
        order,
    ))
}

/// Sorts the rows. Ties keep the order of the input, and the rows then arrive in a determined order.
fn order_sort(
    inner: &Sort,
    names: &mut OrderColumnNames,
) -> Result<(LogicalPlan, PlanOrder), QueryError> {
    let (input, order) = carry_order(&inner.input, names)?;
    let mut exprs = inner.expr.clone();
    match order {
        PlanOrder::Columns { columns, .. } => exprs.extend(columns.into_iter().map(ascending)),
        PlanOrder::Keys(keys) => {
            if let Some(key) = keys.iter().find(|key| !names_column(&inner.expr, key)) {
                return Err(QueryError::Order(format!(
                    "ORDER BY must also name `{}`, a key of GROUP BY or DISTINCT",
                    key.name
                )));
            }
        }
        PlanOrder::Stream => {
            return Err(QueryError::Order(
                "ORDER BY cannot be applied after another ORDER BY or unnest; keep one of them, or make a table of the inner query".to_owned(),
            ));
        }
        PlanOrder::Lost(why) => return Err(QueryError::Order(why.to_owned())),
    }
    let sort = Sort {
        expr: exprs,
        input: Arc::new(input),
        fetch: inner.fetch,
    };
    Ok((LogicalPlan::Sort(sort), PlanOrder::Stream))
}

/// Replaces each row by the elements of its list, in the order of the list. No column expresses this order. DataFusion
/// keeps the order in which the rows arrive, but it would drop a sort below the `unnest`. So the rows must already
/// arrive in order.
fn order_unnest(
    unnest: &Unnest,
    names: &mut OrderColumnNames,
) -> Result<(LogicalPlan, PlanOrder), QueryError> {
    let (input, order) = carry_order(&unnest.input, names)?;
    let order = match order {
        PlanOrder::Columns { natural: true, .. } => PlanOrder::Stream,
        PlanOrder::Columns { .. } | PlanOrder::Stream => PlanOrder::Lost(
            "unnest cannot be applied to joined or sorted rows; make a table of them first",
        ),
        lost => lost,
    };
    let (columns, options) = (unnest.exec_columns.clone(), unnest.options.clone());
    let plan = LogicalPlanBuilder::from(input).unnest_columns_with_options(columns, options);
    Ok((build(plan)?, order))
}

/// Collects the branches of a UNION ALL. The planner nests unions of two branches, but the order has to be carried
/// through a single union.
fn flatten<'a>(union: &'a Union, branches: &mut Vec<&'a LogicalPlan>) {
    for input in &union.inputs {
        match input.as_ref() {
            LogicalPlan::Union(inner) => flatten(inner, branches),
            branch => branches.push(branch),
        }
    }
}

/// Orders a UNION ALL branch by branch. Every branch gets its number and its order columns. Branches with fewer order
/// columns are padded with zeros.
fn order_union(
    branches: Vec<(LogicalPlan, PlanOrder)>,
    width: usize,
    names: &mut OrderColumnNames,
) -> Result<(LogicalPlan, PlanOrder), QueryError> {
    let mut carried = Vec::new();
    for (plan, order) in branches {
        match order {
            PlanOrder::Columns { columns, .. } => carried.push((plan, columns)),
            PlanOrder::Keys(_) => return Ok((plan, PlanOrder::Lost(UNORDERED_KEYS))),
            PlanOrder::Stream => {
                return Ok((
                    plan,
                    PlanOrder::Lost(
                        "ORDER BY in a branch of UNION ALL has no effect; order the whole query",
                    ),
                ));
            }
            PlanOrder::Lost(why) => return Ok((plan, PlanOrder::Lost(why))),
        }
    }
    let longest = carried.iter().map(|(_, columns)| columns.len()).max();
    let longest = longest.unwrap_or(0);
    let order_names: Vec<String> = (0..=longest).map(|_| names.next()).collect();
    let mut united = Vec::with_capacity(carried.len());
    for (number, (plan, columns)) in carried.into_iter().enumerate() {
        let columns_of_plan = plan.schema().columns().into_iter();
        let mut exprs: Vec<Expr> = columns_of_plan.take(width).map(Expr::Column).collect();
        exprs.push(lit(number as i64).alias(&order_names[0]));
        for (index, name) in order_names[1..].iter().enumerate() {
            let value = match columns.get(index) {
                Some(column) => {
                    let kind = Expr::Column(column.clone())
                        .get_type(plan.schema())
                        .map_err(|error| QueryError::plan(&error))?;
                    if kind != datafusion::arrow::datatypes::DataType::Int64 {
                        return Ok((plan, PlanOrder::Lost(UNORDERED_KEYS)));
                    }
                    Expr::Column(column.clone())
                }
                None => lit(0_i64),
            };
            exprs.push(value.alias(name));
        }
        united.push(Arc::new(build(
            LogicalPlanBuilder::from(plan).project(exprs),
        )?));
    }
    let union = Union::try_new_with_loose_types(united);
    let plan = LogicalPlan::Union(union.map_err(|error| QueryError::plan(&error))?);
    let columns = order_names.into_iter().map(Column::new_unqualified);
    Ok((plan, PlanOrder::columns(columns.collect(), false)))
}

/// Returns the plan with its rows arriving in their order.
fn sort(plan: LogicalPlan, order: &PlanOrder) -> Result<LogicalPlan, QueryError> {
    let columns = match order {
        PlanOrder::Columns { columns, natural } if !natural && !columns.is_empty() => columns,
        PlanOrder::Columns { .. } | PlanOrder::Stream => return Ok(plan),
        PlanOrder::Keys(_) => return Err(QueryError::Order(UNORDERED_KEYS.to_owned())),
        PlanOrder::Lost(why) => return Err(QueryError::Order((*why).to_owned())),
    };
    build(LogicalPlanBuilder::from(plan).sort(columns.iter().cloned().map(ascending)))
}

/// Returns whether one of the keys is this column.
fn names_column(keys: &[SortExpr], column: &Column) -> bool {
    keys.iter()
        .any(|key| passed_column(&key.expr) == Some(column))
}

fn ascending(column: Column) -> SortExpr {
    SortExpr::new(Expr::Column(column), true, false)
}

/// Returns the column that an expression passes on unchanged. `None` if the expression computes something.
pub(crate) fn passed_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => passed_column(&alias.expr),
        _ => None,
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let is_subquery = |inner: &Expr| {
        Ok(matches!(
            inner,
            Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::ScalarSubquery(_)
                | Expr::SetComparison(_)
        ))
    };
    // The closure does not fail.
    expr.exists(is_subquery).unwrap_or(true)
}

fn build(
    builder: datafusion::error::Result<LogicalPlanBuilder>,
) -> Result<LogicalPlan, QueryError> {
    builder
        .and_then(LogicalPlanBuilder::build)
        .map_err(|error| QueryError::plan(&error))
}
