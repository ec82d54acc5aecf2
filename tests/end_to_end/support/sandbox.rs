//! The directories of one test, and `prep` running in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{CommandResult, Snapshot};
use crate::until::wait_until;

pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let dir = crate::temporary::directory();
        for name in ["source", "pipelines", "files"] {
            fs::create_dir(dir.path().join(name)).expect("directory");
        }
        Sandbox { dir }
    }

    pub fn path(&self, inner: &str) -> PathBuf {
        self.dir.path().join(inner)
    }

    /// Returns the directory of bundles, which [`run`](Self::run) passes as `--source`.
    pub fn source(&self) -> PathBuf {
        self.path("source")
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub fn store(&self) -> PathBuf {
        self.path("store")
    }

    pub fn prepared(&self, id: &str) -> PathBuf {
        self.data().join(id).join("prepared")
    }

    /// The path is relative to the sandbox. Returns the complete path.
    pub fn write(&self, inner: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(inner);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directory");
        fs::write(&path, content).expect("file");
        path
    }

    pub fn bundle(&self, id: &str, archive: &[u8]) {
        self.write(&format!("source/{id}.zip"), archive);
    }

    /// Adds or replaces a pipeline. Its small leaderboard has thresholds for all medals.
    pub fn pipeline(&self, id: &str, text: &str) {
        self.write(&format!("pipelines/{id}/pipeline.yaml"), text);
        self.write(
            &format!("pipelines/{id}/leaderboard.csv"),
            "score\n0.9\n0.8\n0.7\n0.6\n0.5\n",
        );
    }

    /// Returns a `prep` command in this sandbox, without the test's environment variables.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prep"));
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .env_clear()
            .env("HOME", self.path("home"))
            .env("TMPDIR", std::env::temp_dir())
            .env("PREP_CACHE_DIR", self.store())
            .env("MLE_BENCH_DATA_DIR", self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let holds_pipelines = fs::read_dir(self.path("pipelines"))
            .expect("pipelines")
            .next();
        if holds_pipelines.is_some() {
            command.env("PREP_PIPELINES", self.path("pipelines"));
        }
        command
    }

    pub fn prep(&self, arguments: &[&str]) -> CommandResult {
        CommandResult::of(&mut self.command(arguments))
    }

    /// Returns a `prep run` command that takes bundles from [`source`](Self::source) and verifies no checksums.
    pub fn run_command(&self, ids: &[impl AsRef<str>]) -> Command {
        let mut arguments = vec!["run", "--json", "--skip-verification", "--source", "source"];
        arguments.extend(ids.iter().flat_map(|id| ["-c", id.as_ref()]));
        self.command(&arguments)
    }

    pub fn run_all(&self, ids: &[impl AsRef<str>]) -> CommandResult {
        CommandResult::of(&mut self.run_command(ids))
    }

    pub fn run(&self, id: &str) -> CommandResult {
        self.run_all(&[id])
    }

    /// Runs a competition, asserts that the run succeeds, and returns the number of executed steps.
    #[track_caller]
    pub fn run_and_count_steps(&self, id: &str) -> u64 {
        let report = self.run(id).code(0).json();
        report["competitions"][0]["steps_run"]
            .as_u64()
            .expect("a number of steps")
    }

    /// Returns the state of a competition in `prep list`, without the remark that the user wrote the pipeline.
    #[track_caller]
    pub fn state(&self, id: &str) -> String {
        let row = self.prep(&["list", id, "--json"]).code(0).competition();
        let state = row["state"].as_str().expect("a state");
        state.replace(" (own pipeline)", "")
    }

    /// Waits until the log of a run contains the end of a step.
    #[track_caller]
    pub fn wait_until_ended(&self, step: &str) {
        let text = format!("\"step\":\"{step}\"");
        wait_until(&text, || {
            let logs = fs::read_dir(self.store().join("runs-v1"));
            let mut paths = logs.into_iter().flatten().flatten().map(|log| log.path());
            paths.any(|path| fs::read_to_string(path).is_ok_and(|log| log.contains(&text)))
        });
    }

    pub fn tree(&self, id: &str) -> Snapshot {
        Snapshot::of(&self.prepared(id))
    }

    pub fn names_in_home(&self, id: &str) -> Vec<String> {
        names_in(&self.data().join(id))
    }
}

/// Returns sorted names, or nothing if the directory does not exist.
pub fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
