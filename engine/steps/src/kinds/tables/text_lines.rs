//! `text_lines`: text files, one row per line.

use prep_core::StepError;
use prep_formats::lines::TextLines;
use prep_formats::pandas::ColumnType;
use prep_spec::model::ColumnKind;
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use serde_json::Value::Null;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::limits::{limits, undecodable_file};
use crate::relation::part;
use crate::value::{OpenContent, TableWriter, column};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of lines",
            doc: "One row per line of text files in UTF-8. LF, CR LF and CR each end a line. Columns: `file`, `stem`, `number` (from 1 in each file), `line` (missing if it is empty), `ended` (false for a last line without a line ending).",
            keys: &[SectionKey::required(
                "text_lines",
                KeyType::Files,
                "Table whose column `file` names the text files.",
                "texts",
            )],
        },
        methods: &[],
        makes: Produces::Table(|_| {
            vec![
                ProducedColumn::text("file"),
                ProducedColumn::text("stem"),
                ProducedColumn::integer("number"),
                ProducedColumn::text("line"),
                ProducedColumn::new("ended", ColumnKind::Boolean),
            ]
        }),
        check: None,
    },
    step: |_, _| {
        let columns = vec![
            column("file", ColumnType::Text, false),
            column("stem", ColumnType::Text, false),
            column("number", ColumnType::Int64, false),
            // An empty line is a missing cell.
            column("line", ColumnType::Text, true),
            column("ended", ColumnType::Bool, false),
        ];
        FunctionStep::of_files("text_lines", 2, Null, columns, visit).step()
    },
};

fn visit(
    _: &mut (),
    table: &mut TableWriter<'_>,
    file: &str,
    opened: &OpenContent<'_>,
) -> Result<(), StepError> {
    let mut lines = TextLines::new(opened.read_ahead()?).with_limits(&limits(table.context));
    let mut number = 0_u64;
    let failed = |cause| undecodable_file(file, cause);
    while let Some(line) = lines.next_line().map_err(failed)? {
        number += 1;
        let cells = table.cells();
        cells.text(file);
        cells.text(part(file, "stem"));
        cells.integer(number);
        cells.text(line);
        table.context.progress.add_bytes(line.len() as u64 + 1);
        table.cells().bool(lines.has_ended());
        table.end_row()?;
    }
    Ok(())
}
