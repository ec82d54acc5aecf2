//! The data that the search uses: the public files, which an attacker sees, and the answers.

mod file;
mod load;
mod public;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::facts::ItemFacts;
use crate::facts::files::Trained;
use crate::sketch::{ContentDigest, Gallery};
use crate::table::{CellTexts, ColumnTable, numbers};
use crate::text::{file_name, is_test, is_train};

pub use load::LeakInput;
pub(crate) use public::named_in;

/// Ids that are divided into two columns are searched only in this number of columns at the beginning of a table.
const MAX_KEY_COLUMNS: usize = 6;

/// Even if there are only a few test items, a table must contain the ids of at least this number of them.
const MIN_FEW_ITEMS: usize = 3;

/// Names with more bytes than this are not searched for ids in a different spelling.
const MAX_NAME: usize = 80;

pub(crate) struct World {
    /// Ids of the test items. The scored items are first.
    pub ids: Vec<String>,
    /// Number of test items with a row that counts for the score.
    pub scored: usize,
    /// The item of each row of the answers.
    pub answers_order: Vec<usize>,
    pub item_of: HashMap<String, usize>,
    pub labels: Vec<AnswerColumn>,
    pub sample: ColumnTable,
    pub sample_path: String,
    pub public: PublicContent,
    pub bundle: Vec<PublicFile>,
    /// The test items whose facts are collected: all scored items, or an even sample.
    pub chosen: Vec<usize>,
    step: usize,
    pub key_name: String,
    /// The chosen items by id in lower case.
    lower: HashMap<String, usize>,
    /// Whether each id contains a digit, so that words without digits are not ids.
    has_digits: bool,
    /// Whether ids are small numbers, which other columns may contain by chance.
    pub has_plain_ids: bool,
    /// Whether names of training files are also ids of test items, for example because the files
    /// of each part are numbered from 1.
    parts_share_ids: bool,
    has_numeric_ids: bool,
    /// Length of the shortest id in bytes.
    shortest: usize,
}

impl World {
    /// Returns the minimum number of test items whose ids a table must contain. If it contains fewer ids, they may be a
    /// coincidence.
    pub(crate) fn min_items(&self) -> usize {
        self.scored.clamp(MIN_FEW_ITEMS, 20)
    }

    /// Sets `parts_share_ids`: whether at least half of the ids in paths of training files also occur in other paths.
    fn compare_parts<'a>(&mut self, paths: impl Iterator<Item = &'a str>) {
        let (mut trained, mut others) = (HashSet::new(), HashSet::new());
        for path in paths {
            let items = match is_train(path) && !is_test(path) {
                true => &mut trained,
                false => &mut others,
            };
            items.extend(self.item_named_by_path(path));
        }
        let both = trained.intersection(&others).count();
        self.parts_share_ids = both > 0 && both * 2 >= trained.len();
    }

    pub(crate) fn has_facts(&self, item: usize) -> bool {
        item < self.scored && item.is_multiple_of(self.step)
    }

    /// Returns the item whose id is `text`. If `text` is a path, the id may also be the file name, with or without its
    /// suffix. Returns `None` if the item's facts are not collected.
    pub(crate) fn item_of_name(&self, text: &str) -> Option<usize> {
        let name = file_name(text);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let found = [text, name, stem]
            .iter()
            .find_map(|one| self.item_of.get(*one));
        let found = found.copied().filter(|item| self.has_facts(*item));
        found.or_else(|| self.item_of_other_spelling(stem))
    }

    /// Returns the item whose id is a part of a name, ignoring case: `8f3a` in `SMP-8F3A`.
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

    /// Returns the item whose id or name is `text`, a value in a document or line. `None` if ids are small numbers, because
    /// these occur everywhere.
    pub(crate) fn item_in_text(&self, text: &str) -> Option<usize> {
        match self.has_plain_ids || !self.may_be_id(text) {
            true => None,
            false => self.item_of_name(text),
        }
    }

    /// Returns false for a number if no id is a number. Must be fast, because documents may contain millions of numbers.
    pub(crate) fn may_be_id(&self, text: &str) -> bool {
        let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        self.has_numeric_ids || !text.bytes().all(is_part)
    }

    pub(crate) fn key_of(&self, table: &ColumnTable) -> Option<usize> {
        let columns = table.columns.iter().enumerate().rev();
        let of_items = columns.filter_map(|(place, column)| {
            // Small numbers are ids in the column of ids. Without this column, they are ids if no number occurs twice.
            let is_key = match table.column(&self.key_name) {
                _ if !self.has_plain_ids => true,
                Some(_) => table.names.get(place) == Some(&self.key_name),
                None => are_different(column.iter()),
            };
            let cells = column.iter().filter(|_| is_key);
            let items: HashSet<usize> = cells.filter_map(|cell| self.item_of_name(cell)).collect();
            (items.len() >= self.min_items()).then_some((items.len(), place))
        });
        let best = of_items.max_by_key(|(items, _)| *items);
        best.map(|(_, place)| place)
    }

    /// Returns pairs of a row and its item, for items whose facts are collected.
    pub(crate) fn items_of(&self, table: &ColumnTable, key: usize) -> Vec<(usize, usize)> {
        let cells = table.columns.get(key).into_iter();
        let cells = cells.flat_map(CellTexts::iter).enumerate();
        cells
            .filter_map(|(row, cell)| Some((row, self.item_of_name(cell)?)))
            .collect()
    }

    /// Returns the training data: the largest table that has a column with the name of the answers, and hardly any rows of
    /// test items. If all such tables have rows of test items, for example because both parts number their items from 1, the
    /// largest of them is the training data.
    pub(crate) fn train_table(&self, label: &AnswerColumn) -> Option<&ColumnTable> {
        let shown = self.public.tables.get(self.train_table_number(label)?)?;
        Some(&shown.table)
    }

    fn train_table_number(&self, label: &AnswerColumn) -> Option<usize> {
        let tables = self.public.tables.iter().enumerate();
        let labelled = tables.filter(|(_, shown)| {
            shown.items.is_none()
                && !self.is_sample(&shown.path)
                && shown.table.column(&label.name).is_some()
        });
        let largest = labelled.max_by_key(|(_, shown)| (!shown.has_test_items, shown.table.rows()));
        largest.map(|(number, _)| number)
    }

    pub(crate) fn train_tables(&self) -> HashSet<usize> {
        let labels = self.labels.iter();
        labels
            .filter_map(|label| self.train_table_number(label))
            .collect()
    }

    pub(crate) fn cells<'a>(
        &self,
        column: &'a CellTexts,
        row_of: &RowOfItem,
    ) -> Vec<Option<&'a str>> {
        let cell = |item| column.get(*row_of.get(item)?);
        self.chosen.iter().map(cell).collect()
    }

    /// Returns the ids in a training table, if it has the id column.
    pub(crate) fn train_ids<'a>(&self, table: &'a ColumnTable) -> Option<&'a CellTexts> {
        table.column(&self.key_name)
    }

    /// Returns the column with the ids of test items, and the item of each row. `None` if no column contains at least
    /// half of the items and hardly any other value.
    fn items_in(&self, table: &ColumnTable) -> Option<(usize, Vec<Option<usize>>)> {
        // A sample of rows contains at least the chosen items.
        let all = match table.is_sample() {
            true => self.chosen.len(),
            false => self.ids.len(),
        };
        let columns = table.columns.iter().enumerate().rev();
        let of_items = columns.filter_map(|(place, column)| {
            let items = column.iter().map(|cell| self.item_of.get(cell).copied());
            let items: Vec<Option<usize>> = items.collect();
            Some((hits(&items, all)?, place, items))
        });
        let best = of_items.max_by_key(|(hits, ..)| *hits);
        best.map(|(_, place, items)| (place, items))
            .or_else(|| self.items_of_pairs(table))
    }

    /// Same as [`World::items_in`] for ids that are divided into two columns, with a separator between their cells.
    fn items_of_pairs(&self, table: &ColumnTable) -> Option<(usize, Vec<Option<usize>>)> {
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
                    if hits(&items, self.ids.len()).is_some() {
                        return Some((place, items));
                    }
                }
            }
        }
        None
    }

    pub(crate) fn test_tables(
        &self,
    ) -> impl Iterator<Item = (&PublicTableFile, usize, &Vec<Option<usize>>)> {
        let tables = self.public.tables.iter();
        let tables = tables.filter(|shown| !self.is_sample(&shown.path));
        tables.filter_map(|shown| Some((shown, shown.key?, shown.items.as_ref()?)))
    }

    /// Returns the path and content of each text file, except the sample submission and files that belong to an item.
    pub(crate) fn common_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.public.texts.iter();
        let texts = texts.map(|(path, text)| (path.as_str(), text.as_str()));
        texts.filter(|(path, _)| !self.is_sample(path) && self.item_of_path(path).is_none())
    }

    /// Returns whether this is the sample submission, or a copy of it.
    pub(crate) fn is_sample(&self, path: &str) -> bool {
        let name = file_name(path).to_ascii_lowercase();
        path == self.sample_path || name.contains("sample") && name.contains("ubmission")
    }

    /// Returns the item whose id is a part of a name between separators, for example `8f3a` in `scan_8f3a_v2.png`.
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

    /// Returns the test item to which a path belongs. The item's id is the stem, the file name, or one of the directories.
    pub(crate) fn item_of_path(&self, path: &str) -> Option<usize> {
        let is_coincidence = self.has_plain_ids || self.parts_share_ids;
        match is_coincidence && is_train(path) && !is_test(path) {
            true => None,
            false => self.item_named_by_path(path),
        }
    }

    fn item_named_by_path(&self, path: &str) -> Option<usize> {
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

/// Returns the number of different items in the rows of a table. `None` if this number is less than half of `all`,
/// or if more than a tenth of the rows belong to no item.
fn hits(items: &[Option<usize>], all: usize) -> Option<usize> {
    let known = items.iter().flatten();
    let hits = known.clone().collect::<HashSet<_>>().len();
    (2 * hits >= all && 10 * known.count() >= 9 * items.len()).then_some(hits)
}

/// Returns whether no text occurs twice.
pub(crate) fn are_different<'a>(mut texts: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = HashSet::new();
    texts.all(|text| seen.insert(text))
}

pub(crate) type RowOfItem = HashMap<usize, usize>;

/// Returns the last row of each item of a table.
pub(crate) fn rows_of_items(items: &[Option<usize>]) -> RowOfItem {
    let rows = items.iter().enumerate();
    rows.filter_map(|(row, item)| Some(((*item)?, row)))
        .collect()
}

#[derive(Debug, Clone)]
pub(crate) struct AnswerColumn {
    pub name: String,
    /// The answer of each scored item. If an item has several rows, this is the answer in the first of them.
    pub values: CellTexts,
    /// All rows of the chosen items, as pairs of item and answer.
    pub rows: Vec<(usize, String)>,
    pub numbers: Option<Vec<f64>>,
}

impl AnswerColumn {
    pub(crate) fn of_items(&self, items: &[usize]) -> AnswerColumn {
        let pick = |item: &usize| self.values.get(*item).unwrap_or_default();
        let values: CellTexts = items.iter().map(pick).collect();
        AnswerColumn {
            name: self.name.clone(),
            numbers: numbers(&values),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_numbers(name: &str, numbers: &[f64]) -> AnswerColumn {
        let values: CellTexts = numbers.iter().map(f64::to_string).collect();
        AnswerColumn {
            name: name.to_owned(),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
            numbers: Some(numbers.to_vec()),
        }
    }

    #[cfg(test)]
    pub(crate) fn of_classes(name: &str, classes: &[i32]) -> AnswerColumn {
        let numbers: Vec<f64> = classes.iter().copied().map(f64::from).collect();
        AnswerColumn::of_numbers(name, &numbers)
    }

    /// Returns whether the answers are classes: at least two different values, each with four answers on average.
    pub(crate) fn is_class(&self) -> bool {
        let different: HashSet<&str> = self.values.iter().collect();
        different.len() > 1 && different.len() * 4 <= self.values.len()
    }
}

#[derive(Default)]
pub(crate) struct PublicContent {
    pub tables: Vec<PublicTableFile>,
    /// Other texts, as path and content.
    pub texts: Vec<(String, String)>,
    pub files: Vec<PublicFile>,
    /// Files that were not read entirely, with their lengths or rows.
    pub unread: Vec<String>,
    pub trained: Trained,
    pub gallery: Gallery,
    pub facts: ItemFacts,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct PublicFile {
    pub path: String,
    pub bytes: u64,
    pub content: ContentDigest,
    /// Names of columns, keys, features or variables in the file.
    pub names: BTreeSet<String>,
    pub pixels: Option<(u64, u64)>,
}

#[derive(Debug, Clone)]
pub(crate) struct PublicTableFile {
    pub path: String,
    pub table: ColumnTable,
    /// The column with ids of test items. `None` if there are few of them.
    pub key: Option<usize>,
    /// The item of each row. `None` unless the table contains at least half of the test items, and hardly any other row.
    pub items: Option<Vec<Option<usize>>>,
    /// Whether at least a tenth of the rows belong to test items.
    pub has_test_items: bool,
}
