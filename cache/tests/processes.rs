//! Several processes that use one store, and processes that die.
//!
//! The tests start their own program again, with the ignored test `child`. An environment variable chooses its task.

use crate::common;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::{env, fs};

use common::{Outcome, bytes, count, empty_store, make_old, second_handle};
use prep_cache::{Digest, GcOptions, Store, StoreError};

const LEN: usize = 300_000;

/// The tasks of the other process. In each task, `ready_and_wait` prints `ready` and waits until the test closes stdin.
#[test]
#[ignore = "the other tests run it in a separate process"]
fn child() -> Outcome {
    let store = Store::open(Path::new(&env::var("PREP_TEST_STORE")?))?;
    match env::var("PREP_TEST_TASK")?.as_str() {
        "write" => {
            let mut writer = store.writer()?;
            writer.write_all(&bytes(LEN, 1))?;
            writer.flush()?;
            ready_and_wait()?;
            writer.commit()?;
        }
        "many" => {
            ready_and_wait()?;
            for seed in 0..300 {
                let mut writer = store.writer()?;
                writer.write_all(&bytes(5000, seed))?;
                let stored = writer.commit()?;
                store.record(&stored.digest, &common::entry(&[stored.digest], 0)?)?;
            }
        }
        "lock" => {
            let _guard = store.lock("name")?;
            ready_and_wait()?;
        }
        "use" => {
            let _guard = store.in_use()?;
            ready_and_wait()?;
        }
        task => return Err(format!("unknown task {task}").into()),
    }
    Ok(())
}

fn ready_and_wait() -> Outcome {
    println!("\nready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

struct OtherProcess {
    process: Child,
    _stdout: BufReader<ChildStdout>,
}

impl OtherProcess {
    fn start(store: &Store, task: &str) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(env::current_exe()?)
            .args(["processes::child", "--exact", "--ignored", "--nocapture"])
            .env("PREP_TEST_STORE", store.root())
            .env("PREP_TEST_TASK", task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdout = BufReader::new(process.stdout.take().ok_or("stdout is piped")?);
        let mut line = String::new();
        while line.trim() != "ready" {
            line.clear();
            if stdout.read_line(&mut line)? == 0 {
                return Err(format!("the process ended: {}", process.wait()?).into());
            }
        }
        Ok(Self {
            process,
            _stdout: stdout,
        })
    }

    fn resume(&mut self) {
        drop(self.process.stdin.take());
    }

    fn finish(mut self) -> Outcome {
        self.resume();
        let mut rest = String::new();
        self._stdout.read_to_string(&mut rest)?;
        let status = self.process.wait()?;
        assert!(status.success(), "{status}: {rest}");
        Ok(())
    }

    fn kill(mut self) -> Outcome {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

#[test]
fn two_processes_can_write_the_same_objects() -> Outcome {
    let (_dir, store) = empty_store()?;
    let mut others = [
        OtherProcess::start(&store, "many")?,
        OtherProcess::start(&store, "many")?,
    ];
    for other in &mut others {
        other.resume();
    }
    for other in others {
        other.finish()?;
    }
    assert_eq!(store.stat()?.objects.files, 300);
    assert_eq!(count(&store, "tmp")?, 0);
    let report = store.verify(false, &|_| {})?;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.checked.files, report.entries), (300, 300));
    Ok(())
}

#[test]
fn second_commit_finds_the_object_of_the_first() -> Outcome {
    let (_dir, store) = empty_store()?;
    let others = [
        OtherProcess::start(&store, "write")?,
        OtherProcess::start(&store, "write")?,
    ];
    assert_eq!(store.stat()?.objects.files, 0, "no object before commit");
    for other in others {
        other.finish()?;
        assert_eq!(store.stat()?.objects.files, 1);
    }
    assert_eq!(
        store.read(&Digest::of_bytes(&bytes(LEN, 1)))?,
        bytes(LEN, 1)
    );
    Ok(())
}

#[test]
fn process_killed_before_commit_leaves_no_object() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (killed, alive) = (
        OtherProcess::start(&store, "write")?,
        OtherProcess::start(&store, "write")?,
    );
    killed.kill()?;
    assert_eq!(store.len_of(&Digest::of_bytes(&bytes(LEN, 1))), None);
    assert_eq!(store.stat()?.objects.files, 0);
    assert_eq!(count(&store, "tmp")?, 2);

    // A day later, only the file of the killed process is removed.
    for file in fs::read_dir(store.root().join("tmp"))? {
        make_old(&file?.path(), 2)?;
    }
    let report = store.gc(&GcOptions::default())?;
    assert_eq!((report.leftovers, count(&store, "tmp")?), (1, 1));
    alive.finish()?;
    assert_eq!(
        second_handle(&store)?.read(&Digest::of_bytes(&bytes(LEN, 1)))?,
        bytes(LEN, 1)
    );
    Ok(())
}

#[test]
fn lock_excludes_other_processes_and_ends_with_its_holder() -> Outcome {
    let (_dir, store) = empty_store()?;
    let holder = OtherProcess::start(&store, "lock")?;
    assert!(store.try_lock("name")?.is_none());
    assert!(store.try_lock("another name")?.is_some());
    holder.kill()?;
    let guard = store.lock("name")?;
    assert!(second_handle(&store)?.try_lock("name")?.is_none());
    drop(guard);
    assert!(store.try_lock("name")?.is_some());
    Ok(())
}

#[test]
fn run_of_another_process_prevents_collection() -> Outcome {
    let (_dir, store) = empty_store()?;
    let run = OtherProcess::start(&store, "use")?;
    let refused = store.gc(&GcOptions::default());
    assert!(matches!(refused, Err(StoreError::InUse { .. })));
    assert!(
        store
            .gc(&GcOptions {
                dry_run: true,
                ..GcOptions::default()
            })
            .is_ok()
    );
    run.kill()?;
    store.gc(&GcOptions::default())?;
    Ok(())
}
