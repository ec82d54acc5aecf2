//! A download uses the files of an interrupted download, unless they are not valid.

use crate::common;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Fixture, ID, Outcome, content, context, key, options, search};
use prep_core::{Source, StepError};
use prep_fault_server::{At, Bundle, Fault, Kind, Side};
use prep_fetch::{KaggleBundle, Network};

use crate::until::wait_until;

const LENGTH: usize = 1_000_003;

/// Returns the state after a download that failed at its last byte: all pieces except the last one exist.
fn interrupted() -> Fixture {
    let fault = Fault::at_byte(LENGTH as u64 - 1, Kind::Drop).always();
    let fixture = Fixture::new(Bundle::new(ID, content(LENGTH, 1)), vec![fault]);
    let error = fixture.run(None).unwrap_err();
    let remedy = format!("{:?}", error.remedy());
    assert!(remedy.contains("are kept in"), "{remedy}");
    assert!(!fixture.target().exists());
    fixture.server.set_faults(Vec::new());
    fixture
}

/// Returns the number of bytes that the server sends during `work`.
fn sent(fixture: &Fixture, work: impl FnOnce(&Fixture)) -> u64 {
    let before = fixture.server.sent();
    work(fixture);
    fixture.server.sent() - before
}

#[test]
fn only_missing_pieces_are_fetched() {
    let fixture = interrupted();
    let bytes = sent(&fixture, |fixture| {
        fixture.run(None).unwrap();
    });
    fixture.assert_complete(&content(LENGTH, 1));
    // Pieces have 16 KiB, except for the last one, which is missing.
    assert_eq!(bytes, LENGTH as u64 % (16 << 10));
    let last = fixture.server.requests_of(Side::Store).pop().unwrap();
    assert!(last.if_range.is_some());
}

#[test]
fn a_replaced_bundle_is_fetched_again_from_the_start() {
    let fixture = interrupted();
    let other = content(LENGTH, 2);
    let replace = Kind::Replace(other.clone().into());
    fixture
        .server
        .set_faults(vec![Fault::at(At::Store, replace)]);
    fixture.run(None).unwrap();
    fixture.assert_complete(&other);
}

#[test]
fn damaged_pieces_are_found_and_fetched_again() {
    let fixture = interrupted();
    let file = OpenOptions::new()
        .write(true)
        .open(fixture.partial())
        .unwrap();
    file.write_all_at(b"other", 40_000).unwrap();
    file.write_all_at(b"other", 700_000).unwrap();
    let bytes = sent(&fixture, |fixture| {
        fixture.run(None).unwrap();
    });
    fixture.assert_complete(&content(LENGTH, 1));
    assert!(bytes <= 3 * (16 << 10), "{bytes}");
}

#[test]
fn inconsistent_partial_files_are_not_used() -> Outcome {
    type Damage = fn(&Fixture) -> std::io::Result<()>;
    let damages: [(&str, Damage); 5] = [
        ("no map", |fixture| fs::remove_file(fixture.map())),
        ("an empty map", |fixture| fs::write(fixture.map(), "")),
        ("a map of a different object", |fixture| {
            fs::write(fixture.map(), "{}\nxyz")
        }),
        ("a shorter file", |fixture| {
            OpenOptions::new()
                .write(true)
                .open(fixture.partial())?
                .set_len(5)
        }),
        ("no file", |fixture| fs::remove_file(fixture.partial())),
    ];
    for (name, damage) in damages {
        let fixture = interrupted();
        damage(&fixture)?;
        let bytes = sent(&fixture, |fixture| {
            fixture.run(None).unwrap();
        });
        fixture.assert_complete(&content(LENGTH, 1));
        assert_eq!(bytes, LENGTH as u64, "{name}");
    }
    let fixture = interrupted();
    // An incomplete record at the end of the map is ignored.
    let mut map = OpenOptions::new().append(true).open(fixture.map())?;
    map.write_all(b"torn")?;
    assert!(sent(&fixture, |fixture| drop(fixture.run(None))) <= 16 << 10);
    fixture.assert_complete(&content(LENGTH, 1));
    Ok(())
}

/// Returns a record of the piece map: the index of the piece, the CRC-32 of its bytes, and a checksum of the record. The
/// checksum is the CRC-32 of three numbers: the CRC-32 of the map's first line, the index, and the CRC-32 of the bytes.
fn record(line: &[u8], piece: u32, bytes: &[u8]) -> Vec<u8> {
    let crc = crc32fast::hash(bytes);
    let parts = [crc32fast::hash(line), piece, crc].map(u32::to_le_bytes);
    let check = crc32fast::hash(parts.as_flattened());
    [piece, crc, check].map(u32::to_le_bytes).concat()
}

#[test]
fn a_complete_partial_file_needs_no_request() -> Outcome {
    let fixture = interrupted();
    let bytes = content(LENGTH, 1);
    let start = LENGTH / (16 << 10) * (16 << 10);
    let file = OpenOptions::new().write(true).open(fixture.partial())?;
    file.write_all_at(&bytes[start..], start as u64)?;
    let mut map = fs::read(fixture.map())?;
    let end = map.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let last = record(&map[..end], (start >> 14) as u32, &bytes[start..]);
    map.extend(last);
    fs::write(fixture.map(), map)?;
    let requests = fixture.server.requests().len();
    fixture.run(None)?;
    fixture.assert_complete(&bytes);
    assert_eq!(fixture.server.requests().len(), requests);
    Ok(())
}

#[test]
fn a_cancelled_download_keeps_its_pieces() {
    let throttle = Fault::at(At::Store, Kind::Throttle(500_000)).always();
    let fixture = Fixture::new(Bundle::new(ID, content(LENGTH, 1)), vec![throttle]);
    let cancel = fixture.context.cancel.clone();
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("pieces were sent", || fixture.server.sent() > 150_000);
            cancel.cancel();
        });
        fixture.run(None)
    });
    assert!(matches!(stopped, Err(StepError::Cancelled)), "{stopped:?}");
    let sent_before = fixture.server.sent();
    let context = context(&fixture.dir);
    fixture.source(None).run(&context).unwrap();
    fixture.assert_complete(&content(LENGTH, 1));
    assert!(fixture.server.sent() - sent_before < LENGTH as u64 - 100_000);
}

#[test]
fn concurrent_runs_fetch_a_bundle_only_once() {
    let throttle = Fault::at(At::Store, Kind::Throttle(2_000_000)).always();
    let fixture = Fixture::new(Bundle::new(ID, content(LENGTH, 1)), vec![throttle]);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| fixture.run(None))).collect();
        let values: Vec<_> = runs
            .into_iter()
            .map(|run| run.join().unwrap().unwrap().digest())
            .collect();
        assert!(values.windows(2).all(|pair| pair[0] == pair[1]));
    });
    fixture.assert_complete(&content(LENGTH, 1));
    assert_eq!(fixture.server.sent(), LENGTH as u64);
    assert_eq!(fixture.server.requests_of(Side::Api).len(), 1);
}

impl Fixture {
    fn map(&self) -> std::path::PathBuf {
        self.target().with_extension("zip.partial.map")
    }
}

/// Maximum length of a range in the killed process. A kill loses at most this number of bytes.
const KILLED_RANGE: u64 = 1 << 20;

/// The process that [`killed_downloads_keep_their_complete_pieces`] kills.
#[test]
#[ignore = "started by another test"]
fn child() -> Outcome {
    let Ok(endpoint) = std::env::var("FETCH_CHILD_ENDPOINT") else {
        return Ok(());
    };
    let directory = std::env::var("FETCH_CHILD_DIRECTORY")?;
    let directory = std::path::Path::new(&directory);
    let mut options = options(&endpoint);
    options.piece = 64 << 10;
    options.range = KILLED_RANGE;
    options.attempts = 20;
    let network = Network::new(options, key())?;
    let source = KaggleBundle::new(ID, search(ID, &directory.join("data")), None, network);
    let store = crate::temporary::directory();
    source.run(&context(&store))?;
    Ok(())
}

fn start(fixture: &Fixture) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["resume::child", "--exact", "--ignored"])
        .env("FETCH_CHILD_ENDPOINT", fixture.server.endpoint())
        .env("FETCH_CHILD_DIRECTORY", fixture.dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The environment variable `FETCH_KILLS` sets the number of kills. 50 kills take a minute.
#[test]
fn killed_downloads_keep_their_complete_pieces() -> Outcome {
    let kills: u64 = std::env::var("FETCH_KILLS").map_or(Ok(4), |kills| kills.parse())?;
    let bytes = content(usize::try_from(2_000_000 + kills * 1_000_000)?, 1);
    let throttle = Fault::at(At::Store, Kind::Throttle(2_000_000)).always();
    let fixture = Fixture::new(Bundle::new(ID, bytes.clone()), vec![throttle]);
    let mut killed_while_running = 0;
    for kill in 0..kills {
        let mut child = start(&fixture);
        // One process in five is killed while it starts. The others are killed after a number of bytes.
        if kill % 5 == 4 {
            sleep(Duration::from_millis(kill % 50));
        } else {
            let enough = fixture.server.sent() + 300_000 + kill * 7919 % 400 * 2000;
            while fixture.server.sent() < enough && child.try_wait()?.is_none() {
                sleep(Duration::from_millis(1));
            }
        }
        if child.try_wait()?.is_none() {
            killed_while_running += 1;
            child.kill()?;
        }
        child.wait()?;
    }
    let before = fixture.server.sent();
    fixture.server.set_faults(Vec::new());
    assert!(start(&fixture).wait()?.success());
    assert!(fs::read(fixture.target())? == bytes, "other bytes");
    assert!(File::open(fixture.partial()).is_err());
    let length = bytes.len() as u64;
    let sent = fixture.server.sent();
    let most = length * 105 / 100 + killed_while_running * KILLED_RANGE;
    assert!(before > length / 4, "killed too early: {before}");
    assert!(sent <= most, "{sent} bytes sent, {most} allowed");
    Ok(())
}
