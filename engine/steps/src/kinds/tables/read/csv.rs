//! Reads CSV like pandas.
//!
//! Bytes pass through three threads in chunks, if these threads are available. The first one inflates them, this thread
//! scans and quotes them, and the thread of the object writer writes them. No thread is more than a few chunks ahead of
//! the next one.

use prep_core::{Context, StepError};
use prep_formats::pandas::{
    CsvError, ReadOptions, RewriteResult, Rewriter, first_type_mismatch, normalise,
};
use prep_spec::model::ColumnKind;
use prep_spec::words::Word;

use super::{ReadError, ReadFormat, ReadSpec, check_columns, failed, fits};
use crate::value::{
    Chunks, ContentRef, Opener, StoredText, TableStorage, TableValue, TextMetadata, TextWriter,
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
        // The written cells are still available, and faster to read than to inflate again.
        RewriteResult::Cells(scan, options) => {
            let (mut cells, _claim) = text.read_back()?;
            printed(context, bytes, |out| {
                normalise(context.cancel.reader(&mut cells), scan, options, out)
            })?
        }
        RewriteResult::Unreadable(scan) => {
            drop(text);
            let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
            let raw = opened.reader().map_err(|cause| failed(read, cause))?;
            let raw = read.encoding.reader(raw);
            printed(context, bytes, |out| {
                normalise(context.cancel.reader(raw), scan, &options, out)
            })?
        }
    };
    let (object, in_memory) = text.finish()?;
    // The second pass changes the offsets of rows, so the recorded offsets are invalid.
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

/// Writes the text in a second pass. `bytes` is the size of the file.
fn printed(
    context: &Context,
    bytes: u64,
    print: impl FnOnce(&mut TextWriter) -> Result<(), CsvError>,
) -> Result<TextWriter, StepError> {
    let mut out = TextWriter::new(context, bytes)?;
    let done = print(&mut out);
    context.check()?;
    done.map_err(StepError::machine)?;
    Ok(out)
}

/// Adds the first cell with an unexpected type to an error about a column. Reads the file again to find it.
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
    let number = mismatch.missing || mismatch.cell.parse::<f64>().is_ok();
    ReadError::OtherCell {
        path: path.clone(),
        column: column.clone(),
        declared: declared.name(),
        // pandas reads a column of integers with missing values as a column of numbers.
        other: match declared {
            ColumnKind::Integer if number => "number",
            _ => "text",
        },
        mismatch: Box::new(mismatch),
    }
}

/// The result of scanning a file.
struct ScanResult {
    rewritten: RewriteResult,
    /// Facts recorded during the scan.
    metadata: Option<TextMetadata>,
    text: TextWriter,
}

/// Scans the file and writes its text to the cache.
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
