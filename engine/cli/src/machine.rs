//! Properties of this process and its system: processors, memory, limits, boot id. No other module reads the
//! environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The resources of the machine and the process.
pub struct Environment {
    pub variable: fn(&str) -> Option<OsString>,
    pub home: Option<PathBuf>,
    pub current_dir: Option<PathBuf>,
    pub processors: usize,
    /// Memory that this process may use, in bytes. `None` if unknown.
    pub memory: Option<u64>,
    /// Maximum number of open files. `None` if there is no limit.
    pub open_files: Option<u64>,
    /// Identifies the build of this program.
    pub program: String,
    /// Identifies the current boot of the system.
    pub boot: Option<String>,
}

impl Environment {
    /// Reads the resources of this process.
    pub fn of_process() -> Environment {
        Environment {
            variable: |name| std::env::var_os(name),
            home: std::env::home_dir(),
            current_dir: std::env::current_dir().ok(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory: machine_memory(),
            open_files: open_files(),
            program: program_stamp(),
            boot: prep_cache::boot(),
        }
    }
}

/// Raises the limit of open files to the maximum. Returns the new limit.
fn open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Returns the size of the RAM, or the limit of the control group if that is lower.
fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let limit = |path: &str| {
        std::fs::read_to_string(Path::new(path))
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let group = limit("/sys/fs/cgroup/memory.max")
        .or_else(|| limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    Some((kibibytes * 1024).min(group.unwrap_or(u64::MAX)))
}

fn program_stamp() -> String {
    let stamp = || {
        let file = std::env::current_exe().ok()?.metadata().ok()?;
        let modified = file
            .modified()
            .ok()?
            .duration_since(std::time::UNIX_EPOCH)
            .ok()?;
        Some(format!("{} {}", file.len(), modified.as_nanos()))
    };
    format!(
        "{} {}",
        env!("CARGO_PKG_VERSION"),
        stamp().unwrap_or_default()
    )
}
