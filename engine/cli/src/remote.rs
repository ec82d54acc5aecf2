//! Sets up the remote from options, variables and `prep.toml`.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use prep_fetch::{FetchError, NetworkVariables, Proxy};
use prep_remote::{
    Address, CloudCredentials, KeyError, Link, LinkWarning, Remote, RemoteError, SigningKey,
    TrustedSigner,
};

use crate::error::CliError;
use crate::prep_toml::{ConfigFiles, TrustedKey};
use crate::remedy;
use crate::session::{CliSession, Directories};

/// Heading of the options of [`RemoteArgs`] in the help.
/// Each option states this heading. If the struct stated the heading, clap would also apply it to all later options.
const HEADING: &str = "Remote";

/// The origin of the address if the option sets it.
const OPTION: &str = "--remote";

/// The server of a cloud, whose proxy is that of all requests with TLS.
const CLOUD: &str = "https://s3.amazonaws.com";

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

/// The settings of the remote. Each value has its origin: an option, a variable, or the path of a file.
#[derive(Debug, Default, Clone)]
pub struct RemoteSettings {
    pub url: Option<(String, String)>,
    pub key: Option<(String, String)>,
    pub trusted: Vec<(TrustedKey, String)>,
    pub same_as: Vec<(String, String)>,
    pub mirror: Option<(bool, String)>,
    pub endpoint: Option<(String, String)>,
    pub region: Option<(String, String)>,
}

impl RemoteSettings {
    /// Collects the settings of the remote. Precedence: options, variables, files. For settings that are lists, joins the
    /// lists of all files.
    pub fn resolve(
        args: &RemoteArgs,
        places: &Directories,
        data_dir: &Path,
    ) -> Result<RemoteSettings, CliError> {
        let files = ConfigFiles::read(places, Some(data_dir))?;
        let option = args.remote.clone().map(|url| (url, OPTION.to_owned()));
        let variable = || Some((places.text("PREP_REMOTE")?, "PREP_REMOTE".to_owned()));
        let url = option
            .or_else(variable)
            .or_else(|| files.first("remote.url", |file| file.remote.url.clone()));
        Ok(RemoteSettings {
            url: url.filter(|_| !args.no_remote),
            key: files.first("remote.key", |file| file.remote.key.clone()),
            trusted: files.all("remote.trusted", |file| &file.remote.trusted),
            same_as: files.all("remote.same_as", |file| &file.remote.same_as),
            mirror: files.first("remote.mirror", |file| file.remote.mirror),
            endpoint: files.first("remote.endpoint", |file| file.remote.endpoint.clone()),
            region: files.first("remote.region", |file| file.remote.region.clone()),
        })
    }

    pub fn has_mirror(&self) -> bool {
        self.mirror.as_ref().is_some_and(|(mirror, _)| *mirror)
    }

    /// Returns the proxy of the remote's server, if there is one.
    pub fn proxy(&self, places: &Directories) -> Result<Option<Proxy>, FetchError> {
        let url = self.url.as_ref().map_or("file:", |(url, _)| url);
        let variables = self.variables(places);
        let value = |name| Some(variables.iter().find(|(set, _)| set == name)?.1.as_str());
        let endpoint = value("AWS_ENDPOINT_URL_S3").or_else(|| value("AWS_ENDPOINT_URL"));
        places.proxies().find(match url.split(':').next() {
            Some("s3") => endpoint.unwrap_or(CLOUD),
            Some("gs" | "az" | "azure") => CLOUD,
            _ => url,
        })
    }

    /// Returns the variables of cloud stores, including the settings that replace them.
    fn variables(&self, places: &Directories) -> Vec<(String, String)> {
        let mut variables = places.cloud();
        for (name, setting) in [
            ("AWS_ENDPOINT_URL", &self.endpoint),
            ("AWS_REGION", &self.region),
        ] {
            let is_set = variables.iter().any(|(set, _)| set == name);
            if let Some((value, _)) = setting.as_ref().filter(|_| !is_set) {
                variables.push((name.to_owned(), value.clone()));
            }
        }
        variables
    }

    /// Returns the key that signs results: the configured key, or the only existing key if no key is configured. Several
    /// keys without a configured one are an error.
    pub fn signing(&self, places: &Directories) -> Result<Option<SigningKey>, KeyError> {
        let Some(directory) = places.keys() else {
            return Ok(None);
        };
        match &self.key {
            Some((name, _)) => SigningKey::load(&directory, name).map(Some),
            None => SigningKey::only(&directory),
        }
    }
}

/// Parses an address of a remote. The error names its origin.
pub fn address((url, origin): &(String, String)) -> Result<Address, CliError> {
    Address::parse(url).map_err(|error| set_in(error, origin))
}

/// Adds the origin of an address to an error about it, unless the origin is an option.
fn set_in(error: RemoteError, origin: &str) -> CliError {
    let mut error = CliError::from(error);
    if origin != OPTION {
        error.message.push_str(&format!(" (set in {origin})"));
    }
    error
}

impl CliSession {
    /// Returns the session with the configured remote, if a remote is configured. A key that cannot be used is only an error
    /// if something must be sent.
    pub fn linked(&self, args: &RemoteArgs) -> Result<CliSession, CliError> {
        let settings = RemoteSettings::resolve(args, &self.places, &self.settings.data_dir)?;
        let Some(setting @ (url, by)) = &settings.url else {
            return Ok(self.clone());
        };
        let trusted = settings.trusted.iter().map(|(key, _)| key.parse());
        let trusted: Vec<TrustedSigner> = trusted.collect::<Result<_, _>>()?;
        let same_as = settings.same_as.iter().map(address);
        let same_as: Vec<Address> = same_as.collect::<Result<_, _>>()?;
        let address = address(setting)?;
        let variables = match url.starts_with("file:") {
            true => NetworkVariables::default(),
            false => self.places.network_variables()?,
        };
        let key = settings.signing(&self.places);
        let credentials = CloudCredentials::new(settings.variables(&self.places));
        let remote = Remote::open(&address, &credentials, variables, key, &trusted);
        let remote = remote.map_err(|error| set_in(error, by))?;
        // Does not repeat an address from the command line.
        if args.remote.is_none() {
            let shown = remote.name();
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
        let link = Link::with_remote(remote.same_as(&same_as), settings.has_mirror(), warn)?;
        session.settings.remote = Some(link);
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
            site_dirs: Vec::new(),
            home: None,
            current_dir: None,
            origins: Vec::new(),
        }
    }

    #[test]
    fn options_have_precedence_and_trusted_keys_are_joined() {
        let (user, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [a, b] =
            ["a", "b"].map(|name| SigningKey::generate(name).unwrap().public().to_string());
        let write = |dir: &tempfile::TempDir, text: &str| {
            std::fs::write(dir.path().join(FILE), text).unwrap();
        };
        write(
            &user,
            &format!("[remote]\nurl = 's3://user'\ntrusted = ['{a}']\nkey = 'k'\nmirror = true\n"),
        );
        write(
            &data,
            &format!("[remote]\nurl = 's3://data'\ntrusted = ['{b}']\nmirror = false\n"),
        );
        let of = |args: &RemoteArgs, places: &Directories| {
            RemoteSettings::resolve(args, places, data.path()).unwrap()
        };
        let plain = Directories {
            variable: |_| None,
            ..places(user.path())
        };
        let settings = of(&RemoteArgs::default(), &plain);
        assert!(!settings.has_mirror());
        assert_eq!(settings.url.unwrap().0, "s3://data");
        assert_eq!(settings.key.unwrap().0, "k");
        let trusted: Vec<String> = settings
            .trusted
            .into_iter()
            .map(|(trusted, _)| trusted.key)
            .collect();
        assert_eq!(trusted, [b, a]);
        let settings = of(&RemoteArgs::default(), &places(user.path()));
        assert_eq!(settings.url.unwrap().1, "PREP_REMOTE");
        let named = RemoteArgs {
            remote: Some("s3://option".into()),
            no_remote: false,
        };
        assert_eq!(of(&named, &places(user.path())).url.unwrap().1, "--remote");
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
