//! The user's own directory, and the environment variables of this process.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where the user's own settings are, and what is said in variables.
#[derive(Debug, Clone)]
pub struct Places {
    pub variable: fn(&str) -> Option<OsString>,
    /// The folder of `prep.toml` and keys.
    pub config_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// Settings that an option decides, and those that a variable does, by their names.
    pub options: Vec<&'static str>,
    pub variables: Vec<(&'static str, &'static str)>,
}

impl Places {
    /// What decides a setting.
    pub fn said_by(&self, setting: &str) -> &'static str {
        let mut variables = self.variables.iter();
        let variable = variables.find(|(name, _)| *name == setting);
        match self.options.contains(&setting) {
            true => "option",
            false => variable.map_or("default", |(_, variable)| variable),
        }
    }

    /// A variable that is set and not empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = (self.variable)(name)?.into_string().ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// The folder of keys.
    pub fn keys(&self) -> Option<PathBuf> {
        Some(self.config_dir.as_ref()?.join("keys"))
    }
}
