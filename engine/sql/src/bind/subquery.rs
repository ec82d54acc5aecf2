//! Subqueries in expressions, as joins.
//!
//! A subquery is resolved on its own. An expression refers to its result as a column, and when all expressions of a clause
//! are resolved, [`Binder::attach`] joins the subqueries. A subquery that refers to columns of the query around it is
//! *correlated*: its conditions with such columns are moved out of it, and equalities among them become keys of the
//! join. Each join keeps the rows and the order of the query around it:
//!
//! | expression | join |
//! |---|---|
//! | `(SELECT ...)` | left join with one row for each key, or with one row |
//! | `EXISTS (...)`, `x IN (...)` | left join with the distinct keys, and the test whether there is a match |
//! | `EXISTS (...)`, `x IN (...)` as a condition of WHERE | semi join or anti join |

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use prep_spec::query::tree::{self, Position, QueryTree};

use super::constant::{null, value};
use super::expr::Exprs;
use super::types::{TypeClass, canonical, cast, common, help, refused, rejected, text};
use super::{Binder, Bound};
use crate::QueryError;
use crate::functions::{find_aggregate, single_row};
use crate::relational::{
    AggregateCall, ColumnId, Expr, ExprKind, JoinKind, JoinSpec, Node, Relational, WindowSpec,
    conjuncts,
};

/// A subquery of which an expression uses the result, as a column.
#[derive(Debug)]
pub(super) struct Pending {
    id: ColumnId,
    plan: Relational,
    kind: PendingKind,
    at: Position,
}

#[derive(Debug)]
enum PendingKind {
    /// The value of the only row, in this column.
    Value(ColumnId),
    /// Whether there is a row.
    Exists,
    /// Whether the value is in this column.
    In(Expr, ColumnId),
}

/// A subquery without references to the query around it, and the conditions with such references.
struct Pulled {
    plan: Relational,
    /// Pairs of a column of the subquery and an expression of the query around it, which must be equal.
    equal: EqualPairs,
    /// Other conditions.
    rest: Vec<Expr>,
}

/// Columns of a subquery, each with the expression of the query around it to which it must be equal.
type EqualPairs = Vec<(ColumnId, Expr)>;

const ONLY_CONDITIONS: &str =
    "a subquery can refer to columns of the query around it only in its WHERE";
const ONLY_EQUALITIES: &str = "a subquery in an expression can refer to columns of the query around it only in conditions such as `u.id = t.id`";

impl<'q> Exprs<'_, 'q, '_> {
    /// Resolves a subquery whose only row is a value.
    pub(super) fn scalar_subquery(
        &mut self,
        query: &'q QueryTree,
        at: Position,
    ) -> Result<Expr, QueryError> {
        let (plan, columns) = self.subquery(query)?;
        let [column] = columns.as_slice() else {
            return Err(refused(at, "a subquery in an expression has one column"));
        };
        let data_type = self.binder.catalog.get(column.id).data_type.clone();
        let id = self.binder.column("subquery", data_type);
        let kind = PendingKind::Value(column.id);
        self.found.subqueries.push(Pending { id, plan, kind, at });
        Ok(self.binder.reference(id, at))
    }

    pub(super) fn exists(
        &mut self,
        query: &'q QueryTree,
        at: Position,
    ) -> Result<Expr, QueryError> {
        let (plan, _) = self.subquery(query)?;
        let id = self.binder.column("exists", DataType::Boolean);
        let kind = PendingKind::Exists;
        self.found.subqueries.push(Pending { id, plan, kind, at });
        Ok(self.binder.reference(id, at))
    }

    pub(super) fn in_query(
        &mut self,
        value: Expr,
        source: &tree::Expr,
        query: &'q QueryTree,
    ) -> Result<Expr, QueryError> {
        let at = source.at;
        let (value, plan, column) = self.looked_up(value, source, query)?;
        let id = self.binder.column("in", DataType::Boolean);
        let kind = PendingKind::In(value, column);
        self.found.subqueries.push(Pending { id, plan, kind, at });
        Ok(self.binder.reference(id, at))
    }

    /// Resolves a value and the column in which it is looked up, so that they can be compared.
    pub(super) fn looked_up(
        &mut self,
        value: Expr,
        source: &tree::Expr,
        query: &'q QueryTree,
    ) -> Result<(Expr, Relational, ColumnId), QueryError> {
        let (plan, columns) = self.subquery(query)?;
        let [column] = columns.as_slice() else {
            let message = "the subquery of IN has one column";
            return Err(refused(source.at, message));
        };
        let found = self.binder.reference(column.id, source.at);
        let Some(to) = common(&value.data_type, &found.data_type) else {
            let classes = (
                TypeClass::of(&value.data_type),
                TypeClass::of(&found.data_type),
            );
            let message = format!(
                "`{}` is {}, and the subquery returns {}: they cannot be compared",
                text(source),
                classes.0.name(),
                classes.1.name()
            );
            return Err(rejected(
                source.at,
                message,
                Some(help(classes.0, classes.1)),
            ));
        };
        let found = canonical(cast(found, &to));
        let (plan, column) = self.binder.with_column(plan, &column.name, found);
        Ok((canonical(cast(value, &to)), plan, column))
    }

    pub(super) fn subquery(&mut self, query: &'q QueryTree) -> Result<Bound, QueryError> {
        let scope = self.scope;
        self.binder.query(query, self.parts, Some(scope))
    }
}

impl Binder<'_> {
    /// Joins subqueries, so that the columns of their results exist. `rewrite` converts expressions of the query around
    /// them to columns of `plan`.
    pub(super) fn attach(
        &mut self,
        mut plan: Relational,
        pending: Vec<Pending>,
        rewrite: &mut dyn FnMut(Expr) -> Result<Expr, QueryError>,
    ) -> Result<Relational, QueryError> {
        for one in pending {
            let Pending {
                id,
                plan: subquery,
                kind,
                at,
            } = one;
            let subquery = match kind {
                PendingKind::Exists => without_limit(subquery),
                _ => subquery,
            };
            let empty = match kind {
                PendingKind::Value(column) => value_of_no_rows(&subquery, column),
                _ => None,
            };
            let mut pulled = self.pulled(subquery, at)?;
            if !pulled.rest.is_empty() {
                return Err(refused(at, ONLY_EQUALITIES));
            }
            for (_, outer) in &mut pulled.equal {
                *outer = rewrite(outer.clone())?;
            }
            plan = match kind {
                PendingKind::Value(column) => self.attach_value(plan, pulled, column, id, empty)?,
                PendingKind::Exists => {
                    let (plan, count) = self.attach_counts(plan, &pulled, None, &[])?;
                    let found = has_rows(self.reference(count[0], at));
                    plan.computed(vec![(id, found)])
                }
                PendingKind::In(value, column) => {
                    let value = rewrite(value)?;
                    self.attach_in(plan, &pulled, (value, column), id)?
                }
            };
        }
        Ok(plan)
    }

    /// Joins the value of a subquery as the column `id`.
    fn attach_value(
        &mut self,
        plan: Relational,
        pulled: Pulled,
        column: ColumnId,
        id: ColumnId,
        empty: Option<Expr>,
    ) -> Result<Relational, QueryError> {
        let value = self.reference(column, Position::default());
        let data_type = value.data_type.clone();
        if pulled.equal.is_empty() && pulled.plan.is_single_row() {
            let joined = self.join_one(plan, pulled.plan)?;
            return Ok(joined.computed(vec![(id, value)]));
        }
        if let Some(empty) = empty {
            // The subquery has a row for each group of keys. Without a group, it would have aggregated no rows.
            let present = self.column("present", DataType::Boolean);
            let yes = Expr::literal(true.into(), Position::default());
            let right = pulled.plan.computed(vec![(present, yes)]);
            let joined = self.join_keys(plan, right, pulled.equal)?;
            let missing = self.reference(present, Position::default()).missing();
            let kind = ExprKind::Case {
                branches: vec![(missing, cast(empty, &data_type))],
                otherwise: Some(Box::new(value)),
            };
            let result = Expr::new(kind, data_type, Position::default());
            return Ok(joined.computed(vec![(id, result)]));
        }
        let first = self.column("value", data_type.clone());
        let count = self.column("rows", DataType::Int64);
        let calls = vec![
            (first, call("first_value", value)),
            (count, count_call(None)),
        ];
        let (keys, equal) = self.grouped_keys(&pulled.equal);
        let right = pulled.plan.aggregated(keys, calls);
        let joined = match equal.is_empty() {
            true => self.join_one(plan, right)?,
            false => self.join_keys(plan, right, equal)?,
        };
        let args = vec![
            self.reference(first, Position::default()),
            self.reference(count, Position::default()),
        ];
        let function = single_row();
        let kind = ExprKind::Call { function, args };
        let result = Expr::new(kind, data_type, Position::default());
        Ok(joined.computed(vec![(id, result)]))
    }

    /// Joins the number of rows of a subquery, and the number of rows with a value. Returns the columns of the numbers.
    fn attach_counts(
        &mut self,
        plan: Relational,
        pulled: &Pulled,
        value: Option<ColumnId>,
        more: &[(ColumnId, Expr)],
    ) -> Result<(Relational, [ColumnId; 2]), QueryError> {
        let rows = self.column("rows", DataType::Int64);
        let values = self.column("values", DataType::Int64);
        let mut calls = vec![(rows, count_call(None))];
        if let Some(value) = value {
            let value = self.reference(value, Position::default());
            calls.push((values, count_call(Some(value))));
        }
        let equal: Vec<(ColumnId, Expr)> = pulled.equal.iter().chain(more).cloned().collect();
        let (keys, equal) = self.grouped_keys(&equal);
        let right = pulled.plan.clone().aggregated(keys, calls);
        let joined = match equal.is_empty() {
            true => self.join_one(plan, right)?,
            false => self.join_keys(plan, right, equal)?,
        };
        Ok((joined, [rows, values]))
    }

    /// Joins the test whether a value is in a column of a subquery.
    fn attach_in(
        &mut self,
        plan: Relational,
        pulled: &Pulled,
        (value, column): (Expr, ColumnId),
        id: ColumnId,
    ) -> Result<Relational, QueryError> {
        let pair = (column, value.clone());
        let (plan, [matches, _]) = self.attach_counts(plan, pulled, None, &[pair])?;
        let (plan, [rows, values]) = self.attach_counts(plan, pulled, Some(column), &[])?;
        let at = value.at;
        let matched = has_rows(self.reference(matches, at));
        let is_empty = has_rows(self.reference(rows, at)).not();
        let (rows, values) = (self.reference(rows, at), self.reference(values, at));
        let has_missing = Expr::binary(Operator::Lt, values, rows, DataType::Boolean);
        let unknown = Expr::binary(
            Operator::Or,
            value.missing(),
            has_missing,
            DataType::Boolean,
        );
        let boolean = |value: bool| Expr::literal(value.into(), at);
        let kind = ExprKind::Case {
            branches: vec![
                (matched, boolean(true)),
                (is_empty, boolean(false)),
                (unknown, null(&DataType::Boolean)),
            ],
            otherwise: Some(Box::new(boolean(false))),
        };
        Ok(plan.computed(vec![(id, Expr::boolean(kind, at))]))
    }

    /// Keeps the rows for which a subquery has rows or, if `negated`, has none.
    pub(super) fn filter_exists(
        &mut self,
        plan: Relational,
        subquery: Relational,
        negated: bool,
        at: Position,
    ) -> Result<Relational, QueryError> {
        let pulled = self.pulled(without_limit(subquery), at)?;
        if pulled.equal.is_empty() && pulled.rest.is_empty() {
            let (plan, counts) = self.attach_counts(plan, &pulled, None, &[])?;
            let found = has_rows(self.reference(counts[0], at));
            return Ok(plan.filtered(vec![if negated { found.not() } else { found }]));
        }
        self.filter_matches(plan, pulled, None, negated)
    }

    /// Keeps the rows whose value is in a column of a subquery or, if `negated`, is certainly not in it.
    pub(super) fn filter_in(
        &mut self,
        plan: Relational,
        subquery: Relational,
        (value, column): (Expr, ColumnId),
        negated: bool,
    ) -> Result<Relational, QueryError> {
        let at = value.at;
        let pulled = self.pulled(subquery, at)?;
        if !negated {
            return self.filter_matches(plan, pulled, Some((column, value)), false);
        }
        if !pulled.equal.is_empty() || !pulled.rest.is_empty() {
            if !pulled.rest.is_empty() {
                return Err(refused(at, ONLY_EQUALITIES));
            }
            let id = self.column("in", DataType::Boolean);
            let plan = self.attach_in(plan, &pulled, (value, column), id)?;
            return Ok(plan.filtered(vec![self.reference(id, at).not()]));
        }
        // A row is certainly not in the column if there are no rows, or if neither its value nor one of the column is
        // missing.
        let (plan, [rows, values]) = self.attach_counts(plan, &pulled, Some(column), &[])?;
        let plan = self.filter_matches(plan, pulled, Some((column, value.clone())), true)?;
        let is_empty = has_rows(self.reference(rows, at)).not();
        let (rows, values) = (self.reference(rows, at), self.reference(values, at));
        let complete = Expr::binary(Operator::Eq, values, rows, DataType::Boolean);
        let known = Expr::binary(
            Operator::And,
            value.missing().not(),
            complete,
            DataType::Boolean,
        );
        let certain = Expr::binary(Operator::Or, is_empty, known, DataType::Boolean);
        Ok(plan.filtered(vec![certain]))
    }

    /// Keeps the rows with or without a match.
    fn filter_matches(
        &mut self,
        plan: Relational,
        pulled: Pulled,
        value: Option<(ColumnId, Expr)>,
        negated: bool,
    ) -> Result<Relational, QueryError> {
        let kind = match negated {
            true => JoinKind::Anti,
            false => JoinKind::Semi,
        };
        let equal = pulled.equal.into_iter().chain(value);
        let mut conditions: Vec<Expr> = equal
            .map(|(inner, outer)| {
                let inner = self.reference(inner, outer.at);
                Expr::binary(Operator::Eq, outer, inner, DataType::Boolean)
            })
            .collect();
        conditions.extend(pulled.rest);
        plan.joined_on(pulled.plan, kind, conditions, &mut self.positions())
    }

    /// Returns keys of an aggregate for columns of its input, and the pairs with the new columns.
    fn grouped_keys(
        &mut self,
        equal: &[(ColumnId, Expr)],
    ) -> (Vec<(ColumnId, ColumnId)>, EqualPairs) {
        let mut keys: Vec<(ColumnId, ColumnId)> = Vec::new();
        let mut pairs = Vec::new();
        for (inner, outer) in equal {
            let name = self.catalog.get(*inner).name.clone();
            let known = keys.iter().find(|(_, input)| input == inner);
            let key = match known {
                Some((key, _)) => *key,
                None => self.key_column(&name, *inner),
            };
            if known.is_none() {
                keys.push((key, *inner));
            }
            pairs.push((key, outer.clone()));
        }
        (keys, pairs)
    }

    /// Joins a plan with one row.
    fn join_one(&mut self, plan: Relational, right: Relational) -> Result<Relational, QueryError> {
        let spec = JoinSpec::unique(JoinKind::Inner, Vec::new());
        plan.joined(right, spec, &mut self.positions())
    }

    /// Joins a plan with at most one row for each combination of keys.
    fn join_keys(
        &mut self,
        mut plan: Relational,
        right: Relational,
        equal: Vec<(ColumnId, Expr)>,
    ) -> Result<Relational, QueryError> {
        let mut on = Vec::with_capacity(equal.len());
        for (inner, outer) in equal {
            let column;
            (plan, column) = self.with_column(plan, "key", outer);
            on.push((column, inner));
        }
        let spec = JoinSpec::unique(JoinKind::Left, on);
        plan.joined(right, spec, &mut self.positions())
    }

    /// Returns a subquery without references to the query around it.
    fn pulled(&mut self, plan: Relational, at: Position) -> Result<Pulled, QueryError> {
        let pulled = self.pull(plan, at)?;
        match has_outer_columns(&pulled.plan) {
            true => Err(refused(at, ONLY_CONDITIONS)),
            false => Ok(pulled),
        }
    }

    /// Moves conditions with columns of the query around a subquery out of the subquery.
    fn pull(&mut self, plan: Relational, at: Position) -> Result<Pulled, QueryError> {
        if !has_outer_columns(&plan) {
            return Ok(Pulled {
                plan,
                equal: Vec::new(),
                rest: Vec::new(),
            });
        }
        let refused_here = || refused(at, ONLY_CONDITIONS);
        match plan.node.as_ref() {
            Node::Filter { input, condition } => {
                let pulled = self.pull(input.clone(), at)?;
                let mut found = Vec::new();
                conjuncts(condition.clone(), &mut found);
                self.pull_conditions(pulled, found)
            }
            Node::Compute { input, exprs } => {
                let available = &input.columns;
                if exprs
                    .iter()
                    .any(|(_, expr)| !expr.columns().is_subset(available))
                {
                    return Err(refused_here());
                }
                let pulled = self.pull(input.clone(), at)?;
                Ok(Pulled {
                    plan: pulled.plan.computed(exprs.clone()),
                    ..pulled
                })
            }
            Node::Sort { input, .. } => self.pull(input.clone(), at),
            Node::Aggregate { input, keys, calls } => {
                let mut pulled = self.pull(input.clone(), at)?;
                if !pulled.rest.is_empty() {
                    return Err(refused(at, ONLY_EQUALITIES));
                }
                let (added, equal) = self.grouped_keys(&pulled.equal);
                let keys = keys.iter().copied().chain(added).collect();
                pulled.equal = equal;
                pulled.plan = pulled.plan.aggregated(keys, calls.clone());
                Ok(pulled)
            }
            Node::Window {
                input,
                window,
                calls,
                ..
            } => {
                let mut pulled = self.pull(input.clone(), at)?;
                if !pulled.rest.is_empty() {
                    return Err(refused(at, ONLY_EQUALITIES));
                }
                let mut window: WindowSpec = window.clone();
                window
                    .partition_by
                    .extend(pulled.equal.iter().map(|(id, _)| *id));
                pulled.plan = pulled
                    .plan
                    .windowed(window, calls.clone(), &mut self.positions())?;
                Ok(pulled)
            }
            Node::Join { left, right, spec } => {
                if spec.kind == JoinKind::Full
                    || has_outer_columns(right) && spec.kind != JoinKind::Inner
                {
                    return Err(refused_here());
                }
                let left = self.pull(left.clone(), at)?;
                let right = self.pull(right.clone(), at)?;
                let mut spec = spec.clone();
                let both: BTreeSet<ColumnId> = left
                    .plan
                    .columns
                    .union(&right.plan.columns)
                    .copied()
                    .collect();
                let mut moved = Vec::new();
                if let Some(filter) = spec.filter.take() {
                    let mut found = Vec::new();
                    conjuncts(filter, &mut found);
                    let (outer, own): (Vec<Expr>, Vec<Expr>) = found
                        .into_iter()
                        .partition(|condition| !condition.columns().is_subset(&both));
                    if !outer.is_empty() && spec.kind != JoinKind::Inner {
                        return Err(refused_here());
                    }
                    moved = outer;
                    spec.filter = own.into_iter().reduce(crate::relational::and);
                }
                let plan = left.plan.joined(right.plan, spec, &mut self.positions())?;
                let pulled = Pulled {
                    plan,
                    equal: left.equal.into_iter().chain(right.equal).collect(),
                    rest: left.rest.into_iter().chain(right.rest).collect(),
                };
                self.pull_conditions(pulled, moved)
            }
            Node::Limit { .. } => Err(refused(
                at,
                "a subquery with LIMIT cannot refer to columns of the query around it",
            )),
            _ => Err(refused_here()),
        }
    }

    /// Applies conditions to a subquery. Conditions with columns of the query around it are moved out.
    fn pull_conditions(
        &mut self,
        mut pulled: Pulled,
        conditions: Vec<Expr>,
    ) -> Result<Pulled, QueryError> {
        for condition in conditions {
            let own = Arc::clone(&pulled.plan.columns);
            if condition.columns().is_subset(&own) {
                pulled.plan = pulled.plan.filtered(vec![condition]);
                continue;
            }
            let ExprKind::Binary(Operator::Eq, left, right) = &condition.kind else {
                pulled.rest.push(condition);
                continue;
            };
            let is_inner = |side: &Expr| {
                let columns = side.columns();
                !columns.is_empty() && columns.is_subset(&own)
            };
            let is_outer = |side: &Expr| side.columns().is_disjoint(&own);
            let pair = match (
                is_inner(left) && is_outer(right),
                is_inner(right) && is_outer(left),
            ) {
                (true, _) => (left, right),
                (_, true) => (right, left),
                _ => {
                    pulled.rest.push(condition);
                    continue;
                }
            };
            let (inner, outer) = (pair.0.as_ref().clone(), pair.1.as_ref().clone());
            let column;
            (pulled.plan, column) = self.with_column(pulled.plan, "key", inner);
            pulled.equal.push((column, outer));
        }
        Ok(pulled)
    }
}

/// Returns whether a count of rows is above zero. The count is missing where a left join found no group.
fn has_rows(count: Expr) -> Expr {
    let zero = Expr::literal(0_i64.into(), count.at);
    let positive = Expr::binary(Operator::Gt, count, zero, DataType::Boolean);
    let yes = Expr::literal(true.into(), positive.at);
    Expr::binary(
        Operator::IsNotDistinctFrom,
        positive,
        yes,
        DataType::Boolean,
    )
}

fn call(name: &str, arg: Expr) -> AggregateCall {
    AggregateCall {
        #[allow(
            clippy::expect_used,
            reason = "`count` and `first_value` are functions"
        )]
        function: find_aggregate(name).expect("an aggregate of the table of functions"),
        args: vec![arg],
        distinct: false,
        ignores_nulls: false,
        filter: None,
        order_by: Vec::new(),
    }
}

fn count_call(value: Option<Expr>) -> AggregateCall {
    let one = || Expr::literal(1_i64.into(), Position::default());
    call("count", value.unwrap_or_else(one))
}

/// Returns the plan without limits that have no effect on whether it has rows.
fn without_limit(plan: Relational) -> Relational {
    match plan.node.as_ref() {
        Node::Limit {
            input,
            skip: 0,
            fetch,
        } if fetch.is_none_or(|fetch| fetch > 0) => without_limit(input.clone()),
        _ => plan,
    }
}

/// Returns the value of a column of a plan that aggregates all its rows, if there are no rows. `None` if the plan is not
/// of this kind.
fn value_of_no_rows(plan: &Relational, column: ColumnId) -> Option<Expr> {
    let expr = Expr::column(column, DataType::Null, Position::default());
    substituted(plan, expr, Vec::new())
}

/// Replaces the columns of an expression and of conditions by the values that they have without rows.
fn substituted(plan: &Relational, expr: Expr, conditions: Vec<Expr>) -> Option<Expr> {
    match plan.node.as_ref() {
        Node::Aggregate { keys, calls, .. } if keys.is_empty() => {
            let of_call = |id: ColumnId| {
                let (_, call) = calls.iter().find(|(call, _)| *call == id)?;
                Some(match call.function.name() {
                    "count" => Expr::literal(0_i64.into(), Position::default()),
                    _ => {
                        let fields = call.args.iter().map(|arg| {
                            let field =
                                arrow::datatypes::Field::new("x", arg.data_type.clone(), true);
                            Arc::new(field)
                        });
                        let fields: Vec<_> = fields.collect();
                        let result = call.function.return_field(&fields).ok()?;
                        null(result.data_type())
                    }
                })
            };
            let literal = |expr: Expr| {
                let replaced = expr.replace(&mut |part: &Expr| match part.as_column() {
                    Some(id) => of_call(id).map(Some).ok_or(()),
                    None => Ok(None),
                });
                let value = value(&replaced.ok()?).ok()?;
                Some(Expr::literal(value, Position::default()))
            };
            for condition in conditions {
                let kept = literal(condition)?;
                if kept.as_literal() != Some(&ScalarValue::Boolean(Some(true))) {
                    return Some(Expr::literal(ScalarValue::Null, Position::default()));
                }
            }
            literal(expr)
        }
        Node::Compute { input, exprs } => {
            let inserted = |expr: Expr| {
                let replaced = expr.replace(&mut |part: &Expr| {
                    let id = part.as_column();
                    let found = exprs.iter().find(|(own, _)| Some(*own) == id);
                    Ok::<_, ()>(found.map(|(_, expr)| expr.clone()))
                });
                replaced.ok()
            };
            let conditions = conditions.into_iter().map(inserted);
            substituted(input, inserted(expr)?, conditions.collect::<Option<_>>()?)
        }
        Node::Filter { input, condition } => {
            let conditions = conditions.into_iter().chain([condition.clone()]);
            substituted(input, expr, conditions.collect())
        }
        Node::Sort { input, .. } => substituted(input, expr, conditions),
        _ => None,
    }
}

/// Returns whether a plan uses columns that none of its operators creates.
fn has_outer_columns(plan: &Relational) -> bool {
    let inputs = plan.node.inputs();
    let mut used = BTreeSet::new();
    match plan.node.as_ref() {
        Node::Filter { condition, .. } => condition.add_columns(&mut used),
        Node::Compute { exprs, .. } => {
            for (_, expr) in exprs {
                expr.add_columns(&mut used);
            }
        }
        Node::Join { spec, .. } => {
            if let Some(filter) = &spec.filter {
                filter.add_columns(&mut used);
            }
        }
        Node::Aggregate { calls, .. } => {
            for (_, call) in calls {
                for arg in call.args.iter().chain(&call.filter) {
                    arg.add_columns(&mut used);
                }
            }
        }
        Node::Window { calls, .. } => {
            for (_, call) in calls {
                for arg in call.args.iter().chain(&call.filter) {
                    arg.add_columns(&mut used);
                }
            }
        }
        Node::Values { rows, .. } => {
            for expr in rows.iter().flatten() {
                expr.add_columns(&mut used);
            }
        }
        _ => {}
    }
    let is_own = |id: &ColumnId| inputs.iter().any(|input| input.columns.contains(id));
    used.iter().any(|id| !is_own(id)) || inputs.into_iter().any(has_outer_columns)
}
