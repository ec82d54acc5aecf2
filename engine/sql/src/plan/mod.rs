//! Converts a parsed query into a logical plan with a determined row order.

mod calls;
mod catalog;
mod collapse;
pub(crate) mod constants;
mod integers;
mod mismatch;
pub(crate) mod order;
mod replace;
pub(crate) mod types;
mod usage;
mod wildcard;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, TableSource};
use datafusion::sql::planner::{ParserOptions, SqlToRel};
use datafusion::sql::sqlparser::ast::{Query as Ast, Statement};
use prep_spec::model::Query;

use crate::table::provider::RelationProvider;
use crate::table::relation::{ROW, Tables};
use crate::{QueryError, Session};
use catalog::QueryCatalog;
use collapse::{ColumnGroups, collapse, expand_used, uses_collapsed};
use integers::{widen, widen_text};
use mismatch::explain_mismatch;
use order::{RowOrder, check_functions, determine};
use replace::replaced_columns;
use usage::{UsedColumns, origin, used};
use wildcard::{HiddenColumns, hide_columns};

/// A plan, the used columns of the tables that it reads, and its result columns.
pub(crate) struct PlannedQuery {
    pub plan: LogicalPlan,
    pub used: UsedColumns,
    pub columns: Vec<PlannedColumn>,
}

/// A column of a query's result.
#[derive(Debug, Clone)]
pub(crate) struct PlannedColumn {
    pub name: String,
    pub data_type: DataType,
    /// Index of the plan's column. Several result columns have the same index if a collapsed column represents them.
    pub field: usize,
    /// The table and the index of the column in it, if the query passes that column on unchanged.
    pub from: Option<(String, usize)>,
}

/// Plans a query that reads every column as values.
pub(crate) fn plan_typed(
    session: &Session,
    query: &Query,
    tables: &Tables,
    order: RowOrder,
) -> Result<PlannedQuery, QueryError> {
    calls::check(session, query.statement())?;
    let plan = plan(session, query, tables, &BTreeMap::new(), order)?;
    Ok(PlannedQuery {
        used: used(&plan),
        columns: columns(&plan, tables, &ColumnGroups::new()),
        plan,
    })
}

/// Plans a query without running it, to determine its result columns and the columns that it computes with.
pub(crate) fn plan_unread(
    session: &Session,
    query: &Query,
    tables: &Tables,
    order: RowOrder,
) -> Result<PlannedQuery, QueryError> {
    let (typed, groups, _) = plan_collapsed(session, query, tables, order)?;
    Ok(PlannedQuery {
        columns: columns(&typed.plan, tables, &groups),
        used: expand_used(typed.used, &groups),
        plan: typed.plan,
    })
}

/// Plans a query that reads each column it only passes on as row numbers.
pub(crate) fn plan_opaque(
    session: &Session,
    query: &Query,
    tables: &Tables,
    order: RowOrder,
) -> Result<PlannedQuery, QueryError> {
    let (typed, groups, read) = plan_collapsed(session, query, tables, order)?;
    let mut opaque = BTreeMap::new();
    for (name, relation) in &read {
        let used = typed.used.get(name);
        let columns: BTreeSet<usize> = (0..relation.columns().len())
            .filter(|index| relation.has_cells(*index))
            .filter(|index| used.is_none_or(|used| !used.contains(index)))
            .collect();
        opaque.insert(name.clone(), columns);
    }
    let plan = plan(session, query, &read, &opaque, order)?;
    Ok(PlannedQuery {
        columns: columns(&plan, tables, &groups),
        used: expand_used(typed.used, &groups),
        plan,
    })
}

/// Plans a query with collapsed columns if possible. Returns the plan, the column groups, and the tables that the plan
/// reads.
fn plan_collapsed(
    session: &Session,
    query: &Query,
    tables: &Tables,
    order: RowOrder,
) -> Result<(PlannedQuery, ColumnGroups, Tables), QueryError> {
    if let Some((collapsed, groups)) = collapse(query, tables)
        // If the collapsed plan fails, the query is planned with the original tables, which reports any error.
        && let Ok(planned) = plan_typed(session, query, &collapsed, order)
        && !uses_collapsed(&planned.used, &groups)
    {
        return Ok((planned, groups, collapsed));
    }
    let planned = plan_typed(session, query, tables, order)?;
    Ok((planned, ColumnGroups::new(), tables.clone()))
}

/// Returns the columns of a plan's result. Each collapsed column is expanded into the columns that it represents.
fn columns(plan: &LogicalPlan, tables: &Tables, groups: &ColumnGroups) -> Vec<PlannedColumn> {
    let mut columns = Vec::new();
    for (field, shown) in plan.schema().fields().iter().enumerate() {
        let found = origin(plan, field);
        let group = found
            .as_ref()
            .and_then(|(table, index)| groups.get(table)?.get(*index).cloned());
        // `_row` follows the relation's columns and is not part of any group.
        let from = found.filter(|(table, _)| group.is_some() || !groups.contains_key(table));
        let column = PlannedColumn {
            name: shown.name().clone(),
            data_type: shown.data_type().clone(),
            field,
            from: from.clone(),
        };
        let (Some((table, _)), Some(group)) = (from, group) else {
            columns.push(column);
            continue;
        };
        let is_several = group.len() > 1;
        for index in group {
            let own = tables
                .get(&table)
                .and_then(|table| table.columns().get(index));
            let name = own.filter(|_| is_several).map(|own| own.name.clone());
            columns.push(PlannedColumn {
                name: name.unwrap_or_else(|| column.name.clone()),
                from: Some((table.clone(), index)),
                ..column.clone()
            });
        }
    }
    columns
}

fn plan(
    session: &Session,
    query: &Query,
    tables: &Tables,
    opaque: &BTreeMap<String, BTreeSet<usize>>,
    order: RowOrder,
) -> Result<LogicalPlan, QueryError> {
    let none = BTreeSet::new();
    let sources: HashMap<String, Arc<dyn TableSource>> = tables
        .iter()
        .map(|(name, relation)| {
            let opaque = opaque.get(name).unwrap_or(&none);
            let provider =
                RelationProvider::new(relation.clone(), opaque, order == RowOrder::AnyOrder);
            (name.clone(), provider_as_source(Arc::new(provider)))
        })
        .collect();
    let catalog = QueryCatalog {
        state: &session.state,
        tables: sources,
    };
    let mut ast: Ast = query.statement().clone();
    hide_columns(&mut ast, &hidden(tables))?;
    widen_text(&mut ast);
    if opaque.is_empty()
        && let Some((own, replaced)) = replaced_columns(&ast)
        && let Err(error) = to_plan(&catalog, own)
        && let QueryError::Plan {
            column: Some(missing),
            ..
        } = &error
        && replaced.contains(missing)
    {
        return Err(error);
    }
    let plan =
        to_plan(&catalog, ast).map_err(|error| explain_mismatch(query.statement(), error))?;
    let plan = widen(plan)?;
    check_functions(&plan)?;
    determine(plan, order)
}

fn to_plan(catalog: &QueryCatalog<'_>, query: Ast) -> Result<LogicalPlan, QueryError> {
    let options = ParserOptions::new()
        .with_enable_ident_normalization(false)
        .with_map_string_types_to_utf8view(false)
        .with_collect_spans(true);
    let planner = SqlToRel::new_with_options(catalog, options);
    let plan = planner.sql_statement_to_plan(Statement::Query(Box::new(query)));
    plan.map_err(|error| QueryError::plan(&error))
}

fn hidden(tables: &Tables) -> HiddenColumns {
    let hidden = tables.iter().map(|(name, relation)| {
        let columns = relation
            .columns()
            .iter()
            .filter(|column| column.hidden)
            .map(|column| column.name.clone());
        (name.clone(), columns.chain([ROW.to_owned()]).collect())
    });
    hidden.collect()
}
