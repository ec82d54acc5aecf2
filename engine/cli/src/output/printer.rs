//! Prints results to stdout, and messages to stderr above a progress display.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, fs, io};

use anstyle::{AnsiColor, Style};
use parking_lot::Mutex;
use prep_app::{Error, Note};
use prep_core::units;
use prep_spec::{Diagnostics, shortened};
use serde::Serialize;
use serde_json::Value;
use terminal_size::{Width, terminal_size_of};

use crate::error::{CliError, Exit, MAX_MESSAGE};
use crate::global::{Color, Global};
use crate::output::table::{self, PrintedTable};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default();

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageLevel {
    /// stderr contains only errors and warnings. Warnings stay because they can be about security. stdout still contains
    /// the results.
    Quiet,
    Normal,
    Verbose,
}

/// Replaces control characters except line breaks and tabs with escapes such as `\u{1b}`.
/// Without this replacement, an untrusted file name, column name or cell could control the terminal.
pub fn printable(text: impl Display) -> String {
    let text = text.to_string();
    let harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(harmful) {
        return text;
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match harmful(c) {
            true => clean.extend(c.escape_unicode()),
            false => clean.push(c),
        }
    }
    clean
}

/// At most this number of errors is printed, and at most this number of warnings. Further errors and warnings are only
/// counted.
const MAX_LISTED: usize = 50;

/// Returns a message about the errors, warnings or files beyond the first `max`. `unit` is for example `further error`.
pub fn more_than(max: usize, count: usize, unit: &str) -> Option<String> {
    let more = count.checked_sub(max).filter(|more| *more > 0)?;
    Some(format!("{} not shown", units::count(more, unit)))
}

fn message_text(text: impl Display) -> String {
    shortened(&printable(text), MAX_MESSAGE)
}

/// Prints results and messages. anstream removes the colours unless the output is a terminal.
#[derive(Debug, Clone)]
pub struct Printer {
    pub level: MessageLevel,
    pub json: bool,
    pub aside: Aside,
    /// Time between two lines about progress.
    pub line_interval: Duration,
    /// Whether a result was printed. Clones share this value.
    has_result: Arc<AtomicBool>,
}

impl Printer {
    pub fn new(global: &Global, color: Color) -> Printer {
        match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
        let level = match (global.quiet, global.verbose) {
            (true, _) => MessageLevel::Quiet,
            (_, true) => MessageLevel::Verbose,
            _ => MessageLevel::Normal,
        };
        Printer {
            level,
            json: global.json,
            aside: Aside::default(),
            line_interval: Duration::from_secs(10),
            has_result: Arc::default(),
        }
    }

    /// Prints a result as text. Escapes control characters on a terminal.
    pub fn result(&self, text: &str) -> Result<(), CliError> {
        let text = match std::io::stdout().is_terminal() {
            true => printable(text),
            false => text.to_owned(),
        };
        self.has_result.store(true, Ordering::Relaxed);
        let mut out = anstream::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                let exit = Exit::Machine;
                Err(CliError::new(
                    exit,
                    format!("cannot write to stdout: {error}"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Prints a table. On a terminal, omits or shortens columns that do not fit into its width.
    pub fn table(&self, table: &PrintedTable) -> Result<(), CliError> {
        self.result(&match terminal_size_of(std::io::stdout()) {
            Some((Width(width), _)) => table.format_within(width.into()),
            None => table.render(),
        })
    }

    pub fn json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value).map_err(|error| {
            CliError::new(
                Exit::Defect,
                format!("cannot write the result as JSON: {error}"),
            )
        })?;
        self.result(&(text + "\n"))
    }

    /// Prints a result, as JSON if the user requests JSON.
    pub fn show(
        &self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        match self.json {
            true => self.json(&json()),
            false => self.result(&text()),
        }
    }

    /// Prints on stderr the error that ended a verb.
    /// With `--json`, also prints the error as JSON on stdout, unless a result was already printed there.
    pub fn end(&self, error: &CliError) {
        self.error(error);
        if self.json && !self.has_result.load(Ordering::Relaxed) {
            // Ignores errors, because stderr already shows the error, and stdout may be closed.
            let _ = self.json(&serde_json::json!({ "error": error.json() }));
        }
    }

    pub fn message(&self, message: impl Display) {
        self.print(
            MessageLevel::Normal,
            &format!("{}\n", message_text(message)),
        );
    }

    /// Prints a message on stderr, above the progress display if it exists.
    pub fn message_aside(&self, message: impl Display) {
        let message = message.to_string();
        if self.level >= MessageLevel::Normal && !self.aside.show(&message) {
            self.message(message);
        }
    }

    pub fn note(&self, note: &Note<'_>) {
        match note.is_warning() {
            true => self.warning(note),
            false => self.message(note),
        }
    }

    /// Prints a warning, even with `--quiet`.
    pub fn warning(&self, message: impl Display) {
        self.print(
            MessageLevel::Quiet,
            &format!("{WARNING}warning:{WARNING:#} {}\n", message_text(message)),
        );
    }

    pub fn pipeline_warnings(&self, warnings: &Diagnostics) {
        self.print(MessageLevel::Quiet, &table::render(warnings));
    }

    /// Prints an error with its help, or the mistakes in a pipeline.
    pub fn error(&self, error: &CliError) {
        let text = match &error.diagnostics {
            Some(found) => table::render(found),
            // The user stopped the program, which is not an error.
            None if error.exit == Exit::Interrupted => {
                format!("{}\n", message_text(&error.message))
            }
            None => format!("{ERROR}error:{ERROR:#} {}\n", message_text(&error.message)),
        };
        self.print(MessageLevel::Quiet, &text);
        if let Some(help) = error.action() {
            self.print(
                MessageLevel::Quiet,
                &format!("  {HELP}help:{HELP:#} {}\n", message_text(help)),
            );
        }
    }

    /// Prints the first errors, and the number of the others.
    pub fn errors(&self, errors: &[CliError]) {
        for error in errors.iter().take(MAX_LISTED) {
            self.error(error);
        }
        if let Some(more) = more_than(MAX_LISTED, errors.len(), "further error") {
            self.print(
                MessageLevel::Quiet,
                &format!("{ERROR}error:{ERROR:#} {more}\n"),
            );
        }
    }

    /// Prints the first warnings, and the number of the others.
    pub fn warnings(&self, warnings: &[String]) {
        for warning in warnings.iter().take(MAX_LISTED) {
            self.warning(warning);
        }
        if let Some(more) = more_than(MAX_LISTED, warnings.len(), "further warning") {
            self.warning(more);
        }
    }

    fn print(&self, level: MessageLevel, text: &str) {
        if level <= self.level {
            // If stderr is closed, nothing can show the error.
            let _ = anstream::stderr().lock().write_all(text.as_bytes());
        }
    }
}

pub type Notice = Box<dyn Fn(&str) + Send + Sync>;

/// The function that shows a line above the current display on stderr. `None` if no display exists. Clones share the
/// function.
#[derive(Clone, Default)]
pub struct Aside(Arc<Mutex<Option<Notice>>>);

impl Aside {
    /// Sets the function that shows lines. With `None`, lines go directly to stderr.
    pub fn set(&self, notice: Option<Notice>) {
        *self.0.lock() = notice;
    }

    /// Shows a line above the display. Returns `false` without a display.
    pub fn show(&self, text: &str) -> bool {
        let notice = self.0.lock();
        notice.as_ref().map(|notice| notice(text)).is_some()
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Aside").finish_non_exhaustive()
    }
}

/// Replaces a file by renaming a temporary file, so that readers see either the old or the complete new content.
/// Writes directly to pipes and devices.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    // Keeps a symbolic link, and replaces its target.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_direct = fs::metadata(&path).is_ok_and(|found| !found.is_file());
    let temporary = if is_direct {
        path.clone()
    } else {
        temporary_path(&path)
    };
    let written = File::create(&temporary).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    let written = match written {
        Ok(()) if !is_direct => fs::rename(&temporary, &path),
        other => other,
    };
    written.map_err(|error| {
        if !is_direct {
            // Ignores errors, because the temporary file may not exist, and the function returns the error of the write.
            let _ = fs::remove_file(&temporary);
        }
        Error::writing("write", &path, &error)
    })
}

/// Checks that [`write_atomically`] can write `path`, by creating and removing its temporary file.
///
/// # Errors
/// Returns the error that the write would return.
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = temporary_path(&path);
    let written = match path.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false if path.exists() && !path.is_file() => Ok(()),
        false => File::create(&temporary).and_then(|_| fs::remove_file(&temporary)),
    };
    written.map_err(|error| Error::writing("write", &path, &error))
}

fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// A thread that calls a function at regular intervals. Dropping the `Ticker` stops the thread.
pub struct Ticker {
    /// The thread ends when this sender is dropped.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `tick` after each interval, or never if the system can start no thread.
    pub fn start(interval: Duration, mut tick: impl FnMut() + Send + 'static) -> Ticker {
        let (running, stopped) = channel();
        let work = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        Ticker {
            running: Some(running),
            thread: std::thread::Builder::new().spawn(work).ok(),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        let read = || fs::read_to_string(&path).unwrap();
        write_atomically(&path, |out| out.write_all(b"one")).unwrap();
        let full = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = write_atomically(&path, full).unwrap_err();
        assert!(error.message.contains("a.txt"), "{error}");
        assert_eq!(read(), "one");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_atomically(&link, |out| out.write_all(b"two")).unwrap();
        assert_eq!(read(), "two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        write_atomically(Path::new("/dev/null"), |out| out.write_all(b"x")).unwrap();
        write_atomically(&dir.path().join("no/where"), |out| out.write_all(b"x")).unwrap_err();
    }
}
