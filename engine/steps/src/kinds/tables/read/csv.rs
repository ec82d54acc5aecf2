//! Reads CSV like pandas.
//!
//! Bytes pass through three threads in chunks, if these are available: this one inflates them, the next one scans and
//! quotes them, and the thread of the object writer writes them. No thread is ahead of the next one by more than a few
//! chunks.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use prep_cache::{Permit, start_scoped};
use prep_core::{Context, StepError};
use prep_formats::pandas::{CsvError, ReadOptions, Rewriter, Rewritten, first_misfit, normalise};
use prep_spec::model::ColumnKind;
use prep_spec::words::Word;

use super::{Format, Read, ReadError, check_columns, each, failed, fits};
use crate::value::{Content, Known, Opener, Storage, StoredText, TableValue, TextWriter, fill};

/// Bytes per chunk.
const PIECE: usize = 1 << 18;
/// Maximum number of chunks between two threads.
const PIECES: usize = 2;

pub(super) const FORMAT: Format = Format {
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
    content: &Content,
    read: &Read,
) -> Result<TableValue, StepError> {
    let options = read.csv_options();
    context.progress.set_total_bytes(content.bytes());
    let text = Box::new(TextWriter::new(context, content.bytes())?);
    let scan_here = |text: Box<TextWriter>| {
        let mut scan = Scanning::new(&options, read, *text);
        let inflated = inflate(context, opener, content, read, |piece| {
            Ok(Some(scan.feed(piece)?.unwrap_or_default()))
        });
        (inflated, scan)
    };
    let on_two_threads = |text: Box<TextWriter>, thread: Permit| {
        let (full, inflated) = sync_channel::<Vec<u8>>(PIECES);
        let (empty, recycled) = sync_channel(2 * PIECES);
        std::thread::scope(|scope| {
            let scan = |text: Box<TextWriter>| {
                thread.work(|| scan_pieces(&options, read, inflated, *text, empty))
            };
            let scanner = start_scoped(scope, Builder::new(), text, scan)?;
            let inflated = inflate(context, opener, content, read, move |piece| {
                let taken = full.send(piece).is_ok();
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
        // The system started no thread.
        Err(text) => {
            let (inflated, scan) = scan_here(text);
            inflated?;
            (Ok(()), scan.finish())
        }
    };
    // If the content is truncated, the scanner reports an error, too. The truncation is its cause.
    inflated?;
    let Scanned {
        rewritten,
        known,
        text,
    } = scanned?;
    let bytes = content.bytes();
    let text = match &rewritten {
        Rewritten::Canonical(_) => text,
        // The written cells are still available, and faster to read than to inflate again.
        Rewritten::Cells(scan, options) => {
            let mut cells = text.read_back()?;
            printed(context, bytes, |out| {
                normalise(context.cancel.reader(&mut cells), scan, options, out)
            })?
        }
        Rewritten::Unreadable(scan) => {
            drop(text);
            let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
            let raw = opened.reader().map_err(|cause| failed(read, cause))?;
            printed(context, bytes, |out| {
                normalise(context.cancel.reader(raw), scan, &options, out)
            })?
        }
    };
    let (object, held) = text.finish()?;
    // A second pass moves the rows, so the recorded positions are invalid.
    let known = known.filter(|_| matches!(rewritten, Rewritten::Canonical(_)));
    let mut schema = rewritten.into_scan().schema;
    let declared = check_columns(read, &mut schema)
        .map_err(|error| with_cell(error, opener, content, read, &options).blamed(read))?;
    let storage = Storage::Text {
        object: object.digest,
    };
    let table = declared.table(schema, storage);
    match (held, known) {
        (Some(text), known) => StoredText::hold(context, object, &table.schema, text, known)?,
        (None, Some(known)) => StoredText::keep(context, object, &table.schema, known)?,
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
    content: &Content,
    read: &Read,
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
    let misfit = reader.and_then(|reader| {
        first_misfit(reader, options, column, |kind| fits(declared, kind)).ok()?
    });
    let Some(misfit) = misfit else {
        return error;
    };
    let number = misfit.missing || misfit.cell.parse::<f64>().is_ok();
    ReadError::OtherCell {
        path: path.clone(),
        column: column.clone(),
        declared: declared.name(),
        // A column of integers with missing values is a column of numbers.
        other: match declared {
            ColumnKind::Integer if number => "number",
            _ => "text",
        },
        misfit: Box::new(misfit),
    }
}

/// Reads the content in chunks and passes them to `give`, until `give` returns `None`.
fn inflate(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
    mut give: impl FnMut(Vec<u8>) -> Result<Option<Vec<u8>>, StepError>,
) -> Result<(), StepError> {
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    let mut reader = opened.reader().map_err(|cause| failed(read, cause))?;
    let mut piece = Vec::new();
    loop {
        context.check()?;
        piece.resize(PIECE, 0);
        let (count, cause) = fill(&mut reader, &mut piece);
        if let Some(cause) = cause {
            return Err(failed(read, cause));
        }
        piece.truncate(count);
        context.progress.add_bytes(count as u64);
        if count == 0 {
            return Ok(());
        }
        match give(piece)? {
            Some(next) => piece = next,
            None => return Ok(()),
        }
    }
}

/// The result of scanning a file.
struct Scanned {
    rewritten: Rewritten,
    /// Facts recorded during the scan.
    known: Option<Known>,
    text: TextWriter,
}

/// Scans chunks and passes their text to the store.
struct Scanning<'a> {
    rewriter: Rewriter,
    read: &'a Read,
    text: TextWriter,
}

impl<'a> Scanning<'a> {
    fn new(options: &ReadOptions, read: &'a Read, text: TextWriter) -> Scanning<'a> {
        // Queries compute with the declared columns, so these are kept in memory.
        let declared = read.columns.iter().map(|one| one.name.value.clone());
        Scanning {
            rewriter: Rewriter::new(options).with_projection(declared.collect()),
            read,
            text,
        }
    }

    /// Scans a chunk. Returns a chunk for reuse, if there is one.
    fn feed(&mut self, piece: Vec<u8>) -> Result<Option<Vec<u8>>, StepError> {
        let fed = self.rewriter.feed(piece);
        fed.map_err(|cause| failed(self.read, cause))?;
        self.pass_on()?;
        Ok(self.rewriter.spent())
    }

    fn pass_on(&mut self) -> Result<(), StepError> {
        while let Some(piece) = self.rewriter.take() {
            if let Some(spent) = self.text.push(piece).map_err(StepError::machine)? {
                self.rewriter.give(spent);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Scanned, StepError> {
        let rewritten = self.rewriter.finish();
        let rewritten = rewritten.map_err(|cause| failed(self.read, cause))?;
        self.pass_on()?;
        let projection = self.rewriter.take_projection();
        let index = self.rewriter.take_index();
        Ok(Scanned {
            rewritten,
            known: index.map(|index| Known { index, projection }),
            text: self.text,
        })
    }
}

/// Scans on a separate thread, and returns chunks for reuse.
fn scan_pieces(
    options: &ReadOptions,
    read: &Read,
    pieces: Receiver<Vec<u8>>,
    text: TextWriter,
    empty: SyncSender<Vec<u8>>,
) -> Result<Scanned, StepError> {
    let mut scan = Scanning::new(options, read, text);
    for piece in pieces {
        if let Some(spent) = scan.feed(piece)? {
            // A full channel contains enough chunks.
            let _ = empty.try_send(spent);
        }
    }
    scan.finish()
}
