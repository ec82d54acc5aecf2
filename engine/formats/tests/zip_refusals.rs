//! One invalid archive per error. Checks the error's variant and message.

use crate::support;
use std::io::Read;

use prep_formats::limits::{DecodingLimits, Limit};
use prep_formats::paths::PathError;
use prep_formats::sniff::FileType;
use prep_formats::zip::{MemberInflater, ZipDirectory, ZipEntry, ZipError};
use support::{Member, archive};

fn list(bytes: &[u8]) -> Result<Vec<ZipEntry>, ZipError> {
    ZipDirectory::read(
        bytes,
        0..bytes.len() as u64,
        &DecodingLimits::default().budget(bytes.len() as u64),
    )
    .map(|zip| zip.entries())
}

/// Lists an archive with these members. Returns the error.
fn refusal(members: &[Member]) -> ZipError {
    list(&archive(members)).expect_err("the listing should be rejected")
}

/// Lists an archive with this member. Reads the member as a stream and with [`MemberInflater`], which must return the same
/// error, and returns the error.
fn member_refusal(member: Member) -> ZipError {
    let bytes = archive(&[member]);
    let entry = list(&bytes).expect("the listing is fine").remove(0);
    let mut content = vec![1, 2, 3];
    let whole = MemberInflater::default()
        .read_into(bytes.as_slice(), &entry, &mut content)
        .expect_err("the member should be rejected");
    assert!(content.is_empty(), "`content` must be empty after an error");
    let mut streamed = Vec::new();
    let stream = match entry.open(&bytes) {
        Err(error) => error,
        Ok(mut reader) => reader
            .read_to_end(&mut streamed)
            .expect_err("the stream should be rejected")
            .downcast::<ZipError>()
            .expect("a typed error"),
    };
    assert!(
        streamed.len() as u64 <= entry.size,
        "the stream must not return more bytes than declared"
    );
    assert_eq!(
        std::mem::discriminant(&stream),
        std::mem::discriminant(&whole)
    );
    whole
}

fn not_a_zip(bytes: &[u8]) -> (FileType, String) {
    let error = list(bytes).expect_err("not a zip archive");
    let message = error.to_string();
    match error {
        ZipError::NotAZip { found, .. } => (found, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_file_types_are_rejected() {
    let page = format!("\n<!DOCTYPE html>\n<html>{}</html>", "x".repeat(2400));
    let (found, message) = not_a_zip(page.as_bytes());
    assert_eq!(found, FileType::Html);
    assert!(
        message.starts_with("got HTML, 2.43 kB, expected a zip archive"),
        "{message}"
    );
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let cases: [(&[u8], FileType); 9] = [
        (b"", FileType::Empty),
        (b"\x1f\x8b\x08rest", FileType::Gzip),
        (b"7z\xbc\xaf\x27\x1c\0\x04", FileType::SevenZ),
        (b"id,label\n1,2\n", FileType::Text),
        (b"{\"code\": 403}", FileType::Json),
        (b"<?xml version='1.0'?><Error/>", FileType::Xml),
        (&[0; 4096], FileType::Zeros),
        (b"\x01\x02\x03\xff", FileType::Binary),
        (&tar, FileType::Tar),
    ];
    for (bytes, file_type) in cases {
        assert_eq!(not_a_zip(bytes).0, file_type);
    }
}

#[test]
fn truncated_archive_is_rejected() {
    let whole = archive(&[
        Member::stored("a.txt", &[7; 1000]),
        Member::deflated("b.txt", b"bb"),
    ]);
    for length in [4, 30, 600, 1100, whole.len() - 22, whole.len() - 1] {
        let error = list(&whole[..length]).expect_err("truncated");
        assert!(
            matches!(error, ZipError::Truncated { size } if size == length as u64),
            "{error:?}"
        );
    }
}

#[test]
fn archive_truncated_after_an_inner_archive_is_rejected() {
    let inner = archive(&[Member::stored("inner.txt", b"inner")]);
    let outer = archive(&[
        Member::stored("a.txt", b"a"),
        Member::stored("in.zip", &inner),
    ]);
    let end = outer.windows(4).rposition(|w| w == b"PK\x05\x06").unwrap();
    let cut = &outer[..end - 100];
    let error = list(cut).expect_err("the inner archive is not the outer archive");
    assert!(matches!(error, ZipError::Truncated { .. }), "{error:?}");
}

#[test]
fn damaged_central_directory_is_rejected() {
    let mut bytes = archive(&[Member::stored("a", b"a"), Member::stored("b", b"b")]);
    let second = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    bytes[second] = b'X';
    let error = list(&bytes).expect_err("damaged");
    assert!(
        matches!(error, ZipError::DamagedDirectory { .. }),
        "{error:?}"
    );

    let mut bytes = archive(&[Member::stored("a", b"a")]);
    let end = bytes.len() - 22;
    bytes[end + 8] = 5;
    bytes[end + 10] = 5;
    let error = list(&bytes).expect_err("miscounted");
    assert!(
        error
            .to_string()
            .contains("1 records, but 5 records are declared"),
        "{error}"
    );
}

#[test]
fn encrypted_member_is_rejected() {
    let member = Member {
        flags: 1,
        ..Member::stored("secret.txt", b"x")
    };
    let error = refusal(&[Member::stored("a", b"a"), member]);
    assert!(
        matches!(&error, ZipError::Encrypted { member, offset: 32 } if member == "secret.txt"),
        "{error:?}"
    );
}

#[test]
fn unsupported_compression_method_is_rejected() {
    for method in [1, 6, 9, 12, 14, 93, 95, 98, 99] {
        let error = refusal(&[Member {
            method,
            ..Member::stored("a", b"a")
        }]);
        assert!(
            matches!(error, ZipError::UnsupportedMethod { method: found, .. } if found == method)
        );
    }
}

#[test]
fn unsafe_paths_are_rejected() {
    let long = "x".repeat(256);
    let table = [
        ("/etc/passwd", PathError::Absolute),
        ("//host/share", PathError::Absolute),
        ("../a", PathError::ParentComponent),
        ("a/../../b", PathError::ParentComponent),
        ("a/..", PathError::ParentComponent),
        ("C:/a", PathError::DriveLetter),
        ("c:a", PathError::DriveLetter),
        ("a\\b", PathError::Backslash),
        ("..\\a", PathError::Backslash),
        ("\\\\host\\a", PathError::Backslash),
        ("a\0.txt", PathError::Nul),
        (".", PathError::Empty),
        ("", PathError::Empty),
        (
            &long,
            PathError::TooLong {
                length: 256,
                limit: 255,
            },
        ),
    ];
    for (name, cause) in table {
        match refusal(&[Member::stored(name, b"a")]) {
            ZipError::UnsafePath {
                member,
                offset: 0,
                cause: found,
            } => {
                assert_eq!((member.as_str(), found), (name, cause));
            }
            other => panic!("{name:?}: {other:?}"),
        }
    }
}

#[test]
fn links_and_special_files_are_rejected() {
    let link = Member {
        mode: 0o120_777,
        ..Member::stored("link", b"/etc/passwd")
    };
    assert!(matches!(refusal(&[link]), ZipError::Symlink { .. }));
    for mode in [0o010_644, 0o020_644, 0o060_644, 0o140_644] {
        let special = Member {
            mode,
            ..Member::stored("special", b"")
        };
        assert!(
            matches!(refusal(&[special]), ZipError::SpecialFile { .. }),
            "{mode:o}"
        );
    }
}

#[test]
fn duplicates_with_different_contents_are_rejected() {
    let equal = [
        Member::stored("a/b", b"same"),
        Member::deflated("a//b", b"same"),
    ];
    let entries = list(&archive(&equal)).expect("equal duplicates are one member");
    assert_eq!(entries.len(), 1);
    let other = [Member::stored("a", b"one"), Member::stored("a", b"two")];
    let error = refusal(&other);
    assert!(
        matches!(
            error,
            ZipError::DifferingDuplicate {
                first: 0,
                offset: 34,
                ..
            }
        ),
        "{error:?}"
    );
    // These two contents have the same length and the same CRC-32.
    let other = [
        Member::stored("a", b"plumless"),
        Member::stored("a", b"buckeroo"),
    ];
    let error = refusal(&other);
    assert!(
        matches!(error, ZipError::DifferingDuplicate { .. }),
        "{error:?}"
    );
    let both = [Member::stored("a", b""), Member::stored("a/", b"")];
    let error = refusal(&both);
    assert!(
        matches!(error, ZipError::DifferingDuplicate { .. }),
        "{error:?}"
    );
}

#[test]
fn member_inside_a_file_is_rejected() {
    for members in [["a", "a/b"], ["a/b/c/d", "a/b"]] {
        let error = refusal(&members.map(|name| Member::stored(name, b"x")));
        assert!(
            matches!(error, ZipError::FileAsDirectory { .. }),
            "{error:?}"
        );
    }
    // Paths such as `a-1` sort between a file and a path inside it.
    let error =
        refusal(&["a", "a-1", "a-1b", "a.b/c", "a/b"].map(|name| Member::stored(name, b"")));
    assert!(
        matches!(&error, ZipError::FileAsDirectory { member, file, .. } if member == "a/b" && file == "a"),
        "{error:?}"
    );
    let sound = ["a/", "a/b", "a-1", "a-1b", "ab/c", "abc"];
    assert_eq!(
        list(&archive(&sound.map(|name| Member::stored(name, b""))))
            .unwrap()
            .len(),
        6
    );
}

/// Lists 3,000 members. The path of each member has 1,480 directories.
#[test]
fn deep_paths_take_linear_time() {
    let members: Vec<Member> = (0..3000)
        .map(|number| Member::stored(&format!("{number:04}{}", "/a".repeat(1480)), b""))
        .collect();
    let bytes = archive(&members);
    let started = std::time::Instant::now();
    assert_eq!(list(&bytes).unwrap().len(), 3000);
    assert!(started.elapsed().as_secs() < 3, "{:?}", started.elapsed());
}

#[test]
fn local_header_that_differs_is_rejected() {
    let good = Member::stored("good.txt", b"good");
    let table = [
        (
            "the name",
            Member {
                local_name: Some(b"evil.txt".to_vec()),
                ..good.clone()
            },
        ),
        (
            "the method",
            Member {
                local_method: Some(8),
                ..good.clone()
            },
        ),
        (
            "the CRC",
            Member {
                local_crc: Some(1),
                ..good.clone()
            },
        ),
        (
            "the size",
            Member {
                local_size: Some(3),
                ..good.clone()
            },
        ),
    ];
    for (expected_field, member) in table {
        match member_refusal(member) {
            ZipError::HeaderMismatch {
                field, offset: 0, ..
            } => assert_eq!(field, expected_field),
            other => panic!("{other:?}"),
        }
    }
    let mut bytes = archive(&[good]);
    let entry = list(&bytes).unwrap().remove(0);
    bytes[0] = 0;
    assert!(matches!(
        entry.locate(&bytes),
        Err(ZipError::NoHeader { offset: 0, .. })
    ));
}

#[test]
fn local_header_may_lack_sizes_if_they_follow_the_data() {
    let member = Member {
        flags: 8,
        local_crc: Some(0),
        local_size: Some(0),
        ..Member::stored("a", b"abc")
    };
    let bytes = archive(&[member]);
    let entry = list(&bytes).unwrap().remove(0);
    let mut content = Vec::new();
    entry
        .open(&bytes)
        .unwrap()
        .read_to_end(&mut content)
        .unwrap();
    assert_eq!(content, b"abc");
}

#[test]
fn overlapping_members_are_rejected() {
    let shared = [
        Member::stored("a", b"1234"),
        Member {
            header_offset: Some(0),
            ..Member::stored("b", b"1234")
        },
    ];
    assert!(matches!(refusal(&shared), ZipError::Overlap { .. }));
    let far = Member {
        compressed_size: Some(1000),
        size: 1000,
        ..Member::stored("a", b"1234")
    };
    assert!(matches!(refusal(&[far]), ZipError::Overlap { .. }));
    // The extra field of the local header moves the data into the next record.
    let pushed = Member {
        local_extra: vec![0; 40],
        data: Vec::new(),
        compressed_size: Some(30),
        size: 30,
        ..Member::stored("a", b"")
    };
    let bytes = archive(&[pushed, Member::stored("b", b"")]);
    let entry = list(&bytes).unwrap().remove(0);
    assert!(matches!(
        entry.locate(&bytes),
        Err(ZipError::Overlap { .. })
    ));
}

#[test]
fn zip_bombs_are_rejected() {
    let declared = Member {
        size: 4_000_000_000,
        ..Member::deflated("bomb", b"abc")
    };
    let error = refusal(&[declared]);
    assert!(
        matches!(
            error,
            ZipError::Ratio {
                size: 4_000_000_000,
                limit: 1032,
                ..
            }
        ),
        "{error:?}"
    );
    let bytes = archive(&[
        Member::stored("a", &[1; 600]),
        Member::stored("b", &[2; 600]),
    ]);
    let limits = DecodingLimits {
        unpacked: 1000,
        ratio: 0,
        ..DecodingLimits::default()
    };
    let read = |limits: DecodingLimits| {
        ZipDirectory::read(&bytes, 0..bytes.len() as u64, &limits.budget(0))
    };
    let error = read(limits).unwrap_err();
    assert!(
        matches!(&error, ZipError::Limit { member, cause, .. }
            if member == "b" && (cause.limit, cause.found) == (Limit::Unpacked, 1200)),
        "{error:?}"
    );
    let limits = DecodingLimits {
        members: 1,
        ..DecodingLimits::default()
    };
    let error = read(limits).unwrap_err();
    assert!(
        matches!(&error, ZipError::Limit { member, cause, .. }
            if member == "b" && cause.limit == Limit::Members),
        "{error:?}"
    );
}

#[test]
fn wrong_crc_is_an_error() {
    for make in [Member::stored, Member::deflated] {
        let error = member_refusal(Member {
            crc: 5,
            ..make("a", b"content")
        });
        assert!(
            matches!(error, ZipError::WrongCrc { expected: 5, .. }),
            "{error:?}"
        );
    }
}

#[test]
fn content_longer_or_shorter_than_declared_is_an_error() {
    let content = b"0123456789".repeat(100);
    let longer = Member {
        size: 500,
        ..Member::deflated("a", &content)
    };
    assert!(matches!(
        member_refusal(longer),
        ZipError::TooLong { size: 500, .. }
    ));
    let shorter = Member {
        size: 1001,
        ..Member::deflated("a", &content)
    };
    assert!(matches!(
        member_refusal(shorter),
        ZipError::TooShort { actual: 1000, .. }
    ));
    let stored = Member {
        size: 11,
        ..Member::stored("a", b"0123456789")
    };
    assert!(matches!(
        refusal(&[stored]),
        ZipError::TooShort {
            size: 11,
            actual: 10,
            ..
        }
    ));
    let stored = Member {
        size: 9,
        ..Member::stored("a", b"0123456789")
    };
    assert!(matches!(
        refusal(&[stored]),
        ZipError::TooLong { size: 9, .. }
    ));
}

#[test]
fn corrupt_deflate_stream_is_an_error() {
    let mut broken = Member::deflated("a", &b"0123456789".repeat(50));
    broken.data[0] = 0xff;
    assert!(matches!(member_refusal(broken), ZipError::Corrupt { .. }));
    let mut cut = Member::deflated("a", &(0..=255).collect::<Vec<u8>>());
    cut.data.truncate(100);
    let error = member_refusal(cut);
    assert!(
        matches!(error, ZipError::Corrupt { .. } | ZipError::TooShort { .. }),
        "{error:?}"
    );
    let mut trailing = Member::deflated("a", b"abc");
    trailing.data.extend(b"more");
    assert!(matches!(member_refusal(trailing), ZipError::Corrupt { .. }));
}
