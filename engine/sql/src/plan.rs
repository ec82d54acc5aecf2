//! From a parsed query to a logical plan with a determined order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, TableSource};
use datafusion::sql::planner::{ParserOptions, SqlToRel};
use datafusion::sql::sqlparser::ast::{Query as Ast, Statement};
use prep_spec::model::Query;

use crate::order::{check_functions, determine};
use crate::provider::{Provider, ROW};
use crate::session::Names;
use crate::usage::{Used, used};
use crate::wildcard::{Hidden, hide_columns};
use crate::{QueryError, Relation, Session};

/// Tables by the name that the query uses.
pub(crate) type Tables = BTreeMap<String, Arc<dyn Relation>>;

/// Does the order of a query's rows matter to who asked it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    Ordered,
    AnyOrder,
}

/// A plan, and the used columns of the tables that it reads.
pub(crate) struct Planned {
    pub plan: LogicalPlan,
    pub used: Used,
}

/// Plans a query with every column as a value.
pub(crate) fn plan_typed(
    session: &Session,
    query: &Query,
    tables: &Tables,
    rows: Rows,
) -> Result<Planned, QueryError> {
    let none = BTreeMap::new();
    let plan = plan(session, query, tables, &none, rows)?;
    let used = used(&plan);
    Ok(Planned { plan, used })
}

/// Plans a query with the columns that it only passes on as row numbers.
pub(crate) fn plan_opaque(
    session: &Session,
    query: &Query,
    tables: &Tables,
    rows: Rows,
) -> Result<Planned, QueryError> {
    let typed = plan_typed(session, query, tables, rows)?;
    let mut opaque = BTreeMap::new();
    for (name, relation) in tables {
        let used = typed.used.get(name);
        let columns: BTreeSet<usize> = (0..relation.columns().len())
            .filter(|index| relation.has_cells(*index))
            .filter(|index| used.is_none_or(|used| !used.contains(index)))
            .collect();
        opaque.insert(name.clone(), columns);
    }
    let plan = plan(session, query, tables, &opaque, rows)?;
    Ok(Planned {
        plan,
        used: typed.used,
    })
}

fn plan(
    session: &Session,
    query: &Query,
    tables: &Tables,
    opaque: &BTreeMap<String, BTreeSet<usize>>,
    rows: Rows,
) -> Result<LogicalPlan, QueryError> {
    let none = BTreeSet::new();
    let sources: HashMap<String, Arc<dyn TableSource>> = tables
        .iter()
        .map(|(name, relation)| {
            let provider = Provider::new(relation.clone(), opaque.get(name).unwrap_or(&none));
            (name.clone(), provider_as_source(Arc::new(provider)))
        })
        .collect();
    let names = Names {
        state: &session.state,
        tables: sources,
    };
    let mut ast: Ast = (*query.statement).clone();
    hide_columns(&mut ast, &hidden(tables))?;
    let options = ParserOptions::new()
        .with_enable_ident_normalization(false)
        .with_map_string_types_to_utf8view(false)
        .with_collect_spans(true);
    let planner = SqlToRel::new_with_options(&names, options);
    let statement = Statement::Query(Box::new(ast));
    let plan = planner
        .sql_statement_to_plan(statement)
        .map_err(|error| QueryError::plan(&error))?;
    check_functions(&plan)?;
    match rows {
        Rows::Ordered => determine(&plan),
        Rows::AnyOrder => Ok(plan),
    }
}

fn hidden(tables: &Tables) -> Hidden {
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
