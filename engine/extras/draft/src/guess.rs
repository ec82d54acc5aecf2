//! Guesses the table to split, the column that identifies a row (the id), and the column to predict (the target).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use prep_failure::units;
use prep_formats::json::{JsonValue, parse};
use prep_formats::pandas::ColumnType;
use prep_spec::{FILE_COLUMNS, joined};

use crate::bundle::{BundleContent, FileGroup};
use crate::files::{RowFiles, join_without_case, matching};
use crate::table::BundleTable;
use crate::write::dates;

/// Maximum number of classes in one-hot answers, which have a column for each class. Also the maximum number of labels in
/// a column of lists.
const MAX_CLASSES: usize = 300;
/// Maximum number of guessed targets. If the test table lacks more columns than this number, none of the lacking columns is
/// a target.
const MAX_LACKING: usize = 8;
/// A column with fewer different values than this is not treated as a column that names groups of rows.
const MIN_GROUPS: usize = 10;
/// If a column contains more different integers than this, they are not treated as classes.
const MAX_INTEGER_CLASSES: usize = 20;
/// A note lists at most this number of unused groups of files.
const MAX_UNUSED: usize = 4;
/// Names of columns that are usually predicted, the most likely first.
const USUAL_TARGETS: &str = "target label labels class outcome y survived diagnosis diagnose result ergebnis churn passed \
     bestanden species";
/// Names of columns that are rarely predicted.
const UNUSUAL_TARGETS: &str = "date datum day month year week hour time timestamp jahr monat woche zeit fold split index source \
     url comment comments remark remarks notes bemerkung bemerkungen kommentar";
/// Words in the names of columns that name groups of rows.
const GROUP_WORDS: &str =
    "patient subject participant person user customer speaker session group site family";

/// Choices that the author of the pipeline has already made.
#[derive(Debug, Clone, Default)]
pub struct DraftChoices {
    /// The column that identifies a row.
    pub id: Option<String>,
    /// The columns to predict.
    pub targets: Vec<String>,
    pub metric: Option<String>,
}

pub(crate) struct Guess<'b> {
    pub split: SplitGuess<'b>,
    /// The sample submission among the tables.
    pub sample: Option<&'b BundleTable>,
    /// The author's choice of the label, if it is a property of files, such as `folder`, and not a column of a table.
    pub label: Option<String>,
    pub notes: Vec<String>,
}

pub(crate) enum SplitGuess<'b> {
    Rows(TargetTable<'b>),
    /// The files of a group that contains at least two files. If `None`, all files of the bundle.
    Files(Option<&'b FileGroup>),
}

pub(crate) struct TargetTable<'b> {
    pub table: &'b BundleTable,
    /// The column that identifies a row, or a new column with the numbers of the rows.
    pub id: String,
    pub is_unique: bool,
    /// The author's choice of the id, if several rows have the same value.
    pub repeated: Option<String>,
    /// Whether the id is the number of the row, because no column identifies a row.
    pub is_numbered: bool,
    pub target: Target,
    /// The column that names groups of rows. All rows of a group belong to the same part, train or test.
    pub group: Option<String>,
    pub missing: MissingTargets,
    pub files: Vec<RowFiles<'b>>,
    /// A sentence about the target, if it is a guess.
    pub target_note: Option<String>,
}

pub(crate) enum Target {
    Columns(Vec<String>),
    /// One column of classes, or of lists of classes (`is_multi`). The submission has a column for each class.
    PerClass {
        column: String,
        classes: Vec<String>,
        is_multi: bool,
    },
}

impl Target {
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Target::Columns(names) => names.iter().map(String::as_str).collect(),
            Target::PerClass { column, .. } => vec![column],
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.columns().contains(&name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingTargets {
    /// All rows have a target.
    None,
    /// Rows without a target cannot be graded.
    Unlabelled,
    /// An empty target is an answer: the run-length code of an empty mask.
    Masks,
}

/// Guesses everything that the author has not chosen.
///
/// # Errors
/// Returns the names of the chosen columns if no table has all of them.
pub(crate) fn guess<'b>(
    bundle: &'b BundleContent,
    choices: &DraftChoices,
) -> Result<Guess<'b>, Vec<String>> {
    let mut notes = Vec::new();
    let find = |fits: &dyn Fn(&str) -> bool| bundle.tables.iter().find(|table| fits(&table.stem()));
    let sample = find(&|stem| stem.contains("sample") || stem.contains("submission"));
    let is_test = |stem: &str| stem.starts_with("test") || stem.ends_with("test");
    let test = find(&is_test);
    // Sort the tables by name and then by size, so that the most likely table is the first one.
    let mut tables: Vec<&BundleTable> = bundle.tables.iter().collect();
    tables.retain(|table| {
        let is_sample = sample.is_some_and(|sample| ptr::eq(sample, *table));
        !is_sample && !is_test(&table.stem()) && obstacle(table).is_none()
    });
    tables.sort_by_key(|table| {
        let named = table.stem().contains("train") || table.stem().contains("label");
        (!named, Reverse(table.rows))
    });
    if let Some(label) = file_label(bundle, choices) {
        notes.push(format!("files are split, and their `{label}` is predicted"));
        return Ok(Guess {
            split: by_files(bundle),
            sample,
            label: Some(label),
            notes,
        });
    }
    let chosen: Vec<&String> = choices.id.iter().chain(&choices.targets).collect();
    if !chosen.is_empty() {
        tables.retain(|table| chosen.iter().all(|name| table.has(name)));
        if tables.is_empty() {
            return Err(chosen.into_iter().cloned().collect());
        }
    }
    let candidates = || tables.iter().copied();
    let rows = sample.and_then(|sample| {
        notes.push(format!("sample submission: {}", sample.path));
        candidates().find_map(|table| by_sample(table, sample, test))
    });
    let rows = rows.or_else(|| {
        let found = candidates().find_map(|table| by_test(table, test?));
        let note = "the targets are the columns that the test table lacks";
        found.inspect(|_| notes.push(note.to_owned()))
    });
    let is_by_place = rows.is_none();
    let rows = rows.or_else(|| {
        let table = candidates().next()?;
        if chosen.is_empty() && is_lookup(bundle, table) {
            notes.push(format!(
                "{} is treated as a lookup table: most files are in directories of classes, and no column of the table contains names of files",
                table.path
            ));
            return None;
        }
        by_place(table)
    });
    let is_target_guessed = is_by_place && choices.targets.is_empty();
    let split = match rows {
        Some(rows) => {
            let mut rows = rows.with(choices);
            rows.target_note = is_target_guessed.then(|| target_note(&rows));
            // A cell of another column may name a file, too, but only if it is a text.
            let mut others: Vec<_> = rows.table.columns.iter().collect();
            others.retain(|one| one.kind == ColumnType::Text && !rows.target.has(&one.name));
            let others = others.into_iter().map(|column| &column.name);
            rows.files = matching(bundle, rows.table, [&rows.id].into_iter().chain(others));
            // Otherwise train and test would have the same file.
            let is_shared = |one: &&RowFiles| !one.is_unique && one.files.count >= MIN_GROUPS;
            let shared = rows.files.iter().find(is_shared);
            let shared = shared.map(|files| files.key.clone());
            rows.group = rows.group.or(shared);
            rows.note(&mut notes);
            SplitGuess::Rows(rows)
        }
        None => {
            notes.push("no table can be split, so files are split instead".to_owned());
            by_files(bundle)
        }
    };
    let mut unused: Vec<_> = bundle.files.iter().collect();
    unused.retain(|files| !split.uses(files));
    if let SplitGuess::Rows(TargetTable { table, .. }) = &split {
        unused.retain(|files| {
            let join = join_without_case(files, table);
            let note = join.as_ref().map(|join| {
                format!(
                    "the names of `{}` differ from {} only in upper and lower case, so these files are not published; to publish them, join them with `{join}`",
                    files.pattern, table.path
                )
            });
            notes.extend(note);
            join.is_none()
        });
    }
    let unused = unused.into_iter();
    let unused: Vec<String> = unused.map(|files| format!("`{}`", files.pattern)).collect();
    if !unused.is_empty() {
        let unused = joined(unused.into_iter(), MAX_UNUSED);
        let reason = match &split {
            SplitGuess::Rows(TargetTable { table, .. }) => {
                format!(
                    ", because no column of {} contains their names or paths",
                    table.path
                )
            }
            SplitGuess::Files(_) => String::new(),
        };
        notes.push(format!("files that are not published: {unused}{reason}"));
    }
    Ok(Guess {
        split,
        sample,
        label: None,
        notes,
    })
}

impl SplitGuess<'_> {
    /// Returns whether the draft publishes the files of a group.
    fn uses(&self, files: &FileGroup) -> bool {
        match self {
            SplitGuess::Rows(rows) => rows.files.iter().any(|own| ptr::eq(own.files, files)),
            SplitGuess::Files(own) => own.is_none_or(|own| ptr::eq(own, files)),
        }
    }
}

/// Returns the chosen target if it is a property of files, such as their directory, and no table has such a column.
fn file_label(bundle: &BundleContent, choices: &DraftChoices) -> Option<String> {
    let [target] = choices.targets.as_slice() else {
        return None;
    };
    let is_of_table = bundle.tables.iter().any(|table| table.has(target));
    let is_of_files = FILE_COLUMNS.contains(&target.as_str()) && target != "size";
    // A draft that splits files names their directories `label`.
    let label = match target.as_str() {
        "label" if !bundle.files.is_empty() => "folder",
        other if is_of_files => other,
        _ => return None,
    };
    (choices.id.is_none() && !is_of_table).then(|| label.to_owned())
}

/// Returns whether a table describes classes, not files. A table describes classes if none of its columns contains the names
/// of files, and if a group of files in subdirectories has more than twice as many files as the table has rows.
fn is_lookup(bundle: &BundleContent, table: &BundleTable) -> bool {
    let mut groups = bundle.files.iter();
    let has_classes = groups.any(|files| files.is_nested && files.count as u64 > 2 * table.rows);
    has_classes && matching(bundle, table, table.names()).is_empty()
}

impl<'b> TargetTable<'b> {
    /// Creates a guess. If `id` is `None`, row numbers are the ids. [`with`](Self::with) sets the other properties.
    fn new(table: &'b BundleTable, id: Option<String>, target: Target) -> TargetTable<'b> {
        TargetTable {
            table,
            is_unique: false,
            repeated: None,
            is_numbered: id.is_none(),
            id: id.unwrap_or_default(),
            target,
            group: None,
            missing: MissingTargets::None,
            files: Vec::new(),
            target_note: None,
        }
    }

    /// Replaces guesses with the author's choices, and sets the properties that depend on id and target.
    fn with(self, choices: &DraftChoices) -> TargetTable<'b> {
        let table = self.table;
        let target = match choices.targets.is_empty() {
            true => self.target,
            false => Target::Columns(choices.targets.clone()),
        };
        let is_repeated = |id: &&String| table.texts(id).is_some() && !is_unique(table, id);
        let repeated = choices.id.as_ref().filter(is_repeated);
        let id = match &choices.id {
            Some(id) if repeated.is_none() => Some(id.clone()),
            None if !self.is_numbered && !target.has(&self.id) => Some(self.id),
            _ => identifier(table, table.names().filter(|name| !target.has(name))).cloned(),
        };
        let is_numbered = id.is_none();
        let id = id.unwrap_or_else(|| row_number(table));
        // The id cannot be the target.
        let target = match target {
            Target::Columns(names) if names.contains(&id) && choices.targets.is_empty() => {
                let usual = usual_target(table, Some(&id)).into_iter();
                Target::Columns(usual.cloned().collect())
            }
            other => other,
        };
        let target = match target {
            Target::Columns(names) => several_labels(table, &id, names, choices.metric.as_deref()),
            other => other,
        };
        let is_unique = is_numbered || is_unique(table, &id);
        // If ids repeat, the rows with the same id are a group.
        let group = match is_unique {
            true => repeated.cloned().or_else(|| group(table, &id, &target)),
            false => Some(id.clone()),
        };
        TargetTable {
            repeated: repeated.cloned(),
            is_unique,
            is_numbered,
            group,
            missing: missing_targets(table, &target),
            id,
            target,
            ..self
        }
    }

    /// Returns the cells of a column in the rows that the draft keeps. A missing cell is empty. Returns `None` if the values of
    /// the table were not examined.
    pub fn cells(&self, name: &str) -> Option<Vec<String>> {
        let targets = self.target.columns().into_iter();
        let targets = targets.map(|name| self.table.texts(name));
        let targets: Vec<_> = targets.collect::<Option<_>>()?;
        let is_missing = |row: usize| targets.iter().any(|cells| cells.get(row) == Some(&None));
        let keeps_all = self.missing != MissingTargets::Unlabelled;
        let cells = self.table.texts(name)?.into_iter().enumerate();
        let cells = cells.filter(|(row, _)| keeps_all || !is_missing(*row));
        let cells = cells.map(|(_, cell)| cell.unwrap_or_default().to_owned());
        Some(cells.collect())
    }

    /// Returns the columns of the answers, with their cells.
    pub fn answers(&self) -> Option<Vec<(&str, Vec<String>)>> {
        let (column, classes, is_multi) = match &self.target {
            Target::Columns(names) => {
                let columns = names.iter();
                let columns = columns.map(|name| Some((name.as_str(), self.cells(name)?)));
                return columns.collect();
            }
            Target::PerClass {
                column,
                classes,
                is_multi,
            } => (column, classes, *is_multi),
        };
        let lists = label_lists(self.table, column);
        let [from, to] = lists.map_or([","; 2], |lists| lists.form);
        let labels = self.cells(column)?.into_iter().map(|cell| match is_multi {
            true => labels_of(&cell.replace(from, to)),
            false => vec![cell],
        });
        let labels: Vec<Vec<String>> = labels.collect();
        let columns = classes.iter().map(|class| {
            let has = labels.iter().map(|labels| labels.contains(class));
            let has = has.map(|has| u8::from(has).to_string());
            (class.as_str(), has.collect())
        });
        Some(columns.collect())
    }

    /// Returns a sentence about an id that does not identify a row.
    pub fn repeated_id(&self) -> Option<String> {
        let id = Some(&self.id).filter(|_| !self.is_unique);
        let name = self.repeated.as_ref().or(id)?;
        let values = self.table.texts(name)?;
        let different: BTreeSet<&Option<&str>> = values.iter().collect();
        (different.len() < values.len()).then(|| {
            let count = units::count(different.len() as u64, "value");
            let rows = units::count(values.len() as u64, "row");
            format!("`{name}` has {count} in {rows}, so it does not identify a row")
        })
    }

    fn note(&self, notes: &mut Vec<String>) {
        let path = &self.table.path;
        let id = match self.is_numbered {
            true => "their row numbers, because no column has unique values".to_owned(),
            false => format!("`{}`", self.id),
        };
        let targets = self.target.columns().into_iter();
        let targets: Vec<String> = targets.map(|name| format!("`{name}`")).collect();
        let targets = targets.join(", ");
        notes.push(format!(
            "the rows of {path} are split; they are identified by {id}, and the target is {targets}"
        ));
        let mut keys = self.table.keys.iter();
        if let Some((_, encoding)) = keys.find(|(key, _)| *key == "encoding") {
            notes.push(format!(
                "{path} is not UTF-8, so it is read as `{encoding}`: check its non-ASCII characters"
            ));
        }
        notes.extend(self.repeated_id());
        let is_index = |name: &&String| is_index_name(name) && is_unique(self.table, name);
        if let Some(name) = self.table.names().find(is_index) {
            notes.push(format!(
                "`{name}` is probably an index that pandas wrote; it must not reveal the target"
            ));
        }
        for files in self.files.iter().filter(|files| files.missing > 0) {
            let rows = units::count(files.missing as u64, "row");
            let pattern = &files.files.pattern;
            notes.push(format!(
                "{path} has {rows} without a file in `{pattern}`; the names must be equal, including upper and lower case"
            ));
        }
        notes.extend(self.target_note.clone());
        let is_constant = |name: &&str| self.table.different(name).map(|all| all.len()) == Some(1);
        let constant = self.target.columns().into_iter().find(is_constant);
        let note = |name| format!("`{name}` has the same value in all rows");
        notes.extend(constant.map(note));
        let mut columns = self.target.columns().into_iter();
        if columns.any(|name| label_lists(self.table, name).is_some()) {
            let consequence = match self.target {
                Target::PerClass { .. } => "so the answers have a column for each label",
                Target::Columns(_) => "and are compared as texts",
            };
            notes.push(format!(
                "the cells of {targets} are lists of labels, {consequence}"
            ));
        }
        if let Some(group) = &self.group {
            notes.push(format!(
                "rows with equal `{group}` stay in one part of the split"
            ));
        }
        let columns = self.table.columns.iter();
        let mut columns = columns.filter(|column| column.member_of.is_none());
        if let Some(query) = columns.find_map(|column| column.query.as_ref()) {
            notes.push(format!(
                "{path} has numbers with decimal commas; the pipeline converts them, for example `{query}`"
            ));
        }
        if self.missing == MissingTargets::Unlabelled {
            notes.push(format!("rows without {targets} are left out"));
        }
    }
}

/// Returns the reason why a draft cannot split a table, if there is one: it has too few columns, or a column that a pipeline
/// cannot name.
pub(crate) fn obstacle(table: &BundleTable) -> Option<String> {
    if table.rows < 2 || table.columns.len() < 2 {
        let rows = units::count(table.rows, "row");
        let columns = units::count(table.columns.len() as u64, "column");
        return Some(format!(
            "{rows} and {columns}; a split needs at least two of each"
        ));
    }
    let mut seen = BTreeSet::new();
    // Queries do not distinguish names that differ only in case, and `_row` is reserved.
    table.names().find_map(|name| {
        let problem = match name.as_str() {
            "" => "is empty",
            "_row" => "is reserved for the numbers of rows",
            name if name.chars().any(char::is_control) => "contains a control character",
            name if !seen.insert(name.to_lowercase()) => "occurs twice, ignoring case",
            _ => return None,
        };
        Some(format!(
            "a column `{}` whose name {problem}; rename it",
            name.escape_debug()
        ))
    })
}

/// Guesses the id and the targets from the columns of the sample submission:
///
/// - The id is the first column that the test table also has. If there is no such column, the id is the first column.
/// - The targets are the other columns that the test table does not have.
fn by_sample<'b>(
    table: &'b BundleTable,
    sample: &BundleTable,
    test: Option<&BundleTable>,
) -> Option<TargetTable<'b>> {
    let is_known = |name: &String| test.is_some_and(|test| test.has(name));
    let (mut known, mut targets): (Vec<String>, Vec<String>) =
        sample.names().cloned().partition(is_known);
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
    Some(TargetTable::new(table, Some(id), target))
}

/// Finds a column of strings whose values are names of the sample submission's columns.
fn one_hot(table: &BundleTable, id: &str, targets: &[String]) -> Option<Target> {
    if !(2..=MAX_CLASSES).contains(&targets.len()) {
        return None;
    }
    let targets_only = |column: &&String| {
        let values = table.texts(column).into_iter().flatten();
        let values: Option<BTreeSet<&str>> = values.collect();
        let is_target = |value: &&str| targets.iter().any(|target| target == value);
        values.is_some_and(|values| values.len() > 1 && values.iter().all(is_target))
    };
    let labels_only = |column: &&String| {
        let lists = label_lists(table, column);
        lists.is_some_and(|lists| lists.labels.iter().all(|label| targets.contains(label)))
    };
    let others = || table.names().filter(|name| *name != id);
    let column = others().find(targets_only);
    let is_multi = column.is_none();
    let column = column.or_else(|| others().find(labels_only))?;
    Some(Target::PerClass {
        column: column.clone(),
        classes: targets.to_vec(),
        is_multi,
    })
}

/// If the only target contains lists of labels, and if `metric` takes several columns, replaces the target with a
/// column for each label.
fn several_labels(
    table: &BundleTable,
    id: &str,
    names: Vec<String>,
    metric: Option<&str>,
) -> Target {
    if let [only] = names.as_slice()
        && metric.is_none_or(prep_grade::takes_several_columns)
        && let Some(LabelLists { labels, .. }) = label_lists(table, only)
    {
        // Queries do not distinguish names of columns that differ only in case.
        let columns = labels.iter().map(String::as_str).chain([id]);
        let columns: BTreeSet<String> = columns.map(str::to_lowercase).collect();
        if columns.len() == labels.len() + 1 {
            return Target::PerClass {
                column: names.concat(),
                classes: labels.into_iter().collect(),
                is_multi: true,
            };
        }
    }
    Target::Columns(names)
}

/// The replacements that convert lists of labels into lists that `multi_hot` reads: JSON lists, and strings separated by
/// commas. The first replacement changes nothing.
const LIST_FORMS: [[&str; 2]; 8] = [
    [",", ","],
    [", ", ","],
    ["|", ","],
    ["; ", ","],
    [";", ","],
    [" | ", ","],
    ["'", "\""],
    [" ", ","],
];

/// A column of lists of labels.
pub(crate) struct LabelLists {
    pub labels: BTreeSet<String>,
    /// The replacement that converts the column's lists, one of [`LIST_FORMS`].
    pub form: [&'static str; 2],
}

/// Returns the labels in a column of lists. Returns `None` for other columns.
pub(crate) fn label_lists(table: &BundleTable, name: &str) -> Option<LabelLists> {
    let cells: Vec<&str> = table.texts(name)?.into_iter().flatten().collect();
    LIST_FORMS.into_iter().find_map(|form| {
        let cells = cells.iter().map(|cell| cell.replace(form[0], form[1]));
        let cells: Vec<String> = cells.collect();
        let labels = labels_of_lists(&cells)?;
        // Words between spaces may also be a name such as `New York`, so each label must be the only word of a cell, too.
        let is_list = form[0] != " " || labels.iter().all(|label| cells.contains(label));
        is_list.then_some(LabelLists { labels, form })
    })
}

/// Returns the labels in JSON lists of strings, or in strings that are separated by commas. Returns `None` for other cells.
/// Strings with commas are lists only if they repeat a few labels in different combinations, because texts contain commas,
/// too.
fn labels_of_lists(cells: &[String]) -> Option<BTreeSet<String>> {
    let different: BTreeSet<&String> = cells.iter().collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for label in different.into_iter().flat_map(|cell| labels_of(cell)) {
        *counts.entry(label).or_default() += 1;
        if counts.len() > MAX_CLASSES {
            return None;
        }
    }
    let is_json = cells.iter().all(|cell| cell.starts_with('['));
    let is_label = |label: &String| {
        let is_word = label.trim() == label && label.parse::<f64>().is_err();
        !label.is_empty() && !label.starts_with(['[', '{']) && (is_json || is_word)
    };
    // The parts of a remark such as `ok, but late` occur only in this combination.
    let combined = counts.values().filter(|count| **count > 1).count();
    let repeats = counts.len() * 2 <= cells.len() && combined * 2 >= counts.len();
    let is_list = is_json || (repeats && cells.iter().any(|cell| cell.contains(',')));
    let fits = is_list && counts.len() > 1 && counts.keys().all(is_label);
    fits.then(|| counts.into_keys().collect())
}

/// Returns the strings of a JSON list, or the parts of a text between commas. An element of a JSON list that is not a
/// string becomes an empty string.
pub(crate) fn labels_of(cell: &str) -> Vec<String> {
    let text = |item: &JsonValue| match item {
        JsonValue::String(text) => text.as_str().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    match parse(cell.as_bytes()) {
        Ok(JsonValue::List(items)) => items.iter().map(text).collect(),
        _ => cell.split(',').map(str::to_owned).collect(),
    }
}

/// Guesses that the targets are the columns that the test table does not have.
fn by_test<'b>(table: &'b BundleTable, test: &BundleTable) -> Option<TargetTable<'b>> {
    let (known, targets): (Vec<String>, Vec<String>) =
        table.names().cloned().partition(|name| test.has(name));
    let id = identifier(table, &known).cloned();
    let few = (1..=MAX_LACKING.min(known.len())).contains(&targets.len());
    few.then(|| TargetTable::new(table, id, Target::Columns(targets)))
}

/// Guesses the id and the target of a table without looking at other tables. The id is the first column with unique values.
fn by_place(table: &BundleTable) -> Option<TargetTable<'_>> {
    let id = identifier(table, table.names());
    let target = usual_target(table, id.map(String::as_str))?;
    let target = Target::Columns(vec![target.clone()]);
    Some(TargetTable::new(table, id.cloned(), target))
}

/// Returns a sentence about a guessed target, and about the columns directly before a binary target that are binary, too.
fn target_note(rows: &TargetTable<'_>) -> String {
    let target = rows.target.columns().concat();
    let is_binary = |name: &&String| target_kind(rows.table, name) == TargetKind::Binary;
    let names = rows.table.names().rev();
    let run = names
        .skip_while(|name| **name != target)
        .take_while(is_binary);
    let mut others: Vec<String> = run.skip(1).map(|name| format!("`{name}`")).collect();
    others.reverse();
    let others = match others.join(", ").as_str() {
        "" => String::new(),
        others => format!("; if {others} are targets, too, name all of them"),
    };
    format!(
        "the target `{target}` is a guess from the names, values and positions of the columns; if it is wrong, name the target when you create the draft{others}"
    )
}

/// Returns a name for the column of row numbers. No other column has this name.
fn row_number(table: &BundleTable) -> String {
    let mut name = "row_id".to_owned();
    while table.names().any(|other| other.eq_ignore_ascii_case(&name)) {
        name.push('_');
    }
    name
}

/// Returns the largest group of files. A group whose path contains `train` is preferred, whatever its size.
fn by_files(bundle: &BundleContent) -> SplitGuess<'_> {
    // A group of one file cannot be split. If there are only such groups, `None` stands for all files of the bundle.
    let groups = bundle.files.iter().filter(|files| files.count > 1);
    SplitGuess::Files(groups.min_by_key(|files| {
        let train = files.pattern.to_lowercase().contains("train");
        (!train, Reverse(files.count))
    }))
}

/// Returns whether the values of a column are unique and not missing in the first rows.
pub(crate) fn is_unique(table: &BundleTable, name: &str) -> bool {
    let values = table.texts(name).unwrap_or_default();
    let different: BTreeSet<&Option<&str>> = values.iter().collect();
    different.len() == values.len() && !values.contains(&None) && !values.is_empty()
}

fn is_scalar(table: &BundleTable, name: &str) -> bool {
    table
        .column(name)
        .is_some_and(|column| column.declared != "json")
}

/// Returns the first column that may identify a row. Its values are unique, and not decimal numbers, lists or objects. Integers
/// identify a row only in the first column, or in a column with a usual name.
fn identifier<'t>(
    table: &BundleTable,
    names: impl IntoIterator<Item = &'t String>,
) -> Option<&'t String> {
    // An index identifies rows only if no other column does.
    let mut names: Vec<&String> = names.into_iter().collect();
    names.sort_by_key(|name| is_index_name(name));
    let first = table.names().find(|name| !is_index_name(name));
    names.into_iter().find(|name| {
        let is = |kind| table.column(name).is_some_and(|column| column.kind == kind);
        let is_named = first == Some(name) || is_index_name(name) || is_group_name(name);
        // Other integers may be different by chance.
        let is_measure = is(ColumnType::Float64) || (is(ColumnType::Int64) && !is_named);
        !is_measure && is_scalar(table, name) && is_unique(table, name)
    })
}

/// Returns whether pandas gives this name to a column without a name, such as the index that it wrote into a CSV file.
fn is_index_name(name: &str) -> bool {
    name.starts_with("Unnamed: ")
}

/// Returns the column that is probably the target: the column with the best score, and among equal ones the last.
fn usual_target<'t>(table: &'t BundleTable, id: Option<&str>) -> Option<&'t String> {
    let names = table
        .names()
        .filter(|name| Some(name.as_str()) != id && !is_index_name(name));
    let scores = names.filter_map(|name| Some((target_score(table, name)?, name)));
    scores.max_by_key(|(score, _)| *score).map(|(_, name)| name)
}

/// Returns a value that is greater for more likely targets: whether the cells can be predicted, whether the name is usual,
/// and the number of unlikely properties. Returns `None` for a column without values.
fn target_score(table: &BundleTable, name: &str) -> Option<impl Ord + Copy + use<>> {
    let column = table.column(name)?;
    let texts = table.texts(name);
    let different = table.different(name).unwrap_or_default();
    if different.is_empty() && texts.is_some() {
        return None;
    }
    let is_list = label_lists(table, name).is_some();
    let lower = name.to_lowercase();
    let is_coordinate = lower == "y" && (table.has("x") || table.has("X"));
    let mut usual = USUAL_TARGETS.split(' ').rev();
    let usual = usual.position(|usual| usual == lower);
    let is_many = different.len() >= MIN_GROUPS;
    let has_digit = |cell: &&str| cell.contains(|c: char| c.is_ascii_digit());
    let words = different.iter().flat_map(|cell| cell.split_whitespace());
    let is_text = column.kind == ColumnType::Text && !is_list;
    let unlikely = [
        different.len() == 1,
        UNUSUAL_TARGETS.split(' ').any(|unusual| unusual == lower),
        is_group_name(name),
        is_text && dates(table, name).is_some(),
        // Free texts, file names, names of persons.
        is_text && is_many && different.len() * 2 > texts.map_or(0, |texts| texts.len()),
        is_text && words.count() * 2 > different.len() * 5,
        // Names of groups such as `Clinic 7`, and times of day.
        is_text && is_many && different.iter().all(has_digit),
    ];
    let unlikely = unlikely.into_iter().filter(|is_unlikely| *is_unlikely);
    let usual = usual.filter(|_| !is_coordinate);
    let is_usable = is_list || column.declared != "json";
    Some((is_usable, usual, Reverse(unlikely.count())))
}

/// Returns the column that names groups of rows, such as `patient_id`: it has a common name for groups, and repeated values.
fn group(table: &BundleTable, id: &str, target: &Target) -> Option<String> {
    let candidates = table.names().filter(|name| {
        *name != id && !target.has(name) && is_scalar(table, name) && is_group_name(name)
    });
    let counted = candidates.filter_map(|name| {
        let values = table.texts(name)?;
        let different: BTreeSet<&Option<&str>> = values.iter().collect();
        // Each value must occur in at least 1.2 rows on average.
        let repeats = different.len() * 6 <= values.len() * 5;
        let fits = repeats && different.len() >= MIN_GROUPS && !different.contains(&None);
        fits.then_some((!has_group_word(name), different.len(), name))
    });
    counted.min().map(|(_, _, name)| name.clone())
}

/// Returns whether a name is usual for an identifier (`id`, `Study ID`, `store_id`, `userId`) or for a group.
fn is_group_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let camel = name.ends_with("Id") || name.ends_with("ID");
    words.next_back() == Some("id") || camel || has_group_word(name)
}

fn has_group_word(name: &str) -> bool {
    let name = name.to_lowercase();
    GROUP_WORDS.split(' ').any(|word| name.contains(word))
}

fn missing_targets(table: &BundleTable, target: &Target) -> MissingTargets {
    let mut found = MissingTargets::None;
    if matches!(target, Target::PerClass { is_multi: true, .. }) {
        // An empty cell is an answer: the row has no labels.
        return found;
    }
    let columns = target.columns().into_iter();
    for values in columns.filter_map(|name| table.texts(name)) {
        if !values.contains(&None) {
            continue;
        }
        let known: Vec<&str> = values.into_iter().flatten().collect();
        match !known.is_empty() && known.into_iter().all(is_run_lengths) {
            true => found = MissingTargets::Masks,
            false => return MissingTargets::Unlabelled,
        }
    }
    found
}

/// Returns whether a text is a run-length code: pairs of a start and a length.
fn is_run_lengths(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    !words.is_empty() && words.len().is_multiple_of(2) && words.iter().all(is_number)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// Exactly two different integers.
    Binary,
    /// A few different integers, booleans or strings.
    Classes,
    /// Other numbers.
    Numbers,
    Other,
}

pub(crate) fn target_kind(table: &BundleTable, name: &str) -> TargetKind {
    let Some((column, different)) = table.column(name).zip(table.different(name)) else {
        return TargetKind::Other;
    };
    // If a column of integers has missing cells, pandas infers a column of decimals.
    let is_integral = |text: &&str| text.parse::<f64>().is_ok_and(|value| value.fract() == 0.0);
    let kind = match column.kind {
        ColumnType::Float64 if column.is_nullable && different.iter().all(is_integral) => {
            ColumnType::Int64
        }
        kind => kind,
    };
    match kind {
        ColumnType::Int64 if different.len() == 2 => TargetKind::Binary,
        ColumnType::Int64 if different.len() <= MAX_INTEGER_CLASSES => TargetKind::Classes,
        ColumnType::Int64 | ColumnType::Float64 => TargetKind::Numbers,
        ColumnType::Text | ColumnType::Bool => TargetKind::Classes,
        _ => TargetKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_group_columns_are_recognized() {
        for name in "id,patient_id,userId,StudyID,Site,Family group,Store ID".split(',') {
            assert!(is_group_name(name), "{name}");
        }
        for name in ["paid", "width", "humid", "identity", "valid", "idea"] {
            assert!(!is_group_name(name), "{name}");
        }
    }

    #[test]
    fn run_length_codes_are_recognized() {
        assert!(is_run_lengths("1 3 10 5"));
        for text in ["", "1", "1 3 5", "a b", "1 -3", "0.5 1"] {
            assert!(!is_run_lengths(text), "{text}");
        }
    }
}
