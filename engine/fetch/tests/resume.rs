//! The next download uses the files of an interrupted one, unless they are not valid.

use crate::common;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{ID, Outcome, World, content, context, key, options};
use prep_core::{Source, StepError};
use prep_fault_server::{At, Bundle, Fault, Kind, Side};
use prep_fetch::{KaggleBundle, Network};

const LENGTH: usize = 1_000_003;

/// A download that failed at its last byte: all pieces except the last exist.
fn interrupted() -> World {
    let fault = Fault::at_byte(LENGTH as u64 - 1, Kind::Drop).always();
    let world = World::new(Bundle::new(ID, content(LENGTH, 1)), vec![fault]);
    let error = world.run(None).unwrap_err();
    let remedy = format!("{:?}", error.remedy());
    assert!(remedy.contains("are kept in"), "{remedy}");
    assert!(!world.target().exists());
    world.server.set_faults(Vec::new());
    world
}

/// Bytes that the server sends during `work`.
fn sent(world: &World, work: impl FnOnce(&World)) -> u64 {
    let before = world.server.sent();
    work(world);
    world.server.sent() - before
}

#[test]
fn only_what_is_missing_is_fetched() {
    let world = interrupted();
    let bytes = sent(&world, |world| {
        world.run(None).unwrap();
    });
    world.assert_complete(&content(LENGTH, 1));
    assert_eq!(bytes, LENGTH as u64 % (16 << 10));
    let last = world.server.requests_of(Side::Store).pop().unwrap();
    assert!(last.if_range.is_some());
}

#[test]
fn a_replaced_bundle_is_fetched_anew() {
    let world = interrupted();
    let other = content(LENGTH, 2);
    let replace = Kind::Replace(other.clone().into());
    world.server.set_faults(vec![Fault::at(At::Store, replace)]);
    world.run(None).unwrap();
    world.assert_complete(&other);
}

#[test]
fn damaged_pieces_are_found_and_fetched_again() {
    let world = interrupted();
    let file = OpenOptions::new()
        .write(true)
        .open(world.partial())
        .unwrap();
    file.write_all_at(b"other", 40_000).unwrap();
    file.write_all_at(b"other", 700_000).unwrap();
    let bytes = sent(&world, |world| {
        world.run(None).unwrap();
    });
    world.assert_complete(&content(LENGTH, 1));
    assert!(bytes <= 3 * (16 << 10), "{bytes}");
}

#[test]
fn leftovers_that_do_not_fit_together_are_not_used() -> Outcome {
    type Damage = fn(&World) -> std::io::Result<()>;
    let damages: [(&str, Damage); 5] = [
        ("no map", |world| fs::remove_file(world.map())),
        ("an empty map", |world| fs::write(world.map(), "")),
        ("a map of something else", |world| {
            fs::write(world.map(), "{}\nxyz")
        }),
        ("a shorter file", |world| {
            OpenOptions::new()
                .write(true)
                .open(world.partial())?
                .set_len(5)
        }),
        ("no file", |world| fs::remove_file(world.partial())),
    ];
    for (name, damage) in damages {
        let world = interrupted();
        damage(&world)?;
        let bytes = sent(&world, |world| {
            world.run(None).unwrap();
        });
        world.assert_complete(&content(LENGTH, 1));
        assert_eq!(bytes, LENGTH as u64, "{name}");
    }
    // Records after a truncated one are ignored, those before it are used.
    let world = interrupted();
    let mut map = OpenOptions::new().append(true).open(world.map())?;
    map.write_all(b"torn")?;
    assert!(sent(&world, |world| drop(world.run(None))) <= 16 << 10);
    world.assert_complete(&content(LENGTH, 1));
    Ok(())
}

/// Records of the map are: piece, CRC-32 of its bytes, CRC-32 of the first line's CRC-32 and these two.
fn record(line: &[u8], piece: u32, bytes: &[u8]) -> Vec<u8> {
    let crc = crc32fast::hash(bytes);
    let parts = [crc32fast::hash(line), piece, crc].map(u32::to_le_bytes);
    let check = crc32fast::hash(parts.as_flattened());
    [piece, crc, check].map(u32::to_le_bytes).concat()
}

#[test]
fn a_complete_partial_file_needs_no_request() -> Outcome {
    // The state after a kill between the last piece and the renaming.
    let world = interrupted();
    let bytes = content(LENGTH, 1);
    let start = LENGTH / (16 << 10) * (16 << 10);
    let file = OpenOptions::new().write(true).open(world.partial())?;
    file.write_all_at(&bytes[start..], start as u64)?;
    let mut map = fs::read(world.map())?;
    let end = map.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let last = record(&map[..end], (start >> 14) as u32, &bytes[start..]);
    map.extend(last);
    fs::write(world.map(), map)?;
    let requests = world.server.requests().len();
    world.run(None)?;
    world.assert_complete(&bytes);
    assert_eq!(world.server.requests().len(), requests);
    Ok(())
}

#[test]
fn stopping_keeps_what_is_there() {
    let throttle = Fault::at(At::Store, Kind::Throttle(500_000)).always();
    let world = World::new(Bundle::new(ID, content(LENGTH, 1)), vec![throttle]);
    let cancel = world.context.cancel.clone();
    let thread = std::thread::spawn(move || {
        sleep(Duration::from_millis(300));
        cancel.cancel();
    });
    let stopped = world.run(None);
    assert!(matches!(stopped, Err(StepError::Cancelled)), "{stopped:?}");
    thread.join().unwrap();
    let context = context(&world.dir);
    world.source(None).run(&context).unwrap();
    world.assert_complete(&content(LENGTH, 1));
    assert!(world.server.sent() < LENGTH as u64 * 3 / 2);
}

#[test]
fn a_bundle_is_fetched_by_one_of_many_at_a_time() {
    let throttle = Fault::at(At::Store, Kind::Throttle(2_000_000)).always();
    let world = World::new(Bundle::new(ID, content(LENGTH, 1)), vec![throttle]);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| world.run(None))).collect();
        let values: Vec<_> = runs
            .into_iter()
            .map(|run| run.join().unwrap().unwrap().digest())
            .collect();
        assert!(values.windows(2).all(|pair| pair[0] == pair[1]));
    });
    world.assert_complete(&content(LENGTH, 1));
    assert_eq!(world.server.sent(), LENGTH as u64);
    assert_eq!(world.server.requests_of(Side::Api).len(), 1);
}

impl World {
    fn map(&self) -> std::path::PathBuf {
        self.target().with_extension("zip.partial.map")
    }
}

const KILLED_RANGE: u64 = 1 << 20;

/// Not a test by itself: the process that [`kills_lose_no_work`] kills.
#[test]
#[ignore = "started by another test"]
fn child() -> Outcome {
    let Ok(endpoint) = std::env::var("FETCH_CHILD_ENDPOINT") else {
        return Ok(());
    };
    let directory = std::env::var("FETCH_CHILD_FOLDER")?;
    let directory = std::path::Path::new(&directory);
    let mut options = options(&endpoint);
    options.piece = 64 << 10;
    options.range = KILLED_RANGE;
    options.attempts = 20;
    let network = Network::new(options, key())?;
    let source = KaggleBundle::new(ID, ID, &directory.join("data"), &[], None, network);
    let store = tempfile::tempdir()?;
    source.run(&context(&store))?;
    Ok(())
}

fn start(world: &World) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["resume::child", "--exact", "--ignored"])
        .env("FETCH_CHILD_ENDPOINT", world.server.endpoint())
        .env("FETCH_CHILD_FOLDER", world.dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// `FETCH_KILLS` sets how often; 50 take a minute.
#[test]
fn kills_lose_no_work() -> Outcome {
    let kills: u64 = std::env::var("FETCH_KILLS").map_or(Ok(4), |kills| kills.parse())?;
    // Large enough that each process fetches only a part before it is killed.
    let bytes = content(usize::try_from(2_000_000 + kills * 1_000_000)?, 1);
    let throttle = Fault::at(At::Store, Kind::Throttle(2_000_000)).always();
    let world = World::new(Bundle::new(ID, bytes.clone()), vec![throttle]);
    let mut met = 0;
    for kill in 0..kills {
        let mut child = start(&world);
        // One in five dies while it starts, the others after a number of bytes, so that a slow machine kills no earlier.
        if kill % 5 == 4 {
            sleep(Duration::from_millis(kill % 50));
        } else {
            let enough = world.server.sent() + 300_000 + kill * 7919 % 400 * 2000;
            while world.server.sent() < enough && child.try_wait()?.is_none() {
                sleep(Duration::from_millis(1));
            }
        }
        if child.try_wait()?.is_none() {
            met += 1;
            child.kill()?;
        }
        child.wait()?;
    }
    let before = world.server.sent();
    world.server.set_faults(Vec::new());
    assert!(start(&world).wait()?.success());
    assert!(fs::read(world.target())? == bytes, "other bytes");
    assert!(File::open(world.partial()).is_err());
    let length = bytes.len() as u64;
    let sent = world.server.sent();
    let most = length * 105 / 100 + met * KILLED_RANGE;
    assert!(before > length / 4, "killed too early: {before}");
    assert!(sent <= most, "{sent} bytes sent, {most} allowed");
    Ok(())
}
