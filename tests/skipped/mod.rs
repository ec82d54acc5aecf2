//! Reports tests that cannot run on this machine.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Prints the reason why a test is skipped. Also writes it to the file that `PREP_SKIPPED` names, because cargo
/// shows only the output of failed tests.
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("PREP_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let written = file.and_then(|mut file| file.write_all(format!("{why}\n").as_bytes()));
        written.expect("the list of skipped tests");
    }
}
