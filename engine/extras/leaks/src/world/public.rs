//! Reads all public files in one pass. Collects tables, texts, arrays, sketches, and the facts of items' own files.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use prep_contents::entries::Entry;
use prep_contents::listing::Listing;
use prep_contents::table::npy::ArrayFile;
use prep_contents::{ContentsError, Format, Resources, Result, TableReader as _, entries, read};
use prep_failure::units;

use super::file::{Keep, MAX_TEXT, see};
use crate::facts::files::{FileProperties, ItemFile};
use crate::facts::{Channel, documents, lines, records};
use crate::finding::{LeaksError, failed};
use crate::series;
use crate::sketch::Gallery;
use crate::statistics::counts;
use crate::table::{CellTexts, ColumnTable};
use crate::text::{ContentKind, file_name, is_train};
use crate::world::{PublicContent, PublicFile, PublicTableFile, World};

/// At most this number of array files is read as tables. If there are more, each of them probably belongs to one item.
const MAX_ARRAYS: usize = 32;

/// If the items' files that were examined together have more bytes than this, the content of further files is not
/// examined.
const MAX_EXAMINED: u64 = 2 << 30;

/// If an item's file has more bytes than this, its content is not examined.
const MAX_ITEM_FILE: u64 = 32 << 20;
/// If an item's text file has more bytes than this, its words do not become facts.
const MAX_ITEM_TEXT: u64 = 1 << 20;

/// Only this number of bytes at the beginning of a TFRecord file is read.
const MAX_RECORDS: u64 = 64 << 20;

/// Maximum total length of all texts in memory, in bytes.
const MAX_ALL_TEXT: u64 = 1 << 30;

/// Memory for tables: this number of bytes, plus [`TABLE_MEMORY_PER_BYTE`] for each byte of the public files on disk.
/// Files with an extreme compression ratio could otherwise use any amount of memory. Texts may use half as much as
/// tables.
const TABLE_MEMORY: u64 = 1 << 28;
const TABLE_MEMORY_PER_BYTE: u64 = 24;

struct Collected<'w> {
    world: &'w World,
    public: &'w Path,
    resources: &'w Resources<'w>,
    content: PublicContent,
    tables: Vec<(String, ColumnTable)>,
    arrays: Vec<(String, Vec<CellTexts>)>,
    /// Number of items' files whose content was not examined, because the file is too large, or
    /// because the content of too many bytes was already examined.
    unexamined: u64,
    place: usize,
    examined_bytes: u64,
    text_left: u64,
    room: u64,
}

impl World {
    pub(super) fn read_public(
        &self,
        public: &Path,
        listing: &Listing,
        resources: &Resources<'_>,
        (memory, threads): (u64, usize),
    ) -> std::result::Result<PublicContent, LeaksError> {
        let on_disk: u64 = listing.files.values().sum();
        let for_tables = TABLE_MEMORY.saturating_add(on_disk.saturating_mul(TABLE_MEMORY_PER_BYTE));
        let mut collected = Collected {
            world: self,
            public,
            resources,
            content: PublicContent {
                gallery: Gallery::new(threads),
                ..PublicContent::default()
            },
            tables: Vec::new(),
            arrays: Vec::new(),
            unexamined: 0,
            place: 0,
            examined_bytes: 0,
            text_left: MAX_ALL_TEXT.min(memory / 4).min(for_tables / 2),
            room: for_tables.min(memory / 2),
        };
        let seen = entries::of_directory_as_stored(public, resources, &mut |entry, content| {
            collected.file(entry, content)
        });
        for (path, exceeded) in seen.map_err(|cause| failed(public, cause))? {
            let message = format!("{path}: not all members were read, because {exceeded}");
            collected.content.unread.push(message);
        }
        Ok(collected.finish())
    }
}

struct CurrentFile<'a> {
    path: &'a str,
    kind: ContentKind,
    seen: &'a PublicFile,
    head: &'a [u8],
    keep: Keep,
    is_item: bool,
    /// The test item to which the file belongs, if the item's facts are collected.
    own: Option<usize>,
}

impl Collected<'_> {
    /// Adds the facts and tables that are known only after all files were read.
    fn finish(mut self) -> PublicContent {
        self.content.gallery.finish();
        self.add_lists();
        self.tables.extend(tables_of_arrays(self.arrays));
        self.tables.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut content = self.content;
        let world = self.world;
        let items = content.files.iter();
        let items = items.filter_map(|file| world.item_of_path(&file.path));
        for (item, count) in counts(items.filter(|item| world.has_facts(*item))) {
            let (what, count) = ("the number of files", count as f64);
            content.facts.number(Channel::Name, what, item, count);
        }
        content.unread.sort();
        if self.unexamined > 0 {
            let (files, most) = (self.unexamined, units::bytes(MAX_EXAMINED));
            content.unread.push(format!(
                "{files} files of test items: only names, lengths and checksums were compared, because the files are too long, or {most} of files were already read"
            ));
        }
        content.texts.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (path, table) in self.tables {
            let (key, items) = self.world.items_in(&table).unzip();
            let key = key.or_else(|| self.world.key_of(&table));
            let cells = key.and_then(|key| table.columns.get(key));
            let of_items = cells.into_iter().flat_map(CellTexts::iter);
            let of_items = of_items.filter(|cell| self.world.item_of.contains_key(*cell));
            content.tables.push(PublicTableFile {
                has_test_items: of_items.count() * 10 >= table.rows(),
                path,
                table,
                items,
                key,
            });
        }
        content
    }

    fn add_lists(&mut self) {
        let read = self.tables.iter();
        let read = read.map(|(path, table)| (path.as_str(), table.names.as_slice()));
        let read: HashMap<&str, &[String]> = read.collect();
        let mut added = Vec::new();
        for (path, text) in &self.content.texts {
            if ContentKind::from_path(path) != ContentKind::Json
                || self.world.item_of_path(path).is_some()
            {
                continue;
            }
            for (inner, table) in documents::lists(text, self.world.ids.len()) {
                // A document with a single list has already been read as a table.
                let is_read = read.get(path.as_str()) == Some(&table.names.as_slice());
                if !is_read && table.memory() <= self.room {
                    self.room -= table.memory();
                    added.push((format!("{path}: {inner}"), table));
                }
            }
        }
        self.tables.extend(added);
    }

    fn file(&mut self, entry: Entry<'_>, content: &mut dyn Read) -> Result<()> {
        let Entry { path, bytes, .. } = entry;
        let format = Format::from_path(path).filter(|format| match format {
            Format::Lines => false,
            Format::Array => self.arrays.len() < MAX_ARRAYS,
            _ => !path.starts_with("description."),
        });
        // An archive member that is a table is copied to a file, because a table is read more than once.
        let place = self.public.join(path);
        let is_loose = place.is_file();
        let taken = match format.is_some() && !is_loose {
            true => Some(read::spool(content, self.resources)?),
            false => None,
        };
        let place = taken.as_ref().map_or(place, |taken| taken.to_path_buf());
        let item = self.world.item_of_path(path);
        let own = item.filter(|item| self.world.has_facts(*item));
        self.place += 1;
        let is_trained = item.is_none() && is_train(path);
        let known = (own.is_some() || is_trained).then(|| FileProperties {
            position: self.place,
            ..file_properties(&entry, is_loose.then_some(place.as_path()))
        });
        let keep = self.keep(path, bytes, item.is_some(), own);
        let (seen, head) = {
            let at = ContentsError::system_error(&place);
            match &taken {
                Some(_) => see(path, &mut File::open(&place).map_err(&at)?, keep),
                None => see(path, content, keep),
            }
            .map_err(&at)?
        };
        let current = CurrentFile {
            path,
            kind: ContentKind::from_path(path),
            seen: &seen,
            head: &head,
            keep,
            is_item: item.is_some(),
            own,
        };
        if let Some(known) = known {
            self.add_item_facts(&current, &known);
            if is_trained {
                self.content.trained.add(path, &head, known.time);
            }
        }
        self.add_records(&current);
        self.add_opaque_file(&current);
        let is_text_kept = self.add_text(&current);
        self.add_sketch(&current);
        let (kind, bytes) = (current.kind, seen.bytes);
        self.content.files.push(seen);
        if format == Some(Format::Array) {
            self.add_array(path, &place);
            return Ok(());
        }
        // A table can be read even if its text was not kept, because tables are read row by row.
        let is_text_lost = kind.is_text() && !is_text_kept && format.is_none();
        let is_table_lost = !self.add_table(path, &place, format)?;
        if is_text_lost || is_table_lost {
            self.content
                .unread
                .push(format!("{path}: {}", units::bytes(bytes)));
        }
        Ok(())
    }

    fn keep(&mut self, path: &str, bytes: u64, is_item: bool, own: Option<usize>) -> Keep {
        let kind = ContentKind::from_path(path);
        let is_part = is_item || is_train(path);
        let is_sketched = is_part && self.content.gallery.wing(is_item).wants(path, bytes);
        if kind.is_text() && bytes <= MAX_TEXT.min(self.text_left) {
            return Keep::Text;
        }
        let is_searched = kind == ContentKind::Opaque && !is_part && bytes <= MAX_TEXT;
        if is_sketched || kind == ContentKind::Records || is_searched {
            return Keep::All;
        }
        match own {
            Some(_) if bytes <= MAX_ITEM_FILE && self.examined_bytes <= MAX_EXAMINED => Keep::All,
            Some(_) => {
                self.unexamined += 1;
                Keep::Head
            }
            None => Keep::Head,
        }
    }

    fn add_item_facts(&mut self, current: &CurrentFile<'_>, known: &FileProperties) {
        let (path, seen, head) = (current.path, current.seen, current.head);
        let Some(item) = current.own else { return };
        let id = self.world.ids.get(item).map_or("", String::as_str);
        let facts = &mut self.content.facts;
        let mut file = ItemFile::new(path, named_in(path, id), item, facts);
        file.add_path();
        file.add_properties(seen.bytes, known);
        if let Some(pixels) = seen.pixels {
            file.add_pixels(pixels);
        }
        if current.keep != Keep::Head && seen.bytes <= MAX_ITEM_FILE {
            self.examined_bytes += seen.bytes;
            file.add_content(head);
        }
        if current.keep == Keep::Text && seen.bytes <= MAX_ITEM_TEXT {
            let text = String::from_utf8_lossy(head);
            let (kind, facts) = (file.kind(), file.facts);
            match current.kind {
                ContentKind::Json => documents::collect_item(&kind, &text, item, facts),
                ContentKind::Markup => {
                    let lines = lines::lines_of_markup(&text);
                    lines::collect_item(&kind, &lines, item, facts);
                }
                _ => lines::collect_item(&kind, &text, item, facts),
            }
        }
    }

    fn add_records(&mut self, current: &CurrentFile<'_>) {
        if current.kind != ContentKind::Records {
            return;
        }
        let most = usize::try_from(MAX_RECORDS).unwrap_or(usize::MAX);
        let head = current.head.get(..most).unwrap_or(current.head);
        let world = self.world;
        let item_of = |text: &str| world.item_of_name(text);
        records::collect_examples(current.path, head, &item_of, &mut self.content.facts);
        if current.seen.bytes > MAX_RECORDS {
            let (path, bytes) = (current.path, units::bytes(current.seen.bytes));
            let read = units::bytes(MAX_RECORDS);
            let what = format!("{path}: {bytes}, of which the first {read} were read");
            self.content.unread.push(what);
        }
    }

    /// Adds facts from the strings of a file in a format without a reader. Does nothing if the file belongs to an item.
    fn add_opaque_file(&mut self, current: &CurrentFile<'_>) {
        let CurrentFile { path, seen, .. } = *current;
        let is_opaque = matches!(current.kind, ContentKind::Opaque | ContentKind::Matlab);
        if !is_opaque || current.is_item || is_train(path) {
            return;
        }
        let (world, facts) = (self.world, &mut self.content.facts);
        let item_of = |text: &str| world.item_in_text(text);
        let is_searched = current.keep == Keep::All && seen.bytes <= MAX_TEXT;
        let note = match plain_text(current.head) {
            _ if !is_searched => "",
            Some(text) => {
                lines::collect(path, text, &item_of, facts);
                lines::collect_encoded(path, text, &item_of, facts);
                return;
            }
            None => {
                lines::collect_strings(path, current.head, world.shortest, &item_of, facts);
                ", only its strings were searched"
            }
        };
        let bytes = units::bytes(seen.bytes);
        self.content.unread.push(format!("{path}: {bytes}{note}"));
    }

    /// Keeps the text of a file in memory, unless it is too long. Returns whether the text was kept.
    fn add_text(&mut self, current: &CurrentFile<'_>) -> bool {
        let bytes = current.seen.bytes;
        // Check the length again, because it may not have been known before the file was read.
        let is_kept = current.keep == Keep::Text && bytes <= MAX_TEXT.min(self.text_left);
        if is_kept {
            self.text_left = self.text_left.saturating_sub(bytes);
            let text = String::from_utf8_lossy(current.head).into_owned();
            self.content.texts.push((current.path.to_owned(), text));
        }
        is_kept
    }

    /// Sketches a file of either part, and adds the features of a series.
    fn add_sketch(&mut self, current: &CurrentFile<'_>) {
        let (path, seen, head) = (current.path, current.seen, current.head);
        if current.keep == Keep::Head || !current.is_item && !is_train(path) {
            return;
        }
        let columns = series::columns(path, head);
        let wing = self.content.gallery.wing(current.is_item);
        if wing.wants(path, seen.bytes) && (current.keep == Keep::All || columns.is_some()) {
            let pixels = seen.pixels.map(|(width, height)| width * height);
            wing.add(path, seen.content, head, pixels);
        }
        if let (Some(item), Some(columns)) = (current.own, columns) {
            for (name, value) in series::summary(&columns) {
                self.content.facts.number(Channel::Look, &name, item, value);
            }
        }
    }

    /// Reads an array. If the array is too large, or is neither in an `.npz` file nor has one row per item, adds no
    /// columns.
    fn add_array(&mut self, path: &str, place: &Path) {
        let limits = &self.resources.limits;
        let header = ArrayFile::open(place, limits).ok();
        let is_narrow = header.is_some_and(|array| array.columns().len() <= MAX_COLUMNS);
        let read =
            || ColumnTable::read(place, Format::Array, limits, self.room / 4, &|_| false).ok();
        let table = is_narrow.then(read).flatten();
        let table = table.filter(|table| {
            let is_read = path.contains(".npz/") || table.rows() == self.world.ids.len();
            is_read && !table.is_sample()
        });
        let columns = table.map(|table| table.columns).unwrap_or_default();
        self.arrays.push((path.to_owned(), columns));
    }

    /// Reads a table. Returns false only if the table is too large. `format` is `None` if the file's name is not the name
    /// of a table.
    fn add_table(&mut self, path: &str, place: &Path, format: Option<Format>) -> Result<bool> {
        let Some(format) = format else {
            return Ok(true);
        };
        let limits = &self.resources.limits;
        let world = self.world;
        let item_of = |cell: &str| world.item_of.get(cell);
        let is_wanted = |cell: &str| item_of(cell).is_some_and(|item| world.has_facts(*item));
        // A single table may use only half of the remaining memory.
        match ColumnTable::read(place, format, limits, self.room / 2, &is_wanted) {
            Err(error) if error.is_of_the_system() => return Err(error),
            // A file that is not a table in spite of its name is skipped.
            Err(error) => return Ok(!matches!(error, ContentsError::Limit(_))),
            Ok(table) if table.names.len() > 1 && table.rows() > 0 => {
                if table.is_sample() {
                    let (rows, all) = (table.rows(), table.all_rows);
                    let what = format!("{path}: only {rows} of {all} rows were read");
                    self.content.unread.push(what);
                }
                self.room = self.room.saturating_sub(table.memory());
                self.tables.push((path.to_owned(), table));
            }
            Ok(_) => {}
        }
        Ok(true)
    }
}

/// An array with more columns than this is not read as a table.
const MAX_COLUMNS: usize = 64;

/// Combines arrays into tables. Arrays of the same length in an `.npz` file become one table, because ids and labels are
/// often stored in this form.
fn tables_of_arrays(arrays: Vec<(String, Vec<CellTexts>)>) -> Vec<(String, ColumnTable)> {
    let mut files: BTreeMap<String, (Vec<String>, Vec<CellTexts>)> = BTreeMap::new();
    for (path, columns) in arrays {
        let (file, member) = match path.split_once(".npz/") {
            Some((file, member)) => (format!("{file}.npz"), member.trim_end_matches(".npy")),
            None => (path.clone(), ""),
        };
        let (names, cells) = files.entry(file).or_default();
        for (place, column) in columns.into_iter().enumerate() {
            if cells
                .first()
                .is_none_or(|first| first.len() == column.len())
            {
                let name = match (place, member) {
                    (0, member) if !member.is_empty() => member.to_owned(),
                    _ => format!("{member} column {}", place + 1),
                };
                names.push(name.trim_start().to_owned());
                cells.push(column);
            }
        }
    }
    let tables = files.into_iter();
    let tables = tables.map(|(path, (names, cells))| (path, ColumnTable::new(names, cells)));
    tables.filter(|(_, table)| table.rows() > 0).collect()
}

fn plain_text(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content).ok()?;
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    text.chars().all(is_plain).then_some(text)
}

/// Returns the properties that are known before the file is opened. `place` is the file's path, or `None` for a member of
/// an archive.
fn file_properties(entry: &Entry<'_>, place: Option<&Path>) -> FileProperties {
    let metadata = place.and_then(|place| place.metadata().ok());
    let of_disk = metadata.map(|metadata| {
        let time = metadata.mtime() as f64 + metadata.mtime_nsec() as f64 * 1e-9;
        (time, format!("permissions {:o}", metadata.mode() & 0o7777))
    });
    let of_archive = entry.stored;
    let of_archive = of_archive.map(|stored| (stored.time, stored.form.clone()));
    let (time, packing) = of_archive.or(of_disk).unzip();
    FileProperties {
        position: 0,
        time,
        packing,
    }
}

/// Returns the part of a path that identifies an item: its id, or a part of the id.
pub(crate) fn named_in<'a>(path: &str, id: &'a str) -> &'a str {
    if path.contains(id) {
        return id;
    }
    let name = file_name(id);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if path.contains(stem) { stem } else { "" }
}
