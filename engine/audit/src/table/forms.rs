//! Differences of the form of files with equal values.

use std::collections::HashSet;

use prep_contents::TableReader;
use prep_contents::table::{ArrayFile, CsvDialect, Encoding, ParquetFile, Records};
use prep_failure::QuotedValue;

use crate::causes::{rows, text, writer};
use crate::finding::AuditFinding;

pub(super) fn of_text(path: &str, theirs: &CsvDialect, ours: &CsvDialect) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    let mut add = |cause, count: u64, example: String| {
        found.push(AuditFinding::new(cause, path).rows(count).example(example));
    };
    if theirs.line_end() != ours.line_end()
        && theirs.line_end() != "none"
        && ours.line_end() != "none"
    {
        let lines = theirs.crlf + theirs.lf + theirs.cr;
        add(
            &text::LINE_ENDS,
            lines,
            format!("{} there, {} here", theirs.line_end(), ours.line_end()),
        );
    }
    let wide = |form: &CsvDialect| matches!(form.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
    if theirs.byte_order_mark != ours.byte_order_mark && !wide(theirs) && !wide(ours) {
        let there = if theirs.byte_order_mark {
            "there"
        } else {
            "here"
        };
        add(
            &text::BYTE_ORDER_MARK,
            0,
            format!("the bytes EF BB BF, only {there}"),
        );
    }
    if theirs.encoding != ours.encoding {
        let (theirs, ours) = (theirs.encoding.name(), ours.encoding.name());
        add(&text::ENCODING, 0, format!("{theirs} there, {ours} here"));
    }
    if theirs.delimiter != ours.delimiter {
        let name = |delimiter: u8| QuotedValue(&char::from(delimiter).to_string()).to_string();
        add(
            &text::DELIMITER,
            0,
            format!(
                "{} there, {} here",
                name(theirs.delimiter),
                name(ours.delimiter)
            ),
        );
    }
    if theirs.needless_quotes != ours.needless_quotes {
        let (theirs, ours) = (theirs.needless_quotes, ours.needless_quotes);
        add(
            &text::QUOTING,
            0,
            format!("{theirs} cells that need no quotes have them there, {ours} here"),
        );
    }
    if theirs.final_newline != ours.final_newline {
        let there = if theirs.final_newline {
            "there"
        } else {
            "here"
        };
        add(
            &text::FINAL_NEWLINE,
            0,
            format!("the last line ends only {there}"),
        );
    }
    found
}

/// Called for files of different bytes; `rows` is set if all values are equal in order.
pub(super) fn of_parquet(
    path: &str,
    theirs: &ParquetFile,
    ours: &ParquetFile,
    equal: Option<u64>,
) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    let own: HashSet<&String> = ours.columns().iter().collect();
    let both = theirs
        .columns()
        .iter()
        .filter(|column| own.contains(column));
    let mut types = AuditFinding::new(&rows::COLUMN_TYPES, path);
    let mut changed = 0;
    for column in both {
        if let (Some(there), Some(here)) = (theirs.type_of(column), ours.type_of(column))
            && there != here
        {
            changed += 1;
            types = types.example(format!("`{column}` is {there} there, {here} here"));
        }
    }
    if changed > 0 {
        found.push(types.proof(format!("{changed} columns")));
    }
    let (there, here) = (theirs.written_by(), ours.written_by());
    if there != here || (equal.is_some() && changed == 0) {
        let mut finding = AuditFinding::new(&writer::PARQUET_WRITER, path);
        if let Some(count) = equal {
            finding = finding
                .rows(count)
                .proof(format!("{count} rows are equal, in order"));
        }
        found.push(finding.example(format!("{there} there, {here} here")));
    }
    found
}

/// `equal`: all values are equal, in order.
pub(super) fn of_records(
    path: &str,
    theirs: &Records,
    ours: &Records,
    equal: bool,
) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    if theirs.compact != ours.compact {
        let name = |compact| {
            if compact {
                "no spaces after colons"
            } else {
                "spaces after colons"
            }
        };
        let example = format!(
            "{} there, {} here",
            name(theirs.compact),
            name(ours.compact)
        );
        found.push(AuditFinding::new(&text::DOCUMENT_LAYOUT, path).example(example));
    }
    if equal && theirs.key_order != ours.key_order {
        found.push(AuditFinding::new(&text::KEY_ORDER, path).proof("all values are equal"));
    }
    if equal && found.is_empty() {
        found.push(
            AuditFinding::new(&text::DOCUMENT_LAYOUT, path).proof("values and keys are equal"),
        );
    }
    found
}

/// `equal`: all values are equal, in order.
pub(super) fn of_arrays(
    path: &str,
    theirs: &ArrayFile,
    ours: &ArrayFile,
    equal: Option<u64>,
) -> Vec<AuditFinding> {
    let (there, here) = (theirs.header(), ours.header());
    let mut found = Vec::new();
    if there.shape != here.shape {
        let example = format!("{} there, {} here", there.shape_text(), here.shape_text());
        found.push(AuditFinding::new(&rows::ARRAY_SHAPE, path).example(example));
    }
    if there.descr != here.descr {
        let example = format!("`{}` there, `{}` here", there.descr, here.descr);
        found.push(AuditFinding::new(&rows::COLUMN_TYPES, path).example(example));
    }
    if found.is_empty() && equal.is_some() {
        let finding = AuditFinding::new(&writer::ARRAY_LAYOUT, path);
        let order = |is_fortran| if is_fortran { "Fortran" } else { "C" };
        let example = format!(
            "{} order there, {} order here",
            order(there.fortran_order),
            order(here.fortran_order)
        );
        found.push(finding.proof("all values are equal").example(example));
    }
    found
}
