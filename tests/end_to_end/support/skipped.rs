//! Tests that a machine cannot run.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Says that a test was left out, and why; also in the file `PREP_SKIPPED`, since what tests print is shown only when they
/// fail.
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("PREP_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let written = file.and_then(|mut file| writeln!(file, "{why}"));
        written.expect("the list of skipped tests");
    }
}
