//! Reads arbitrary bytes as CSV: nothing panics, `CsvScanner` and `Rewriter` lead to the same canonical text, and this text
//! can be opened.

use prep_formats::pandas::{
    CsvScanner, FloatParser, ReadOptions, RewriteResult, Rewriter, TextTable, normalise, read_frame,
};

pub fn check(data: &[u8]) {
    // The first byte selects the options and the length of the chunks.
    let Some((flags, raw)) = data.split_first() else {
        return;
    };
    let options = ReadOptions {
        delimiter: if flags & 1 == 0 { b',' } else { b'\t' },
        floats: if flags & 2 == 0 {
            FloatParser::RoundTrip
        } else {
            FloatParser::Fast
        },
        header: flags & 4 == 0,
        all_text: flags & 8 != 0,
        ..ReadOptions::default()
    };
    let mut scanner = CsvScanner::new(&options);
    let chunk = 1 + usize::from(flags >> 4);
    let scan = raw
        .chunks(chunk)
        .try_for_each(|chunk| scanner.feed(chunk))
        .and_then(|()| scanner.finish());
    let frame = read_frame(raw, &options);
    assert_eq!(scan.is_ok(), frame.is_ok());
    let Ok(scan) = scan else { return };
    let mut text = Vec::new();
    normalise(raw, &scan, &options, &mut text).expect("a scanned file can be normalised");
    assert_eq!(rewritten(raw, &options, chunk), text);
    let table = TextTable::from_bytes(text, scan.schema).expect("canonical text can be opened");
    for row in 0..table.schema().rows {
        assert_eq!(
            table.cells(row).expect("the row exists").count(),
            table.schema().columns.len().max(1)
        );
    }
}

/// Returns the canonical text of `raw`. The first pass uses a [`Rewriter`]. If cells must be formatted, [`normalise`]
/// runs as the second pass.
fn rewritten(raw: &[u8], options: &ReadOptions, chunk: usize) -> Vec<u8> {
    let mut rewriter = Rewriter::new(options);
    let mut pieces = Vec::new();
    for chunk in raw.chunks(chunk) {
        rewriter.feed(chunk.to_vec()).expect("it was scanned");
        pieces.extend(std::iter::from_fn(|| rewriter.take_chunk()));
    }
    let found = rewriter.finish().expect("it was scanned");
    pieces.extend(std::iter::from_fn(|| rewriter.take_chunk()));
    let (text, mut printed) = (pieces.concat(), Vec::new());
    let again = match &found {
        RewriteResult::Canonical(_) => return text,
        RewriteResult::Cells(scan, options) => normalise(&*text, scan, options, &mut printed),
        RewriteResult::Unreadable(scan) => normalise(raw, scan, options, &mut printed),
    };
    again.expect("a scanned file can be normalised");
    printed
}
