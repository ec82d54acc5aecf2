//! Injects faults into file accesses for tests of several crates.
//! A preloaded library intercepts calls of the C library (`trouble.c`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

/// Compiles the library into `directory`.
/// Returns the reason if this system cannot compile or preload the library.
pub fn library(directory: &Path) -> Result<PathBuf, &'static str> {
    if !cfg!(target_os = "linux") {
        return Err("the library that makes accesses fail is written for Linux");
    }
    let (source, made) = (directory.join("trouble.c"), directory.join("trouble.so"));
    fs::write(&source, include_str!("trouble.c")).expect("written");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&made, &source])
        .arg("-ldl")
        .status();
    match compiled.is_ok_and(|status| status.success()) {
        true => Ok(made),
        false => Err("there is no C compiler for the library that makes accesses fail"),
    }
}

/// Starts a thread that acts while an access waits. The library writes the path of the access to the file `gate`, and
/// waits until the file is removed. The thread passes the path to `act`, and then removes the file.
/// If no access waits, the thread ends with the process.
pub fn act_at(gate: PathBuf, act: impl FnOnce(&Path) + Send + 'static) {
    thread::spawn(move || {
        loop {
            if let Ok(path) = fs::read_to_string(&gate) {
                act(Path::new(&path));
                return fs::remove_file(&gate).expect("the gate opens");
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
}
