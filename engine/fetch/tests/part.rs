//! Listing a bundle at the server, and fetching some of its members.

use crate::common;
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use common::{ID, Outcome, World, content};
use prep_core::{FileValue, Source};
use prep_fault_server::{At, Bundle, Fault, Kind, MemberFile, Side};
use prep_fetch::{FetchError, Members, PartOfBundle, Protocol};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipListing, ZipMethod, ZipWriter};

/// Ten members of a million bytes: `a/0.bin` to `a/4.bin`, `b/5.bin` to `b/9.bin`.
fn archive() -> Vec<u8> {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    ARCHIVE.get_or_init(make).clone()
}

fn make() -> Vec<u8> {
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

fn named(patterns: &[&str]) -> Members {
    Members::new(patterns.iter().map(|&pattern| pattern.to_owned())).unwrap()
}

fn part(world: &World, members: &[&str]) -> PartOfBundle {
    PartOfBundle::new(world.source(None), named(members))
}

/// Path and content of the members of an archive.
fn unpack(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let range = 0..bytes.len() as u64;
    let listing =
        ZipListing::read(bytes, range, &DecodingLimits::default().budget(1 << 20)).unwrap();
    let members = listing.entries.iter().map(|entry| {
        let mut out = Vec::new();
        std::io::copy(&mut entry.open(bytes).unwrap(), &mut out).unwrap();
        (entry.path.clone(), out)
    });
    members.collect()
}

#[test]
fn a_listing_moves_little() -> Outcome {
    let bytes = archive();
    let bundle = Bundle::new(ID, bytes.clone());
    let md5 = bundle.md5.clone();
    let world = World::new(bundle, Vec::new());
    let remote = world.list(ID)?;
    let local = ZipListing::read(
        &bytes,
        0..bytes.len() as u64,
        &DecodingLimits::default().budget(bytes.len() as u64),
    )?;
    assert_eq!(remote.entries, local.entries);
    assert_eq!(remote.bytes, bytes.len() as u64);
    assert_eq!(remote.md5, Some(md5));
    assert_eq!(world.server.sent(), remote.moved);
    assert!(remote.moved <= 3 * (16 << 10), "{}", remote.moved);
    assert!(!world.data().exists());
    Ok(())
}

#[test]
fn a_tenth_costs_a_tenth() -> Outcome {
    let bytes = archive();
    let all = unpack(&bytes);
    let table: [(&[&str], &[usize]); 4] = [
        (&["a/3.bin"], &[3]),
        (&["b/9.bin", "b/8.bin"], &[8, 9]),
        (&["b/**"], &[5, 6, 7, 8, 9]),
        (&["a/0.bin", "b/5.bin"], &[0, 5]),
    ];
    for (members, expected) in table {
        let world = World::new(Bundle::new(ID, bytes.clone()), Vec::new());
        let source = part(&world, members);
        let value = source.run(&world.context)?;
        let path = source.location().ok_or("no location")?;
        let got = unpack(&fs::read(&path)?);
        let expected: Vec<_> = expected.iter().map(|&member| all[member].clone()).collect();
        assert!(got == expected, "{members:?}");
        let used: usize = expected.iter().map(|(_, bytes)| bytes.len()).sum();
        let sent = world.server.sent();
        assert!(
            sent < used as u64 * 11 / 10,
            "{members:?}: {sent} for {used}"
        );
        // The listing and the members come from the same address.
        assert_eq!(world.server.requests_of(Side::Api).len(), 1);
        assert!(FileValue::from_value(&value)?.outside);
        // No other file remains, and nothing is fetched again.
        assert_eq!(path.parent().unwrap().read_dir()?.count(), 1);
        assert_eq!(
            part(&world, members).run(&world.context)?.digest(),
            value.digest()
        );
        assert_eq!(world.server.sent(), sent);
        assert!(!world.target().exists());
    }
    Ok(())
}

#[test]
fn bytes_of_a_part_are_told_beforehand() -> Outcome {
    let world = World::new(Bundle::new(ID, archive()), Vec::new());
    let remote = world.list(ID)?;
    let all = named(&["**"]).bytes(&remote.entries);
    let one = named(&["a/0.bin"]).bytes(&remote.entries);
    assert!(all < remote.bytes && all > remote.bytes - 2000, "{all}");
    assert!((1_000_000..1_000_200).contains(&one), "{one}");
    Ok(())
}

#[test]
fn an_interrupted_part_goes_on() -> Outcome {
    let drop = Fault::at_byte(3_900_000, Kind::Drop).always();
    let world = World::new(Bundle::new(ID, archive()), vec![drop]);
    assert!(part(&world, &["a/3.bin"]).run(&world.context).is_err());
    let before = world.server.sent();
    world.server.set_faults(Vec::new());
    part(&world, &["a/3.bin"]).run(&world.context)?;
    let after = world.server.sent() - before;
    assert!(after < 250_000, "{after}");
    Ok(())
}

#[test]
fn what_is_wrong_with_a_part_is_said() {
    let replace = Kind::Replace(content(500_000, 3).into());
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
        let world = World::new(Bundle::new(ID, archive()), faults);
        let error = part(&world, members)
            .run(&world.context)
            .unwrap_err()
            .to_string();
        let first = error.lines().next().unwrap_or_default();
        assert!(first.contains(expected), "{error}");
        assert_eq!(part(&world, members).location(), None);
    }
}

#[test]
fn a_server_that_fails_now_and_then_is_still_listed() -> Outcome {
    let faults = vec![
        Fault::at(At::Store, Kind::Drop),
        Fault::at(At::Store, Kind::status(503)).after(1),
        Fault::at(At::Store, Kind::Expire).after(3),
    ];
    let world = World::new(Bundle::new(ID, archive()), faults);
    assert_eq!(world.list(ID)?.entries.len(), 10);
    assert_eq!(world.server.requests_of(Side::Api).len(), 2);
    let gone = world.list("unknown");
    assert!(matches!(gone, Err(FetchError::NoSuchCompetition { .. })));
    Ok(())
}

#[test]
fn a_listing_can_be_stopped() {
    let stall = Fault::at(At::Store, Kind::Stall(Duration::from_secs(60))).always();
    let world = World::with(vec![Bundle::new(ID, archive())], vec![stall], |options| {
        options.stall = Duration::from_secs(60);
    });
    world.context.cancel.cancel();
    assert!(matches!(world.list(ID), Err(FetchError::Cancelled)));
}

/// A bundle that cannot be read by ranges, whose files the API lists and sends one by one.
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
fn members_are_fetched_one_by_one_where_ranges_do_not_work() -> Outcome {
    let table = content(40_000, 7);
    let picture = content(30_000, 8);
    // Tables come within a zip archive, the rest as it is. An archive that is a member stays one.
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
            let world = World::with(vec![bundle], faults.clone(), |options| {
                options.protocol = protocol
            });
            let source = part(&world, &["train.csv", "a/*.png", "inner.zip"]);
            source.run(&world.context)?;
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
            // No other file remains.
            assert_eq!(path.parent().unwrap().read_dir()?.count(), 1);
        }
    }
    Ok(())
}

/// Files that the API does not list are not fetched, and the message has the reason why ranges do not work.
#[test]
fn members_that_are_not_listed_leave_the_first_error() {
    let faults = vec![Fault::at(At::Store, Kind::IgnoreRange).always()];
    let bundle = listed(archive(), &[("train.csv", b"a")]);
    let world = World::with(vec![bundle], faults, |_| {});
    let error = part(&world, &["train.csv", "test.csv"]).run(&world.context);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the whole bundle"), "{error}");
}

#[test]
fn sizes_are_listed_without_the_rules() -> Outcome {
    let files: [(&str, &[u8]); 4] = [("a", b"1"), ("b", b"22"), ("c", b"333"), ("d", b"4444")];
    for protocol in [Protocol::Rpc, Protocol::Rest] {
        let bundle = listed(archive(), &files).without_consent();
        let world = World::with(vec![bundle], Vec::new(), |options| {
            options.protocol = protocol
        });
        let cancel = &world.context.cancel;
        let listed = world.network.files(ID, cancel)?;
        let listed: Vec<_> = listed
            .iter()
            .map(|file| (file.path.as_str(), file.bytes))
            .collect();
        assert_eq!(listed, [("a", 1), ("b", 2), ("c", 3), ("d", 4)]);
        let summary = world.network.summary(ID, cancel)?;
        assert_eq!((summary.files, summary.bytes), (4, 10));
    }
    Ok(())
}
