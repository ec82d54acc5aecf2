//! Lists a bundle on the server, and fetches some of its members.

use crate::common;
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use common::{Fixture, ID, Outcome, content};
use prep_core::{FileValue, Source};
use prep_fault_server::{At, Bundle, Fault, Kind, MemberFile, Side};
use prep_fetch::{FetchError, Members, PartOfBundle, Protocol};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipMethod, ZipWriter};

/// Returns an archive of ten members of a million bytes each: `a/0.bin` to `a/4.bin` and `b/5.bin` to `b/9.bin`.
fn archive() -> Vec<u8> {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    ARCHIVE.get_or_init(create_archive).clone()
}

fn create_archive() -> Vec<u8> {
    let mut zip = ZipWriter::new(Vec::new());
    for member in 0..10 {
        let directory = if member < 5 { "a" } else { "b" };
        let method = if member % 2 == 0 {
            ZipMethod::Stored
        } else {
            ZipMethod::Deflate
        };
        let bytes = content(1_000_000, member + 1);
        zip.add_file(&format!("{directory}/{member}.bin"), method, &*bytes)
            .unwrap();
    }
    zip.finish().unwrap()
}

fn members(patterns: &[&str]) -> Members {
    Members::new(patterns.iter().map(|&pattern| pattern.to_owned())).unwrap()
}

fn part(fixture: &Fixture, patterns: &[&str]) -> PartOfBundle {
    PartOfBundle::new(fixture.source(None), members(patterns))
}

fn unpack(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let range = 0..bytes.len() as u64;
    let listing =
        ZipDirectory::read(bytes, range, &DecodingLimits::default().budget(1 << 20)).unwrap();
    let members = listing.entries().into_iter().map(|entry| {
        let mut out = Vec::new();
        std::io::copy(&mut entry.open(bytes).unwrap(), &mut out).unwrap();
        (entry.path.clone(), out)
    });
    members.collect()
}

#[test]
fn a_listing_transfers_few_bytes() -> Outcome {
    let bytes = archive();
    let bundle = Bundle::new(ID, bytes.clone());
    let md5 = bundle.md5.clone();
    let fixture = Fixture::new(bundle, Vec::new());
    let remote = fixture.list(ID)?;
    let local = ZipDirectory::read(
        &bytes,
        0..bytes.len() as u64,
        &DecodingLimits::default().budget(bytes.len() as u64),
    )?;
    assert_eq!(remote.entries, local.entries());
    assert_eq!(remote.bytes, bytes.len() as u64);
    assert_eq!(remote.md5, Some(md5));
    assert_eq!(fixture.server.sent(), remote.moved);
    assert!(remote.moved <= 3 * (16 << 10), "{}", remote.moved);
    assert!(!fixture.data().exists());
    Ok(())
}

#[test]
fn a_tenth_of_the_members_needs_a_tenth_of_the_bytes() -> Outcome {
    let bytes = archive();
    let all = unpack(&bytes);
    let table: [(&[&str], &[usize]); 4] = [
        (&["a/3.bin"], &[3]),
        (&["b/9.bin", "b/8.bin"], &[8, 9]),
        (&["b/**"], &[5, 6, 7, 8, 9]),
        (&["a/0.bin", "b/5.bin"], &[0, 5]),
    ];
    for (members, expected) in table {
        let fixture = Fixture::new(Bundle::new(ID, bytes.clone()), Vec::new());
        let source = part(&fixture, members);
        let value = source.run(&fixture.context)?;
        let path = source.location().ok_or("no location")?;
        let got = unpack(&fs::read(&path)?);
        let expected: Vec<_> = expected.iter().map(|&member| all[member].clone()).collect();
        assert!(got == expected, "{members:?}");
        let used: usize = expected.iter().map(|(_, bytes)| bytes.len()).sum();
        let sent = fixture.server.sent();
        assert!(
            sent < used as u64 * 11 / 10,
            "{members:?}: {sent} for {used}"
        );
        assert_eq!(fixture.server.requests_of(Side::Api).len(), 1);
        assert!(FileValue::from_value(&value)?.outside);
        assert_eq!(path.parent().unwrap().read_dir()?.count(), 1);
        assert_eq!(
            part(&fixture, members).run(&fixture.context)?.digest(),
            value.digest()
        );
        assert_eq!(fixture.server.sent(), sent);
        assert!(!fixture.target().exists());
    }
    Ok(())
}

#[test]
fn the_size_of_a_part_is_known_before_it_is_fetched() -> Outcome {
    let fixture = Fixture::new(Bundle::new(ID, archive()), Vec::new());
    let remote = fixture.list(ID)?;
    let all = members(&["**"]).bytes(&remote.entries);
    let one = members(&["a/0.bin"]).bytes(&remote.entries);
    assert!(all < remote.bytes && all > remote.bytes - 2000, "{all}");
    assert!((1_000_000..1_000_200).contains(&one), "{one}");
    Ok(())
}

#[test]
fn an_interrupted_fetch_of_a_part_continues() -> Outcome {
    let drop = Fault::at_byte(3_900_000, Kind::Drop).always();
    let fixture = Fixture::new(Bundle::new(ID, archive()), vec![drop]);
    assert!(part(&fixture, &["a/3.bin"]).run(&fixture.context).is_err());
    let before = fixture.server.sent();
    fixture.server.set_faults(Vec::new());
    part(&fixture, &["a/3.bin"]).run(&fixture.context)?;
    let after = fixture.server.sent() - before;
    assert!(after < 250_000, "{after}");
    Ok(())
}

#[test]
fn errors_of_a_part_name_the_cause() {
    let damaged = content(500_000, 3)[..400_000].to_vec();
    let replace = Kind::Replace(damaged.into());
    let table: Vec<(&[&str], Vec<Fault>, &str)> = vec![
        (&["a/7.bin"], vec![], "has no member a/7.bin"),
        (&["a/0.bin", "c/**"], vec![], "has no member c/**"),
        (
            &["a/3.bin"],
            vec![Fault::at_byte(3_500_000, Kind::Corrupt)],
            "a/3.bin of the bundle",
        ),
        (
            &["a/3.bin"],
            vec![Fault::at(At::Store, replace)],
            "cannot be listed",
        ),
        (
            &["a/3.bin"],
            vec![Fault::at(At::Store, Kind::IgnoreRange).always()],
            "the whole bundle",
        ),
        (
            &["a/3.bin"],
            vec![Fault::at(At::Store, Kind::status(500)).always()],
            "answered 500",
        ),
        (
            &["a/3.bin"],
            vec![Fault::at(At::Store, Kind::Html).always()],
            "got HTML",
        ),
    ];
    for (members, faults, expected) in table {
        let fixture = Fixture::new(Bundle::new(ID, archive()), faults);
        let error = part(&fixture, members).run(&fixture.context).unwrap_err();
        let error = prep_core::chain(&error);
        let first = error.lines().next().unwrap_or_default();
        assert!(first.contains(expected), "{error}");
        assert_eq!(part(&fixture, members).location(), None);
    }
}

#[test]
fn a_listing_survives_temporary_failures() -> Outcome {
    let faults = vec![
        Fault::at(At::Store, Kind::Drop),
        Fault::at(At::Store, Kind::status(503)).after(1),
        Fault::at(At::Store, Kind::Expire).after(3),
    ];
    let fixture = Fixture::new(Bundle::new(ID, archive()), faults);
    assert_eq!(fixture.list(ID)?.entries.len(), 10);
    assert_eq!(fixture.server.requests_of(Side::Api).len(), 2);
    let gone = fixture.list("unknown");
    assert!(matches!(gone, Err(FetchError::NoSuchCompetition { .. })));
    Ok(())
}

#[test]
fn a_listing_can_be_cancelled() {
    let stall = Fault::at(At::Store, Kind::Stall(Duration::from_secs(60))).always();
    let fixture = Fixture::with(vec![Bundle::new(ID, archive())], vec![stall], |options| {
        options.stall = Duration::from_secs(60);
    });
    fixture.context.cancel.cancel();
    assert!(matches!(fixture.list(ID), Err(FetchError::Cancelled)));
}

/// Returns a bundle with content `bytes`. The API lists `files`, and sends them one by one.
fn listed(bytes: Vec<u8>, files: &[(&str, &[u8])]) -> Bundle {
    let files = files.iter().map(|(path, bytes)| {
        let name = path.rsplit('/').next().unwrap();
        let mut zip = ZipWriter::new(Vec::new());
        zip.add_file(name, ZipMethod::Deflate, *bytes).unwrap();
        MemberFile {
            path: (*path).to_owned(),
            bytes: bytes.to_vec().into(),
            zipped: zip.finish().unwrap().into(),
        }
    });
    Bundle::new(ID, bytes).with_files(files.collect())
}

#[test]
fn members_are_fetched_one_by_one_if_ranges_do_not_work() -> Outcome {
    let table = content(40_000, 7);
    let picture = content(30_000, 8);
    // The API sends tables within a zip archive, and other files as they are. A member that is an archive remains one.
    let mut inner = ZipWriter::new(Vec::new());
    for name in ["one.csv", "two.csv"] {
        inner.add_file(name, ZipMethod::Deflate, &*table)?;
    }
    let inner = inner.finish()?;
    let files: [(&str, &[u8]); 5] = [
        ("train.csv", &table),
        ("a/b c.png", &picture),
        ("a/d.png", &picture),
        ("inner.zip", &inner),
        ("other.bin", &table),
    ];
    let no_ranges = || vec![Fault::at(At::Store, Kind::IgnoreRange).always()];
    for (bundle, faults) in [
        (b"7z\xbc\xaf\x27\x1c".repeat(1000), vec![]),
        (archive(), no_ranges()),
    ] {
        for protocol in [Protocol::Rpc, Protocol::Rest] {
            let bundle = listed(bundle.clone(), &files);
            let fixture = Fixture::with(vec![bundle], faults.clone(), |options| {
                options.protocol = protocol
            });
            let source = part(&fixture, &["train.csv", "a/*.png", "inner.zip"]);
            source.run(&fixture.context)?;
            let path = source.location().ok_or("no location")?;
            let got = unpack(&fs::read(&path)?);
            let expected = [
                ("a/b c.png", &picture[..]),
                ("a/d.png", &picture),
                ("inner.zip", &inner),
                ("train.csv", &table),
            ];
            assert_eq!(got.len(), expected.len());
            for ((path, bytes), (expected_path, expected_bytes)) in got.iter().zip(expected) {
                assert_eq!(path, expected_path);
                assert!(bytes == expected_bytes, "{path}");
            }
            assert_eq!(path.parent().unwrap().read_dir()?.count(), 1);
        }
    }
    Ok(())
}

/// If the API does not list all required members, the message contains the reason why range requests failed.
#[test]
fn unlisted_members_report_why_ranges_failed() {
    let faults = vec![Fault::at(At::Store, Kind::IgnoreRange).always()];
    let bundle = listed(archive(), &[("train.csv", b"a")]);
    let fixture = Fixture::with(vec![bundle], faults, |_| {});
    let error = part(&fixture, &["train.csv", "test.csv"]).run(&fixture.context);
    let error = prep_core::chain(&error.unwrap_err());
    assert!(error.contains("the whole bundle"), "{error}");
}

#[test]
fn sizes_are_listed_before_the_rules_are_accepted() -> Outcome {
    let files: [(&str, &[u8]); 4] = [("a", b"1"), ("b", b"22"), ("c", b"333"), ("d", b"4444")];
    for protocol in [Protocol::Rpc, Protocol::Rest] {
        let bundle = listed(archive(), &files).without_consent();
        let fixture = Fixture::with(vec![bundle], Vec::new(), |options| {
            options.protocol = protocol
        });
        let cancel = &fixture.context.cancel;
        let listed = fixture.network.files(ID, cancel)?;
        let listed: Vec<_> = listed
            .iter()
            .map(|file| (file.path.as_str(), file.bytes))
            .collect();
        assert_eq!(listed, [("a", 1), ("b", 2), ("c", 3), ("d", 4)]);
        let summary = fixture.network.summary(ID, cancel)?;
        assert_eq!((summary.files, summary.bytes), (4, 10));
    }
    Ok(())
}
