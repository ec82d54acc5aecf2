//! Locks that other machines honour: a file that its holder keeps alive.
//!
//! Locks of the operating system hold for one machine only on some file systems (FUSE, Lustre without its option), and
//! others have none at all. Every one of them makes a file exclusively, though. So the lock is a file: who makes it has
//! the lock, and writes into it who he is.
//!
//! A holder that dies leaves its file. Three things tell a dead holder from one that lives:
//!
//! - On the same machine, its process is gone.
//! - A holder writes a new number into its file every few seconds. Who waits and sees one content for longer than
//!   [`Times::silent`], by his own clock, takes the holder for dead: no clocks of two machines are compared.
//! - A holder that was only asleep finds another's file, or none, at its next beat, and knows that it lost the lock.
//!
//! The file of a dead holder is removed under a second file, made exclusively as well, so that of several who wait one
//! alone removes it, and never the file of the next holder.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::machine;

/// How often a holder writes, and after how long a silence it counts as dead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub beat: Duration,
    pub silent: Duration,
}

/// A holder writes four times before others lose patience; a lock of a machine that died is free in half a minute.
pub(crate) const TIMES: Times = Times {
    beat: Duration::from_secs(6),
    silent: Duration::from_secs(25),
};

/// What a lease's file says.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    /// For people who wonder what the file is.
    lock_of: String,
    /// Where the number of the process means one process; empty where that cannot be told.
    processes: String,
    process: u32,
    /// Differs from lease to lease.
    token: String,
    /// Of one width, so that a file is written over in place.
    beat: String,
}

/// The lock on a path. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Lease(Arc<Held>);

#[derive(Debug)]
struct Held {
    path: PathBuf,
    processes: String,
    token: String,
    beats: AtomicU64,
    lost: AtomicBool,
    released: Mutex<bool>,
}

impl Lease {
    /// Takes the lock if it is free, or if its holder is dead. `None`: somebody has it. Who wants to wait asks again.
    pub(crate) fn try_take(path: &Path) -> io::Result<Option<Lease>> {
        Lease::take_as(path, &machine::processes(), TIMES)
    }

    fn take_as(path: &Path, processes: &str, times: Times) -> io::Result<Option<Lease>> {
        // A second time after the file of a dead holder is gone.
        for _ in 0..2 {
            let held = Held {
                path: path.to_owned(),
                processes: processes.to_owned(),
                token: token(),
                beats: AtomicU64::new(0),
                lost: AtomicBool::new(false),
                released: Mutex::new(false),
            };
            match create(path, &held.content()) {
                Ok(()) => {
                    forget(path);
                    let held = Arc::new(held);
                    keep_alive(&held, times.beat);
                    return Ok(Some(Lease(held)));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            let Some(content) = read(path)? else { continue };
            if !is_dead(path, &content, processes, times) || !bury(path, &content, times)? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Did somebody else take the lock, because nothing was heard of this holder for too long?
    pub(crate) fn is_lost(&self) -> bool {
        self.0.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut released = held(&self.0.released);
        *released = true;
        let ours = read(&self.0.path)
            .is_ok_and(|content| content.is_some_and(|content| self.0.is_in(&content)));
        if ours {
            // What stays is taken for dead by and by.
            let _ = fs::remove_file(&self.0.path);
        }
    }
}

impl Held {
    fn content(&self) -> Vec<u8> {
        let holder = Holder {
            lock_of: machine::host().unwrap_or_default(),
            processes: self.processes.clone(),
            process: std::process::id(),
            token: self.token.clone(),
            beat: format!("{:020}", self.beats.load(Ordering::Relaxed)),
        };
        let mut content = serde_json::to_vec(&holder).unwrap_or_default();
        content.push(b'\n');
        content
    }

    fn is_in(&self, content: &[u8]) -> bool {
        parse(content).is_some_and(|holder| holder.token == self.token)
    }

    /// Shows that the holder lives. False when there is nothing to be kept alive any more.
    fn beat(&self) -> bool {
        let released = held(&self.released);
        if *released {
            return false;
        }
        match read(&self.path) {
            Ok(Some(content)) if self.is_in(&content) => {}
            // Out of reach for now; a later beat may get through.
            Err(_) => return true,
            Ok(_) => {
                self.lost.store(true, Ordering::Relaxed);
                return false;
            }
        }
        self.beats.fetch_add(1, Ordering::Relaxed);
        // Opened anew each time: closing is what makes it seen on other machines.
        if let Ok(file) = OpenOptions::new().write(true).open(&self.path) {
            let _ = file.write_all_at(&self.content(), 0);
        }
        true
    }
}

/// Says that somebody is there, among others who may be there as well.
pub(crate) fn announce(folder: &Path) -> io::Result<Lease> {
    fs::create_dir_all(folder)?;
    match Lease::try_take(&folder.join(token()))? {
        Some(lease) => Ok(lease),
        None => Err(ErrorKind::AlreadyExists.into()),
    }
}

/// Whether nobody is in `folder`; waits for as long as it takes to know. The dead are removed.
pub(crate) fn is_deserted(folder: &Path) -> io::Result<bool> {
    deserted(folder, &machine::processes(), TIMES)
}

fn deserted(folder: &Path, processes: &str, times: Times) -> io::Result<bool> {
    let mut first: HashMap<PathBuf, Vec<u8>> = HashMap::new();
    loop {
        let mut doubtful = false;
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            let Some(content) = read(&path)? else {
                continue;
            };
            if is_dead(&path, &content, processes, times) {
                let _ = fs::remove_file(&path);
                forget(&path);
                continue;
            }
            let local = parse(&content).is_some_and(|holder| is_here(&holder, processes));
            if local || *first.entry(path).or_insert_with(|| content.clone()) != content {
                return Ok(false);
            }
            doubtful = true;
        }
        if !doubtful {
            return Ok(true);
        }
        std::thread::sleep(times.beat / 10);
    }
}

fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(content);
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// The content; none if there is no such file.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(content: &[u8]) -> Option<Holder> {
    serde_json::from_slice(content).ok()
}

/// Can the holder's process be looked up?
fn is_here(holder: &Holder, processes: &str) -> bool {
    !processes.is_empty() && holder.processes == processes
}

/// Is the holder gone that wrote this content?
fn is_dead(path: &Path, content: &[u8], processes: &str, times: Times) -> bool {
    if let Some(holder) = parse(content).filter(|holder| is_here(holder, processes)) {
        let process = i32::try_from(holder.process).ok();
        let process = process.and_then(rustix::process::Pid::from_raw);
        return process.is_some_and(|process| {
            let asked = rustix::process::test_kill_process(process);
            asked == Err(rustix::io::Errno::SRCH)
        });
    }
    is_silent(path, content, times.silent)
}

/// Removes the file of a dead holder. False when others are about it, or when it is another file by now.
fn bury(path: &Path, content: &[u8], times: Times) -> io::Result<bool> {
    let mut spade = path.as_os_str().to_owned();
    spade.push(".break");
    let spade = PathBuf::from(spade);
    match create(&spade, token().as_bytes()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let other = read(&spade)?;
            if other.is_some_and(|other| is_silent(&spade, &other, times.silent)) {
                forget(&spade);
                let _ = fs::remove_file(&spade);
            }
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    let same = read(path).map(|now| now.as_deref() == Some(content));
    let buried = match same {
        Ok(true) => fs::remove_file(path).map(|()| true),
        other => other,
    };
    fs::remove_file(&spade)?;
    buried
}

/// A file's content, and since when it was seen.
type Seen = (Vec<u8>, Instant);

/// What was seen in files that others hold.
static SEEN: Mutex<Option<HashMap<PathBuf, Seen>>> = Mutex::new(None);

/// Has the file had this content for so long, as far as this process has looked?
fn is_silent(path: &Path, content: &[u8], silent: Duration) -> bool {
    let mut seen = held(&SEEN);
    let seen = seen.get_or_insert_default();
    match seen.get(path) {
        Some((same, since)) if same == content => since.elapsed() >= silent,
        _ => {
            seen.insert(path.to_owned(), (content.to_owned(), Instant::now()));
            false
        }
    }
}

fn forget(path: &Path) {
    if let Some(seen) = held(&SEEN).as_mut() {
        seen.remove(path);
    }
}

/// The leases of this process that a thread keeps alive; none while there is no such thread.
static ALIVE: Mutex<Option<Vec<Weak<Held>>>> = Mutex::new(None);

fn keep_alive(lease: &Arc<Held>, beat: Duration) {
    let mut alive = held(&ALIVE);
    if let Some(leases) = alive.as_mut() {
        leases.push(Arc::downgrade(lease));
        return;
    }
    let thread = std::thread::Builder::new().name("leases".to_owned());
    // Without the thread the lease lasts for a while, and is known to be lost after it.
    if thread.spawn(move || beat_all(beat)).is_ok() {
        *alive = Some(vec![Arc::downgrade(lease)]);
    }
}

fn beat_all(beat: Duration) {
    loop {
        std::thread::sleep(beat);
        let leases: Vec<Arc<Held>> = match held(&ALIVE).as_ref() {
            Some(leases) => leases.iter().filter_map(Weak::upgrade).collect(),
            None => return,
        };
        let living: Vec<Arc<Held>> = leases.into_iter().filter(|lease| lease.beat()).collect();
        drop(living);
        let mut alive = held(&ALIVE);
        if let Some(leases) = alive.as_mut() {
            leases.retain(|lease| lease.strong_count() > 0);
            if leases.is_empty() {
                *alive = None;
                return;
            }
        }
    }
}

/// Differs from every other one, on every machine.
fn token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut hasher = blake3::Hasher::new();
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    hasher.update(&time.map_or(0, |time| time.as_nanos()).to_le_bytes());
    hasher.update(&std::process::id().to_le_bytes());
    hasher.update(&COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    hasher.update(machine::processes().as_bytes());
    // Seeded at random for each process.
    let state = std::hash::RandomState::new();
    let random = std::hash::BuildHasher::hash_one(&state, 0);
    hasher.update(&random.to_le_bytes());
    hasher
        .finalize()
        .to_hex()
        .get(..32)
        .unwrap_or_default()
        .to_owned()
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Times = Times {
        beat: Duration::from_millis(20),
        silent: Duration::from_millis(300),
    };

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// Asks until the lock is free; how long that took.
    fn wait(path: &Path, processes: &str) -> io::Result<(Lease, Duration)> {
        let start = Instant::now();
        loop {
            if let Some(lease) = Lease::take_as(path, processes, QUICK)? {
                return Ok((lease, start.elapsed()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_holder_that_lives_keeps_the_lock_however_long_others_wait() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lock");
        let (first, _) = wait(&path, "machine one")?;
        let start = Instant::now();
        while start.elapsed() < QUICK.silent * 3 {
            assert!(Lease::take_as(&path, "machine two", QUICK)?.is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!first.is_lost());
        drop(first);
        assert!(Lease::take_as(&path, "machine two", QUICK)?.is_some());
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        Ok(())
    }

    #[test]
    fn the_lock_of_a_dead_machine_is_free_after_its_silence() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lock");
        for left in [&b"{\"lock_of\":\"a\",\"processes\":\"one\",\"process\":1,\"token\":\"x\",\"beat\":\"1\"}"[..], b""] {
            fs::write(&path, left)?;
            let (lease, waited) = wait(&path, "machine two")?;
            assert!(waited >= QUICK.silent, "{waited:?}");
            assert!(waited < QUICK.silent * 4, "{waited:?}");
            drop(lease);
        }
        Ok(())
    }

    #[test]
    fn the_lock_of_a_dead_process_of_this_machine_is_free_at_once() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lock");
        let mut child = std::process::Command::new("true").spawn()?;
        let gone = child.id();
        child.wait()?;
        let here = "this machine";
        fs::write(
            &path,
            format!(
                "{{\"lock_of\":\"a\",\"processes\":\"{here}\",\"process\":{gone},\"token\":\"x\",\"beat\":\"1\"}}"
            ),
        )?;
        assert!(Lease::take_as(&path, here, QUICK)?.is_some());
        Ok(())
    }

    #[test]
    fn who_was_taken_for_dead_knows_that_he_lost_the_lock() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lock");
        let (sleeper, _) = wait(&path, "machine one")?;
        fs::remove_file(&path)?;
        let (next, _) = wait(&path, "machine two")?;
        assert!(!sleeper.0.beat());
        assert!(sleeper.is_lost());
        drop(sleeper);
        assert!(
            !next.is_lost() && next.0.beat(),
            "the next holder's file is his"
        );
        Ok(())
    }

    #[test]
    fn of_many_who_wait_for_a_dead_holder_one_at_a_time_has_the_lock() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lock");
        fs::write(&path, b"left behind")?;
        let inside = AtomicU64::new(0);
        let most = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (path, inside, most) = (&path, &inside, &most);
                scope.spawn(move || {
                    for _ in 0..5 {
                        let taken = wait(path, &format!("machine {number}"));
                        let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(3));
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(taken);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        Ok(())
    }

    #[test]
    fn a_folder_is_deserted_when_all_in_it_are_dead() -> Outcome {
        let folder = tempfile::tempdir()?;
        assert!(deserted(&folder.path().join("none"), "here", QUICK)?);
        fs::write(folder.path().join("a"), b"left behind")?;
        assert!(deserted(folder.path(), "here", QUICK)?);
        let lease = Lease::take_as(&folder.path().join("b"), "there", QUICK)?;
        assert!(lease.is_some());
        assert!(!deserted(folder.path(), "here", QUICK)?);
        Ok(())
    }
}
