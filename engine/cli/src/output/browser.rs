//! Opens pages in the user's browser.

use std::process::{Command, Stdio};

use crate::places::Directories;

/// Opens a page with the program that `BROWSER` names, or with the system's.
///
/// # Errors
/// A sentence, if no program can be started.
pub fn open(url: &str, places: &Directories) -> Result<(), String> {
    let system = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let program = places.text("BROWSER");
    let program = program.as_deref().unwrap_or(system);
    let mut command = Command::new(program);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // The browser may stay open for longer than this program.
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "cannot open pages with {program}: {}; set BROWSER, or open the addresses by hand",
            prep_app::for_people(&error.to_string())
        )),
    }
}
