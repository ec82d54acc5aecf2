//! The data that the search uses: the public files, which an attacker sees, and the answers.

mod lists;
mod public;
mod reading;
mod workbook;

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use prep_contents::{ContentsError, DecodingLimits, Format, Resources, entries};
use tempfile::TempPath;
use thiserror::Error;

use crate::cells::Cells;
use crate::facts::{Channel, Facts, aligned, cells, documents, lines, markup};
use crate::table::{Table, numbers};
use public::PublicContent;
use reading::{Keep, see};

pub(crate) use reading::PublicFile;

/// The sample submission may use one part in this number of the memory.
const SAMPLE_FRACTION: u64 = 8;

/// Maximum number of columns that may be parts of ids.
const MAX_KEY_COLUMNS: usize = 6;

/// Maximum length of a name in which ids are searched.
const MAX_NAME: usize = 80;

/// Maximum number of test items whose facts are collected.
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
    /// The bundle, if available: the archive or a directory.
    pub bundle: Option<PathBuf>,
    /// A directory for temporary copies of archive members.
    pub temp: PathBuf,
    pub limits: DecodingLimits,
    /// Memory for tables and texts, in bytes. Only an even sample of rows is read from larger tables, and larger texts
    /// are skipped.
    pub memory: u64,
}

/// An error that prevents a search.
#[derive(Debug, Error)]
pub enum LeaksError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: ContentsError,
    },
    #[error("the answers {0} are not a table with a column that the sample submission also has")]
    NoIds(PathBuf),
}

/// A public table.
#[derive(Debug, Clone)]
pub(crate) struct PublicTableFile {
    pub path: String,
    pub table: Table,
    /// The column with the ids of test items, and the item of each row.
    pub items: Option<(usize, Vec<Option<usize>>)>,
}

/// A public array. It is read row by row.
#[derive(Debug)]
pub(crate) struct PublicArray {
    pub path: String,
    pub place: PathBuf,
    /// The temporary copy, if the array is an archive member.
    _taken: Option<TempPath>,
}

/// The numbers in an item's file, column by column, as bit patterns.
#[derive(Debug)]
pub(crate) struct Series {
    pub is_item: bool,
    pub numbers: Vec<u64>,
}

/// A column of answers.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub name: String,
    /// The answer of each item. If an item has several rows, the first one.
    pub values: Cells,
    /// The answers in all rows of the chosen items, with their item.
    pub rows: Vec<(usize, String)>,
    pub numbers: Option<Vec<f64>>,
}

impl Label {
    /// Returns the label of these items only, in their order.
    pub(crate) fn of_items(&self, items: &[usize]) -> Label {
        let pick = |item: &usize| self.values.get(*item).unwrap_or_default();
        let values: Cells = items.iter().map(pick).collect();
        Label {
            name: self.name.clone(),
            numbers: numbers(&values),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_numbers(name: &str, numbers: &[f64]) -> Label {
        let values: Cells = numbers.iter().map(f64::to_string).collect();
        Label {
            name: name.to_owned(),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
            numbers: Some(numbers.to_vec()),
        }
    }

    /// Returns whether the answers are classes: few different values, each of them frequent.
    pub(crate) fn is_class(&self) -> bool {
        let different: HashSet<&str> = self.values.iter().collect();
        different.len() > 1 && different.len() * 4 <= self.values.len()
    }
}

/// Everything that the detectors use.
pub(crate) struct World {
    /// Ids of the test items, in the order of the answers.
    pub ids: Vec<String>,
    pub item_of: HashMap<String, usize>,
    pub labels: Vec<Label>,
    pub sample: Table,
    pub sample_path: String,
    pub public: PublicContent,
    pub bundle: Vec<PublicFile>,
    /// The test items whose facts are collected: all of them, or an even sample.
    pub chosen: Vec<usize>,
    is_chosen: Vec<bool>,
    /// Name of the id column.
    pub key_name: String,
    /// The chosen items by id in lower case.
    lower: HashMap<String, usize>,
    /// Whether each id has a digit, so that most words name nothing.
    has_digits: bool,
    /// Whether ids are small numbers, which other columns may contain by chance.
    pub has_plain_ids: bool,
    /// Length of the shortest id, in bytes.
    shortest: usize,
}

impl World {
    /// Reads the answers, the sample submission, the public files and the bundle.
    pub(crate) fn read(input: &LeakInput) -> Result<World, LeaksError> {
        let answers = table_in(&input.answers, &input.limits, u64::MAX, &|_| true)?;
        let room = input.memory / SAMPLE_FRACTION;
        let mut sample = table_in(&input.sample, &input.limits, room, &|_| false)?;
        let no_ids = || LeaksError::NoIds(input.answers.clone());
        let key = key(&answers, &sample).ok_or_else(no_ids)?;
        let keys = answers.columns.get(key).ok_or_else(no_ids)?;
        let mut ids: Vec<String> = Vec::new();
        let mut item_of = HashMap::new();
        let item = |id: &str| {
            *item_of.entry(id.to_owned()).or_insert_with(|| {
                ids.push(id.to_owned());
                ids.len() - 1
            })
        };
        let rows: Vec<usize> = keys.iter().map(item).collect();
        let step = ids.len().div_ceil(MAX_CHOSEN).max(1);
        let chosen: Vec<usize> = (0..ids.len()).step_by(step).collect();
        let mut is_chosen = vec![false; ids.len()];
        for item in &chosen {
            if let Some(one) = is_chosen.get_mut(*item) {
                *one = true;
            }
        }
        let labels = labels(&answers, &sample, key, &rows, &is_chosen);
        let key_name = answers.names.get(key).cloned().unwrap_or_default();
        // With millions of rows, the answers need as much memory as everything else.
        drop((answers, rows));
        if sample.is_sample() {
            let is_wanted = |cell: &str| {
                item_of
                    .get(cell)
                    .and_then(|item: &usize| is_chosen.get(*item))
                    == Some(&true)
            };
            sample = table_in(&input.sample, &input.limits, room, &is_wanted)?;
        }
        let is_plain = |id: &&String| id.len() <= 5 && id.parse::<u32>().is_ok();
        let plain = ids.iter().filter(is_plain).count();
        let lower = |item: &usize| Some((ids.get(*item)?.to_lowercase(), *item));
        let lower = chosen.iter().filter_map(lower).collect();
        let has_digit = |text: &String| text.contains(|c: char| c.is_ascii_digit());
        let mut world = World {
            has_digits: ids.iter().all(has_digit),
            lower,
            chosen,
            is_chosen,
            key_name,
            has_plain_ids: plain * 2 > ids.len(),
            shortest: ids.iter().map(String::len).min().unwrap_or(0),
            ids,
            item_of,
            labels,
            sample_path: relative(&input.public, &input.sample),
            sample,
            public: PublicContent::default(),
            bundle: Vec::new(),
        };
        let resources = &Resources {
            limits: input.limits,
            temp: &input.temp,
        };
        world.public = world.read_public(&input.public, resources, input.memory)?;
        if let Some(bundle) = &input.bundle {
            world.bundle = files_of_bundle(bundle, resources)?;
        }
        Ok(world)
    }

    /// Returns whether facts of this item are collected.
    pub(crate) fn has_facts(&self, item: usize) -> bool {
        self.is_chosen.get(item).copied().unwrap_or(false)
    }

    /// Returns the item whose id a text is, or whose file it names. Only for items whose facts are collected.
    pub(crate) fn item_of_name(&self, text: &str) -> Option<usize> {
        let name = text.rsplit('/').next().unwrap_or(text);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let found = [text, name, stem]
            .iter()
            .find_map(|one| self.item_of.get(*one));
        let found = found.copied().filter(|item| self.has_facts(*item));
        found.or_else(|| self.item_of_other_spelling(stem))
    }

    /// Returns the item whose id is a part of a name between separators, ignoring case: `SMP-8F3A` for `8f3a`.
    fn item_of_other_spelling(&self, name: &str) -> Option<usize> {
        let lengths = self.shortest.max(4)..=MAX_NAME;
        let is_word = self.has_digits && !name.contains(|c: char| c.is_ascii_digit());
        if self.has_plain_ids
            || is_word
            || !lengths.contains(&name.len())
            || name.contains(char::is_whitespace)
        {
            return None;
        }
        let name = name.to_lowercase();
        let mut begins = vec![0];
        let signs = name.match_indices(|c: char| !c.is_alphanumeric());
        begins.extend(signs.map(|(at, sign)| at + sign.len()));
        let behind = begins.iter().filter_map(|at| name.get(*at..));
        behind
            .filter(|part| part.len() >= self.shortest)
            .find_map(|part| self.lower.get(part))
            .copied()
    }

    /// Same as [`World::item_of_name`], for values in documents and lines. Small numbers are not treated as ids there.
    fn item_in_text(&self, text: &str) -> Option<usize> {
        match self.has_plain_ids {
            true => None,
            false => self.item_of_name(text),
        }
    }

    /// Returns the facts of all public files: those that were `seen` while reading, and those of tables, documents,
    /// texts and the sample submission.
    pub(crate) fn all_facts(&self, seen: Facts, limits: &DecodingLimits) -> Facts {
        let mut facts = seen;
        let item_of = |text: &str| self.item_in_text(text);
        let tables = self.public.tables.iter();
        let tables: HashSet<&str> = tables.map(|shown| shown.path.as_str()).collect();
        for (path, text) in &self.public.texts {
            if self.is_sample(path) || self.item_of_path(path).is_some() {
                continue;
            }
            if markup::is_markup(path) {
                markup::collect(path, text, &item_of, &mut facts);
            } else if public::is_document(path) {
                documents::collect(path, text, &item_of, &mut facts);
            } else if !tables.contains(path.as_str()) {
                lines::collect(path, text, &item_of, &mut facts);
            }
        }
        crate::facts::tables::collect(self, &mut facts);
        aligned::collect(self, limits, &mut facts);
        self.quotes(&mut facts);
        crate::facts::sample::collect(self, &mut facts);
        let mut of_ids = Facts::default();
        crate::facts::ids::collect(&self.ids, &self.chosen, &mut of_ids);
        facts.all.extend(of_ids.all);
        facts
    }

    /// Adds facts about the quotes and line endings of test tables. They come from the texts, because parsed tables do
    /// not contain them.
    fn quotes(&self, facts: &mut Facts) {
        for (shown, _, items) in self.test_tables() {
            let delimiter = match shown.path.to_ascii_lowercase().rsplit('.').next() {
                Some("csv") => b',',
                Some("tsv") => b'\t',
                _ => continue,
            };
            // Texts are sorted by path.
            let texts = &self.public.texts;
            let place = texts.partition_point(|(path, _)| *path < shown.path);
            let text = texts.get(place).filter(|(path, _)| *path == shown.path);
            let Some((_, text)) = text else { continue };
            let rows = cells::quotes(text, delimiter);
            for (row, item) in rows.iter().zip(items) {
                let Some(item) = item.filter(|item| self.has_facts(*item)) else {
                    continue;
                };
                let end = if row.ends_with('r') { "CR LF" } else { "LF" };
                facts.add(Channel::Form, "the line ending of rows", item, end);
                for (name, quoted) in shown.table.names.iter().zip(row.chars()) {
                    let what = format!("the quotes of `{name}`");
                    facts.add(Channel::Form, &what, item, &quoted.to_string());
                }
            }
        }
    }

    /// Returns the column of a table that contains ids of items, if there is one.
    pub(crate) fn key_of(&self, table: &Table) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        for (place, column) in table.columns.iter().enumerate() {
            if self.has_plain_ids && table.names.get(place) != Some(&self.key_name) {
                continue;
            }
            let items = column.iter().filter_map(|cell| self.item_of_name(cell));
            let items: HashSet<usize> = items.collect();
            if items.len() >= 20 && best.is_none_or(|(_, most)| items.len() > most) {
                best = Some((place, items.len()));
            }
        }
        best.map(|(place, _)| place)
    }

    /// Returns the rows of items whose facts are collected, as row and item.
    pub(crate) fn items_of(&self, table: &Table, key: usize) -> Vec<(usize, usize)> {
        let cells = table.columns.get(key).into_iter().flatten().enumerate();
        cells
            .filter_map(|(row, cell)| Some((row, self.item_of_name(cell)?)))
            .collect()
    }

    /// Returns the largest table of training items that contains the answers of a label.
    pub(crate) fn train_table(&self, label: &Label) -> Option<&Table> {
        let shown = self.public.tables.get(self.train_table_number(label)?)?;
        Some(&shown.table)
    }

    fn train_table_number(&self, label: &Label) -> Option<usize> {
        let tables = self.public.tables.iter().enumerate();
        let labelled = tables.filter(|(_, shown)| {
            shown.items.is_none()
                && !self.is_sample(&shown.path)
                && shown.table.column(&label.name).is_some()
        });
        let largest = labelled.max_by_key(|(_, shown)| shown.table.rows());
        largest.map(|(number, _)| number)
    }

    /// Returns the numbers of the tables that contain answers of training items.
    pub(crate) fn train_tables(&self) -> HashSet<usize> {
        let labels = self.labels.iter();
        labels
            .filter_map(|label| self.train_table_number(label))
            .collect()
    }

    /// Returns the ids of training items.
    pub(crate) fn train_ids<'a>(&self, table: &'a Table) -> Option<&'a Cells> {
        table.column(&self.key_name)
    }

    /// Returns the column with the ids of test items, if there is one, and the item of each row. It must contain at
    /// least half of the items and hardly any other value.
    fn items_in(&self, table: &Table) -> Option<(usize, Vec<Option<usize>>)> {
        let mut best: Option<(usize, usize, Vec<Option<usize>>)> = None;
        for (place, column) in table.columns.iter().enumerate() {
            let items = column.iter().map(|cell| self.item_of.get(cell).copied());
            let items: Vec<Option<usize>> = items.collect();
            let hits: HashSet<usize> = items.iter().flatten().copied().collect();
            let known = items.iter().flatten().count();
            // A sample of rows contains at least the chosen items.
            let all = match table.is_sample() {
                true => self.chosen.len(),
                false => self.ids.len(),
            };
            let enough = 2 * hits.len() >= all && 10 * known >= 9 * items.len();
            if enough && best.as_ref().is_none_or(|(_, most, _)| hits.len() > *most) {
                best = Some((place, hits.len(), items));
            }
        }
        best.map(|(place, _, items)| (place, items))
            .or_else(|| self.items_of_pairs(table))
    }

    /// Same as [`World::items_in`], if an id consists of two cells of a row with a separator between them.
    fn items_of_pairs(&self, table: &Table) -> Option<(usize, Vec<Option<usize>>)> {
        let columns = table.columns.iter().take(MAX_KEY_COLUMNS).enumerate();
        for (place, first) in columns.clone() {
            for (_, second) in columns.clone().filter(|(other, _)| *other != place) {
                for sign in ["_", "-", "/", "."] {
                    let item = |row: usize| {
                        let (first, second) = (first.get(row)?, second.get(row)?);
                        self.item_of.get(&format!("{first}{sign}{second}")).copied()
                    };
                    // Check some rows first, because most pairs of columns do not form ids.
                    let some = table.rows().min(50);
                    if (0..some).filter(|row| item(*row).is_some()).count() * 10 < some * 9 {
                        continue;
                    }
                    let items: Vec<Option<usize>> = (0..table.rows()).map(item).collect();
                    let hits: HashSet<usize> = items.iter().flatten().copied().collect();
                    let known = items.iter().flatten().count();
                    if 2 * hits.len() >= self.ids.len() && 10 * known >= 9 * items.len() {
                        return Some((place, items));
                    }
                }
            }
        }
        None
    }

    /// Returns the tables of test items, except the sample submission.
    pub(crate) fn test_tables(
        &self,
    ) -> impl Iterator<Item = (&PublicTableFile, usize, &Vec<Option<usize>>)> {
        let tables = self.public.tables.iter();
        let tables = tables.filter(|shown| !self.is_sample(&shown.path));
        tables.filter_map(|shown| {
            let (column, items) = shown.items.as_ref()?;
            Some((shown, *column, items))
        })
    }

    /// Returns whether this is the sample submission, or a copy of it.
    pub(crate) fn is_sample(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        path == self.sample_path || name.contains("sample") && name.contains("ubmission")
    }

    /// Returns the item whose id is in a name between separators: `8f3a` in `scan_8f3a_v2.png`.
    fn item_in_name(&self, name: &str) -> Option<usize> {
        if self.has_plain_ids || self.shortest < 4 {
            return None;
        }
        let signs = name.match_indices(|c: char| !c.is_alphanumeric());
        let mut edges = vec![0];
        edges.extend(signs.flat_map(|(at, sign)| [at, at + sign.len()]));
        edges.push(name.len());
        if edges.len() > 24 {
            return None;
        }
        for (place, begin) in edges.iter().enumerate() {
            for end in edges.get(place + 1..).unwrap_or_default().iter().rev() {
                let part = name.get(*begin..*end);
                let part = part.filter(|part| part.len() >= self.shortest);
                if let Some(item) = part.and_then(|part| self.item_of.get(part)) {
                    return Some(*item);
                }
            }
        }
        None
    }

    /// Returns the test item that a path belongs to. Its id is the stem, the file name, or one of the directories.
    pub(crate) fn item_of_path(&self, path: &str) -> Option<usize> {
        let mut segments = path.rsplit('/');
        let name = segments.next()?;
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let long = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let item_of = |id: &&str| self.item_of.get(*id).copied();
        let own = [name, stem, long].iter().find_map(item_of);
        let own = own.or_else(|| self.item_in_name(name));
        own.or_else(|| {
            let folders: Vec<&str> = segments.collect();
            let of_one = folders.iter().find_map(item_of);
            // An id may consist of two directories: drive-phone in drive/phone/file.
            of_one.or_else(|| {
                folders.windows(2).find_map(|pair| {
                    let [inner, outer] = pair else { return None };
                    let joined = ["-", "_"].map(|sign| format!("{outer}{sign}{inner}"));
                    joined.iter().find_map(|id| self.item_of.get(id)).copied()
                })
            })
        })
    }
}

/// Returns the files of a bundle.
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
        // The bundle is an archive. The paths of its members have no common directory.
        false => entries::of_file(bundle, "bundle.zip", resources, &mut visit),
    };
    seen.map_err(|cause| failed(bundle, cause))?;
    Ok(files)
}

/// The row of each item.
pub(crate) type RowOfItem = HashMap<usize, usize>;

/// Returns the last row of each item of a table.
pub(crate) fn rows_of_items(items: &[Option<usize>]) -> RowOfItem {
    let rows = items.iter().enumerate();
    rows.filter_map(|(row, item)| Some(((*item)?, row)))
        .collect()
}

pub(crate) fn failed(path: &Path, cause: ContentsError) -> LeaksError {
    let path = path.to_path_buf();
    LeaksError::Read { path, cause }
}

fn relative(public: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(public).unwrap_or(path);
    inner.to_string_lossy().into_owned()
}

fn table_in(
    path: &Path,
    limits: &DecodingLimits,
    room: u64,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Table, LeaksError> {
    let no_ids = || LeaksError::NoIds(path.to_path_buf());
    let format = Format::from_path(&path.to_string_lossy()).ok_or_else(no_ids)?;
    Table::read(path, format, limits, room, wanted).map_err(|cause| match cause {
        ContentsError::Damaged(_) => no_ids(),
        cause => failed(path, cause),
    })
}

/// Returns the id column of the answers: the first column whose values are also in the sample submission, all or most
/// of them.
fn key(answers: &Table, sample: &Table) -> Option<usize> {
    let names = answers.names.iter().enumerate();
    let common = names.filter_map(|(place, name)| {
        let values: HashSet<&str> = answers.columns.get(place)?.iter().collect();
        let sample: HashSet<&str> = sample.column(name)?.iter().collect();
        let both = values.intersection(&sample).count();
        // Only a part of a large sample submission is read.
        (2 * both > values.len().min(sample.len())).then_some((place, values.len() - both))
    });
    let least = common.min_by_key(|(_, missing)| *missing);
    least.map(|(place, _)| place)
}

fn labels(
    answers: &Table,
    sample: &Table,
    key: usize,
    rows: &[usize],
    is_chosen: &[bool],
) -> Vec<Label> {
    let items = is_chosen.len();
    let mut labels = Vec::new();
    for (place, (name, column)) in answers.names.iter().zip(&answers.columns).enumerate() {
        // Columns with the same values in the sample submission are not answers. If the sample submission has other
        // columns, columns that it does not have are not answers.
        let sample_cells = sample.column(name);
        let is_shown = sample_cells.is_some_and(|cells| {
            let all = sample.is_sample() || cells.len() == column.len();
            let mut numbered = cells.iter().enumerate();
            all && numbered.all(|(row, cell)| {
                let number = usize::try_from(sample.number(row)).ok();
                number.and_then(|number| column.get(number)) == Some(cell)
            })
        });
        if place == key || is_shown {
            continue;
        }
        let mut values = vec![None; items];
        for (item, value) in rows.iter().zip(column) {
            if let Some(one) = values.get_mut(*item) {
                one.get_or_insert(value);
            }
        }
        let values = values.into_iter().map(Option::unwrap_or_default);
        let values: Cells = values.collect();
        let of_chosen = rows.iter().zip(column);
        let of_chosen = of_chosen.filter(|(item, _)| is_chosen.get(**item) == Some(&true));
        labels.push(Label {
            name: name.clone(),
            numbers: numbers(&values),
            values,
            rows: of_chosen
                .map(|(item, cell)| (*item, cell.to_owned()))
                .collect(),
        });
    }
    let sample_columns: HashSet<&String> = sample.names.iter().collect();
    let is_in_sample = |label: &Label| sample_columns.contains(&label.name);
    if labels.iter().any(is_in_sample) {
        labels.retain(is_in_sample);
    }
    labels
}
