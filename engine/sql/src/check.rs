//! Checks all queries of a pipeline when it is loaded: names, row order, and types, as far as they are declared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::datatypes::DataType;
use prep_spec::model::{
    ColumnKind, Declaration, Pipeline, Query, Setting, Spanned, Table, TableOrigin,
};
use prep_spec::words::{CellContent, KeyType, ProducedColumn, Produces};
use prep_spec::{Diagnostic, Reading, alternatives, list_names, nearest};

use crate::bind::{RowDemand, bind};
use crate::run::plan_only;
use crate::table::relation::{Relation, RelationBatch, RelationColumn, ScanError};
use crate::table::unpivot::Unpivot;
use crate::{QueryError, Session, VALUE_COLUMN};

/// Placeholder column of a table without declared columns, so that `*` selects at least one column.
const UNDECLARED: &str = "*";

/// Columns of a table, as far as they are known before the table exists.
#[derive(Debug, Clone)]
struct TableColumns(Vec<TableColumn>);

#[derive(Debug, Clone)]
struct TableColumn {
    name: String,
    content: ColumnContent,
    /// True if `*` does not include the column.
    hidden: bool,
}

/// The type of a column's values.
#[derive(Debug, Clone, PartialEq)]
enum ColumnContent {
    /// Values of this type.
    Typed(DataType),
    /// Entries of an array. A query can only pass them on to an output that is an array.
    Entries,
}

impl TableColumns {
    fn names(&self) -> Vec<&str> {
        let names = self.0.iter().map(|column| column.name.as_str());
        names.filter(|name| *name != UNDECLARED).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column.name == name)
    }
}

/// Plans every query of the pipeline with the declared columns, and returns the errors found. Queries over a table that
/// is itself in error are skipped, because their errors would be consequences of the first.
pub fn check(session: &Session, reading: &Reading) -> Vec<Diagnostic> {
    let unread = reading.unread.iter().map(|name| (name.clone(), None));
    let mut checker = PipelineChecker::new(session, &reading.pipeline);
    checker.known = unread.collect();
    checker.run();
    checker.diagnostics
}

/// Checks the queries of a pipeline, like [`check`]. A column that is not declared is not an error if the query reads a
/// file, because the file may have it: [`Session::checked_values`] then finds it, or reports it.
pub fn check_before_files(session: &Session, reading: &Reading) -> Vec<Diagnostic> {
    let mut checker = PipelineChecker::new(session, &reading.pipeline);
    checker.allows_undeclared = true;
    checker.run();
    checker.diagnostics
}

/// Returns the columns of a query with the types that they have in queries. Columns of files that are not declared are
/// unknown before the files are read, and left out.
pub fn known_columns(
    session: &Session,
    reading: &Reading,
    query: &Query,
) -> Vec<(String, &'static str)> {
    let mut checker = PipelineChecker::new(session, &reading.pipeline);
    let columns = checker.query(query, RowDemand::AnyOrder);
    let columns = columns.map(|columns| columns.0).unwrap_or_default();
    let known = columns
        .into_iter()
        .filter(|column| column.name != UNDECLARED);
    known
        .map(|column| {
            let name = match column.content {
                ColumnContent::Typed(data_type) => type_name(&data_type),
                ColumnContent::Entries => "array entries",
            };
            (column.name, name)
        })
        .collect()
}

/// Returns the name that the pipeline language uses for a type.
pub fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => ColumnKind::Boolean.name(),
        other if other.is_integer() => ColumnKind::Integer.name(),
        other if other.is_numeric() => ColumnKind::Number.name(),
        other if other.is_string() => ColumnKind::Text.name(),
        other if other.is_temporal() => "time",
        _ => "list",
    }
}

struct PipelineChecker<'a> {
    session: &'a Session,
    pipeline: &'a Pipeline,
    /// Columns of the tables checked so far. `None` for a table with an error. Queries that use such a table are not
    /// checked.
    known: BTreeMap<String, Option<TableColumns>>,
    diagnostics: Vec<Diagnostic>,
    /// Whether a query over files may name columns that are not declared.
    allows_undeclared: bool,
}

impl<'a> PipelineChecker<'a> {
    fn new(session: &'a Session, pipeline: &'a Pipeline) -> PipelineChecker<'a> {
        PipelineChecker {
            session,
            pipeline,
            known: BTreeMap::new(),
            diagnostics: Vec::new(),
            allows_undeclared: false,
        }
    }

    fn run(&mut self) {
        let pipeline = self.pipeline;
        for name in pipeline.tables.iter().flat_map(|table| &table.names) {
            self.table(&name.value);
        }
        for output in pipeline.public.iter().chain(&pipeline.private) {
            self.declared(&output.declaration);
        }
        for check in &pipeline.checks {
            self.query(&check.query, RowDemand::AnyOrder);
        }
    }

    /// Returns the columns of a table. Checks the table first if necessary.
    fn table(&mut self, name: &str) -> Option<TableColumns> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        // The loader reports cycles. This entry only ends the recursion.
        self.known.insert(name.to_owned(), None);
        let tables = &self.pipeline.tables;
        let table = tables.iter().find(|table| table.has(name))?;
        let columns = self.produced_columns(table);
        for name in &table.names {
            self.known.insert(name.value.clone(), columns.clone());
        }
        columns
    }

    fn produced_columns(&mut self, table: &Table) -> Option<TableColumns> {
        let columns = match &table.made {
            TableOrigin::Query(query) => {
                let columns = self.query(query, RowDemand::Ordered)?;
                return self.check_names(query).then_some(columns);
            }
            TableOrigin::List(_) => vec![ProducedColumn::text(VALUE_COLUMN)],
            TableOrigin::Declared(declaration) => {
                let is_valid = self.declared(declaration);
                match declaration.form.makes {
                    Produces::Same(key) | Produces::Parts(key) => {
                        return self.table(declaration.text(key)?).filter(|_| is_valid);
                    }
                    Produces::Unpivoted(key) => {
                        let table = self.table(declaration.text(key)?).filter(|_| is_valid)?;
                        return self.unpivoted(declaration, &table);
                    }
                    Produces::Table(columns) if is_valid => columns(declaration),
                    _ => return None,
                }
            }
        };
        let columns = columns.into_iter().map(|column| TableColumn {
            name: column.name,
            content: match column.holds {
                CellContent::Values(kind) => ColumnContent::Typed(data_type(kind)),
                CellContent::Documents => ColumnContent::Typed(data_type(ColumnKind::Json)),
                CellContent::Entries => ColumnContent::Entries,
            },
            hidden: column.hidden,
        });
        let mut columns = TableColumns(columns.collect());
        if columns.0.is_empty() {
            columns.0.push(TableColumn {
                name: UNDECLARED.to_owned(),
                content: ColumnContent::Typed(DataType::Utf8),
                hidden: false,
            });
        }
        Some(columns)
    }

    /// Returns the columns of a table after `columns` have become rows.
    fn unpivoted(
        &mut self,
        declaration: &Declaration,
        table: &TableColumns,
    ) -> Option<TableColumns> {
        let name = |key| declaration.text(key).unwrap_or_default();
        let columns = declaration.texts("columns");
        let relation = DeclaredTable::new(table);
        match Unpivot::new(&relation.0, columns, [name("name"), name("value")]) {
            Ok(unpivot) => {
                let columns = unpivot.columns().iter().map(|column| TableColumn {
                    name: column.name.clone(),
                    content: ColumnContent::Typed(column.data_type.clone()),
                    hidden: false,
                });
                Some(TableColumns(columns.collect()))
            }
            Err(QueryError::Plan {
                column: Some(column),
                ..
            }) => {
                let table = name(declaration.form.head());
                let is_open = self.allows_undeclared && self.reads_file(&[table.to_owned()].into());
                if !is_open {
                    let span = declaration
                        .get("columns")
                        .map_or(declaration.span, |columns| columns.span);
                    let columns = self.table(table)?;
                    self.missing_column(
                        &Spanned {
                            value: column,
                            span,
                        },
                        table,
                        &columns,
                    );
                }
                None
            }
            Err(error) => {
                let fault = declaration.fault("columns", "query", error.to_string());
                self.diagnostics.push(Diagnostic {
                    help: error.help().map(str::to_owned),
                    ..fault
                });
                None
            }
        }
    }

    /// Checks the tables, columns and queries that a declaration names. Returns whether all are correct.
    fn declared(&mut self, declaration: &Declaration) -> bool {
        let mut is_valid = true;
        // A key that names columns refers to the first table that the declaration names.
        let mut table: Option<&str> = None;
        for (key, setting) in declaration.settings() {
            match (&key.value, &setting.value) {
                (KeyType::Table, Setting::Text(name)) => {
                    is_valid &= self.table(name).is_some();
                    table = table.or(Some(name));
                }
                (KeyType::Files, Setting::Text(name)) => {
                    let name = Spanned {
                        value: name.clone(),
                        span: setting.span,
                    };
                    is_valid &= self.require_file(&name).is_some();
                }
                (KeyType::Column, Setting::Text(column)) => {
                    let columns = table.and_then(|table| self.table(table));
                    if let (Some(columns), Some(table)) = (columns, table)
                        && !columns.has(column)
                    {
                        let column = Spanned {
                            value: column.clone(),
                            span: setting.span,
                        };
                        self.missing_column(&column, table, &columns);
                        is_valid = false;
                    }
                }
                (_, Setting::Items(items)) => {
                    // An item may use the columns of earlier items.
                    let columns = table.and_then(|table| self.table(table));
                    let (Some(columns), Some(table)) = (columns, table) else {
                        continue;
                    };
                    for (index, item) in items.iter().enumerate() {
                        for (name, span) in item.columns() {
                            let mut before = items.iter().take(index);
                            if columns.has(name) || before.any(|one| one.name.value == name) {
                                continue;
                            }
                            let column = Spanned {
                                value: name.to_owned(),
                                span,
                            };
                            self.missing_column(&column, table, &columns);
                            is_valid = false;
                        }
                    }
                }
                (_, Setting::Queries(queries)) => {
                    for (_, query) in queries {
                        is_valid &= self.query(query, RowDemand::Ordered).is_some();
                    }
                }
                (kind, Setting::Query(query)) => is_valid &= self.query_fits(kind, query),
                (_, Setting::Outputs(outputs)) => {
                    for output in outputs {
                        is_valid &= self.declared(&output.declaration);
                    }
                }
                _ => {}
            }
        }
        is_valid
    }

    /// Reports an error if the table has no column `file`, which a table of files must have.
    fn require_file(&mut self, files: &Spanned<String>) -> Option<()> {
        let columns = self.table(&files.value)?;
        if columns.has("file") {
            return Some(());
        }
        let message = format!("table `{}` has no column `file`", files.value);
        self.diagnostics.push(
            Diagnostic::error("missing-column", files.span, message)
                .help("name a table of files: `{ files: GLOB }`, or a query that selects `file`"),
        );
        None
    }

    /// Plans a query and compares its columns with those that the pipeline key requires.
    fn query_fits(&mut self, key_type: &KeyType, query: &Query) -> bool {
        let (message, help) = match key_type {
            KeyType::Lines => {
                let is_text = |known: &ColumnContent| match known {
                    ColumnContent::Typed(data_type) => data_type.is_string(),
                    ColumnContent::Entries => true,
                };
                let is_boolean =
                    |known: &ColumnContent| *known == ColumnContent::Typed(DataType::Boolean);
                let is_text = |columns: &TableColumns| match &*columns.0 {
                    [line] => is_text(&line.content),
                    [line, ended] => is_text(&line.content) && is_boolean(&ended.content),
                    _ => false,
                };
                match self.query(query, RowDemand::Ordered) {
                    Some(columns) if is_text(&columns) => return true,
                    Some(_) => (
                        "a query for lines must return one text column, and optionally one boolean column"
                            .to_owned(),
                        "join the columns into one text: SELECT a || ',' || b AS line",
                    ),
                    None => return false,
                }
            }
            KeyType::Entries => {
                let is_entries = |columns: &TableColumns| matches!(&*columns.0, [column] if column.content == ColumnContent::Entries);
                match self.plan_query(query, RowDemand::Ordered) {
                    Some(columns) if is_entries(&columns) => return true,
                    Some(_) => (
                        "a query for an array must return only the column `record` of a table that was read from an array".to_owned(),
                        "SELECT record FROM frames, with `frames: { read: frames.npy }`",
                    ),
                    None => return false,
                }
            }
            // The files of a directory have no order.
            KeyType::Placed => {
                let Some(columns) = self.query(query, RowDemand::AnyOrder) else {
                    return false;
                };
                let missing = ["file", "path"].iter().find(|name| !columns.has(name));
                match missing {
                    None => return true,
                    Some(name) => (
                        format!("the query for a directory has no column `{name}`"),
                        "select `file` (the file to copy) and `path` (its path in the directory)",
                    ),
                }
            }
            KeyType::Set | KeyType::Size => {
                return self.query(query, RowDemand::AnyOrder).is_some();
            }
            _ => {
                let is_valid = self.query(query, RowDemand::Ordered).is_some();
                return self.check_names(query) && is_valid;
            }
        };
        let code = match key_type {
            KeyType::Placed => "missing-column",
            _ => "wrong-columns",
        };
        self.diagnostics
            .push(Diagnostic::error(code, query.span, message).help(help));
        false
    }

    /// Reports computed columns without a name, because published files contain the names of columns.
    fn check_names(&mut self, query: &Query) -> bool {
        let unnamed = query.unnamed();
        for (line, column, text) in &unnamed {
            let span = query.locate(&self.pipeline.source, *line, *column);
            let message = format!("the computed column `{text}` has no name");
            self.diagnostics.push(
                Diagnostic::error("unnamed-column", span, message)
                    .help(format!("write `{text} AS name`")),
            );
        }
        unnamed.is_empty()
    }

    /// Plans a query whose result consists of values. Returns its columns, or `None` after reporting an error.
    fn query(&mut self, query: &Query, rows: RowDemand) -> Option<TableColumns> {
        let columns = self.plan_query(query, rows)?;
        let entries = columns
            .0
            .iter()
            .find(|column| column.content == ColumnContent::Entries);
        let Some(column) = entries else {
            return Some(columns);
        };
        let name = &column.name;
        let message = format!(
            "`{name}` contains entries of an array, which only an output `npy` can contain"
        );
        self.diagnostics.push(
            Diagnostic::error("wrong-columns", query.span, message).help(
                "keep `_row` instead, and join with the array's table where the output is written",
            ),
        );
        None
    }

    /// Plans a query. Returns the columns of its result, or `None` after reporting an error.
    fn plan_query(&mut self, query: &Query, rows: RowDemand) -> Option<TableColumns> {
        let mut tables: BTreeMap<String, Arc<dyn Relation>> = BTreeMap::new();
        let mut declared = BTreeMap::new();
        for name in &query.tables {
            let columns = self.table(name)?;
            tables.insert(name.clone(), Arc::new(DeclaredTable::new(&columns)));
            declared.insert(name.clone(), columns);
        }
        let bound = match bind(query.tree(), &tables, rows) {
            Ok(bound) => bound,
            Err(QueryError::Plan {
                column: Some(_), ..
            }) if self.allows_undeclared && self.reads_file(&query.tables) => return None,
            Err(error) => {
                self.report(query, &error, &declared);
                return None;
            }
        };
        let mut is_valid = true;
        for column in bound.used_columns() {
            let Some((table, index)) = &bound.catalog.get(column).source else {
                continue;
            };
            let found = declared
                .get(table)
                .and_then(|columns| columns.0.get(*index));
            let Some(column) = found.filter(|column| column.content == ColumnContent::Entries)
            else {
                continue;
            };
            let name = &column.name;
            let message = format!(
                "column `{name}` of table `{table}` contains entries of an array, so queries cannot compute with it"
            );
            let help =
                "for an array with one axis, use its column `value`: `columns: { value: text }`";
            is_valid = false;
            self.diagnostics
                .push(Diagnostic::error("array-entries", query.span, message).help(help));
        }
        if !is_valid {
            return None;
        }
        if let Err(error) = plan_only(self.session, &bound, &tables, rows) {
            self.report(query, &error, &declared);
            return None;
        }
        let columns = bound.columns.iter().map(|column| {
            let info = bound.catalog.get(column.id);
            let declared = info
                .source
                .as_ref()
                .and_then(|(table, index)| declared.get(table)?.0.get(*index).cloned());
            TableColumn {
                name: column.name.clone(),
                content: declared.map_or_else(
                    || ColumnContent::Typed(info.data_type.clone()),
                    |column| column.content,
                ),
                hidden: false,
            }
        });
        Some(TableColumns(columns.collect()))
    }

    fn report(
        &mut self,
        query: &Query,
        error: &QueryError,
        declared: &BTreeMap<String, TableColumns>,
    ) {
        let (code, span, help) = match error {
            QueryError::Plan { place, column, .. } => {
                let span = place.map_or(query.span, |(line, column)| {
                    query.locate(&self.pipeline.source, line, column)
                });
                let tables = declared
                    .iter()
                    .map(|(table, columns)| list_names(&format!("`{table}`"), &columns.names()));
                let tables = tables.collect::<Vec<_>>().join("; ");
                let names = declared.values().flat_map(|columns| columns.names());
                let near = column
                    .as_deref()
                    .and_then(|name| nearest(name, names.filter(|other| *other != name)));
                let help = match near {
                    _ if tables.is_empty() || column.is_none() => None,
                    Some(near) => Some(format!("did you mean `{near}`? {tables}")),
                    None => Some(format!(
                        "{tables}; a column of a file has to be declared under `columns`"
                    )),
                };
                ("query", span, help)
            }
            QueryError::Rejected { place, help, .. } => {
                let span = place.map_or(query.span, |(line, column)| {
                    query.locate(&self.pipeline.source, line, column)
                });
                ("query", span, help.clone())
            }
            QueryError::Order(_) => ("undetermined-order", query.span, None),
            QueryError::Unsupported(_) | QueryError::Run { .. } => ("query", query.span, None),
        };
        let diagnostic = Diagnostic::error(code, span, error.to_string());
        self.diagnostics.push(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }

    /// Returns whether the rows of one of these tables come from a file, which may have more columns than are declared.
    fn reads_file(&self, tables: &BTreeSet<String>) -> bool {
        tables.iter().any(|name| {
            let mut all = self.pipeline.tables.iter();
            match all.find(|table| table.has(name)).map(|table| &table.made) {
                Some(TableOrigin::Query(query)) => self.reads_file(&query.tables),
                Some(TableOrigin::Declared(declaration)) => match declaration.form.makes {
                    Produces::Same(key) | Produces::Parts(key) | Produces::Unpivoted(key) => {
                        let of = declaration.text(key).map(str::to_owned);
                        self.reads_file(&of.into_iter().collect())
                    }
                    Produces::Table(_) => declaration
                        .settings()
                        .any(|(key, _)| matches!(key.value, KeyType::Source)),
                    _ => false,
                },
                _ => false,
            }
        })
    }

    fn missing_column(&mut self, column: &Spanned<String>, table: &str, columns: &TableColumns) {
        let message = format!("table `{table}` has no column `{}`", column.value);
        let help = alternatives(&column.value, &format!("`{table}`"), columns.names());
        self.diagnostics
            .push(Diagnostic::error("missing-column", column.span, message).help(help));
    }
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Text | ColumnKind::Json | ColumnKind::Inferred => DataType::Utf8,
        ColumnKind::Integer => DataType::Int64,
        ColumnKind::Number => DataType::Float64,
        ColumnKind::Boolean => DataType::Boolean,
    }
}

/// A table with declared columns and no rows: queries can be planned with it, but not run.
#[derive(Debug)]
struct DeclaredTable(Vec<RelationColumn>);

impl DeclaredTable {
    fn new(columns: &TableColumns) -> DeclaredTable {
        let columns = columns.0.iter().map(|column| RelationColumn {
            name: column.name.clone(),
            data_type: match &column.content {
                ColumnContent::Typed(data_type) => data_type.clone(),
                ColumnContent::Entries => DataType::Utf8,
            },
            hidden: column.hidden,
        });
        DeclaredTable(columns.collect())
    }
}

impl Relation for DeclaredTable {
    fn columns(&self) -> &[RelationColumn] {
        &self.0
    }

    fn rows(&self) -> u64 {
        0
    }

    fn has_cells(&self, _column: usize) -> bool {
        true
    }

    fn scan(
        self: Arc<Self>,
        _columns: Vec<usize>,
        _batch: usize,
    ) -> Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send> {
        Box::new(std::iter::empty())
    }

    fn origins(&self, _first: u64, _len: usize) -> Vec<u64> {
        Vec::new()
    }
}
