//! `pixels`: the grey values of PNG files, a row per pixel.

use std::io::Write;

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_formats::pandas::{Column, ColumnType, CsvWriter, Schema};
use prep_formats::png::{PngError, decode_grey};
use prep_formats::zip::MemberInflater;
use thiserror::Error;

use super::one;
use crate::relation::for_each_file;
use crate::value::{Storage, TableValue};

/// Pixels that one image may have; a limit against images made to fill memory.
const MAX_PIXELS: u64 = 1 << 28;

#[derive(Debug, Error)]
#[error("`{file}`: {cause}")]
struct ImageError {
    file: String,
    cause: PngError,
}

pub(crate) struct Pixels;

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
        let mut writer = CsvWriter::new(context.store.writer()?);
        writer
            .header(columns.iter().map(|column| column.name.as_str()))
            .map_err(StepError::machine)?;
        let mut rows = 0;
        let mut inflater = MemberInflater::default();
        let mut bytes = Vec::new();
        for_each_file(context, inputs, &mut |file, opened| {
            opened
                .read_into(&mut inflater, &mut bytes)
                .map_err(StepError::input)?;
            let image = decode_grey(&bytes, MAX_PIXELS).map_err(|cause| {
                StepError::input(ImageError {
                    file: file.to_owned(),
                    cause,
                })
            })?;
            rows += image.pixels.len() as u64;
            write_pixels(&mut writer, file, image.width, &image.pixels)?;
            context.progress.add_file();
            Ok(())
        })?;
        let object = writer
            .finish()
            .map_err(StepError::machine)?
            .commit()?
            .digest;
        Ok(one(TableValue::new(
            Schema { columns, rows },
            Storage::Text { object },
        )
        .into_value()))
    }
}

fn write_pixels(
    writer: &mut CsvWriter<impl Write>,
    file: &str,
    width: u32,
    pixels: &[u8],
) -> Result<(), StepError> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name
        .rfind('.')
        .filter(|dot| *dot > 0)
        .map_or(name, |dot| &name[..dot]);
    for (row, line) in pixels.chunks(width.max(1) as usize).enumerate() {
        for (col, grey) in line.iter().enumerate() {
            writer.text(file);
            writer.text(stem);
            writer.integer(row + 1);
            writer.integer(col + 1);
            writer.integer(*grey);
            writer.end_row().map_err(StepError::machine)?;
        }
    }
    Ok(())
}
