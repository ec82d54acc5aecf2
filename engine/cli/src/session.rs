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
    pub verification: VerificationSettings,
    pub kaggle: Kaggle,
    pub places: Directories,
    pub printer: Printer,
    /// Returns clap's definition of the command line.
    pub command: fn() -> clap::Command,
}

/// Which published checksums are compared, from the settings. `None` if it is not set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerificationSettings {
    /// Whether neither bundles nor outputs are compared.
    pub skip: Option<bool>,
    /// Whether bundles are not compared.
    pub skip_bundle: Option<bool>,
}

/// The result of a verb: an exit code, or the error that ended the verb.
pub type VerbResult = Result<Exit, CliError>;
