//! Faults, and the file accesses at which they happen.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use prep_core::Failure;
use serde::{Deserialize, Serialize};

use crate::support::Snapshot;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fault {
    /// One read fails as on a bad block.
    Reader,
    /// One write fails as on a bad block.
    Writer,
    /// From this access on, the disk is full.
    Full,
    /// The run is cancelled.
    Stop,
    /// A byte of a stored object changes before the object is opened.
    Damage,
    /// The bundle is truncated to half of its length.
    Cut,
    /// All published files are truncated to one byte.
    CutPublished,
}

impl Fault {
    pub const ALL: [Fault; 6] = [
        Fault::Reader,
        Fault::Writer,
        Fault::Full,
        Fault::Stop,
        Fault::Damage,
        Fault::Cut,
    ];

    /// Returns the values of the library's environment variables: `TROUBLE`, `TROUBLE_MEETS`, `TROUBLE_WHERE`. The second
    /// value has a letter for each kind of access that the fault can affect, for example `o` for opening a file and `w`
    /// for writing (see `tests/faults/trouble.c`).
    pub fn library_settings(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Fault::Reader => ("reader", "or", ""),
            Fault::Writer => ("writer", "cwnd", ""),
            Fault::Full => ("full", "cwn", ""),
            Fault::Stop | Fault::CutPublished => ("gate", "orcwnd", ""),
            Fault::Damage => ("gate", "o", "/objects-v1/"),
            Fault::Cut => ("gate", "or", "/source/"),
        }
    }

    /// Returns whether the fault is possible at this access.
    pub fn can_affect(self, entry: &LoggedAccess) -> bool {
        let (_, meets, path) = self.library_settings();
        meets.contains(&entry.access) && entry.path.contains(path)
    }

    /// Returns the kinds of failure that the fault can cause, and a part of the message.
    pub fn expected_failures(self) -> (&'static [Failure], &'static str) {
        match self {
            Fault::Reader | Fault::Writer => (&[Failure::Machine], "input/output error"),
            Fault::Full => (&[Failure::Machine], "no space left"),
            Fault::Stop => (&[Failure::Cancelled], "stopped"),
            Fault::Damage => (&[Failure::Machine], "damaged"),
            Fault::Cut | Fault::CutPublished => (&[Failure::Input, Failure::Machine], ""),
        }
    }

    /// Applies faults that the library cannot inject, by changing files. `prepared` is the directory of published files.
    pub fn apply(self, path: &Path, prepared: &Path) {
        match self {
            Fault::Damage => flip(path),
            Fault::Cut => cut(path, |length| length / 2),
            Fault::CutPublished => {
                for inner in Snapshot::of(prepared).files() {
                    let path = prepared.join(inner);
                    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("mode");
                    cut(&path, |_| 1);
                }
            }
            Fault::Reader | Fault::Writer | Fault::Full | Fault::Stop => {}
        }
    }
}

/// Truncates a file. `to` maps the length of the file to its new length.
fn cut(path: &Path, to: fn(u64) -> u64) {
    let file = OpenOptions::new().write(true).open(path).expect("a file");
    let length = file.metadata().expect("length").len();
    file.set_len(to(length)).expect("cut");
}

/// Changes a byte. Other hard links of the file keep their content.
fn flip(path: &Path) {
    // The engine looks up some objects that do not exist.
    let Ok(mut bytes) = fs::read(path) else {
        return;
    };
    let Some(byte) = bytes.first_mut() else {
        return;
    };
    *byte ^= 0xff;
    fs::remove_file(path).expect("removed");
    fs::write(path, bytes).expect("written");
    let file = File::open(path).expect("object");
    let mode = Permissions::from_mode(0o444);
    file.set_permissions(mode).expect("mode");
}

/// A file access in the log of the library.
#[derive(Debug, Clone)]
pub struct LoggedAccess {
    /// The name of the running step. Empty between steps.
    pub step: String,
    /// The kind of the running step. Empty between steps.
    pub kind: String,
    /// The operation as one letter, as in [`Fault::library_settings`].
    pub access: String,
    pub path: String,
}

impl LoggedAccess {
    /// Parses the log of the library.
    pub fn all(log: &str) -> Vec<LoggedAccess> {
        let line = |line: &str| {
            let parts: Vec<&str> = line.splitn(4, '\t').collect();
            let [step, kind, access, path] = parts[..] else {
                panic!("a line of the log: {line}");
            };
            LoggedAccess {
                step: step.to_owned(),
                kind: kind.to_owned(),
                access: access.to_owned(),
                path: path.to_owned(),
            }
        };
        log.lines().map(line).collect()
    }
}

/// The access that fails. `number` counts the accesses at which the fault is possible: those of `step`, or those of the
/// entire run if `step` is `None`.
#[derive(Debug, Clone)]
pub struct Target {
    pub fault: Fault,
    pub step: Option<String>,
    pub number: usize,
}
