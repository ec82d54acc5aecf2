//! The directories and environment variables of this process.

use std::ffi::OsString;
use std::path::PathBuf;

use prep_fetch::{CredentialsError, FoundCredentials};

/// The places from which settings and credentials are read.
#[derive(Debug, Clone)]
pub struct Directories {
    pub variable: fn(&str) -> Option<OsString>,
    /// The directory of the user's `prep.toml` and keys.
    pub config_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub current_dir: Option<PathBuf>,
    /// The names of settings that are not defaults, with the origin of each.
    pub origins: Vec<(&'static str, String)>,
}

impl Directories {
    /// Returns the origin of a setting: an option, a variable, a file, or `default`.
    pub fn origin(&self, setting: &str) -> &str {
        let mut origins = self.origins.iter();
        let origin = origins.find(|(name, _)| *name == setting);
        origin.map_or("default", |(_, origin)| origin)
    }

    /// Returns the value of a variable, if it is set and not empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = (self.variable)(name)?.into_string().ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// Returns the directory of signing keys.
    pub fn keys(&self) -> Option<PathBuf> {
        Some(self.config_dir.as_ref()?.join("keys"))
    }
}

/// The address of Kaggle's API, and where its credentials are searched.
#[derive(Debug, Clone)]
pub struct Kaggle {
    pub endpoint: String,
    pub variable: fn(&str) -> Option<OsString>,
    pub home: Option<PathBuf>,
    pub config_dirs: Vec<PathBuf>,
}

impl Kaggle {
    /// Finds the credentials in variables or files.
    ///
    /// # Errors
    /// Returns an error if there are no credentials, or if the first ones that are found cannot be used.
    pub fn credentials(&self) -> Result<FoundCredentials, CredentialsError> {
        let variable = |name: &str| (self.variable)(name)?.into_string().ok();
        prep_fetch::find_credentials(&prep_fetch::CredentialVariables {
            variable: &variable,
            home: self.home.as_deref(),
            config_dirs: &self.config_dirs,
        })
    }
}
