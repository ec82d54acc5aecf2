//! The remote: from options, variables and `prep.toml` to a link.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use prep_remote::{Address, Config, Credentials, Link, PublicKey, SigningKey};
use serde::Deserialize;

use crate::Session;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::Places;

/// Which remote is used.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Remote")]
pub struct RemoteArgs {
    /// A store that many machines share: s3://BUCKET/PREFIX, gs://, az://, file:///FOLDER, or https:// for reading. Results
    /// are looked for there before a step runs, and offered after it ran [env: PREP_REMOTE, prep.toml: url]
    #[arg(long, value_name = "URL")]
    pub remote: Option<String>,
    /// Use no remote, whatever prep.toml names
    #[arg(long, conflicts_with = "remote")]
    pub no_remote: bool,
}

/// The file's name, in the user's folder and in the data folder.
pub const FILE: &str = "prep.toml";

/// What a `prep.toml` may say.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pub remote: Section,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The remote.
    pub url: Option<String>,
    /// Name of the key that signs what is offered.
    pub key: Option<String>,
    /// Public keys of those whose results are believed.
    #[serde(default)]
    pub trusted: Vec<String>,
    /// Whether bundles that were downloaded are sent to the mirror.
    pub mirror: Option<bool>,
    /// Address of an S3 server that is not Amazon's.
    pub endpoint: Option<String>,
    pub region: Option<String>,
}

/// A value, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<T> {
    pub value: T,
    pub by: String,
}

/// Everything about the remote that is in force.
#[derive(Debug, Default, Clone)]
pub struct InForce {
    pub url: Option<Said<String>>,
    pub key: Option<Said<String>>,
    pub trusted: Vec<Said<String>>,
    pub mirror: Option<Said<bool>>,
    pub endpoint: Option<Said<String>>,
    pub region: Option<Said<String>>,
}

impl InForce {
    /// Options before variables before the data folder's file before the user's. Keys that are trusted add up.
    ///
    /// # Errors
    /// When a file cannot be read, or says what is not known.
    pub fn of(args: &RemoteArgs, places: &Places, data_dir: &Path) -> Result<InForce, CliError> {
        let mut force = InForce::default();
        let said = |value: &String, by: &str| Said {
            value: value.clone(),
            by: by.to_owned(),
        };
        if let Some(url) = &args.remote {
            force.url = Some(said(url, "--remote"));
        } else if let Some(url) = places.text("PREP_REMOTE") {
            force.url = Some(said(&url, "PREP_REMOTE"));
        }
        let user = places.config_dir.as_ref().map(|folder| folder.join(FILE));
        for path in [Some(data_dir.join(FILE)), user].into_iter().flatten() {
            let Some(File { remote }) = read(&path)? else {
                continue;
            };
            let by = path.display().to_string();
            let or = |now: &mut Option<Said<String>>, new: &Option<String>| {
                if now.is_none() {
                    *now = new.as_ref().map(|value| said(value, &by));
                }
            };
            or(&mut force.url, &remote.url);
            or(&mut force.key, &remote.key);
            or(&mut force.endpoint, &remote.endpoint);
            or(&mut force.region, &remote.region);
            if force.mirror.is_none() {
                let by = by.clone();
                force.mirror = remote.mirror.map(|value| Said { value, by });
            }
            let trusted = remote.trusted.iter().map(|key| said(key, &by));
            force.trusted.extend(trusted);
        }
        if args.no_remote {
            force.url = None;
        }
        Ok(force)
    }

    fn credentials(&self, places: &Places) -> Credentials {
        let mut variables = places.cloud();
        let mut or = |name: &str, value: &Option<Said<String>>| {
            let is_set = variables.iter().any(|(set, _)| set == name);
            if let Some(value) = value.as_ref().filter(|_| !is_set) {
                variables.push((name.to_owned(), value.value.clone()));
            }
        };
        or("AWS_ENDPOINT_URL", &self.endpoint);
        or("AWS_REGION", &self.region);
        Credentials::new(variables)
    }

    /// The key that signs: the one that is named, else the only one that there is.
    ///
    /// # Errors
    /// When the one that is named cannot be used.
    pub fn signing(&self, places: &Places) -> Result<Option<SigningKey>, CliError> {
        let Some(folder) = places.keys() else {
            return Ok(None);
        };
        match &self.key {
            Some(name) => Ok(Some(SigningKey::load(&folder, &name.value).map_err(key)?)),
            None => {
                let mut keys: Vec<SigningKey> =
                    SigningKey::all(&folder).into_iter().flatten().collect();
                Ok(keys.pop().filter(|_| keys.is_empty()))
            }
        }
    }
}

/// What is wrong with a key is the machine's fault: a file, its mode.
pub fn key(error: prep_remote::KeyError) -> CliError {
    let exit = match error {
        prep_remote::KeyError::Public(_)
        | prep_remote::KeyError::Name(_)
        | prep_remote::KeyError::Missing { .. } => Exit::Usage,
        _ => Exit::Machine,
    };
    CliError::new(exit, error.to_string())
}

fn read(path: &PathBuf) -> Result<Option<File>, CliError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(prep_app::Error::reading("read", path, &error).into()),
    };
    toml::from_str(&text).map(Some).map_err(|error| {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or_default();
            format!(":{}", before.matches('\n').count() + 1)
        });
        let message = error.message();
        CliError::usage(format!(
            "{}{}: {message}",
            path.display(),
            line.unwrap_or_default()
        ))
        .help("`[remote]` takes url, key, trusted, mirror, endpoint, region")
    })
}

impl Session {
    /// The same session, with the remote that is in force, if there is one.
    ///
    /// # Errors
    /// When it cannot be used as it is named.
    pub fn linked(&self, args: &RemoteArgs) -> Result<Session, CliError> {
        let force = InForce::of(args, &self.places, &self.settings.data_dir)?;
        let Some(url) = &force.url else {
            return Ok(self.clone());
        };
        let trusted = force.trusted.iter();
        let trusted: Result<Vec<PublicKey>, _> =
            trusted.map(|trusted| trusted.value.parse()).collect();
        let config = Config {
            address: Address::parse(&url.value).map_err(prep_app::Error::from)?,
            credentials: force.credentials(&self.places),
            key: force.signing(&self.places)?,
            trusted: trusted.map_err(key)?,
            mirror: force.mirror.as_ref().is_some_and(|mirror| mirror.value),
        };
        let printer = self.printer.clone();
        let say = Arc::new(move |text: &str| printer.warning(text));
        let link = Link::new(config, say).map_err(prep_app::Error::from)?;
        let mut session = self.clone();
        session.settings.remote = Some(link);
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(config: &Path) -> Places {
        Places {
            variable: |name| (name == "PREP_REMOTE").then(|| "s3://variable".into()),
            config_dir: Some(config.to_owned()),
            home: None,
            options: Vec::new(),
            variables: Vec::new(),
        }
    }

    #[test]
    fn options_go_before_variables_before_files_and_trust_adds_up() {
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
        let of =
            |args: &RemoteArgs, places: &Places| InForce::of(args, places, data.path()).unwrap();
        let plain = Places {
            variable: |_| None,
            ..places(user.path())
        };
        let force = of(&RemoteArgs::default(), &plain);
        assert_eq!(force.url.unwrap().value, "s3://data");
        assert_eq!(force.key.unwrap().value, "k");
        assert!(!force.mirror.unwrap().value);
        let trusted: Vec<String> = force.trusted.into_iter().map(|one| one.value).collect();
        assert_eq!(trusted, ["b", "a"]);
        let force = of(&RemoteArgs::default(), &places(user.path()));
        assert_eq!(force.url.unwrap().by, "PREP_REMOTE");
        let named = RemoteArgs {
            remote: Some("s3://option".into()),
            no_remote: false,
        };
        assert_eq!(of(&named, &places(user.path())).url.unwrap().by, "--remote");
        let none = RemoteArgs {
            remote: None,
            no_remote: true,
        };
        assert!(of(&none, &places(user.path())).url.is_none());
    }

    #[test]
    fn a_mistake_in_a_file_is_told_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(FILE),
            "[remote]\nurl = 's3://x'\nurls = 1\n",
        )
        .unwrap();
        let places = places(dir.path());
        let error = InForce::of(&RemoteArgs::default(), &places, Path::new("/nowhere"));
        let error = error.unwrap_err();
        assert!(error.message.contains("prep.toml:3"), "{error}");
        assert_eq!(error.exit, Exit::Usage);
    }
}
