//! Writes a first pipeline for a competition, from guesses about the tables and labels in its bundle.
//!
//! ```text
//! table    columns, types and first rows of a table: CSV, JSON, JSON lines, Parquet
//! bundle   the tables of a bundle, and its other files, grouped by the pattern of their paths
//! files    the files that belong to rows of a table
//! guess    which table is split, what identifies a row, what is to be predicted
//! split    the split with which both parts have all labels
//! trial    whether the chosen metric fits the target
//! write    the pipeline, with comments where the author has to choose
//! words    names and strings in the syntax of YAML and SQL
//! ```
//!
//! The pipeline runs without changes. Its comments mark what the author has to check.

#![forbid(unsafe_code)]

mod bundle;
mod files;
mod guess;
mod split;
mod table;
mod trial;
mod words;
mod write;

use prep_grade::GradeSpecErrors;
use prep_spec::nearest;

pub use bundle::BundleContent;
use files::RowFiles;
pub use guess::DraftChoices;
use guess::SplitGuess;
use table::BundleTable;
pub use write::label_as_boolean;

/// The draft has at most this number of notes about files that cannot be read. The same limit applies to notes about
/// tables whose values were not examined.
const MAX_NOTES: usize = 4;
/// An error lists the columns of at most this number of tables.
const MAX_LISTED_TABLES: usize = 4;

/// The text of a pipeline, and notes for its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftText {
    pub text: String,
    /// The reasons for the guesses, and the choices that the author has to check.
    pub notes: Vec<String>,
}

/// The reason why there is no draft.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// No table has all columns that the author named.
    #[error("no table of the bundle has {}", of_columns(names))]
    NoColumns { names: Vec<String>, help: String },
    #[error("the column `{0}` cannot be both the identifier and the target")]
    IdIsTarget(String),
    #[error("the bundle of `{id}` contains no file")]
    Empty { id: String },
    /// The bundle has no table to split and fewer than two files. A pipeline that splits a single file would not run.
    #[error("the bundle of `{id}` has no table with rows to split, and fewer than two files")]
    NothingToSplit { id: String, help: String },
    /// There is no such metric, or one of its required parameters has no example that fits all competitions.
    #[error("a new pipeline cannot have this metric: {}", first_problem(.0))]
    Metric(#[from] GradeSpecErrors),
    /// The metric cannot grade the target, for example because the target is a text.
    #[error("the metric `{metric}` does not fit the target: {cause}")]
    Misfit {
        metric: String,
        cause: String,
        help: String,
    },
}

impl DraftError {
    /// Returns the suggested action.
    pub fn help(&self) -> Option<String> {
        match self {
            DraftError::NoColumns { help, .. }
            | DraftError::NothingToSplit { help, .. }
            | DraftError::Misfit { help, .. } => Some(help.clone()),
            DraftError::Metric(errors) => errors.0.first()?.help(),
            DraftError::Empty { .. } | DraftError::IdIsTarget(_) => None,
        }
    }
}

/// Returns the first error without its suggestion, because [`DraftError::help`] returns the suggestion.
fn first_problem(errors: &GradeSpecErrors) -> String {
    let first = errors.0.first();
    first.map_or(String::new(), |error| {
        format!("grade.{}: {}", error.path, error.problem)
    })
}

fn of_columns(names: &[String]) -> String {
    match names {
        [one] => format!("a column `{one}`"),
        many => format!("the columns `{}`", many.join("`, `")),
    }
}

/// Returns whether a draft reads a file with this name as a table.
pub fn is_table(path: &str) -> bool {
    table::format(path).is_some()
}

/// Writes a pipeline for the bundle of the competition `id`.
///
/// # Errors
/// Fails if no table has the chosen columns, if the bundle has neither a table nor several files to split, or if the chosen
/// metric needs a parameter that only the author knows.
pub fn draft(
    id: &str,
    mut bundle: BundleContent,
    choices: &DraftChoices,
) -> Result<DraftText, DraftError> {
    let is_target = |id: &&String| choices.targets.contains(id);
    if let Some(id) = choices.id.as_ref().filter(is_target) {
        return Err(DraftError::IdIsTarget(id.clone()));
    }
    let choices = &add_members(&mut bundle, choices);
    // If no group of files matches the rows, the files may be divided into directories by class. Then merge these groups.
    let is_by_class = guess::guess(&bundle, choices).is_ok_and(|guess| match guess.split {
        SplitGuess::Files(_) => true,
        SplitGuess::Rows(rows) => {
            let is_incomplete = |files: &RowFiles| files.missing as u64 * 3 > rows.table.rows;
            let all_have_gaps = rows.files.iter().all(|files| files.missing > 0);
            rows.files.is_empty() || (all_have_gaps && rows.files.iter().any(is_incomplete))
        }
    });
    if is_by_class {
        bundle.merge_classes();
    }
    let bundle = &bundle;
    if bundle.tables.is_empty() && bundle.files.is_empty() {
        return Err(DraftError::Empty { id: id.to_owned() });
    }
    let guess = guess::guess(bundle, choices).map_err(|names| no_columns(names, bundle))?;
    if let SplitGuess::Files(files) = guess.split {
        let missing: Vec<String> = choices.id.iter().chain(&choices.targets).cloned().collect();
        if guess.label.is_none() && !missing.is_empty() {
            return Err(no_columns(missing, bundle));
        }
        let count: usize = bundle.files.iter().map(|files| files.count).sum();
        if files.is_none() && count + bundle.tables.len() < 2 {
            return Err(nothing_to_split(id, bundle));
        }
    }
    let unreadable = bundle.unreadable.iter().map(unreadable).take(MAX_NOTES);
    let without_values = bundle.tables.iter().filter(|table| table.value_bytes == 0);
    let note = |table: &BundleTable| {
        format!(
            "{}: its values were not examined, because the values of earlier tables fill the memory limit",
            table.path
        )
    };
    let mut notes: Vec<String> = unreadable.collect();
    notes.extend(without_values.map(note).take(MAX_NOTES));
    notes.extend(guess.notes.iter().cloned());
    let (text, further) = write::pipeline(id, bundle, &guess, choices.metric.as_deref())?;
    notes.extend(further);
    Ok(DraftText { text, notes })
}

/// Adds a column for each chosen name such as `info.id`: the member `id` of the JSON objects in the column `info`.
/// Returns the choices, with each such name replaced by the name of its new column.
fn add_members(bundle: &mut BundleContent, choices: &DraftChoices) -> DraftChoices {
    let mut choices = choices.clone();
    for name in choices.id.iter_mut().chain(&mut choices.targets) {
        if bundle.tables.iter().any(|table| table.has(name)) {
            continue;
        }
        let mut tables = bundle.tables.iter_mut();
        if let Some(added) = tables.find_map(|table| table.add_member(name)) {
            *name = added;
        }
    }
    choices
}

fn unreadable((path, reason): &(String, String)) -> String {
    format!("{path} cannot be read as a table: {reason}")
}

fn no_columns(names: Vec<String>, bundle: &BundleContent) -> DraftError {
    let tables = bundle.tables.iter().map(|table| {
        let columns: Vec<&str> = table.names().map(String::as_str).collect();
        prep_spec::list_names(&table.path, &columns)
    });
    let tables: Vec<String> = tables.take(MAX_LISTED_TABLES).collect();
    let known = || bundle.tables.iter().flat_map(BundleTable::names);
    let mut unknown = names.iter().filter(|name| known().all(|one| one != *name));
    let near = unknown.find_map(|name| nearest(name, known().map(String::as_str)));
    let near = near.map(|near| format!("did you mean `{near}`? "));
    let mut lists = names.iter().map(|name| name.split(',').collect::<Vec<_>>());
    let is_column = |part: &&str| known().any(|one| one == part);
    let list = lists.find(|parts| parts.len() > 1 && parts.iter().all(&is_column));
    let list = list.map(|parts| format!("name each column by itself: `{}`. ", parts.join("`, `")));
    let mut with_all = bundle.tables.iter();
    let with_all = with_all.find(|table| names.iter().all(|name| table.has(name)));
    let obstacle = with_all.and_then(|table| Some((&table.path, guess::obstacle(table)?)));
    let obstacle = obstacle.map(|(path, obstacle)| format!("{path} has {obstacle}. "));
    let near = obstacle.or(list).or(near);
    let help = match tables.is_empty() {
        true => "the bundle has no table that can be read".to_owned(),
        false => near.unwrap_or_default() + &tables.join("; "),
    };
    DraftError::NoColumns { names, help }
}

fn nothing_to_split(id: &str, bundle: &BundleContent) -> DraftError {
    let largest = bundle.tables.iter().max_by_key(|table| table.rows);
    let help = match (bundle.unreadable.first(), largest) {
        (Some(first), _) => unreadable(first),
        (None, Some(table)) => {
            let path = &table.path;
            match guess::obstacle(table) {
                Some(obstacle) => format!("{path} has {obstacle}"),
                None => format!(
                    "{path} is named like a test table or a sample submission; rename it if it has the labels"
                ),
            }
        }
        (None, None) => {
            let only = bundle.files.iter().flat_map(|files| &files.names).next();
            let only = words::yaml(only.map_or("train.json", String::as_str));
            format!(
                "write the pipeline by hand: `{{ read: {only}, columns: {{ ... }} }}` reads JSON, JSON lines, BSON, Parquet \
                 and NumPy tables"
            )
        }
    };
    let id = id.to_owned();
    DraftError::NothingToSplit { id, help }
}
