//! All queries of a pipeline, checked when it is loaded: names, types as far as they are declared, and row order.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use prep_spec::model::{
    ColumnKind, Format, Output, OutputKind, Pipeline, Query, Spanned, Table, TableKind,
};
use prep_spec::{Diagnostic, Reading, alternatives, listed, nearest};

use crate::plan::{Rows, plan_typed};
use crate::relation::{RelationColumn, ScanError, Values};
use crate::usage::origin;
use crate::{QueryError, RECORD, Relation, Session};

/// What is known of a table's columns before it exists, and whether the last one is the hidden `record`.
#[derive(Debug, Clone)]
struct Columns(Vec<(String, Known)>, bool);

/// What is known of a column.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    /// Its values are of this type.
    Typed(DataType),
    /// It holds entries of an array, which can only be passed on, to an array.
    Entries,
}

impl Columns {
    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// Plans every query of the pipeline against the declared columns and returns what is wrong. What reads a table that
/// could not be read itself is left out: nothing that follows from a finding is a finding.
pub fn check(session: &Session, reading: &Reading) -> Vec<Diagnostic> {
    let unread = reading.unread.iter().map(|name| (name.clone(), None));
    let mut checker = Checker {
        session,
        pipeline: &reading.pipeline,
        known: unread.collect(),
        diagnostics: Vec::new(),
    };
    checker.run();
    checker.diagnostics
}

struct Checker<'a> {
    session: &'a Session,
    pipeline: &'a Pipeline,
    /// Columns of tables checked so far; none for a table that is itself wrong, whose users are not checked.
    known: BTreeMap<String, Option<Columns>>,
    diagnostics: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn run(&mut self) {
        let pipeline = self.pipeline;
        for table in &pipeline.tables {
            self.table(&table.name.value);
        }
        if let Some(split) = &pipeline.split {
            let columns = self.table(&split.rows.value);
            if let (Some(columns), Some(group)) = (columns, &split.group_by)
                && !columns.0.iter().any(|(name, _)| *name == group.value)
            {
                self.missing_column(group, &split.rows.value, &columns);
            }
            if let Some(query) = &split.test_size {
                self.query(query, Rows::AnyOrder);
            }
        }
        for output in pipeline.public.iter().chain(&pipeline.private) {
            self.output(output);
        }
        for check in &pipeline.checks {
            self.query(&check.query, Rows::AnyOrder);
        }
    }

    /// The columns of a table, checking it first if that has not been done.
    fn table(&mut self, name: &str) -> Option<Columns> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        // A cycle is the loader's to report; here it only must not recurse for ever.
        self.known.insert(name.to_owned(), None);
        let columns = match self
            .pipeline
            .tables
            .iter()
            .find(|table| table.name.value == name)
        {
            Some(table) => self.defined(table),
            None => {
                let split = self
                    .pipeline
                    .split
                    .as_ref()
                    .filter(|split| split.into.iter().any(|into| into == name));
                split.and_then(|split| self.table(&split.rows.value))
            }
        };
        self.known.insert(name.to_owned(), columns.clone());
        columns
    }

    fn defined(&mut self, table: &Table) -> Option<Columns> {
        let text = |name: &str| (name.to_owned(), Known::Typed(DataType::Utf8));
        let number = |name: &str| (name.to_owned(), Known::Typed(DataType::Int64));
        match &table.kind {
            TableKind::Query(query) => self.query(query, Rows::Ordered),
            TableKind::Read(read) => {
                let columns = read.columns.iter().map(|column| {
                    let kind = Known::Typed(data_type(column.kind));
                    (column.name.value.clone(), kind)
                });
                let mut columns: Vec<_> = columns.collect();
                let implied = match read.format {
                    Format::Json | Format::JsonLines => text(RECORD),
                    Format::Npy => (RECORD.to_owned(), Known::Entries),
                    Format::Csv | Format::Parquet => return Some(Columns(columns, false)),
                };
                let is_implied = !columns.iter().any(|(name, _)| *name == implied.0);
                let has_record = is_implied && implied.0 == RECORD;
                if is_implied {
                    columns.push(implied);
                }
                Some(Columns(columns, has_record))
            }
            TableKind::Files(_) => Some(Columns(
                vec![
                    text("file"),
                    text("dir"),
                    text("folder"),
                    text("name"),
                    text("stem"),
                    text("ext"),
                    number("size"),
                ],
                false,
            )),
            TableKind::TextLines(files) => {
                self.has_file(files)?;
                Some(Columns(
                    vec![text("file"), text("stem"), number("number"), text("line")],
                    false,
                ))
            }
            TableKind::Pixels(files) => {
                self.has_file(files)?;
                Some(Columns(
                    vec![
                        text("file"),
                        text("stem"),
                        number("row"),
                        number("col"),
                        number("grey"),
                    ],
                    false,
                ))
            }
            TableKind::TfRecords { files, features } => {
                self.has_file(files)?;
                let mut columns = vec![text("file")];
                columns.extend(features.iter().map(|feature| {
                    let kind = Known::Typed(data_type(feature.kind));
                    (feature.name.value.clone(), kind)
                }));
                Some(Columns(columns, false))
            }
        }
    }

    /// A table of files must have the column `file`.
    fn has_file(&mut self, files: &Spanned<String>) -> Option<()> {
        let columns = self.table(&files.value)?;
        if columns.0.iter().any(|(name, _)| name == "file") {
            return Some(());
        }
        let message = format!("table `{}` has no column `file`", files.value);
        self.diagnostics.push(
            Diagnostic::error("missing-column", files.span, message)
                .help("name a table of files: `{ files: GLOB }`, or a query that selects `file`"),
        );
        None
    }

    fn output(&mut self, output: &Output) {
        match &output.kind {
            OutputKind::Csv { query, .. }
            | OutputKind::Json { query, .. }
            | OutputKind::Parquet { query } => {
                self.query(query, Rows::Ordered);
            }
            OutputKind::Lines { query } => {
                let is_text = |columns: &Columns| match &*columns.0 {
                    [(_, Known::Typed(data_type))] => data_type.is_string(),
                    columns => columns.len() == 1,
                };
                if self
                    .query(query, Rows::Ordered)
                    .is_some_and(|columns| !is_text(&columns))
                {
                    let message = "lines are made of one column of texts";
                    let help = "join the columns to one text: SELECT a || ',' || b AS line";
                    self.diagnostics
                        .push(Diagnostic::error("wrong-columns", query.span, message).help(help));
                }
            }
            OutputKind::Npy { query } => {
                let columns = self.planned(query, Rows::Ordered);
                if columns.is_some_and(|columns| !matches!(&*columns.0, [(_, Known::Entries)])) {
                    let message = "an array is made of the one column `record` of a table that was read from an array";
                    self.diagnostics.push(
                        Diagnostic::error("wrong-columns", query.span, message)
                            .help("SELECT record FROM frames, with `frames: { read: frames.npy }`"),
                    );
                }
            }
            // A tree has no order.
            OutputKind::Files { query } => {
                let Some(columns) = self.query(query, Rows::AnyOrder) else {
                    return;
                };
                for wanted in ["file", "path"] {
                    if !columns.0.iter().any(|(name, _)| name == wanted) {
                        let message = format!("the query for a folder has no column `{wanted}`");
                        self.diagnostics.push(
                            Diagnostic::error("missing-column", query.span, message)
                                .help("it needs `file` (what to copy) and `path` (where to, below the folder)"),
                        );
                    }
                }
            }
            OutputKind::Archive { members, .. } => {
                for member in members {
                    self.output(member);
                }
            }
            OutputKind::Copy(_) | OutputKind::Empty => {}
        }
    }

    /// Plans a query whose rows are values; its result's columns, if nothing is wrong.
    fn query(&mut self, query: &Query, rows: Rows) -> Option<Columns> {
        let columns = self.planned(query, rows)?;
        let entries = columns.0.iter().find(|(_, known)| *known == Known::Entries);
        let Some((name, _)) = entries else {
            return Some(columns);
        };
        let message = format!("`{name}` holds entries of an array, which only an array can hold");
        self.diagnostics.push(
            Diagnostic::error("wrong-columns", query.span, message).help(
                "keep `_row` instead, and join with the array's table where the output is written",
            ),
        );
        None
    }

    /// Plans a query; its result's columns, if nothing is wrong.
    fn planned(&mut self, query: &Query, rows: Rows) -> Option<Columns> {
        let mut tables: BTreeMap<String, Arc<dyn Relation>> = BTreeMap::new();
        let mut declared = BTreeMap::new();
        for name in &query.tables {
            let columns = self.table(name)?;
            tables.insert(name.clone(), Arc::new(Declared::new(&columns)));
            declared.insert(name.clone(), columns);
        }
        let planned = match plan_typed(self.session, query, &tables, rows) {
            Ok(planned) => planned,
            Err(error) => {
                self.refuse(query, &error, &declared);
                return None;
            }
        };
        let mut sound = true;
        for (table, used) in &planned.used {
            let Some(columns) = declared.get(table) else {
                continue;
            };
            for (name, known) in used.iter().filter_map(|index| columns.0.get(*index)) {
                if *known != Known::Entries {
                    continue;
                }
                let message = format!(
                    "column `{name}` of table `{table}` is computed with, but holds entries of an array"
                );
                let help =
                    "an array of one axis has its values in `value`: `columns: { value: text }`";
                sound = false;
                self.diagnostics
                    .push(Diagnostic::error("array-entries", query.span, message).help(help));
            }
        }
        let schema = planned.plan.schema();
        let columns = schema.fields().iter().enumerate().map(|(index, field)| {
            let from = origin(&planned.plan, index);
            let declared =
                from.and_then(|(table, column)| declared.get(&table)?.0.get(column).cloned());
            (
                field.name().clone(),
                declared.map_or_else(
                    || Known::Typed(field.data_type().clone()),
                    |(_, known)| known,
                ),
            )
        });
        let columns = Columns(columns.collect(), false);
        sound.then_some(columns)
    }

    fn refuse(&mut self, query: &Query, error: &QueryError, declared: &BTreeMap<String, Columns>) {
        let (code, span, help) = match error {
            QueryError::Plan { place, column, .. } => {
                let span = place.map_or(query.span, |(line, column)| {
                    query.locate(&self.pipeline.source, line, column)
                });
                let tables = declared
                    .iter()
                    .map(|(table, columns)| listed(&format!("`{table}`"), &columns.names()));
                let tables = tables.collect::<Vec<_>>().join("; ");
                let names = declared.values().flat_map(|columns| columns.names());
                let near = column.as_deref().and_then(|name| nearest(name, names));
                let help = match near {
                    _ if tables.is_empty() => None,
                    Some(near) => Some(format!("did you mean `{near}`? {tables}")),
                    None => Some(format!(
                        "{tables}; a column of a file has to be declared under `columns`"
                    )),
                };
                ("query", span, help)
            }
            QueryError::Order(_) => ("undetermined-order", query.span, None),
            QueryError::Unsupported(_) | QueryError::Run(_) => ("query", query.span, None),
        };
        let diagnostic = Diagnostic::error(code, span, error.to_string());
        self.diagnostics.push(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }

    fn missing_column(&mut self, column: &Spanned<String>, table: &str, columns: &Columns) {
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

/// A table that is declared only: it can be planned with, not read.
#[derive(Debug)]
struct Declared(Vec<RelationColumn>);

impl Declared {
    fn new(columns: &Columns) -> Declared {
        let columns = columns.0.iter().map(|(name, known)| RelationColumn {
            name: name.clone(),
            data_type: match known {
                Known::Typed(data_type) => data_type.clone(),
                Known::Entries => DataType::Utf8,
            },
            hidden: name == RECORD && columns.1,
        });
        Declared(columns.collect())
    }
}

impl Relation for Declared {
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
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send> {
        Box::new(std::iter::empty())
    }

    fn origins(&self, _first: u64, _len: usize) -> Vec<u64> {
        Vec::new()
    }
}
