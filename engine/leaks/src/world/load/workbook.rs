//! Reads the sheets of spreadsheets as tables. A spreadsheet is a zip archive: `xl/worksheets/sheet1.xml` contains the
//! cells of a sheet, and `xl/sharedStrings.xml` the texts to which cells refer by number.
//!
//! A library for spreadsheets reads the archive itself. Here its members have already been read, within the limits for
//! texts, and their names, texts and cells are all that is needed.

use std::collections::BTreeMap;

use crate::cells::Cells;
use crate::table::Table;

/// Maximum number of columns of a sheet that are read.
const MAX_COLUMNS: usize = 200;

/// Returns the tables of all sheets among these files, given as path and content.
pub(super) fn tables(texts: &[(String, String)]) -> Vec<(String, Table)> {
    let mut found = Vec::new();
    for (path, text) in texts {
        let Some((book, sheet)) = path.split_once("/xl/worksheets/") else {
            continue;
        };
        let shared = format!("{book}/xl/sharedStrings.xml");
        let shared = texts.iter().find(|(path, _)| *path == shared);
        let shared = shared.map_or(Vec::new(), |(_, text)| strings(text));
        let rows = rows(text, &shared);
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let Some((head, rest)) = rows.split_first().filter(|(_, rest)| !rest.is_empty()) else {
            continue;
        };
        // If the first row looks like the other rows, there is no header.
        let is_number = |cell: &&String| cell.parse::<f64>().is_ok();
        let numbers = |row: &[String]| row.iter().filter(is_number).count();
        let has_header = numbers(head) == 0 && rest.iter().any(|row| numbers(row) > 0);
        let body = if has_header { rest } else { rows.as_slice() };
        let name = |column: usize| match head.get(column).filter(|_| has_header) {
            Some(name) => name.clone(),
            None => format!("column {}", column + 1),
        };
        let cells = |column: usize| -> Cells {
            let cells = body.iter().map(|row| row.get(column));
            cells.map(|cell| cell.map_or("", String::as_str)).collect()
        };
        let names = (0..width).map(name).collect();
        let table = Table::new(names, (0..width).map(cells).collect());
        found.push((format!("{book}/{sheet}"), table));
    }
    found
}

/// Returns the attributes and content of the first element with this name, and the rest of the text.
fn element<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let mut rest = text;
    loop {
        let (_, behind) = rest.split_once('<')?;
        rest = behind;
        let inner = rest
            .strip_prefix(name)
            .filter(|inner| inner.starts_with([' ', '>', '/']));
        let Some(inner) = inner else { continue };
        let (attributes, behind) = inner.split_once('>')?;
        if let Some(attributes) = attributes.strip_suffix('/') {
            return Some((attributes, "", behind));
        }
        let (content, behind) = behind.split_once(&format!("</{name}>"))?;
        return Some((attributes, content, behind));
    }
}

/// Returns the attributes and content of all elements with this name.
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (attributes, content, behind) = element(rest, name)?;
        rest = behind;
        Some((attributes, content))
    })
}

/// Returns the shared texts. A text may consist of several parts with different formats.
fn strings(text: &str) -> Vec<String> {
    let text_of = |content| {
        elements(content, "t")
            .map(|(_, part)| plain(part))
            .collect()
    };
    let items = elements(text, "si");
    items.map(|(_, content)| text_of(content)).collect()
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = attributes.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

fn rows(text: &str, shared: &[String]) -> Vec<Vec<String>> {
    let row = |content: &str| {
        let mut cells: BTreeMap<usize, String> = BTreeMap::new();
        for (attributes, content) in elements(content, "c") {
            let next = cells.last_key_value().map_or(0, |(last, _)| last + 1);
            let column = attribute(attributes, "r").and_then(column).unwrap_or(next);
            let value = element(content, "v").or_else(|| element(content, "t"));
            let value = value.map_or(String::new(), |(_, value, _)| plain(value));
            let is_shared = attribute(attributes, "t") == Some("s");
            let number = value.parse().ok().filter(|_| is_shared);
            let text = number.and_then(|number: usize| shared.get(number).cloned());
            if column < MAX_COLUMNS {
                cells.insert(column, text.unwrap_or(value));
            }
        }
        let width = cells.last_key_value().map_or(0, |(last, _)| last + 1);
        (0..width)
            .map(|column| cells.remove(&column).unwrap_or_default())
            .collect()
    };
    elements(text, "row")
        .map(|(_, content)| row(content))
        .collect()
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
        let found = tables(&texts);
        let (path, table) = &found[0];
        assert_eq!(path, "a.xlsx/sheet1.xml");
        assert_eq!(table.names, ["id", "", "n"]);
        assert_eq!(
            table.columns,
            ["a & b", "", "7"].map(|cell| Cells::from_iter([cell]))
        );
        assert_eq!(column("AA1"), Some(26));
    }
}
