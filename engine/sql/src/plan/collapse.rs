//! Plans each run of columns that a query does not name as a single column, which makes the planning of wide tables
//! fast.
//!
//! `SELECT *` over a wide table names none of its columns. The planner still visits each column in every pass and
//! searches for it among the others, so its time grows with the square of the number of columns. A column that does not
//! occur in the query's text can only be passed on by `*`, together with its neighbors. Therefore each run of such
//! neighbors is planned as one column, and the result is expanded again.
//!
//! There are two exceptions. A query that counts columns (`ORDER BY 2`, `AS t(a, b)`) is never collapsed. If the query
//! compares entire rows (DISTINCT, UNION), the plan shows that the collapsed columns are used, and the caller plans
//! again without collapsing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, OrderByKind, Query as Ast, Select, TableFactor, Value, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use prep_spec::model::Query;

use super::usage::UsedColumns;
use crate::table::relation::{Relation, RelationBatch, RelationColumn, ScanError, Tables};

/// For each table and each of its planned columns, the range of original columns that the planned column represents.
pub(crate) type ColumnGroups = BTreeMap<String, Vec<Range<usize>>>;

/// Returns the tables with collapsed columns. `None` if nothing can be collapsed or the query refers to columns by
/// position.
pub(crate) fn collapse(query: &Query, tables: &Tables) -> Option<(Tables, ColumnGroups)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for relation in tables.values() {
        for column in relation.columns() {
            *counts.entry(&column.name).or_default() += 1;
        }
    }
    let named = query_words(&query.tree().to_string())?;
    if refers_by_position(query.statement()) {
        return None;
    }
    let is_alone = |column: &RelationColumn| {
        column.hidden || named.contains(&column.name) || counts.get(column.name.as_str()) > Some(&1)
    };
    let mut groups = ColumnGroups::new();
    let mut collapsed = Tables::new();
    let mut is_useful = false;
    for (name, relation) in tables {
        let own = group(relation.as_ref(), is_alone);
        is_useful |= own.iter().any(|columns| columns.len() > 1);
        let columns = own
            .iter()
            .filter_map(|group| relation.columns().get(group.start));
        let collapsing = CollapsedTable {
            columns: columns.cloned().collect(),
            starts: own.iter().map(|group| group.start).collect(),
            relation: Arc::clone(relation),
        };
        collapsed.insert(name.clone(), Arc::new(collapsing) as Arc<dyn Relation>);
        groups.insert(name.clone(), own);
    }
    is_useful.then_some((collapsed, groups))
}

/// Groups the columns of a table into ranges: one for each column for which `is_alone` is true, and one for each run of
/// other columns.
fn group(relation: &dyn Relation, is_alone: impl Fn(&RelationColumn) -> bool) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for (index, column) in relation.columns().iter().enumerate() {
        let alone = is_alone(column) || !relation.has_cells(index);
        match groups.last_mut() {
            Some(last) if open && !alone => last.end = index + 1,
            _ => groups.push(index..index + 1),
        }
        open = !alone;
    }
    groups
}

/// Returns whether the query computes with a column that represents several columns.
pub(crate) fn uses_collapsed(used: &UsedColumns, groups: &ColumnGroups) -> bool {
    used.iter().any(|(table, columns)| {
        let groups = groups.get(table);
        let is_several = |index: &usize| {
            groups.is_some_and(|groups| groups.get(*index).is_some_and(|group| group.len() > 1))
        };
        columns.iter().any(is_several)
    })
}

/// Translates the positions of used columns from the collapsed tables to the original tables.
pub(crate) fn expand_used(used: UsedColumns, groups: &ColumnGroups) -> UsedColumns {
    let table = |(table, columns): (String, BTreeSet<usize>)| {
        let Some(groups) = groups.get(&table) else {
            return (table, columns);
        };
        let start = |index: usize| groups.get(index).map_or(usize::MAX, |group| group.start);
        // A position after the relation's columns is the position of `_row`.
        let columns = columns.into_iter().map(start).collect();
        (table, columns)
    };
    used.into_iter().map(table).collect()
}

/// Returns all words of a query, quoted or not. They include all columns that the query names.
fn query_words(text: &str) -> Option<HashSet<String>> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().ok()?;
    let word = |token| match token {
        Token::Word(word) => Some(word.value),
        _ => None,
    };
    Some(tokens.into_iter().filter_map(word).collect())
}

/// Returns whether the query refers to columns by position, so that their number matters.
fn refers_by_position(query: &Ast) -> bool {
    Visit::visit(query, &mut PositionFinder).is_break()
}

/// Stops at a reference by position.
struct PositionFinder;

impl Visitor for PositionFinder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Ast) -> ControlFlow<()> {
        let by_number = query
            .order_by
            .as_ref()
            .is_some_and(|order| match &order.kind {
                OrderByKind::Expressions(keys) => keys.iter().any(|key| is_number(&key.expr)),
                OrderByKind::All(_) => true,
            });
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        let mut aliases = with.map(|table| &table.alias);
        stop_if(by_number || aliases.any(|alias| !alias.columns.is_empty()))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        stop_if(match &select.group_by {
            GroupByExpr::All(_) => true,
            GroupByExpr::Expressions(keys, _) => keys.iter().any(is_number),
        })
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let alias = match factor {
            TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.as_ref(),
            // Other items of FROM define their own columns.
            _ => None,
        };
        stop_if(alias.is_some_and(|alias| !alias.columns.is_empty()))
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Number(..)))
}

fn stop_if(stop: bool) -> ControlFlow<()> {
    if stop {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// A table in which one column may represent several columns of the original table.
#[derive(Debug)]
struct CollapsedTable {
    relation: Arc<dyn Relation>,
    columns: Vec<RelationColumn>,
    /// For each column, the position of the first original column that it represents.
    starts: Vec<usize>,
}

impl Relation for CollapsedTable {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.relation.rows()
    }

    fn has_cells(&self, column: usize) -> bool {
        let start = self.starts.get(column);
        start.is_some_and(|start| self.relation.has_cells(*start))
    }

    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send> {
        let columns = columns.iter().filter_map(|column| self.starts.get(*column));
        let columns = columns.copied().collect();
        Arc::clone(&self.relation).scan(columns, batch)
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.relation.origins(first, len)
    }
}
