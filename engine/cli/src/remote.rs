//! The remote: from options, variables and `prep.toml` to a link.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use prep_remote::{Address, Config, Credentials, Link, SigningKey, Trusted};

use crate::error::CliError;
use crate::exit::Exit;
use crate::places::Places;
use crate::prep_toml::{self, File, TrustedKey};
use crate::session::Session;

/// Heading of these options in the help. A heading of the struct would also apply to the options after it.
const HEADING: &str = "Remote";

/// Which remote is used.
#[derive(Debug, Default, Clone, Args)]
pub struct RemoteArgs {
    /// A store that many machines share: s3://BUCKET/PREFIX, gs://, az://, file:///FOLDER, or https:// for reading. Results
    /// are looked for there before a step runs, and offered after it ran [env: PREP_REMOTE, prep.toml: url]
    #[arg(long, value_name = "URL", help_heading = HEADING)]
    pub remote: Option<String>,
    /// Use no remote, whatever prep.toml names
    #[arg(long, conflicts_with = "remote", help_heading = HEADING)]
    pub no_remote: bool,
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
    pub trusted: Vec<Said<TrustedKey>>,
    pub same_as: Vec<Said<String>>,
    pub mirror: Option<Said<bool>>,
    pub endpoint: Option<Said<String>>,
    pub region: Option<Said<String>>,
}

impl InForce {
    /// Options before variables before the data folder's file before the user's. Lists of both files add up.
    ///
    /// # Errors
    /// When a file cannot be read, or says what is not known; when another user could have written the data folder's.
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
        for (path, File { remote: from }) in prep_toml::both(places, data_dir)? {
            let by = path.display().to_string();
            let or = |now: &mut Option<Said<String>>, new: &Option<String>| {
                if now.is_none() {
                    *now = new.as_ref().map(|value| said(value, &by));
                }
            };
            or(&mut force.url, &from.url);
            or(&mut force.key, &from.key);
            or(&mut force.endpoint, &from.endpoint);
            or(&mut force.region, &from.region);
            if force.mirror.is_none() {
                let by = by.clone();
                force.mirror = from.mirror.map(|value| Said { value, by });
            }
            let trusted = from.trusted.into_iter();
            force.trusted.extend(trusted.map(|value| Said {
                value,
                by: by.clone(),
            }));
            let same_as = from.same_as.iter();
            force.same_as.extend(same_as.map(|value| said(value, &by)));
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
        let trusted = force.trusted.iter().map(|trusted| trusted.value.parse());
        let trusted: Result<Vec<Trusted>, _> = trusted.collect();
        let address = |text: &str| Address::parse(text).map_err(prep_app::Error::from);
        let same_as = force.same_as.iter().map(|one| address(&one.value));
        let config = Config {
            address: address(&url.value)?,
            credentials: force.credentials(&self.places),
            key: force.signing(&self.places)?,
            trusted: trusted.map_err(key)?,
            same_as: same_as.collect::<Result<_, _>>()?,
            mirror: force.mirror.as_ref().is_some_and(|mirror| mirror.value),
        };
        // What the command line names needs no mention.
        if args.remote.is_none() {
            let (shown, by) = (config.address.shown(), &url.by);
            self.printer
                .message(format!("remote: {shown} (set in {by})"));
        }
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
    use crate::prep_toml::FILE;

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
        let trusted: Vec<String> = force.trusted.into_iter().map(|one| one.value.key).collect();
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
