//! Tar and 7z archives: reads archives written by Python and by this crate, and rejects invalid ones.

use std::cell::RefCell;
use std::io::{Cursor, Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use prep_formats::archive::{ArchiveError, ArchiveFormat, StoredForm, StoredForms, VisitMember};
use prep_formats::gzip::GzipIndexer;
use prep_formats::inflated::DeflateSpans;
use prep_formats::limits::{ArchiveBudget, DecodingLimits, Limit, LimitExceeded};
use prep_formats::paths::PathError;
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::sevenz::{PartSpans, SevenZReader, SevenZWriter};
use prep_formats::spans::{SpanReader, Spans};
use prep_formats::tar::{self as tarball, TarWriter};
use prep_formats::zip::{RawListing, ZipDirectory, ZipMethod, ZipWriter, read_tolerant};

/// Returns a budget for an archive that may unpack to `unpacked` bytes.
fn limited(unpacked: u64) -> ArchiveBudget {
    let limits = DecodingLimits {
        unpacked,
        ratio: 0,
        ..DecodingLimits::default()
    };
    limits.budget(0)
}

/// The path of a member, and for a file the length and CRC-32 of its content.
type Member = (String, Option<(u64, u32)>);

/// Returns the members of the archives that `tests/data/archives/record.py` wrote.
fn expected() -> Vec<Member> {
    let members: Vec<Member> =
        serde_json::from_str(include_str!("data/archives/members.json")).unwrap();
    assert_eq!(members.len(), 4);
    members
}

/// Returns the length and CRC-32 of the content.
fn content(reader: &mut dyn Read) -> std::io::Result<(u64, u32)> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64, crc32fast::hash(&bytes)))
}

fn read(format: ArchiveFormat, bytes: &[u8]) -> Result<Vec<Member>, ArchiveError> {
    let (mut members, archive) = (Vec::new(), ByteSection::new(bytes, 0..bytes.len() as u64));
    let budget = limited(1 << 30);
    format.read(
        "x",
        archive,
        &budget,
        StoredForms::Skip,
        &mut |member, reader| {
            let found = content(reader)?;
            assert_eq!(Some(found.0), member.size);
            let file = (!member.is_directory).then_some(found);
            members.push((member.path.to_owned(), file));
            Ok(())
        },
    )?;
    Ok(members)
}

fn read_tar(bytes: &[u8]) -> Result<Vec<Member>, ArchiveError> {
    read(ArchiveFormat::Tar, bytes)
}

fn read_7z(bytes: &[u8]) -> Result<Vec<Member>, ArchiveError> {
    let mut members = read(ArchiveFormat::SevenZ, bytes)?;
    members.sort();
    Ok(members)
}

fn walk_7z(
    bytes: &[u8],
    budget: &ArchiveBudget,
    visit: VisitMember<'_>,
) -> Result<(), ArchiveError> {
    SevenZReader::open(Cursor::new(bytes), budget)?.read(visit)
}

#[test]
fn tar_archives_of_python_are_read() {
    let mut members = expected();
    let long = format!("long/{}/ä.txt", "x".repeat(120));
    members.push((long, Some((9, crc32fast::hash(b"long name")))));
    assert_eq!(
        read_tar(include_bytes!("data/archives/gnu.tar.gz")).unwrap(),
        members
    );
    assert_eq!(
        read_tar(include_bytes!("data/archives/pax.tar.gz")).unwrap(),
        members
    );
}

/// Lists the members of a gzipped tar archive, and then reads the content of each member at its listed offset. Returns
/// `None` if there is no index for random access.
fn listed(bytes: &[u8]) -> Result<Option<Vec<Member>>, ArchiveError> {
    let windows = RefCell::new(Vec::new());
    let mut input = GzipIndexer::new(bytes, &windows).map_err(ArchiveError::DamagedTar)?;
    let mut places = Vec::new();
    let budget = limited(1 << 30);
    tarball::read_plain(&mut input, &budget, StoredForms::Skip, &mut |member, _| {
        let size = (!member.is_directory).then_some(member.size.unwrap());
        places.push((member.path.to_owned(), size, member.offset));
        Ok(())
    })?;
    let gzipped = input.finish().map_err(ArchiveError::DamagedTar)?;
    let Some(gzipped) = gzipped else {
        return Ok(None);
    };
    let packed = ByteSection::new(bytes, gzipped.offset..gzipped.offset + gzipped.bytes);
    let plain = SpanReader::new(DeflateSpans::new(packed, windows.take(), gzipped.index), 1);
    let members = places.into_iter().map(|(path, size, place)| {
        let Some(size) = size else {
            return (path, None);
        };
        let mut content = vec![0; size as usize];
        plain.read_exact_at(&mut content, place.unwrap()).unwrap();
        (path, Some((size, crc32fast::hash(&content))))
    });
    Ok(Some(members.collect()))
}

#[test]
fn gzipped_tar_is_listed_with_member_offsets() {
    for bytes in [
        &include_bytes!("data/archives/gnu.tar.gz")[..],
        include_bytes!("data/archives/pax.tar.gz"),
    ] {
        assert_eq!(listed(bytes).unwrap().unwrap(), read_tar(bytes).unwrap());
        // A gzip header with all optional fields.
        let mut plain = Vec::new();
        MultiGzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
        let mut header = GzBuilder::new()
            .extra(b"more")
            .filename("a.tar")
            .comment("b")
            .write(Vec::new(), Compression::fast());
        header.write_all(&plain).unwrap();
        let named = header.finish().unwrap();
        assert_eq!(listed(&named).unwrap().unwrap(), read_tar(bytes).unwrap());
        // A file with several gzip streams, as some tools write it.
        let mut both = Vec::new();
        for half in plain.chunks(plain.len() / 2 + 1) {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(half).unwrap();
            both.extend(packed.finish().unwrap());
        }
        assert_eq!(read_tar(&both).unwrap(), read_tar(bytes).unwrap());
        assert!(!matches!(listed(&both), Ok(Some(_))));
    }
}

/// The gzip checksum comes after the end of the archive and must be verified.
#[test]
fn damaged_gzipped_tar_is_an_error() {
    let whole = include_bytes!("data/archives/gnu.tar.gz");
    let members = read_tar(whole).unwrap();
    for place in 10..whole.len() {
        let mut damaged = whole.to_vec();
        damaged[place] ^= 0x10;
        let (read, listed) = (read_tar(&damaged), listed(&damaged));
        // The modified byte may be part of the file name in the gzip header, which does not matter.
        assert!(read.is_err() || read.unwrap() == members, "{place}");
        assert!(
            !matches!(listed, Ok(Some(listed)) if listed != members),
            "{place}"
        );
    }
}

#[test]
fn sevenz_archives_of_every_method_are_read() {
    let mut members = expected();
    members.retain(|(_, file)| file.is_some());
    members.sort();
    let archives: [&[u8]; 5] = [
        include_bytes!("data/archives/lzma2_bcj.7z"),
        include_bytes!("data/archives/lzma.7z"),
        include_bytes!("data/archives/deflate.7z"),
        include_bytes!("data/archives/copy.7z"),
        include_bytes!("data/archives/delta_lzma2.7z"),
    ];
    for bytes in archives {
        assert_eq!(read_7z(bytes).unwrap(), members);
    }
}

#[test]
fn written_tar_archives_are_deterministic() {
    let write = || {
        let mut tar = TarWriter::new(Vec::new());
        tar.add_directory("d").unwrap();
        tar.add_file("d/a.txt", 3, &b"abc"[..]).unwrap();
        tar.add_file(&format!("{}/ü", "y".repeat(150)), 0, &b""[..])
            .unwrap();
        tar.finish().unwrap()
    };
    let bytes = write();
    assert_eq!(bytes, write());
    let members = read_tar(&bytes).unwrap();
    assert_eq!(members[0], ("d".into(), None));
    assert_eq!(
        members[1],
        ("d/a.txt".into(), Some((3, crc32fast::hash(b"abc"))))
    );
    assert_eq!(members.len(), 3);
    for size in [2, 4] {
        let wrong = TarWriter::new(Vec::new()).add_file("a", size, &b"abc"[..]);
        assert!(matches!(wrong, Err(ArchiveError::Write { .. })), "{size}");
    }
}

type OptionalResult<T> = Result<Option<T>, Box<dyn std::error::Error>>;

/// Decodes a 7z archive in parts, in different orders, and verifies the offsets and checksums of the members. Returns the
/// number of parts and the content of all members, or `None` if the archive cannot be divided.
fn decode_parts(bytes: &[u8]) -> OptionalResult<(usize, Vec<u8>)> {
    let archive = SevenZReader::open(Cursor::new(bytes), &DecodingLimits::default().budget(0))?;
    let Some(parts) = archive.parts(&bytes)? else {
        return Ok(None);
    };
    let count = parts.len();
    let undivided_parts = || PartSpans::new(bytes.to_vec(), parts.clone(), u64::MAX);
    let mut content = Vec::new();
    ByteSection::new(SpanReader::new(undivided_parts(), 1), 0..u64::MAX)
        .read_to_end(&mut content)?;
    assert_eq!(undivided_parts().count(), count);
    // Reading forwards in small steps decodes nothing twice.
    let pieces = SpanReader::new(PartSpans::new(bytes.to_vec(), parts.clone(), 77_777), 1);
    let mut again = Vec::new();
    ByteSection::new(&pieces, 0..u64::MAX).read_to_end(&mut again)?;
    assert!(content == again);
    assert_eq!(pieces.repeated_bytes(), 0);
    for fraction in [0.9, 0.1, 0.5, 0.4, 0.99, 0.0] {
        let at = (content.len() as f64 * fraction) as usize;
        let mut piece = vec![0; 1000.min(content.len() - at)];
        pieces.read_exact_at(&mut piece, at as u64)?;
        assert!(piece == content[at..at + piece.len()]);
    }
    let mut are_crcs_correct = true;
    let mut end = 0;
    archive.list(&mut |member| {
        let from = member.offset.unwrap() as usize;
        assert!(member.is_directory || from == end);
        end = from + member.size.unwrap() as usize;
        let found = crc32fast::hash(&content[from..end]);
        are_crcs_correct &= member.crc32.is_none_or(|crc32| crc32 == found);
    })?;
    assert_eq!(end, content.len());
    if !are_crcs_correct {
        return Err("a checksum is wrong".into());
    }
    Ok(Some((count, content)))
}

/// Reads a 7z archive sequentially. Returns the concatenated contents of all members.
fn read_7z_joined(bytes: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    let mut joined = Vec::new();
    walk_7z(
        bytes,
        &DecodingLimits::default().budget(0),
        &mut |_, reader| reader.read_to_end(&mut joined).map(drop),
    )?;
    Ok(joined)
}

#[test]
fn decoded_parts_are_the_content_of_the_7z_archive() {
    // Written by 7-Zip: one solid block whose stream resets its dictionary several times.
    let solid = include_bytes!("data/archives/parts.7z");
    let (parts, content) = decode_parts(solid).unwrap().unwrap();
    assert_eq!(parts, 7);
    assert_eq!(content.len(), 6_600_549);
    assert!(content == read_7z_joined(solid).unwrap());
    // Written by `SevenZWriter`: one block per member.
    let mut archive = SevenZWriter::new(Cursor::new(Vec::new()), 6);
    for (name, length) in [("a", 3_000_000), ("b", 0), ("c", 1), ("d/e", 70_000)] {
        let content = name.repeat(length);
        archive.add_file(name, content.as_bytes()).unwrap();
    }
    let ours = archive.finish().unwrap().into_inner();
    let (parts, content) = decode_parts(&ours).unwrap().unwrap();
    assert_eq!(parts, 3);
    assert!(content == read_7z_joined(&ours).unwrap());
    let lzma = include_bytes!("data/archives/lzma.7z");
    let (parts, content) = decode_parts(lzma).unwrap().unwrap();
    assert_eq!(parts, 1);
    assert!(content == read_7z_joined(lzma).unwrap());
    for other in [
        &include_bytes!("data/archives/lzma2_bcj.7z")[..],
        include_bytes!("data/archives/delta_lzma2.7z"),
    ] {
        assert!(decode_parts(other).unwrap().is_none());
    }
}

#[test]
fn damaged_7z_is_an_error_in_parts_and_in_sequence() {
    let whole = include_bytes!("data/archives/parts.7z");
    for place in (32..whole.len()).step_by(97) {
        let mut damaged = whole.to_vec();
        damaged[place] ^= 0x10;
        let (parts, sequence) = (decode_parts(&damaged), read_7z_joined(&damaged));
        match parts {
            Ok(Some((_, content))) => assert!(content == sequence.unwrap(), "{place}"),
            Ok(None) => {}
            Err(_) => assert!(sequence.is_err(), "{place}"),
        }
    }
}

#[test]
fn written_7z_archives_are_deterministic() {
    let write = || {
        let mut archive = SevenZWriter::new(Cursor::new(Vec::new()), 6);
        archive.add_directory("d").unwrap();
        archive
            .add_file("d/a.txt", &b"abc".repeat(1000)[..])
            .unwrap();
        archive.add_file("empty", &b""[..]).unwrap();
        archive.finish().unwrap().into_inner()
    };
    let bytes = write();
    assert_eq!(bytes, write());
    let members = read_7z(&bytes).unwrap();
    let content = crc32fast::hash(&b"abc".repeat(1000));
    assert_eq!(
        members,
        [
            ("d".into(), None),
            ("d/a.txt".into(), Some((3000, content))),
            ("empty".into(), Some((0, 0)))
        ]
    );
}

#[test]
fn sevenz_with_only_a_directory_is_written_and_read() {
    let mut archive = SevenZWriter::new(Cursor::new(Vec::new()), 6);
    archive.add_directory("only").unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    assert_eq!(read_7z(&bytes).unwrap(), [("only".into(), None)]);
}

/// Returns a tar archive with one member, which has no content.
fn tar_of(path: &str, kind: tar::EntryType) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    // The name is set directly, because the tar crate rejects such names.
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_size(0);
    header.set_mode(0o644);
    header.set_link_name("/etc/passwd").unwrap();
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, &b""[..]).unwrap();
    builder.into_inner().unwrap()
}

/// A declared size or name length over the limit is an error before the content is read.
#[test]
fn tar_bombs_are_rejected() {
    let member = |path: &str, size: u64| {
        let mut header = tar::Header::new_gnu();
        header.set_path(path).unwrap();
        header.set_size(size);
        header.set_cksum();
        header.as_bytes().to_vec()
    };
    let read = |bytes: &[u8], limit| {
        let mut visited = Vec::new();
        let budget = limited(limit);
        let result = tarball::read(bytes, &budget, StoredForms::Skip, &mut |member, reader| {
            std::io::copy(reader, &mut std::io::sink())?;
            visited.push(member.path.to_owned());
            Ok(())
        });
        (visited, result)
    };
    // The second member declares 16 TiB.
    let mut bytes = member("a", 600);
    bytes.extend([7; 1024]);
    bytes.extend(member("b", 16 << 40));
    bytes.extend([0; 4096]);
    let (visited, result) = read(&bytes, 1 << 40);
    assert_eq!(visited, ["a"]);
    let error = result.unwrap_err();
    assert!(
        matches!(&error, ArchiveError::Limit { member, cause }
            if member == "b" && cause.found == (16 << 40) + 600 && cause.allowed == 1 << 40),
        "{error:?}"
    );

    // A GNU header declares that the name of the next member has 8 GiB.
    let mut long = tar::Header::new_gnu();
    long.set_entry_type(tar::EntryType::GNULongName);
    long.set_path("././@LongLink").unwrap();
    long.set_size(8 << 30);
    long.set_cksum();
    let endless = Cursor::new([bytes[..1536].to_vec(), long.as_bytes().to_vec()].concat())
        .chain(std::io::repeat(b'x'));
    let result = tarball::read(
        endless,
        &limited(1 << 40),
        StoredForms::Skip,
        &mut |_, _| Ok(()),
    );
    let error = result.unwrap_err();
    let ArchiveError::DamagedTar(cause) = &error else {
        panic!("{error:?}");
    };
    assert!(cause.to_string().contains("longer than 1048576"), "{cause}");

    // Content that the visitor does not read is skipped, regardless of its length.
    let mut bytes = member("a", 3 << 20);
    bytes.resize(bytes.len() + (3 << 20), 1);
    bytes.extend(tar_of("b", tar::EntryType::Regular));
    let mut visited = 0;
    tarball::read(
        &*bytes,
        &limited(1 << 30),
        StoredForms::Skip,
        &mut |_, _| {
            visited += 1;
            Ok(())
        },
    )
    .unwrap();
    assert_eq!(visited, 2);
}

#[test]
fn invalid_tar_archives_are_rejected() {
    for (path, cause) in [
        ("../a", PathError::ParentComponent),
        ("/a", PathError::Absolute),
        ("a\\b", PathError::Backslash),
    ] {
        match read_tar(&tar_of(path, tar::EntryType::Regular)) {
            Err(ArchiveError::UnsafePath { cause: found, .. }) => assert_eq!(found, cause),
            other => panic!("{other:?}"),
        }
    }
    for kind in [tar::EntryType::Symlink, tar::EntryType::Link] {
        assert!(matches!(
            read_tar(&tar_of("a", kind)),
            Err(ArchiveError::NotAFile { .. })
        ));
    }
    for kind in [
        tar::EntryType::Fifo,
        tar::EntryType::Char,
        tar::EntryType::Block,
    ] {
        assert!(matches!(
            read_tar(&tar_of("a", kind)),
            Err(ArchiveError::NotAFile { .. })
        ));
    }
    for bytes in [&b"<html></html>"[..], b"", b"id,x\n1,2\n", b"PK\x03\x04"] {
        assert!(matches!(
            read_tar(bytes),
            Err(ArchiveError::OtherFormat { .. })
        ));
    }
    let whole = include_bytes!("data/archives/gnu.tar.gz");
    for length in [20, 100, whole.len() - 30] {
        assert!(read_tar(&whole[..length]).is_err(), "{length}");
    }
}

/// py7zr rejects a header with an empty list of streams, so an archive without content must not have such a list.
#[test]
fn sevenz_without_content_has_no_list_of_streams() {
    for (entries, files) in [(1, 0), (1, 1), (0, 1), (130, 70)] {
        let mut archive = SevenZWriter::new(Cursor::new(Vec::new()), 1);
        let mut expected = Vec::new();
        for number in 0..entries {
            archive.add_directory(&format!("train{number}")).unwrap();
            expected.push((format!("train{number}"), true));
        }
        for number in 0..files {
            archive.add_file(&format!("a/{number}"), &b""[..]).unwrap();
            expected.push((format!("a/{number}"), false));
        }
        let bytes = archive.finish().unwrap().into_inner();
        // The signature, then a header that begins with the files: no packed streams and no main streams.
        assert_eq!(&bytes[..6], b"7z\xBC\xAF\x27\x1C");
        assert!(bytes.len() == 32 || bytes[32..34] == [0x01, 0x05]);
        let mut found = Vec::new();
        walk_7z(
            &bytes,
            &DecodingLimits::default().budget(0),
            &mut |member, _| {
                found.push((member.path.to_owned(), member.is_directory));
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(found, expected);
    }
}

#[test]
fn invalid_7z_archives_are_rejected() {
    assert!(matches!(
        read_7z(b"<html>"),
        Err(ArchiveError::OtherFormat { .. })
    ));
    assert!(matches!(
        read_7z(include_bytes!("data/archives/encrypted.7z")),
        Err(ArchiveError::Encrypted)
    ));
    let bzip2 = read_7z(include_bytes!("data/archives/bzip2.7z"));
    assert!(
        matches!(&bzip2, Err(ArchiveError::UnsupportedMethod { method }) if method == "BZIP2"),
        "{bzip2:?}"
    );
    let whole = include_bytes!("data/archives/lzma.7z");
    for length in [10, 32, 60, whole.len() - 1] {
        assert!(
            matches!(
                read_7z(&whole[..length]),
                Err(ArchiveError::Damaged7z { .. })
            ),
            "{length}"
        );
    }
    let mut flipped = include_bytes!("data/archives/copy.7z").to_vec();
    flipped[40] ^= 1;
    assert!(matches!(
        read_7z(&flipped),
        Err(ArchiveError::Damaged7z { .. })
    ));
    let total = walk_7z(whole, &limited(100), &mut |_, _| Ok(()));
    assert!(matches!(
        total,
        Err(ArchiveError::Limit {
            cause: LimitExceeded {
                limit: Limit::Unpacked,
                allowed: 100,
                ..
            },
            ..
        })
    ));
    // 200,000 directories with the same name: this list of members compresses far better than any real list.
    let mut bomb = SevenZWriter::new(Cursor::new(Vec::new()), 6);
    bomb.add_file("a", &b"x"[..]).unwrap();
    for _ in 0..200_000 {
        bomb.add_directory("aaaaaaaaaaaaaaaa").unwrap();
    }
    let bomb = bomb.finish().unwrap().into_inner();
    let read = walk_7z(&bomb, &limited(1 << 30), &mut |_, _| Ok(()));
    assert!(
        matches!(
            read,
            Err(ArchiveError::LongList(LimitExceeded {
                limit: Limit::Listing,
                ..
            }))
        ),
        "{} bytes: {read:?}",
        bomb.len()
    );
    let stopped = walk_7z(whole, &DecodingLimits::default().budget(0), &mut |_, _| {
        Err(std::io::Error::other("full"))
    });
    assert!(matches!(stopped, Err(ArchiveError::Visitor { .. })));
    for path in ["../a", "/a"] {
        let added = SevenZWriter::new(Cursor::new(Vec::new()), 1).add_file(path, &b"x"[..]);
        assert!(matches!(added, Err(ArchiveError::UnsafePath { .. })));
    }
}

/// Returns the path of each member, and how the member is stored.
fn forms(format: ArchiveFormat, bytes: &[u8]) -> Vec<(String, StoredForm)> {
    let archive = ByteSection::new(bytes, 0..bytes.len() as u64);
    let mut found = Vec::new();
    let budget = limited(1 << 30);
    let read = format.read(
        "x.gz",
        archive,
        &budget,
        StoredForms::Read,
        &mut |member, _| {
            found.extend(
                member
                    .stored
                    .map(|form| (member.path.to_owned(), form.clone())),
            );
            Ok(())
        },
    );
    read.unwrap();
    found
}

#[test]
fn stored_forms_contain_times_owners_and_methods() {
    let mut zip = ZipWriter::new(Vec::new());
    zip.add_file("b", ZipMethod::Stored, &b"xx"[..]).unwrap();
    zip.add_file("a", ZipMethod::Deflate, &b"xxxxxxxx"[..])
        .unwrap();
    let found = forms(ArchiveFormat::Zip, &zip.finish().unwrap());
    assert_eq!((&*found[0].0, &*found[1].0), ("b", "a"));
    assert_ne!(found[0].1.form, found[1].1.form);
    assert_eq!(found[0].1.compressed_bytes, Some(2));

    let mut tar = tar::Builder::new(Vec::new());
    for (path, owner) in [("a", 1000), (&*"d/".repeat(90), 1001)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_uid(owner);
        header.set_mtime(1000);
        header.set_cksum();
        tar.append_data(&mut header, format!("{path}b"), &b"y"[..])
            .unwrap();
    }
    let tar = tar.into_inner().unwrap();
    let plain = forms(ArchiveFormat::Tar, &tar);
    assert_eq!((&*plain[0].0, plain[1].0.len()), ("ab", 181));
    assert_eq!(plain[0].1.time, 1000.0);
    assert_ne!(plain[0].1.form, plain[1].1.form);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&tar).unwrap();
    let packed = encoder.finish().unwrap();
    assert_eq!(forms(ArchiveFormat::Tar, &packed), plain);

    let [(name, form)] = &forms(ArchiveFormat::Gzip, &packed)[..] else {
        panic!();
    };
    assert_eq!((&**name, form.time), ("x", 0.0));
    assert_eq!(form.compressed_bytes, Some(packed.len() as u64));
}

/// All sizes, offsets and counts of this archive are in zip64 structures.
#[test]
fn zip64_structures_are_read_by_all_functions() {
    let bytes = include_bytes!("data/archives/zip64.zip");
    let expected = [("a.txt", &b"stored"[..]), ("d/b.txt", &b"deflated"[..])];
    let expected: Vec<Member> = expected
        .map(|(path, content)| {
            let file = (content.len() as u64, crc32fast::hash(content));
            (path.to_owned(), Some(file))
        })
        .into();
    assert_eq!(read(ArchiveFormat::Zip, bytes).unwrap(), expected);
    let found = forms(ArchiveFormat::Zip, bytes);
    assert_eq!(found[0].1.compressed_bytes, Some(6));
    let length = bytes.len() as u64;
    let budget = DecodingLimits::default().budget(length);
    let raw = read_tolerant(&bytes[..], 0..length, &budget).unwrap();
    assert_eq!(raw.trailing_bytes, 0);
    for (member, (path, file)) in raw.members.iter().zip(&expected) {
        assert_eq!(
            (&member.name, Some((member.size, member.crc))),
            (path, *file)
        );
        let begin = member.data_offset(&&bytes[..]).unwrap().unwrap();
        let source = &&bytes[..];
        let mut reader = member.content(source, begin).unwrap();
        assert_eq!(content(&mut reader).unwrap(), file.unwrap());
    }
    // The archive is inside a larger file.
    let moved = [b"front", &bytes[..], b"more"].concat();
    let range = 5..5 + length;
    let directory = ZipDirectory::read(&moved, range.clone(), &budget).unwrap();
    assert_eq!(directory.len(), 2);
    for entry in directory.entries() {
        assert_eq!(
            content(&mut entry.open(&moved).unwrap()).unwrap().0,
            entry.size
        );
    }
    let inside = read_tolerant(&moved, range, &budget).unwrap();
    let offset = |listing: &RawListing| listing.members[1].offset;
    assert_eq!(offset(&inside), offset(&raw) + 5);
}
