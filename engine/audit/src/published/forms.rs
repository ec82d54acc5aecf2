//! Finds the form in which a CSV file has the published MD5. A form is a way to write the same rows, for example with
//! other quotes or line endings. One pass over the rows renders and hashes all forms.

use std::path::Path;

use md5::{Digest as _, Md5};
use prep_contents::table::CsvTable;
use prep_contents::{ContentsError, DecodingLimits, Format, Result, Row, TableReader};
use prep_formats::pandas::{FloatParser, parse_f64, push_f64, push_quoted};

use crate::causes::Cause;
use crate::read::hex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Minimal,
    NonNumeric,
    All,
}

/// A form of the file, described by its differences from the form in which `prep` writes CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    byte_order_mark: bool,
    crlf: bool,
    index: bool,
    quotes: Quotes,
    /// Column whose missing cells are written as `missing`. `usize::MAX` means all columns.
    missing_in: Option<usize>,
    missing: &'static str,
    /// Booleans are written in upper case, as spreadsheets do.
    upper_booleans: bool,
    /// Numbers are written as the default parser of pandas before 3.1 would read them from the prepared file.
    fast_floats: bool,
    no_final_newline: bool,
    order: Order,
    /// Name of the column in `missing_in` or `order`, for the description.
    column: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Same,
    /// Sorted by this column. Ascending if `true`.
    Sorted(usize, bool),
    Reversed,
}

/// Approximate maximum number of bytes to render in total. In larger files, the audit tries fewer columns as sort keys, and
/// other words for missing cells in fewer columns.
const MAX_RENDERED_BYTES: u64 = 64 << 30;
/// Approximate memory for sorting rows, in bytes per byte of the file.
const ROW_MEMORY: u64 = 4;

impl Rendering {
    pub(super) fn plain() -> Rendering {
        Rendering {
            byte_order_mark: false,
            crlf: false,
            index: false,
            quotes: Quotes::Minimal,
            missing_in: None,
            missing: "None",
            upper_booleans: false,
            fast_floats: false,
            no_final_newline: false,
            order: Order::Same,
            column: String::new(),
        }
    }

    /// Returns the cause of the most specific difference.
    pub fn cause(&self) -> Cause {
        match self {
            _ if self.order != Order::Same => Cause::RowOrder,
            _ if self.fast_floats => Cause::FloatLastDigit,
            _ if self.missing_in.is_some() => Cause::MissingWords,
            _ if self.upper_booleans => Cause::BooleanWords,
            _ if self.index => Cause::IndexColumn,
            _ if self.quotes != Quotes::Minimal => Cause::Quoting,
            _ if self.byte_order_mark => Cause::ByteOrderMark,
            _ if self.no_final_newline => Cause::FinalNewline,
            _ => Cause::LineEnds,
        }
    }

    /// Describes all differences from the form in which `prep` wrote the file.
    pub fn description(&self) -> String {
        let mut words = Vec::new();
        if self.byte_order_mark {
            words.push("with a byte order mark".to_owned());
        }
        if self.crlf {
            words.push("lines end in CR LF".to_owned());
        }
        if self.no_final_newline {
            words.push("without a line break at the end".to_owned());
        }
        if self.index {
            words.push("with an index column".to_owned());
        }
        match self.quotes {
            Quotes::Minimal => {}
            Quotes::NonNumeric => words.push("all fields except numbers are quoted".to_owned()),
            Quotes::All => words.push("all fields are quoted".to_owned()),
        }
        let missing = self.missing;
        match self.missing_in {
            None => {}
            Some(usize::MAX) => words.push(format!("`{missing}` for all missing values")),
            Some(_) => words.push(format!(
                "`{missing}` for missing values in `{}`",
                self.column
            )),
        }
        if self.upper_booleans {
            words.push("`TRUE` and `FALSE` for booleans".to_owned());
        }
        if self.fast_floats {
            words.push("numbers as read by the default parser of pandas before 3.1".to_owned());
        }
        match self.order {
            Order::Same => {}
            Order::Reversed => words.push("rows in reverse order".to_owned()),
            Order::Sorted(_, rising) => {
                let direction = if rising { "ascending" } else { "descending" };
                words.push(format!("rows sorted by `{}`, {direction}", self.column));
            }
        }
        words.join(", ")
    }

    pub(super) fn header(&self, columns: &[String]) -> Vec<u8> {
        let mut line = Vec::new();
        if self.byte_order_mark {
            line.extend_from_slice(b"\xef\xbb\xbf");
        }
        if self.index {
            if self.quotes != Quotes::Minimal {
                line.extend_from_slice(b"\"\"");
            }
            line.push(b',');
        }
        for (place, name) in columns.iter().enumerate() {
            if place > 0 {
                line.push(b',');
            }
            self.field(name.as_bytes(), false, &mut line);
        }
        self.end(&mut line);
        line
    }

    /// Renders the row with the index `number`. `is_number` marks columns that contain only numbers.
    pub(super) fn row(&self, number: u64, row: &Row, is_number: &[bool], line: &mut Vec<u8>) {
        line.clear();
        if self.index {
            let number = number.to_string();
            self.field(number.as_bytes(), true, line);
            line.push(b',');
        }
        for place in 0..row.len() {
            if place > 0 {
                line.push(b',');
            }
            let mut cell = row.cell(place);
            let numeric = is_number.get(place).copied().unwrap_or_default();
            if cell.is_empty()
                && self
                    .missing_in
                    .is_some_and(|column| column == usize::MAX || column == place)
            {
                cell = self.missing.as_bytes();
            }
            if self.upper_booleans {
                cell = match cell {
                    b"True" => b"TRUE",
                    b"False" => b"FALSE",
                    cell => cell,
                };
            }
            let mut printed = Vec::new();
            if self.fast_floats
                && cell.contains(&b'.')
                && let Some(value) = parse_f64(cell, FloatParser::Fast)
            {
                push_f64(&mut printed, value);
                cell = &printed;
            }
            self.field(cell, numeric, line);
        }
        self.end(line);
    }

    fn end(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(if self.crlf { b"\r\n" } else { b"\n" });
    }

    fn field(&self, cell: &[u8], is_number: bool, line: &mut Vec<u8>) {
        let special =
            |byte: &u8| matches!(byte, b',' | b'"' | b'\n') || (self.crlf && *byte == b'\r');
        let quoted = match self.quotes {
            Quotes::All => true,
            Quotes::NonNumeric => !is_number || cell.is_empty(),
            Quotes::Minimal => false,
        };
        match quoted || cell.iter().any(special) {
            true => push_quoted(line, cell),
            false => line.extend_from_slice(cell),
        }
    }
}

pub(super) fn search(
    path: &Path,
    format: Format,
    md5: &str,
    limits: &DecodingLimits,
) -> Result<Option<Rendering>> {
    let table = match format {
        Format::Csv(delimiter) => CsvTable::open(path, delimiter, limits)?,
        _ => CsvTable::lines(path, limits)?,
    };
    let length = path
        .metadata()
        .map_err(ContentsError::system_error(path))?
        .len();
    let at_most = usize::try_from(MAX_RENDERED_BYTES / length.max(1)).unwrap_or(usize::MAX);
    let is_table = matches!(format, Format::Csv(b','));
    let columns = match format {
        Format::Lines => &[],
        _ => table.columns(),
    };
    let (is_number, has_gaps) = column_kinds(&table)?;
    let candidates = candidates(columns, &has_gaps, is_table, at_most);
    let mut running: Vec<(Rendering, Md5, Vec<u8>)> = candidates
        .into_iter()
        .map(|rendering| {
            let mut hasher = Md5::new();
            let mut held = if columns.is_empty() {
                Vec::new()
            } else {
                rendering.header(columns)
            };
            if !rendering.no_final_newline {
                hasher.update(&held);
                held.clear();
            }
            (rendering, hasher, held)
        })
        .collect();
    let (mut rows, mut row) = (table.rows()?, Row::default());
    let (mut number, mut line) = (0, Vec::new());
    while rows.next(&mut row)? {
        for (rendering, hasher, held) in &mut running {
            rendering.row(number, &row, &is_number, &mut line);
            if rendering.no_final_newline {
                hasher.update(&held);
                held.clone_from(&line);
            } else {
                hasher.update(&line);
            }
        }
        number += 1;
    }
    drop(rows);
    for (rendering, mut hasher, held) in running {
        let held = held.strip_suffix(b"\n").unwrap_or_default();
        hasher.update(held.strip_suffix(b"\r").unwrap_or(held));
        if hex(hasher).eq_ignore_ascii_case(md5) {
            return Ok(Some(rendering));
        }
    }
    if is_table && length.saturating_mul(ROW_MEMORY) <= limits.record {
        return search_orders(&table, &is_number, md5, at_most);
    }
    Ok(None)
}

/// Returns, for each column, whether it contains only numbers, and whether it has missing cells.
fn column_kinds(table: &CsvTable) -> Result<(Vec<bool>, Vec<bool>)> {
    let width = table.columns().len();
    let (mut is_number, mut has_gaps) = (vec![true; width], vec![false; width]);
    let (mut rows, mut row) = (table.rows()?, Row::default());
    while rows.next(&mut row)? {
        for (place, (number, gaps)) in is_number.iter_mut().zip(&mut has_gaps).enumerate() {
            let cell = row.cell(place);
            *gaps |= cell.is_empty();
            *number &= cell.is_empty() || parse_f64(cell, FloatParser::RoundTrip).is_some();
        }
    }
    Ok((is_number, has_gaps))
}

/// Returns the forms that are tried, except other orders of rows. Other words for missing cells are tried in at most
/// `at_most` columns.
fn candidates(
    columns: &[String],
    has_gaps: &[bool],
    is_table: bool,
    at_most: usize,
) -> Vec<Rendering> {
    let mut all = Vec::new();
    let quotes: &[Quotes] = if is_table {
        &[Quotes::Minimal, Quotes::NonNumeric, Quotes::All]
    } else {
        &[Quotes::Minimal]
    };
    for byte_order_mark in [false, true] {
        for crlf in [false, true] {
            for index in [false, true] {
                for quotes in quotes.iter().copied() {
                    if !index || is_table {
                        all.push(Rendering {
                            byte_order_mark,
                            crlf,
                            index,
                            quotes,
                            ..Rendering::plain()
                        });
                    }
                }
            }
            all.push(Rendering {
                byte_order_mark,
                crlf,
                no_final_newline: true,
                ..Rendering::plain()
            });
            if is_table {
                let same = || Rendering {
                    byte_order_mark,
                    crlf,
                    ..Rendering::plain()
                };
                all.push(Rendering {
                    fast_floats: true,
                    ..same()
                });
                all.push(Rendering {
                    upper_booleans: true,
                    ..same()
                });
                if has_gaps.contains(&true) {
                    all.push(Rendering {
                        missing_in: Some(usize::MAX),
                        missing: "NaN",
                        ..same()
                    });
                }
            }
        }
    }
    if is_table {
        let gaps: Vec<usize> = (0..has_gaps.len())
            .filter(|place| has_gaps.get(*place) == Some(&true))
            .take(at_most)
            .collect();
        for place in gaps
            .iter()
            .copied()
            .chain((gaps.len() > 1).then_some(usize::MAX))
        {
            let column = columns.get(place).cloned().unwrap_or_default();
            for missing in ["None", "NaN"] {
                all.push(Rendering {
                    missing_in: Some(place),
                    missing,
                    column: column.clone(),
                    ..Rendering::plain()
                });
            }
        }
    }
    all
}

fn search_orders(
    table: &CsvTable,
    is_number: &[bool],
    md5: &str,
    at_most: usize,
) -> Result<Option<Rendering>> {
    let (mut rows, mut row) = (table.rows()?, Row::default());
    let mut all = Vec::new();
    while rows.next(&mut row)? {
        all.push(row.clone());
    }
    let plain = Rendering::plain();
    let mut places: Vec<usize> = (0..all.len()).collect();
    let mut orders = vec![(Order::Reversed, String::new())];
    for (place, name) in table.columns().iter().enumerate().take(at_most) {
        orders.extend([true, false].map(|rising| (Order::Sorted(place, rising), name.clone())));
    }
    for (order, column) in orders {
        places.sort_unstable();
        match order {
            Order::Same => {}
            Order::Reversed => places.reverse(),
            Order::Sorted(column, rising) => {
                let numeric = is_number.get(column).copied().unwrap_or_default();
                let cell =
                    |place: &usize| all.get(*place).map_or(&[] as &[u8], |row| row.cell(column));
                let value = |place: &usize| {
                    parse_f64(cell(place), FloatParser::RoundTrip).unwrap_or(f64::INFINITY)
                };
                places.sort_by(|a, b| {
                    let rising_order = match numeric {
                        true => value(a).total_cmp(&value(b)),
                        false => cell(a).cmp(cell(b)),
                    };
                    if rising {
                        rising_order
                    } else {
                        rising_order.reverse()
                    }
                });
            }
        }
        let mut hasher = Md5::new();
        let mut line = plain.header(table.columns());
        hasher.update(&line);
        for place in &places {
            if let Some(row) = all.get(*place) {
                plain.row(0, row, is_number, &mut line);
                hasher.update(&line);
            }
        }
        if hex(hasher).eq_ignore_ascii_case(md5) {
            return Ok(Some(Rendering {
                order,
                column,
                ..plain
            }));
        }
    }
    Ok(None)
}
