//! Decorrelates subqueries: moves conditions that use columns of the outer query out of a subquery.
//!
//! A decorrelated subquery is computed once for all rows of the outer query, and then joined. Without the moved conditions,
//! the subquery computes additional rows, which match no row of the outer query.
//!
//! An expression could fail for an additional row. Therefore [`Binder::restricted`] removes these rows first.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_expr::Operator;
use prep_spec::query::tree::Position;

use super::Binder;
use super::types::refused;
use crate::QueryError;
use crate::relational::{
    ColumnId, Expr, ExprKind, JoinKind, Node, Relational, WindowSpec, and, conjuncts,
};

/// The message for a use of outer columns that cannot be moved out of the subquery.
pub(super) const ONLY_CONDITIONS: &str =
    "a subquery can refer to columns of the outer query only in its WHERE";
/// The message for a moved condition that is not an equality.
pub(super) const ONLY_EQUALITIES: &str = "a subquery in an expression can refer to columns of the outer query only in conditions such as `u.id = t.id`";

/// The outer query of a subquery.
pub(super) struct Around<'r> {
    pub plan: Relational,
    /// `plan` before the subqueries of the current clause were joined to it. It contains all rows of `plan`, and maybe
    /// further ones.
    pub base: Relational,
    /// Converts expressions of the outer query to expressions over the columns of `plan`.
    pub rewrite: &'r mut dyn FnMut(Expr) -> Result<Expr, QueryError>,
    pub at: Position,
}

/// A decorrelated subquery, and the conditions and columns that were moved out of it.
pub(super) struct Pulled {
    pub plan: Relational,
    /// Equalities between a column of the subquery and an expression of the outer query.
    pub equal: EqualPairs,
    /// The moved conditions that are not in `equal`.
    pub rest: Vec<Expr>,
    /// Columns of the subquery whose expressions use columns of the outer query.
    pub outer: Vec<(ColumnId, Expr)>,
}

/// Columns of a subquery, each with the expression of the outer query that must have the same value.
pub(super) type EqualPairs = Vec<(ColumnId, Expr)>;

impl Pulled {
    /// Replaces columns in [`Pulled::outer`] by their expressions.
    fn inserted(&self, expr: Expr) -> Expr {
        let replaced = expr.clone().replace(&mut |part: &Expr| {
            let id = part.as_column();
            let found = self.outer.iter().find(|(own, _)| Some(*own) == id);
            Ok::<_, QueryError>(found.map(|(_, expr)| expr.clone()))
        });
        replaced.unwrap_or(expr)
    }
}

impl Binder<'_> {
    /// Decorrelates a subquery.
    pub(super) fn pulled(
        &mut self,
        subquery: Relational,
        around: &mut Around<'_>,
    ) -> Result<Pulled, QueryError> {
        let pulled = self.pull(subquery, false, around)?;
        match has_outer_columns(&pulled.plan) {
            true => Err(refused(around.at, ONLY_CONDITIONS)),
            false => Ok(pulled),
        }
    }

    /// Decorrelates `plan`, a part of a subquery. `can_fail` states whether an operator that reads the rows of `plan` can
    /// fail because of a value.
    fn pull(
        &mut self,
        plan: Relational,
        can_fail: bool,
        around: &mut Around<'_>,
    ) -> Result<Pulled, QueryError> {
        if !has_outer_columns(&plan) {
            return Ok(Pulled {
                plan,
                equal: Vec::new(),
                rest: Vec::new(),
                outer: Vec::new(),
            });
        }
        let at = around.at;
        let fails_above = can_fail;
        let can_fail = can_fail || plan.node.can_fail();
        match plan.node.as_ref() {
            Node::Filter { input, condition } => {
                let pulled = self.pull(input.clone(), can_fail, around)?;
                let mut found = Vec::new();
                conjuncts(condition.clone(), &mut found);
                self.pull_conditions(pulled, found, fails_above, around)
            }
            Node::Compute { input, exprs } => {
                let mut pulled = self.pull(input.clone(), can_fail, around)?;
                let mut own = Vec::with_capacity(exprs.len());
                let mut outer = Vec::new();
                for (id, expr) in exprs {
                    let expr = pulled.inserted(expr.clone());
                    let is_own = expr.columns().is_subset(&pulled.plan.columns);
                    let exprs = if is_own { &mut own } else { &mut outer };
                    exprs.push((*id, expr));
                }
                pulled.outer.extend(outer);
                pulled.plan = pulled.plan.computed(own);
                Ok(pulled)
            }
            Node::Sort { input, .. } => self.pull(input.clone(), can_fail, around),
            Node::Aggregate { input, keys, calls } => {
                let mut pulled = self.pull(input.clone(), can_fail, around)?;
                if !pulled.rest.is_empty() {
                    return Err(refused(at, ONLY_EQUALITIES));
                }
                let (added, equal) = self.grouped_keys(&pulled.equal);
                let keys = keys.iter().copied().chain(added).collect();
                pulled.equal = equal;
                pulled.outer.clear();
                pulled.plan = pulled.plan.aggregated(keys, calls.clone());
                Ok(pulled)
            }
            Node::Window {
                input,
                window,
                calls,
                ..
            } => {
                let mut pulled = self.pull(input.clone(), can_fail, around)?;
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
                let is_inner = spec.kind == JoinKind::Inner;
                if spec.kind == JoinKind::Full || has_outer_columns(right) && !is_inner {
                    return Err(refused(at, ONLY_CONDITIONS));
                }
                let left = self.pull(left.clone(), can_fail, around)?;
                let right = self.pull(right.clone(), can_fail, around)?;
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
                    if !outer.is_empty() && !is_inner {
                        return Err(refused(at, ONLY_CONDITIONS));
                    }
                    moved = outer;
                    spec.filter = own.into_iter().reduce(and);
                }
                let plan = left.plan.joined(right.plan, spec, &mut self.positions())?;
                let pulled = Pulled {
                    plan,
                    equal: left.equal.into_iter().chain(right.equal).collect(),
                    rest: left.rest.into_iter().chain(right.rest).collect(),
                    outer: left.outer.into_iter().chain(right.outer).collect(),
                };
                self.pull_conditions(pulled, moved, fails_above, around)
            }
            Node::Limit { .. } => Err(refused(
                at,
                "a subquery with LIMIT cannot refer to columns of the outer query",
            )),
            Node::OneRow
            | Node::Values { .. }
            | Node::Scan { .. }
            | Node::Union { .. }
            | Node::Number { .. }
            | Node::Unnest { .. } => Err(refused(at, ONLY_CONDITIONS)),
        }
    }

    /// Filters by the conditions that use only columns of the subquery. Moves the other conditions out of the subquery.
    fn pull_conditions(
        &mut self,
        mut pulled: Pulled,
        conditions: Vec<Expr>,
        fails_above: bool,
        around: &mut Around<'_>,
    ) -> Result<Pulled, QueryError> {
        // The moved conditions that `restricted` has not used yet.
        let mut moved = Vec::new();
        for condition in conditions {
            let condition = pulled.inserted(condition);
            if condition.can_fail() {
                pulled.plan = self.restricted(pulled.plan, std::mem::take(&mut moved), around)?;
            }
            let own = Arc::clone(&pulled.plan.columns);
            if condition.columns().is_subset(&own) {
                pulled.plan = pulled.plan.filtered(vec![condition]);
                continue;
            }
            moved.push(condition.clone());
            let Some((inner, outer)) = sides(&condition, &own) else {
                pulled.rest.push(condition);
                continue;
            };
            let column;
            (pulled.plan, column) = self.with_column(pulled.plan, "key", inner);
            pulled.equal.push((column, outer));
        }
        if fails_above {
            pulled.plan = self.restricted(pulled.plan, moved, around)?;
        }
        Ok(pulled)
    }

    /// Removes the rows of a subquery that match no row of the outer query, because later expressions must not fail for
    /// these rows.
    ///
    /// Ignores conditions with columns that are neither in the subquery nor in `around.base`.
    fn restricted(
        &mut self,
        subquery: Relational,
        mut conditions: Vec<Expr>,
        around: &mut Around<'_>,
    ) -> Result<Relational, QueryError> {
        let known = subquery.columns.union(&around.base.columns).copied();
        let known: BTreeSet<ColumnId> = known.collect();
        for condition in &mut conditions {
            *condition = (around.rewrite)(condition.clone())?;
        }
        conditions.retain(|condition| condition.columns().is_subset(&known));
        let mut nodes = MAX_BASE_NODES;
        if conditions.is_empty()
            || !is_small(&around.base, &mut nodes)
            || has_outer_columns(&around.base)
        {
            return Ok(subquery);
        }
        let (right, kind) = (around.base.clone(), JoinKind::Semi);
        subquery.joined_on(right, kind, conditions, &mut self.positions())
    }
}

/// Maximum number of operators of an outer query that [`Binder::restricted`] copies into the plan. Without a limit, each
/// level of nested queries could double the plan.
const MAX_BASE_NODES: usize = 100;

/// Returns whether a plan has at most `nodes` operators, and subtracts their number from `nodes`.
fn is_small(plan: &Relational, nodes: &mut usize) -> bool {
    if *nodes == 0 {
        return false;
    }
    *nodes -= 1;
    let mut inputs = plan.node.inputs().into_iter();
    inputs.all(|input| is_small(input, nodes))
}

/// Returns the two sides of an equality. The first side has only columns of the subquery (`own`), and the second side has
/// none of them. `None` if the condition does not have this form.
fn sides(condition: &Expr, own: &BTreeSet<ColumnId>) -> Option<(Expr, Expr)> {
    let ExprKind::Binary(Operator::Eq, left, right) = &condition.kind else {
        return None;
    };
    let is_inner = |side: &Expr| {
        let columns = side.columns();
        !columns.is_empty() && columns.is_subset(own)
    };
    let is_outer = |side: &Expr| side.columns().is_disjoint(own);
    let pair = match (
        is_inner(left) && is_outer(right),
        is_inner(right) && is_outer(left),
    ) {
        (true, _) => (left, right),
        (_, true) => (right, left),
        _ => return None,
    };
    Some((pair.0.as_ref().clone(), pair.1.as_ref().clone()))
}

/// Returns whether a plan is correlated: it uses columns that none of its operators creates.
fn has_outer_columns(plan: &Relational) -> bool {
    let inputs = plan.node.inputs();
    let is_own = |id: &ColumnId| inputs.iter().any(|input| input.columns.contains(id));
    plan.node.used().iter().any(|id| !is_own(id)) || inputs.into_iter().any(has_outer_columns)
}
