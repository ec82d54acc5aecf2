//! Everything that a verb needs besides its own options.

use prep_app::Settings;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;
use crate::places::Places;
use crate::settings::Kaggle;

/// What every verb gets.
#[derive(Debug, Clone)]
pub struct Session {
    pub settings: Settings,
    pub kaggle: Kaggle,
    pub places: Places,
    pub printer: Printer,
    /// Describes the command line as a whole.
    pub command: fn() -> clap::Command,
}

/// How a verb ends: an exit code, or the error that ended it.
pub type Ended = Result<Exit, CliError>;
