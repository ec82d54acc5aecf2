//! Tests Ctrl-C while a run waits for a lock, or reads a large bundle.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{CommandResult, Harbour, Sandbox, names_in};

/// Starts a run that takes long, and interrupts it after `reach`, which must return once the run waits or reads.
/// The run must end soon.
fn interrupt(sandbox: &Sandbox, reach: impl FnOnce()) -> CommandResult {
    let mut child = sandbox
        .run_command(&[Harbour::ID])
        .spawn()
        .expect("the program starts");
    reach();
    assert!(child.try_wait().expect("a state").is_none());
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("a signal").success());
    let begin = Instant::now();
    let mut text = String::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut text).expect("stderr");
    let ended = CommandResult::from(child.wait_with_output().expect("an end"));
    assert!(begin.elapsed() < Duration::from_secs(2));
    CommandResult {
        stderr: text,
        ..ended
    }
}

fn lock(path: PathBuf) -> File {
    let file = File::create(path).expect("a lock file");
    file.try_lock().expect("nobody has it");
    file
}

#[test]
fn ctrl_c_ends_the_wait_for_a_directory_being_published() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let home = sandbox.data().join(Harbour::ID);
    fs::create_dir_all(&home).expect("directory");
    let held = lock(home.join("prepared.lock"));
    let ended = interrupt(&sandbox, || sandbox.wait_until_ended("private/test.csv"));
    ended.code(130).stderr_has(&["stopped"]);
    assert!(!sandbox.prepared(Harbour::ID).exists());
    drop(held);
    // The next run continues the stopped one, so it has the same options.
    let next = sandbox.prep(&["plan", Harbour::ID]).code(0);
    next.stderr_has(&["as last time: --source=", "--skip-verification"]);
    let list = || sandbox.prep(&["list", Harbour::ID]).code(0).stdout;
    assert!(list().contains("not prepared: the last run was stopped"));
    sandbox.run_and_count_steps(Harbour::ID);
    assert!(!list().contains("the last run"));
}

#[test]
fn ctrl_c_ends_the_wait_for_a_step_of_another_process() {
    let sandbox = Harbour::prepared();
    let locks = sandbox.store().join("locks");
    let names = names_in(&locks);
    assert!(names.len() > 3, "{names:?}");
    fs::remove_dir_all(sandbox.data()).expect("removed");
    fs::remove_dir_all(sandbox.store()).expect("removed");
    fs::create_dir_all(&locks).expect("directory");
    // The lock of a step is named after the step's key, which has 64 hexadecimal digits.
    let steps = names.iter().filter(|name| name.len() == 64);
    let held: Vec<File> = steps.map(|name| lock(locks.join(name))).collect();
    // The other steps wait for their locks.
    let ended = interrupt(&sandbox, || sandbox.wait_until_ended("bundle"));
    ended.code(130).stderr_has(&["stopped"]);
    assert!(!sandbox.prepared(Harbour::ID).exists());
    drop(held);
    sandbox.run_and_count_steps(Harbour::ID);
}

#[test]
fn ctrl_c_ends_the_wait_for_garbage_collection() {
    let sandbox = Harbour::prepared();
    let held = lock(sandbox.store().join("locks/use"));
    // The run prints nothing while it waits. Without the signal, it could not end while the lock is held.
    interrupt(&sandbox, || sleep(Duration::from_secs(1))).code(130);
    drop(held);
    sandbox.run_and_count_steps(Harbour::ID);
}

#[test]
fn ctrl_c_ends_the_reading_of_a_bundle() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    // Hashing this file takes half a minute. An archive may begin with other data.
    let bundle = File::create(sandbox.source().join("harbour.zip")).expect("a bundle");
    let archive = Harbour::bundle(&Harbour::table());
    bundle
        .write_all_at(&archive, 64 << 30)
        .expect("a sparse file");
    let ended = interrupt(&sandbox, || sleep(Duration::from_secs(1)));
    ended.code(130).stderr_has(&["stopped"]);
}

/// A run records facts only about data that it published or found, not about data that another run has published since.
#[test]
fn a_run_records_nothing_about_the_data_of_another_run() {
    const OTHER: &str = "quay";
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(OTHER, Harbour::PIPELINE);
    sandbox.bundle(OTHER, &Harbour::bundle(&Harbour::table()));
    let home = sandbox.data().join(OTHER);
    fs::create_dir_all(&home).expect("directory");
    let held = lock(home.join("prepared.lock"));
    let record = sandbox.data().join(Harbour::ID).join("prepared.json");
    let child = sandbox.run_command(&[Harbour::ID, OTHER]).spawn();
    let child = child.expect("the program starts");
    while !fs::read_to_string(&record).is_ok_and(|text| text.contains("\"preparation\"")) {
        sleep(Duration::from_millis(5));
    }
    let changed = Harbour::PIPELINE.replace("seed: 0", "seed: 1");
    assert_ne!(changed, Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &changed);
    sandbox.run_and_count_steps(Harbour::ID);
    let before = fs::read_to_string(&record).expect("a record");
    let lock_file = sandbox.data().join("prep.lock");
    let is_of_harbour = |line: &&str| line.starts_with(Harbour::ID);
    let locked = |text: String| -> Vec<String> {
        let lines = text.lines().filter(is_of_harbour);
        lines.map(str::to_owned).collect()
    };
    let locked_before = locked(fs::read_to_string(&lock_file).expect("prep.lock"));
    drop(held);
    let ended = CommandResult::from(child.wait_with_output().expect("an end"));
    ended.code(0);
    assert_eq!(fs::read_to_string(&record).expect("a record"), before);
    let locked_after = locked(fs::read_to_string(&lock_file).expect("prep.lock"));
    assert_eq!(locked_after, locked_before);
    assert!(sandbox.prepared(OTHER).exists());
}
