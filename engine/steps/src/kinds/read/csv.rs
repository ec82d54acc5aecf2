//! CSV, as pandas reads it.
//!
//! One thread inflates and stores the bytes, another scans them; neither waits for the other by more than a few pieces.

use std::io::{ErrorKind, Read as _, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use prep_core::{Context, StepError};
use prep_formats::pandas::{FloatParser, ReadOptions, Scan, Scanner, normalise};
use prep_spec::model::{Floats, Read};

use super::{check_columns, failed};
use crate::value::{Content, Opener, Storage, TableValue};

/// Bytes that go from one thread to the other at a time.
const PIECE: usize = 1 << 18;
/// Pieces on their way.
const PIECES: usize = 8;

pub(super) fn read(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
) -> Result<TableValue, StepError> {
    let options = ReadOptions {
        delimiter: read.delimiter,
        floats: match read.floats {
            Floats::RoundTrip => FloatParser::RoundTrip,
            Floats::Fast => FloatParser::Fast,
        },
        ..ReadOptions::default()
    };
    context.progress.set_total_bytes(content.bytes());
    let mut raw = context.store.writer()?;
    let (full, scanned) = sync_channel(PIECES);
    let (empty, recycled) = sync_channel(PIECES + 1);
    let (stored, scan) = std::thread::scope(|scope| {
        let scanner = scope.spawn(|| scan(&options, read, scanned, empty));
        let stored = store(context, opener, content, read, &mut raw, full, recycled);
        let scan = scanner
            .join()
            .unwrap_or_else(|_| Err(StepError::internal("the scanning thread panicked")));
        (stored, scan)
    });
    // When the scan fails, storing stops because nobody takes its pieces: the scan's error is the cause.
    let scan = scan?;
    stored?;
    let object = if scan.canonical {
        raw.commit()?.digest
    } else {
        drop(raw);
        let mut text = context.store.writer()?;
        let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
        let reader = opened.reader().map_err(|cause| failed(read, cause))?;
        normalise(reader, &scan, &options, &mut text).map_err(|cause| failed(read, cause))?;
        text.commit()?.digest
    };
    let mut schema = scan.schema;
    check_columns(read, &mut schema)?;
    Ok(TableValue::new(schema, Storage::Text { object }))
}

/// Reads the content piece by piece, stores every piece and hands it on.
fn store(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
    raw: &mut impl Write,
    full: SyncSender<Vec<u8>>,
    recycled: Receiver<Vec<u8>>,
) -> Result<(), StepError> {
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    let mut reader = opened.reader().map_err(|cause| failed(read, cause))?;
    loop {
        context.check()?;
        let mut piece = recycled
            .try_recv()
            .unwrap_or_else(|_| Vec::with_capacity(PIECE));
        piece.resize(PIECE, 0);
        let count = match reader.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(read, error)),
        };
        piece.truncate(count);
        raw.write_all(&piece).map_err(StepError::machine)?;
        context.progress.add_bytes(count as u64);
        if full.send(piece).is_err() {
            return Err(StepError::Cancelled);
        }
    }
}

/// Scans the pieces as they come and gives their memory back.
fn scan(
    options: &ReadOptions,
    read: &Read,
    pieces: Receiver<Vec<u8>>,
    empty: SyncSender<Vec<u8>>,
) -> Result<Scan, StepError> {
    let mut scanner = Scanner::new(options);
    for piece in pieces {
        scanner.feed(&piece).map_err(|cause| failed(read, cause))?;
        // A full channel means there are pieces enough.
        let _ = empty.try_send(piece);
    }
    scanner.finish().map_err(|cause| failed(read, cause))
}
