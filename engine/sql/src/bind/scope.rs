//! Resolves names of tables and columns.

use std::collections::HashMap;
use std::rc::Rc;

use prep_spec::query::tree::{Name, Part};

use super::types::rejected;
use crate::QueryError;
use crate::error::place;
use crate::relational::ColumnId;

/// The parts of WITH that a query can use, with the latest part first.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts<'q>(Option<Rc<DefinedPart<'q>>>);

#[derive(Debug)]
struct DefinedPart<'q> {
    part: &'q Part,
    earlier: Parts<'q>,
}

impl<'q> Parts<'q> {
    /// Returns the parts in `self` and, as the latest one, `part`. `self` stays unchanged.
    pub(super) fn with(&self, part: &'q Part) -> Parts<'q> {
        Parts(Some(Rc::new(DefinedPart {
            part,
            earlier: self.clone(),
        })))
    }

    /// Returns the latest part with this name, and the parts that its own query can use.
    pub(super) fn find(&self, name: &str) -> Option<(&'q Part, Parts<'q>)> {
        let mut next = self.0.as_ref();
        while let Some(defined) = next {
            if defined.part.alias.name.text == name {
                return Some((defined.part, defined.earlier.clone()));
            }
            next = defined.earlier.0.as_ref();
        }
        None
    }
}

#[derive(Debug, Clone)]
pub(super) struct ScopeColumn {
    pub name: String,
    pub id: ColumnId,
    /// Whether `*` leaves the column out.
    pub is_hidden: bool,
    /// Whether USING merged this column into another one. Only `table.column` refers to a merged column.
    pub is_merged: bool,
}

#[derive(Debug, Clone)]
pub(super) struct ScopeTable {
    pub name: Option<String>,
    pub columns: Vec<ScopeColumn>,
}

/// The tables of FROM in the order of the query, and the scope of the outer query.
#[derive(Debug, Default)]
pub(super) struct Scope<'s> {
    pub tables: Vec<ScopeTable>,
    /// For each name, the columns to which it can refer if it is written without a table.
    by_name: HashMap<String, Vec<ColumnId>>,
    pub outer: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    pub(super) fn new(tables: Vec<ScopeTable>, outer: Option<&'s Scope<'s>>) -> Scope<'s> {
        let mut by_name: HashMap<String, Vec<ColumnId>> = HashMap::new();
        let columns = tables.iter().flat_map(|table| &table.columns);
        for column in columns.filter(|column| !column.is_merged) {
            let found = by_name.entry(column.name.clone()).or_default();
            if !found.contains(&column.id) {
                found.push(column.id);
            }
        }
        Scope {
            tables,
            by_name,
            outer,
        }
    }

    pub(super) fn table(&self, name: &str) -> Option<&ScopeTable> {
        let mut tables = self.tables.iter();
        tables.find(|table| table.name.as_deref() == Some(name))
    }

    pub(super) fn has_table(&self, name: &str) -> bool {
        self.table(name).is_some() || self.outer.is_some_and(|outer| outer.has_table(name))
    }

    /// Returns the column of this scope to which a name refers. Does not search outer queries.
    pub(super) fn find_here(
        &self,
        table: Option<&Name>,
        name: &Name,
    ) -> Result<Option<ColumnId>, QueryError> {
        let Some(table) = table else {
            return match self.by_name.get(&name.text).map(Vec::as_slice) {
                None | Some([]) => Ok(None),
                Some([id]) => Ok(Some(*id)),
                Some(_) => Err(self.ambiguous(name)),
            };
        };
        let found = self.table(&table.text);
        let columns = found.into_iter().flat_map(|table| &table.columns);
        let mut columns = columns.filter(|column| column.name == name.text);
        let first = columns.next().map(|column| column.id);
        match columns.any(|other| Some(other.id) != first) {
            true => Err(several_columns(Some(&table.text), name)),
            false => Ok(first),
        }
    }

    fn ambiguous(&self, name: &Name) -> QueryError {
        let has = |table: &&ScopeTable| table.columns.iter().any(|column| column.name == name.text);
        let mut tables = self.tables.iter().filter(has);
        if let (Some(only), None) = (tables.next(), tables.next()) {
            return several_columns(only.name.as_deref(), name);
        }
        let message = format!("`{}` is a column of several tables", name.text);
        let help = format!("write the table before it: `t.{}`", name.text);
        rejected(name.at, message, Some(help))
    }

    /// Returns the column to which a name refers, in this scope or in that of an outer query.
    pub(super) fn find(
        &self,
        table: Option<&Name>,
        name: &Name,
    ) -> Result<Option<ColumnId>, QueryError> {
        let mut scope = Some(self);
        while let Some(one) = scope {
            if let Some(found) = one.find_here(table, name)? {
                return Ok(Some(found));
            }
            // A table hides tables with the same name in outer queries.
            if table.is_some_and(|table| one.table(&table.text).is_some()) {
                return Ok(None);
            }
            scope = one.outer;
        }
        Ok(None)
    }
}

fn several_columns(table: Option<&str>, name: &Name) -> QueryError {
    let table = table.map_or("the subquery".to_owned(), |table| format!("`{table}`"));
    let message = format!("{table} has several columns `{}`", name.text);
    let help = "give each of them a different name with AS";
    rejected(name.at, message, Some(help))
}

pub(super) fn missing_column(table: Option<&Name>, name: &Name) -> QueryError {
    QueryError::Rejected {
        message: match table {
            Some(table) => format!("table `{}` has no column `{}`", table.text, name.text),
            None => format!("there is no column `{}`", name.text),
        },
        place: place(table.map_or(name.at, |table| table.at)),
        column: Some(name.text.clone()),
        help: None,
    }
}
