//! Writes the pipeline: fills the templates `rows.yaml` and `files.yaml`.
//!
//! A template contains the names of values in braces. It contains all lines that any draft needs: a line is omitted if it
//! names a value that this draft does not have.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use prep_failure::units;
use prep_formats::image::is_image_name;
use prep_formats::pandas::ColumnType;
use prep_grade::{MetricDraft, RefusalKind};
use prep_spec::path_part;

use crate::DraftError;
use crate::bundle::{BundleContent, FileGroup};
use crate::files::RowFiles;
use crate::guess::TargetKind::{Binary, Classes, Numbers};
use crate::guess::{
    Guess, MissingTargets, SplitGuess, Target, TargetKind, TargetTable, label_lists, target_kind,
};
use crate::split;
use crate::table::BundleTable;
use crate::trial::{self, Misfit, TrialColumn};
use crate::words::{joined, sql_name, sql_text, table_name, yaml, yaml_list, yaml_query};

/// The draft declares at most this number of columns of a table. A comment counts the other columns.
const MAX_COLUMNS: usize = 80;
/// Each list in the draft has at most this number of elements: unused tables, columns of an unused table, and unused
/// groups of files.
const MAX_LISTED: usize = 20;
/// The first line of a draft whose metric may not fit.
const MAY_REJECT: &str = "Its metric may reject the sample submission.";
/// The reason for metrics of classes, and these metrics, the most usual first.
const CLASS_METRICS: &str =
    "classes are predicted: accuracy, f1, balanced_accuracy, cohen_kappa, average_precision_at_k";
/// The draft has a note if its test part has fewer rows than this number, which the search for leaks needs.
const MIN_TEST_ROWS: f64 = 50.0;
/// A value with more characters is not used as a placeholder.
const MAX_PLACEHOLDER: usize = 40;
/// If one of two labels is one of these words, it is probably the label whose probability is predicted.
const POSITIVE_WORDS: [&str; 12] = [
    "1", "yes", "y", "true", "t", "ja", "j", "oui", "si", "sí", "sim", "positive",
];
/// If the name of a directory contains one of these words, its files are probably answers, such as masks of images.
pub(crate) const ANSWER_WORDS: [&str; 6] =
    ["mask", "label", "annot", "truth", "target", "segmentation"];

#[derive(Default)]
struct TemplateValues(Vec<(&'static str, String)>);

impl TemplateValues {
    fn add(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.push((name, value.into()));
    }

    fn add_if(&mut self, condition: bool, name: &'static str, value: impl Into<String>) {
        if condition {
            self.add(name, value);
        }
    }

    fn add_some(&mut self, name: &'static str, value: Option<impl Into<String>>) {
        self.0.extend(value.map(|value| (name, value.into())));
    }

    /// Adds lines as a value, without the last line break. Adds no value if `lines` is empty.
    fn add_lines(&mut self, name: &'static str, lines: &str) {
        self.add_if(!lines.is_empty(), name, lines.trim_end());
    }

    /// Adds a metric. If the metric gave the sample submission no score, `misfit` is the reason. `fitting` are metrics that
    /// fit the target.
    /// `is_whole` states whether all answers are known.
    ///
    /// # Errors
    /// Fails if the metric cannot give the sample submission a score, even with other parameters and with further
    /// answers.
    fn add_metric(
        &mut self,
        name: &str,
        metric: MetricDraft,
        misfit: Option<Misfit>,
        (fitting, is_whole): (&str, bool),
    ) -> Result<(), DraftError> {
        let is_final = |misfit: &Misfit| {
            let is_certain = is_whole || misfit.refusal.kind != RefusalKind::Answers;
            is_certain && !misfit.fits_answers && metric.examples.is_empty()
        };
        let runs = match misfit {
            None => "It loads and runs.",
            Some(misfit) if is_final(&misfit) => {
                return Err(DraftError::Misfit {
                    metric: name.to_owned(),
                    cause: misfit.refusal.to_string(),
                    help: format!("metrics for this target are, for example, {fitting}"),
                });
            }
            Some(_) => MAY_REJECT,
        };
        self.add("runs", runs);
        self.add("metric", name);
        self.add("arguments", metric.arguments);
        self.add_lines("examples", &metric.examples.join(", "));
        Ok(())
    }

    /// Adds the size of the test part, and a note if it has few of the `count` rows.
    fn add_test_size(&mut self, count: usize, test_size: f64) {
        #[allow(clippy::cast_precision_loss)] // compared with a small number
        let rows = (count as f64 * test_size).ceil();
        let note = format!(
            "the test part has only about {rows} rows, so scores depend on chance; a search for leaks needs at least {MIN_TEST_ROWS}; use more rows, or a larger `test_size`"
        );
        self.add_if(rows < MIN_TEST_ROWS, "few_rows", note);
        self.add("test_size", test_size.to_string());
    }

    fn fill(&self, template: &str) -> String {
        let lines = template.lines().filter_map(|line| {
            let entry = line.split_once(": ");
            let is_query =
                |query: &str| query.starts_with("SELECT ") || query.starts_with("{labelled}.");
            match entry.filter(|(_, query)| is_query(query)) {
                Some((name, query)) => {
                    let query = yaml_query(&self.line(query)?);
                    Some(format!("{}:{query}\n", self.line(name)?))
                }
                None => Some(self.line(line)? + "\n"),
            }
        });
        lines.collect()
    }

    /// Replaces the names in a line with their values. `None` if one of the names has no value.
    fn line(&self, line: &str) -> Option<String> {
        let mut parts = line.split('{');
        let mut out = parts.next()?.to_owned();
        for part in parts {
            let is_name = |name: &str| name.chars().all(|c| c == '_' || c.is_alphanumeric());
            match part.split_once('}').filter(|(name, _)| is_name(name)) {
                Some((name, rest)) => {
                    let (_, value) = self.0.iter().find(|(other, _)| *other == name)?;
                    out += value;
                    out += rest;
                }
                None => out.extend(["{", part]),
            }
        }
        Some(out)
    }
}

/// Returns the text of the pipeline, and notes about its metric and split for the author.
pub fn pipeline(
    id: &str,
    bundle: &BundleContent,
    guess: &Guess,
    metric: Option<&str>,
) -> Result<(String, Vec<String>), DraftError> {
    let (template, mut values, category) = match &guess.split {
        SplitGuess::Rows(rows) => {
            let mut writer = RowsWriter {
                rows,
                table: rows.table,
                taken: ["train", "test", "classes"].map(str::to_owned).to_vec(),
                positive: None,
                values: TemplateValues::default(),
            };
            writer.add_all(bundle, guess.sample, metric)?;
            (include_str!("rows.yaml"), writer.values, "Tabular")
        }
        SplitGuess::Files(files) => {
            let values = files_values(bundle, *files, guess.label.as_deref(), metric)?;
            (include_str!("files.yaml"), values, "Other")
        }
    };
    let mut files = bundle.files.iter();
    let category = match files.any(|files| files.names.iter().any(|name| is_image_name(name))) {
        true => "Image Classification",
        false => category,
    };
    let md5 = bundle.md5.as_ref().map(|md5| format!(", md5: {md5}"));
    values.add("id", id);
    values.add("title", yaml(&title(id)));
    values.add("category", category);
    values.add("kaggle", yaml(id));
    values.add("md5", md5.unwrap_or_default());
    let is_note = |(name, _): &&(&str, String)| ["positive", "ungraded", "few_rows"].contains(name);
    let notes = values
        .0
        .iter()
        .filter(is_note)
        .map(|(_, note)| note.clone());
    Ok((values.fill(template), notes.collect()))
}

fn title(id: &str) -> String {
    let words = id.split(['-', '_']).filter(|word| !word.is_empty());
    let words = words.map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or(("", word));
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the declaration of a table with at most `columns` columns. Each line begins with `start`.
fn declaration(start: &str, name: &str, table: &BundleTable, columns: usize) -> String {
    let mut lines = vec![format!("{name}:"), format!("  read: {}", yaml(&table.path))];
    let keys = table.keys.iter();
    lines.extend(keys.map(|(key, value)| format!("  {key}: {}", yaml(value))));
    lines.push("  columns:".to_owned());
    let of_file = || table.columns.iter().filter(|one| one.member_of.is_none());
    let declared = of_file().take(columns);
    lines.extend(declared.map(|one| format!("    {}: {}", yaml(&one.name), one.declared)));
    if let Some(more @ 1..) = of_file().count().checked_sub(columns) {
        lines.push(format!(
            "    # further columns, which are part of `*`: {more}"
        ));
    }
    let lines = lines.into_iter();
    lines.map(|line| format!("{start}{line}\n")).collect()
}

/// Returns the declaration of a table of files. The line begins with `start`.
fn files_declaration(start: &str, name: &str, files: &FileGroup) -> String {
    let count = units::count(files.count as u64, "file");
    let pattern = yaml(&files.pattern);
    format!("{start}{name}: {{ files: {pattern} }} # {count}\n")
}

fn entry(name: &str, query: &str) -> String {
    format!("  {name}:{}\n", yaml_query(query))
}

/// Returns the clause that replaces columns of `*`, or an empty string if there are no `expressions`.
fn replacement(expressions: &[String]) -> String {
    match expressions {
        [] => String::new(),
        expressions => format!(" REPLACE ({})", expressions.join(", ")),
    }
}

/// Returns a named check, or an empty string if there are no assertions.
fn named_check(name: &str, assertions: &[String]) -> String {
    match assertions {
        [] => String::new(),
        [one] => entry(name, one),
        many => {
            let item = |one: &String| yaml_query(one).replace('\n', "\n  ");
            let items = many.iter().map(|one| format!("    -{}\n", item(one)));
            format!("  {name}:\n{}", items.collect::<String>())
        }
    }
}

struct RowsWriter<'a> {
    rows: &'a TargetTable<'a>,
    table: &'a BundleTable,
    taken: Vec<String>,
    /// The expression of the answers, if they are not the target itself: whether it is the positive label.
    positive: Option<String>,
    values: TemplateValues,
}

impl RowsWriter<'_> {
    fn add_all(
        &mut self,
        bundle: &BundleContent,
        sample: Option<&BundleTable>,
        metric: Option<&str>,
    ) -> Result<(), DraftError> {
        let (rows, table) = (self.rows, self.table);
        let labelled = self.name("labelled");
        self.add_rows(&labelled);
        self.add_files(&labelled);
        let others = self.others(bundle, sample);
        let values = &mut self.values;
        values.add_lines("others", &others);
        let is_birth = |name: &str| name.contains("birth") || name.contains("geburt");
        let is_other = |name: &&String| !rows.target.has(name) && !is_birth(&name.to_lowercase());
        let mut names = table.names().filter(is_other);
        let of_column = |name: &String| Some((name.clone(), dates(table, name)?));
        if let Some((column, (date, format))) = names.find_map(of_column) {
            values.add("date_column", yaml(&column));
            values.add("date", date);
            values.add("date_format", format);
        }
        values.add_some("repeated_id", rows.repeated_id());
        let group = rows.group.as_ref();
        values.add_if(group.is_none(), "ungrouped", "");
        let split = split::choose(rows);
        values.add_if(split.stratify.is_none(), "random", "");
        values.add_some("stratified", split.stratify.as_deref());
        let stratify = split.stratify.as_deref().map(yaml);
        let stratify = stratify.map(|name| format!(", stratify: {name}"));
        values.add("stratify", stratify.unwrap_or_default());
        values.add_test_size(split.rows, split.test_size);
        values.add("seed", split.seed.to_string());
        values.add_if(split.may_lack_label, "runs", MAY_REJECT);
        values.add_some("target_note", rows.target_note.as_ref());
        values.add_some("group", group);
        values.add_some("yaml_group", group.map(|group| yaml(group)));
        let key = check_column(&rows.id);
        let group = group.map(|group| check_column(group));
        let keys = rows.is_unique.then(|| key.clone()).into_iter().chain(group);
        let disjoint = keys.map(|key| format!("train.{key} and test.{key}"));
        let disjoint = named_check("disjoint", &disjoint.collect::<Vec<_>>());
        values.add_lines("disjoint", &disjoint);
        values.add_if(rows.is_unique, "unique", key);
        values.add("labelled", labelled);
        // The outputs of a Parquet table are Parquet, because CSV does not have all its types, such as times and lists.
        let is_parquet = table.path.to_ascii_lowercase().ends_with(".parquet");
        values.add("suffix", if is_parquet { "parquet" } else { "csv" });
        let is_class = self.add_grade(metric)?;
        self.add_columns(is_class);
        Ok(())
    }

    /// Returns a table name that is similar to `wanted`. No other table has this name.
    fn name(&mut self, wanted: &str) -> String {
        let name = table_name(wanted, &self.taken);
        self.taken.push(name.clone());
        name
    }

    fn add_rows(&mut self, labelled: &str) {
        let (rows, table) = (self.rows, self.table);
        let is_unlabelled = rows.missing == MissingTargets::Unlabelled;
        let computed = |is_new: bool| {
            let columns = table.columns.iter();
            let columns = columns.filter(|column| column.member_of.is_some() == is_new);
            let queries = columns.filter_map(|column| {
                let query = column.query.as_ref()?;
                Some(format!("{query} AS {}", sql_name(&column.name)))
            });
            queries.collect::<Vec<_>>()
        };
        let (members, decimals) = (computed(true), computed(false));
        let is_query = rows.is_numbered || is_unlabelled || members.len() + decimals.len() > 0;
        let read = match is_query {
            true => self.name("all_rows"),
            false => labelled.to_owned(),
        };
        let values = &mut self.values;
        values.add_if(table.is_whole, "rows", table.rows.to_string());
        values.add_if(!table.is_whole, "incomplete", "");
        values.add_lines("declaration", &declaration("  ", &read, table, MAX_COLUMNS));
        values.add_if(is_query, "read", read);
        values.add_if(rows.is_numbered, "numbered", "");
        values.add_if(is_unlabelled, "unlabelled", "");
        values.add_if(!decimals.is_empty(), "decimals", "");
        values.add("replace", replacement(&decimals));
        let number = rows
            .is_numbered
            .then(|| format!("_row AS {}", sql_name(&rows.id)));
        let new = number.into_iter().chain(members);
        values.add("new", new.map(|query| query + ", ").collect::<String>());
        let is_known = |name: &str| {
            let query = table.column(name).and_then(|column| column.query.clone());
            format!("{} IS NOT NULL", query.unwrap_or_else(|| sql_name(name)))
        };
        let targets = rows.target.columns().into_iter();
        let known = || format!(" WHERE {}", joined(targets.map(is_known), " AND "));
        values.add("known", is_unlabelled.then(known).unwrap_or_default());
    }

    fn add_files(&mut self, labelled: &str) {
        let rows = self.rows;
        let (mut tables, mut public, mut private) = (String::new(), String::new(), String::new());
        let (mut checks, mut each, mut gaps) = (String::new(), Vec::new(), String::new());
        let mut is_first = true;
        for joined in &rows.files {
            let (group, form) = (joined.files, &joined.form);
            let files = &self.name(&group.folder);
            tables += &files_declaration("  ", files, group);
            let (directories, _) = group.pattern.rsplit_once('/').unwrap_or_default();
            let directories = directories.to_lowercase();
            let holds_answers = ANSWER_WORDS.iter().any(|word| directories.contains(word));
            // If files of several directories have the same name, or if cells contain directories, the name of a file's
            // directory may be the file's label. Only the author can decide whether it is the label.
            let repeats =
                group.names.len() < group.count || (form.column == "file" && group.is_nested);
            if repeats {
                public += "  # CHOOSE: is the name of a file's directory its label?\n";
            }
            let is_own = is_first && files.starts_with("train") && !holds_answers;
            is_first &= !is_own;
            for part in ["train", "test"] {
                let directory = match is_own {
                    true => format!("{part}/"),
                    false => format!("{files}/{part}/"),
                };
                let entry = entry(&directory, &self.files_query(part, files, joined, repeats));
                if part == "train" || !holds_answers {
                    public += &entry;
                } else {
                    private += "  # CHOOSE: these files seem to be answers.\n";
                    private += &entry;
                }
            }
            let column = form.column;
            let name = self.file_name("", joined);
            match joined.missing {
                0 if name == sql_name(&joined.key) => {
                    let key = check_column(&joined.key);
                    each.push(format!("{labelled}.{key} in {files}.{column}"));
                }
                0 => {
                    let query = format!(
                        "SELECT {name} FROM {labelled} EXCEPT SELECT {column} FROM {files}"
                    );
                    checks += &entry(&format!("no file in {files}"), &query);
                }
                missing => {
                    let missing = units::count(missing as u64, "row");
                    gaps += &format!(
                        "  # CHOOSE: {missing} of {labelled} without a file in {files}: is that a mistake?\n"
                    );
                }
            }
        }
        let checks = checks + &named_check("each", &each) + &gaps;
        self.values.add_lines("row_files", &tables);
        self.values.add_lines("public_files", &public);
        self.values.add_lines("private_files", &private);
        self.values.add_lines("file_checks", &checks);
    }

    fn others(&mut self, bundle: &BundleContent, sample: Option<&BundleTable>) -> String {
        let rows = self.rows;
        let mut out = String::new();
        let tables = bundle.tables.iter();
        let others = tables.filter(|table| !ptr::eq(*table, rows.table));
        for table in others.take(MAX_LISTED) {
            let note = match sample.is_some_and(|sample| ptr::eq(sample, table)) {
                true => "the sample submission",
                false => "not used; remove the # to use it",
            };
            let declaration = declaration("  # ", &self.name(&table.stem()), table, MAX_LISTED);
            out = out + "  # " + note + ":\n" + &declaration;
        }
        let is_used = |files: &FileGroup| rows.files.iter().any(|own| ptr::eq(own.files, files));
        let files = bundle.files.iter().filter(|files| !is_used(files));
        for (number, files) in files.take(MAX_LISTED).enumerate() {
            if number == 0 {
                out += "  # CHOOSE: no column names these files, so they are not published:\n";
            }
            out += &files_declaration("  # ", &self.name(&files.folder), files);
        }
        out
    }

    /// Adds the columns of the outputs in `public` and `private`. If `is_class`, submissions contain classes instead of
    /// probabilities.
    fn add_columns(&mut self, is_class: bool) {
        let (rows, table, values) = (self.rows, self.table, &mut self.values);
        let targets = rows.target.columns();
        let answers = joined(targets.iter().map(|name| sql_name(name)), ", ");
        let (stripped, dropped) = without_members(table, &targets);
        let is_hidden = |name: &str| targets.contains(&name) || dropped.contains(&name);
        let hidden = targets.iter().chain(&dropped).map(|name| sql_name(name));
        let hidden = joined(hidden, ", ");
        for (name, with_answers) in [("train_casts", true), ("test_casts", false)] {
            let columns = table.columns.iter().filter(|column| column.as_text);
            let names = columns.map(|column| column.name.as_str());
            let names = names.filter(|name| with_answers || !is_hidden(name));
            let cast = |name: String| format!("CAST({name} AS VARCHAR) AS {name}");
            let casts = names.map(sql_name).map(cast);
            let stripped = stripped.iter().filter(|_| !with_answers).cloned();
            values.add(
                name,
                replacement(&casts.chain(stripped).collect::<Vec<_>>()),
            );
        }
        values.add_if(!stripped.is_empty(), "stripped", "");
        let (placeholders, answers) = match &rows.target {
            Target::Columns(names) => {
                let constant = |name: &String| {
                    let (value, is_text) = placeholder(table, name, is_class);
                    let value = if is_text { sql_text(&value) } else { value };
                    format!("{value} AS {}", sql_name(name))
                };
                let answers = self.positive.clone().unwrap_or(answers);
                (joined(names.iter().map(constant), ", "), answers)
            }
            Target::PerClass {
                column,
                classes,
                is_multi,
            } => {
                let function = if *is_multi { "multi_hot" } else { "one_hot" };
                values.add_if(*is_multi && !table.is_examined(), "some_labels", "");
                let lists = label_lists(table, column).filter(|_| *is_multi);
                let column = sql_name(column);
                let cell = match lists.map(|lists| lists.form) {
                    Some([from, to]) if from != to => {
                        format!("replace({column}, {}, {})", sql_text(from), sql_text(to))
                    }
                    _ => column.clone(),
                };
                let answers = format!("{function}({cell}, classes)");
                values.add("per_class", "");
                values.add("classes", yaml_list(classes));
                values.add_if(!is_multi, "class_column", column);
                #[allow(clippy::cast_precision_loss)] // a few classes
                let placeholder = match is_class {
                    true => 0.0,
                    false if *is_multi => 0.5,
                    false => 1.0 / classes.len() as f64,
                };
                let constant = |class: &String| format!("{placeholder} AS {}", sql_name(class));
                (joined(classes.iter().map(constant), ", "), answers)
            }
        };
        values.add("placeholders", placeholders);
        values.add("answers", answers);
        values.add("id_column", sql_name(&rows.id));
        // A table may have no columns except the identifier and the target.
        let has_others = table.names().any(|name| !is_hidden(name));
        values.add_if(has_others, "hidden", hidden);
        values.add_if(!has_others, "only_targets", "");
    }

    /// Returns the SQL expression for the name or path of a row's file. `before` is a qualifier of the row's columns, such as
    /// `t.`, or empty.
    fn file_name(&self, before: &str, files: &RowFiles<'_>) -> String {
        let (column, form) = (self.table.column(&files.key), &files.form);
        let is_text = column.is_some_and(|column| matches!(column.declared, "text" | "inferred"));
        let cell = format!("{before}{}", sql_name(&files.key));
        let cell = match form.removed.chars().count() {
            0 if is_text => cell,
            0 => format!("CAST({cell} AS VARCHAR)"),
            count => format!("substr({cell}, {})", count + 1),
        };
        let [before, after] = [&form.before, &form.after];
        let [before, after] =
            [before, after].map(|text| (!text.is_empty()).then(|| sql_text(text)));
        match before.is_some() || after.is_some() {
            true => {
                let parts = [before, Some(cell), after].into_iter().flatten();
                format!("concat({})", joined(parts, ", "))
            }
            false => cell,
        }
    }

    /// Returns the query that selects the files of `part` (`train` or `test`) from the table `files`. If files have the same
    /// name (`repeats`), the query also selects their paths.
    fn files_query(&self, part: &str, files: &str, joined: &RowFiles<'_>, repeats: bool) -> String {
        let column = joined.form.column;
        if joined.is_unique {
            let path = if repeats { ", f.path" } else { "" };
            let name = self.file_name("t.", joined);
            return format!(
                "SELECT f.file{path} FROM {part} t JOIN {files} f ON f.{column} = {name}"
            );
        }
        let path = if repeats { "f.path" } else { "f.name AS path" };
        let name = self.file_name("", joined);
        format!(
            "SELECT f.file, {path} FROM (SELECT DISTINCT {name} AS key FROM {part}) t JOIN {files} f ON f.{column} = t.key ORDER BY path"
        )
    }

    /// Adds the metric and the rules. Returns whether submissions contain classes instead of probabilities.
    fn add_grade(&mut self, wished: Option<&str>) -> Result<bool, DraftError> {
        let (rows, table, values) = (self.rows, self.table, &mut self.values);
        let (columns, arguments) = match &rows.target {
            Target::PerClass { classes, .. } => (classes, "{ list: classes }".to_owned()),
            Target::Columns(names) if names.len() == 1 => (names, yaml_list(names)),
            Target::Columns(names) => (names, format!("[{}]", yaml_list(names))),
        };
        let kinds = columns.iter().map(|name| target_kind(table, name));
        let kinds: Vec<TargetKind> = kinds.collect();
        let is_single = columns.len() == 1;
        let all = |wanted: &[TargetKind]| kinds.iter().all(|kind| wanted.contains(kind));
        let why = match &rows.target {
            Target::PerClass { is_multi: true, .. } => "a row has several labels: f1, roc_auc",
            Target::PerClass { .. } => "a submission has probabilities: log_loss, roc_auc",
            _ if all(&[Binary]) && is_single => {
                "the target has two values: roc_auc, log_loss, f1, accuracy"
            }
            _ if all(&[Binary]) => {
                "each target has two values: roc_auc, f1, brier, average_precision"
            }
            _ if all(&[Binary, Numbers]) => {
                "numbers are predicted: root_mean_squared_error, mean_absolute_error, root_mean_squared_log_error, pearson, spearman"
            }
            _ if all(&[Binary, Classes]) && !is_single => {
                "each target has a few values: balanced_accuracy, weighted_sum, for example of `accuracy`"
            }
            _ => CLASS_METRICS,
        };
        let (why, fitting) = why.split_once(": ").unwrap_or_default();
        let (usual, others) = fitting.split_once(", ").unwrap_or_default();
        // If a target is neither binary nor numeric, the usual metric compares classes.
        let mut is_class = match rows.target {
            Target::PerClass { is_multi, .. } => is_multi && wished.is_none(),
            Target::Columns(_) => !all(&[Binary, Numbers]),
        };
        let first = columns.first().map_or(String::new(), |first| yaml(first));
        let selected = [first.as_str(), &arguments];
        let name = wished.unwrap_or(usual);
        let cells = columns.first().and_then(|first| table.texts(first));
        let positive = cells.as_ref().and_then(|cells| PositiveLabel::of(cells));
        let positive = positive.filter(|_| is_single);
        let label = positive.as_ref().map(|label| label.positive);
        let metric = MetricDraft::new(name, selected, columns, label)?;
        // Some metrics compare numbers with two labels of any type.
        let is_number = is_class && positive.is_some();
        let predicts_label = metric.predicts_larger_label;
        let is_converted = positive.as_ref().is_some_and(|label| label.is_converted);
        // Such metrics accept converted answers.
        let fits = is_number && predicts_label && is_converted;
        let graded = wished.filter(|_| !fits);
        let mut misfit = graded.and_then(|_| misfit(rows, &metric, is_class && !is_number));
        is_class &= wished.is_none() || !is_number || misfit.is_some();
        if misfit.is_some() && self::misfit(rows, &metric, true).is_none() {
            (is_class, misfit) = (true, None);
        }
        values.add_metric(name, metric, misfit, (fitting, table.is_whole))?;
        // Participants understand 0 and 1 without an explanation.
        let label = positive.filter(|label| predicts_label && !is_class && label.positive != "1");
        if let (Some(label), [name]) = (label, columns.as_slice()) {
            let PositiveLabel {
                positive,
                other,
                is_converted,
            } = label;
            let example = is_label(name, other);
            let text = format!(
                "a higher prediction means that `{positive}` is more probable; to predict `{other}`, write `{example}` in the query of the answers"
            );
            values.add("positive", text);
            self.positive = is_converted.then(|| is_label(name, positive));
        }
        values.add_if(wished.is_none(), "why", why);
        values.add("other_metrics", others);
        let is_ungraded = !is_single && !prep_grade::takes_several_columns(name);
        let ungraded = || {
            format!(
                "`{name}` compares only the column {first}; to grade the other targets, use a metric of several columns, or `weighted_sum`"
            )
        };
        values.add_some("ungraded", is_ungraded.then(ungraded));
        // An empty cell is the answer of an empty mask, and not a missing answer.
        let (has_masks, listed) = (rows.missing == MissingTargets::Masks, yaml_list(columns));
        values.add_if(has_masks, "masks", listed.as_str());
        values.add("columns", format!("{}, {listed}", yaml(&rows.id)));
        values.add("key", yaml(&rows.id));
        Ok(is_class)
    }
}

/// Formats of dates, each with the places of year, month and day among the numbers of a date.
const DATE_FORMATS: [(&str, [usize; 3]); 5] = [
    ("%Y-%m-%d", [0, 1, 2]),
    ("%Y/%m/%d", [0, 1, 2]),
    ("%d.%m.%Y", [2, 1, 0]),
    ("%d/%m/%Y", [2, 1, 0]),
    ("%m/%d/%Y", [2, 0, 1]),
];

/// Returns the date at which the last tenth of the rows begins, and the key `format`. The key is empty if the dates need no
/// format. Returns `None` if the column does not contain dates.
pub(crate) fn dates(table: &BundleTable, name: &str) -> Option<(String, String)> {
    let texts: Vec<&str> = table.texts(name)?.into_iter().collect::<Option<_>>()?;
    DATE_FORMATS.iter().find_map(|(format, places)| {
        let dates = texts.iter().map(|text| date(text, format, *places));
        let mut dates: Vec<_> = dates.collect::<Option<_>>()?;
        dates.sort_unstable();
        let (_, date) = dates.get(dates.len() * 9 / 10)?;
        let key = (places != &[0, 1, 2]).then(|| format!(", format: '{format}'"));
        Some(((*date).to_owned(), key.unwrap_or_default()))
    })
}

/// Parses a date. Returns year, month and day, and the text of the date. Only a text that begins with the year may continue
/// with a time.
fn date<'t>(text: &'t str, format: &str, places: [usize; 3]) -> Option<([u16; 3], &'t str)> {
    let separator = format.chars().nth(2)?;
    let text = if places == [0, 1, 2] {
        text.get(..10)?
    } else {
        text
    };
    let parts: Option<Vec<u16>> = text
        .split(separator)
        .map(|part| part.parse().ok())
        .collect();
    let parts = parts.filter(|parts| parts.len() == 3)?;
    let [year, month, day] = places.map(|place| parts.get(place).copied().unwrap_or_default());
    let is_date = year >= 1000 && (1..=12).contains(&month) && (1..=31).contains(&day);
    is_date.then_some(([year, month, day], text))
}

/// Grades the sample submission of a draft. If the metric gives it no score, returns the reason.
fn misfit(rows: &TargetTable<'_>, metric: &MetricDraft, is_class: bool) -> Option<Misfit> {
    let placeholder = |name: &str| match rows.target {
        Target::Columns(_) => self::placeholder(rows.table, name, is_class).0,
        Target::PerClass { .. } if is_class => "0".to_owned(),
        Target::PerClass { .. } => "0.5".to_owned(),
    };
    let columns = rows
        .answers()?
        .into_iter()
        .map(|(name, answers)| TrialColumn {
            name,
            answers,
            placeholder: placeholder(name),
        });
    let has_masks = rows.missing == MissingTargets::Masks;
    trial::misfit(metric, &rows.id, &columns.collect::<Vec<_>>(), has_masks)
}

/// Finds the JSON columns whose objects contain targets. For each such column whose values are all objects, returns an item
/// of `SELECT * REPLACE (...)` that removes the targets from the objects. Returns separately the names of such columns that
/// also have other values.
fn without_members<'t>(table: &'t BundleTable, targets: &[&str]) -> (Vec<String>, Vec<&'t str>) {
    let mut columns: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for target in targets {
        let column = table.column(target);
        if let Some((of, path)) = column.and_then(|column| column.member_of.as_ref()) {
            columns.entry(of).or_default().push(sql_text(path));
        }
    }
    let has_objects = |name: &&str| {
        let mut texts = table.texts(name).into_iter().flatten().flatten();
        texts.all(|text| text.trim_start().starts_with('{'))
    };
    let (objects, others): (Vec<&str>, Vec<&str>) = columns.keys().copied().partition(has_objects);
    let strip = |name: &str| {
        let keys = joined(columns.get(name).into_iter().flatten().cloned(), ", ");
        let name = sql_name(name);
        format!("json_without({name}, {keys}) AS {name}")
    };
    (objects.into_iter().map(strip).collect(), others)
}

/// Returns the value that fills a column of the sample submission, and whether it is a text. For a binary column, the value
/// is the probability 0.5. If `is_class` is true, it is one of the column's values instead.
fn placeholder(table: &BundleTable, name: &str, is_class: bool) -> (String, bool) {
    let is_short = |text: &&str| {
        text.chars().count() <= MAX_PLACEHOLDER && !text.chars().any(char::is_control)
    };
    let first = || table.texts(name)?.into_iter().flatten().find(is_short);
    let is = |kind| table.column(name).is_some_and(|column| column.kind == kind);
    let (value, is_text) = match target_kind(table, name) {
        Binary | Classes if !is_class => ("0.5", false),
        Binary => (first().unwrap_or("0"), false),
        Numbers => ("0.0", false),
        _ if is(ColumnType::Int64) => (first().unwrap_or("0"), false),
        _ if is(ColumnType::Float64) => ("0.0", false),
        _ => (first().unwrap_or("unknown"), true),
    };
    (value.to_owned(), is_text)
}

/// The two labels of a column.
struct PositiveLabel<'t> {
    /// The label whose probability is predicted: a usual word such as `yes`, or the larger of two numbers, or otherwise the
    /// rarer label.
    positive: &'t str,
    other: &'t str,
    /// Whether the query of the answers must compare with the positive label, because it is not the larger of two numbers
    /// or booleans.
    is_converted: bool,
}

/// Returns the SQL expression that states for each cell of a column whether it contains `label`.
fn is_label(name: &str, label: &str) -> String {
    let name = sql_name(name);
    format!("{name} = {} AS {name}", sql_text(label))
}

/// If a column contains two texts, returns the SQL expression that states for each cell whether it contains the positive one,
/// for example `churn = 'ja' AS churn`.
pub fn label_as_boolean(name: &str, cells: &[Option<&str>]) -> Option<String> {
    let label = PositiveLabel::of(cells).filter(|label| label.positive.parse::<f64>().is_err())?;
    Some(is_label(name, label.positive))
}

impl<'t> PositiveLabel<'t> {
    /// Returns `None` if the cells do not contain exactly two labels, or if a label contains control characters.
    fn of(cells: &[Option<&'t str>]) -> Option<PositiveLabel<'t>> {
        let labels: BTreeSet<&str> = cells.iter().copied().flatten().collect();
        let [one, two] = Vec::from_iter(labels).try_into().ok()?;
        let number = |label: &str| label.parse().unwrap_or(f64::INFINITY);
        let is_word = |label: &str| POSITIVE_WORDS.contains(&label.to_lowercase().as_str());
        let count = |label| cells.iter().filter(|cell| **cell == Some(label)).count();
        let order = is_word(one).cmp(&is_word(two));
        let order = order.then_with(|| number(one).total_cmp(&number(two)));
        let (positive, other) = match order.then_with(|| count(two).cmp(&count(one))) {
            Ordering::Greater => (one, two),
            _ => (two, one),
        };
        let is_larger = number(positive).is_finite() && number(positive) > number(other);
        let is_true = positive.eq_ignore_ascii_case("true") && other.eq_ignore_ascii_case("false");
        let is_plain = ![one, two].concat().contains(char::is_control);
        is_plain.then_some(PositiveLabel {
            positive,
            other,
            is_converted: !is_larger && !is_true,
        })
    }
}

fn check_column(name: &str) -> String {
    match name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => format!("\"{name}\""),
    }
}

/// Returns the template values for a pipeline that splits files. `label` is the author's choice of the label, a column of
/// the table of files. `files` is the group to split, or `None` for all files.
fn files_values(
    bundle: &BundleContent,
    files: Option<&FileGroup>,
    label: Option<&str>,
    metric: Option<&str>,
) -> Result<TemplateValues, DraftError> {
    let mut values = TemplateValues::default();
    let is_other = |other: &&FileGroup| files.is_none_or(|files| !ptr::eq(*other, files));
    let others = bundle.files.iter().filter(is_other).take(MAX_LISTED);
    let others =
        others.map(|other| files_declaration("  # ", &table_name(&other.folder, &[]), other));
    values.add_lines("others", &others.collect::<String>());
    values.add_if(files.is_none(), "all_files", "");
    values.add_some("pattern", files.map(|files| yaml(&files.pattern)));
    values.add_some(
        "count",
        files.map(|files| units::count(files.count as u64, "file")),
    );
    let is_chosen = label.is_some();
    // If the author chose no label, and the files are in several directories, the name of a file's directory is its label.
    let (label, note) = match (label, files.is_some_and(|files| files.is_nested)) {
        (Some("folder"), _) | (None, true) => ("folder", "the directory of the file"),
        (Some(label), _) => (label, "a part of the file's path"),
        (None, false) => ("CAST(size AS VARCHAR)", "a placeholder"),
    };
    let is_stratified = label == "folder" && files.is_some_and(split::can_stratify);
    let stratify = is_stratified.then(|| format!(", stratify: {label}"));
    values.add("stratify", stratify.unwrap_or_default());
    values.add("label", label);
    values.add_if(!is_chosen, "note", note);
    values.add_test_size(files.map_or(bundle.files.len(), |files| files.count), 0.1);
    let name = metric.unwrap_or("accuracy");
    let draft = MetricDraft::new(name, ["label"; 2], &["label".to_owned()], None)?;
    let paths = files
        .filter(|_| label == "folder")
        .map(|files| files.paths.iter());
    let answers = match paths.and_then(Iterator::min) {
        Some(path) => [path_part(path, "folder"), "other"],
        None if label.starts_with("CAST") => ["1", "2"],
        None => ["a", "b"],
    };
    let labels = TrialColumn {
        name: "label",
        answers: answers.map(str::to_owned).to_vec(),
        placeholder: answers[0].to_owned(),
    };
    let misfit = metric.and_then(|_| trial::misfit(&draft, "path", &[labels], false));
    let (_, fitting) = CLASS_METRICS.split_once(": ").unwrap_or_default();
    values.add_metric(name, draft, misfit, (fitting, true))?;
    let others = fitting.split_once(", ").map_or("", |(_, others)| others);
    values.add_if(metric.is_none(), "other_metrics", others);
    values.add_if(!is_chosen, "no_table", "");
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_lines_without_a_value_are_omitted() {
        let mut values = TemplateValues::default();
        values.add("a", "{b}");
        values.add("b", "x: y");
        let text = values.fill("k: { k: {a} }\n{c}\nd: {c}\n  q: SELECT {b}\n\n# {b}\n");
        assert_eq!(text, "k: { k: {b} }\n  q: |\n    SELECT x: y\n\n# x: y\n");
    }
}
