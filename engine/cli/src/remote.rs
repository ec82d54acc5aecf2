//! Sets up the remote from options, variables and `prep.toml`.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use prep_remote::{
    Address, CloudCredentials, Link, LinkConfig, LinkWarning, SigningKey, TrustedSigner,
};

use crate::error::CliError;
use crate::prep_toml::{ConfigFile, ConfigFiles, TrustedKey};
use crate::remedy;
use crate::session::{CliSession, Directories};

/// Heading of these options in the help. A heading of the struct would also apply to the options after it.
const HEADING: &str = "Remote";

/// Options that choose the remote.
#[derive(Debug, Default, Clone, Args)]
pub struct RemoteArgs {
    /// Cache that machines share, such as s3://BUCKET/PREFIX [env: PREP_REMOTE]
    ///
    /// Other addresses begin with gs://, az:// or file:///DIR, or with https:// for reading only. Before a step runs,
    /// prep searches the remote for its result. After the step, prep sends the result if you have a signing key.
    #[arg(long, value_name = "URL", help_heading = HEADING)]
    pub remote: Option<String>,
    /// Use no remote, even if prep.toml names one
    #[arg(long, conflicts_with = "remote", help_heading = HEADING)]
    pub no_remote: bool,
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSetting<T> {
    pub value: T,
    pub origin: String,
}

/// All settings of the remote.
#[derive(Debug, Default, Clone)]
pub struct RemoteSettings {
    pub url: Option<RemoteSetting<String>>,
    pub key: Option<RemoteSetting<String>>,
    pub trusted: Vec<RemoteSetting<TrustedKey>>,
    pub same_as: Vec<RemoteSetting<String>>,
    pub mirror: Option<RemoteSetting<bool>>,
    pub endpoint: Option<RemoteSetting<String>>,
    pub region: Option<RemoteSetting<String>>,
}

impl RemoteSettings {
    /// Collects the settings of the remote. Options have precedence over variables, and variables over files. Lists
    /// from all files are joined.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, has an unknown key, or could have been written by another user.
    pub fn resolve(
        args: &RemoteArgs,
        places: &Directories,
        data_dir: &Path,
    ) -> Result<RemoteSettings, CliError> {
        let mut settings = RemoteSettings::default();
        let setting = |value: &String, by: &str| RemoteSetting {
            value: value.clone(),
            origin: by.to_owned(),
        };
        if let Some(url) = &args.remote {
            settings.url = Some(setting(url, "--remote"));
        } else if let Some(url) = places.text("PREP_REMOTE") {
            settings.url = Some(setting(&url, "PREP_REMOTE"));
        }
        for (path, ConfigFile { remote: from, .. }) in
            ConfigFiles::read(places, Some(data_dir))?.found
        {
            let by = path.display().to_string();
            let or = |now: &mut Option<RemoteSetting<String>>, new: &Option<String>| {
                if now.is_none() {
                    *now = new.as_ref().map(|value| setting(value, &by));
                }
            };
            or(&mut settings.url, &from.url);
            or(&mut settings.key, &from.key);
            or(&mut settings.endpoint, &from.endpoint);
            or(&mut settings.region, &from.region);
            if settings.mirror.is_none() {
                let by = by.clone();
                settings.mirror = from.mirror.map(|value| RemoteSetting { value, origin: by });
            }
            let trusted = from.trusted.into_iter();
            settings.trusted.extend(trusted.map(|value| RemoteSetting {
                value,
                origin: by.clone(),
            }));
            let same_as = from.same_as.iter();
            settings
                .same_as
                .extend(same_as.map(|value| setting(value, &by)));
        }
        if args.no_remote {
            settings.url = None;
        }
        Ok(settings)
    }

    fn credentials(&self, places: &Directories) -> CloudCredentials {
        let mut variables = places.cloud();
        let mut or = |name: &str, value: &Option<RemoteSetting<String>>| {
            let is_set = variables.iter().any(|(set, _)| set == name);
            if let Some(value) = value.as_ref().filter(|_| !is_set) {
                variables.push((name.to_owned(), value.value.clone()));
            }
        };
        or("AWS_ENDPOINT_URL", &self.endpoint);
        or("AWS_REGION", &self.region);
        CloudCredentials::new(variables)
    }

    /// Returns the key that signs results: the configured key, otherwise the key in the directory of keys if it is the
    /// only one.
    ///
    /// # Errors
    /// Returns an error if the configured key cannot be used.
    pub fn signing(&self, places: &Directories) -> Result<Option<SigningKey>, CliError> {
        let Some(directory) = places.keys() else {
            return Ok(None);
        };
        match &self.key {
            Some(name) => Ok(Some(SigningKey::load(&directory, &name.value)?)),
            None => {
                let mut keys: Vec<SigningKey> =
                    SigningKey::all(&directory).into_iter().flatten().collect();
                Ok(keys.pop().filter(|_| keys.is_empty()))
            }
        }
    }
}

impl CliSession {
    /// Returns the session with the configured remote, if there is one.
    ///
    /// # Errors
    /// Returns an error if the address or a key of the remote is invalid.
    pub fn linked(&self, args: &RemoteArgs) -> Result<CliSession, CliError> {
        let settings = RemoteSettings::resolve(args, &self.places, &self.settings.data_dir)?;
        let Some(url) = &settings.url else {
            return Ok(self.clone());
        };
        let trusted = settings.trusted.iter().map(|trusted| trusted.value.parse());
        let trusted: Vec<TrustedSigner> = trusted.collect::<Result<_, _>>()?;
        let same_as = settings.same_as.iter();
        let same_as = same_as.map(|one| Address::parse(&one.value));
        let config = LinkConfig {
            address: Address::parse(&url.value)?,
            credentials: settings.credentials(&self.places),
            key: settings.signing(&self.places)?,
            trusted,
            same_as: same_as.collect::<Result<_, _>>()?,
            mirror: settings.mirror.as_ref().is_some_and(|mirror| mirror.value),
        };
        // If the remote is an option of the command line, it is not printed.
        if args.remote.is_none() {
            let (shown, by) = (config.address.without_secrets(), &url.origin);
            self.printer
                .message(format!("remote: {shown} (set in {by})"));
        }
        let printer = self.printer.clone();
        let warn = Arc::new(move |warning: &LinkWarning| {
            let help = warning.remedies.iter().filter_map(remedy::words);
            let parts: Vec<String> = std::iter::once(warning.message.clone())
                .chain(help)
                .collect();
            printer.warning(parts.join("; "));
        });
        let mut session = self.clone();
        session.settings.remote = Some(Link::new(config, warn)?);
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;
    use crate::prep_toml::FILE;

    fn places(config: &Path) -> Directories {
        Directories {
            variable: |name| (name == "PREP_REMOTE").then(|| "s3://variable".into()),
            config_dir: Some(config.to_owned()),
            home: None,
            current_dir: None,
            origins: Vec::new(),
        }
    }

    #[test]
    fn options_have_precedence_and_trusted_keys_are_joined() {
        let (user, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |dir: &tempfile::TempDir, text: &str| {
            std::fs::write(dir.path().join(FILE), text).unwrap();
        };
        write(
            &user,
            "[remote]\nurl = 's3://user'\ntrusted = ['a']\nkey = 'k'\nmirror = true\n",
        );
        write(
            &data,
            "[remote]\nurl = 's3://data'\ntrusted = ['b']\nmirror = false\n",
        );
        let of = |args: &RemoteArgs, places: &Directories| {
            RemoteSettings::resolve(args, places, data.path()).unwrap()
        };
        let plain = Directories {
            variable: |_| None,
            ..places(user.path())
        };
        let settings = of(&RemoteArgs::default(), &plain);
        assert_eq!(settings.url.unwrap().value, "s3://data");
        assert_eq!(settings.key.unwrap().value, "k");
        assert!(!settings.mirror.unwrap().value);
        let trusted: Vec<String> = settings
            .trusted
            .into_iter()
            .map(|one| one.value.key)
            .collect();
        assert_eq!(trusted, ["b", "a"]);
        let settings = of(&RemoteArgs::default(), &places(user.path()));
        assert_eq!(settings.url.unwrap().origin, "PREP_REMOTE");
        let named = RemoteArgs {
            remote: Some("s3://option".into()),
            no_remote: false,
        };
        assert_eq!(
            of(&named, &places(user.path())).url.unwrap().origin,
            "--remote"
        );
        let none = RemoteArgs {
            remote: None,
            no_remote: true,
        };
        assert!(of(&none, &places(user.path())).url.is_none());
    }

    #[test]
    fn a_mistake_in_a_file_is_reported_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(FILE),
            "[remote]\nurl = 's3://x'\nurls = 1\n",
        )
        .unwrap();
        let places = places(dir.path());
        let error = RemoteSettings::resolve(&RemoteArgs::default(), &places, Path::new("/nowhere"));
        let error = error.unwrap_err();
        assert!(error.message.contains("prep.toml:3"), "{error}");
        assert_eq!(error.exit, Exit::Usage);
    }
}
