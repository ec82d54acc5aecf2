//! Determines before a run which columns an output has, and whether a public output reveals the answers.
//!
//! An answer is often computed from one column, for example by `one_hot` or `json_get`. A public output with this column
//! reveals the answer. Therefore the columns of the answers are traced back through tables and functions.

use std::mem::replace;

use prep_spec::model::{Declaration, Output, Query, Setting, Table, TableOrigin};
use prep_spec::query::tree::{Body, Grouping, QueryTree, Source};
use prep_spec::words::{KeyType, Produces};
use prep_spec::{Diagnostic, Span};

use super::{CheckedQueries, Columns, PipelineChecker, UNDECLARED};
use crate::RECORD_COLUMN;
use crate::bind::{BoundQuery, RowDemand, bind};
use crate::relation::RelationColumn;
use crate::trace::{Origin, Trace};

impl CheckedQueries<'_> {
    /// Returns the column names of the CSV output at `path`, such as `public/train.csv`, if all of them are known.
    pub fn output_columns(&mut self, path: &str) -> Option<Vec<String>> {
        let checker = &mut self.0;
        let query = output(checker, path)?.declaration.query("csv")?;
        // `*` also selects the undeclared columns of a file.
        if query.tree().has_wildcard() && checker.reads_file(&query.tables) {
            return None;
        }
        let columns = checker.query(query, RowDemand::AnyOrder)?;
        let is_known = columns.iter().all(|column| column.name != UNDECLARED);
        is_known.then(|| columns.iter().map(|column| column.name.clone()).collect())
    }

    /// Returns a warning for each public output that reveals one of the columns `names` of the answers. `answers` is the
    /// path of the output that contains the answers.
    ///
    /// A public output reveals a column if the output has all rows of a table, and also contains the only value from which
    /// the column is computed. A public copy of the file from which this table is read also reveals the column.
    /// `sample` is the path of the sample submission.
    pub fn published_answers(
        &mut self,
        answers: &str,
        sample: &str,
        names: &[String],
    ) -> Vec<Diagnostic> {
        let checker = &mut self.0;
        let sample = output(checker, sample).and_then(|output| output.declaration.rows_query());
        let Some(answers) =
            output(checker, answers).and_then(|output| output.declaration.rows_query())
        else {
            return Vec::new();
        };
        let origins = names.iter().map(|name| checker.origins(answers, name));
        let origins: Vec<Vec<Origin>> = origins.collect();
        let mut found = Vec::new();
        for output in &checker.pipeline.public {
            let path = &output.path.value;
            if let Some((file, span)) = copied_file(&output.declaration) {
                let is_read = |origin: &Origin| checker.is_read_from(&origin.table, file);
                let mut answers = names.iter().zip(&origins);
                if let Some((answer, _)) = answers.find(|(_, of)| of.iter().any(is_read)) {
                    found.push(copy_warning(path, file, answer, span));
                }
                continue;
            }
            let Some(query) = output
                .declaration
                .rows_query()
                .filter(|query| keeps_rows(query.tree()))
            else {
                continue;
            };
            let Some((tables, bound)) = checker.bound(query) else {
                continue;
            };
            let trace = Trace::copies(&tables, &bound);
            let published = bound.columns.iter().find_map(|column| {
                let origin = checker.followed(trace.column(column.id)?);
                let reveals = |of: &Vec<Origin>| of.iter().any(|one| origin.contains(one));
                let (answer, of) = names.iter().zip(&origins).find(|(_, of)| reveals(of))?;
                let part = of.iter().find(|one| origin.contains(one));
                let part = part.filter(|part| part.parts.len() > origin.parts.len());
                let part = part.and_then(|part| part.parts.first());
                Some((&column.name, answer, part.cloned()))
            });
            if let Some((name, answer, part)) = published {
                let rest = part.as_ref().and_then(|part| checker.other_part(part));
                let of_sample = sample.map(|sample| &sample.tables);
                let of_sample = of_sample.filter(|of_sample| **of_sample != answers.tables);
                let of_sample = of_sample.filter(|_| answers.tables == query.tables);
                let help = match (rest, of_sample.and_then(|tables| tables.first())) {
                    (Some(rest), _) => format!("select the rows from `{rest}`"),
                    (None, Some(table)) => {
                        format!("select the answers from `{table}`, like the sample submission")
                    }
                    _ => format!("leave the column out, for example with `* EXCLUDE ({name})`"),
                };
                found.push(warning([path, name, answer], &help, query.span));
            }
        }
        found
    }
}

fn copy_warning(path: &str, file: &str, column: &str, span: Span) -> Diagnostic {
    let message =
        format!("`public/{path}` is a copy of `{file}`, which contains `{column}` of the answers");
    let help = format!(
        "publish a query without the answers; or, if this is intended, state why: `accepted: {{ {PUBLISHED}: REASON }}`"
    );
    Diagnostic::warning(PUBLISHED, span, message).help(help)
}

fn warning([path, name, column]: [&str; 3], help: &str, span: Span) -> Diagnostic {
    let message = match name == column {
        true => format!("`public/{path}` contains the column `{column}` of the answers"),
        false => {
            format!("the column `{name}` of `public/{path}` reveals `{column}` of the answers")
        }
    };
    let help = format!(
        "{help}; or, if this is intended, state why: `accepted: {{ {PUBLISHED}: REASON }}`"
    );
    Diagnostic::warning(PUBLISHED, span, message).help(help)
}

/// The code of the warning, which is also its name under the pipeline key `accepted`.
pub const PUBLISHED: &str = "published-answers";

/// Finds an output by its path, which begins with `public` or `private`.
fn output<'a>(checker: &PipelineChecker<'a>, path: &str) -> Option<&'a Output> {
    let (section, inner) = path.split_once('/')?;
    let outputs = match section {
        "public" => &checker.pipeline.public,
        _ => &checker.pipeline.private,
    };
    outputs.iter().find(|output| output.path.value == inner)
}

/// Returns the path of the file that an output copies unchanged.
fn copied_file(declaration: &Declaration) -> Option<(&str, Span)> {
    let mut settings = declaration.settings();
    settings.find_map(|(key, setting)| match (&key.value, &setting.value) {
        (KeyType::Copied, Setting::Text(path)) => Some((path.as_str(), setting.span)),
        _ => None,
    })
}

/// Returns whether a query is a SELECT from one table, without a clause that could remove or combine rows.
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

impl PipelineChecker<'_> {
    /// Returns the other table of the split that creates the table `part`.
    fn other_part(&self, part: &str) -> Option<&str> {
        let table = self.pipeline.tables.iter().find(|one| one.has(part))?;
        let mut names = table.names.iter().map(|name| name.value.as_str());
        names.find(|name| *name != part)
    }

    /// Returns whether a table is read from `file` or, if `file` is an archive, from one of its members.
    fn is_read_from(&self, table: &str, file: &str) -> bool {
        let mut tables = self.pipeline.tables.iter();
        let Some(TableOrigin::Declared(declaration)) =
            tables.find(|one| one.has(table)).map(|one| &one.made)
        else {
            return false;
        };
        let is_file = |path: &str| {
            let rest = path.strip_prefix(file);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut settings = declaration.settings();
        settings.any(|(key, setting)| match (&key.value, &setting.value) {
            (KeyType::Source, Setting::Text(path)) => is_file(path),
            _ => false,
        })
    }

    /// Resolves a query. Returns the columns of its tables, and the resolved query.
    fn bound(&mut self, query: &Query) -> Option<(Vec<(String, Columns)>, BoundQuery)> {
        let tables = query.tables.iter();
        let tables = tables.map(|name| Some((name.clone(), self.table(name)?)));
        let tables: Vec<(String, Columns)> = tables.collect::<Option<_>>()?;
        let relations = super::relations(tables.iter().map(|(name, columns)| (name, columns)));
        let bound = bind(query.tree(), &relations, RowDemand::AnyOrder).ok()?;
        Some((tables, bound))
    }

    /// Returns the value from which the column `name` of a query is computed, then the value from which this value is
    /// computed, and so on.
    fn origins(&mut self, query: &Query, name: &str) -> Vec<Origin> {
        let mut origins = Vec::new();
        let mut next = self.traced(query, name, true);
        while let Some(origin) = next {
            next = self.before(&origin, true);
            origins.push(origin);
        }
        origins
    }

    /// Traces a value back through tables that keep all rows of another table.
    fn followed(&mut self, mut origin: Origin) -> Origin {
        while let Some(before) = self.before(&origin, false) {
            origin = before;
        }
        origin
    }

    /// Returns the value of a table from which the column `name` of a query is computed. `None` if there are several such
    /// values. Without `follows_functions`, the column must be a copy of the value.
    fn traced(&mut self, query: &Query, name: &str, follows_functions: bool) -> Option<Origin> {
        let (tables, bound) = self.bound(query)?;
        let column = bound.columns.iter().find(|column| column.name == name)?;
        let trace = Trace {
            follows_functions,
            ..Trace::copies(&tables, &bound)
        };
        trace.column(column.id)
    }

    /// Returns the value from which `origin` is copied or computed:
    ///
    /// - If all rows of the origin's table come from one other table, returns a value of that table.
    /// - If the table is read from a JSON file, returns the member of the column `record` that contains the values.
    /// - Otherwise returns `None`.
    fn before(&mut self, origin: &Origin, follows_functions: bool) -> Option<Origin> {
        let mut tables = self.pipeline.tables.iter();
        let table: &Table = tables.find(|one| one.has(&origin.table))?;
        let mut before = origin.clone();
        match &table.made {
            TableOrigin::Query(query) if keeps_rows(query.tree()) => {
                let source = self.traced(query, &origin.column, follows_functions)?;
                let path = [source.path, before.path].concat();
                before = Origin {
                    path,
                    parts: before.parts,
                    ..source
                };
            }
            TableOrigin::Declared(declaration) => match declaration.form.makes {
                Produces::Same(key) => declaration.text(key)?.clone_into(&mut before.table),
                Produces::Parts(key) => {
                    let whole = declaration.text(key)?.to_owned();
                    before.parts.push(replace(&mut before.table, whole));
                }
                Produces::Table(_) if before.column != RECORD_COLUMN => {
                    let columns = self.table(&before.table)?;
                    let is_record = |one: &RelationColumn| one.hidden && one.name == RECORD_COLUMN;
                    columns.iter().find(|one| is_record(one))?;
                    let member = replace(&mut before.column, RECORD_COLUMN.to_owned());
                    before.path.insert(0, member);
                }
                _ => return None,
            },
            _ => return None,
        }
        Some(before)
    }
}
