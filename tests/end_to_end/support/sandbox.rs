//! The directories of one test, and `prep` running in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{Ended, Snapshot};

/// Bundles, pipelines, store and data of one test; removed at its end.
pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let dir = tempfile::Builder::new()
            .prefix("prep-test-")
            .tempdir()
            .expect("temporary folder");
        for name in ["source", "pipelines", "files"] {
            fs::create_dir(dir.path().join(name)).expect("folder");
        }
        Sandbox { dir }
    }

    pub fn path(&self, inner: &str) -> PathBuf {
        self.dir.path().join(inner)
    }

    /// The directory of bundles, `--source` of [`run`](Self::run).
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

    /// Writes a file anywhere below the sandbox and returns its path.
    pub fn write(&self, inner: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(inner);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
        fs::write(&path, content).expect("file");
        path
    }

    /// Puts a bundle where `--source` finds it.
    pub fn bundle(&self, id: &str, archive: &[u8]) {
        self.write(&format!("source/{id}.zip"), archive);
    }

    /// Adds or replaces a pipeline, with the smallest leaderboard that gives every medal.
    pub fn pipeline(&self, id: &str, text: &str) {
        self.write(&format!("pipelines/{id}/pipeline.yaml"), text);
        self.write(
            &format!("pipelines/{id}/leaderboard.csv"),
            "score\n0.9\n0.8\n0.7\n0.6\n0.5\n",
        );
    }

    /// `prep` with these arguments in this sandbox, without the environment of the test.
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

    pub fn prep(&self, arguments: &[&str]) -> Ended {
        Ended::of(&mut self.command(arguments))
    }

    /// `prep run` of these competitions from the source directory, without checksums.
    pub fn run_command(&self, ids: &[impl AsRef<str>]) -> Command {
        let mut arguments = vec!["run", "--json", "--skip-verification", "--source", "source"];
        arguments.extend(ids.iter().flat_map(|id| ["-c", id.as_ref()]));
        self.command(&arguments)
    }

    pub fn run_all(&self, ids: &[impl AsRef<str>]) -> Ended {
        Ended::of(&mut self.run_command(ids))
    }

    pub fn run(&self, id: &str) -> Ended {
        self.run_all(&[id])
    }

    /// A run that has to succeed; returns how many steps ran.
    #[track_caller]
    pub fn run_well(&self, id: &str) -> u64 {
        let report = self.run(id).code(0).json();
        report["competitions"][0]["steps_run"]
            .as_u64()
            .expect("a number of steps")
    }

    /// The state of a competition in `prep list`, without the mark that all pipelines of sandboxes have.
    #[track_caller]
    pub fn state(&self, id: &str) -> String {
        let row = self.prep(&["list", id, "--json"]).code(0).competition();
        let state = row["state"].as_str().expect("a state");
        state.replace(" (own pipeline)", "")
    }

    pub fn tree(&self, id: &str) -> Snapshot {
        Snapshot::of(&self.prepared(id))
    }

    /// Names in `DATA/ID`, sorted.
    pub fn names_in_home(&self, id: &str) -> Vec<String> {
        names_in(&self.data().join(id))
    }
}

/// Names in a directory, sorted. None if it does not exist.
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
