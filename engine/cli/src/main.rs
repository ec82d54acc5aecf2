//! `prep`: prepares and grades the competitions of MLE-bench.
//!
//! ```text
//! args       the entire command line          usage      errors in the command line
//! verbs/     one file per verb: its options and its output
//! session    the context of a verb            request    common parts of planning, preparing and moving
//! global     options of all verbs             options    options that several verbs share
//! select     selection of competitions        values     values of options
//! settings   directories and limits           places, machine    variables, the user's directory, the system
//! remote     the shared remote                prep_toml, cloud   configuration file, credentials of clouds
//! downloads  limits and credentials of downloads
//! output/    printer, progress, tables, diagnostics
//! samples    small bundles for the demo       exit, error, interrupt   the end of the program
//! allocator  reuse of freed memory            exhausted  no more threads or memory
//! ```
//!
//! All code that plans, prepares or grades is in the library `prep-app` and in the libraries that it uses. This crate
//! parses the command line, prints results, and ends with an exit code.

mod allocator;
mod args;
mod cloud;
mod downloads;
mod error;
mod exhausted;
mod exit;
mod global;
mod interrupt;
mod machine;
mod options;
mod places;
mod prep_toml;
mod remedy;
mod remote;
mod request;
mod samples;
mod select;
mod session;
mod settings;
mod usage;
mod values;
mod verbs;

mod output {
    //! Output for the user.

    pub mod audit;
    pub mod browser;
    pub mod diagnostics;
    pub mod experiments;
    pub mod file;
    pub mod grading;
    pub mod moving;
    pub mod plan;
    pub mod printer;
    pub mod progress;
    pub mod summary;
    pub mod table;
    pub mod ticker;
}

use std::process::ExitCode;

use crate::error::CliError;
use crate::exit::Exit;
use crate::machine::Environment;
use crate::output::printer::Printer;
use crate::session::CliSession;

/// Stack of the thread that runs the verb, in bytes. Queries are processed recursively, and a query within the
/// language's limits can need more stack than the main thread has.
const STACK_BYTES: usize = 64 << 20;

#[global_allocator]
static ALLOCATOR: exhausted::Allocator = exhausted::Allocator;

fn main() -> ExitCode {
    allocator::set_up();
    exhausted::set_up();
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(prep);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // The panic hook has printed the message.
        Ok(Err(_)) => ExitCode::from(Exit::Defect),
        // If no thread can be started, the main thread runs the verb.
        Err(_) => prep(),
    }
}

fn prep() -> ExitCode {
    let cli = match usage::parse() {
        Ok(cli) => cli,
        Err(exit) => return ExitCode::from(exit),
    };
    let environment = Environment::of_process();
    let (printer, ended) = match CliSession::resolve(&cli.global, &environment, args::command) {
        Ok((session, warning)) => {
            if let Some(warning) = &warning {
                session.printer.warning(warning);
            }
            (session.printer.clone(), cli.verb.call(&session))
        }
        Err(error) => (Printer::new(&cli.global, cli.global.color), Err(error)),
    };
    let exit = ended.unwrap_or_else(|error: CliError| {
        printer.end(&error);
        error.exit
    });
    ExitCode::from(exit)
}
