//! The pipeline as text, with comments where somebody has to choose.

use std::fmt::Write as _;
use std::ptr;

use prep_core::units;
use prep_formats::image::is_image_name;
use prep_formats::pandas::ColumnType;

use super::bundle::{self, BundleContent, CsvFile, FileGroup};
use super::columns::MissingTargets;
use super::guess::{
    Guess, Match, RowFiles, SplitGuess, Target, TargetTable, Values, texts, values,
};
use super::words::{sql_name, sql_text, table_name, yaml, yaml_query};

/// Maximum number of columns of a table that the draft declares.
const MAX_COLUMNS: usize = 80;
/// Maximum number of other tables, of their columns, and of groups of files that the draft lists.
const MAX_LISTED: usize = 20;

/// Files that belong to rows.
struct Join {
    table: String,
    /// The column of the files that identifies a row: `name` or `stem`.
    column: &'static str,
    repeats: bool,
    /// Rows without a file, of those that are known.
    missing: usize,
    /// Whether the files are answers.
    holds_answers: bool,
}

/// A pipeline for the bundle of `id`.
pub fn pipeline(id: &str, bundle: &BundleContent, guess: &Guess, metric: Option<&str>) -> String {
    let category = match (
        &guess.split,
        bundle
            .files
            .iter()
            .any(|files| is_image_name(&files.pattern)),
    ) {
        (_, true) => "Image Classification",
        (SplitGuess::Rows(_), false) => "Tabular",
        (SplitGuess::Files(_), false) => "Other",
    };
    let md5 = bundle
        .md5
        .as_ref()
        .map_or(String::new(), |md5| format!(", md5: {md5}"));
    let mut out = format!(
        "# A first pipeline for this bundle, written by `prep pipeline new`. It loads and runs. The split and the label are guesses.\n\
         # Lines with CHOOSE need a decision. `prep plan {id} --pipelines DIR` finds mistakes, with their place in this file.\n\
         name: {}\n\
         category: {category} # CHOOSE\n\
         bundle: {{ kaggle: {}{md5} }}\n",
        yaml(&title(id)),
        yaml(id),
    );
    match &guess.split {
        SplitGuess::Rows(rows) => {
            let out = &mut out;
            RowsWriter { out, bundle, rows }.write(guess.sample, metric);
        }
        SplitGuess::Files(files) => by_files(&mut out, bundle, *files, metric),
    }
    out
}

fn title(id: &str) -> String {
    let words = id.split(['-', '_']).filter(|word| !word.is_empty());
    let words = words.map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The type of a column in the language, as pandas reads it. If the table was not read to its end, a later row may have
/// another type, so the type is `inferred`.
fn kind(table: &CsvFile, column: &prep_formats::pandas::ColumnSchema) -> &'static str {
    let declared = table.declared.as_ref();
    if let Some(kind) = declared.and_then(|declared| declared.kinds.get(&column.name)) {
        return kind;
    }
    match column.kind {
        // No later row can change the type of a text column.
        ColumnType::Text => "text",
        _ if !table.whole => "inferred",
        ColumnType::Int64 => "integer",
        ColumnType::Float64 => "number",
        ColumnType::Bool if !column.nullable => "boolean",
        _ => "inferred",
    }
}

/// A table's declaration. Lines begin with `start`.
fn declaration(out: &mut String, start: &str, name: &str, table: &CsvFile, columns: usize) {
    let _ = writeln!(out, "{start}{name}:\n{start}  read: {}", yaml(&table.path));
    if table.delimiter != bundle::usual_delimiter(&table.path) {
        let delimiter = match table.delimiter {
            b'\t' => "tab".to_owned(),
            other => yaml(&char::from(other).to_string()),
        };
        let _ = writeln!(out, "{start}  delimiter: {delimiter}");
    }
    if table.is_latin1 {
        let _ = writeln!(out, "{start}  encoding: latin-1");
    }
    if let Some(declared) = &table.declared {
        if declared.is_lines {
            let _ = writeln!(out, "{start}  format: json_lines");
        }
        if let Some(at) = &declared.at {
            let _ = writeln!(out, "{start}  at: {}", yaml(at));
        }
    }
    let _ = writeln!(out, "{start}  columns:");
    for column in table.columns.iter().take(columns) {
        let _ = writeln!(
            out,
            "{start}    {}: {}",
            yaml(&column.name),
            kind(table, column)
        );
    }
    if table.columns.len() > columns {
        let more = table.columns.len() - columns;
        let _ = writeln!(out, "{start}    # and {more} more, which are part of `*`");
    }
}

/// Writes a pipeline that splits the rows of a table.
struct RowsWriter<'a> {
    out: &'a mut String,
    bundle: &'a BundleContent,
    rows: &'a TargetTable<'a>,
}

impl RowsWriter<'_> {
    /// Writes everything after the section `bundle`. `sample` is the sample submission among the tables.
    fn write(&mut self, sample: Option<&CsvFile>, metric: Option<&str>) {
        let (rows, table) = (self.rows, self.rows.table);
        let mut taken = vec!["train".to_owned(), "test".to_owned()];
        let labelled = table_name("labelled", &taken);
        taken.push(labelled.clone());
        let is_query = rows.numbered || rows.missing == MissingTargets::Unlabelled;
        let read = match is_query {
            true => table_name("all_rows", &taken),
            false => labelled.clone(),
        };
        taken.push(read.clone());
        let of = if table.whole {
            format!("{} rows", table.rows)
        } else {
            "types of the first rows".to_owned()
        };
        if let Target::OneHot { classes, .. } = &rows.target {
            let _ = write!(self.out, "\nlists:\n  classes: [{}]\n", yaml_list(classes));
        }
        let _ = write!(self.out, "\ntables:\n  # {of}\n");
        declaration(self.out, "  ", &read, table, MAX_COLUMNS);
        if is_query {
            self.labelled_rows(&labelled, &read);
        }
        let mut joins = Vec::new();
        for RowFiles {
            files,
            how,
            missing,
        } in &rows.files
        {
            let name = files_table(self.out, "  ", files, &mut taken);
            joins.push(Join {
                table: name,
                column: if *how == Match::Name { "name" } else { "stem" },
                // If several directories have a file with this name, the directory distinguishes them.
                repeats: files.names.len() < files.count,
                missing: *missing,
                holds_answers: holds_answers(&files.pattern),
            });
        }
        match &rows.group {
            Some(group) => {
                let _ = writeln!(
                    self.out,
                    "  # CHOOSE: rows with the same `{group}` stay in one part. Without `groups`, each row is drawn by itself.\n  \
                 train, test: {{ split: {labelled}, method: shuffle, groups: {}, test_size: 0.1, seed: 0 }}",
                    yaml(group)
                );
            }
            None => {
                let _ = writeln!(
                    self.out,
                    "  # CHOOSE how rows are split: `stratify: COLUMN` keeps the fractions of classes, `groups: COLUMN` keeps rows of one group\n  \
                 # (a patient, a site) together.\n  \
                 train, test: {{ split: {labelled}, method: shuffle, test_size: 0.1, seed: 0 }}"
                );
            }
        }
        self.further(sample, taken);
        self.outputs(&joins);
        self.checks(&labelled, &joins);
        self.grade(metric);
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn entry(&mut self, path: &str, query: &str) {
        let _ = writeln!(self.out, "  {path}:{}", yaml_query(query, 2));
    }

    /// Returns whether queries read the id as a text.
    fn has_text_id(&self) -> bool {
        let table = self.rows.table;
        let column = table.column(&self.rows.id);
        column.is_some_and(|column| matches!(kind(table, column), "text" | "inferred"))
    }

    /// Writes the id as a text, to compare it with names of files.
    fn text_id(&self, before: &str) -> String {
        let id = format!("{before}{}", sql_name(&self.rows.id));
        match self.has_text_id() {
            true => id,
            false => format!("CAST({id} AS VARCHAR)"),
        }
    }

    /// Returns the query for the files of a part.
    fn files_query(&self, join: &Join, part: &str) -> String {
        let (files, column) = (&join.table, join.column);
        if self.rows.unique {
            let path = if join.repeats { ", f.path" } else { "" };
            let id = self.text_id("t.");
            return format!(
                "SELECT f.file{path} FROM {part} t JOIN {files} f ON f.{column} = {id}"
            );
        }
        let path = if join.repeats {
            "f.path"
        } else {
            "f.name AS path"
        };
        let id = self.text_id("");
        format!(
            "SELECT f.file, {path} FROM (SELECT DISTINCT {id} AS key FROM {part}) t JOIN {files} f ON f.{column} = t.key ORDER BY path"
        )
    }

    /// Writes the query for the rows to split: numbered, or without those that have no target.
    fn labelled_rows(&mut self, name: &str, read: &str) {
        let rows = self.rows;
        let mut query = "SELECT * FROM ".to_owned();
        if rows.numbered {
            self.line("  # CHOOSE: no column identifies a row, so its number does.");
            query = format!("SELECT _row AS {}, * FROM ", sql_name(&rows.id));
        }
        query.push_str(read);
        if rows.missing == MissingTargets::Unlabelled {
            self.line("  # CHOOSE: rows without a label are left out.");
            let columns = rows.target.columns();
            let known = columns
                .iter()
                .map(|name| format!("{} IS NOT NULL", sql_name(name)));
            let known: Vec<String> = known.collect();
            let _ = write!(query, " WHERE {}", known.join(" AND "));
        }
        self.entry(name, &query);
    }

    /// Lists the remaining tables and files of the bundle as comments.
    fn further(&mut self, sample: Option<&CsvFile>, mut taken: Vec<String>) {
        let (bundle, rows) = (self.bundle, self.rows);
        let tables = bundle.tables.iter();
        let tables = tables.filter(|table| !ptr::eq(*table, rows.table));
        for table in tables.take(MAX_LISTED) {
            let name = table_name(&table.stem(), &taken);
            taken.push(name.clone());
            let note = match sample.is_some_and(|sample| ptr::eq(sample, table)) {
                true => "the sample submission",
                false => "also there; take the # away to use it",
            };
            let _ = writeln!(self.out, "  # {note}:");
            declaration(self.out, "  # ", &name, table, MAX_LISTED);
        }
        let used = |files: &FileGroup| rows.files.iter().any(|own| ptr::eq(own.files, files));
        let files = bundle.files.iter().filter(|files| !used(files));
        for files in files.take(MAX_LISTED) {
            files_table(self.out, "  # ", files, &mut taken);
        }
    }

    fn outputs(&mut self, joins: &[Join]) {
        let (rows, table) = (self.rows, self.rows.table);
        let id = sql_name(&rows.id);
        // The columns that agents must not see.
        let hidden = rows.target.columns();
        let excluded: Vec<String> = hidden.iter().map(|name| sql_name(name)).collect();
        self.out.push_str("\npublic:\n");
        // Parquet has types that CSV has not, such as times and lists.
        let suffix = match table.path.to_ascii_lowercase().ends_with(".parquet") {
            true => "parquet",
            false => "csv",
        };
        let test = format!("test.{suffix}");
        let written = as_text(table);
        self.entry(
            &format!("train.{suffix}"),
            &format!("SELECT *{} FROM train", replaced(&written)),
        );
        let written: Vec<&String> = written
            .into_iter()
            .filter(|name| !rows.target.has(name))
            .collect();
        // A table may be nothing but identifier and target.
        match table.columns.len() > hidden.len() {
            true => self.entry(
                &test,
                &format!(
                    "SELECT * EXCLUDE ({}){} FROM test",
                    excluded.join(", "),
                    replaced(&written)
                ),
            ),
            false => self.entry(&test, &format!("SELECT {id} FROM test")),
        }
        let constants: Vec<String> = match &rows.target {
            Target::Columns(names) => names
                .iter()
                .map(|name| format!("{} AS {}", constant(table, name), sql_name(name)))
                .collect(),
            Target::OneHot { classes, .. } => {
                #[allow(clippy::cast_precision_loss)] // a few classes
                let share = 1.0 / classes.len() as f64;
                classes
                    .iter()
                    .map(|class| format!("{share} AS {}", sql_name(class)))
                    .collect()
            }
        };
        self.line("  # CHOOSE what a submission looks like; the values are placeholders.");
        self.entry(
            "sample_submission.csv",
            &format!("SELECT {id}, {} FROM test", constants.join(", ")),
        );
        let mut is_first = true;
        let mut hidden_files = Vec::new();
        for join in joins {
            let files = &join.table;
            if join.repeats {
                self.line("  # CHOOSE: is the name of a file's directory its label?");
            }
            let own = is_first && files.starts_with("train") && !join.holds_answers;
            is_first = is_first && !own;
            for part in ["train", "test"] {
                let folder = if own {
                    format!("{part}/")
                } else {
                    format!("{files}/{part}/")
                };
                let query = self.files_query(join, part);
                match part == "test" && join.holds_answers {
                    true => hidden_files.push((folder, query)),
                    false => self.entry(&folder, &query),
                }
            }
        }
        self.out.push_str("\nprivate:\n");
        match &rows.target {
            Target::Columns(_) => self.entry(
                "test.csv",
                &format!("SELECT {id}, {} FROM test", excluded.join(", ")),
            ),
            Target::OneHot { column, .. } => {
                self.entry(
                    "test.csv",
                    &format!(
                        "SELECT {id}, one_hot({}, classes) FROM test",
                        sql_name(column)
                    ),
                );
            }
        }
        for (folder, query) in hidden_files {
            self.line("  # CHOOSE: these files seem to be answers.");
            self.entry(&folder, &query);
        }
    }

    fn checks(&mut self, labelled: &str, joins: &[Join]) {
        let rows = self.rows;
        self.line("\n# Named checks, and queries that must return no row.\nchecks:");
        let key = check_column(&rows.id);
        let mut disjoint = Vec::new();
        if rows.unique {
            self.entry("unique", &format!("{labelled}.{key}"));
            disjoint.push(format!("train.{key} and test.{key}"));
        }
        if let Some(group) = &rows.group {
            let group = check_column(group);
            disjoint.push(format!("train.{group} and test.{group}"));
        }
        self.named_check("disjoint", &disjoint);
        if let Target::OneHot { column, .. } = &rows.target {
            let column = sql_name(column);
            self.entry(
                "unknown class",
                &format!("SELECT {column} FROM {labelled} WHERE {column} NOT IN classes"),
            );
        }
        self.entry(
            "nothing to predict",
            "SELECT 'empty' AS test WHERE (SELECT count(*) FROM test) = 0",
        );
        let complete = joins.iter().filter(|join| join.missing == 0);
        if self.has_text_id() {
            let each =
                complete.map(|join| format!("{labelled}.{key} in {}.{}", join.table, join.column));
            self.named_check("each", &each.collect::<Vec<_>>());
        } else {
            for Join {
                table: files,
                column,
                ..
            } in complete
            {
                let id = self.text_id("");
                let query =
                    format!("SELECT {id} FROM {labelled} EXCEPT SELECT {column} FROM {files}");
                self.entry(&format!("no file in {files}"), &query);
            }
        }
        for join in joins.iter().filter(|join| join.missing > 0) {
            let missing = units::count(join.missing as u64, "row");
            let files = &join.table;
            self.line(&format!(
                "  # CHOOSE: {missing} of {labelled} without a file in {files}: is that a mistake?"
            ));
        }
    }

    /// Writes a named check with one assertion, or a list of them.
    fn named_check(&mut self, name: &str, assertions: &[String]) {
        match assertions {
            [] => {}
            [one] => self.entry(name, one),
            many => {
                let _ = writeln!(self.out, "  {name}:");
                for one in many {
                    let _ = writeln!(self.out, "    - {one}");
                }
            }
        }
    }

    fn grade(&mut self, wished: Option<&str>) {
        let (rows, table) = (self.rows, self.rows.table);
        let (columns, arguments) = match &rows.target {
            Target::OneHot { classes, .. } => (classes, "{ list: classes }".to_owned()),
            Target::Columns(names) => match names.as_slice() {
                [one] => (names, yaml(one)),
                many => (names, format!("[{}]", yaml_list(many))),
            },
        };
        let kinds: Vec<Values> = columns.iter().map(|name| values(table, name)).collect();
        let all = |wanted: &[Values]| kinds.iter().all(|kind| wanted.contains(kind));
        let first = columns.first().map(|name| yaml(name)).unwrap_or_default();
        let (usual, usual_arguments, others) = match &rows.target {
            Target::OneHot { .. } => ("log_loss", &arguments, "roc_auc"),
            _ if all(&[Values::Binary]) => ("roc_auc", &arguments, "log_loss, f1, accuracy"),
            _ if all(&[Values::Binary, Values::Numbers]) => (
                "root_mean_squared_error",
                &arguments,
                "mean_absolute_error, root_mean_squared_log_error, pearson, spearman",
            ),
            _ => (
                "accuracy",
                &first,
                "f1, cohen_kappa, average_precision_at_k, mean_edit_distance",
            ),
        };
        let metric = match wished {
            Some(wished) => format!("{wished}: {arguments}"),
            None => format!("{usual}: {usual_arguments}"),
        };
        // An empty mask is an answer, and not a missing one.
        let filled = match rows.missing {
            MissingTargets::Masks => format!(
                "    - fill_missing: {{ columns: [{}], with: \"\", answers: true }}\n",
                yaml_list(columns)
            ),
            _ => String::new(),
        };
        let mut all = vec![rows.id.clone()];
        all.extend_from_slice(columns);
        let _ = write!(
            self.out,
            "\ngrade:\n  answers: private/test.csv\n  sample: public/sample_submission.csv\n  rules:\n    - columns: [{}]\n    - same_rows\n{filled}    - align: {}\n  \
         # CHOOSE: also {others}. All of them are in docs/reference/grading.md.\n  metric: {{ {metric} }}\n",
            yaml_list(&all),
            yaml(&rows.id),
        );
    }
}

/// Returns whether files are probably answers, such as masks of images.
fn holds_answers(pattern: &str) -> bool {
    let (directories, _) = pattern.rsplit_once('/').unwrap_or_default();
    let words = ["mask", "label", "annot", "truth", "target", "segmentation"];
    let directories = directories.to_lowercase();
    words.iter().any(|word| directories.contains(word))
}

/// Declares the table of a group of files; its name.
fn files_table(
    out: &mut String,
    before: &str,
    files: &FileGroup,
    taken: &mut Vec<String>,
) -> String {
    let name = table_name(&files.folder, taken);
    taken.push(name.clone());
    let _ = writeln!(
        out,
        "{before}{name}: {{ files: {} }} # {}",
        yaml(&files.pattern),
        units::count(files.count as u64, "file")
    );
    name
}

/// Columns that can be written only as text.
fn as_text(table: &CsvFile) -> Vec<&String> {
    let declared = table.declared.iter();
    declared.flat_map(|declared| &declared.as_text).collect()
}

/// The part of a query that converts columns to texts.
fn replaced(columns: &[&String]) -> String {
    if columns.is_empty() {
        return String::new();
    }
    let columns = columns.iter().map(|name| sql_name(name));
    let columns = columns.map(|name| format!("CAST({name} AS VARCHAR) AS {name}"));
    format!(" REPLACE ({})", columns.collect::<Vec<_>>().join(", "))
}

/// A placeholder of a column's type.
fn constant(table: &CsvFile, name: &str) -> String {
    let first = || {
        texts(&table.frame, name)?
            .into_iter()
            .flatten()
            .find(|text| text.chars().count() <= 40 && !text.chars().any(char::is_control))
    };
    match values(table, name) {
        Values::Binary => "0.5".to_owned(),
        Values::Numbers => "0.0".to_owned(),
        Values::Classes | Values::Other => match table.column(name).map(|column| column.kind) {
            Some(ColumnType::Int64) => first().unwrap_or_else(|| "0".to_owned()),
            Some(ColumnType::Float64) => "0.0".to_owned(),
            _ => sql_text(&first().unwrap_or_default()),
        },
    }
}

/// Writes a column in a named check.
fn check_column(name: &str) -> String {
    match name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => format!("\"{name}\""),
    }
}

/// Writes the items of a list.
fn yaml_list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| yaml(name)).collect();
    names.join(", ")
}

/// Writes a pipeline that splits files, because no table can be split. Their labels are the names of their directories, or
/// have to be added by the author.
fn by_files(
    out: &mut String,
    bundle: &BundleContent,
    files: Option<&FileGroup>,
    metric: Option<&str>,
) {
    let metric = metric.unwrap_or("accuracy");
    let pattern = files.map_or("**", |files| files.pattern.as_str());
    let count = files.map(|files| units::count(files.count as u64, "file"));
    let count = count.unwrap_or_else(|| "all files of the bundle".to_owned());
    let _ = write!(
        out,
        "\n# No table of the bundle has rows that could be split, so files are. Other tables are read by\n\
         # `{{ read: FILE, format: ... }}`, see docs/reference/language.md. CHOOSE what is to be predicted.\n\
         tables:\n  everything: {{ files: {} }} # {}\n  \
         train, test: {{ split: everything, method: shuffle, test_size: 0.1, seed: 0 }}\n",
        yaml(pattern),
        count
    );
    let is_other = |other: &FileGroup| files.is_none_or(|files| !ptr::eq(other, files));
    let others = bundle.files.iter().filter(|other| is_other(other));
    for other in others.take(MAX_LISTED) {
        files_table(out, "  # ", other, &mut Vec::new());
    }
    // If the files are in several directories, the directory is their label.
    let (label, note) = match files.is_some_and(|files| files.nested) {
        true => ("folder", "the label is the directory of the file"),
        false => ("CAST(size AS VARCHAR)", "the label is a placeholder"),
    };
    let named = |part: &str| {
        format!(
            "SELECT file, concat('{part}_', row_number() OVER (), ext) AS path, {label} AS label FROM {part}"
        )
    };
    let _ = write!(
        out,
        "  # New names, because the old ones may show the label.\n  train_files:{}\n  test_files:{}\n\
         \npublic:\n  train/: SELECT file, path FROM train_files\n  test/: SELECT file, path FROM test_files\n  \
         train.csv: SELECT path, label FROM train_files\n  \
         sample_submission.csv: SELECT path, 'label' AS label FROM test_files\n\
         \nprivate:\n  # CHOOSE: {note}.\n  test.csv: SELECT path, label FROM test_files\n\
         \n# Named checks, and queries that must return no row.\nchecks:\n  disjoint: train.file and test.file\n\
         \ngrade:\n  answers: private/test.csv\n  sample: public/sample_submission.csv\n  rules:\n    - columns: [path, label]\n    - same_rows\n    - align: path\n  \
         # CHOOSE: all metrics are in docs/reference/grading.md.\n  metric: {{ {metric}: label }}\n",
        yaml_query(&named("train"), 2),
        yaml_query(&named("test"), 2),
    );
}
