//! Runs many processes that take one lock at random, while they are killed and suspended at random.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

const TIMING: LeaseTiming = LeaseTiming {
    heartbeat: Duration::from_millis(100),
    silence: Duration::from_millis(2000),
};

const DIRECTORY_VARIABLE: &str = "PREP_TEST_LEASES";

type Outcome = Result<(), Box<dyn std::error::Error>>;

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

fn mark(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(drop)
}

/// Takes the lock repeatedly. While it has the lock, it keeps a file in `inside` that only this process uses.
#[test]
#[ignore = "the other test runs it in separate processes"]
fn child() -> Outcome {
    let directory = env::var(DIRECTORY_VARIABLE)?;
    let directory = Path::new(&directory);
    let process = std::process::id();
    let candidate = Candidate {
        process: ProcessId::current(),
        timing: TIMING,
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

/// Reports a process that has a conflicting lock at the same time. Processes that were suspended or killed are ignored,
/// because their files may remain until they check their lease.
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
            "locks::lease::attack::child",
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
    match fs::read_dir(directory.join("holders")) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        left => drop(left?),
    }
    Ok(())
}
