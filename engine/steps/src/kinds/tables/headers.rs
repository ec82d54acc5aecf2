//! `headers`: what the headers of files say, a row per file.

use std::io::{Chain, Cursor, Read};

use prep_core::{BoxError, Context, Inputs, Outputs, Step, StepError};
use prep_formats::image::{ImageError, ImageHeader};
use prep_formats::npy::NpyHeader;
use prep_formats::pandas::{Column, ColumnType};
use prep_spec::words::{Form, Key, MadeColumn, Makes, Section, Value};
use thiserror::Error;

use crate::kinds::{Kind, one};
use crate::relation::for_each_file;
use crate::value::TableWriter;

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a table of headers",
            doc: "A row per file. Columns: `file`; of images (PNG, JPEG, TIFF, GIF, BMP) `width` and `height`; of NumPy arrays `shape` (sizes of the axes with `,` between them) and `dtype`. What a file does not have is missing.",
            keys: &[Key::required(
                "headers",
                Value::Files,
                "Table whose column `file` names the files.",
                "photos",
            )],
        },
        methods: &[],
        makes: Makes::Table(|_| {
            vec![
                MadeColumn::text("file"),
                MadeColumn::integer("width"),
                MadeColumn::integer("height"),
                MadeColumn::text("shape"),
                MadeColumn::text("dtype"),
            ]
        }),
        check: None,
    },
    step: |_, _| Some(Box::new(Headers)),
};

#[derive(Debug, Error)]
#[error("the header of `{file}` cannot be read")]
struct HeaderError {
    file: String,
    #[source]
    cause: BoxError,
}

/// How arrays begin.
const NPY: [u8; 6] = *b"\x93NUMPY";

enum Header {
    Image(ImageHeader),
    Array(NpyHeader),
}

struct Headers;

impl Step for Headers {
    fn kind(&self) -> &'static str {
        "headers"
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
            nullable: name != "file",
        };
        let columns = vec![
            column("file", ColumnType::Text),
            column("width", ColumnType::Int64),
            column("height", ColumnType::Int64),
            column("shape", ColumnType::Text),
            column("dtype", ColumnType::Text),
        ];
        let mut table = TableWriter::new(context, columns)?;
        for_each_file(context, inputs, &mut |file, opened| {
            let header = header(opened.reader()?).map_err(|cause| {
                StepError::input(HeaderError {
                    file: file.to_owned(),
                    cause,
                })
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
            table.end_row()?;
            context.progress.add_file();
            Ok(())
        })?;
        Ok(one(table.finish()?.into_value()))
    }
}

/// Reads no more than it takes.
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
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(first).chain(input);
    Ok(match is_array {
        true => Header::Array(NpyHeader::read(whole)?),
        false => Header::Image(ImageHeader::read(whole)?),
    })
}
