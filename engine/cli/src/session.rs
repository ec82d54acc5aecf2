//! The data that every verb needs in addition to its options: settings, directories, variables and cloud credentials.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prep_app::{RememberedOptions, Settings};
use prep_fetch::{
    CertificateVariable, CredentialsError, FetchError, FoundCredentials, NetworkVariables, Proxies,
};

use crate::error::{CliError, Exit};
use crate::output::printer::Printer;

#[derive(Debug, Clone)]
pub struct CliSession {
    pub settings: Settings,
    /// The values of preparation options that environment variables and `prep.toml` set.
    pub remembered: RememberedOptions,
    pub is_shared: bool,
    pub kaggle: Kaggle,
    pub places: Directories,
    pub printer: Printer,
    /// The error of a setting, or of a `prep.toml` that `prep` may not read. It ends all verbs except `doctor`.
    pub unusable: Option<CliError>,
    /// Returns clap's definition of the command line.
    pub command: fn() -> clap::Command,
}

impl CliSession {
    /// Returns the directory of signing keys. Without a home directory, this is an error.
    pub fn keys(&self) -> Result<PathBuf, CliError> {
        self.places.keys().ok_or_else(|| {
            CliError::usage("keys are stored in the home directory, but no home directory is set")
                .help("set XDG_CONFIG_HOME to a directory")
        })
    }
}

/// An exit code, or the error that ended the verb.
pub type VerbResult = Result<Exit, CliError>;

/// The directories and environment variables from which settings and credentials are read.
#[derive(Debug, Clone)]
pub struct Directories {
    pub variable: fn(&str) -> Option<OsString>,
    /// The directory of the user's `prep.toml` and keys.
    pub config_dir: Option<PathBuf>,
    /// The directories of settings for all users of this machine.
    pub site_dirs: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    pub current_dir: Option<PathBuf>,
    /// Settings that are not defaults, each with its origin.
    pub origins: Vec<(&'static str, String)>,
}

impl Directories {
    /// Returns the origin of a setting: `option`, the name of a variable, the path of a file, or `default`.
    pub fn origin(&self, setting: &str) -> &str {
        let mut origins = self.origins.iter();
        let origin = origins.find(|(name, _)| *name == setting);
        origin.map_or("default", |(_, origin)| origin)
    }

    /// Returns the value of a variable. An empty variable is treated as unset.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = (self.variable)(name)?.into_string().ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// Returns the proxies that the environment names.
    pub fn proxies(&self) -> Proxies {
        Proxies::from_variables(|name| self.text(name))
    }

    /// Returns the variable that replaces the certificates of the system.
    pub fn certificates(&self) -> Option<CertificateVariable> {
        CertificateVariable::find(|name| self.text(name))
    }

    /// Same as [`certificates`](Self::certificates), but certificates that cannot be used are an error.
    pub fn usable_certificates(&self) -> Result<Option<CertificateVariable>, FetchError> {
        let found = self.certificates();
        found.as_ref().map_or(Ok(()), CertificateVariable::check)?;
        Ok(found)
    }

    /// Returns the proxies and the certificates. Certificates that cannot be used are an error.
    pub fn network_variables(&self) -> Result<NetworkVariables, FetchError> {
        Ok(NetworkVariables {
            proxies: Some(self.proxies()),
            certificates: self.usable_certificates()?,
        })
    }

    /// Returns the directory of signing keys. Returns `None` if the user has no configuration directory.
    pub fn keys(&self) -> Option<PathBuf> {
        Some(self.config_dir.as_ref()?.join("keys"))
    }
}

/// Returns a text if `dir`, the value of a setting with this origin, is not a directory. A default may be missing.
pub fn not_a_directory(dir: Option<&Path>, origin: &str) -> Option<String> {
    let dir = dir.filter(|dir| origin != "default" && !dir.is_dir())?;
    Some(format!("{} ({origin}) is not a directory", dir.display()))
}

/// The address of Kaggle's API, and the places of Kaggle's credentials.
#[derive(Debug, Clone)]
pub struct Kaggle {
    pub endpoint: String,
    pub variable: fn(&str) -> Option<OsString>,
    pub home: Option<PathBuf>,
    pub config_dirs: Vec<PathBuf>,
}

impl Kaggle {
    /// Searches environment variables and files. Returns the first usable credentials.
    pub fn credentials(&self) -> Result<FoundCredentials, CredentialsError> {
        let variable = |name: &str| (self.variable)(name)?.into_string().ok();
        prep_fetch::find_credentials(&prep_fetch::CredentialVariables {
            variable: &variable,
            home: self.home.as_deref(),
            config_dirs: &self.config_dirs,
        })
    }
}

/// Variables from which the clouds' own tools read credentials.
const CREDENTIAL_VARIABLES: [&str; 33] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT",
    "AWS_ALLOW_HTTP",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "AWS_SKIP_SIGNATURE",
    "AWS_REQUEST_PAYER",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_SKIP_SIGNATURE",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_USE_AZURE_CLI",
];

impl Directories {
    /// Reads cloud credentials from environment variables. If `AWS_ACCESS_KEY_ID` is not set, also reads the credentials
    /// file of Amazon's tools.
    pub fn cloud(&self) -> Vec<(String, String)> {
        let set = |name: &&str| Some(((*name).to_owned(), self.text(name)?));
        let mut found: Vec<(String, String)> =
            CREDENTIAL_VARIABLES.iter().filter_map(set).collect();
        if !found.iter().any(|(name, _)| name == "AWS_ACCESS_KEY_ID") {
            found.extend(self.aws_profile());
        }
        found
    }

    /// Reads the profile that Amazon's tools would use.
    fn aws_profile(&self) -> Vec<(String, String)> {
        let usual = || Some(self.home.as_ref()?.join(".aws/credentials"));
        let named = self.text("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let text = named
            .or_else(usual)
            .and_then(|path| std::fs::read_to_string(path).ok())
            .unwrap_or_default();
        let wanted = self.text("AWS_PROFILE");
        let wanted = format!("[{}]", wanted.as_deref().unwrap_or("default"));
        let section = text
            .lines()
            .map(str::trim)
            .skip_while(|line| *line != wanted);
        let section = section.skip(1).take_while(|line| !line.starts_with('['));
        let pairs = section.filter_map(|line| line.split_once('='));
        let pairs =
            pairs.map(|(name, value)| (name.trim().to_ascii_uppercase(), value.trim().to_owned()));
        let is_known = |name: &str| {
            [
                "AWS_ACCESS_KEY_ID",
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
            ]
            .contains(&name)
        };
        pairs.filter(|(name, _)| is_known(name)).collect()
    }
}
