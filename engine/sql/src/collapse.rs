//! Columns that a query does not name are planned as one.
//!
//! `SELECT *` of a wide table names none of its columns, yet a planner looks at each of them in every one of its passes,
//! and looks each up among the others: the time grows with their square. A column that the query's text does not name
//! can only be passed on by `*`, beside its neighbours. So neighbours that are not named are planned as one column, which
//! stands for all of them again in the result.
//!
//! This is not done where the number of columns matters (`ORDER BY 2`, `AS t(a, b)`), and it is taken back where whole
//! rows are compared (DISTINCT, UNION): then the columns are used, as the plan tells.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, OrderByKind, Query as Ast, Select, TableFactor, Value, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use prep_spec::model::Query;

use crate::Relation;
use crate::plan::Tables;
use crate::relation::{RelationColumn, ScanError, Values};
use crate::usage::Used;

/// For each column that is planned, by table: the table's columns that it stands for.
pub(crate) type Groups = BTreeMap<String, Vec<Range<usize>>>;

/// The tables with columns that stand for several; none if that is of no use, or not possible.
pub(crate) fn collapse(query: &Query, tables: &Tables) -> Option<(Tables, Groups)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for relation in tables.values() {
        for column in relation.columns() {
            *counts.entry(&column.name).or_default() += 1;
        }
    }
    let named = words(&query.normal)?;
    if counts_columns(query.statement()) {
        return None;
    }
    let is_alone = |column: &RelationColumn| {
        column.hidden || named.contains(&column.name) || counts.get(column.name.as_str()) > Some(&1)
    };
    let mut groups = Groups::new();
    let mut collapsed = Tables::new();
    let mut is_of_use = false;
    for (name, relation) in tables {
        let own = group(relation.as_ref(), is_alone);
        is_of_use |= own.iter().any(|columns| columns.len() > 1);
        let columns = own
            .iter()
            .filter_map(|group| relation.columns().get(group.start));
        let collapsing = Collapsed {
            columns: columns.cloned().collect(),
            starts: own.iter().map(|group| group.start).collect(),
            relation: Arc::clone(relation),
        };
        collapsed.insert(name.clone(), Arc::new(collapsing) as Arc<dyn Relation>);
        groups.insert(name.clone(), own);
    }
    is_of_use.then_some((collapsed, groups))
}

/// Neighbours that are not alone, together.
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

/// Does the query compute with a column that stands for several?
pub(crate) fn is_used(used: &Used, groups: &Groups) -> bool {
    used.iter().any(|(table, columns)| {
        let groups = groups.get(table);
        let is_several = |index: &usize| {
            groups.is_some_and(|groups| groups.get(*index).is_some_and(|group| group.len() > 1))
        };
        columns.iter().any(is_several)
    })
}

/// Used columns as the tables count them.
pub(crate) fn expand_used(used: Used, groups: &Groups) -> Used {
    let table = |(table, columns): (String, BTreeSet<usize>)| {
        let Some(groups) = groups.get(&table) else {
            return (table, columns);
        };
        let start = |index: usize| groups.get(index).map_or(usize::MAX, |group| group.start);
        // What lies behind the columns is `_row`.
        let columns = columns.into_iter().map(start).collect();
        (table, columns)
    };
    used.into_iter().map(table).collect()
}

/// All words of a query, quoted or not: more than the columns that it names.
fn words(text: &str) -> Option<HashSet<String>> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().ok()?;
    let word = |token| match token {
        Token::Word(word) => Some(word.value),
        _ => None,
    };
    Some(tokens.into_iter().filter_map(word).collect())
}

/// Does the query count columns somewhere, so that their number matters?
fn counts_columns(query: &Ast) -> bool {
    Visit::visit(query, &mut Finder).is_break()
}

/// Stops at what counts columns.
struct Finder;

impl Visitor for Finder {
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
            // Columns of its own.
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

/// A table some of whose columns stand for several.
#[derive(Debug)]
struct Collapsed {
    relation: Arc<dyn Relation>,
    columns: Vec<RelationColumn>,
    /// The first of the columns that each stands for.
    starts: Vec<usize>,
}

impl Relation for Collapsed {
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
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send> {
        let columns = columns.iter().filter_map(|column| self.starts.get(*column));
        let columns = columns.copied().collect();
        Arc::clone(&self.relation).scan(columns, batch)
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.relation.origins(first, len)
    }
}
