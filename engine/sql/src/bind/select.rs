//! Resolves the clauses of SELECT in the order in which SQL applies them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use prep_spec::query::tree::{
    self, Grouping, Item, Name, Operator, Select, SortKey, SubqueryKind, Wildcard,
};

use super::call::{PendingWindow, check_key};
use super::expr::{Exprs, Found};
use super::group::Groups;
use super::query::position;
use super::scope::{Parts, Scope, ScopeColumn, ScopeTable, missing_column};
use super::subquery::{Pending, take_using};
use super::types::{TypeClass, refused, rejected, text};
use super::{Binder, Bound, OutputColumn};
use crate::QueryError;
use crate::relational::{
    ColumnId, Expr, Relational, SortKey as PlanKey, WindowCall, WindowSpec, distinct,
};

/// An item of the select list, after `*` was replaced by columns.
enum ListItem<'q> {
    Column(OutputColumn),
    Expr { name: String, expr: &'q tree::Expr },
}

/// A key of ORDER BY.
enum SelectKey {
    /// An index into the select list.
    Item(usize),
    Expr(Expr),
}

/// The resolved clauses of a SELECT that are evaluated after WHERE.
struct Clauses<'q> {
    /// Name and expression of each item of the select list.
    items: Vec<(String, Expr)>,
    having: Option<Expr>,
    qualify: Option<Expr>,
    keys: Vec<(SelectKey, &'q SortKey)>,
}

impl Binder<'_> {
    pub(super) fn select<'q>(
        &mut self,
        select: &'q Select,
        order_by: &'q [SortKey],
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Bound, QueryError> {
        let (plan, tables) = self.from(&select.from, parts, outer)?;
        let scope = Scope::new(tables, outer);
        let plan = match &select.filter {
            Some(filter) => self.filter(plan, filter, &scope, parts)?,
            None => plan,
        };
        let list = list(&select.items, &scope)?;
        let aliases = aliases(&select.items);
        let mut exprs = Exprs {
            found: Found {
                aggregates: Some(Vec::new()),
                windows: Some(Vec::new()),
                unnested: Some(Vec::new()),
                ..Found::default()
            },
            ..Exprs::new(self, &scope, parts)
        };
        let clauses = exprs.clauses(select, order_by, &list, &aliases)?;
        let found = exprs.found;
        let plan = self.attach(plan, found.inside, &mut Ok)?;
        let aggregates = found.aggregates.unwrap_or_default();
        let is_grouped =
            select.group_by != Grouping::None || !aggregates.is_empty() || select.having.is_some();
        let (plan, groups) = match is_grouped {
            false => (plan, None),
            true => {
                let is_result = |id: ColumnId| aggregates.iter().any(|one| one.id == id);
                let (plan, keys) = self.keys(
                    plan,
                    select,
                    &clauses,
                    (&scope, parts, &aliases),
                    &is_result,
                )?;
                let (plan, groups) = self.grouped(plan, keys, aggregates)?;
                (plan, Some(groups))
            }
        };
        let groups = groups.as_ref();
        let windows = found.windows.unwrap_or_default();
        let unnested = found.unnested.unwrap_or_default();
        // `x IN (SELECT ...)` is joined above the operator that computes `x`, for example a window function.
        let mut subqueries = found.subqueries;
        let ids = unnested.iter().map(|(id, _)| *id).collect();
        let of_elements = take_using(&mut subqueries, &ids);
        let ids = windows.iter().map(|window| window.id).collect();
        let of_windows = take_using(&mut subqueries, &ids);
        let plan = self.attach_above(groups, plan, subqueries)?;
        let Clauses {
            items,
            having,
            qualify,
            keys,
        } = clauses;
        let plan = match having {
            Some(having) => plan.filtered(vec![self.above(groups, having)?]),
            None => plan,
        };
        let plan = self.windows(plan, windows, groups)?;
        let plan = self.attach_above(groups, plan, of_windows)?;
        let plan = match qualify {
            Some(qualify) => plan.filtered(vec![self.above(groups, qualify)?]),
            None => plan,
        };
        let mut plan = plan;
        if !unnested.is_empty() {
            let mut pairs = Vec::with_capacity(unnested.len());
            for (id, list) in unnested {
                let list = self.above(groups, list)?;
                let column;
                (plan, column) = self.with_column(plan, "list", list);
                pairs.push((id, column));
            }
            plan = plan.unnested(pairs)?;
        }
        let plan = self.attach_above(groups, plan, of_elements)?;
        let mut columns = Vec::with_capacity(items.len());
        let mut computed = Vec::new();
        for (name, expr) in items {
            let expr = self.above(groups, expr)?;
            let own = expr.as_column();
            let own = own.filter(|id| plan.columns.contains(id));
            let id = own.unwrap_or_else(|| {
                let id = self.column_for(&name, &expr);
                computed.push((id, expr));
                id
            });
            columns.push(OutputColumn { name, id });
        }
        let plan = plan.computed(computed.clone());
        self.finish(plan, columns, (select.distinct, &computed), keys, groups)
    }

    /// Joins the subqueries of expressions that are evaluated above GROUP BY.
    fn attach_above(
        &mut self,
        groups: Option<&Groups>,
        plan: Relational,
        subqueries: Vec<Pending>,
    ) -> Result<Relational, QueryError> {
        let Some(groups) = groups.filter(|_| !subqueries.is_empty()) else {
            return self.attach(plan, subqueries, &mut Ok);
        };
        // `rewrite` reads a copy of the catalog, because `attach` adds columns to the original.
        let catalog = Binder {
            tables: self.tables,
            catalog: self.catalog.clone(),
            demand: self.demand,
        };
        let mut rewrite = |expr: Expr| groups.rewrite(expr, &catalog);
        self.attach(plan, subqueries, &mut rewrite)
    }

    /// Applies DISTINCT and ORDER BY. `computed` contains the expressions of those items of the select list that are not
    /// columns.
    fn finish(
        &mut self,
        mut plan: Relational,
        mut columns: Vec<OutputColumn>,
        (distinct, computed): (bool, &[(ColumnId, Expr)]),
        keys: Vec<(SelectKey, &SortKey)>,
        groups: Option<&Groups>,
    ) -> Result<Bound, QueryError> {
        let before_distinct: Vec<ColumnId> = columns.iter().map(|column| column.id).collect();
        if distinct {
            (plan, columns) = self.distinct(plan, columns);
        }
        let mut sort = Vec::with_capacity(keys.len());
        for (key, source) in keys {
            let at = source.expr.at;
            let expr = match key {
                SelectKey::Item(index) => match columns.get(index) {
                    Some(column) => self.reference(column.id, at),
                    None => continue,
                },
                SelectKey::Expr(expr) => {
                    let expr = self.above(groups, expr)?;
                    match distinct {
                        false => expr,
                        true => {
                            let known = computed.iter().find(|(_, item)| *item == expr);
                            let id = expr.as_column().or(known.map(|(id, _)| *id));
                            let place = before_distinct.iter().position(|item| Some(*item) == id);
                            let column = place.and_then(|place| columns.get(place));
                            let Some(column) = column else {
                                let message = format!(
                                    "ORDER BY of a SELECT DISTINCT cannot use `{}`",
                                    text(&source.expr)
                                );
                                let help = "add it to the select list";
                                return Err(rejected(at, message, Some(help)));
                            };
                            self.reference(column.id, at)
                        }
                    }
                }
            };
            sort.push(self.order_key(expr, source)?);
        }
        match sort.is_empty() {
            true => Ok((plan, columns)),
            false => Ok((self.sorted(plan, sort)?, columns)),
        }
    }

    /// Replaces keys of GROUP BY by their columns, if the query has groups.
    fn above(&self, groups: Option<&Groups>, expr: Expr) -> Result<Expr, QueryError> {
        match groups {
            Some(groups) => groups.rewrite(expr, self),
            None => Ok(expr),
        }
    }

    /// Applies WHERE. Subqueries that are conditions become semi joins and anti joins.
    fn filter<'q>(
        &mut self,
        mut plan: Relational,
        filter: &'q tree::Expr,
        scope: &Scope<'_>,
        parts: &Parts<'q>,
    ) -> Result<Relational, QueryError> {
        let mut conditions = Vec::new();
        split(filter, &mut conditions);
        let is_lookup = |condition: &&tree::Expr| match &unnegated(condition).0.kind {
            tree::ExprKind::Subquery { kind, .. } => *kind != SubqueryKind::Value,
            _ => false,
        };
        let (lookups, plain): (Vec<&tree::Expr>, Vec<&tree::Expr>) =
            conditions.into_iter().partition(is_lookup);
        // The rows for which the conditions without subqueries are true.
        let mut base = plan.clone();
        for condition in plain {
            let mut exprs = Exprs::new(self, scope, parts);
            let resolved = exprs.class(condition, TypeClass::Boolean, "WHERE")?;
            let pending = exprs.found.subqueries;
            if pending.is_empty() {
                base = base.filtered(vec![resolved.clone()]);
            }
            plan = self.attach_to(plan, &base, pending, &mut Ok)?;
            plan = plan.filtered(vec![resolved]);
        }
        for condition in lookups {
            let (lookup, negated) = unnegated(condition);
            let tree::ExprKind::Subquery { kind, query } = &lookup.kind else {
                continue;
            };
            let mut exprs = Exprs::new(self, scope, parts);
            if let SubqueryKind::In(operand) = kind {
                let value = exprs.expr(operand)?;
                let (value, subquery, column) = exprs.looked_up(value, operand, query)?;
                let pending = exprs.found.subqueries;
                plan = self.attach_to(plan, &base, pending, &mut Ok)?;
                plan = self.filter_in(plan, &base, subquery, (value, column), negated)?;
            } else {
                let (subquery, _) = exprs.subquery(query)?;
                plan = self.filter_exists(plan, &base, subquery, negated, lookup.at)?;
            }
        }
        Ok(plan)
    }

    /// Resolves the keys of GROUP BY. `is_result` returns whether a column is the result of an aggregate.
    fn keys<'q>(
        &mut self,
        plan: Relational,
        select: &'q Select,
        clauses: &Clauses<'_>,
        (scope, parts, aliases): (&Scope<'_>, &Parts<'q>, &[(&'q Name, &'q tree::Expr)]),
        is_result: &dyn Fn(ColumnId) -> bool,
    ) -> Result<(Relational, Vec<Expr>), QueryError> {
        let keys = match &select.group_by {
            Grouping::None => return Ok((plan, Vec::new())),
            Grouping::All => {
                let items = clauses.items.iter().map(|(_, expr)| expr);
                let keys = items.filter(|expr| {
                    !expr.is_constant() && !expr.columns().into_iter().any(is_result)
                });
                return Ok((plan, keys.cloned().collect()));
            }
            Grouping::Keys(keys) => keys,
        };
        let mut exprs = Exprs {
            aliases,
            ..Exprs::new(self, scope, parts)
        };
        let mut resolved = Vec::with_capacity(keys.len());
        for key in keys {
            let expr = match position(key, clauses.items.len())? {
                Some(index) => match clauses.items.get(index) {
                    Some((_, expr)) if !expr.columns().into_iter().any(is_result) => expr.clone(),
                    _ => {
                        let message = "GROUP BY cannot use the result of an aggregate";
                        return Err(refused(key.at, message));
                    }
                },
                None => exprs.expr(key)?,
            };
            check_key(&expr, key, "GROUP BY")?;
            resolved.push(expr);
        }
        let pending = exprs.found.subqueries;
        let plan = self.attach(plan, pending, &mut Ok)?;
        Ok((plan, resolved))
    }

    /// Computes window functions. Functions with equal partitions and order share a sort.
    fn windows(
        &mut self,
        mut plan: Relational,
        windows: Vec<PendingWindow>,
        groups: Option<&Groups>,
    ) -> Result<Relational, QueryError> {
        let mut by_window: Vec<(WindowSpec, Vec<_>)> = Vec::new();
        let mut columns: Vec<(Expr, ColumnId)> = Vec::new();
        let mut prepared = Vec::with_capacity(windows.len());
        for window in windows {
            let mut key = |binder: &mut Self, plan: Relational, expr: Expr| {
                let expr = binder.above(groups, expr)?;
                if let Some((_, id)) = columns.iter().find(|(known, _)| *known == expr) {
                    return Ok::<_, QueryError>((plan, *id));
                }
                let (plan, id) = binder.with_column(plan, "key", expr.clone());
                columns.push((expr, id));
                Ok((plan, id))
            };
            let mut spec = WindowSpec {
                partition_by: Vec::with_capacity(window.partition_by.len()),
                order_by: Vec::with_capacity(window.order_by.len()),
                depends_on_ties: window.depends_on_ties,
            };
            for expr in window.partition_by {
                let id;
                (plan, id) = key(self, plan, expr)?;
                if !spec.partition_by.contains(&id) {
                    spec.partition_by.push(id);
                }
            }
            for order in window.order_by {
                let column;
                (plan, column) = key(self, plan, order.expr)?;
                spec.order_by.push(PlanKey {
                    column,
                    descending: order.descending,
                    nulls_first: order.nulls_first,
                });
            }
            spec.order_by = distinct(spec.order_by);
            let args = window.args.into_iter().map(|arg| self.above(groups, arg));
            let args = args.collect::<Result<Vec<_>, _>>()?;
            let filter = window.filter.map(|filter| self.above(groups, filter));
            let call = WindowCall {
                function: window.function,
                args,
                ignores_nulls: window.ignores_nulls,
                filter: filter.transpose()?,
                frame: Arc::new(window.frame),
            };
            prepared.push((spec, (window.id, call)));
        }
        // An aggregate over an entire partition needs no order, so it can use the sort of another function.
        let is_of_partition = |spec: &WindowSpec, call: &WindowCall| {
            let (start, end) = (&call.frame.start_bound, &call.frame.end_bound);
            !spec.depends_on_ties && start.is_unbounded() && end.is_unbounded()
        };
        prepared.sort_by_key(|(spec, (_, call))| is_of_partition(spec, call));
        for (mut spec, call) in prepared {
            let accepts_any_order = is_of_partition(&spec, &call.1);
            if accepts_any_order {
                spec.order_by.clear();
            }
            let same = by_window.iter_mut().find(|(other, _)| {
                other.partition_by == spec.partition_by
                    && (accepts_any_order || other.order_by == spec.order_by)
            });
            match same {
                Some((other, calls)) => {
                    other.depends_on_ties |= spec.depends_on_ties;
                    calls.push(call);
                }
                None => by_window.push((spec, vec![call])),
            }
        }
        for (spec, calls) in by_window {
            plan = plan.windowed(spec, calls, &mut self.positions())?;
        }
        Ok(plan)
    }
}

impl<'b, 'q> Exprs<'b, 'q, '_> {
    /// Resolves the select list, HAVING, QUALIFY and ORDER BY.
    fn clauses(
        &mut self,
        select: &'q Select,
        order_by: &'q [SortKey],
        list: &[ListItem<'q>],
        aliases: &'b [(&'q Name, &'q tree::Expr)],
    ) -> Result<Clauses<'q>, QueryError> {
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            items.push(match item {
                ListItem::Column(column) => {
                    let at = tree::Position::default();
                    (column.name.clone(), self.binder.reference(column.id, at))
                }
                ListItem::Expr { name, expr } => (name.clone(), self.expr(expr)?),
            });
        }
        self.aliases = aliases;
        // HAVING, QUALIFY and ORDER BY cannot contain `unnest`, and HAVING cannot contain window functions.
        let unnested = self.found.unnested.take();
        let windows = self.found.windows.take();
        let having = select.having.as_ref();
        let having = having.map(|having| self.class(having, TypeClass::Boolean, "HAVING"));
        let having = having.transpose()?;
        self.found.windows = windows;
        let qualify = select.qualify.as_ref();
        let qualify = qualify.map(|qualify| self.class(qualify, TypeClass::Boolean, "QUALIFY"));
        let qualify = qualify.transpose()?;
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, (name, _)) in items.iter().enumerate() {
            by_name.entry(name).or_default().push(index);
        }
        let mut keys = Vec::with_capacity(order_by.len());
        for key in order_by {
            let named = match &key.expr.kind {
                tree::ExprKind::Column { table: None, name } => by_name.get(name.text.as_str()),
                _ => None,
            };
            let same = named.and_then(|indices| {
                let first = indices.first()?;
                let item = |index: &usize| items.get(*index).map(|(_, expr)| expr);
                indices
                    .iter()
                    .all(|index| item(index) == item(first))
                    .then_some(*first)
            });
            let resolved = match position(&key.expr, items.len())?.or(same) {
                Some(index) => SelectKey::Item(index),
                None => SelectKey::Expr(self.expr(&key.expr)?),
            };
            keys.push((resolved, key));
        }
        self.found.unnested = unnested;
        Ok(Clauses {
            items,
            having,
            qualify,
            keys,
        })
    }
}

fn list<'q>(items: &'q [Item], scope: &Scope<'_>) -> Result<Vec<ListItem<'q>>, QueryError> {
    let mut list = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Item::Expr { expr, name } => list.push(ListItem::Expr {
                name: match (name, &expr.kind) {
                    (Some(name), _) | (None, tree::ExprKind::Column { name, .. }) => {
                        name.text.clone()
                    }
                    _ => text(expr),
                },
                expr,
            }),
            Item::Wildcard(wildcard) => add_wildcard(wildcard, scope, &mut list)?,
        }
    }
    Ok(list)
}

fn add_wildcard<'q>(
    wildcard: &'q Wildcard,
    scope: &Scope<'_>,
    list: &mut Vec<ListItem<'q>>,
) -> Result<(), QueryError> {
    let tables: Vec<&ScopeTable> = match &wildcard.table {
        None => scope.tables.iter().collect(),
        Some(name) => {
            let Some(table) = scope.table(&name.text) else {
                let message = format!("there is no table `{}`", name.text);
                return Err(refused(name.at, message));
            };
            vec![table]
        }
    };
    let is_shown = |column: &&ScopeColumn| {
        !column.is_hidden && (wildcard.table.is_some() || !column.is_merged)
    };
    let columns = tables.iter().flat_map(|table| &table.columns);
    let columns: Vec<&ScopeColumn> = columns.filter(is_shown).collect();
    let mut replaced: HashMap<&str, &'q tree::Expr> = HashMap::new();
    let mut excluded: HashSet<&str> = HashSet::new();
    let count = |name: &Name| {
        columns
            .iter()
            .filter(|column| column.name == name.text)
            .count()
    };
    for name in &wildcard.exclude {
        if count(name) == 0 {
            return Err(missing_column(wildcard.table.as_ref(), name));
        }
        excluded.insert(&name.text);
    }
    for (name, expr) in &wildcard.replace {
        match count(name) {
            0 => return Err(missing_column(wildcard.table.as_ref(), name)),
            1 => replaced.insert(&name.text, expr),
            _ => {
                let message = format!("`{}` is a column of several tables", name.text);
                let help = "write `t.* REPLACE (...)` for the table";
                return Err(rejected(name.at, message, Some(help)));
            }
        };
    }
    for column in columns {
        let name = column.name.as_str();
        if excluded.contains(name) {
            continue;
        }
        list.push(match replaced.get(name) {
            Some(expr) => ListItem::Expr {
                name: name.to_owned(),
                expr,
            },
            None => ListItem::Column(OutputColumn {
                name: name.to_owned(),
                id: column.id,
            }),
        });
    }
    Ok(())
}

fn aliases(items: &[Item]) -> Vec<(&Name, &tree::Expr)> {
    let named = items.iter().filter_map(|item| match item {
        Item::Expr {
            expr,
            name: Some(name),
        } => Some((name, expr)),
        _ => None,
    });
    named.collect()
}

/// Adds the operands of AND to `found`. A condition without AND is its only operand.
fn split<'q>(condition: &'q tree::Expr, found: &mut Vec<&'q tree::Expr>) {
    match &condition.kind {
        tree::ExprKind::Operation {
            op: Operator::And,
            operands,
        } => operands.iter().for_each(|operand| split(operand, found)),
        _ => found.push(condition),
    }
}

/// Strips all NOTs from a condition, and returns whether their number is odd.
fn unnegated(condition: &tree::Expr) -> (&tree::Expr, bool) {
    if let tree::ExprKind::Operation {
        op: Operator::Not,
        operands,
    } = &condition.kind
        && let [inner] = operands.as_slice()
    {
        let (inner, is_negated) = unnegated(inner);
        return (inner, !is_negated);
    }
    (condition, false)
}
