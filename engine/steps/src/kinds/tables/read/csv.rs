//! Reads CSV like pandas.
//!
//! Bytes pass through three threads in chunks, if these threads are available. This thread inflates them, the next one
//! scans and quotes them, and the thread of the object writer writes them. No thread is more than a few chunks ahead of
//! the next one.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use prep_cache::{Permit, try_spawn_scoped};
use prep_core::{Context, StepError};
use prep_formats::pandas::{
    CsvError, ReadOptions, RewriteResult, Rewriter, first_type_mismatch, normalise,
};
use prep_spec::model::ColumnKind;
use prep_spec::words::Word;

use super::{ReadError, ReadFormat, ReadSpec, check_columns, each, failed, fits};
use crate::value::{
    ContentRef, Opener, StoredText, TableStorage, TableValue, TextMetadata, TextWriter, fill,
};

/// Bytes per chunk.
const CHUNK_BYTES: usize = 1 << 18;
/// Maximum number of chunks between two threads.
const MAX_CHUNKS: usize = 2;

pub(super) const FORMAT: ReadFormat = ReadFormat {
    word: Word {
        name: "csv",
        doc: "comma-separated values, `.csv`, `.tsv`",
    },
    endings: &["csv", "tsv"],
    record: None,
    read,
    each: each::csv,
    plain: None,
};

fn read(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let options = read.csv_options();
    context.progress.set_total_bytes(content.bytes());
    let text = Box::new(TextWriter::new(context, content.bytes())?);
    let scan_here = |text: Box<TextWriter>| {
        let mut scan = ChunkScanner::new(&options, read, *text);
        let inflated = inflate(context, opener, content, read, |chunk| {
            Ok(Some(scan.feed(chunk)?.unwrap_or_default()))
        });
        (inflated, scan)
    };
    let on_two_threads = |text: Box<TextWriter>, thread: Permit| {
        let (full, inflated) = sync_channel::<Vec<u8>>(MAX_CHUNKS);
        let (empty, recycled) = sync_channel(2 * MAX_CHUNKS);
        std::thread::scope(|scope| {
            let scan = |text: Box<TextWriter>| {
                thread.work(|| scan_chunks(&options, read, inflated, *text, empty))
            };
            let scanner = try_spawn_scoped(scope, Builder::new(), text, scan)?;
            let inflated = inflate(context, opener, content, read, move |chunk| {
                let taken = full.send(chunk).is_ok();
                Ok(taken.then(|| recycled.try_recv().unwrap_or_default()))
            });
            let panicked = || Err(StepError::internal("the scanning thread panicked"));
            let scanned = scanner.join().ok().flatten();
            Ok((inflated, scanned.unwrap_or_else(panicked)))
        })
    };
    let scanned = match context.threads.try_take() {
        Some(thread) => on_two_threads(text, thread),
        None => Err(text),
    };
    let (inflated, scanned) = match scanned {
        Ok(scanned) => scanned,
        // The system could not start a thread.
        Err(text) => {
            let (inflated, scan) = scan_here(text);
            inflated?;
            (Ok(()), scan.finish())
        }
    };
    // If the content is truncated, the scanner reports an error, too. The truncation is its cause.
    inflated?;
    let ScanResult {
        rewritten,
        metadata,
        text,
    } = scanned?;
    let bytes = content.bytes();
    let text = match &rewritten {
        RewriteResult::Canonical(_) => text,
        // The written cells are still available, and faster to read than to inflate again.
        RewriteResult::Cells(scan, options) => {
            let mut cells = text.read_back()?;
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
    let table = declared.table(schema, storage);
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

/// Reads the content in chunks and passes them to `give`, until `give` returns `None`.
fn inflate(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
    mut give: impl FnMut(Vec<u8>) -> Result<Option<Vec<u8>>, StepError>,
) -> Result<(), StepError> {
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    let reader = opened.reader().map_err(|cause| failed(read, cause))?;
    let mut reader = read.encoding.reader(reader);
    let mut chunk = Vec::new();
    loop {
        context.check()?;
        chunk.resize(CHUNK_BYTES, 0);
        let (count, cause) = fill(&mut reader, &mut chunk);
        if let Some(cause) = cause {
            return Err(failed(read, cause));
        }
        chunk.truncate(count);
        context.progress.add_bytes(count as u64);
        if count == 0 {
            return Ok(());
        }
        match give(chunk)? {
            Some(next) => chunk = next,
            None => return Ok(()),
        }
    }
}

/// The result of scanning a file.
struct ScanResult {
    rewritten: RewriteResult,
    /// Facts recorded during the scan.
    metadata: Option<TextMetadata>,
    text: TextWriter,
}

/// Scans chunks and passes their text to the cache.
struct ChunkScanner<'a> {
    rewriter: Rewriter,
    read: &'a ReadSpec,
    text: TextWriter,
}

impl<'a> ChunkScanner<'a> {
    fn new(options: &ReadOptions, read: &'a ReadSpec, text: TextWriter) -> ChunkScanner<'a> {
        // Queries compute with the declared columns, so these are kept in memory.
        let declared = read.columns.iter().map(|one| one.name.value.clone());
        ChunkScanner {
            rewriter: Rewriter::new(options).with_projection(declared.collect()),
            read,
            text,
        }
    }

    /// Scans a chunk. Returns a buffer for reuse, if there is one.
    fn feed(&mut self, chunk: Vec<u8>) -> Result<Option<Vec<u8>>, StepError> {
        let fed = self.rewriter.feed(chunk);
        fed.map_err(|cause| failed(self.read, cause))?;
        self.write_pending()?;
        Ok(self.rewriter.surplus_buffer())
    }

    fn write_pending(&mut self) -> Result<(), StepError> {
        while let Some(chunk) = self.rewriter.take_chunk() {
            if let Some(recycled_chunk) = self.text.push(chunk).map_err(StepError::machine)? {
                self.rewriter.recycle(recycled_chunk);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ScanResult, StepError> {
        let rewritten = self.rewriter.finish();
        let rewritten = rewritten.map_err(|cause| failed(self.read, cause))?;
        self.write_pending()?;
        let projection = self.rewriter.take_projection();
        let index = self.rewriter.take_index();
        Ok(ScanResult {
            rewritten,
            metadata: index.map(|index| TextMetadata { index, projection }),
            text: self.text,
        })
    }
}

/// Scans on a separate thread, and returns chunks for reuse.
fn scan_chunks(
    options: &ReadOptions,
    read: &ReadSpec,
    chunks: Receiver<Vec<u8>>,
    text: TextWriter,
    empty: SyncSender<Vec<u8>>,
) -> Result<ScanResult, StepError> {
    let mut scan = ChunkScanner::new(options, read, text);
    for chunk in chunks {
        if let Some(recycled_chunk) = scan.feed(chunk)? {
            // If the channel is full, there are enough chunks for reuse, and this one is dropped.
            let _ = empty.try_send(recycled_chunk);
        }
    }
    scan.finish()
}
