//! `prep`: prepares and grades the competitions of MLE-bench.
//!
//! ```text
//! args      the command line as a whole         usage     what it says when it is misused     verbs/    one file per verb: its options and what it shows
//! options   how competitions are prepared       select    which ones are meant     downloads   limits, credentials
//! settings  folders and limits, from options, variables and the machine
//! output/   what the user sees: printer, progress, tables, reasons, diagnostics, drawings
//! remote    a store that many machines share: options, variables, prep.toml
//! samples   small bundles for a first look      exit, error, interrupt   how it ends
//! allocator what the process does with freed memory        exhausted   when the system has no more threads or memory
//! ```
//!
//! Everything that plans, prepares or grades is in the library `prep-app` and those below it. This crate parses what is
//! asked for, shows what came back, and ends with a code.

mod allocator;
mod args;
mod downloads;
mod error;
mod exhausted;
mod exit;
mod interrupt;
mod options;
mod output;
mod prep_toml;
mod remote;
mod samples;
mod select;
mod settings;
mod usage;
mod verbs;

use std::process::ExitCode;

use prep_app::Settings;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;
use crate::settings::{Kaggle, Places, Resolved, Surroundings};

/// Queries are walked by recursion, and those within the language's limits need more than a main thread has.
const STACK: usize = 64 << 20;

#[global_allocator]
static ALLOCATOR: exhausted::Allocator = exhausted::Allocator;

fn main() -> ExitCode {
    allocator::set_up();
    exhausted::set_up();
    let own = std::thread::Builder::new().stack_size(STACK).spawn(prep);
    match own.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // The panic has been reported.
        Ok(Err(_)) => ExitCode::from(Exit::Failed),
        // No thread to be had: this one does.
        Err(_) => prep(),
    }
}

fn prep() -> ExitCode {
    let cli = usage::parse();
    let resolved = Resolved::resolve(&cli.global, &Surroundings::of_process());
    let color = resolved.as_ref().map_or(cli.global.color, |one| one.color);
    let printer = Printer::new(&cli.global, color);
    let ended = resolved.and_then(|resolved| {
        if let Some(warning) = &resolved.warning {
            printer.warning(warning);
        }
        let session = Session {
            settings: resolved.settings,
            kaggle: resolved.kaggle,
            places: resolved.places,
            printer: printer.clone(),
        };
        verbs::call(cli.verb, &session)
    });
    let exit = ended.unwrap_or_else(|error: CliError| {
        printer.error(&error);
        error.exit
    });
    ExitCode::from(exit)
}

/// What every verb gets.
#[derive(Debug, Clone)]
pub struct Session {
    pub settings: Settings,
    pub kaggle: Kaggle,
    pub places: Places,
    pub printer: Printer,
}

/// How a verb ends: an exit code, or the error that ended it.
pub type Ended = Result<Exit, CliError>;
