//! Checks all queries of a pipeline when it is loaded: names, types and the order of rows.

mod outputs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::datatypes::DataType;
use prep_spec::model::{ColumnKind, Declaration, Pipeline, Query, Setting, Table, TableOrigin};
use prep_spec::words::{CellContent, KeyType, ProducedColumn, Produces};
use prep_spec::{Diagnostic, Reading, Span, alternatives};

use crate::bind::{RowDemand, bind};
use crate::relation::{Relation, RelationBatches, RelationColumn, Tables};
use crate::relational::ColumnId;
use crate::run::plan_only;
use crate::unpivot::Unpivot;
use crate::{QueryError, Session, VALUE_COLUMN};

pub use outputs::PUBLISHED;

/// A placeholder column of a table without declared columns, because `*` must select at least one column.
pub(crate) const UNDECLARED: &str = "*";

/// The end of the help for an unknown column, after the names of the known columns.
const UNDECLARED_HELP: &str = "; a column of a file has to be declared under `columns`";

/// The type of the entries of an array (`.npy`). A query can only copy such entries.
const ENTRIES: DataType = DataType::Binary;

pub(crate) type Columns = Arc<[RelationColumn]>;

fn names(columns: &Columns) -> Vec<&str> {
    let names = columns.iter().map(|column| column.name.as_str());
    names.filter(|name| *name != UNDECLARED).collect()
}

fn has(columns: &Columns, name: &str) -> bool {
    columns.iter().any(|column| column.name == name)
}

/// Plans all queries of the pipeline with the declared columns, and returns the errors.
pub fn check(session: &Session, reading: &Reading) -> Vec<Diagnostic> {
    CheckedQueries::new(session, reading).0.diagnostics
}

/// A pipeline whose queries were planned with the declared columns.
///
/// If the query of a table has an error, the types of the table's columns may be unknown. Queries that read such a table are
/// checked only for unknown columns and for an undetermined row order.
pub struct CheckedQueries<'a>(PipelineChecker<'a>);

impl<'a> CheckedQueries<'a> {
    /// Plans all queries of the pipeline.
    pub fn new(session: &'a Session, reading: &'a Reading) -> CheckedQueries<'a> {
        let unread = reading.unread.iter().map(|name| (name.clone(), None));
        let mut checker = PipelineChecker::new(session, &reading.pipeline);
        checker.known = unread.collect();
        checker.run();
        CheckedQueries(checker)
    }

    /// Returns the errors and warnings of all queries.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }
}

/// Checks the queries like [`check`], but allows undeclared columns of files.
///
/// If the file lacks such a column, the query fails when it runs with [`RowForm::Checked`](crate::RowForm::Checked).
pub fn check_before_files(session: &Session, reading: &Reading) -> Vec<Diagnostic> {
    let mut checker = PipelineChecker::new(session, &reading.pipeline);
    checker.allows_undeclared = true;
    checker.run();
    checker.diagnostics
}

/// Returns the known columns of a query, each with the name of its type in the pipeline language.
///
/// Undeclared columns of files are not known before the files are read.
pub fn known_columns(
    session: &Session,
    reading: &Reading,
    query: &Query,
) -> Vec<(String, &'static str)> {
    let mut checker = PipelineChecker::new(session, &reading.pipeline);
    let columns = checker.query(query, RowDemand::AnyOrder);
    let known = columns.iter().flat_map(|columns| columns.iter());
    let known = known.filter(|column| column.name != UNDECLARED);
    let known = known.map(|column| match &column.data_type {
        &ENTRIES => (column.name.clone(), "array entries"),
        data_type => (column.name.clone(), type_name(data_type)),
    });
    known.collect()
}

/// Returns the name of a type in the pipeline language.
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

/// Returns the name of a type that neither tables nor outputs can contain. Returns `None` for other types.
pub fn unwritable_type(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Date32 | DataType::Date64 => "DATE",
        DataType::Timestamp(..) => "TIMESTAMP",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL",
        other if other.is_nested() => "list",
        _ => return None,
    })
}

/// Returns the message and the help for a column of a type that neither tables nor outputs can contain.
pub fn unwritable_column(name: &str, kind: &str) -> (String, String) {
    let message =
        format!("the column `{name}` is of the type {kind}, which a table cannot contain");
    let help = format!("convert it, for example `CAST(... AS VARCHAR) AS {name}`");
    (message, help)
}

struct PipelineChecker<'a> {
    session: &'a Session,
    pipeline: &'a Pipeline,
    /// Columns of the checked tables. `None` if an error makes the columns of a table unknown.
    known: BTreeMap<String, Option<Columns>>,
    /// Tables with an error, whose columns have known names but unknown types.
    doubtful: BTreeSet<String>,
    diagnostics: Vec<Diagnostic>,
    /// Whether queries that read a file may use undeclared columns.
    allows_undeclared: bool,
}

impl<'a> PipelineChecker<'a> {
    fn new(session: &'a Session, pipeline: &'a Pipeline) -> PipelineChecker<'a> {
        PipelineChecker {
            session,
            pipeline,
            known: BTreeMap::new(),
            doubtful: BTreeSet::new(),
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
        self.label_declarations();
    }

    /// If several errors suggest the same declared column in place of a missing one, the declaration may have a typing error.
    /// Then the first of these errors gets a label at the declaration.
    fn label_declarations(&mut self) {
        let tables = self.pipeline.tables.iter();
        let columns = tables.flat_map(|table| match &table.made {
            TableOrigin::Declared(declaration) => declaration.columns("columns"),
            _ => &[],
        });
        for column in columns {
            let name = &column.name.value;
            let hint = format!("did you mean `{name}`?");
            let is_hint = |one: &&mut Diagnostic| {
                let help = one.help.as_ref();
                help.is_some_and(|help| help.starts_with(&hint))
            };
            let mut found = self.diagnostics.iter_mut().filter(is_hint);
            if let (Some(first), Some(_)) = (found.next(), found.next()) {
                let message = format!("`{name}` is declared here; check its name in the file");
                *first = first.clone().label(column.name.span, message);
            }
        }
    }

    /// Checks a table, and returns its columns if they are known.
    fn table(&mut self, name: &str) -> Option<Columns> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        // This entry ends the recursion of a cycle. The loader reports cycles.
        self.known.insert(name.to_owned(), None);
        let tables = &self.pipeline.tables;
        let table = tables.iter().find(|table| table.has(name))?;
        let columns = self.produced_columns(table);
        for name in &table.names {
            self.known.insert(name.value.clone(), columns.clone());
        }
        columns
    }

    fn produced_columns(&mut self, table: &Table) -> Option<Columns> {
        let columns = match &table.made {
            TableOrigin::Query(query) => {
                return match self.query(query, RowDemand::Ordered) {
                    Some(columns) => self.check_columns(query, &columns).then_some(columns),
                    None => self.columns_despite_error(table, query),
                };
            }
            TableOrigin::List(_) => vec![ProducedColumn::text(VALUE_COLUMN)],
            TableOrigin::Declared(declaration) => {
                let is_valid = self.declared(declaration);
                match declaration.form.makes {
                    // The table has the columns of the table that `key` names, even if another key is wrong.
                    Produces::Same(key) | Produces::Parts(key) => {
                        let of = declaration.text(key)?;
                        let columns = self.table(of);
                        if self.doubtful.contains(of) {
                            let names = table.names.iter().map(|name| name.value.clone());
                            self.doubtful.extend(names);
                        }
                        return columns;
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
        let columns = columns.into_iter().map(|column| RelationColumn {
            name: column.name,
            data_type: match column.holds {
                CellContent::Values(kind) => data_type(kind),
                CellContent::Documents => data_type(ColumnKind::Json),
                CellContent::Entries => ENTRIES,
            },
            hidden: column.hidden,
        });
        let mut columns: Vec<RelationColumn> = columns.collect();
        if columns.is_empty() {
            columns.push(RelationColumn {
                name: UNDECLARED.to_owned(),
                data_type: DataType::Utf8,
                hidden: false,
            });
        }
        Some(columns.into())
    }

    /// Returns the columns of a table whose query has an error, so that later queries can be checked.
    fn columns_despite_error(&mut self, table: &Table, query: &Query) -> Option<Columns> {
        let before = self.diagnostics.len();
        let columns = self.query(query, RowDemand::AnyOrder);
        self.diagnostics.truncate(before);
        if columns.is_some() {
            return columns;
        }
        let names = query.selected_names()?.into_iter();
        let names = names.map(|name| RelationColumn {
            name,
            // All operators and functions accept NULL, so the unknown type causes no further errors.
            data_type: DataType::Null,
            hidden: false,
        });
        let doubtful = table.names.iter().map(|name| name.value.clone());
        self.doubtful.extend(doubtful);
        Some(names.collect())
    }

    fn is_doubtful(&self, query: &Query) -> bool {
        !query.tables.is_disjoint(&self.doubtful)
    }

    /// Returns the columns of a table that turns columns into rows. Reports an error if the declaration does not fit
    /// `columns`.
    fn unpivoted(&mut self, declaration: &Declaration, columns: &Columns) -> Option<Columns> {
        let text = |key| declaration.text(key).unwrap_or_default();
        let values = declaration.texts("columns");
        let entries = columns.iter().find(|column| column.data_type == ENTRIES);
        let entries = entries.filter(|column| values.contains(&column.name));
        let error = match (
            entries,
            Unpivot::new(columns, values, [text("name"), text("value")]),
        ) {
            (None, Ok(unpivot)) => return Some(unpivot.columns().into()),
            (Some(column), _) => {
                let message = format!("`{}` contains entries of an array", column.name);
                declaration.fault("columns", "array-entries", message)
            }
            (None, Err(error)) => {
                let table = text(declaration.form.head());
                if error.missing_column().is_some()
                    && self.may_have_more(&[table.to_owned()].into())
                {
                    return None;
                }
                let names = names(columns).into_iter().map(str::to_owned);
                let tables = [(table.to_owned(), names.collect())];
                let fault = declaration.fault("columns", "query", error.to_string());
                Diagnostic {
                    help: error.help_with("", &tables, UNDECLARED_HELP),
                    ..fault
                }
            }
        };
        self.diagnostics.push(error);
        None
    }

    /// Checks the tables, columns and queries that a declaration names. Returns false after an error.
    fn declared(&mut self, declaration: &Declaration) -> bool {
        let mut is_valid = true;
        // A key that names columns refers to the first table of the declaration.
        let mut table: Option<&str> = None;
        for (key, setting) in declaration.settings() {
            is_valid &= match (&key.value, &setting.value) {
                (KeyType::Table, Setting::Text(name)) => {
                    table = table.or(Some(name));
                    self.table(name).is_some()
                }
                (KeyType::Files, Setting::Text(name)) => self.require_file(name, setting.span),
                (KeyType::Column, Setting::Text(column)) => {
                    self.require_column(table, column, setting.span)
                }
                (_, Setting::Items(items)) => {
                    let mut are_valid = true;
                    for (index, item) in items.iter().enumerate() {
                        for (name, span) in item.columns() {
                            // An item may use the names of earlier items.
                            let mut before = items.iter().take(index);
                            are_valid &= before.any(|one| one.name.value == name)
                                || self.require_column(table, name, span);
                        }
                    }
                    are_valid
                }
                (_, Setting::Queries(queries)) => queries
                    .iter()
                    .map(|(_, query)| self.query(query, RowDemand::Ordered).is_some())
                    .fold(true, |all, one| all & one),
                (kind, Setting::Query(query)) => self.query_fits(kind, query),
                (_, Setting::Outputs(outputs)) => outputs
                    .iter()
                    .map(|output| self.declared(&output.declaration))
                    .fold(true, |all, one| all & one),
                _ => true,
            };
        }
        is_valid
    }

    /// Returns whether a table has the column `file`. If not, reports an error. Returns false without an error if the
    /// columns of the table are unknown.
    fn require_file(&mut self, table: &str, span: Span) -> bool {
        let Some(columns) = self.table(table) else {
            return false;
        };
        if !has(&columns, "file") {
            let message = format!("table `{table}` has no column `file`");
            let help = "name a table of files: `{ files: GLOB }`, or a query that selects `file`";
            let error = Diagnostic::error("missing-column", span, message);
            self.diagnostics.push(error.help(help));
            return false;
        }
        true
    }

    /// Reports an error and returns false if a table has no such column. Returns true if the table or its columns are
    /// unknown.
    fn require_column(&mut self, table: Option<&str>, column: &str, span: Span) -> bool {
        let columns = table.and_then(|table| self.table(table));
        let (Some(columns), Some(table)) = (columns, table) else {
            return true;
        };
        if !has(&columns, column) {
            let message = format!("table `{table}` has no column `{column}`");
            let help = alternatives(column, &format!("`{table}`"), names(&columns));
            let error = Diagnostic::error("missing-column", span, message);
            self.diagnostics.push(error.help(help));
            return false;
        }
        true
    }

    /// Checks the query of a pipeline key. Returns false after an error.
    fn query_fits(&mut self, key_type: &KeyType, query: &Query) -> bool {
        let columns = match key_type {
            KeyType::Entries => self.plan_query(query, RowDemand::Ordered),
            // The files of a directory have no order.
            KeyType::Placed | KeyType::Set | KeyType::Size | KeyType::Value => {
                self.query(query, RowDemand::AnyOrder)
            }
            _ => self.query(query, RowDemand::Ordered),
        };
        // `None`: the query has an error. `Some(None)`: its columns meet the requirements, or their types are unknown.
        let fitting = columns
            .as_ref()
            .map(|columns| match self.is_doubtful(query) {
                true => None,
                false => fault_of(key_type, columns),
            });
        match (key_type, fitting) {
            (_, Some(Some((code, message, help)))) => {
                let error = Diagnostic::error(code, query.span, message);
                self.diagnostics.push(error.help(help));
                false
            }
            (
                KeyType::Lines
                | KeyType::Entries
                | KeyType::Placed
                | KeyType::Set
                | KeyType::Size
                | KeyType::Value,
                fitting,
            ) => fitting.is_some(),
            _ => columns.is_some_and(|columns| self.check_columns(query, &columns)),
        }
    }

    /// Reports computed columns without a name, because published files contain the names of columns. Also reports columns
    /// whose type tables and outputs cannot contain. Returns false if there are such columns. Warns about repeated names.
    fn check_columns(&mut self, query: &Query, columns: &Columns) -> bool {
        let place = |name: &str| match query.place_of(name) {
            Some((line, column)) => query.locate(&self.pipeline.source, line, column),
            None => query.span,
        };
        let mut seen = BTreeSet::new();
        let repeated = columns.iter().find(|one| !seen.insert(one.name.as_str()));
        let repeated = repeated.map(|RelationColumn { name, .. }| {
            let message = format!("the query returns several columns with the name `{name}`");
            let help = "select the column once, rename one of them with `AS`, or leave one out of `*` with EXCLUDE";
            Diagnostic::warning("repeated-column", place(name), message).help(help)
        });
        let unwritable = columns.iter().find_map(|column| {
            let kind = unwritable_type(&column.data_type)?;
            let (message, help) = unwritable_column(&column.name, kind);
            Some(Diagnostic::error("query", place(&column.name), message).help(help))
        });
        let is_writable = unwritable.is_none();
        self.diagnostics.extend(repeated);
        self.diagnostics.extend(unwritable);
        let unnamed = query.unnamed();
        for (line, column, text) in &unnamed {
            let span = query.locate(&self.pipeline.source, *line, *column);
            let message = format!("the computed column `{text}` has no name");
            let error = Diagnostic::error("unnamed-column", span, message);
            self.diagnostics
                .push(error.help(format!("write `{text} AS name`")));
        }
        is_writable && unnamed.is_empty()
    }

    /// Plans a query that must not return entries of an array. Returns the columns, or `None` after it reported an
    /// error.
    fn query(&mut self, query: &Query, rows: RowDemand) -> Option<Columns> {
        let columns = self.plan_query(query, rows)?;
        let Some(column) = columns.iter().find(|column| column.data_type == ENTRIES) else {
            return Some(columns);
        };
        let name = &column.name;
        let message = format!(
            "`{name}` contains entries of an array, which only an `npy` output can contain"
        );
        let help =
            "select `_row` instead, and join with the array's table in the query of the output";
        let error = Diagnostic::error("wrong-columns", query.span, message);
        self.diagnostics.push(error.help(help));
        None
    }

    /// Plans a query, and returns the columns. Returns `None` if there is an error, or if the columns are not known.
    /// Reports errors.
    fn plan_query(&mut self, query: &Query, rows: RowDemand) -> Option<Columns> {
        let mut declared = BTreeMap::new();
        for name in &query.tables {
            declared.insert(name.clone(), self.table(name)?);
        }
        let tables = relations(&declared);
        let bound = match bind(query.tree(), &tables, rows) {
            Ok(bound) => bound,
            Err(error) if error.missing_column().is_some() && self.may_have_more(&query.tables) => {
                return None;
            }
            Err(error) => return self.report(query, &error, &declared),
        };
        if bound.columns.is_empty() && !self.reads_file(&query.tables) {
            return self.report(query, &QueryError::no_columns(query.tree()), &declared);
        }
        let declared_entries = |id: ColumnId| {
            let (table, index) = bound.catalog.get(id).source.as_ref()?;
            let column = declared.get(table)?.get(*index)?;
            (column.data_type == ENTRIES).then_some((table, &column.name))
        };
        let before = self.diagnostics.len();
        for (table, name) in bound
            .used_columns()
            .into_iter()
            .filter_map(declared_entries)
        {
            let message = format!(
                "column `{name}` of table `{table}` contains entries of an array, so queries cannot compute with it"
            );
            let help = "for an array with one axis, declare `columns: { value: text }`, and use the column `value`";
            let error = Diagnostic::error("array-entries", query.span, message);
            self.diagnostics.push(error.help(help));
        }
        if self.diagnostics.len() > before {
            return None;
        }
        if let Err(error) = plan_only(self.session, &bound, &tables, rows) {
            return self.report(query, &error, &declared);
        }
        let columns = bound.columns.iter().map(|column| RelationColumn {
            name: column.name.clone(),
            data_type: match declared_entries(column.id) {
                Some(_) => ENTRIES,
                None => bound.catalog.get(column.id).data_type.clone(),
            },
            hidden: false,
        });
        Some(columns.collect())
    }

    /// Reports an error of a query, unless it may be a consequence of an error in another table. Always returns `None`.
    fn report<T>(
        &mut self,
        query: &Query,
        error: &QueryError,
        declared: &BTreeMap<String, Columns>,
    ) -> Option<T> {
        let may_be_consequence =
            !matches!(error, QueryError::Order(_)) && error.missing_column().is_none();
        if may_be_consequence && self.is_doubtful(query) {
            return None;
        }
        let place = error.place();
        let span = place.map_or(query.span, |(line, column)| {
            query.locate(&self.pipeline.source, line, column)
        });
        let code = match error {
            QueryError::Order(_) => "undetermined-order",
            _ => "query",
        };
        let tables = declared.iter().map(|(table, columns)| {
            let names = names(columns).into_iter().map(str::to_owned);
            (table.clone(), names.collect())
        });
        let tables: Vec<(String, Vec<String>)> = tables.collect();
        let help = error.help_with(&query.text, &tables, UNDECLARED_HELP);
        let text = self.pipeline.source.text.get(span.start..);
        // `SELECT file` is short for `SELECT file, name AS path`.
        let is_short_form =
            error.missing_column() == Some("name") && text.is_some_and(selects_file);
        if is_short_form {
            let message = "`SELECT file` keeps the name of each file, but the query has no column `name` of a table of files";
            let help = "join a table of files, such as `photos: { files: photos/*.jpg }`, and select its column `file`";
            self.diagnostics
                .push(Diagnostic::error(code, span, message).help(help));
            return None;
        }
        let found = Diagnostic::error(code, span, error.to_string());
        self.diagnostics.push(Diagnostic { help, ..found });
        None
    }

    /// Returns whether a query over these tables may use an undeclared column. This requires `allows_undeclared`, and a
    /// table that is read from a file.
    fn may_have_more(&self, tables: &BTreeSet<String>) -> bool {
        self.allows_undeclared && self.reads_file(tables)
    }

    /// Returns whether one of these tables is read from a file, directly or through other tables.
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
}

/// Returns whether a text begins with the column `file`, such as `t."file"`.
fn selects_file(text: &str) -> bool {
    let end = text.find(|c: char| c.is_whitespace() || c == ',');
    let column = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let name = column.rsplit('.').next().unwrap_or_default();
    name.trim_matches('"') == "file"
}

/// Code, message and help of an error.
type Fault = (&'static str, String, &'static str);

/// Returns the error of a query whose columns do not meet the requirements of a pipeline key.
fn fault_of(key_type: &KeyType, columns: &Columns) -> Option<Fault> {
    let is_text =
        |column: &RelationColumn| column.data_type.is_string() || column.data_type == ENTRIES;
    match (key_type, columns.as_ref()) {
        (KeyType::Lines, [line]) if is_text(line) => None,
        (KeyType::Lines, [line, ended])
            if is_text(line) && ended.data_type == DataType::Boolean =>
        {
            None
        }
        (KeyType::Lines, _) => Some((
            "wrong-columns",
            "a query for lines must return one text column, and optionally one boolean column"
                .to_owned(),
            "join the columns into one string: SELECT a || ',' || b AS line",
        )),
        (KeyType::Entries, [column]) if column.data_type == ENTRIES => None,
        (KeyType::Entries, _) => Some((
            "wrong-columns",
            "a query for an array must return only the column `record` of a table that was read from an array".to_owned(),
            "SELECT record FROM frames, with `frames: { read: frames.npy }`",
        )),
        (KeyType::Placed, _) => {
            let mut required = ["file", "path"].iter();
            let missing = required.find(|name| !has(columns, name))?;
            Some((
                "missing-column",
                format!("the query for a directory has no column `{missing}`"),
                "select `file` (the file to copy) and `path` (its path in the directory)",
            ))
        }
        _ => None,
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

/// Returns empty tables with these columns, with which queries can be planned.
pub(crate) fn relations<'c>(
    columns: impl IntoIterator<Item = (&'c String, &'c Columns)>,
) -> Tables {
    let tables = columns.into_iter().map(|(name, columns)| {
        let table: Arc<dyn Relation> = Arc::new(DeclaredTable::new(columns));
        (name.clone(), table)
    });
    tables.collect()
}

#[derive(Debug)]
struct DeclaredTable(Vec<RelationColumn>);

impl DeclaredTable {
    fn new(columns: &Columns) -> DeclaredTable {
        let columns = columns.iter().map(|column| RelationColumn {
            data_type: match &column.data_type {
                // Entries pass type checks as text. `plan_query` reports queries that compute with them.
                &ENTRIES => DataType::Utf8,
                other => other.clone(),
            },
            ..column.clone()
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

    fn scan(self: Arc<Self>, _columns: Vec<usize>, _batch: usize) -> RelationBatches {
        Box::new(std::iter::empty())
    }

    fn origins(&self, _first: u64, _len: usize) -> Vec<u64> {
        Vec::new()
    }
}
