//! The context that a verb gets in addition to its own options.

use std::path::PathBuf;

use prep_app::{LinkMode, Settings};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;
use crate::places::{Directories, Kaggle};

/// The context of every verb.
#[derive(Debug, Clone)]
pub struct CliSession {
    pub settings: Settings,
    /// Directory of bundles from the settings.
    pub source: Option<PathBuf>,
    /// How published files share bytes with the cache. `None` if it is not set.
    pub link_mode: Option<LinkMode>,
    /// Directory of descriptions from the settings.
    pub descriptions: Option<PathBuf>,
    pub kaggle: Kaggle,
    pub places: Directories,
    pub printer: Printer,
    /// Returns clap's definition of the command line.
    pub command: fn() -> clap::Command,
}

/// The result of a verb: an exit code, or the error that ended the verb.
pub type VerbResult = Result<Exit, CliError>;
