//! The directories and variables of this process.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where settings may be.
#[derive(Debug, Clone)]
pub struct Directories {
    pub variable: fn(&str) -> Option<OsString>,
    /// The directory of the user's `prep.toml` and keys.
    pub config_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub current_dir: Option<PathBuf>,
    /// The names of settings that are not defaults, and where each comes from.
    pub origins: Vec<(&'static str, String)>,
}

impl Directories {
    /// Where a setting comes from: an option, a variable, a file, or `default`.
    pub fn origin(&self, setting: &str) -> &str {
        let mut origins = self.origins.iter();
        let origin = origins.find(|(name, _)| *name == setting);
        origin.map_or("default", |(_, origin)| origin)
    }

    /// A variable that is set and not empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = (self.variable)(name)?.into_string().ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// The directory of keys.
    pub fn keys(&self) -> Option<PathBuf> {
        Some(self.config_dir.as_ref()?.join("keys"))
    }
}
