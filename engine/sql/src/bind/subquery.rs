//! Converts subqueries in expressions to joins.
//!
//! [`Binder::attach`] joins the subqueries of a clause to the rows of the outer query. The joins keep all rows of the outer
//! query and their order. The expression then refers to a column of the joined subquery.
//!
//! A subquery that uses columns of the outer query is *correlated*. `pull` moves the conditions with these columns out
//! of the subquery. Equalities among these conditions become keys of the join.
//!
//! | expression | join |
//! |---|---|
//! | `(SELECT ...)` | left join with a subquery that has one row for each key, or only one row if there are no keys |
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
use super::pull::{Around, EqualPairs, ONLY_CONDITIONS, ONLY_EQUALITIES, Pulled};
use super::types::{TypeClass, canonical, cast, common, help, refused, rejected, text};
use super::{Binder, Bound};
use crate::QueryError;
use crate::functions::{find_aggregate, single_row};
use crate::relational::{AggregateCall, ColumnId, Expr, JoinKind, JoinSpec, Node, Relational};

/// A subquery whose value becomes a column of the outer query.
#[derive(Debug)]
pub(super) struct Pending {
    plan: Relational,
    kind: PendingKind,
    at: Position,
}

#[derive(Debug)]
enum PendingKind {
    Value(ScalarResult),
    /// Whether the subquery has rows, as a boolean column.
    Exists(ColumnId),
    /// Whether `column` of the subquery contains `value`.
    In {
        value: Expr,
        column: ColumnId,
        result: ColumnId,
    },
}

/// The columns that belong to a subquery with one value.
#[derive(Debug)]
struct ScalarResult {
    /// The only column of the subquery.
    column: ColumnId,
    /// The column for the value in the first row of the subquery.
    first: ColumnId,
    /// The column for the number of rows of the subquery.
    count: ColumnId,
    /// The column for the only value. `None` if the subquery may have several rows.
    single: Option<ColumnId>,
    /// For a subquery that aggregates all its rows: its value if there are no rows to aggregate.
    empty: Option<Expr>,
}

impl Pending {
    /// Returns whether the left side of `IN (SELECT ...)` uses one of these columns of the outer query.
    fn uses(&self, columns: &BTreeSet<ColumnId>) -> bool {
        match &self.kind {
            PendingKind::In { value, .. } => !value.columns().is_disjoint(columns),
            PendingKind::Value(_) | PendingKind::Exists(_) => false,
        }
    }
}

/// Removes and returns each `x IN (SELECT ...)` in which `x` uses one of these columns.
pub(super) fn take_using(pending: &mut Vec<Pending>, columns: &BTreeSet<ColumnId>) -> Vec<Pending> {
    let (using, others) = std::mem::take(pending)
        .into_iter()
        .partition(|one| one.uses(columns));
    *pending = others;
    using
}

impl<'q> Exprs<'_, 'q, '_> {
    pub(super) fn scalar_subquery(
        &mut self,
        query: &'q QueryTree,
        at: Position,
    ) -> Result<Expr, QueryError> {
        let (plan, columns) = self.subquery(query)?;
        let [column] = columns.as_slice() else {
            return Err(refused(
                at,
                "a subquery in an expression must return exactly one column",
            ));
        };
        let data_type = self.binder.catalog.get(column.id).data_type.clone();
        let mut result = ScalarResult {
            column: column.id,
            first: self.binder.column("value", data_type.clone()),
            count: self.binder.column("rows", DataType::Int64),
            single: None,
            empty: value_of_no_rows(&plan, column.id),
        };
        let value = match plan.is_single_row() || result.empty.is_some() {
            true => {
                let single = self.binder.column("subquery", data_type);
                result.single = Some(single);
                self.binder.reference(single, at)
            }
            // Several rows are an error only if the expression needs the value.
            false => self.binder.checked_value(&result, at),
        };
        let kind = PendingKind::Value(result);
        self.found.subqueries.push(Pending { plan, kind, at });
        Ok(value)
    }

    pub(super) fn exists(
        &mut self,
        query: &'q QueryTree,
        at: Position,
    ) -> Result<Expr, QueryError> {
        let (plan, _) = self.subquery(query)?;
        let id = self.binder.column("exists", DataType::Boolean);
        let kind = PendingKind::Exists(id);
        self.found.subqueries.push(Pending { plan, kind, at });
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
        let result = self.binder.column("in", DataType::Boolean);
        let kind = PendingKind::In {
            value,
            column,
            result,
        };
        self.found.subqueries.push(Pending { plan, kind, at });
        Ok(self.binder.reference(result, at))
    }

    /// Resolves the subquery of `value IN (...)`, and casts both sides to a common type.
    pub(super) fn looked_up(
        &mut self,
        value: Expr,
        source: &tree::Expr,
        query: &'q QueryTree,
    ) -> Result<(Expr, Relational, ColumnId), QueryError> {
        let (plan, columns) = self.subquery(query)?;
        let [column] = columns.as_slice() else {
            let message = "the subquery of IN must return exactly one column";
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
    /// Joins subqueries to `plan`. `rewrite` makes expressions of the outer query valid above `plan`.
    pub(super) fn attach(
        &mut self,
        plan: Relational,
        pending: Vec<Pending>,
        rewrite: &mut dyn FnMut(Expr) -> Result<Expr, QueryError>,
    ) -> Result<Relational, QueryError> {
        let base = plan.clone();
        self.attach_to(plan, &base, pending, rewrite)
    }

    /// Joins subqueries like [`Binder::attach`]. `base` is a plan with at least the rows of `plan`, but without the
    /// joined subqueries of the same clause.
    pub(super) fn attach_to(
        &mut self,
        mut plan: Relational,
        base: &Relational,
        pending: Vec<Pending>,
        rewrite: &mut dyn FnMut(Expr) -> Result<Expr, QueryError>,
    ) -> Result<Relational, QueryError> {
        for Pending {
            plan: subquery,
            kind,
            at,
        } in pending
        {
            let around = &mut Around {
                plan: plan.clone(),
                base: base.clone(),
                rewrite: &mut *rewrite,
                at,
            };
            plan = match kind {
                PendingKind::Value(result) => {
                    let pulled = self.pulled_keys(subquery, around)?;
                    self.attach_value(around, pulled, &result)?
                }
                PendingKind::Exists(id) => {
                    let pulled = self.pulled_keys(only_rows(subquery), around)?;
                    let (plan, count) = self.attach_counts(plan, &pulled, None, &[])?;
                    let found = has_rows(self.reference(count[0], at));
                    plan.computed(vec![(id, found)])
                }
                PendingKind::In {
                    value,
                    column,
                    result,
                } => {
                    let pulled = self.pulled_keys(subquery, around)?;
                    if !pulled.plan.columns.contains(&column) {
                        return Err(refused(at, ONLY_CONDITIONS));
                    }
                    let value = (around.rewrite)(value)?;
                    self.attach_in(plan, &pulled, (value, column), result)?
                }
            };
        }
        Ok(plan)
    }

    /// Decorrelates a subquery. All moved conditions must be equalities.
    fn pulled_keys(
        &mut self,
        subquery: Relational,
        around: &mut Around<'_>,
    ) -> Result<Pulled, QueryError> {
        let mut pulled = self.pulled(subquery, around)?;
        if !pulled.rest.is_empty() {
            return Err(refused(around.at, ONLY_EQUALITIES));
        }
        for (_, outer) in &mut pulled.equal {
            *outer = (around.rewrite)(outer.clone())?;
        }
        Ok(pulled)
    }

    /// Joins the value of a subquery to the rows of the outer query.
    fn attach_value(
        &mut self,
        around: &mut Around<'_>,
        pulled: Pulled,
        result: &ScalarResult,
    ) -> Result<Relational, QueryError> {
        let plan = around.plan.clone();
        let is_single = pulled.equal.is_empty() && pulled.plan.is_single_row();
        if let Some((_, value)) = pulled.outer.iter().find(|(id, _)| *id == result.column) {
            let Some(single) = result.single.filter(|_| is_single) else {
                return Err(refused(around.at, ONLY_CONDITIONS));
            };
            let value = (around.rewrite)(value.clone())?;
            let joined = self.join_one(plan, pulled.plan)?;
            return Ok(joined.computed(vec![(single, value)]));
        }
        let value = self.reference(result.column, Position::default());
        let data_type = value.data_type.clone();
        if let Some(single) = result.single.filter(|_| is_single) {
            let joined = self.join_one(plan, pulled.plan)?;
            return Ok(joined.computed(vec![(single, value)]));
        }
        if let (Some(single), Some(empty), false) =
            (result.single, &result.empty, pulled.equal.is_empty())
        {
            // A key that does not occur in the subquery has no group, so its value is `empty`.
            let present = self.column("present", DataType::Boolean);
            let yes = Expr::literal(true.into(), Position::default());
            let right = pulled.plan.computed(vec![(present, yes)]);
            let joined = self.join_keys(plan, right, pulled.equal)?;
            let missing = self.reference(present, Position::default()).missing();
            let branches = vec![(missing, cast(empty.clone(), &data_type))];
            let value = Expr::case(branches, Some(value), Position::default());
            return Ok(joined.computed(vec![(single, value)]));
        }
        let calls = vec![
            (result.first, call("first_value", value)),
            (result.count, count_call(None)),
        ];
        let (keys, equal) = self.grouped_keys(&pulled.equal);
        let right = pulled.plan.aggregated(keys, calls);
        let joined = match equal.is_empty() {
            true => self.join_one(plan, right)?,
            false => self.join_keys(plan, right, equal)?,
        };
        let single = result.single.into_iter();
        let single = single.map(|id| (id, self.checked_value(result, Position::default())));
        let single = single.collect();
        Ok(joined.computed(single))
    }

    /// Returns an expression for the value of a subquery. It fails if the subquery has several rows.
    fn checked_value(&self, result: &ScalarResult, at: Position) -> Expr {
        let args = vec![
            self.reference(result.first, at),
            self.reference(result.count, at),
        ];
        let data_type = self.catalog.get(result.first).data_type.clone();
        Expr::call(single_row(), args, data_type, at)
    }

    /// Groups a subquery by the columns in `pulled.equal` and `more`. For each group, counts all rows, and the rows in which
    /// `value` is not NULL. Joins both counts to the rows of `plan`.
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

    /// Adds the boolean column `id` to `plan`. Its value is that of `value IN (...)`, in which `column` of the subquery
    /// is the list.
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
        let branches = vec![
            (matched, boolean(true)),
            (is_empty, boolean(false)),
            (unknown, null(&DataType::Boolean)),
        ];
        let found = Expr::case(branches, Some(boolean(false)), at);
        Ok(plan.computed(vec![(id, found)]))
    }

    /// Keeps the rows for which a subquery has rows. If `negated`, keeps the other rows.
    pub(super) fn filter_exists(
        &mut self,
        plan: Relational,
        base: &Relational,
        subquery: Relational,
        negated: bool,
        at: Position,
    ) -> Result<Relational, QueryError> {
        let around = &mut Around {
            plan: plan.clone(),
            base: base.clone(),
            rewrite: &mut Ok,
            at,
        };
        let pulled = self.pulled(only_rows(subquery), around)?;
        if pulled.equal.is_empty() && pulled.rest.is_empty() {
            let (plan, counts) = self.attach_counts(plan, &pulled, None, &[])?;
            let found = has_rows(self.reference(counts[0], at));
            return Ok(plan.filtered(vec![if negated { found.not() } else { found }]));
        }
        self.filter_matches(plan, pulled, None, negated)
    }

    /// Applies `value IN (SELECT ...)` or, if `negated`, NOT IN as a condition of WHERE.
    pub(super) fn filter_in(
        &mut self,
        plan: Relational,
        base: &Relational,
        subquery: Relational,
        (value, column): (Expr, ColumnId),
        negated: bool,
    ) -> Result<Relational, QueryError> {
        let at = value.at;
        let around = &mut Around {
            plan: plan.clone(),
            base: base.clone(),
            rewrite: &mut Ok,
            at,
        };
        let pulled = self.pulled(subquery, around)?;
        if !pulled.plan.columns.contains(&column) {
            return Err(refused(at, ONLY_CONDITIONS));
        }
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
        // NOT IN is true if no row matches and neither side contains NULL, or if the subquery has no rows.
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

    /// Filters the rows of `plan` by a semi join with a subquery or, if `negated`, by an anti join. `value` is the column of
    /// the subquery that IN compares, and the expression on the left of IN.
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

    /// Returns the columns in `equal` as keys of an aggregation, and `equal` with the new key columns.
    pub(super) fn grouped_keys(
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

    /// Joins `right`, which must have exactly one row, to each row of `plan`.
    fn join_one(&mut self, plan: Relational, right: Relational) -> Result<Relational, QueryError> {
        let spec = JoinSpec::unique(JoinKind::Inner, Vec::new());
        plan.joined(right, spec, &mut self.positions())
    }

    /// Joins `right`, which must have at most one row for each combination of keys.
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
}

/// Returns an expression that is true if `count` is above zero, and otherwise false. The count is NULL where a left
/// join found no group.
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
        function: find_aggregate(name).expect("an aggregate in the list of functions"),
        args: vec![arg],
        distinct: false,
        ignores_nulls: false,
        filter: None,
        order_by: Vec::new(),
    }
}

/// Counts the rows in which `value` is not NULL or, without a value, all rows.
fn count_call(value: Option<Expr>) -> AggregateCall {
    let one = || Expr::literal(1_i64.into(), Position::default());
    call("count", value.unwrap_or_else(one))
}

/// Removes the topmost operators of a plan that do not change whether the plan has rows, for example a sort.
fn only_rows(plan: Relational) -> Relational {
    match plan.node.as_ref() {
        Node::Compute { input, .. } | Node::Sort { input, .. } => only_rows(input.clone()),
        Node::Limit {
            input,
            skip: 0,
            fetch,
        } if fetch.is_none_or(|fetch| fetch > 0) => only_rows(input.clone()),
        _ => plan,
    }
}

/// Returns the value that `column` has if there are no rows to aggregate, for example 0 for a count. Returns `None`
/// unless the plan aggregates all its rows to one row.
fn value_of_no_rows(plan: &Relational, column: ColumnId) -> Option<Expr> {
    let expr = Expr::column(column, DataType::Null, Position::default());
    substituted(plan, expr, Vec::new())
}

/// Returns the value of `expr`, an expression over the columns of the plan, if the input of the plan's aggregation is empty.
/// The value is NULL if one of `conditions` is not true.
///
/// Returns `None` unless the plan aggregates all its rows to one row.
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
            // If a value cannot be computed, the expression stays, and fails if a row needs its value.
            let literal = |expr: Expr| {
                let replaced = expr.replace(&mut |part: &Expr| match part.as_column() {
                    Some(id) => of_call(id).map(Some).ok_or(()),
                    None => Ok(None),
                });
                let replaced = replaced.ok()?;
                Some(match value(&replaced) {
                    Ok(value) => Expr::literal(value, Position::default()),
                    Err(_) => replaced,
                })
            };
            let mut result = literal(expr)?;
            for condition in conditions {
                let kept = literal(condition)?;
                result = match kept.as_literal() {
                    Some(ScalarValue::Boolean(Some(true))) => result,
                    Some(_) => Expr::literal(ScalarValue::Null, Position::default()),
                    None => {
                        let at = result.at;
                        Expr::case(vec![(kept, result)], None, at)
                    }
                };
            }
            Some(result)
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
