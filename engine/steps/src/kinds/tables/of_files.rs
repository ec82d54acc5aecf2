//! Tables of the content of files: `digests`, `headers`, `masks`, `pixels` and `text_lines`.

use std::io::{Chain, Cursor, Read};

use prep_core::{BoxError, StepError};
use prep_digests::Sha256Hasher;
use prep_formats::image::{ImageError, ImageHeader};
use prep_formats::lines::TextLines;
use prep_formats::npy::{NpyHeader, mask_code};
use prep_formats::pandas::ColumnType;
use prep_formats::png::decode_grey;
use prep_formats::zip::MemberInflater;
use prep_spec::model::ColumnKind;
use prep_spec::path_part;
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use serde_json::Value::Null;
use thiserror::Error;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::limits::{limits, undecodable_file};
use crate::value::{OpenContent, TableWriter, column};

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 18;

pub(crate) const DIGESTS: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of digests",
            doc: "One row per file. Columns: `file`; `sha256`, the SHA-256 of the file's content as 64 hex digits.",
            keys: &[SectionKey::required(
                "digests",
                KeyType::Files,
                "Table whose column `file` names the files.",
                "photos",
            )],
        },
        methods: &[],
        makes: Produces::Table(|_| {
            vec![ProducedColumn::text("file"), ProducedColumn::text("sha256")]
        }),
        check: None,
    },
    step: |_, _| {
        let columns = ["file", "sha256"].map(|name| column(name, ColumnType::Text, false));
        FunctionStep::of_files("digests", 1, Null, columns.into(), push_digest).step()
    },
};

#[derive(Debug, Error)]
#[error("`{file}` cannot be read")]
struct DigestError {
    file: String,
    #[source]
    cause: std::io::Error,
}

fn push_digest(
    buffer: &mut Vec<u8>,
    table: &mut TableWriter<'_>,
    file: &str,
    opened: &OpenContent<'_>,
) -> Result<(), StepError> {
    buffer.resize(READ_BYTES, 0);
    let (mut reader, mut hasher) = (opened.reader()?, Sha256Hasher::default());
    loop {
        table.context.check()?;
        match reader.read(buffer) {
            Ok(0) => break,
            Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(cause) => {
                let file = file.to_owned();
                return Err(StepError::input(DigestError { file, cause }));
            }
        }
    }
    let cells = table.cells();
    cells.text(file);
    cells.text(&hasher.finish().to_string());
    table.end_row()
}

pub(crate) const HEADERS: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of headers",
            doc: "One row per file. Columns: `file`; `width` and `height` of images (PNG, JPEG, TIFF, GIF, BMP); \
            `shape` (sizes of the axes, separated by `,`) and `dtype` of NumPy arrays. If a file does not have a \
            property, the cell of this property is missing.",
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
        FunctionStep::of_files("headers", 1, Null, columns, push_header).step()
    },
};

#[derive(Debug, Error)]
#[error("the header of `{file}` cannot be read")]
struct HeaderError {
    file: String,
    #[source]
    cause: BoxError,
}

/// The first bytes of every NumPy array file.
const NPY: [u8; 6] = *b"\x93NUMPY";

enum Header {
    Image(ImageHeader),
    Array(NpyHeader),
}

fn push_header(
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

/// Reads the header of a NumPy array if the file begins with [`NPY`], otherwise the header of an image.
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

pub(crate) const MASKS: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of masks",
            doc: "One row per NumPy array. Columns: `file`; `shape` (sizes of the axes, separated by `,`); `rle`, the run-length encoding of the elements that are 1 or true.\n\nThe encoding consists of pairs of a start (from 1) and a length, in column-major order (the first axis varies fastest). `rle` is missing if no element is 1 or true.",
            keys: &[SectionKey::required(
                "masks",
                KeyType::Files,
                "Table whose column `file` names arrays of numbers or booleans.",
                "arrays",
            )],
        },
        methods: &[],
        makes: Produces::Table(|_| {
            vec![
                ProducedColumn::text("file"),
                ProducedColumn::text("shape"),
                ProducedColumn::text("rle"),
            ]
        }),
        check: None,
    },
    step: |_, _| {
        let columns = vec![
            column("file", ColumnType::Text, false),
            column("shape", ColumnType::Text, true),
            column("rle", ColumnType::Text, true),
        ];
        // `value` has no effect. It stays here because the keys of cached results are computed from it.
        let params = serde_json::json!({ "value": 1 });
        let visit =
            |_: &mut (), table: &mut TableWriter<'_>, file: &str, opened: &OpenContent<'_>| {
                let mask = mask_code(opened.reader()?).map_err(|cause| {
                    StepError::input(MaskError {
                        file: file.to_owned(),
                        cause: cause.into(),
                    })
                })?;
                let axes: Vec<String> = mask.shape.iter().map(u64::to_string).collect();
                let cells = table.cells();
                cells.text(file);
                cells.text(&axes.join(","));
                match mask.code.as_str() {
                    "" => cells.missing(),
                    code => cells.text(code),
                }
                table.end_row()
            };
        FunctionStep::of_files("masks", 1, params, columns, visit).step()
    },
};

#[derive(Debug, Error)]
#[error("the mask `{file}` cannot be read")]
struct MaskError {
    file: String,
    #[source]
    cause: BoxError,
}

pub(crate) const PIXELS: StepKind = StepKind {
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
        FunctionStep::of_files("pixels", 1, Null, columns, push_pixels).step()
    },
};

fn push_pixels(
    (inflater, bytes): &mut (MemberInflater, Vec<u8>),
    table: &mut TableWriter<'_>,
    file: &str,
    opened: &OpenContent<'_>,
) -> Result<(), StepError> {
    opened.read_into(inflater, bytes)?;
    let image = decode_grey(bytes, &limits(table.context))
        .map_err(|cause| undecodable_file(file, cause))?;
    let stem = path_part(file, "stem");
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

pub(crate) const TEXT_LINES: StepKind = StepKind {
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
        FunctionStep::of_files("text_lines", 2, Null, columns, push_lines).step()
    },
};

fn push_lines(
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
        cells.text(path_part(file, "stem"));
        cells.integer(number);
        cells.text(line);
        table.context.progress.add_bytes(line.len() as u64 + 1);
        table.cells().bool(lines.has_ended());
        table.end_row()?;
    }
    Ok(())
}
