use std::fs;
use std::io;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::conflict::{break_lock, list};
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

/// Takes a lock, asking until it is free; returns how long that took.
fn wait(holders: &Path, mode: Mode, candidate: &Candidate) -> io::Result<(Lease, Duration)> {
    let start = Instant::now();
    loop {
        if let Ok(lease) = take(holders, mode, candidate)? {
            return Ok((lease, start.elapsed()));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Leaves the file of a holder that has the lock and never writes again.
fn leave(holders: &Path, process: ProcessId) -> Outcome {
    let held = announce(holders, Mode::Exclusive, &candidate(process))?;
    held.state.lock().has_lock = true;
    assert!(held.beat()?);
    Ok(())
}

#[test]
fn a_holder_that_lives_keeps_the_lock_however_long_others_wait() -> Outcome {
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
        "nothing is left"
    );
    Ok(())
}

#[test]
fn the_lock_of_a_dead_machine_is_free_after_its_silence() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    for candidate in [this_process(), elsewhere("two")] {
        leave(&holders, ProcessId::elsewhere("one"))?;
        fs::write(holders.join("exclusive-1"), "{\"host\": \"tor")?;
        let (lease, waited) = wait(&holders, Mode::Exclusive, &candidate)?;
        assert!(waited >= QUICK.silence, "{waited:?}");
        assert!(waited < QUICK.silence * 8, "{waited:?}");
        drop(lease);
        assert!(!holders.exists());
    }
    Ok(())
}

/// Process has not looked yet, so it will find the files that are there now.
#[test]
fn a_file_that_is_still_empty_keeps_nobody_out() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    fs::create_dir(&holders)?;
    fs::write(holders.join("exclusive-0"), "")?;
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_ok());
    thread::sleep(QUICK.silence);
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_ok());
    assert!(!holders.exists(), "the dead are removed");
    Ok(())
}

/// New ones come all the time, and look at the lock.
#[test]
fn whoever_asks_first_does_not_wait_for_those_who_ask_later() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let first = Lease(Arc::new(announce(
        &holders,
        Mode::Exclusive,
        &this_process(),
    )?));
    let mut look = ConflictCheck {
        holders: &holders,
        own: &first.0.path,
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
    let found = look.conflict()?;
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
        assert_eq!(look.conflict()?, None);
    }
    Ok(())
}

#[test]
#[cfg(target_os = "linux")]
fn the_lock_of_a_dead_process_of_this_machine_is_free_at_once() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let mut child = std::process::Command::new("sleep").arg("100").spawn()?;
    let process = ProcessId::with_number(child.id());
    leave(&holders, process.clone())?;
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_err());
    child.kill()?;
    child.wait()?;
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_ok());
    // Another process has its number by now.
    leave(&holders, ProcessId::with_number(1).earlier())?;
    assert!(take(&holders, Mode::Exclusive, &this_process())?.is_ok());
    Ok(())
}

/// Where start times are unknown, or a process hangs: a process number never holds a lock for ever.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_lives_and_is_silent_loses_the_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    leave(&holders, ProcessId::with_number(1))?;
    let (_lease, waited) = wait(&holders, Mode::Exclusive, &this_process())?;
    assert!(waited >= QUICK.silence, "{waited:?}");
    Ok(())
}

#[test]
fn a_collector_waits_until_it_is_certain() -> Outcome {
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
fn a_holder_that_was_taken_for_dead_knows_that_it_lost_the_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let (sleeper, _) = wait(&holders, Mode::Exclusive, &elsewhere("one"))?;
    fs::remove_file(&sleeper.0.path)?;
    let (next, _) = wait(&holders, Mode::Exclusive, &elsewhere("two"))?;
    assert!(!sleeper.0.beat()?);
    assert!(sleeper.is_lost());
    drop(sleeper);
    assert!(
        !next.is_lost() && next.0.beat()?,
        "the next one has its own"
    );
    Ok(())
}

/// No heartbeat was written, as after a suspension: the question itself looks.
#[test]
fn a_holder_that_wakes_up_looks_before_it_goes_on() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let held = announce(&holders, Mode::Exclusive, &this_process())?;
    let lease = Lease(Arc::new(held));
    thread::sleep(QUICK.silence);
    assert!(!lease.is_lost(), "nobody took it");
    thread::sleep(QUICK.silence);
    fs::remove_file(&lease.0.path)?;
    assert!(lease.is_lost());
    Ok(())
}

#[test]
fn a_lock_whose_holder_wakes_up_is_not_broken() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let held = announce(&holders, Mode::Exclusive, &this_process())?;
    let content = fs::read(&held.path)?;
    assert!(held.beat()?);
    assert!(!break_lock(
        &holders,
        &held.path,
        &content,
        Mode::Exclusive
    )?);
    assert!(held.beat()?, "the file has its name again");
    let content = fs::read(&held.path)?;
    assert!(break_lock(&holders, &held.path, &content, Mode::Exclusive)?);
    assert!(!held.beat()?);
    assert!(list(&holders)?.is_empty());
    Ok(())
}

#[test]
fn those_who_share_a_lock_never_exclude_each_other() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    let barrier = Barrier::new(8);
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..8 {
            let (holders, barrier, refused) = (&holders, &barrier, &refused);
            scope.spawn(move || {
                let candidate = elsewhere(&number.to_string());
                for _ in 0..30 {
                    barrier.wait();
                    match take(holders, Mode::Shared, &candidate) {
                        Ok(Ok(lease)) => drop(lease),
                        _ => drop(refused.fetch_add(1, Ordering::SeqCst)),
                    }
                }
            });
        }
    });
    assert_eq!(refused.into_inner(), 0);
    Ok(())
}

#[test]
fn of_several_who_ask_at_once_one_gets_the_lock() -> Outcome {
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
fn of_many_who_wait_for_a_dead_holder_one_at_a_time_has_the_lock() -> Outcome {
    let directory = tempfile::tempdir()?;
    let holders = directory.path().join("holders");
    leave(&holders, ProcessId::elsewhere("dead"))?;
    let inside = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..8 {
            let (holders, inside, most) = (&holders, &inside, &most);
            scope.spawn(move || {
                for _ in 0..5 {
                    let taken = wait(holders, Mode::Exclusive, &elsewhere(&number.to_string()));
                    let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(3));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(taken);
                }
            });
        }
    });
    assert_eq!(most.into_inner(), 1);
    Ok(())
}
