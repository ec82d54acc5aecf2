//! Compares the form of two tables, for example line endings or the library that wrote the file.

use std::collections::HashSet;

use prep_contents::TableReader;
use prep_contents::table::{ArrayFile, CsvDialect, ParquetFile, Records};
use prep_failure::QuotedValue;
use prep_formats::text_encoding::TextEncoding;

use crate::causes::Cause;
use crate::finding::AuditFinding;

pub(super) fn csv_findings(
    path: &str,
    theirs: &CsvDialect,
    ours: &CsvDialect,
) -> Vec<AuditFinding> {
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
            Cause::LineEnds,
            lines,
            format!("theirs: {}, ours: {}", theirs.line_end(), ours.line_end()),
        );
    }
    let wide =
        |form: &CsvDialect| matches!(form.encoding, TextEncoding::Utf16Le | TextEncoding::Utf16Be);
    if theirs.byte_order_mark != ours.byte_order_mark && !wide(theirs) && !wide(ours) {
        let side = if theirs.byte_order_mark {
            "the audited file begins"
        } else {
            "the prepared file begins"
        };
        add(
            Cause::ByteOrderMark,
            0,
            format!("only {side} with the bytes EF BB BF"),
        );
    }
    if theirs.encoding != ours.encoding {
        let (theirs, ours) = (theirs.encoding.name(), ours.encoding.name());
        add(
            Cause::Encoding,
            0,
            format!("theirs: {theirs}, ours: {ours}"),
        );
    }
    if theirs.delimiter != ours.delimiter {
        let name = |delimiter: u8| QuotedValue(&char::from(delimiter).to_string()).to_string();
        add(
            Cause::Delimiter,
            0,
            format!(
                "theirs: {}, ours: {}",
                name(theirs.delimiter),
                name(ours.delimiter)
            ),
        );
    }
    if theirs.needless_quotes != ours.needless_quotes {
        let (theirs, ours) = (theirs.needless_quotes, ours.needless_quotes);
        add(
            Cause::Quoting,
            0,
            format!("quoted cells that need no quotes: theirs {theirs}, ours {ours}"),
        );
    }
    if theirs.final_newline != ours.final_newline {
        let side = if theirs.final_newline {
            "the audited file"
        } else {
            "the prepared file"
        };
        add(
            Cause::FinalNewline,
            0,
            format!("only {side} ends with a line break"),
        );
    }
    found
}

/// Compares two Parquet files. `equal` is the number of rows if all rows are equal and in the same order.
pub(super) fn parquet_findings(
    path: &str,
    theirs: &ParquetFile,
    ours: &ParquetFile,
    equal: Option<u64>,
) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    let our_columns: HashSet<&String> = ours.columns().iter().collect();
    let both = theirs
        .columns()
        .iter()
        .filter(|column| our_columns.contains(column));
    let mut types = AuditFinding::new(Cause::ColumnTypes, path);
    let mut changed = 0;
    for column in both {
        if let (Some(their_type), Some(our_type)) = (theirs.type_of(column), ours.type_of(column))
            && their_type != our_type
        {
            changed += 1;
            types = types.example(format!("`{column}`: theirs {their_type}, ours {our_type}"));
        }
    }
    if changed > 0 {
        found.push(types.proof(format!(
            "number of columns with a different type: {changed}"
        )));
    }
    let (their_writer, our_writer) = (theirs.written_by(), ours.written_by());
    if their_writer != our_writer || (equal.is_some() && changed == 0) {
        let mut finding = AuditFinding::new(Cause::ParquetWriter, path);
        if let Some(count) = equal {
            finding = finding
                .rows(count)
                .proof(format!("all {count} rows are equal and in the same order"));
        }
        found.push(finding.example(format!("theirs: {their_writer}, ours: {our_writer}")));
    }
    found
}

/// Compares two files of JSON records. `equal` is true if all rows are equal and in the same order.
pub(super) fn records_findings(
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
            "theirs: {}, ours: {}",
            name(theirs.compact),
            name(ours.compact)
        );
        found.push(AuditFinding::new(Cause::DocumentLayout, path).example(example));
    }
    if equal && theirs.key_order != ours.key_order {
        found.push(AuditFinding::new(Cause::KeyOrder, path).proof("all values are equal"));
    }
    if equal && found.is_empty() {
        found.push(
            AuditFinding::new(Cause::DocumentLayout, path).proof("values and keys are equal"),
        );
    }
    found
}

/// Compares the headers of two arrays. `equal` is the number of rows if all rows are equal and in the same order.
pub(super) fn array_findings(
    path: &str,
    theirs: &ArrayFile,
    ours: &ArrayFile,
    equal: Option<u64>,
) -> Vec<AuditFinding> {
    let (theirs, ours) = (theirs.header(), ours.header());
    let mut found = Vec::new();
    if theirs.shape != ours.shape {
        let example = format!(
            "theirs: {}, ours: {}",
            theirs.shape_text(),
            ours.shape_text()
        );
        found.push(AuditFinding::new(Cause::ArrayShape, path).example(example));
    }
    if theirs.descr != ours.descr {
        let example = format!("theirs: `{}`, ours: `{}`", theirs.descr, ours.descr);
        found.push(AuditFinding::new(Cause::ColumnTypes, path).example(example));
    }
    if found.is_empty() && equal.is_some() {
        let finding = AuditFinding::new(Cause::ArrayLayout, path);
        let order = |is_fortran| if is_fortran { "Fortran" } else { "C" };
        let example = format!(
            "theirs: {} order, ours: {} order",
            order(theirs.fortran_order),
            order(ours.fortran_order)
        );
        found.push(finding.proof("all values are equal").example(example));
    }
    found
}
