//! Resolves queries: WITH, set operations, VALUES, ORDER BY and LIMIT.

use arrow::datatypes::DataType;
use prep_spec::query::tree::{self, Body, Position, QueryTree, SetOperator};

use super::call::OrderKey;
use super::expr::{Exprs, unified};
use super::scope::{Parts, Scope, ScopeColumn, ScopeTable};
use super::types::{TypeClass, canonical, cast, common, help, refused, rejected};
use super::{Binder, Bound, OutputColumn, RowDemand};
use crate::QueryError;
use crate::relational::{ColumnId, Expr, JoinKind, JoinSpec, Relational};

impl Binder<'_> {
    pub(super) fn query<'q>(
        &mut self,
        query: &'q QueryTree,
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Bound, QueryError> {
        let mut parts = parts.clone();
        for (index, part) in query.with.iter().enumerate() {
            let name = &part.alias.name;
            let mut earlier = query.with.iter().take(index);
            if earlier.any(|other| other.alias.name == *name) {
                let message = format!("WITH defines `{}` twice", name.text);
                return Err(refused(name.at, message));
            }
            parts = parts.with(part);
        }
        let (plan, columns) = match &query.body {
            // The ORDER BY of a SELECT can also use columns that are not selected.
            Body::Select(select) => self.select(select, &query.order_by, &parts, outer)?,
            body => {
                let (plan, columns) = self.body(body, &parts, outer)?;
                self.ordered(plan, columns, query, &parts)?
            }
        };
        if query.limit.is_none() && query.offset == 0 {
            return Ok((plan, columns));
        }
        Ok((plan.limited(query.offset, query.limit)?, columns))
    }

    fn body<'q>(
        &mut self,
        body: &'q Body,
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Bound, QueryError> {
        match body {
            Body::Select(select) => self.select(select, &[], parts, outer),
            Body::Query(query) => self.query(query, parts, outer),
            Body::Operation { op, branches, at } => {
                let tables: Vec<&str> = branches.iter().map(only_table).collect();
                let branches = branches
                    .iter()
                    .map(|branch| self.body(branch, parts, outer));
                let mut branches = branches.collect::<Result<Vec<_>, _>>()?;
                let kind = match op {
                    SetOperator::UnionAll => return self.union(branches, &tables, *at),
                    SetOperator::Union => {
                        let (plan, columns) = self.union(branches, &tables, *at)?;
                        return Ok(self.distinct(plan, columns));
                    }
                    SetOperator::Except => JoinKind::Anti,
                    SetOperator::Intersect => JoinKind::Semi,
                };
                match (branches.pop(), branches.pop()) {
                    (Some(right), Some(left)) => self.matched((left, right), kind, &tables, *at),
                    _ => Err(refused(*at, "a set operation has two branches")),
                }
            }
            Body::Values(rows) => self.values(rows, parts, outer),
        }
    }

    fn union(
        &mut self,
        branches: Vec<Bound>,
        tables: &[&str],
        at: Position,
    ) -> Result<Bound, QueryError> {
        let mut types: Vec<DataType> = Vec::new();
        let mut first: Vec<OutputColumn> = Vec::new();
        for ((_, columns), table) in branches.iter().zip(tables) {
            if types.is_empty() {
                types = self.types(columns);
                first.clone_from(columns);
                continue;
            }
            let tables = [tables.first().copied().unwrap_or_default(), *table];
            types = self.common_types(&types, (&first, columns), tables, at)?;
        }
        let mut inputs = Vec::with_capacity(branches.len());
        let mut by_branch = Vec::with_capacity(branches.len());
        for (plan, columns) in branches {
            let (plan, ids) = self.with_types(plan, &columns, &types, |expr| expr);
            inputs.push(plan);
            by_branch.push(ids);
        }
        let mut united = Vec::with_capacity(types.len());
        let mut columns = Vec::with_capacity(types.len());
        for (index, (column, data_type)) in first.into_iter().zip(types).enumerate() {
            let id = self.column(&column.name, data_type);
            let from = by_branch.iter().filter_map(|ids| ids.get(index).copied());
            united.push((id, from.collect()));
            columns.push(OutputColumn {
                name: column.name,
                id,
            });
        }
        Ok((Relational::union(inputs, united), columns))
    }

    fn types(&self, columns: &[OutputColumn]) -> Vec<DataType> {
        let types = columns.iter();
        types
            .map(|column| self.catalog.get(column.id).data_type.clone())
            .collect()
    }

    /// Returns a common type for each column of two branches of a set operation.
    fn common_types(
        &self,
        types: &[DataType],
        (first, columns): (&[OutputColumn], &[OutputColumn]),
        tables: [&str; 2],
        at: Position,
    ) -> Result<Vec<DataType>, QueryError> {
        if types.len() != columns.len() {
            let message = format!(
                "the SELECTs of a set operation have {} and {} columns, but need the same number",
                types.len(),
                columns.len()
            );
            return Err(refused(at, message));
        }
        let pairs = types.iter().zip(self.types(columns));
        pairs
            .zip(first.iter().zip(columns))
            .map(|((a, b), (column, other))| {
                // Columns with equal types keep their storage type.
                if *a == b {
                    return Ok(b);
                }
                common(a, &b).ok_or_else(|| {
                    let classes = (TypeClass::of(a), TypeClass::of(&b));
                    let named = |table: &str, column: &OutputColumn| match table {
                        "" => column.name.clone(),
                        table => format!("{table}.{}", column.name),
                    };
                    let message = format!(
                        "`{}` is {} and `{}` is {}: they cannot be combined",
                        named(tables[0], column),
                        classes.0.name(),
                        named(tables[1], other),
                        classes.1.name()
                    );
                    rejected(at, message, Some(help(classes.0, classes.1)))
                })
            })
            .collect()
    }

    /// Casts `columns` of a plan to `types`, applies `convert`, and returns the new columns.
    fn with_types(
        &mut self,
        mut plan: Relational,
        columns: &[OutputColumn],
        types: &[DataType],
        convert: impl Fn(Expr) -> Expr,
    ) -> (Relational, Vec<ColumnId>) {
        let mut exprs = Vec::new();
        let mut ids = Vec::with_capacity(columns.len());
        for (column, data_type) in columns.iter().zip(types) {
            let expr = self.reference(column.id, Position::default());
            let expr = convert(cast(expr, data_type));
            let id = match expr.as_column() {
                Some(id) => id,
                None => {
                    let id = self.column_for(&column.name, &expr);
                    exprs.push((id, expr));
                    id
                }
            };
            ids.push(id);
        }
        plan = plan.computed(exprs);
        (plan, ids)
    }

    /// Removes duplicate rows.
    pub(super) fn distinct(&mut self, plan: Relational, columns: Vec<OutputColumn>) -> Bound {
        let types = self.types(&columns);
        let (plan, ids) = self.with_types(plan, &columns, &types, canonical);
        if plan.is_single_row() {
            let columns = columns.into_iter().zip(ids);
            let columns = columns.map(|(column, id)| OutputColumn { id, ..column });
            return (plan, columns.collect());
        }
        let mut keys: Vec<(ColumnId, ColumnId)> = Vec::new();
        let mut outputs = Vec::with_capacity(columns.len());
        for (column, input) in columns.into_iter().zip(ids) {
            let known = keys
                .iter()
                .find(|(_, key)| *key == input)
                .map(|(id, _)| *id);
            let id = known.unwrap_or_else(|| {
                let id = self.key_column(&column.name, input);
                keys.push((id, input));
                id
            });
            outputs.push(OutputColumn {
                name: column.name,
                id,
            });
        }
        (plan.aggregated(keys, Vec::new()), outputs)
    }

    /// Resolves INTERSECT and EXCEPT to a semi join or an anti join, and removes duplicates.
    fn matched(
        &mut self,
        ((left, left_columns), (right, right_columns)): (Bound, Bound),
        kind: JoinKind,
        tables: &[&str],
        at: Position,
    ) -> Result<Bound, QueryError> {
        let types = self.types(&left_columns);
        let tables = [0, 1].map(|side| tables.get(side).copied().unwrap_or_default());
        let columns = (&*left_columns, &*right_columns);
        let types = self.common_types(&types, columns, tables, at)?;
        let (left, left_ids) = self.with_types(left, &left_columns, &types, canonical);
        let (right, right_ids) = self.with_types(right, &right_columns, &types, canonical);
        let spec = JoinSpec {
            on: left_ids.iter().copied().zip(right_ids).collect(),
            nulls_equal: true,
            ..JoinSpec::new(kind)
        };
        // The join runs before duplicates are removed, so that fewer rows are kept in memory.
        let plan = left.joined(right, spec, &mut self.positions())?;
        let columns = left_columns.into_iter().zip(left_ids);
        let columns = columns.map(|(column, id)| OutputColumn { id, ..column });
        Ok(self.distinct(plan, columns.collect()))
    }

    fn values<'q>(
        &mut self,
        rows: &'q [Vec<tree::Expr>],
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Bound, QueryError> {
        let scope = Scope::new(Vec::new(), outer);
        let width = rows.first().map_or(0, Vec::len);
        let mut by_column: Vec<Vec<Expr>> = vec![Vec::new(); width];
        let mut sources: Vec<Vec<&tree::Expr>> = vec![Vec::new(); width];
        let mut exprs = Exprs::new(self, &scope, parts);
        for row in rows {
            if row.len() != width {
                let at = row.first().map_or(Position::default(), |first| first.at);
                return Err(refused(at, "the rows of VALUES have different lengths"));
            }
            for (index, source) in row.iter().enumerate() {
                let value = exprs.expr(source)?;
                if !value.is_constant() || !exprs.found.subqueries.is_empty() {
                    return Err(refused(source.at, "VALUES must contain only constants"));
                }
                if let (Some(column), Some(of)) = (by_column.get_mut(index), sources.get_mut(index))
                {
                    column.push(value);
                    of.push(source);
                }
            }
        }
        let mut columns = Vec::with_capacity(width);
        let mut unified_columns = Vec::with_capacity(width);
        for (index, (values, sources)) in by_column.into_iter().zip(sources).enumerate() {
            let values = unified(values, &sources, "values of one column")?;
            let name = format!("column{}", index + 1);
            let data_type = values
                .first()
                .map_or(DataType::Null, |value| value.data_type.clone());
            let id = self.column(&name, data_type);
            columns.push(OutputColumn { name, id });
            unified_columns.push(values);
        }
        let count = rows.len();
        let rows = (0..count).map(|row| {
            let values = unified_columns.iter().filter_map(|column| column.get(row));
            values.cloned().collect()
        });
        let ids = columns.iter().map(|column| column.id).collect();
        Ok((Relational::values(ids, rows.collect()), columns))
    }

    /// Sorts the rows of a set operation. ORDER BY can use only the columns of these rows.
    fn ordered<'q>(
        &mut self,
        plan: Relational,
        columns: Vec<OutputColumn>,
        query: &'q QueryTree,
        parts: &Parts<'q>,
    ) -> Result<Bound, QueryError> {
        if query.order_by.is_empty() {
            return Ok((plan, columns));
        }
        let table = ScopeTable {
            name: None,
            columns: columns
                .iter()
                .map(|column| ScopeColumn {
                    name: column.name.clone(),
                    id: column.id,
                    is_hidden: false,
                    is_merged: false,
                })
                .collect(),
        };
        let scope = Scope::new(vec![table], None);
        let mut keys = Vec::with_capacity(query.order_by.len());
        let mut exprs = Exprs::new(self, &scope, parts);
        for key in &query.order_by {
            let expr = match position(&key.expr, columns.len())? {
                Some(index) => {
                    let id = columns.get(index).map_or(ColumnId(0), |column| column.id);
                    exprs.binder.reference(id, key.expr.at)
                }
                None => exprs.expr(&key.expr)?,
            };
            keys.push(exprs.binder.order_key(expr, key)?);
        }
        let pending = std::mem::take(&mut exprs.found.subqueries);
        let plan = self.attach(plan, pending, &mut Ok)?;
        Ok((self.sorted(plan, keys)?, columns))
    }

    /// Sorts rows stably: rows with equal keys keep their order.
    pub(super) fn sorted(
        &mut self,
        plan: Relational,
        keys: Vec<OrderKey>,
    ) -> Result<Relational, QueryError> {
        let mut plan = plan;
        let mut sort = Vec::with_capacity(keys.len());
        for key in keys {
            let column;
            (plan, column) = self.sort_column(plan, key);
            sort.push(column);
        }
        if self.demand == RowDemand::Ordered
            && let Some(missing) = plan.missing_key(&sort)
        {
            let name = &self.catalog.get(missing).name;
            return Err(QueryError::Order(format!(
                "ORDER BY must also name `{name}`, a key of GROUP BY or DISTINCT"
            )));
        }
        plan.sorted(sort, &mut self.positions())
    }
}

/// Returns the column index if a key is the number of a column, as in `ORDER BY 2`.
pub(super) fn position(key: &tree::Expr, columns: usize) -> Result<Option<usize>, QueryError> {
    let tree::ExprKind::Integer(number) = key.kind else {
        return Ok(None);
    };
    let index = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1));
    match index.filter(|index| *index < columns) {
        Some(index) => Ok(Some(index)),
        None => Err(refused(
            key.at,
            format!("there is no column {number}; the number of columns is {columns}"),
        )),
    }
}

/// Returns the name of the table if a SELECT reads only one table. Otherwise returns an empty string.
fn only_table(branch: &Body) -> &str {
    let Body::Select(select) = branch else {
        return "";
    };
    match select.from.as_slice() {
        [from] if from.joins.is_empty() => match &from.first {
            tree::Source::Table { name, .. } => &name.text,
            _ => "",
        },
        _ => "",
    }
}
