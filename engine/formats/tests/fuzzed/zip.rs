//! Arbitrary bytes are listed and read, or rejected. All ways of reading agree and respect the declared size.

use std::cell::RefCell;
use std::io::Read;

use prep_formats::inflated::DeflateSpans;
use prep_formats::limits::DecodingLimits;
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::spans::SpanReader;
use prep_formats::zip::{MemberInflater, ZipDirectory, ZipEntry, ZipMethod, read_tolerant};

pub fn check(data: &[u8]) {
    let limits = DecodingLimits {
        unpacked: 1 << 24,
        ratio: 0,
        ..DecodingLimits::default()
    };
    let tolerant = read_tolerant(data, 0..data.len() as u64, &limits.budget(0));
    let Ok(zip) = ZipDirectory::read(data, 0..data.len() as u64, &limits.budget(0)) else {
        return;
    };
    // `read_tolerant` accepts all archives that `ZipDirectory::read` accepts.
    assert!(tolerant.is_ok_and(|listing| listing.members.len() >= zip.len()));
    let mut inflater = MemberInflater::default();
    let (mut whole, mut streamed) = (Vec::new(), Vec::new());
    for entry in &zip.entries() {
        assert!(!entry.path.starts_with('/') && !entry.path.split('/').any(|part| part == ".."));
        streamed.clear();
        let read = inflater.read_into(data, entry, &mut whole);
        let stream = entry
            .open(data)
            .map_err(std::io::Error::from)
            .and_then(|mut reader| reader.read_to_end(&mut streamed));
        assert_eq!(read.is_ok(), stream.is_ok());
        assert!(streamed.len() as u64 <= entry.size);
        if read.is_ok() {
            assert_eq!(whole, streamed);
        }
        if entry.method == ZipMethod::Deflate {
            assert_eq!(
                by_index(entry, data).ok(),
                read.is_ok().then_some(streamed.clone())
            );
        }
    }
}

/// Returns the content of a member. Reads it with an index, and reads its second half first.
fn by_index(entry: &ZipEntry, data: &[u8]) -> std::io::Result<Vec<u8>> {
    let windows = RefCell::new(Vec::new());
    let indexer = entry.indexer(data, &windows)?;
    let indexer = indexer.expect("a deflated member");
    let index = indexer.finish()?;
    let index = index.expect("this number of bytes must have an index");
    let packed = ByteSection::new(data, entry.locate(data)?);
    let inflated = SpanReader::new(DeflateSpans::new(packed, windows.take(), index), 1);
    let mut content = vec![0; entry.size as usize];
    let (first, second) = content.split_at_mut(entry.size as usize / 2);
    inflated.read_exact_at(second, first.len() as u64)?;
    inflated.read_exact_at(first, 0)?;
    Ok(content)
}
