//! Checks outputs before any file is read: determines the columns of an output, if they are known without the files, and
//! warns about public outputs that contain the answers.

use prep_spec::model::{Output, Query, Setting, Table, TableOrigin};
use prep_spec::query::tree::{Body, Grouping, QueryTree, Source};
use prep_spec::words::{KeyType, Produces};
use prep_spec::{Diagnostic, Span};

use super::{CheckedQueries, Columns, PipelineChecker, UNDECLARED};
use crate::bind::{BoundQuery, RowDemand, bind};

/// The name of a table of the pipeline, and the name of one of its columns.
type TableColumn = (String, String);

impl CheckedQueries<'_> {
    /// Returns the names of the columns of the output at `path`, for example `public/train.csv`. Returns `None` unless the
    /// output is a CSV file whose columns are all known.
    pub fn output_columns(&mut self, path: &str) -> Option<Vec<String>> {
        let checker = &mut self.0;
        let query = output(checker, path)?.declaration.query("csv")?;
        // A file may have more columns than are declared, and `*` selects them.
        if query.tree().has_wildcard() && checker.reads_file(&query.tables) {
            return None;
        }
        let columns = checker.query(query, RowDemand::AnyOrder)?;
        let is_known = columns.iter().all(|column| column.name != UNDECLARED);
        is_known.then(|| columns.iter().map(|column| column.name.clone()).collect())
    }

    /// Returns a warning for each public output that contains `column` of the answers for all rows. `answers` is the
    /// path of the answers.
    ///
    /// An output contains the column if its query selects the same column of the same table as the query of the
    /// answers, and keeps all rows of that table.
    pub fn published_answers(&mut self, answers: &str, column: &str) -> Vec<Diagnostic> {
        let checker = &mut self.0;
        let answers = output(checker, answers).and_then(|output| rows(output));
        let Some(origin) = answers.and_then(|query| checker.origin(query, column)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for output in &checker.pipeline.public {
            let Some(query) = rows(output).filter(|query| keeps_rows(query.tree())) else {
                continue;
            };
            let Some((columns, bound)) = checker.bound(query) else {
                continue;
            };
            let mut names = bound.columns.iter().map(|column| column.name.clone());
            let published = names.find(|name| {
                let direct = direct_origin(&columns, &bound, name);
                direct.map(|direct| checker.followed(direct)) == Some(origin.clone())
            });
            if let Some(name) = published {
                found.push(warning(&output.path.value, &name, column, query.span));
            }
        }
        found
    }
}

fn warning(path: &str, name: &str, column: &str, span: Span) -> Diagnostic {
    let message = match name == column {
        true => format!("`public/{path}` contains the column `{column}` of the answers"),
        false => format!(
            "the column `{name}` of `public/{path}` contains the column `{column}` of the answers"
        ),
    };
    let help = format!(
        "leave the column out, for example with `* EXCLUDE ({name})`; or, if this is intended, state why: \
         `accepted: {{ {PUBLISHED}: REASON }}`"
    );
    Diagnostic::warning(PUBLISHED, span, message).help(help)
}

/// The code of the warning, and its name under the key `accepted` of a pipeline that accepts the warning.
pub const PUBLISHED: &str = "published-answers";

/// Returns the output at `path`, which begins with the section `public` or `private`.
fn output<'a>(checker: &PipelineChecker<'a>, path: &str) -> Option<&'a Output> {
    let (section, inner) = path.split_once('/')?;
    let outputs = match section {
        "public" => &checker.pipeline.public,
        _ => &checker.pipeline.private,
    };
    outputs.iter().find(|output| output.path.value == inner)
}

/// Returns the query for the rows of an output.
fn rows(output: &Output) -> Option<&Query> {
    let mut settings = output.declaration.settings();
    settings.find_map(|(key, setting)| match (&key.value, &setting.value) {
        (KeyType::Rows, Setting::Query(query)) => Some(query),
        _ => None,
    })
}

/// Returns whether a query has one row for each row of its only table.
fn keeps_rows(tree: &QueryTree) -> bool {
    let Body::Select(select) = &tree.body else {
        return false;
    };
    let is_table = match select.from.as_slice() {
        [from] => from.joins.is_empty() && matches!(from.first, Source::Table { .. }),
        _ => false,
    };
    let has_condition =
        select.filter.is_some() || select.having.is_some() || select.qualify.is_some();
    let has_all = tree.limit.is_none() && tree.offset == 0 && !select.distinct && !has_condition;
    is_table && has_all && tree.with.is_empty() && matches!(select.group_by, Grouping::None)
}

/// Returns the table and the column from which the query copies its column `name`. Returns `None` if the column is
/// computed.
fn direct_origin(
    tables: &[(String, Columns)],
    bound: &BoundQuery,
    name: &str,
) -> Option<TableColumn> {
    let column = bound.columns.iter().find(|column| column.name == name)?;
    let (table, index) = bound.catalog.get(column.id).source.as_ref()?;
    let (_, columns) = tables.iter().find(|(name, _)| name == table)?;
    Some((table.clone(), columns.get(*index)?.name.clone()))
}

impl PipelineChecker<'_> {
    /// Resolves a query, and returns the columns of its tables.
    fn bound(&mut self, query: &Query) -> Option<(Vec<(String, Columns)>, BoundQuery)> {
        let tables = query.tables.iter();
        let tables = tables.map(|name| Some((name.clone(), self.table(name)?)));
        let tables: Vec<(String, Columns)> = tables.collect::<Option<_>>()?;
        let relations = super::relations(tables.iter().map(|(name, columns)| (name, columns)));
        let bound = bind(query.tree(), &relations, RowDemand::AnyOrder).ok()?;
        Some((tables, bound))
    }

    /// Returns the table in which the values of the query's column `name` first occur, and their column in it. Returns
    /// `None` if the values are computed.
    fn origin(&mut self, query: &Query, name: &str) -> Option<TableColumn> {
        let (tables, bound) = self.bound(query)?;
        let direct = direct_origin(&tables, &bound, name)?;
        Some(self.followed(direct))
    }

    /// Follows a column back to the first table that contains it. Only follows tables that keep all rows of the table
    /// that they read.
    fn followed(&mut self, column: TableColumn) -> TableColumn {
        let (table, name) = &column;
        let mut tables = self.pipeline.tables.iter();
        let made = tables
            .find(|one| one.has(table))
            .map(|one: &Table| &one.made);
        let before = match made {
            Some(TableOrigin::Query(query)) if keeps_rows(query.tree()) => self.origin(query, name),
            Some(TableOrigin::Declared(declaration)) => match declaration.form.makes {
                Produces::Same(key) => declaration
                    .text(key)
                    .map(|of| self.followed((of.to_owned(), name.clone()))),
                _ => None,
            },
            _ => None,
        };
        before.unwrap_or(column)
    }
}
