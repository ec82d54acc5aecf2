//! `prep`: prepares and grades the competitions of MLE-bench.
//!
//! ```text
//! args      the command line           verbs/    one file per verb: its options and its code
//! settings  folders, limits            catalog   which competitions there are    select    which ones are meant
//! samples   small bundles for a first look
//! loading   text -> checked pipeline   assemble  pipelines -> one graph of steps
//! downloads whose credentials, how much   forecast, disk   what they move and take   discard   bundles afterwards
//! printer, progress, table, units, reasons, diff, diagnostics, dot, svg: what the user sees
//! ```
//!
//! Everything that prepares or grades is in the library crates. This one decides what to ask of them and how to say
//! what came back.

mod args;
mod assemble;
mod catalog;
mod diagnostics;
mod diff;
mod discard;
mod disk;
mod downloads;
mod error;
mod exit;
mod forecast;
mod grading;
mod interrupt;
mod layers;
mod loading;
mod prepared;
mod printer;
mod progress;
mod reasons;
mod samples;
mod select;
mod settings;
mod summary;
mod svg;
mod table;
mod units;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::{Settings, Surroundings};

fn main() -> ExitCode {
    // Prints help and usage errors itself, and ends with 0 or 2.
    let cli = Cli::parse();
    let settings = Settings::resolve(&cli.global, &Surroundings::of_process());
    let printer = Printer::new(&cli.global, settings.as_ref().ok());
    let ended = settings.and_then(|settings| {
        verbs::call(
            cli.verb,
            &Session {
                settings,
                printer: printer.clone(),
            },
        )
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
    pub printer: Printer,
}

/// How a verb ends: an exit code, or the error that ended it.
pub type Ended = Result<Exit, CliError>;
