//! Guesses the table to split, the id of a row, and the target.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ptr;

use prep_formats::pandas::{ColumnType, Frame};

use super::bundle::{BundleContent, CsvFile, FileGroup, MAX_NAMES};
use super::columns::{self, MissingTargets, is_unique};

/// Maximum classes of one-hot answers.
const MAX_CLASSES: usize = 300;

/// Choices that the author has already made.
#[derive(Debug, Clone, Default)]
pub struct DraftChoices {
    /// The column that identifies a row.
    pub id: Option<String>,
    /// The columns to predict.
    pub targets: Vec<String>,
    /// The metric.
    pub metric: Option<String>,
}

/// The input of a draft.
pub struct Guess<'b> {
    pub split: SplitGuess<'b>,
    /// The sample submission among the tables.
    pub sample: Option<&'b CsvFile>,
    pub notes: Vec<String>,
}

/// The data that a draft splits: the rows of a table, or files.
pub enum SplitGuess<'b> {
    /// A table's rows.
    Rows(TargetTable<'b>),
    /// At least two files of one pattern. `None` for all files of the bundle.
    Files(Option<&'b FileGroup>),
}

/// A table with a target.
pub struct TargetTable<'b> {
    pub table: &'b CsvFile,
    pub id: String,
    /// Whether ids are unique.
    pub unique: bool,
    /// Whether the id is the number of the row, because no column identifies it.
    pub numbered: bool,
    pub target: Target,
    /// The column whose rows stay in one part.
    pub group: Option<String>,
    pub missing: MissingTargets,
    /// Files that belong to rows.
    pub files: Vec<RowFiles<'b>>,
}

/// Files that belong to rows.
pub struct RowFiles<'b> {
    pub files: &'b FileGroup,
    /// The part of a file's name that is the id.
    pub how: Match,
    /// Number of known rows without a file.
    pub missing: usize,
}

/// The target.
pub enum Target {
    /// Columns.
    Columns(Vec<String>),
    /// One column. The submission has a column for each of its values.
    OneHot {
        column: String,
        classes: Vec<String>,
    },
}

impl Target {
    /// The columns of the table that are predicted.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Target::Columns(names) => names.iter().map(String::as_str).collect(),
            Target::OneHot { column, .. } => vec![column],
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.columns().contains(&name)
    }
}

/// The part of a file's name that is the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Name,
    Stem,
}

/// Guesses what the choices leave open.
///
/// # Errors
/// The names of columns, if no table has them.
pub fn guess<'b>(
    bundle: &'b BundleContent,
    choices: &DraftChoices,
) -> Result<Guess<'b>, Vec<String>> {
    let mut notes = Vec::new();
    let is_sample =
        |table: &CsvFile| table.stem().contains("sample") || table.stem().contains("submission");
    let sample = bundle.tables.iter().find(|table| is_sample(table));
    let is_test =
        |table: &CsvFile| table.stem().starts_with("test") || table.stem().ends_with("test");
    // The most likely table first: by name, then by size.
    let mut tables: Vec<&CsvFile> = bundle.tables.iter().collect();
    tables.retain(|table| {
        let is_sample = sample.is_some_and(|sample| ptr::eq(sample, *table));
        !is_sample && !is_test(table) && table.rows > 1 && is_plain(table)
    });
    tables.sort_by_key(|table| {
        let named = table.stem().contains("train") || table.stem().contains("label");
        (!named, Reverse(table.rows))
    });
    let wished: Vec<&String> = choices.id.iter().chain(&choices.targets).collect();
    if !wished.is_empty() {
        tables.retain(|table| wished.iter().all(|name| table.has(name)));
        if tables.is_empty() {
            return Err(wished.into_iter().cloned().collect());
        }
    }
    let test = bundle.tables.iter().find(|table| is_test(table));
    let mut candidates = tables.iter().copied();
    let rows = sample.and_then(|sample| {
        notes.push(format!("sample submission: {}", sample.path));
        candidates.find_map(|table| by_sample(table, sample, test))
    });
    let rows = rows.or_else(|| {
        let mut candidates = tables.iter().copied();
        let found = candidates.find_map(|table| by_test(table, test?));
        if found.is_some() {
            notes.push("what is to be predicted is what the test table lacks".to_owned());
        }
        found
    });
    let rows = rows.or_else(|| {
        let table = *tables.first()?;
        if choices.id.is_none() || choices.targets.is_empty() {
            notes.push("no table has the columns of a sample submission: identifier and target are by their place".to_owned());
        }
        by_place(table)
    });
    let split = match rows {
        Some(rows) => {
            let mut rows = rows.with(choices);
            rows.note(&mut notes);
            rows.files = matching(bundle, rows.table, &rows.id);
            SplitGuess::Rows(rows)
        }
        None => {
            notes.push("no table to split: files are split instead".to_owned());
            by_files(bundle)
        }
    };
    Ok(Guess {
        split,
        sample,
        notes,
    })
}

impl<'b> TargetTable<'b> {
    /// Replaces guesses by choices.
    fn with(self, choices: &DraftChoices) -> TargetTable<'b> {
        let table = self.table;
        let target = match choices.targets.is_empty() {
            true => self.target,
            false => Target::Columns(choices.targets.clone()),
        };
        let id = match &choices.id {
            Some(id) => Some(id.clone()),
            None if self.numbered || target.has(&self.id) => {
                let names = table.columns.iter().map(|column| &column.name);
                columns::identifier(table, names.filter(|name| !target.has(name))).cloned()
            }
            None => Some(self.id),
        };
        let numbered = id.is_none();
        let id = id.unwrap_or_else(|| row_number(table));
        // The id cannot be predicted.
        let target = match target {
            Target::Columns(names) if names.contains(&id) && choices.targets.is_empty() => {
                let other = columns::target(table, Some(&id));
                Target::Columns(other.into_iter().cloned().collect())
            }
            other => other,
        };
        let unique = numbered || is_unique(table, &id);
        // Rows with the same id belong together.
        let group = match unique {
            true => columns::group(table, &id, &target),
            false => Some(id.clone()),
        };
        TargetTable {
            unique,
            numbered,
            group,
            missing: columns::missing_targets(table, &target),
            id,
            target,
            ..self
        }
    }

    /// Adds the reasons for the author.
    fn note(&self, notes: &mut Vec<String>) {
        let table = self.table;
        let list = |names: &[&str]| {
            let names = names.iter().map(|name| format!("`{name}`"));
            names.collect::<Vec<_>>().join(", ")
        };
        let id = match self.numbered {
            true => "their number, because no column is unique".to_owned(),
            false => format!("`{}`", self.id),
        };
        let targets = list(&self.target.columns());
        notes.push(format!(
            "rows: {}, identified by {id}, to predict {targets}",
            table.path
        ));
        if table.is_latin1 {
            let path = &table.path;
            notes.push(format!(
                "{path} is not UTF-8, so it is read as Latin-1: check its texts"
            ));
        }
        if let Some(group) = &self.group {
            notes.push(format!("rows with the same `{group}` stay in one part"));
        }
        if self.missing == MissingTargets::Unlabelled {
            notes.push(format!("rows without {targets} are left out"));
        }
    }
}

/// Returns whether its columns can be named in a pipeline.
fn is_plain(table: &CsvFile) -> bool {
    let mut seen = BTreeSet::new();
    let names = table.columns.iter().map(|column| column.name.as_str());
    names.clone().all(|name| {
        // Queries do not distinguish names that differ only in case, and `_row` is reserved.
        !name.is_empty()
            && name != "_row"
            && !name.chars().any(char::is_control)
            && seen.insert(name.to_lowercase())
    }) && table.columns.len() > 1
}

/// A submission has an id, which the test table has, too, and a target, which the test table does not have. Without a test table, the
/// id is the first column.
fn by_sample<'b>(
    table: &'b CsvFile,
    sample: &CsvFile,
    test: Option<&CsvFile>,
) -> Option<TargetTable<'b>> {
    let names = sample.columns.iter().map(|column| column.name.clone());
    let (mut known, mut targets): (Vec<String>, Vec<String>) =
        names.partition(|name| test.is_some_and(|test| test.has(name)));
    if known.is_empty() && !targets.is_empty() {
        known.push(targets.remove(0));
    }
    let id = known.first()?.clone();
    if targets.is_empty() || !table.has(&id) {
        return None;
    }
    let target = match targets.iter().all(|name| table.has(name)) {
        true => Target::Columns(targets),
        false => one_hot(table, &id, &targets)?,
    };
    Some(rows(table, Some(id), target))
}

/// Finds a column of texts whose values are the names of the sample's columns.
fn one_hot(table: &CsvFile, id: &str, targets: &[String]) -> Option<Target> {
    if targets.len() < 2 || targets.len() > MAX_CLASSES {
        return None;
    }
    let columns = table
        .frame
        .columns
        .iter()
        .filter(|column| column.name != id);
    let mut names = columns.map(|column| &column.name);
    let found = names.find(|name| {
        let values = texts(&table.frame, name).unwrap_or_default();
        let all = values
            .iter()
            .all(|value| value.as_ref().is_some_and(|value| targets.contains(value)));
        all && !values.is_empty() && values.iter().collect::<BTreeSet<_>>().len() > 1
    })?;
    Some(Target::OneHot {
        column: found.clone(),
        classes: targets.to_vec(),
    })
}

/// The target is the column that the test table does not have.
fn by_test<'b>(table: &'b CsvFile, test: &CsvFile) -> Option<TargetTable<'b>> {
    let names = table.columns.iter().map(|column| column.name.clone());
    let (known, targets): (Vec<String>, Vec<String>) = names.partition(|name| test.has(name));
    let id = columns::identifier(table, &known).cloned();
    let few = !targets.is_empty() && targets.len() <= 8 && known.len() >= targets.len();
    few.then(|| rows(table, id, Target::Columns(targets)))
}

/// The first column with different values is the id, the last other one is the target.
fn by_place(table: &CsvFile) -> Option<TargetTable<'_>> {
    let names = table.columns.iter().map(|column| &column.name);
    let id = columns::identifier(table, names);
    let target = columns::target(table, id.map(String::as_str))?;
    Some(rows(
        table,
        id.cloned(),
        Target::Columns(vec![target.clone()]),
    ))
}

/// A table whose other properties are found by [`TargetTable::with`]. Without an id, rows are numbered.
fn rows(table: &CsvFile, id: Option<String>, target: Target) -> TargetTable<'_> {
    TargetTable {
        table,
        unique: false,
        numbered: id.is_none(),
        id: id.unwrap_or_default(),
        target,
        group: None,
        missing: MissingTargets::None,
        files: Vec::new(),
    }
}

/// Returns a name for the number of a row.
fn row_number(table: &CsvFile) -> String {
    let mut name = "row_id".to_owned();
    let has = |name: &str| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.name.eq_ignore_ascii_case(name))
    };
    while has(&name) {
        name.push('_');
    }
    name
}

/// Returns a column's values as text. A missing value is `None`.
pub fn texts(frame: &Frame, name: &str) -> Option<Vec<Option<String>>> {
    let column = frame.column(name)?;
    Some((0..frame.rows).map(|row| column.text(row)).collect())
}

/// Finds files whose names are ids, the best match first.
fn matching<'b>(bundle: &'b BundleContent, table: &CsvFile, id: &str) -> Vec<RowFiles<'b>> {
    let values = texts(&table.frame, id).unwrap_or_default();
    let all: Vec<String> = values.into_iter().flatten().collect();
    let values = all.get(..2000).unwrap_or(&all);
    let found = |files: &FileGroup, how: Match, values: &[String]| {
        let stems: BTreeSet<&str> = match how {
            Match::Name => files.names.iter().map(String::as_str).collect(),
            Match::Stem => files.names.iter().map(|name| stem(name)).collect(),
        };
        values
            .iter()
            .filter(|value| stems.contains(value.as_str()))
            .count()
    };
    let matches = bundle.files.iter().filter_map(|files| {
        let mut ways = [Match::Name, Match::Stem].into_iter();
        let (how, count) = ways.find_map(|how| {
            let count = found(files, how, values);
            (count * 2 > values.len()).then_some((how, count))
        })?;
        // If there are more files than kept names, missing ones are unknown.
        let missing = match files.count > MAX_NAMES {
            true => 0,
            false => all.len() - found(files, how, &all),
        };
        let files = RowFiles {
            files,
            how,
            missing,
        };
        Some((count, files))
    });
    let mut groups: Vec<(usize, RowFiles)> = matches.collect();
    groups.sort_by_key(|(count, _)| Reverse(*count));
    groups.into_iter().map(|(_, files)| files).take(3).collect()
}

/// Returns a file's name without its last suffix, like `stem` in a query.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Finds the largest group of files, of training data if there is a separate directory for them.
fn by_files(bundle: &BundleContent) -> SplitGuess<'_> {
    // Single files of different kinds are split together.
    let groups = bundle.files.iter().filter(|files| files.count > 1);
    SplitGuess::Files(groups.min_by_key(|files| {
        let train = files.pattern.to_lowercase().contains("train");
        (!train, Reverse(files.count))
    }))
}

/// Kinds of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Two integers.
    Binary,
    /// A few integers, booleans or texts.
    Classes,
    /// Numbers without missing cells.
    Numbers,
    /// Anything else.
    Other,
}

/// Returns the kind of a column's values.
pub fn values(table: &CsvFile, name: &str) -> Values {
    let Some((column, texts)) = table.column(name).zip(texts(&table.frame, name)) else {
        return Values::Other;
    };
    let different: BTreeSet<String> = texts.into_iter().flatten().collect();
    // A column of integers with missing cells is one of decimals to pandas.
    let is_integral = |text: &String| text.parse::<f64>().is_ok_and(|value| value.fract() == 0.0);
    let kind = match column.kind {
        ColumnType::Float64 if column.nullable && different.iter().all(is_integral) => {
            ColumnType::Int64
        }
        kind => kind,
    };
    match kind {
        ColumnType::Int64 if different.len() == 2 => Values::Binary,
        ColumnType::Int64 if different.len() <= 20 => Values::Classes,
        ColumnType::Int64 | ColumnType::Float64 => Values::Numbers,
        ColumnType::Text | ColumnType::Bool => Values::Classes,
        _ => Values::Other,
    }
}
