//! What goes wrong, and when: at one access to a file in one step.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use prep_app::{Access, WatchAccesses};
use prep_core::{Cancel, Event, Failure, Reporter};

/// A thing that can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// One read fails as on a bad block.
    Reader,
    /// One change fails as on a bad block.
    Writer,
    /// From now on, every change fails for want of space.
    Full,
    /// Ctrl-C.
    Stop,
    /// A byte of a stored object changes before it is opened.
    Damage,
    /// The bundle loses its second half.
    Cut,
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

    /// Whether it can happen at this access.
    pub fn can_meet(self, access: Access, path: &Path) -> bool {
        match self {
            Fault::Reader => !access.is_change(),
            Fault::Writer => access.is_change(),
            Fault::Full => matches!(access, Access::Create | Access::Write | Access::Rename),
            Fault::Stop => true,
            Fault::Damage => access == Access::Open && is_object(path),
            Fault::Cut => !access.is_change() && is_bundle(path),
        }
    }

    /// What a failure that comes of it is about, and what its message says.
    pub fn ends_as(self) -> (&'static [Failure], &'static str) {
        match self {
            Fault::Reader | Fault::Writer => (&[Failure::Machine], "input/output error"),
            Fault::Full => (&[Failure::Machine], "no space left"),
            Fault::Stop => (&[Failure::Cancelled], "stopped"),
            Fault::Damage => (&[Failure::Machine], "damaged"),
            Fault::Cut => (&[Failure::Input, Failure::Machine], ""),
        }
    }
}

fn is_object(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str() == "objects-v1")
}

fn is_bundle(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "source")
}

/// An access that was seen.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The step that was running, with its kind; none between steps.
    pub step: String,
    pub kind: &'static str,
    pub access: Access,
    pub path: PathBuf,
}

/// Where something is to go wrong: at the access of this number, among those that the fault can meet in this step.
#[derive(Debug, Clone)]
pub struct Target {
    pub fault: Fault,
    pub step: String,
    pub number: usize,
}

#[derive(Default)]
struct State {
    step: String,
    kind: &'static str,
    seen: Vec<Seen>,
    met: usize,
    struck: bool,
}

/// Watches a run, and makes one thing go wrong.
pub struct Trouble {
    target: Option<Target>,
    pub cancel: Cancel,
    state: Mutex<State>,
}

impl Trouble {
    pub fn new(target: Option<Target>) -> Trouble {
        Trouble {
            target,
            cancel: Cancel::default(),
            state: Mutex::default(),
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().expect("state").seen.clone()
    }

    /// Whether it went wrong.
    pub fn has_struck(&self) -> bool {
        self.state.lock().expect("state").struck
    }

    fn strike(&self, fault: Fault, path: &Path) -> io::Result<()> {
        match fault {
            Fault::Reader | Fault::Writer => Err(io::Error::from_raw_os_error(5)),
            Fault::Full => Err(io::Error::from_raw_os_error(28)),
            Fault::Stop => {
                self.cancel.cancel();
                Ok(())
            }
            Fault::Damage => {
                if path.exists() {
                    flip(path);
                }
                Ok(())
            }
            Fault::Cut => {
                let file = OpenOptions::new().write(true).open(path).expect("bundle");
                let half = file.metadata().expect("length").len() / 2;
                file.set_len(half).expect("cut");
                Ok(())
            }
        }
    }
}

/// Changes a byte of a file. Other names of the file keep what they have.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("object");
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

impl WatchAccesses for Trouble {
    fn before(&self, access: Access, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock().expect("state");
        let Some(target) = &self.target else {
            let (step, kind) = (state.step.clone(), state.kind);
            let path = path.to_owned();
            state.seen.push(Seen {
                step,
                kind,
                access,
                path,
            });
            return Ok(());
        };
        let fault = target.fault;
        if !fault.can_meet(access, path) {
            return Ok(());
        }
        if state.struck {
            return match fault {
                Fault::Full => self.strike(fault, path),
                _ => Ok(()),
            };
        }
        if state.step != target.step {
            return Ok(());
        }
        state.met += 1;
        if state.met <= target.number {
            return Ok(());
        }
        state.struck = true;
        self.strike(fault, path)
    }
}

impl Reporter for Trouble {
    fn event(&self, event: &Event) {
        let mut state = self.state.lock().expect("state");
        match event {
            Event::StepStarted { step, kind, .. } => {
                state.step.clone_from(step);
                state.kind = kind;
            }
            Event::StepEnded { .. } => {
                state.step.clear();
                state.kind = "";
            }
            Event::Started { .. } | Event::Finished => {}
        }
    }
}
