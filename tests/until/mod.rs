//! Waits until another thread or process has come to a certain point.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        sleep(Duration::from_millis(2));
    }
}

/// Waits until a process has `times` open file descriptors for the file `path`, or for files below the directory
/// `path`.
#[track_caller]
pub fn wait_until_open(process: u32, path: &Path, times: usize) {
    if cfg!(not(target_os = "linux")) {
        return sleep(Duration::from_secs(2));
    }
    let open = format!("/proc/{process}/fd");
    wait_until(&format!("{} is open", path.display()), || {
        let Ok(entries) = std::fs::read_dir(&open) else {
            return false;
        };
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.starts_with(path)).count() >= times
    });
}
