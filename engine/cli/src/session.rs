//! Everything that a verb gets besides its own options.

use std::path::{Path, PathBuf};

use prep_app::Settings;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::SourceArg;
use crate::output::printer::Printer;
use crate::places::Places;
use crate::settings::Kaggle;

/// The context of every verb.
#[derive(Debug, Clone)]
pub struct Session {
    pub settings: Settings,
    /// Directory of bundles that a setting names.
    pub source: Option<PathBuf>,
    pub kaggle: Kaggle,
    pub places: Places,
    pub printer: Printer,
}

impl Session {
    /// The directory of bundles: from the option, else from the settings.
    pub fn source_dir<'a>(&'a self, option: &'a SourceArg) -> Option<&'a Path> {
        option.dir().or(self.source.as_deref())
    }
}

/// How a verb ends: an exit code, or the error that ended it.
pub type Ended = Result<Exit, CliError>;
