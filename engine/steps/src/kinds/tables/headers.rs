//! `headers`: properties from the headers of files, one row per file.

use std::io::{Chain, Cursor, Read};

use prep_core::{BoxError, StepError};
use prep_formats::image::{ImageError, ImageHeader};
use prep_formats::npy::NpyHeader;
use prep_formats::pandas::ColumnType;
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use serde_json::Value::Null;
use thiserror::Error;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::value::{OpenContent, TableWriter, column};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of headers",
            doc: "One row per file. Columns: `file`; `width` and `height` of images (PNG, JPEG, TIFF, GIF, BMP); `shape` (sizes of the axes, separated by `,`) and `dtype` of NumPy arrays. Properties that a file does not have are missing.",
            keys: &[SectionKey::required(
                "headers",
                KeyType::Files,
                "Table whose column `file` names the files.",
                "photos",
            )],
        },
        methods: &[],
        makes: Produces::Table(|_| {
            vec![
                ProducedColumn::text("file"),
                ProducedColumn::integer("width"),
                ProducedColumn::integer("height"),
                ProducedColumn::text("shape"),
                ProducedColumn::text("dtype"),
            ]
        }),
        check: None,
    },
    step: |_, _| {
        let columns = vec![
            column("file", ColumnType::Text, false),
            column("width", ColumnType::Int64, true),
            column("height", ColumnType::Int64, true),
            column("shape", ColumnType::Text, true),
            column("dtype", ColumnType::Text, true),
        ];
        FunctionStep::of_files("headers", 1, Null, columns, visit).step()
    },
};

#[derive(Debug, Error)]
#[error("the header of `{file}` cannot be read")]
struct HeaderError {
    file: String,
    #[source]
    cause: BoxError,
}

/// First bytes of a NumPy array.
const NPY: [u8; 6] = *b"\x93NUMPY";

enum Header {
    Image(ImageHeader),
    Array(NpyHeader),
}

fn visit(
    _: &mut (),
    table: &mut TableWriter<'_>,
    file: &str,
    opened: &OpenContent<'_>,
) -> Result<(), StepError> {
    let header = header(opened.reader()?).map_err(|cause| {
        let file = file.to_owned();
        StepError::input(HeaderError { file, cause })
    })?;
    let cells = table.cells();
    cells.text(file);
    match header {
        Header::Image(image) => {
            cells.integer(image.width);
            cells.integer(image.height);
            cells.missing();
            cells.missing();
        }
        Header::Array(array) => {
            cells.missing();
            cells.missing();
            let axes: Vec<String> = array.shape.iter().map(u64::to_string).collect();
            cells.text(&axes.join(","));
            cells.text(&array.descr);
        }
    }
    table.end_row()
}

/// Reads only the header of a file.
fn header(mut input: impl Read) -> Result<Header, BoxError> {
    let mut first = [0; NPY.len()];
    let mut read = 0;
    while let Some(rest) = first.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match input.read(rest).map_err(ImageError::from)? {
            0 => break,
            count => read += count,
        }
    }
    let first = first.get(..read).unwrap_or_default().to_vec();
    let is_array = first == NPY;
    let content: Chain<Cursor<Vec<u8>>, _> = Cursor::new(first).chain(input);
    Ok(match is_array {
        true => Header::Array(NpyHeader::read(content)?),
        false => Header::Image(ImageHeader::read(content)?),
    })
}
