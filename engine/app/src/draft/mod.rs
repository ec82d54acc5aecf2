//! Writes a first pipeline for your own competition: `prep pipeline new` reads its bundle and guesses tables and labels.
//!
//! ```text
//! bundle   what is in a bundle: tables with their columns and types, files by pattern
//! records  tables in JSON, JSON lines and Parquet
//! columns  what a column may be: an id, a target, the name of a group
//! guess    which table is split, what identifies a row, what is to be predicted
//! write    the pipeline, with comments where somebody has to choose
//! words    names and texts as YAML and SQL want them
//! ```
//!
//! The pipeline loads and runs. A bundle in which nothing can be split is an error. The guess works as follows: the
//! sample submission has the columns of a submission, and the table that also has these columns is treated as the
//! training data. Comments in the pipeline mark everything that could not be guessed.

mod bundle;
mod columns;
mod guess;
mod records;
mod words;
mod write;

use std::path::{Path, PathBuf};

use prep_core::{Cancel, Failure, units};
use prep_fetch::LazyNetwork;

use prep_spec::BASE_VARIANT;

use crate::bundles;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::settings::Settings;
use crate::stages::loader::Loader;
use bundle::{BundleContent, CsvFile};
use guess::SplitGuess;

pub use guess::DraftChoices;

/// A pipeline that was written for a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// Path of the bundle. `None` if its files were listed on Kaggle.
    pub bundle: Option<PathBuf>,
    /// The reasons of the guess, and the choices that the author has to check.
    pub notes: Vec<String>,
}

/// Reads the bundle of `id`, in `source`, in the data directory or on Kaggle, and writes a pipeline for it.
///
/// # Errors
/// When there is no such bundle, or it cannot be read.
pub fn draft(
    settings: &Settings,
    source: Option<&Path>,
    network: &LazyNetwork,
    id: &str,
    choices: &DraftChoices,
) -> Result<Draft, Error> {
    if !is_id(id) {
        let message = format!("`{id}` cannot be the name of a competition");
        return Err(Error::request(message).help("use letters, digits and `-`, as Kaggle does"));
    }
    let folders: Vec<&Path> = source.into_iter().collect();
    let local = bundles::local(settings, id, &folders);
    let (bundle, path) = match local.path() {
        Some(path) => {
            let limits = settings.inspection_limits(1);
            (bundle::local(path, &limits)?, Some(path.to_path_buf()))
        }
        None => {
            let network = network.get().map_err(|cause| local.not_fetched(cause))?;
            let cancel = Cancel::default();
            let looked =
                network.preview(id, bundle::MAX_PREVIEW_BYTES, bundle::is_table, &cancel)?;
            (
                bundle::remote(&looked, &settings.inspection_limits(1)),
                None,
            )
        }
    };
    if bundle.is_empty() {
        let message = format!("the bundle of `{id}` holds no file");
        return Err(Error::new(Failure::Input, message));
    }
    let guess = guess::guess(&bundle, choices).map_err(|missing| no_columns(&missing, &bundle))?;
    if let SplitGuess::Files(files) = guess.split {
        let missing: Vec<String> = choices.id.iter().chain(&choices.targets).cloned().collect();
        if !missing.is_empty() {
            return Err(no_columns(&missing, &bundle));
        }
        let count: usize = bundle.files.iter().map(|files| files.count).sum();
        if files.is_none() && count + bundle.tables.len() < 2 {
            return Err(nothing_to_split(id, &bundle));
        }
    }
    let mut notes: Vec<String> = bundle
        .unreadable
        .iter()
        .map(unreadable)
        .take(MAX_NOTES)
        .collect();
    let without_values = bundle.tables.iter().filter(|table| table.value_bytes == 0);
    let note = |table: &CsvFile| {
        format!(
            "{}: its values were not examined, because earlier tables take all memory for values",
            table.path
        )
    };
    notes.extend(without_values.map(note).take(MAX_NOTES));
    notes.extend(guess.notes.iter().cloned());
    let text = write::pipeline(id, &bundle, &guess, choices.metric.as_deref());
    let file_name = format!("{id}/pipeline.yaml");
    let entry = CatalogEntry::of_text(id, &file_name, text.clone());
    Loader::without_notes().load(&entry, BASE_VARIANT)?;
    Ok(Draft {
        text,
        notes,
        bundle: path,
    })
}

/// Maximum number of notes about files that cannot be read, and about those whose values were not examined.
const MAX_NOTES: usize = 4;

fn unreadable((path, reason): &(String, String)) -> String {
    format!("{path} cannot be read as a table: {reason}")
}

/// No table has all columns that the author named.
fn no_columns(names: &[String], bundle: &BundleContent) -> Error {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let message = match names.as_slice() {
        [one] => format!("no table of the bundle has a column {one}"),
        many => format!("no table of the bundle has the columns {}", many.join(", ")),
    };
    let tables = bundle.tables.iter().map(|table| {
        let columns: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
        prep_spec::list_names(&table.path, &columns)
    });
    let tables: Vec<String> = tables.take(4).collect();
    let error = Error::request(message);
    match tables.as_slice() {
        [] => error.help("the bundle has no table that can be read"),
        some => error.help(some.join("; ")),
    }
}

/// A pipeline that splits a single file would not run.
fn nothing_to_split(id: &str, bundle: &BundleContent) -> Error {
    let only = bundle.files.iter().flat_map(|files| &files.names).next();
    let only = only.map_or_else(|| "train.json".to_owned(), |name| words::yaml(name));
    let message = format!(
        "the bundle of `{id}` has no table with rows to split, and no two files that could be split"
    );
    let error = Error::new(Failure::Input, message);
    if let Some(first) = bundle.unreadable.first() {
        return error.help(unreadable(first));
    }
    if let Some(table) = bundle.tables.iter().max_by_key(|table| table.rows) {
        let rows = units::count(table.rows, "row");
        let columns = units::count(table.columns.len() as u64, "column");
        return error.help(format!(
            "{} has {rows} and {columns}; a split needs two of each",
            table.path
        ));
    }
    error.help(format!(
        "write the pipeline by hand: `{{ read: {only}, columns: {{ ... }} }}` reads JSON, JSON lines, BSON, Parquet and \
         NumPy tables"
    ))
}

fn is_id(id: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !id.is_empty() && id.chars().all(fits) && !id.starts_with('.')
}
