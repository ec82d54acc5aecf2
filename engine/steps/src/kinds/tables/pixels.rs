//! `pixels`: the grey values of PNG files, one row per pixel.

use prep_core::StepError;
use prep_formats::pandas::ColumnType;
use prep_formats::png::decode_grey;
use prep_formats::zip::MemberInflater;
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
            name: "a table of pixels",
            doc: "One row per pixel of PNG files. Columns: `file`, `stem`, `row` and `col` (from 1), `grey` (0 to 255).",
            keys: &[SectionKey::required(
                "pixels",
                KeyType::Files,
                "Table whose column `file` names the PNG files.",
                "pages",
            )],
        },
        methods: &[],
        makes: Produces::Table(|_| {
            let mut columns: Vec<_> = ["file", "stem"].map(ProducedColumn::text).into();
            columns.extend(["row", "col", "grey"].map(ProducedColumn::integer));
            columns
        }),
        check: None,
    },
    step: |_, _| {
        let columns = vec![
            column("file", ColumnType::Text, false),
            column("stem", ColumnType::Text, false),
            column("row", ColumnType::Int64, false),
            column("col", ColumnType::Int64, false),
            column("grey", ColumnType::Int64, false),
        ];
        FunctionStep::of_files("pixels", 1, Null, columns, visit).step()
    },
};

fn visit(
    (inflater, bytes): &mut (MemberInflater, Vec<u8>),
    table: &mut TableWriter<'_>,
    file: &str,
    opened: &OpenContent<'_>,
) -> Result<(), StepError> {
    opened.read_into(inflater, bytes)?;
    let image = decode_grey(bytes, &limits(table.context))
        .map_err(|cause| undecodable_file(file, cause))?;
    let stem = part(file, "stem");
    let width = image.width.max(1) as usize;
    for (row, line) in image.pixels.chunks(width).enumerate() {
        for (col, grey) in line.iter().enumerate() {
            let cells = table.cells();
            cells.text(file);
            cells.text(stem);
            cells.integer(row + 1);
            cells.integer(col + 1);
            cells.integer(*grey);
            table.end_row()?;
        }
    }
    Ok(())
}
