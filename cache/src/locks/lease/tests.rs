//! Unit tests, and a test with several processes. The processes take the same lock repeatedly, and the test kills and
//! suspends some of them.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use rustix::process::{Pid, Signal, kill_process};

use super::holder::{break_lock, list};
use super::*;

const QUICK: LeaseTiming = LeaseTiming {
    heartbeat: Duration::from_millis(20),
    silence: Duration::from_millis(600),
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn candidate(process: ProcessId) -> Candidate {
    let timing = QUICK;
    Candidate { process, timing }
}

fn elsewhere(machine: &str) -> Candidate {
    candidate(ProcessId::elsewhere(machine))
}

fn this_process() -> Candidate {
    candidate(ProcessId::current())
}

/// Requests the lock repeatedly until `candidate` gets it. Returns the lease and the waiting time.
fn wait(holders: &Path, mode: Mode, candidate: &Candidate) -> io::Result<(Lease, Duration)> {
    let start = Instant::now();
    loop {
        if let Ok(lease) = take(holders, mode, candidate)? {
            return Ok((lease, start.elapsed()));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Creates the file of a holder that has the lock and never writes again.
fn leave(holders: &Path, process: ProcessId) -> Outcome {
    let holder_file = announce(holders, Mode::Exclusive, &candidate(process))?;
    holder_file.state.lock().has_lock = true;
    assert!(holder_file.beat()?);
    Ok(())
}

#[test]
fn live_holder_keeps_the_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let (first, _) = wait(&holders, Mode::Exclusive, &elsewhere("one"))?;
    let start = Instant::now();
    while start.elapsed() < QUICK.silence * 3 {
        for mode in [Mode::Exclusive, Mode::Shared] {
            assert!(take(&holders, mode, &elsewhere("two"))?.is_err());
        }
        thread::sleep(Duration::from_millis(5));
    }
    assert!(!first.is_lost());
    assert!(take_unless_alive(&holders, Mode::Exclusive, &elsewhere("two"))?.is_none());
    drop(first);
    assert!(take(&holders, Mode::Exclusive, &elsewhere("two"))?.is_ok());
    assert_eq!(
        fs::read_dir(directory.path())?.count(),
        0,
        "no file is left"
    );
    Ok(())
}

#[test]
fn lock_of_a_dead_machine_is_free_after_the_silence() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    for candidate in [this_process(), elsewhere("two")] {
        leave(&holders, ProcessId::elsewhere("one"))?;
        fs::write(holders.join("exclusive-1"), "{\"host\": \"trunc")?;
        let (lease, waited) = wait(&holders, Mode::Exclusive, &candidate)?;
        assert!(waited >= QUICK.silence, "{waited:?}");
        assert!(waited < QUICK.silence * 8, "{waited:?}");
        drop(lease);
        assert!(!holders.exists());
    }
    Ok(())
}

/// A process whose lease file is still empty has not checked for conflicts yet, and will find the new holder's file.
#[test]
fn empty_file_is_not_a_conflict() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    fs::create_dir(&holders)?;
    fs::write(holders.join("exclusive-0"), "")?;
    // On a busy machine, `take` may run for longer than its own lock is valid, and then returns `Uncertain`.
    let has_lock = || loop {
        match take(&holders, Mode::Exclusive, &this_process())? {
            Err(Conflict::Uncertain) => {}
            taken => return io::Result::Ok(taken.is_ok()),
        }
    };
    assert!(has_lock()?);
    thread::sleep(QUICK.silence);
    assert!(has_lock()?);
    assert!(!holders.exists(), "files of dead processes are removed");
    Ok(())
}

/// The first process waits for a rival that announced itself before the first check, but not for a later one.
#[test]
fn first_process_does_not_wait_for_later_ones() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let first = Lease(Arc::new(announce(
        &holders,
        Mode::Exclusive,
        &this_process(),
    )?));
    let mut check = ConflictCheck {
        holders: &holders,
        own_file: &first.0.path,
        mode: Mode::Exclusive,
        candidate: &this_process(),
        rivals: None,
    };
    let rival = Lease(Arc::new(announce(
        &holders,
        Mode::Exclusive,
        &this_process(),
    )?));
    let is_first = first.0.path < rival.0.path;
    let found = check.conflict()?;
    assert_eq!(
        found,
        Some(if is_first {
            Conflict::Requested
        } else {
            Conflict::Held
        })
    );
    drop(rival);
    let _later = Lease(Arc::new(announce(
        &holders,
        Mode::Exclusive,
        &this_process(),
    )?));
    if is_first {
        assert_eq!(check.conflict()?, None);
    }
    Ok(())
}

#[test]
#[cfg(target_os = "linux")]
fn lock_of_a_dead_local_process_is_free_immediately() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let mut child = std::process::Command::new("sleep").arg("100").spawn()?;
    let process = ProcessId::with_number(child.id());
    leave(&holders, process.clone())?;
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_err());
    child.kill()?;
    child.wait()?;
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_ok());
    // Another process now has the process id of the dead process.
    leave(&holders, ProcessId::with_number(1).earlier())?;
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_ok());
    Ok(())
}

/// A live process that has the holder's id may hang, or may be a later process that got the same id.
#[test]
#[cfg(target_os = "linux")]
fn silent_live_process_loses_the_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    leave(&holders, ProcessId::with_number(1))?;
    let (_lease, waited) = wait(&holders, Mode::Exclusive, &this_process())?;
    assert!(waited >= QUICK.silence, "{waited:?}");
    Ok(())
}

#[test]
fn take_unless_alive_waits_until_the_holder_is_dead() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    leave(&holders, ProcessId::elsewhere("one"))?;
    let start = Instant::now();
    assert!(take_unless_alive(&holders, Mode::Exclusive, &this_process())?.is_some());
    assert!(start.elapsed() >= QUICK.silence);
    let _user = wait(&holders, Mode::Shared, &elsewhere("one"))?;
    let start = Instant::now();
    assert!(take_unless_alive(&holders, Mode::Exclusive, &this_process())?.is_none());
    assert!(start.elapsed() < QUICK.silence * 4);
    Ok(())
}

#[test]
fn holder_treated_as_dead_reports_the_lost_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let (suspended, _) = wait(&holders, Mode::Exclusive, &elsewhere("one"))?;
    fs::remove_file(&suspended.0.path)?;
    let (next, _) = wait(&holders, Mode::Exclusive, &elsewhere("two"))?;
    assert!(!suspended.0.beat()?);
    assert!(suspended.is_lost());
    drop(suspended);
    assert!(
        !next.is_lost() && next.0.beat()?,
        "the next holder keeps the lock, because its file is a different one"
    );
    Ok(())
}

/// No thread writes heartbeats in this test, as if the process had been suspended, so `is_lost` must write one.
#[test]
fn resumed_holder_checks_its_file() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let holder_file = announce(&holders, Mode::Exclusive, &this_process())?;
    let lease = Lease(Arc::new(holder_file));
    thread::sleep(QUICK.silence);
    assert!(!lease.is_lost(), "no other process took the lock");
    thread::sleep(QUICK.silence);
    fs::remove_file(&lease.0.path)?;
    assert!(lease.is_lost());
    Ok(())
}

#[test]
fn lock_of_a_resumed_holder_is_not_broken() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let holder_file = announce(&holders, Mode::Exclusive, &this_process())?;
    let content = fs::read(&holder_file.path)?;
    assert!(holder_file.beat()?);
    assert!(!break_lock(
        &holders,
        &holder_file.path,
        &content,
        Mode::Exclusive
    )?);
    assert!(holder_file.beat()?, "the file has its old name again");
    let content = fs::read(&holder_file.path)?;
    assert!(break_lock(
        &holders,
        &holder_file.path,
        &content,
        Mode::Exclusive
    )?);
    assert!(!holder_file.beat()?);
    assert!(list(&holders)?.is_empty());
    Ok(())
}

#[test]
fn shared_locks_never_exclude_each_other() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let barrier = Barrier::new(8);
    let denied = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..8 {
            let (holders, barrier, denied) = (&holders, &barrier, &denied);
            scope.spawn(move || {
                let candidate = elsewhere(&number.to_string());
                for _ in 0..30 {
                    barrier.wait();
                    match take(holders, Mode::Shared, &candidate) {
                        Ok(Ok(lease)) => drop(lease),
                        _ => drop(denied.fetch_add(1, Ordering::SeqCst)),
                    }
                }
            });
        }
    });
    assert_eq!(denied.into_inner(), 0);
    Ok(())
}

#[test]
fn one_of_several_concurrent_requests_gets_the_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    for round in 0..30 {
        let holders = directory.path().join(round.to_string());
        let barrier = Barrier::new(4);
        let leases: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let (holders, barrier) = (&holders, &barrier);
                    scope.spawn(move || {
                        let candidate = elsewhere(&number.to_string());
                        barrier.wait();
                        take(holders, Mode::Exclusive, &candidate)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let taken = leases.iter().filter(|lease| matches!(lease, Ok(Ok(Ok(_)))));
        assert_eq!(taken.count(), 1, "{round}");
    }
    Ok(())
}

#[test]
fn lock_of_a_dead_holder_has_one_new_holder_at_a_time() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    leave(&holders, ProcessId::elsewhere("dead"))?;
    let inside = AtomicUsize::new(0);
    let max = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..8 {
            let (holders, inside, max) = (&holders, &inside, &max);
            scope.spawn(move || {
                for _ in 0..5 {
                    let taken = wait(holders, Mode::Exclusive, &elsewhere(&number.to_string()));
                    let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                    max.fetch_max(now, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(3));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(taken);
                }
            });
        }
    });
    assert_eq!(max.into_inner(), 1);
    Ok(())
}

/// Timing of the processes that the last test of this file starts.
const CHILD_TIMING: LeaseTiming = LeaseTiming {
    heartbeat: Duration::from_millis(100),
    silence: Duration::from_millis(2000),
};

const DIRECTORY_VARIABLE: &str = "PREP_TEST_LEASES";

/// A linear congruential generator of pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Creates an empty file that records an event, unless it exists.
fn mark(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(drop)
}

/// Takes the lock repeatedly, in a separate process. While the process has the lock, the directory `inside` contains a file
/// with its process id in the name.
#[test]
#[ignore = "another test runs this function in separate processes"]
fn child() -> Outcome {
    let directory = env::var(DIRECTORY_VARIABLE)?;
    let directory = Path::new(&directory);
    let process = std::process::id();
    let candidate = Candidate {
        process: ProcessId::current(),
        timing: CHILD_TIMING,
    };
    let mut random = Random(u64::from(process));
    loop {
        let mode = match random.below(3) {
            0 => Mode::Shared,
            _ => Mode::Exclusive,
        };
        let Ok(lease) = take(&directory.join("holders"), mode, &candidate)? else {
            thread::sleep(Duration::from_millis(random.below(10)));
            continue;
        };
        let own_file = directory.join(format!("inside/{}{process}", prefix(mode)));
        if !lease.is_lost() {
            mark(&own_file)?;
            mark(&directory.join(format!("taken/{process}-{}", random.below(1000))))?;
            // If the process is suspended here, it misses a heartbeat.
            let until = Instant::now() + Duration::from_millis(random.below(60));
            while Instant::now() < until && !lease.is_lost() {
                check_alone(directory, &own_file, mode)?;
                thread::sleep(Duration::from_millis(2));
            }
            fs::remove_file(&own_file)?;
        }
        drop(lease);
        if directory.join("done").exists() {
            return Ok(());
        }
    }
}

/// Records an error for each other process that holds a conflicting lock. Ignores processes with a file in the directory
/// `excused`. The test suspended or killed these processes, so their files may remain in the directory `inside`.
fn check_alone(directory: &Path, own_file: &Path, mode: Mode) -> io::Result<()> {
    let is_excused = |name: &str| {
        let process = name.rsplit('-').next().unwrap_or_default();
        directory.join("excused").join(process).exists()
    };
    let own_name = own_file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for entry in fs::read_dir(directory.join("inside"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_conflict = mode == Mode::Exclusive || name.starts_with(prefix(Mode::Exclusive));
        if name != own_name && is_conflict && !is_excused(&name) && !is_excused(&own_name) {
            // The other process may have released the lock since the directory was listed.
            if directory.join("inside").join(&name).exists() && own_file.exists() {
                mark(&directory.join(format!("wrong/{own_name} and {name}")))?;
            }
        }
    }
    Ok(())
}

fn start(directory: &Path) -> io::Result<Child> {
    Command::new(env::current_exe()?)
        .args([
            "locks::lease::tests::child",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(DIRECTORY_VARIABLE, directory)
        .stdout(Stdio::null())
        .spawn()
}

fn signal(child: &Child, signal: Signal) {
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(process) = process {
        let _ = kill_process(process, signal);
    }
}

#[test]
fn killed_and_suspended_processes_never_share_an_exclusive_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    let directory = directory.path();
    for name in ["inside", "taken", "excused", "wrong"] {
        fs::create_dir(directory.join(name))?;
    }
    let seconds = env::var("PREP_ATTACK")
        .ok()
        .and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(6));
    let mut random = Random(1);
    let mut children = (0..6)
        .map(|_| start(directory))
        .collect::<io::Result<Vec<_>>>()?;
    let mut suspended: Vec<(Child, Instant)> = Vec::new();
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(50 + random.below(200)));
        if random.below(2) == 0 {
            let number = random.below(6) as usize;
            let process = children.get(number).map(Child::id).unwrap_or_default();
            mark(&directory.join(format!("excused/{process}")))?;
            let mut child = children.swap_remove(number);
            if random.below(2) == 0 {
                let killed = child.kill();
                child.wait()?;
                killed?;
            } else {
                signal(&child, Signal::STOP);
                let wakes = Instant::now() + Duration::from_millis(random.below(4000));
                suspended.push((child, wakes));
            }
            children.push(start(directory)?);
        }
        for (child, wakes) in &suspended {
            if *wakes < Instant::now() {
                signal(child, Signal::CONT);
            }
        }
    }
    let taken = fs::read_dir(directory.join("taken"))?.count();
    mark(&directory.join("done"))?;
    children.extend(suspended.into_iter().map(|(child, _)| child));
    for child in &mut children {
        signal(child, Signal::CONT);
        let status = child.wait()?;
        assert!(status.success(), "{status}");
    }
    let wrong: Vec<_> = fs::read_dir(directory.join("wrong"))?.collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(taken > 10, "{taken}");
    // Killed processes may have left files in the directory of holders.
    match fs::read_dir(directory.join("holders")) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        left => drop(left?),
    }
    Ok(())
}
