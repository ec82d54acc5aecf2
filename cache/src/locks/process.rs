//! Identifies a process among all machines, and determines whether it still runs.

use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::system::machine::{boot, host};

/// Identifies a process on any machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    /// The machine, boot and namespaces inside which `number` is unique. Empty if unknown.
    space: String,
    /// The process id.
    number: u32,
    /// Start time in clock ticks since the boot. It distinguishes later processes with the same process id.
    start: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    Runs,
    Gone,
    /// The process belongs to another machine or container, or the system does not provide the information.
    Unknown,
}

impl ProcessId {
    pub(crate) fn current() -> ProcessId {
        let number = std::process::id();
        ProcessId {
            space: space(),
            number,
            start: start_of(number),
        }
    }

    /// Returns the state of the process that `self` identifies. `observer` identifies the current process.
    pub(crate) fn state(&self, observer: &ProcessId) -> ProcessState {
        if self.space.is_empty() || self.space != observer.space {
            return ProcessState::Unknown;
        }
        let number = i32::try_from(self.number).ok();
        let Some(process) = number.and_then(Pid::from_raw) else {
            return ProcessState::Unknown;
        };
        if test_kill_process(process) == Err(Errno::SRCH) {
            return ProcessState::Gone;
        }
        // If one of the start times is unknown, the process may still run: `/proc` may hide processes of other users
        // (`hidepid`).
        match (self.start, start_of(self.number)) {
            (Some(then), Some(now)) if then == now => ProcessState::Runs,
            (Some(_), Some(_)) => ProcessState::Gone,
            _ => ProcessState::Unknown,
        }
    }
}

/// Returns a string that identifies the machine, its last boot, and the PID and time namespaces of this process. The
/// process ids and start times of two processes are comparable only if this string is the same for both.
fn space() -> String {
    let namespace = |kind| fs::read_link(format!("/proc/self/ns/{kind}")).ok();
    match (host(), boot(), namespace("pid")) {
        (Some(host), Some(boot), Some(pid)) => {
            let time = namespace("time").unwrap_or_default();
            format!("{host} {boot} {} {}", pid.display(), time.display())
        }
        _ => String::new(),
    }
}

/// Returns the start time of a process: field 22 of `/proc/PID/stat`. The second field is the program's name in parentheses
/// and may contain `)`. Therefore this function counts the fields after the last `)`, which begin with field 3.
fn start_of(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
impl ProcessId {
    pub(crate) fn elsewhere(machine: &str) -> ProcessId {
        ProcessId {
            space: machine.to_owned(),
            number: 1,
            start: Some(1),
        }
    }

    pub(crate) fn with_number(number: u32) -> ProcessId {
        ProcessId {
            number,
            start: start_of(number),
            ..ProcessId::current()
        }
    }

    pub(crate) fn earlier(&self) -> ProcessId {
        ProcessId {
            start: self.start.map(|start| start.wrapping_sub(1)),
            ..self.clone()
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn processes_with_the_same_id_are_distinguished_by_start_time() {
        let this_process = ProcessId::current();
        assert_eq!(this_process.state(&this_process), ProcessState::Runs);
        assert_eq!(
            this_process.earlier().state(&this_process),
            ProcessState::Gone
        );
        let elsewhere = ProcessId::elsewhere("another machine");
        assert_eq!(elsewhere.state(&this_process), ProcessState::Unknown);
        let init = ProcessId::with_number(1);
        assert_eq!(init.state(&this_process), ProcessState::Runs);
        assert_eq!(init.earlier().state(&this_process), ProcessState::Gone);
    }

    #[test]
    fn ended_process_is_gone() -> std::io::Result<()> {
        let mut child = std::process::Command::new("sleep").arg("100").spawn()?;
        let process = ProcessId::with_number(child.id());
        assert_eq!(process.state(&ProcessId::current()), ProcessState::Runs);
        child.kill()?;
        child.wait()?;
        assert_eq!(process.state(&ProcessId::current()), ProcessState::Gone);
        Ok(())
    }
}
