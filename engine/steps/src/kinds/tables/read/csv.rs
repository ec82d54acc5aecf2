//! Reads CSV files as pandas does.
//!
//! If threads are free, three threads work at the same time. The first thread inflates the file in chunks. The step's
//! thread scans the chunks and adds missing quotes. The third thread writes the chunks to the cache. No thread is more than
//! a few chunks ahead of the next thread.

use std::io::Read as _;

use prep_core::{Context, Inputs, StepError};
use prep_formats::pandas::{
    ColumnType, Concatenation, CsvError, CsvScan, CsvScanner, CsvWriter, ReadOptions,
    RewriteResult, Rewriter, Schema, first_type_mismatch, normalise,
};
use prep_formats::text_encoding::TextEncoding;
use prep_spec::Diagnostic;
use prep_spec::model::ColumnKind;
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey, Word};

use super::json::ReadDialect;
use super::{
    COLUMNS, FLOAT_PRECISION_KEY, ReadError, ReadFormat, ReadSpec, check_columns, failed, fits,
    float_precision,
};
use crate::kinds::{FunctionStep, StepKind};
use crate::limits::undecodable_file;
use crate::relation::for_each_file;
use crate::value::{
    Chunks, ContentRef, Opener, StoredText, TableStorage, TableValue, TextMetadata, TextWriter,
    column,
};

pub(super) const FORMAT: ReadFormat = ReadFormat {
    word: Word {
        name: "csv",
        doc: "comma-separated values, `.csv`, `.tsv`",
    },
    endings: &["csv", "tsv"],
    record: None,
    read,
    plain: None,
};

fn read(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let options = read.csv_options();
    let ScanResult {
        rewritten,
        metadata,
        text,
    } = scan(context, opener, content, read)?;
    let bytes = content.bytes();
    let text = match &rewritten {
        RewriteResult::Canonical(_) => text,
        // Some cells must be rewritten. Reading the written cells is faster than inflating the file again.
        RewriteResult::Cells(scan, options) => {
            let (mut cells, _claim) = text.read_back()?;
            written_text(context, bytes, |out| {
                normalise(context.cancel.reader(&mut cells), scan, options, out)
            })?
        }
        // The written text cannot be split into rows again, so the file is inflated again.
        RewriteResult::Unreadable(scan) => {
            drop(text);
            let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
            let raw = opened.reader().map_err(|cause| failed(read, cause))?;
            let raw = read.encoding.reader(raw);
            written_text(context, bytes, |out| {
                normalise(context.cancel.reader(raw), scan, &options, out)
            })?
        }
    };
    let (object, in_memory) = text.finish()?;
    // `normalise` changes the offsets of rows, so the metadata of the first pass are then wrong.
    let metadata = metadata.filter(|_| matches!(rewritten, RewriteResult::Canonical(_)));
    let mut schema = rewritten.into_scan().schema;
    let declared = check_columns(read, &mut schema)
        .map_err(|error| with_cell(error, opener, content, read, &options).error_at(read))?;
    let storage = TableStorage::Text {
        object: object.digest,
    };
    let table = declared.table(schema, storage, object.len);
    match (in_memory, metadata) {
        (Some(text), metadata) => {
            StoredText::cache_in_memory(context, object, &table.schema, text, metadata)?
        }
        (None, Some(metadata)) => StoredText::cache(context, object, &table.schema, metadata)?,
        (None, None) => {}
    }
    Ok(table)
}

/// Returns the text that `write` writes. `bytes` is the size of the CSV file.
fn written_text(
    context: &Context,
    bytes: u64,
    write: impl FnOnce(&mut TextWriter) -> Result<(), CsvError>,
) -> Result<TextWriter, StepError> {
    let mut out = TextWriter::new(context, bytes)?;
    let done = write(&mut out);
    context.check()?;
    done.map_err(StepError::machine)?;
    Ok(out)
}

/// If a column does not have its declared type, reads the file again, and adds the first unsuitable cell to the error.
fn with_cell(
    error: ReadError,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
    options: &ReadOptions,
) -> ReadError {
    let ReadError::OtherType { path, column, .. } = &error else {
        return error;
    };
    let declared = read.columns.iter().find(|one| one.name.value == *column);
    let Some(declared) = declared.map(|one| one.kind) else {
        return error;
    };
    let opened = opener.open(content).ok();
    let reader = opened.as_ref().and_then(|opened| opened.reader().ok());
    let mismatch = reader.and_then(|reader| {
        let reader = read.encoding.reader(reader);
        first_type_mismatch(reader, options, column, |kind| fits(declared, kind)).ok()?
    });
    let Some(mismatch) = mismatch else {
        return error;
    };
    let is_number = mismatch.missing || mismatch.cell.parse::<f64>().is_ok();
    ReadError::OtherCell {
        path: path.clone(),
        column: column.clone(),
        declared: declared.name(),
        // pandas reads integers with missing values as numbers.
        other: match declared {
            ColumnKind::Integer if is_number => "number",
            _ => "text",
        },
        mismatch: Box::new(mismatch),
    }
}

/// The result of the first pass over a CSV file.
struct ScanResult {
    rewritten: RewriteResult,
    /// Row offsets, and columns in memory, if the scan recorded them.
    metadata: Option<TextMetadata>,
    text: TextWriter,
}

/// Makes the first pass over a CSV file: determines the types of the columns, and writes the cells with quotes as
/// needed.
fn scan(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<ScanResult, StepError> {
    context.progress.set_total_bytes(content.bytes());
    // Queries compute with the declared columns, so these are kept in memory.
    let declared = read.columns.iter().map(|one| one.name.value.clone());
    let mut rewriter = Rewriter::new(&read.csv_options()).with_projection(declared.collect());
    let mut text = TextWriter::new(context, content.bytes())?;
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    let reader = opened.reader().map_err(|cause| failed(read, cause))?;
    let mut chunks = Chunks::new(read.encoding.reader(reader), &context.threads);
    let mut recycled = Vec::new();
    let rewritten = loop {
        context.check()?;
        let chunk = chunks.next(recycled).map_err(|cause| failed(read, cause))?;
        context.progress.add_bytes(chunk.len() as u64);
        let rewritten = match chunk.is_empty() {
            true => rewriter.finish().map(Some),
            false => rewriter.feed(chunk).map(|()| None),
        };
        let rewritten = rewritten.map_err(|cause| failed(read, cause))?;
        while let Some(chunk) = rewriter.take_chunk() {
            if let Some(written) = text.push(chunk).map_err(StepError::machine)? {
                rewriter.recycle(written);
            }
        }
        match rewritten {
            Some(rewritten) => break rewritten,
            None => recycled = rewriter.surplus_buffer().unwrap_or_default(),
        }
    };
    let projection = rewriter.take_projection();
    let index = rewriter.take_index();
    Ok(ScanResult {
        rewritten,
        metadata: index.map(|index| TextMetadata { index, projection }),
        text,
    })
}

/// Name of the column with the path of the file that contains the row.
const FILE_COLUMN: &str = "file";

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 18;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table that is read from several files",
            doc: "Reads several CSV files and combines their rows, one file after another, as `pandas.concat` does. \
            The table has the columns that the key `columns` lists, and the column `file` with the path of each row's file.",
            keys: &[
                SectionKey::required(
                    "read_each",
                    KeyType::Files,
                    "Table whose column `file` names the files.",
                    "truths",
                ),
                SectionKey::required(
                    "format",
                    KeyType::Word(&[FORMAT.word]),
                    "The format of the files.",
                    "csv",
                ),
                COLUMNS,
                FLOAT_PRECISION_KEY,
            ],
        },
        methods: &[],
        makes: Produces::Table(|declaration| {
            let mut all = vec![ProducedColumn::text(FILE_COLUMN)];
            let declared = declaration.columns("columns").iter();
            all.extend(declared.map(|one| ProducedColumn::new(&one.name.value, one.kind)));
            all
        }),
        check: Some(|declaration| {
            let declared = declaration.columns("columns").iter();
            declared
                .filter(|column| column.name.value == FILE_COLUMN)
                .map(|column| {
                    let message = "the column `file` is reserved for the path of the file that contains the row";
                    let fault = Diagnostic::error("duplicate-column", column.name.span, message);
                    fault.help("remove it from `columns`")
                })
                .collect()
        }),
    },
    step: |declaration, _| {
        let read = ReadSpec {
            path: declaration.text("read_each")?.to_owned(),
            format: &FORMAT,
            columns: declaration.columns("columns").to_vec(),
            delimiter: b',',
            float_precision: float_precision(declaration),
            at: None,
            encoding: TextEncoding::Utf8,
            dialect: ReadDialect::Python,
            chunksize: None,
        };
        let mut params = read.params();
        if let Some(params) = params.as_object_mut() {
            params.remove("path");
        }
        let function = FunctionStep::new("read_each", 3, params, move |context, inputs| {
            Ok(read_files(context, inputs, &read)?.into_value())
        });
        function.step()
    },
};

/// Reads all files of the input `files` into one table. The first pass finds the types of columns, the second writes rows.
fn read_files(
    context: &Context,
    inputs: &Inputs,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let options = read.csv_options();
    let names = read.columns.iter().map(|column| column.name.value.clone());
    let mut concatenation = Concatenation::new(names);
    let mut scans: Vec<CsvScan> = Vec::new();
    for_each_file(context, inputs, &mut |file, opened| {
        let mut scanner = CsvScanner::new(&options);
        let mut reader = read.encoding.reader(opened.reader()?);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            context.check()?;
            let count = reader
                .read(&mut buffer)
                .map_err(|cause| undecodable_file(file, cause))?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            scanner
                .feed(bytes)
                .map_err(|cause| undecodable_file(file, cause))?;
        }
        let scan = scanner
            .finish()
            .map_err(|cause| undecodable_file(file, cause))?;
        concatenation
            .add(&scan)
            .map_err(|cause| undecodable_file(file, cause))?;
        scans.push(scan);
        Ok(())
    })?;
    let mut columns = vec![column(FILE_COLUMN, ColumnType::Text, false)];
    columns.extend(concatenation.columns());
    let rows = scans.iter().map(|scan| scan.schema.rows).sum();
    let mut schema = Schema { columns, rows };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    let mut out = context.store.writer()?;
    let mut header = CsvWriter::new(&mut out);
    header
        .header(schema.columns.iter().map(|column| column.name.as_str()))
        .map_err(StepError::machine)?;
    header.finish().map_err(StepError::machine)?;
    let mut scans = scans.into_iter();
    for_each_file(context, inputs, &mut |file, opened| {
        let scan = scans.next();
        let scan = scan.ok_or_else(|| StepError::internal("a file was not scanned"))?;
        concatenation
            .write(
                file,
                read.encoding.reader(opened.reader()?),
                &scan,
                &options,
                &mut out,
            )
            .map_err(|cause| undecodable_file(file, cause))?;
        context.progress.add_file();
        Ok(())
    })?;
    let stored = out.commit()?;
    let storage = TableStorage::Text {
        object: stored.digest,
    };
    Ok(declared.table(schema, storage, stored.len))
}
