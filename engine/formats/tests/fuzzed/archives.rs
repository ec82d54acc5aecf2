//! Any bytes as a tar (plain or gzipped) or 7z archive: members are read or refused, names stay inside, and no more than
//! the limit is handed out.

use std::io::{self, Cursor, Read};

use prep_formats::archive::MemberKind;
use prep_formats::read_at::Section;
use prep_formats::sevenz::{self, SevenZReader};
use prep_formats::tar;

const LIMIT: u64 = 1 << 20;

/// Reads a member that says to have so many bytes.
fn take(path: &str, size: Option<u64>, reader: &mut dyn Read, total: &mut u64) -> io::Result<()> {
    assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."));
    let read = io::copy(reader, &mut io::sink())?;
    assert!(
        read <= size.unwrap_or(0),
        "{path}: {read} bytes of {size:?}"
    );
    *total += read;
    assert!(*total <= LIMIT);
    Ok(())
}

pub fn check(data: &[u8]) {
    let mut total = 0;
    let _ = tar::read(data, LIMIT, |path, kind, reader| {
        let size = match kind {
            MemberKind::File { size } => Some(size),
            MemberKind::Directory => None,
        };
        take(path, size, reader, &mut total)
    });
    let mut total = 0;
    let _ = sevenz::read(Cursor::new(data), LIMIT, |path, kind, reader| {
        let size = match kind {
            MemberKind::File { size } => Some(size),
            MemberKind::Directory => None,
        };
        take(path, size, reader, &mut total)
    });
    parts(data);
}

/// The parts of a 7z archive are decoded or refused, and no larger than they say.
fn parts(data: &[u8]) {
    let Ok(archive) = SevenZReader::open(Cursor::new(data), LIMIT) else {
        return;
    };
    let Ok(Some(parts)) = archive.parts(&data) else {
        return;
    };
    let mut total = 0;
    for part in parts.iter() {
        if let Ok(bytes) = part.decode(Section::new(data, part.packed())) {
            total += bytes.len() as u64;
        }
    }
    assert!(total <= LIMIT);
}
