//! Everything that a verb gets besides its own options.

use std::path::PathBuf;

use prep_app::{LinkMode, Settings};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;
use crate::places::Directories;
use crate::settings::Kaggle;

/// The context of every verb.
#[derive(Debug, Clone)]
pub struct CliSession {
    pub settings: Settings,
    /// Directory of bundles that a setting names.
    pub source: Option<PathBuf>,
    /// How published files share bytes with the cache. `None` without a setting.
    pub link_mode: Option<LinkMode>,
    /// Directory of descriptions that a setting names.
    pub descriptions: Option<PathBuf>,
    pub kaggle: Kaggle,
    pub places: Directories,
    pub printer: Printer,
    /// Describes the command line.
    pub command: fn() -> clap::Command,
}

/// How a verb ends: an exit code, or the error that ended it.
pub type VerbResult = Result<Exit, CliError>;
