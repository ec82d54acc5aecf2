//! The data of an attacker and of the grader.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prep_contents::listing::Listing;
use prep_contents::packing::{self, Packed};
use prep_contents::{ContentsError, DecodingLimits, Format, Resources, entries, read};
use prep_formats::image::ImageHeader;
use prep_formats::sniff::HumanSize;
use tempfile::TempPath;
use thiserror::Error;

use crate::detectors::is_train;
use crate::facts::files::{self, Circumstances};
use crate::facts::{Channel, Facts, cells, documents, examples, lines};
use crate::fields;
use crate::series;
use crate::sketch::Gallery;
use crate::table::{Table, numbers};

/// Longest text that is looked through.
const TEXT: u64 = 64 << 20;

/// Arrays that are looked at. Where there are more, each is an item.
const ARRAYS: usize = 32;

/// Numbers of series that are kept.
const MAX_SERIES: usize = 20_000_000;

/// Items of which facts are collected.
const MAX_CHOSEN: usize = 2_000;

/// Bytes of items' files whose content is looked at.
const MAX_LOOKED: u64 = 2 << 30;

/// Longest file of an item whose content is looked at, and longest text that is treated as an item's notes.
const MAX_ITEM_FILE: u64 = 32 << 20;
const MAX_ITEM_TEXT: u64 = 1 << 20;

/// Files of records are read up to here.
const MAX_RECORDS: u64 = 64 << 20;

/// Maximum bytes of all kept texts.
const ALL_TEXT: u64 = 1 << 30;

/// Memory for tables: a constant, and an amount per byte of the public files on disk. Files that are compressed much more than tables
/// are malicious.
const TABLE_MEMORY: u64 = 1 << 28;
const TABLE_MEMORY_PER_BYTE: u64 = 24;
/// The same for texts.
const TEXT_MEMORY: u64 = 1 << 27;
const TEXT_MEMORY_PER_BYTE: u64 = 12;

/// The data to search.
#[derive(Debug, Clone)]
pub struct LeakInput {
    /// `prepared/public`.
    pub public: PathBuf,
    /// The file with the answers: a table.
    pub answers: PathBuf,
    /// The sample submission: a table.
    pub sample: PathBuf,
    /// The bundle, if it exists: the archive, or a directory.
    pub bundle: Option<PathBuf>,
    /// A directory for members of archives while they are read.
    pub temp: PathBuf,
    pub limits: DecodingLimits,
}

impl LeakInput {
    fn resources(&self) -> Resources<'_> {
        Resources {
            limits: self.limits,
            temp: &self.temp,
        }
    }
}

/// Errors that prevent a search.
#[derive(Debug, Error)]
pub enum LeaksError {
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: ContentsError,
    },
    #[error("the answers {0} are not a table with a column that the sample submission also has")]
    NoIds(PathBuf),
}

/// A file, or a member of an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct PublicFile {
    pub path: String,
    pub bytes: u64,
    pub crc32: u32,
    /// Names of columns, keys, features or variables.
    pub names: BTreeSet<String>,
    /// Width and height of an image.
    pub pixels: Option<(u64, u64)>,
}

/// A table that everybody may see.
#[derive(Debug, Clone)]
pub(crate) struct PublicTableFile {
    pub path: String,
    pub table: Table,
    /// Which column names the test items, and for each row the item.
    pub items: Option<(usize, Vec<Option<usize>>)>,
}

/// An array that everybody may see, which is read row by row.
#[derive(Debug)]
pub(crate) struct Wide {
    pub path: String,
    pub place: PathBuf,
    /// A member of an archive that was taken out.
    _taken: Option<TempPath>,
}

/// The numbers of an item's file, column by column, as bits.
#[derive(Debug)]
pub(crate) struct Series {
    pub is_item: bool,
    pub numbers: Vec<u64>,
}

/// A column of answers.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub name: String,
    /// By item; of several rows of one item the first.
    pub values: Vec<String>,
    /// All rows' values, with their item.
    pub rows: Vec<(usize, String)>,
    pub numbers: Option<Vec<f64>>,
}

impl Label {
    /// The same of some items only, in their order.
    pub(crate) fn of_items(&self, items: &[usize]) -> Label {
        let pick = |item: &usize| self.values.get(*item).cloned().unwrap_or_default();
        let values: Vec<String> = items.iter().map(pick).collect();
        Label {
            name: self.name.clone(),
            numbers: numbers(&values),
            rows: values.iter().cloned().enumerate().collect(),
            values,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_numbers(name: &str, numbers: &[f64]) -> Label {
        let values: Vec<String> = numbers.iter().map(f64::to_string).collect();
        Label {
            name: name.to_owned(),
            rows: values.iter().cloned().enumerate().collect(),
            values,
            numbers: Some(numbers.to_vec()),
        }
    }

    /// Classes: few values, each of them often.
    pub(crate) fn is_class(&self) -> bool {
        let different: HashSet<&String> = self.values.iter().collect();
        different.len() > 1 && different.len() * 4 <= self.values.len()
    }
}

/// Everything that detectors look at.
pub(crate) struct World {
    /// Test items, in the order of the answers.
    pub ids: Vec<String>,
    pub item_of: HashMap<String, usize>,
    pub labels: Vec<Label>,
    pub sample: Table,
    pub sample_path: String,
    pub tables: Vec<PublicTableFile>,
    /// Arrays of rows.
    pub arrays: Vec<Wide>,
    /// Other texts: path, content.
    pub texts: Vec<(String, String)>,
    pub files: Vec<PublicFile>,
    pub bundle: Vec<PublicFile>,
    /// Tables and texts that were not read because of their size, with it.
    pub unread: Vec<String>,
    /// Sketches of pictures and sounds.
    pub gallery: Gallery,
    /// The items of which facts are collected: all, or an even sample.
    pub chosen: Vec<usize>,
    is_chosen: Vec<bool>,
    /// The name of the column of ids.
    pub key_name: String,
    /// Ids are small numbers, which any other column may hold by chance.
    has_plain_ids: bool,
    /// Length of the shortest id, in bytes.
    shortest: usize,
    /// Facts of items in files.
    pub facts: Facts,
    /// Series in the files of test and training items.
    pub series: Vec<Series>,
}

impl World {
    pub(crate) fn look(place: &LeakInput) -> Result<World, LeaksError> {
        let answers = table_in(&place.answers, &place.limits)?;
        let sample = table_in(&place.sample, &place.limits)?;
        let no_ids = || LeaksError::NoIds(place.answers.clone());
        let key = key(&answers, &sample).ok_or_else(no_ids)?;
        let keys = answers.columns.get(key).ok_or_else(no_ids)?;
        let mut ids: Vec<String> = Vec::new();
        let mut item_of = HashMap::new();
        let rows: Vec<usize> = keys
            .iter()
            .map(|id| {
                *item_of.entry(id.clone()).or_insert_with(|| {
                    ids.push(id.clone());
                    ids.len() - 1
                })
            })
            .collect();
        let labels = labels(&answers, &sample, key, &rows, ids.len());
        let step = ids.len().div_ceil(MAX_CHOSEN).max(1);
        let chosen: Vec<usize> = (0..ids.len()).step_by(step).collect();
        let mut is_chosen = vec![false; ids.len()];
        for item in &chosen {
            if let Some(one) = is_chosen.get_mut(*item) {
                *one = true;
            }
        }
        let plain = ids
            .iter()
            .filter(|id| id.len() <= 5 && id.parse::<u32>().is_ok());
        let mut world = World {
            chosen,
            is_chosen,
            key_name: answers.names.get(key).cloned().unwrap_or_default(),
            has_plain_ids: plain.count() * 2 > ids.len(),
            shortest: ids.iter().map(String::len).min().unwrap_or(0),
            facts: Facts::default(),
            series: Vec::new(),
            ids,
            item_of,
            labels,
            sample_path: relative(&place.public, &place.sample),
            sample,
            tables: Vec::new(),
            arrays: Vec::new(),
            texts: Vec::new(),
            files: Vec::new(),
            bundle: Vec::new(),
            unread: Vec::new(),
            gallery: Gallery::default(),
        };
        let resources = &place.resources();
        world.see_public(&place.public, resources)?;
        if let Some(bundle) = &place.bundle {
            world.see_bundle(bundle, resources)?;
        }
        Ok(world)
    }

    fn see_public(&mut self, public: &Path, resources: &Resources<'_>) -> Result<(), LeaksError> {
        let limits = &resources.limits;
        let listing = Listing::read(public).map_err(|cause| failed(public, cause))?;
        let on_disk: u64 = listing.files.values().sum();
        let for_texts = on_disk.saturating_mul(TEXT_MEMORY_PER_BYTE);
        let mut text_left = ALL_TEXT.min(TEXT_MEMORY.saturating_add(for_texts));
        let for_tables = on_disk.saturating_mul(TABLE_MEMORY_PER_BYTE);
        let mut room = TABLE_MEMORY.saturating_add(for_tables);
        let mut tables_left = ALL_TEXT;
        let (mut files, mut texts, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        let (mut gallery, mut arrays, mut unread) = (Gallery::default(), Vec::new(), Vec::new());
        let mut facts = Facts::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut packed = packing_of(public, &listing).map_err(|cause| failed(public, cause))?;
        let mut looked = 0_u64;
        let (mut series, mut series_left) = (Vec::new(), MAX_SERIES);
        let seen = entries::of_folder(public, resources, &mut |path, bytes, content| {
            let format = Format::from_path(path).filter(|format| match format {
                Format::Lines => false,
                Format::Array => arrays.len() < ARRAYS,
                _ => !path.starts_with("description."),
            });
            let fits = |format: &Format, bytes: u64, left: u64| {
                *format == Format::Array || bytes <= TEXT.min(left)
            };
            let table = format.filter(|format| fits(format, bytes, tables_left));
            // A table is read more than once: a member of an archive is taken out.
            let taken = match table.is_some() && !public.join(path).is_file() {
                true => Some(read::spool(content, resources)?),
                false => None,
            };
            let place = match &taken {
                Some(taken) => taken.to_path_buf(),
                None => public.join(path),
            };
            let own = self.item_of_path(path);
            let is_item = own.is_some();
            let own = own.filter(|item| self.has_facts(*item));
            let known = own.map(|_| Circumstances::new(path, &mut places, &mut packed));
            let is_records = fields::format(path) == Some("tfrecord");
            let wing = (is_item || is_train(path)).then(|| gallery.wing(is_item));
            let wing = wing.filter(|wing| wing.wants(path, bytes));
            let keep = match is_text(path) && bytes <= TEXT.min(text_left) {
                true => Keep::Text,
                false if wing.is_some() => Keep::All,
                false if is_records => Keep::All,
                false if own.is_some() && bytes <= MAX_ITEM_FILE && looked <= MAX_LOOKED => {
                    Keep::All
                }
                false => Keep::Head,
            };
            let from = place.clone();
            let at = ContentsError::system_error(&from);
            let (seen, head) = match &taken {
                Some(_) => see(path, &mut File::open(&place).map_err(&at)?, keep),
                None => see(path, content, keep),
            }
            .map_err(&at)?;
            let bytes = seen.bytes;
            if let (Some(item), Some(known)) = (own, known) {
                let id = self.ids.get(item).map_or("", String::as_str);
                let id = named_in(path, id);
                files::of_path(path, id, item, &mut facts);
                files::of_circumstances(path, id, item, bytes, &known, &mut facts);
                if let Some(pixels) = seen.pixels {
                    files::of_pixels(path, id, item, pixels, &mut facts);
                }
                if keep != Keep::Head && bytes <= MAX_ITEM_FILE {
                    looked += bytes;
                    files::of_content(path, id, item, &head, &mut facts);
                }
                if keep == Keep::Text && bytes <= MAX_ITEM_TEXT {
                    let text = String::from_utf8_lossy(&head);
                    self.of_item_text(path, id, item, &text, &mut facts);
                }
            }
            if is_records {
                let end = head
                    .len()
                    .min(usize::try_from(MAX_RECORDS).unwrap_or(usize::MAX));
                let item_of = |text: &str| self.item_of_name(text);
                examples::collect(
                    path,
                    head.get(..end).unwrap_or_default(),
                    &item_of,
                    &mut facts,
                );
            }
            let mut is_unread = is_text(path) && bytes > TEXT.min(text_left);
            match (keep, wing) {
                // A length that no header declares is known by now.
                (Keep::Text, _) if bytes <= TEXT.min(text_left) => {
                    text_left = text_left.saturating_sub(bytes);
                    let text = String::from_utf8_lossy(&head).into_owned();
                    texts.push((path.to_owned(), text));
                }
                (Keep::All, Some(wing)) => wing.add(path, (seen.bytes, seen.crc32), &head),
                _ => {}
            }
            let wing = (is_item || is_train(path)).then(|| gallery.wing(is_item));
            if keep != Keep::Head
                && let Some(wing) = wing
                && let Some(columns) = series::columns(path, &head)
            {
                if keep == Keep::Text {
                    wing.add(path, (seen.bytes, seen.crc32), &head);
                }
                if series_left > 0 {
                    let numbers = columns.iter().flatten().map(|one| one.to_bits());
                    let numbers: Vec<u64> = numbers.collect();
                    series_left = series_left.saturating_sub(numbers.len());
                    series.push(Series { is_item, numbers });
                }
                if let Some(item) = own {
                    for (name, value) in series::summary(&columns) {
                        facts.number(Channel::Look, &name, item, value);
                    }
                }
            }
            files.push(seen);
            if table == Some(Format::Array) {
                let path = path.to_owned();
                let _taken = taken;
                arrays.push(Wide {
                    path,
                    place,
                    _taken,
                });
                return Ok(());
            }
            let table = table.filter(|format| fits(format, bytes, tables_left));
            is_unread |= format.is_some() && table.is_none();
            // A file that is not a table, in spite of its name, is skipped.
            let table = match table.map(|format| Table::read(&place, format, limits, room)) {
                Some(Err(error)) if error.is_of_the_system() => return Err(error),
                Some(Ok(table)) => Some(table),
                Some(Err(error)) => {
                    is_unread |= matches!(error, ContentsError::Limit(_));
                    None
                }
                None => None,
            };
            if is_unread {
                unread.push(format!("{path}: {}", HumanSize(bytes)));
            }
            if let Some(table) = table.filter(|table| table.names.len() > 1 && table.rows() > 0) {
                tables_left = tables_left.saturating_sub(bytes);
                room = room.saturating_sub(table.memory());
                tables.push((path.to_owned(), table));
            }
            Ok(())
        });
        seen.map_err(|cause| failed(public, cause))?;
        unread.sort();
        (self.files, self.texts, self.unread) = (files, texts, unread);
        self.facts = facts;
        self.series = series;
        self.gallery = gallery;
        arrays.sort_by(|one: &Wide, other| one.path.cmp(&other.path));
        self.arrays = arrays;
        self.texts.sort_by(|(one, _), (other, _)| one.cmp(other));
        tables.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (path, table) in tables {
            let items = self.items_in(&table);
            self.tables.push(PublicTableFile { path, table, items });
        }
        Ok(())
    }

    /// Whether facts of this item are collected.
    pub(crate) fn has_facts(&self, item: usize) -> bool {
        self.is_chosen.get(item).copied().unwrap_or(false)
    }

    /// The item of which facts are collected that a text names, as its id, or as a file of that name.
    pub(crate) fn item_of_name(&self, text: &str) -> Option<usize> {
        let name = text.rsplit('/').next().unwrap_or(text);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let found = [text, name, stem]
            .iter()
            .find_map(|one| self.item_of.get(*one));
        found.copied().filter(|item| self.has_facts(*item))
    }

    /// The same inside documents and lines, where small numbers name nothing.
    fn item_in_text(&self, text: &str) -> Option<usize> {
        match self.has_plain_ids {
            true => None,
            false => self.item_of_name(text),
        }
    }

    fn of_item_text(&self, path: &str, id: &str, item: usize, text: &str, facts: &mut Facts) {
        let kind = files::kind(path, id);
        let is_document = path.to_ascii_lowercase().ends_with(".json");
        match is_document {
            true => documents::of_item(&kind, text, item, facts),
            false => lines::of_item(&kind, text, item, facts),
        }
    }

    /// Facts of all public files: those that were seen on the way, and those of tables, documents, texts and the sample.
    pub(crate) fn all_facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        let item_of = |text: &str| self.item_in_text(text);
        let tables: HashSet<&str> = self
            .tables
            .iter()
            .map(|shown| shown.path.as_str())
            .collect();
        for (path, text) in &self.texts {
            let name = path.to_ascii_lowercase();
            let is_document = [".json", ".jsonl", ".ndjson", ".geojson"]
                .iter()
                .any(|end| name.ends_with(end));
            if self.is_sample(path) || self.item_of_path(path).is_some() {
                continue;
            }
            match is_document {
                true => documents::collect(path, text, &item_of, &mut facts),
                false if !tables.contains(path.as_str()) => {
                    lines::collect(path, text, &item_of, &mut facts)
                }
                false => {}
            }
        }
        crate::facts::tables::collect(self, &mut facts);
        self.quotes(&mut facts);
        crate::facts::sample::collect(self, &mut facts);
        let mut of_ids = Facts::default();
        crate::facts::ids::collect(&self.ids, &mut of_ids);
        facts.all.extend(of_ids.all);
        facts
    }

    /// The quoted cells of test tables: of texts, whose tables no longer show it.
    fn quotes(&self, facts: &mut Facts) {
        for (shown, _, items) in self.test_tables() {
            let text = self.texts.iter().find(|(path, _)| *path == shown.path);
            let delimiter = match shown.path.to_ascii_lowercase().rsplit('.').next() {
                Some("csv") => b',',
                Some("tsv") => b'\t',
                _ => continue,
            };
            let Some((_, text)) = text else { continue };
            let rows = cells::quotes(text, delimiter);
            for (row, item) in rows.iter().zip(items) {
                let Some(item) = item.filter(|item| self.has_facts(*item)) else {
                    continue;
                };
                for (name, quoted) in shown.table.names.iter().zip(row.chars()) {
                    let what = format!("the quotes of `{name}`");
                    facts.add(Channel::Form, &what, item, &quoted.to_string());
                }
            }
        }
    }

    /// The column of a table that names items, if one does.
    pub(crate) fn key_of(&self, table: &Table) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        for (place, column) in table.columns.iter().enumerate() {
            if self.has_plain_ids && table.names.get(place) != Some(&self.key_name) {
                continue;
            }
            let items: HashSet<usize> = column
                .iter()
                .filter_map(|cell| self.item_of_name(cell))
                .collect();
            if items.len() >= 20 && best.is_none_or(|(_, most)| items.len() > most) {
                best = Some((place, items.len()));
            }
        }
        best.map(|(place, _)| place)
    }

    /// Rows and their items, of those of which facts are collected.
    pub(crate) fn items_of(&self, table: &Table, key: usize) -> Vec<(usize, usize)> {
        let cells = table.columns.get(key).into_iter().flatten().enumerate();
        cells
            .filter_map(|(row, cell)| Some((row, self.item_of_name(cell)?)))
            .collect()
    }

    /// The largest table of training items that has the answers of a label.
    pub(crate) fn train_table(&self, label: &Label) -> Option<&Table> {
        let tables = self
            .tables
            .iter()
            .filter(|shown| shown.items.is_none() && !self.is_sample(&shown.path));
        let labelled = tables.filter(|shown| shown.table.column(&label.name).is_some());
        let largest = labelled.max_by_key(|shown| shown.table.rows());
        largest.map(|shown| &shown.table)
    }

    /// Whether a table has answers of training items.
    pub(crate) fn is_train_table(&self, number: usize) -> bool {
        let Some(shown) = self.tables.get(number) else {
            return false;
        };
        self.labels.iter().any(|label| {
            self.train_table(label)
                .is_some_and(|table| std::ptr::eq(table, &shown.table))
        })
    }

    /// The ids of training items.
    pub(crate) fn train_ids<'a>(&self, table: &'a Table) -> Option<&'a [String]> {
        table.column(&self.key_name)
    }

    /// The column that names test items, if one does: at least half of them, and hardly anything else.
    fn items_in(&self, table: &Table) -> Option<(usize, Vec<Option<usize>>)> {
        let mut best: Option<(usize, usize, Vec<Option<usize>>)> = None;
        for (place, column) in table.columns.iter().enumerate() {
            let items: Vec<Option<usize>> = column
                .iter()
                .map(|cell| self.item_of.get(cell).copied())
                .collect();
            let hits: HashSet<usize> = items.iter().flatten().copied().collect();
            let known = items.iter().flatten().count();
            let enough = 2 * hits.len() >= self.ids.len() && 10 * known >= 9 * items.len();
            if enough && best.as_ref().is_none_or(|(_, most, _)| hits.len() > *most) {
                best = Some((place, hits.len(), items));
            }
        }
        best.map(|(place, _, items)| (place, items))
    }

    fn see_bundle(&mut self, bundle: &Path, resources: &Resources<'_>) -> Result<(), LeaksError> {
        let mut files = Vec::new();
        let mut visit = |path: &str, _: u64, content: &mut dyn Read| {
            let (seen, _) = see(path, content, Keep::Head)?;
            files.push(seen);
            Ok(())
        };
        let seen = match bundle.is_dir() {
            true => entries::of_folder(bundle, resources, &mut visit),
            // Its members, as paths below nothing.
            false => entries::of_file(bundle, "bundle.zip", resources, &mut visit),
        };
        seen.map_err(|cause| failed(bundle, cause))?;
        for file in &mut files {
            if let Some(inner) = file.path.strip_prefix("bundle.zip/") {
                file.path = inner.to_owned();
            }
        }
        self.bundle = files;
        Ok(())
    }

    /// Tables of the test items, without the sample submission.
    pub(crate) fn test_tables(
        &self,
    ) -> impl Iterator<Item = (&PublicTableFile, usize, &Vec<Option<usize>>)> {
        self.tables
            .iter()
            .filter(|shown| !self.is_sample(&shown.path))
            .filter_map(|shown| {
                let (column, items) = shown.items.as_ref()?;
                Some((shown, *column, items))
            })
    }

    /// Returns whether this is the sample submission, or a copy of it.
    pub(crate) fn is_sample(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        path == self.sample_path || name.contains("sample") && name.contains("ubmission")
    }

    /// The item whose id is in a name between signs: `8f3a` of `scan_8f3a_v2.png`.
    fn item_in_name(&self, name: &str) -> Option<usize> {
        if self.has_plain_ids || self.shortest < 4 {
            return None;
        }
        let edges: Vec<usize> = std::iter::once(0)
            .chain(
                name.char_indices()
                    .filter(|(_, c)| !c.is_alphanumeric())
                    .flat_map(|(at, c)| [at, at + c.len_utf8()]),
            )
            .chain(std::iter::once(name.len()))
            .collect();
        if edges.len() > 24 {
            return None;
        }
        for (place, begin) in edges.iter().enumerate() {
            for end in edges.get(place + 1..).unwrap_or_default().iter().rev() {
                let part = name
                    .get(*begin..*end)
                    .filter(|part| part.len() >= self.shortest);
                if let Some(item) = part.and_then(|part| self.item_of.get(part)) {
                    return Some(*item);
                }
            }
        }
        None
    }

    /// The test item that a path belongs to: whose id is its stem, its name, or one of its directories.
    pub(crate) fn item_of_path(&self, path: &str) -> Option<usize> {
        let mut segments = path.rsplit('/');
        let name = segments.next()?;
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let long = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let own = [name, stem, long];
        let found = own.iter().find_map(|one| self.item_of.get(*one));
        if let Some(item) = found {
            return Some(*item);
        }
        if let Some(item) = self.item_in_name(name) {
            return Some(item);
        }
        let folders: Vec<&str> = segments.collect();
        folders
            .iter()
            .find_map(|folder| self.item_of.get(*folder))
            .copied()
            .or_else(|| {
                // An id may be joined directories: drive-phone of drive/phone/file.
                folders.windows(2).find_map(|pair| {
                    let [inner, outer] = pair else { return None };
                    let joined = ["-", "_"].map(|sign| format!("{outer}{sign}{inner}"));
                    joined.iter().find_map(|id| self.item_of.get(id)).copied()
                })
            })
    }
}

/// How each member of the zip archives among the public files is stored, by path.
fn packing_of(public: &Path, listing: &Listing) -> Result<HashMap<String, Packed>, ContentsError> {
    let mut found = HashMap::new();
    for path in listing.files.keys().filter(|path| path.ends_with(".zip")) {
        for member in packing::of_zip(&public.join(path))? {
            found.insert(format!("{path}/{}", member.name), member);
        }
    }
    Ok(found)
}

impl Circumstances {
    fn new(
        path: &str,
        places: &mut HashMap<String, usize>,
        packed: &mut HashMap<String, Packed>,
    ) -> Circumstances {
        let place = places.entry(String::new()).or_default();
        *place += 1;
        let member = packed.remove(path);
        Circumstances {
            place: *place,
            // A file outside an archive has the time at which this system published it.
            time: member.as_ref().map(|member| member.time as f64),
            packing: member.map(|member| member.form),
        }
    }
}

/// The part of a path that names an item: its id, or what stands for it if the path has only its parts.
fn named_in<'a>(path: &str, id: &'a str) -> &'a str {
    if path.contains(id) {
        return id;
    }
    let name = id.rsplit('/').next().unwrap_or(id);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if path.contains(stem) { stem } else { "" }
}

fn failed(path: &Path, cause: ContentsError) -> LeaksError {
    let path = path.to_path_buf();
    LeaksError::Read { path, cause }
}

fn relative(public: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(public).unwrap_or(path);
    inner.to_string_lossy().into_owned()
}

fn table_in(path: &Path, limits: &DecodingLimits) -> Result<Table, LeaksError> {
    let no_ids = || LeaksError::NoIds(path.to_path_buf());
    let format = Format::from_path(&path.to_string_lossy()).ok_or_else(no_ids)?;
    Table::read(path, format, limits, u64::MAX).map_err(|cause| match cause {
        ContentsError::Damaged(_) => no_ids(),
        cause => failed(path, cause),
    })
}

/// The column of the answers that names the items: the first that the sample has with the same values, or most of them.
fn key(answers: &Table, sample: &Table) -> Option<usize> {
    let common: Vec<(usize, usize)> = answers
        .names
        .iter()
        .enumerate()
        .filter_map(|(place, name)| {
            let values: HashSet<&String> = answers.columns.get(place)?.iter().collect();
            let sample: HashSet<&String> = sample.column(name)?.iter().collect();
            let both = values.intersection(&sample).count();
            (2 * both > values.len()).then_some((place, values.len() - both))
        })
        .collect();
    let least = common.iter().min_by_key(|(_, missing)| *missing);
    least.map(|(place, _)| *place)
}

fn labels(answers: &Table, sample: &Table, key: usize, rows: &[usize], items: usize) -> Vec<Label> {
    let mut labels = Vec::new();
    for (place, (name, column)) in answers.names.iter().zip(&answers.columns).enumerate() {
        // Columns that the sample shows, too, are not answers. If the sample has other columns, columns that it does not have are not answers.
        let asked = sample.column(name);
        let is_shown = asked == Some(column.as_slice());
        if place == key || is_shown {
            continue;
        }
        let mut values = vec![None; items];
        for (item, value) in rows.iter().zip(column) {
            if let Some(one) = values.get_mut(*item) {
                one.get_or_insert_with(|| value.clone());
            }
        }
        let values: Vec<String> = values.into_iter().map(Option::unwrap_or_default).collect();
        labels.push(Label {
            name: name.clone(),
            numbers: numbers(&values),
            values,
            rows: rows.iter().copied().zip(column.iter().cloned()).collect(),
        });
    }
    let asked: HashSet<&String> = sample.names.iter().collect();
    if labels.iter().any(|label| asked.contains(&label.name)) {
        labels.retain(|label| asked.contains(&label.name));
    }
    labels
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ends = [
        ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".nmea", ".xml", ".html", ".log",
        ".md", ".yaml", ".yml", ".xyz", ".dat",
    ];
    ends.iter().any(|end| name.ends_with(end))
}

/// How much of a file is kept while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Enough for its names, and for the size of an image.
    Head,
    Text,
    All,
}

/// Reads a file once: its length, its checksum, its names, its size as an image; and what is to be kept.
fn see(path: &str, mut content: &mut dyn Read, keep: Keep) -> io::Result<(PublicFile, Vec<u8>)> {
    let format = fields::format(path);
    let is_image = [".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif"]
        .iter()
        .any(|end| path.to_ascii_lowercase().ends_with(end));
    let mut hasher = crc32fast::Hasher::new();
    let mut head = Vec::new();
    let most = match (keep, format, is_image) {
        (Keep::Text | Keep::All, ..) => TEXT,
        (_, Some("matlab"), _) => 256 << 20,
        (_, Some(_), _) => 4 << 20,
        (_, _, true) => 1 << 16,
        _ => 0,
    };
    let bytes = read::each_chunk(&mut content, |chunk| {
        hasher.update(chunk);
        let left = most.saturating_sub(head.len() as u64);
        let kept = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        head.extend_from_slice(chunk.get(..kept).unwrap_or_default());
    })?;
    let seen = PublicFile {
        path: path.to_owned(),
        bytes,
        crc32: hasher.finalize(),
        names: format
            .map(|format| fields::names(format, &mut head.as_slice()))
            .unwrap_or_default(),
        pixels: is_image
            .then(|| ImageHeader::read(head.as_slice()).ok())
            .flatten()
            .map(|image| (u64::from(image.width), u64::from(image.height))),
    };
    Ok((seen, head))
}
