//! `pixels`: the grey values of PNG files, a row per pixel.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_formats::pandas::{Column, ColumnType};
use prep_formats::png::{PngError, decode_grey};
use prep_formats::zip::MemberInflater;
use prep_spec::words::{Form, Key, MadeColumn, Makes, Section, Value};
use thiserror::Error;

use crate::kinds::{Kind, one};
use crate::limits::{limits, undecodable};
use crate::relation::{for_each_file, part};
use crate::value::TableWriter;

#[derive(Debug, Error)]
#[error("`{file}`: {cause}")]
struct ImageError {
    file: String,
    #[source]
    cause: PngError,
}

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a table of pixels",
            doc: "A row per pixel of PNG files. Columns: `file`, `stem`, `row` and `col` (from 1), `grey` (0 to 255).",
            keys: &[Key::required(
                "pixels",
                Value::Files,
                "Table whose column `file` names the PNG files.",
                "pages",
            )],
        },
        methods: &[],
        makes: Makes::Table(|_| {
            let mut columns: Vec<_> = ["file", "stem"].map(MadeColumn::text).into();
            columns.extend(["row", "col", "grey"].map(MadeColumn::integer));
            columns
        }),
        check: None,
    },
    step: |_, _| Some(Box::new(Pixels)),
};

struct Pixels;

impl Step for Pixels {
    fn kind(&self) -> &'static str {
        "pixels"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let column = |name: &str, kind| Column {
            name: name.to_owned(),
            kind,
            nullable: false,
        };
        let columns = vec![
            column("file", ColumnType::Text),
            column("stem", ColumnType::Text),
            column("row", ColumnType::Int64),
            column("col", ColumnType::Int64),
            column("grey", ColumnType::Int64),
        ];
        let mut table = TableWriter::new(context, columns)?;
        let mut inflater = MemberInflater::default();
        let mut bytes = Vec::new();
        let limits = limits(context);
        for_each_file(context, inputs, &mut |file, opened| {
            opened.read_into(&mut inflater, &mut bytes)?;
            let image = decode_grey(&bytes, &limits).map_err(|cause| {
                undecodable(ImageError {
                    file: file.to_owned(),
                    cause,
                })
            })?;
            write_pixels(&mut table, file, image.width, &image.pixels)?;
            context.progress.add_file();
            Ok(())
        })?;
        Ok(one(table.finish()?.into_value()))
    }
}

fn write_pixels(
    table: &mut TableWriter<'_>,
    file: &str,
    width: u32,
    pixels: &[u8],
) -> Result<(), StepError> {
    let stem = part(file, "stem");
    for (row, line) in pixels.chunks(width.max(1) as usize).enumerate() {
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
