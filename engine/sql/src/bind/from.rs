//! Resolves FROM: tables, subqueries, lists and joins.

use arrow::datatypes::DataType;
use datafusion_expr::Operator;
use prep_spec::query::tree::{self, Alias, Condition, Join, JoinKind as TreeJoin, Name, Source};

use super::call::{element_type, list_class};
use super::expr::{Exprs, unified};
use super::scope::{Parts, Scope, ScopeColumn, ScopeTable};
use super::types::{TypeClass, compared, comparison, refused};
use super::{Binder, ColumnInfo, OutputColumn};
use crate::QueryError;
use crate::relation::ROW;
use crate::relational::{ColumnId, Expr, JoinKind, Relational, conjuncts};

/// The plan of a FROM clause or of a part of it, and the tables whose columns the plan has.
pub(super) type BoundFrom = (Relational, Vec<ScopeTable>);

impl Binder<'_> {
    pub(super) fn from<'q>(
        &mut self,
        from: &'q [tree::From],
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
    ) -> Result<BoundFrom, QueryError> {
        let mut bound: Option<BoundFrom> = None;
        for item in from {
            let right = self.source(&item.first, parts, outer, bound.as_ref())?;
            let is_list = matches!(item.first, Source::Unnest { .. });
            bound = Some(match bound {
                None => self.joins(right, item, parts, outer)?,
                // `unnest(list)` can use the columns of the earlier items, so its plan already contains these items.
                Some(left) if is_list => {
                    if item.joins.iter().any(|join| keeps_right(join.kind)) {
                        return Err(refused(
                            item.first.at(),
                            "unnest(list) in FROM needs a CROSS JOIN",
                        ));
                    }
                    let both = self.crossed(left, right, &item.first)?;
                    self.joins(both, item, parts, outer)?
                }
                Some(left) => {
                    let right = self.joins(right, item, parts, outer)?;
                    self.crossed(left, right, &item.first)?
                }
            });
        }
        Ok(bound.unwrap_or_else(|| (Relational::one_row(), Vec::new())))
    }

    fn joins<'q>(
        &mut self,
        mut left: BoundFrom,
        item: &'q tree::From,
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
    ) -> Result<BoundFrom, QueryError> {
        for join in &item.joins {
            left = self.join(left, join, parts, outer)?;
        }
        Ok(left)
    }

    /// Resolves a table, subquery or list. Lists can use the columns of `left`.
    fn source<'q>(
        &mut self,
        source: &'q Source,
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
        left: Option<&BoundFrom>,
    ) -> Result<BoundFrom, QueryError> {
        match source {
            Source::Table { name, alias } => match parts.find(&name.text) {
                Some((part, earlier)) => {
                    let (plan, columns) = self.query(&part.query, &earlier, None)?;
                    let columns = renamed(columns, Some(&part.alias))?;
                    let own = alias.as_ref().map_or(&name.text, |alias| &alias.name.text);
                    let columns = renamed(columns, alias.as_ref())?;
                    Ok((plan, vec![scope_table(Some(own), columns)]))
                }
                None => self.table(name, alias.as_ref()),
            },
            Source::Query { query, alias, .. } => {
                let (plan, columns) = self.query(query, parts, None)?;
                let columns = renamed(columns, alias.as_ref())?;
                let name = alias.as_ref().map(|alias| &alias.name.text);
                Ok((plan, vec![scope_table(name, columns)]))
            }
            Source::Unnest { lists, alias, at } => {
                let (plan, tables) = match left {
                    Some((plan, tables)) => (plan.clone(), tables.clone()),
                    None => (Relational::one_row(), Vec::new()),
                };
                let scope = Scope::new(tables, outer);
                let mut exprs = Exprs::new(self, &scope, parts);
                let mut resolved = Vec::with_capacity(lists.len());
                for list in lists {
                    let expr = exprs.expr(list)?;
                    let element = element_type(&expr, list)?;
                    resolved.push((list_class(expr, list)?, element));
                }
                let pending = std::mem::take(&mut exprs.found.subqueries);
                let mut plan = self.attach(plan, pending, &mut Ok)?;
                let mut columns = Vec::with_capacity(lists.len());
                let mut pairs = Vec::with_capacity(lists.len());
                for (index, (list, element)) in resolved.into_iter().enumerate() {
                    let named = alias.as_ref().and_then(|alias| alias.columns.get(index));
                    let name = match (named, alias) {
                        (Some(name), _) => name.text.clone(),
                        (None, Some(alias)) if lists.len() == 1 => alias.name.text.clone(),
                        _ => format!("column{}", index + 1),
                    };
                    let list_column;
                    (plan, list_column) = self.with_column(plan, "list", list);
                    let id = self.column(&name, element);
                    pairs.push((id, list_column));
                    columns.push(OutputColumn { name, id });
                }
                if alias
                    .as_ref()
                    .is_some_and(|alias| alias.columns.len() > lists.len())
                {
                    return Err(refused(*at, "unnest() has more column names than lists"));
                }
                let plan = plan.unnested(pairs)?;
                let name = alias.as_ref().map(|alias| &alias.name.text);
                Ok((plan, vec![scope_table(name, columns)]))
            }
        }
    }

    /// Resolves a table of the pipeline.
    fn table(&mut self, name: &Name, alias: Option<&Alias>) -> Result<BoundFrom, QueryError> {
        let Some(relation) = self.tables.get(&name.text).cloned() else {
            let message = format!("there is no table `{}`", name.text);
            return Err(refused(name.at, message));
        };
        let new_names: &[Name] = alias.map_or(&[], |alias| &alias.columns);
        let visible = relation
            .columns()
            .iter()
            .filter(|column| !column.hidden)
            .count();
        check_names(new_names, visible)?;
        let mut new_names = new_names.iter();
        let mut columns = Vec::with_capacity(relation.columns().len() + 1);
        let mut ids = Vec::with_capacity(relation.columns().len());
        for (index, column) in relation.columns().iter().enumerate() {
            let new = match column.hidden {
                true => None,
                false => new_names.next(),
            };
            let info = ColumnInfo {
                name: column.name.clone(),
                data_type: column.data_type.clone(),
                source: Some((name.text.clone(), index)),
                copy: None,
                is_canonical: false,
            };
            let copy = relation.prints_cells(index);
            let copy = copy.then(|| self.catalog.add(info.clone()));
            let id = self.catalog.add(ColumnInfo { copy, ..info });
            ids.extend([Some(id), copy].into_iter().flatten().map(|id| (id, index)));
            columns.push(ScopeColumn {
                name: new.map_or(&column.name, |new| &new.text).clone(),
                id,
                is_hidden: column.hidden,
                is_merged: false,
            });
        }
        let row = self.catalog.add(ColumnInfo {
            name: ROW.to_owned(),
            data_type: DataType::Int64,
            source: Some((name.text.clone(), relation.columns().len())),
            copy: None,
            is_canonical: false,
        });
        columns.push(ScopeColumn {
            name: ROW.to_owned(),
            id: row,
            is_hidden: true,
            is_merged: false,
        });
        let own = alias.map_or(&name.text, |alias| &alias.name.text);
        let table = ScopeTable {
            name: Some(own.clone()),
            columns,
        };
        let plan = Relational::scan(&name.text, ids, row, relation.rows());
        Ok((plan, vec![table]))
    }

    /// Combines each row of the left side with each row of the right side. The plan of an `unnest` already contains the
    /// left side, so it is returned unchanged.
    fn crossed(
        &mut self,
        (left, mut tables): BoundFrom,
        (right, added): BoundFrom,
        source: &Source,
    ) -> Result<BoundFrom, QueryError> {
        check_table_names(&tables, &added, source)?;
        tables.extend(added);
        if matches!(source, Source::Unnest { .. }) {
            return Ok((right, tables));
        }
        let plan = left.joined_on(right, JoinKind::Inner, Vec::new(), &mut self.positions())?;
        Ok((plan, tables))
    }

    fn join<'q>(
        &mut self,
        left: BoundFrom,
        join: &'q Join,
        parts: &Parts<'q>,
        outer: Option<&Scope<'_>>,
    ) -> Result<BoundFrom, QueryError> {
        if join.kind == TreeJoin::Cross {
            let right = self.source(&join.right, parts, outer, Some(&left))?;
            return self.crossed(left, right, &join.right);
        }
        if matches!(join.right, Source::Unnest { .. }) {
            return Err(refused(join.at, "unnest(list) in FROM needs a CROSS JOIN"));
        }
        let right = self.source(&join.right, parts, outer, None)?;
        check_table_names(&left.1, &right.1, &join.right)?;
        // A right join is a left join with exchanged sides.
        let (kind, is_exchanged) = match join.kind {
            TreeJoin::Inner | TreeJoin::Cross => (JoinKind::Inner, false),
            TreeJoin::Left => (JoinKind::Left, false),
            TreeJoin::Right => (JoinKind::Left, true),
            TreeJoin::Full => (JoinKind::Full, false),
            TreeJoin::LeftSemi => (JoinKind::Semi, false),
            TreeJoin::RightSemi => (JoinKind::Semi, true),
            TreeJoin::LeftAnti => (JoinKind::Anti, false),
            TreeJoin::RightAnti => (JoinKind::Anti, true),
        };
        let (left_plan, left_tables) = left;
        let (right_plan, right_tables) = right;
        let both: Vec<ScopeTable> = left_tables.iter().chain(&right_tables).cloned().collect();
        let conditions = match &join.condition {
            Condition::On(condition) => self.on(condition, both, parts)?,
            Condition::Using(names) => self.using(names, &left_tables, &right_tables)?,
            Condition::None => Vec::new(),
        };
        let (a, b) = match is_exchanged {
            true => (right_plan, left_plan),
            false => (left_plan, right_plan),
        };
        let plan = a.joined_on(b, kind, conditions, &mut self.positions())?;
        let mut tables = match (kind, is_exchanged) {
            (JoinKind::Semi | JoinKind::Anti, false) => return Ok((plan, left_tables)),
            (JoinKind::Semi | JoinKind::Anti, true) => return Ok((plan, right_tables)),
            _ => left_tables,
        };
        let width = tables.len();
        tables.extend(right_tables);
        match &join.condition {
            Condition::Using(names) => self.merge(plan, tables, width, names, (kind, is_exchanged)),
            _ => Ok((plan, tables)),
        }
    }

    /// Resolves the condition of ON, and returns the operands of its ANDs.
    fn on<'q>(
        &mut self,
        condition: &'q tree::Expr,
        tables: Vec<ScopeTable>,
        parts: &Parts<'q>,
    ) -> Result<Vec<Expr>, QueryError> {
        let scope = Scope::new(tables, None);
        let mut exprs = Exprs::new(self, &scope, parts);
        let resolved = exprs.class(condition, TypeClass::Boolean, "ON")?;
        if !exprs.found.subqueries.is_empty() {
            let message = "a subquery cannot be used in ON; write the condition in WHERE";
            return Err(refused(condition.at, message));
        }
        let mut found = Vec::new();
        conjuncts(resolved, &mut found);
        Ok(found)
    }

    /// Returns an equality for each name in USING.
    fn using(
        &mut self,
        names: &[Name],
        left: &[ScopeTable],
        right: &[ScopeTable],
    ) -> Result<Vec<Expr>, QueryError> {
        let scopes = [left, right].map(|tables| Scope::new(tables.to_vec(), None));
        let mut conditions = Vec::with_capacity(names.len());
        for name in names {
            let mut sides = Vec::with_capacity(2);
            let mut texts = Vec::with_capacity(2);
            for scope in &scopes {
                let found = scope.find_here(None, name)?;
                let id = found.ok_or_else(|| super::scope::missing_column(None, name))?;
                let of_table = |table: &&ScopeTable| table.columns.iter().any(|one| one.id == id);
                let table = scope.tables.iter().find(of_table);
                let table = table.and_then(|table| table.name.as_ref());
                texts.push(match table {
                    Some(table) => format!("{table}.{}", name.text),
                    None => name.text.clone(),
                });
                sides.push(self.reference(id, name.at));
            }
            let Ok([a, b]) = <[Expr; 2]>::try_from(sides) else {
                continue;
            };
            let text = |side: usize| texts.get(side).cloned().unwrap_or_default();
            let (a, b) = compared((a, b), (&|| text(0), &|| text(1)), "compared")?;
            conditions.push(comparison(Operator::Eq, a, b));
        }
        Ok(conditions)
    }

    /// Merges the two columns of each name in USING into one. The first `width` tables are the left side of the join.
    ///
    /// `is_exchanged` is true for a RIGHT JOIN. Its merged columns are those of the right side.
    fn merge(
        &mut self,
        mut plan: Relational,
        mut tables: Vec<ScopeTable>,
        width: usize,
        names: &[Name],
        (kind, is_exchanged): (JoinKind, bool),
    ) -> Result<BoundFrom, QueryError> {
        let mut merged_columns = Vec::new();
        for name in names {
            let mut found: [Option<ColumnId>; 2] = [None, None];
            for (index, table) in tables.iter_mut().enumerate() {
                let side = usize::from(index >= width);
                let mut columns = table.columns.iter_mut();
                let named = columns.find(|column| column.name == name.text && !column.is_merged);
                if let (Some(column), Some(slot)) = (named, found.get_mut(side)) {
                    *slot = Some(column.id);
                    // A query can refer to a merged column only by `t.a`, with its table. A full join merges both
                    // columns into a new one.
                    column.is_merged = usize::from(!is_exchanged) == side || kind == JoinKind::Full;
                }
            }
            if kind == JoinKind::Full
                && let [Some(left), Some(right)] = found
            {
                let (left, right) = (
                    self.reference(left, name.at),
                    self.reference(right, name.at),
                );
                let source = tree::Expr {
                    kind: tree::ExprKind::Column {
                        table: None,
                        name: name.clone(),
                    },
                    at: name.at,
                };
                let sides = unified(vec![left, right], &[&source, &source], "compared")?;
                let Ok([left, right]) = <[Expr; 2]>::try_from(sides) else {
                    continue;
                };
                let present = left.clone().missing().not();
                let merged = Expr::case(vec![(present, left)], Some(right), name.at);
                let id;
                (plan, id) = self.with_column(plan, &name.text, merged);
                merged_columns.push(OutputColumn {
                    name: name.text.clone(),
                    id,
                });
            }
        }
        if !merged_columns.is_empty() {
            tables.insert(0, scope_table(None, merged_columns));
        }
        Ok((plan, tables))
    }
}

/// Returns whether a join keeps unmatched rows of its right side, or returns only rows of its right side.
fn keeps_right(kind: TreeJoin) -> bool {
    use TreeJoin::{Cross, Full, Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
    match kind {
        Right | Full | RightSemi | RightAnti => true,
        Inner | Left | LeftSemi | LeftAnti | Cross => false,
    }
}

fn check_table_names(
    tables: &[ScopeTable],
    added: &[ScopeTable],
    source: &Source,
) -> Result<(), QueryError> {
    let taken = added.iter().filter_map(|table| table.name.as_ref());
    let mut taken = taken.filter(|name| {
        let mut tables = tables.iter();
        tables.any(|table| table.name.as_ref() == Some(*name))
    });
    match taken.next() {
        None => Ok(()),
        Some(name) => {
            let at = match source {
                Source::Table { name, alias } => alias.as_ref().map_or(name.at, |one| one.name.at),
                Source::Query { at, .. } | Source::Unnest { at, .. } => *at,
            };
            let message = format!("FROM has two tables with the name `{name}`");
            let help = format!("give one of them another name: `{name} AS other`");
            Err(super::types::rejected(at, message, Some(help)))
        }
    }
}

fn scope_table(name: Option<&String>, columns: Vec<OutputColumn>) -> ScopeTable {
    let columns = columns.into_iter().map(|column| ScopeColumn {
        name: column.name,
        id: column.id,
        is_hidden: false,
        is_merged: false,
    });
    ScopeTable {
        name: name.cloned(),
        columns: columns.collect(),
    }
}

/// Renames the columns to the names in `AS t(a, b)`.
fn renamed(
    columns: Vec<OutputColumn>,
    alias: Option<&Alias>,
) -> Result<Vec<OutputColumn>, QueryError> {
    let names: &[Name] = alias.map_or(&[], |alias| &alias.columns);
    check_names(names, columns.len())?;
    let mut names = names.iter();
    let columns = columns.into_iter().map(|column| OutputColumn {
        name: names.next().map_or(column.name, |name| name.text.clone()),
        id: column.id,
    });
    Ok(columns.collect())
}

/// Rejects `AS t(a, b)` if the number of names differs from the number of columns.
fn check_names(names: &[Name], columns: usize) -> Result<(), QueryError> {
    match names.first() {
        Some(first) if names.len() != columns => Err(refused(
            first.at,
            format!(
                "there are {} column names for {columns} columns",
                names.len()
            ),
        )),
        _ => Ok(()),
    }
}
