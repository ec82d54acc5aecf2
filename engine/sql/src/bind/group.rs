//! Resolves GROUP BY and aggregates.

use std::collections::BTreeSet;
use std::sync::Arc;

use prep_spec::query::tree;

use super::Binder;
use super::call::{OrderKey, PendingAggregate, check_key};
use super::types::{refused, rejected};
use crate::QueryError;
use crate::relational::{AggregateCall, ColumnId, Expr, ExprKind, Relational, SortKey};

/// The keys and the input of a GROUP BY. They are used to resolve the expressions that are evaluated once for each group.
pub(super) struct Groups {
    /// The expression of each key, and the column with its values.
    keys: Vec<(Expr, ColumnId)>,
    /// The columns of the rows that are grouped.
    input: Arc<BTreeSet<ColumnId>>,
}

impl Groups {
    /// Replaces keys of GROUP BY in `expr` by their columns. Any other column of the rows that are grouped is an error.
    pub(super) fn rewrite(&self, expr: Expr, binder: &Binder<'_>) -> Result<Expr, QueryError> {
        expr.replace(&mut |part: &Expr| {
            if let Some((_, id)) = self.keys.iter().find(|(key, _)| key == part) {
                return Ok(Some(Expr::column(*id, part.data_type.clone(), part.at)));
            }
            match part.kind {
                ExprKind::Column(id) if self.input.contains(&id) => {
                    let name = &binder.catalog.get(id).name;
                    Err(rejected(
                        part.at,
                        format!("`{name}` is neither in GROUP BY nor in an aggregate"),
                        Some(format!("add it to GROUP BY, or write `min({name})`")),
                    ))
                }
                _ => Ok(None),
            }
        })
    }
}

impl Binder<'_> {
    /// Groups the rows of a plan by `keys`, and computes the aggregates of each group.
    pub(super) fn grouped(
        &mut self,
        plan: Relational,
        keys: Vec<Expr>,
        aggregates: Vec<PendingAggregate>,
    ) -> Result<(Relational, Groups), QueryError> {
        let mut groups = Groups {
            keys: Vec::new(),
            input: Arc::clone(&plan.columns),
        };
        let mut plan = plan;
        let mut columns = Vec::with_capacity(keys.len());
        for key in keys {
            if groups.keys.iter().any(|(known, _)| *known == key) {
                continue;
            }
            let name = match key.as_column() {
                Some(id) => self.catalog.get(id).name.clone(),
                None => "key".to_owned(),
            };
            let input;
            (plan, input) = self.with_column(plan, &name, self.canonical(key.clone()));
            let id = self.key_column(&name, input);
            columns.push((id, input));
            groups.keys.push((key, id));
        }
        let (plan, calls) = self.aggregate_calls(plan, aggregates)?;
        if let Some((plan, calls)) = self.distinct_calls(&plan, &columns, &calls) {
            let keys = columns.iter().map(|(id, _)| (*id, *id)).collect();
            return Ok((plan.aggregated(keys, calls), groups));
        }
        Ok((plan.aggregated(columns, calls), groups))
    }

    /// Prepares the calls of aggregates. Adds the keys of an ORDER BY inside an aggregate as columns to the plan.
    fn aggregate_calls(
        &mut self,
        mut plan: Relational,
        aggregates: Vec<PendingAggregate>,
    ) -> Result<(Relational, Vec<(ColumnId, AggregateCall)>), QueryError> {
        let mut calls = Vec::with_capacity(aggregates.len());
        for one in aggregates {
            let mut order_by = Vec::with_capacity(one.order_by.len());
            for key in one.order_by {
                let column;
                (plan, column) = self.sort_column(plan, key);
                order_by.push(column);
            }
            let mut call = AggregateCall {
                function: one.function,
                args: one.args,
                distinct: one.distinct,
                ignores_nulls: one.ignores_nulls,
                filter: one.filter,
                order_by,
            };
            // `ordered_call` compares arguments with the columns of ORDER BY. Therefore arguments become columns, too.
            if !call.order_by.is_empty() {
                for arg in &mut call.args {
                    if arg.as_literal().is_none() {
                        let id;
                        (plan, id) = self.with_column(plan, "argument", arg.clone());
                        *arg = self.reference(id, arg.at);
                    }
                }
                let (name, at) = (call.function.name().to_owned(), tree::Position::default());
                if name != "percentile_cont" {
                    (plan, call) = plan.ordered_call(call, &mut self.positions())?;
                }
                check_sorting(&calls, &call, at)?;
            }
            calls.push((one.id, call));
        }
        Ok((plan, calls))
    }

    /// Removes DISTINCT from aggregates that have the same argument. The new plan first groups by the keys and the
    /// argument, so that each group has one value, and then aggregates these groups. Returns `None` unless all calls
    /// have DISTINCT and the same single argument, without FILTER and ORDER BY.
    ///
    /// A grouping can use temporary files, whereas a DISTINCT aggregate keeps its distinct values in memory.
    fn distinct_calls(
        &mut self,
        plan: &Relational,
        keys: &[(ColumnId, ColumnId)],
        calls: &[(ColumnId, AggregateCall)],
    ) -> Option<(Relational, Vec<(ColumnId, AggregateCall)>)> {
        let (_, first) = calls.first()?;
        let [argument] = first.args.as_slice() else {
            return None;
        };
        let is_plain = |call: &AggregateCall| {
            call.distinct
                && call.filter.is_none()
                && call.order_by.is_empty()
                && call.args.as_slice() == std::slice::from_ref(argument)
        };
        if !calls.iter().all(|(_, call)| is_plain(call)) {
            return None;
        }
        let (plan, column) = self.with_column(plan.clone(), "argument", argument.clone());
        let value = self.key_column("argument", column);
        let inner = keys.iter().copied().chain([(value, column)]);
        let plan = plan.aggregated(inner.collect(), Vec::new());
        let argument = self.reference(value, argument.at);
        let calls = calls.iter().map(|(id, call)| {
            let call = AggregateCall {
                distinct: false,
                args: vec![argument.clone()],
                ..call.clone()
            };
            (*id, call)
        });
        Some((plan, calls.collect()))
    }

    pub(super) fn order_key(
        &self,
        expr: Expr,
        key: &tree::SortKey,
    ) -> Result<OrderKey, QueryError> {
        check_key(&expr, &key.expr, "ORDER BY")?;
        Ok(OrderKey {
            expr: self.canonical(expr),
            descending: key.descending,
            nulls_first: key.nulls_first,
        })
    }

    pub(super) fn sort_column(&mut self, plan: Relational, key: OrderKey) -> (Relational, SortKey) {
        let (plan, column) = self.with_column(plan, "key", key.expr);
        let key = SortKey {
            column,
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        (plan, key)
    }
}

/// Aggregates that DataFusion computes on sorted rows. Its operator sorts the rows only once for all calls of these
/// aggregates. Therefore the ORDER BYs of the calls must agree.
const SORTED_BY_OPERATOR: [&str; 2] = ["string_agg", "nth_value"];

/// Rejects a call of [`SORTED_BY_OPERATOR`] if its ORDER BY contradicts the ORDER BY of such a call in `calls`.
fn check_sorting(
    calls: &[(ColumnId, AggregateCall)],
    call: &AggregateCall,
    at: tree::Position,
) -> Result<(), QueryError> {
    let is_sorted = |call: &AggregateCall| SORTED_BY_OPERATOR.contains(&call.function.name());
    if !is_sorted(call) {
        return Ok(());
    }
    let mut others = calls.iter().filter(|(_, other)| is_sorted(other));
    let conflict = others.any(|(_, other)| {
        !other.order_by.starts_with(&call.order_by) && !call.order_by.starts_with(&other.order_by)
    });
    match conflict {
        true => Err(refused(
            at,
            "string_agg() and nth_value() of one SELECT need the same ORDER BY; compute them in separate tables and join these",
        )),
        false => Ok(()),
    }
}
