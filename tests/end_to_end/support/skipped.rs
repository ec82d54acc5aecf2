//! Tests that a machine cannot run.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports a skipped test with the reason, also in the file `PREP_SKIPPED`, because cargo shows the output only of tests that
/// fail.
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("PREP_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let written = file.and_then(|mut file| writeln!(file, "{why}"));
        written.expect("the list of skipped tests");
    }
}
