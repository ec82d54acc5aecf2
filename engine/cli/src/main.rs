//! `prep`: prepares and grades the competitions of MLE-bench.
//!
//! ```text
//! args        parses the command line, and reports mistakes in it
//! verbs/      defines each verb: its options, its help and its output
//! global      defines the options of all verbs
//! forms       states in which forms of a verb each option applies
//! options     defines options that several verbs share
//! select      selects competitions by id and by set
//! settings    resolves directories and limits from options, variables and files
//! prep_toml   reads the configuration files
//! session     holds the settings and the environment for a verb
//! request     plans and prepares competitions for several verbs
//! remote      resolves the settings of the remote
//! runs        lists the runs in directories of runs for `prep grade`
//! completion  finds the values that shells complete
//! output/     prints results, progress and tables
//! error       defines the error of a failed verb, and the exit codes
//! remedy      expresses suggested actions as verbs and options of the command line
//! process     sets up the allocator, and handles signals and exhausted resources
//! ```
//!
//! This crate parses the command line, prints results, and ends with an exit code.
//! The library `prep-app` and the libraries that it uses plan, prepare and grade.

mod args;
mod completion;
mod error;
mod experiments;
mod forms;
mod global;
mod options;
mod prep_toml;
mod process;
mod remedy;
mod remote;
mod request;
mod runs;
mod select;
mod session;
mod settings;
mod verbs;

mod output {

    pub mod grading;
    pub mod plan;
    pub mod printer;
    pub mod progress;
    pub mod summary;
    pub mod table;
}

use std::process::ExitCode;

use crate::error::{CliError, Exit};
use crate::output::printer::Printer;
use crate::session::CliSession;
use crate::settings::Environment;
use crate::verbs::Verb;

/// Stack of the thread that runs the verb, in bytes. Queries are processed recursively, so a valid query can need more
/// stack than the main thread has.
const STACK_BYTES: usize = 64 << 20;

#[global_allocator]
static ALLOCATOR: process::Allocator = process::Allocator;

fn main() -> ExitCode {
    process::set_up_allocator();
    process::set_up();
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(prep);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // The panic hook has already printed a message.
        Ok(Err(_)) => ExitCode::from(Exit::Defect),
        // The system can start no thread, so the main thread runs the verb.
        Err(_) => prep(),
    }
}

/// Parses the command line, runs the verb, and returns the exit code.
fn prep() -> ExitCode {
    completion::answer();
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(exit) => return ExitCode::from(exit),
    };
    // Completions need no settings, so a mistake in the settings does not prevent them.
    let environment = match &cli.verb {
        Verb::Completions(_) => Environment::without_settings(),
        _ => Environment::of_process(),
    };
    let resolve = |environment| CliSession::resolve(&cli.global, environment, args::command);
    let mut resolved = resolve(&environment);
    if let (Verb::Doctor(_), Err(error)) = (&cli.verb, &resolved)
        && let Ok((mut session, warnings)) = resolve(&Environment::without_settings())
    {
        let mut error = error.clone();
        error
            .message
            .push_str(" (the other checks use default settings)");
        session.unusable = Some(error);
        resolved = Ok((session, warnings));
    }
    let (printer, ended) = match resolved {
        Ok((session, warnings)) => {
            if session.is_shared {
                settings::share_with_group();
            }
            session.printer.warnings(&warnings);
            let ended = match &session.unusable {
                Some(error) if !matches!(cli.verb, Verb::Doctor(_)) => Err(error.clone()),
                _ => cli.verb.call(&session),
            };
            (session.printer.clone(), ended)
        }
        Err(error) => (Printer::new(&cli.global, cli.global.color), Err(error)),
    };
    let exit = ended.unwrap_or_else(|error: CliError| {
        printer.end(&error);
        error.exit
    });
    ExitCode::from(exit)
}
