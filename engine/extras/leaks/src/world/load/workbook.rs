//! Reads the sheets of spreadsheets as tables. A spreadsheet is a zip archive: `xl/worksheets/sheet1.xml` contains the
//! cells of a sheet, and `xl/sharedStrings.xml` the texts to which cells refer by number.
//!
//! A library for spreadsheets reads the archive itself. Here its members have already been read, within the limits for
//! texts, and their names, texts and cells are all that is needed.

use std::collections::HashMap;

use crate::cells::Cells;
use crate::table::{CELL_BYTES, Table};
use crate::xml::{self, Part, Tag};

/// Maximum number of columns of a sheet that are read.
const MAX_COLUMNS: usize = 200;

/// The tables of all sheets.
#[derive(Default)]
pub(super) struct Workbooks {
    pub tables: Vec<(String, Table)>,
    /// The paths of sheets that are not read entirely, because they need too much memory.
    pub shortened: Vec<String>,
}

/// Returns the tables of all sheets among these files, given as path and content. A sheet may need half of the
/// remaining `room` bytes: a cell takes few bytes in its file, and refers to a text of any length.
pub(super) fn tables(texts: &[(String, String)], mut room: u64) -> Workbooks {
    let mut found = Workbooks::default();
    let mut books: HashMap<&str, Cells> = HashMap::new();
    for (path, text) in texts {
        if let Some(book) = path.strip_suffix("/xl/sharedStrings.xml") {
            books.insert(book, shared_texts(text));
        }
    }
    for (path, text) in texts {
        let Some((book, name)) = path.split_once("/xl/worksheets/") else {
            continue;
        };
        let sheet = Sheet::read(text, books.get(book), room / 2);
        let path = format!("{book}/{name}");
        if sheet.is_full {
            found.shortened.push(path.clone());
        }
        if let Some(table) = sheet.into_table() {
            room = room.saturating_sub(table.memory());
            found.tables.push((path, table));
        }
    }
    found
}

/// Returns the shared texts. A text may consist of several parts with different formats.
fn shared_texts(document: &str) -> Cells {
    let (mut texts, mut item, mut is_text) = (Cells::default(), String::new(), false);
    xml::walk(document, &mut |part| match part {
        Part::Begin(tag) => {
            is_text = xml::local(tag.name()) == "t" && !tag.is_empty;
            if xml::local(tag.name()) == "si" && tag.is_empty {
                texts.push("");
            }
        }
        Part::Text(text) if is_text => item.push_str(text),
        Part::End(name) => {
            is_text = false;
            if xml::local(name) == "si" {
                texts.push(&item);
                item.clear();
            }
        }
        Part::Text(_) => {}
    });
    texts
}

/// The cells of a sheet.
struct Sheet<'a> {
    shared: Option<&'a Cells>,
    columns: Vec<Cells>,
    /// The number of rows, including the current one.
    rows: usize,
    /// The total length of all cells in bytes.
    bytes: u64,
    /// The maximum memory of all cells, and whether more cells exist.
    room: u64,
    is_full: bool,
    /// The column of the next cell that does not name its column.
    next: usize,
    cell: Cell,
}

/// The current cell.
#[derive(Default)]
struct Cell {
    column: usize,
    is_shared: bool,
    /// The element whose text follows.
    element: Element,
    value: String,
}

#[derive(Default, PartialEq, Clone, Copy)]
enum Element {
    #[default]
    Other,
    Value,
    InlineText,
}

impl Sheet<'_> {
    fn read<'a>(document: &str, shared: Option<&'a Cells>, room: u64) -> Sheet<'a> {
        let mut sheet = Sheet {
            shared,
            columns: Vec::new(),
            rows: 0,
            bytes: 0,
            room,
            is_full: false,
            next: 0,
            cell: Cell::default(),
        };
        xml::walk(document, &mut |part| {
            match part {
                Part::Begin(tag) => sheet.begin(&tag),
                Part::Text(text) if sheet.cell.element != Element::Other => {
                    sheet.cell.value.push_str(text);
                }
                Part::End(name) => {
                    sheet.cell.element = Element::Other;
                    if xml::local(name) == "c" {
                        sheet.add_cell();
                    }
                }
                Part::Text(_) => {}
            };
        });
        sheet
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        let attribute = |name| {
            let mut attributes = tag.attributes();
            attributes.find_map(|(key, value)| (key == name).then_some(value))
        };
        self.cell.element = match xml::local(tag.name()) {
            "v" => Element::Value,
            "t" => Element::InlineText,
            _ => Element::Other,
        };
        match xml::local(tag.name()) {
            "row" if self.has_room(self.rows + 1, self.columns.len(), 0) => {
                self.rows += 1;
                self.next = 0;
            }
            "c" => {
                let place = attribute("r").and_then(|name| column(&name));
                self.cell.column = place.unwrap_or(self.next);
                self.cell.is_shared = attribute("t").as_deref() == Some("s");
                self.cell.value.clear();
                self.next = self.cell.column.saturating_add(1);
                if tag.is_empty {
                    self.add_cell();
                }
            }
            _ => {}
        }
    }

    /// Returns whether there is memory for this number of rows and columns, with `bytes` more bytes of text.
    fn has_room(&mut self, rows: usize, columns: usize, bytes: usize) -> bool {
        let cells = (rows as u64).saturating_mul(columns as u64);
        let memory = cells.saturating_mul(CELL_BYTES) + self.bytes + bytes as u64;
        self.is_full |= memory > self.room;
        !self.is_full
    }

    fn add_cell(&mut self) {
        let value = std::mem::take(&mut self.cell.value);
        let number = value.parse().ok().filter(|_| self.cell.is_shared);
        let shared = number.and_then(|number| self.shared?.get(number));
        let text = shared.unwrap_or(&value);
        let (bytes, column) = (text.len(), self.cell.column);
        let columns = self.columns.len().max(column + 1);
        if column >= MAX_COLUMNS || !self.has_room(self.rows, columns, bytes) {
            return;
        }
        self.columns.resize_with(columns, Cells::default);
        if let (Some(cells), Some(row)) = (self.columns.get_mut(column), self.rows.checked_sub(1))
            && cells.len() <= row
        {
            cells.fill_up_to(row);
            cells.push(text);
            self.bytes += bytes as u64;
        }
    }

    /// Returns the table, unless it is empty.
    fn into_table(mut self) -> Option<Table> {
        if self.rows < 2 || self.columns.is_empty() {
            return None;
        }
        for cells in &mut self.columns {
            cells.fill_up_to(self.rows);
        }
        // If the first row looks like the other rows, there is no header.
        let is_number = |cell: &str| cell.parse::<f64>().is_ok();
        let mut columns = self.columns.iter();
        let has_header = !columns
            .clone()
            .any(|cells| cells.get(0).is_some_and(is_number))
            && columns.any(|cells| cells.iter().any(is_number));
        let numbered = self.columns.iter().enumerate();
        let names = numbered.map(
            |(column, cells)| match cells.get(0).filter(|_| has_header) {
                Some(name) => name.to_owned(),
                None => format!("column {}", column + 1),
            },
        );
        let names = names.collect();
        if has_header {
            let mut is_kept = vec![true; self.rows];
            is_kept.iter_mut().take(1).for_each(|first| *first = false);
            for cells in &mut self.columns {
                *cells = cells.of_rows(&is_kept);
            }
        }
        Some(Table::new(names, self.columns))
    }
}

/// Returns the column index of a cell name: 1 for `B7`.
fn column(name: &str) -> Option<usize> {
    let letters = name.bytes().take_while(u8::is_ascii_uppercase);
    let number = letters.fold(0_usize, |sum, letter| {
        sum.saturating_mul(26)
            .saturating_add(usize::from(letter - b'A') + 1)
    });
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_refer_to_shared_texts() {
        let texts = [
            (
                "a.xlsx/xl/sharedStrings.xml".to_owned(),
                "<sst><si><t>id</t></si><si><r><t>a &amp; </t></r><r><t xml:space=\"preserve\">b</t></r></si></sst>".to_owned(),
            ),
            (
                "a.xlsx/xl/worksheets/sheet1.xml".to_owned(),
                "<sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"C1\" t=\"inlineStr\"><is><t>n</t></is></c></row><row><c r=\"A2\" t=\"s\"><v>1</v></c><c r=\"C2\"><v>7</v></c></row></sheetData>".to_owned(),
            ),
        ];
        let found = tables(&texts, 1 << 20);
        assert!(found.shortened.is_empty());
        let (path, table) = &found.tables[0];
        assert_eq!(path, "a.xlsx/sheet1.xml");
        assert_eq!(table.names, ["id", "", "n"]);
        assert_eq!(
            table.columns,
            ["a & b", "", "7"].map(|cell| Cells::from_iter([cell]))
        );
        assert_eq!(column("AA1"), Some(26));
    }

    /// A cell takes a few bytes in its file, whatever the length of its text.
    #[test]
    fn repeated_shared_texts_and_empty_rows_stay_within_the_memory() {
        let shared = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(100_000));
        let cells = "<row><c t=\"s\"><v>0</v></c></row>".repeat(1000);
        let rows = "<row/>".repeat(100_000) + "<row><c r=\"GR1\"><v>1</v></c></row>";
        for sheet in [cells, rows] {
            let texts = [
                ("a.xlsx/xl/sharedStrings.xml".to_owned(), shared.clone()),
                ("a.xlsx/xl/worksheets/sheet1.xml".to_owned(), sheet),
            ];
            let found = tables(&texts, 2 << 20);
            assert_eq!(found.shortened, ["a.xlsx/sheet1.xml"]);
            let tables = found.tables.iter();
            assert!(tables.map(|(_, table)| table.memory()).sum::<u64>() <= 1 << 20);
        }
    }
}
