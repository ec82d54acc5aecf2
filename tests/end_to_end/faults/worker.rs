//! The process into which a test injects faults. A preloaded library makes file accesses fail.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use prep_core::{Cancel, Event, Reporter};
use serde::{Deserialize, Serialize};

use super::library;
use super::trouble::{Fault, LoggedAccess, Target};
use super::world::{ENOUGH_MEMORY_BYTES, Ending, prepare_in};
use crate::support::skipped;

const JOB: &str = "PREP_FAULTS_JOB";

#[derive(Serialize, Deserialize)]
struct Job {
    root: PathBuf,
    id: String,
    fault: Option<Fault>,
}

pub struct Run {
    pub ending: Ending,
    pub has_fault_happened: bool,
    pub accesses: Vec<LoggedAccess>,
}

/// Returns the path of the library to preload, which the first call compiles. Returns `None` if the system cannot
/// compile or preload it.
pub fn preloaded() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let made = LIBRARY.get_or_init(|| {
        let directory = tempfile::tempdir().expect("directory");
        let made = library(directory.path())?;
        Some((directory, made))
    });
    made.as_ref().map(|(_, made)| made.as_path())
}

/// Prepares a competition in another process. If `target` is given, injects its fault.
pub fn prepare(root: &Path, id: &str, target: Option<&Target>) -> Run {
    let Some(library) = preloaded() else {
        panic!("the caller did not check that the library exists");
    };
    let job = Job {
        root: root.to_owned(),
        id: id.to_owned(),
        fault: target.map(|target| target.fault),
    };
    let files = ["count", "log", "gate", "ending"].map(|name| root.join(name));
    let [count, log, gate, ending] = &files;
    for file in &files {
        let _ = fs::remove_file(file);
    }
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["faults::worker::worker", "--exact", "--ignored"])
        .env(JOB, serde_json::to_string(&job).expect("JSON"))
        .env("LD_PRELOAD", library)
        .env("TROUBLE", "reader")
        .env("TROUBLE_ROOT", root)
        .env("TROUBLE_COUNT", count)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match target {
        None => {
            command.env("TROUBLE_LOG", log);
        }
        Some(target) => {
            let (fault, meets, path) = target.fault.library_settings();
            command
                .env("TROUBLE", fault)
                .env("TROUBLE_MEETS", meets)
                .env("TROUBLE_WHERE", path)
                .env("TROUBLE_GATE", gate)
                .env("TROUBLE_NUMBER", target.number.to_string());
            if let Some(step) = &target.step {
                command.env("TROUBLE_STEP", step);
            }
        }
    }
    let ended = command.output().expect("a process");
    let text = fs::read_to_string(ending);
    let text = text.unwrap_or_else(|_| panic!("{id} with {target:?}: {ended:?}"));
    // The number of accesses that the fault could affect so far.
    let affected: usize = fs::read_to_string(count)
        .expect("the library was loaded")
        .parse()
        .expect("a number");
    Run {
        ending: serde_json::from_str(&text).expect("an ending"),
        has_fault_happened: target.is_some_and(|target| affected > target.number),
        accesses: LoggedAccess::all(&fs::read_to_string(log).unwrap_or_default()),
    }
}

/// Reports the running step to the library.
struct Steps;

impl Reporter for Steps {
    fn event(&self, event: &Event) {
        let step = match event {
            Event::StepStarted { step, kind, .. } => format!("/step/{kind}/{step}"),
            Event::StepWaiting { .. } | Event::StepEnded { .. } => "/step//".to_owned(),
        };
        // No such file exists. The attempt to open it passes the name of the step to the library.
        let _ = File::open(step);
    }
}

#[test]
#[ignore = "other tests start this process and inject faults into it"]
fn worker() {
    let Some(job) = std::env::var_os(JOB) else {
        skipped("no test has started this process");
        return;
    };
    let job: Job = serde_json::from_str(job.to_str().expect("UTF-8")).expect("a job");
    let cancel = Cancel::default();
    if let Some(fault) = job.fault {
        let prepared = job.root.join("data").join(&job.id).join("prepared");
        let cancel = cancel.clone();
        super::library::act_at(job.root.join("gate"), move |path| match fault {
            Fault::Stop => cancel.cancel(),
            fault => fault.apply(path, &prepared),
        });
    }
    let ending = prepare_in(
        &job.root,
        &job.id,
        Arc::new(Steps),
        &cancel,
        ENOUGH_MEMORY_BYTES,
    );
    let text = serde_json::to_string(&ending).expect("JSON");
    fs::write(job.root.join("ending"), text).expect("written");
}
