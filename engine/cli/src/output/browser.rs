//! Opens pages in the user's browser.

use std::process::{Command, Stdio};

use crate::places::Directories;

/// Opens a page with the program that `BROWSER` names, otherwise with the system's default browser.
///
/// # Errors
/// Returns a message if the program cannot be started.
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
    // The browser is not waited for, because it may stay open longer than this program.
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "cannot open pages with {program}: {}; set BROWSER, or open the addresses by hand",
            prep_app::for_people(&error.to_string())
        )),
    }
}
