//! The context that a verb gets in addition to its own options.

use prep_app::{RememberedOptions, Settings};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;
use crate::places::{Directories, Kaggle};

/// The context of every verb.
#[derive(Debug, Clone)]
pub struct CliSession {
    pub settings: Settings,
    /// The options of preparations that the settings set.
    pub remembered: RememberedOptions,
    pub kaggle: Kaggle,
    pub places: Directories,
    pub printer: Printer,
    /// Returns clap's definition of the command line.
    pub command: fn() -> clap::Command,
}

/// The result of a verb: an exit code, or the error that ended the verb.
pub type VerbResult = Result<Exit, CliError>;
