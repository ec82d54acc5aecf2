//! Reads the answers, the sample submission, the public files and the bundle.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use prep_contents::listing::Listing;
use prep_contents::{ContentsError, DecodingLimits, Format, Resources, entries};

use super::file::{Keep, see};
use super::{AnswerColumn, PublicContent, PublicFile, World};
use crate::finding::{LeaksError, failed};
use crate::table::{CellTexts, ColumnTable, is_missing, numbers};

/// The sample submission may use at most [`LeakInput::memory`] divided by this number.
const SAMPLE_FRACTION: u64 = 8;

/// Facts are collected for at most this number of test items. If there are more, an even sample is chosen.
const MAX_CHOSEN: usize = 2_000;

/// The files to search.
#[derive(Debug, Clone)]
pub struct LeakInput {
    /// The directory `prepared/public`.
    pub public: PathBuf,
    /// The table with the answers.
    pub answers: PathBuf,
    /// The table with the sample submission.
    pub sample: PathBuf,
    /// The column with the ids, if grading pairs rows by a single column.
    pub id: Option<String>,
    /// The indices of the rows of the answers that count for the score, ascending. `None` if all rows count.
    pub scored_rows: Option<Vec<u32>>,
    /// The bundle, if available: the archive or a directory.
    pub bundle: Option<PathBuf>,
    /// A directory for temporary copies of archive members.
    pub temp: PathBuf,
    pub limits: DecodingLimits,
    /// Memory for tables and texts, in bytes. If a table would need too much of this memory, only an even sample of the
    /// table's rows is read. A text that would need too much is skipped.
    pub memory: u64,
    /// Number of threads. It does not change the findings.
    pub threads: usize,
}

impl World {
    pub(crate) fn read(input: &LeakInput) -> Result<World, LeaksError> {
        let answers = table_in(&input.answers, &input.limits, u64::MAX, &|_| true)?;
        let room = input.memory / SAMPLE_FRACTION;
        let mut sample = table_in(&input.sample, &input.limits, room, &|_| false)?;
        let no_ids = || LeaksError::NoIds(input.answers.clone());
        let key = key(&answers, &sample, input.id.as_deref()).ok_or_else(no_ids)?;
        let keys = answers.columns.get(key).ok_or_else(no_ids)?;
        let mut ids: Vec<String> = Vec::new();
        let mut item_of = HashMap::new();
        let mut item = |id: &str| {
            *item_of.entry(id.to_owned()).or_insert_with(|| {
                ids.push(id.to_owned());
                ids.len() - 1
            })
        };
        let is_scored = |(row, _): &(u32, &str)| {
            let scored = input.scored_rows.as_ref();
            scored.is_none_or(|rows| rows.binary_search(row).is_ok())
        };
        let rows = (0..).zip(keys.iter()).filter(is_scored);
        let rows: Vec<(usize, usize)> = rows.map(|(row, id)| (row as usize, item(id))).collect();
        let scored = rows.iter().map(|(_, item)| item + 1).max().unwrap_or(0);
        let answers_order = keys.iter().map(item).collect();
        // A cell that is empty or `NA` does not refer to an item, even if an item has such an id.
        item_of.retain(|id, _| !is_missing(id));
        let step = scored.div_ceil(MAX_CHOSEN).max(1);
        let chosen: Vec<usize> = (0..scored).step_by(step).collect();
        let labels = labels(&answers, &sample, key, &rows, (scored, step));
        let key_name = answers.names.get(key).cloned().unwrap_or_default();
        // With millions of rows, the answers need as much memory as all other data.
        drop((answers, rows));
        if sample.is_sample() {
            let is_wanted = |cell: &str| {
                let item = item_of.get(cell);
                item.is_some_and(|item| chosen.binary_search(item).is_ok())
            };
            sample = table_in(&input.sample, &input.limits, room, &is_wanted)?;
        }
        let sample_path = input.sample.strip_prefix(&input.public);
        let sample_path = sample_path.unwrap_or(&input.sample);
        let is_plain = |id: &&String| id.len() <= 5 && id.parse::<u32>().is_ok();
        let plain = ids.iter().filter(is_plain).count();
        let lower = |item: &usize| Some((ids.get(*item)?.to_lowercase(), *item));
        let lower = chosen.iter().filter_map(lower).collect();
        let has_digit = |text: &String| text.contains(|c: char| c.is_ascii_digit());
        let mut world = World {
            has_digits: ids.iter().all(has_digit),
            lower,
            chosen,
            scored,
            answers_order,
            step,
            key_name,
            has_plain_ids: plain * 2 > ids.len(),
            parts_share_ids: false,
            has_numeric_ids: ids.iter().any(|id| id.parse::<f64>().is_ok()),
            shortest: ids.iter().map(String::len).min().unwrap_or(0),
            ids,
            item_of,
            labels,
            sample_path: sample_path.to_string_lossy().into_owned(),
            sample,
            public: PublicContent::default(),
            bundle: Vec::new(),
        };
        let resources = &Resources {
            limits: input.limits,
            temp: &input.temp,
        };
        let listing = Listing::read(&input.public);
        let listing = listing.map_err(|cause| failed(&input.public, cause))?;
        world.compare_parts(listing.files.keys().map(String::as_str));
        let given = (input.memory, input.threads);
        world.public = world.read_public(&input.public, &listing, resources, given)?;
        if let Some(bundle) = &input.bundle {
            world.bundle = files_of_bundle(bundle, resources)?;
        }
        Ok(world)
    }
}

fn files_of_bundle(
    bundle: &Path,
    resources: &Resources<'_>,
) -> Result<Vec<PublicFile>, LeaksError> {
    let mut files = Vec::new();
    let mut visit = |path: &str, _: u64, content: &mut dyn Read| {
        let (mut seen, _) = see(path, content, Keep::Head)?;
        if let Some(inner) = path.strip_prefix("bundle.zip/") {
            seen.path = inner.to_owned();
        }
        files.push(seen);
        Ok(())
    };
    let seen = match bundle.is_dir() {
        true => entries::of_directory(bundle, resources, &mut visit),
        // The bundle is an archive. `visit` removes the name `bundle.zip` from the paths of the archive's members.
        false => entries::of_file(bundle, "bundle.zip", resources, &mut visit),
    };
    seen.map_err(|cause| failed(bundle, cause))?;
    Ok(files)
}

fn table_in(
    path: &Path,
    limits: &DecodingLimits,
    room: u64,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<ColumnTable, LeaksError> {
    let no_ids = || LeaksError::NoIds(path.to_path_buf());
    let format = Format::from_path(&path.to_string_lossy()).ok_or_else(no_ids)?;
    ColumnTable::read(path, format, limits, room, wanted).map_err(|cause| match cause {
        ContentsError::Damaged(_) => no_ids(),
        cause => failed(path, cause),
    })
}

/// Returns the id column of the answers. If both tables have the column `named`, by which grading pairs rows, it is this
/// column. Otherwise it is a column whose values are mostly in the same column of the sample submission.
///
/// Of several such columns, the one with the fewest values outside the sample submission is preferred, then one without
/// empty cells, then the first one.
fn key(answers: &ColumnTable, sample: &ColumnTable, named: Option<&str>) -> Option<usize> {
    let is_named = |name: &String| Some(name.as_str()) == named && sample.column(name).is_some();
    if let Some(place) = answers.names.iter().position(is_named) {
        return Some(place);
    }
    let names = answers.names.iter().enumerate();
    let common = names.filter_map(|(place, name)| {
        let values = answers.columns.get(place)?.iter();
        let has_gaps = values.clone().any(is_missing);
        let values: HashSet<&str> = values.filter(|cell| !is_missing(cell)).collect();
        let sample: HashSet<&str> = sample.column(name)?.iter().collect();
        let both = values.intersection(&sample).count();
        // A large sample submission is read only in part, so compare with the smaller number of values.
        (2 * both > values.len().min(sample.len())).then_some((
            place,
            values.len() - both,
            has_gaps,
        ))
    });
    let best = common.min_by_key(|(_, missing, has_gaps)| (*missing, *has_gaps));
    best.map(|(place, ..)| place)
}

/// Returns the answers of scored items. `rows` contains the scored rows of the answers, as pairs of row and item.
fn labels(
    answers: &ColumnTable,
    sample: &ColumnTable,
    key: usize,
    rows: &[(usize, usize)],
    (scored, step): (usize, usize),
) -> Vec<AnswerColumn> {
    let (mut labels, mut shown) = (Vec::new(), Vec::new());
    for (place, (name, column)) in answers.names.iter().zip(&answers.columns).enumerate() {
        // A column with the same values in the sample submission is not an answer, because participants know its values.
        let sample_cells = sample.column(name);
        let is_shown = sample_cells.is_some_and(|cells| {
            let all = sample.is_sample() || cells.len() == column.len();
            let mut numbered = cells.iter().enumerate();
            all && numbered.all(|(row, cell)| {
                let number = usize::try_from(sample.number(row)).ok();
                number.and_then(|number| column.get(number)) == Some(cell)
            })
        });
        if place == key {
            continue;
        }
        let answers = rows.iter();
        let answers = answers.filter_map(|(row, item)| Some((*item, column.get(*row)?)));
        let mut values = vec![None; scored];
        for (item, value) in answers.clone() {
            if let Some(one) = values.get_mut(item) {
                one.get_or_insert(value);
            }
        }
        let values = values.into_iter().map(Option::unwrap_or_default);
        let values: CellTexts = values.collect();
        let of_chosen = answers.filter(|(item, _)| item.is_multiple_of(step));
        let of_chosen = of_chosen.map(|(item, answer)| (item, answer.to_owned()));
        let into = if is_shown { &mut shown } else { &mut labels };
        into.push(AnswerColumn {
            name: name.clone(),
            numbers: numbers(&values),
            values,
            rows: of_chosen.collect(),
        });
    }
    // If the sample submission has only the ids and such columns, it contains the answers. They are then measured anyway.
    let key_name = answers.names.get(key);
    let is_known =
        |name: &String| Some(name) == key_name || shown.iter().any(|one| one.name == *name);
    if labels.is_empty() || sample.names.iter().all(is_known) && !shown.is_empty() {
        labels = shown;
    }
    let sample_columns: HashSet<&String> = sample.names.iter().collect();
    let is_in_sample = |label: &AnswerColumn| sample_columns.contains(&label.name);
    if labels.iter().any(is_in_sample) {
        labels.retain(is_in_sample);
    }
    labels
}
