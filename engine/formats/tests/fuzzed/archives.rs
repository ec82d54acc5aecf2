//! Reads arbitrary bytes as an archive: paths stay inside the target directory, and the content stays below the limit.

use std::cell::RefCell;
use std::io::{self, Cursor};

use prep_formats::archive::{ArchiveFormat, StoredForms};
use prep_formats::gzip::GzipIndexer;
use prep_formats::inflated::DeflateSpans;
use prep_formats::limits::{ArchiveBudget, DecodingLimits};
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::sevenz::{PartSpans, SevenZReader};
use prep_formats::spans::{SpanReader, Spans};
use prep_formats::tar;

/// Maximum number of bytes to which an archive may unpack.
const LIMIT: u64 = 1 << 20;

fn budget() -> ArchiveBudget {
    let limits = DecodingLimits {
        unpacked: LIMIT,
        ratio: 0,
        ..DecodingLimits::default()
    };
    limits.budget(0)
}

pub fn check(data: &[u8]) {
    for format in [
        ArchiveFormat::Tar,
        ArchiveFormat::SevenZ,
        ArchiveFormat::Gzip,
    ] {
        let archive = ByteSection::new(data, 0..data.len() as u64);
        let mut total = 0;
        let _ = format.read(
            "x",
            archive,
            &budget(),
            StoredForms::Read,
            &mut |member, reader| {
                let path = member.path;
                assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."));
                let read = io::copy(reader, &mut io::sink())?;
                assert!(
                    member.size.is_none_or(|size| read <= size),
                    "{path}: {read} bytes"
                );
                total += read;
                assert!(total <= LIMIT);
                Ok(())
            },
        );
    }
    parts(data);
    gzipped(data);
}

/// Checks that the parts of a 7z archive are decoded or rejected, and have at most their declared size.
fn parts(data: &[u8]) {
    let Ok(archive) = SevenZReader::open(Cursor::new(data), &budget()) else {
        return;
    };
    let Ok(Some(parts)) = archive.parts(&data) else {
        return;
    };
    let spans = PartSpans::new(data.to_vec(), parts, 1000);
    let mut total = 0;
    for number in 0..spans.count() {
        let mut bytes = Vec::new();
        if spans.unpack(number, &mut bytes).is_ok() {
            total += bytes.len() as u64;
        }
    }
    assert!(total <= LIMIT);
}

/// Checks that a gzipped tar archive is listed while it is read, and that its members are at the listed offsets.
fn gzipped(data: &[u8]) {
    let windows = RefCell::new(Vec::new());
    let mut places = Vec::new();
    let listed = GzipIndexer::new(data, &windows).and_then(|mut input| {
        let listed = tar::read_plain(
            &mut input,
            &budget(),
            StoredForms::Skip,
            &mut |member, _| {
                places.push((member.path.to_owned(), member.size, member.offset));
                Ok(())
            },
        );
        Ok((listed, input.finish()?))
    });
    let Ok((Ok(()), Some(gzipped))) = listed else {
        return;
    };
    let packed = ByteSection::new(data, gzipped.offset..gzipped.offset + gzipped.bytes);
    let plain = SpanReader::new(DeflateSpans::new(packed, windows.take(), gzipped.index), 1);
    let mut places = places.into_iter();
    let read = tar::read(
        data,
        &budget(),
        StoredForms::Skip,
        &mut |member, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            let (path, size, place) = places.next().expect("all members are listed");
            assert_eq!((&*path, size), (member.path, member.size));
            if let Some(place) = place {
                let mut there = vec![0; bytes.len()];
                plain.read_exact_at(&mut there, place)?;
                assert_eq!(there, bytes);
            }
            Ok(())
        },
    );
    assert!(read.is_ok() && places.next().is_none());
}
