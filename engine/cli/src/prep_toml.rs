//! `prep.toml`: the user's, and that of a data folder, which counts only if no other user can write it.
//!
//! The file decides where results go, private ones included, and whose results are believed. So the file of a data folder
//! that somebody else made or may change is an error, as a repository of another owner is for git.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use prep_remote::{KeyError, Trusted};
use serde::Deserialize;
use toml::value::{Date, Datetime};

use crate::error::CliError;
use crate::exit::Exit;
use crate::places::Places;

/// The file's name, in the user's folder and in the data folder.
pub const FILE: &str = "prep.toml";

/// What a `prep.toml` may say.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pub remote: Section,
}

/// `[remote]`.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The remote.
    pub url: Option<String>,
    /// Name of the key that signs what is offered.
    pub key: Option<String>,
    /// Public keys of those whose results are believed.
    #[serde(default)]
    pub trusted: Vec<TrustedKey>,
    /// Other addresses of the same remote.
    #[serde(default)]
    pub same_as: Vec<String>,
    /// Whether bundles that were downloaded are sent to the mirror.
    pub mirror: Option<bool>,
    /// Address of an S3 server that is not Amazon's.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Data folders whose file counts although other users can write it. Only the user's own file may say so.
    #[serde(default)]
    pub safe_data_dirs: Vec<PathBuf>,
}

/// A key whose results are believed: `"ed25519:..."`, or `{ key = "ed25519:...", competitions = [...], until = 2027-06-30 }`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Written")]
pub struct TrustedKey {
    pub key: String,
    /// For which competitions; `None` for all.
    pub competitions: Option<Vec<String>>,
    /// The last day.
    pub until: Option<Datetime>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a key, or a table with `key`, `competitions` (a list of ids) and `until` (a date)"
)]
enum Written {
    Key(String),
    Table(Table),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    key: String,
    competitions: Option<Vec<String>>,
    until: Option<Datetime>,
}

impl From<Written> for TrustedKey {
    fn from(written: Written) -> TrustedKey {
        let Table {
            key,
            competitions,
            until,
        } = match written {
            Written::Table(table) => table,
            Written::Key(key) => Table {
                key,
                competitions: None,
                until: None,
            },
        };
        TrustedKey {
            key,
            competitions,
            until,
        }
    }
}

impl TrustedKey {
    /// # Errors
    /// When it is not a public key.
    pub fn parse(&self) -> Result<Trusted, KeyError> {
        let competitions = self.competitions.as_ref();
        let date = self.until.and_then(|until| until.date);
        Ok(Trusted {
            key: self.key.parse()?,
            competitions: competitions.map(|ids| ids.iter().cloned().collect()),
            until: date.map(end_of_day),
        })
    }
}

impl fmt::Display for TrustedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if let Some(competitions) = &self.competitions {
            write!(f, " for {}", competitions.join(", "))?;
        }
        match &self.until {
            Some(until) => write!(f, " until {until}"),
            None => Ok(()),
        }
    }
}

/// When a day ends, in UTC, in seconds since 1970.
fn end_of_day(date: Date) -> u64 {
    // Days since 0000-03-01, so that the leap day is the last one of its year (Howard Hinnant, `days_from_civil`).
    let (year, month) = match u64::from(date.month) {
        month @ 3.. => (u64::from(date.year), month - 3),
        month => (u64::from(date.year).saturating_sub(1), month + 9),
    };
    let of_year = (153 * month + 2) / 5 + u64::from(date.day);
    let days = 365 * year + year / 4 - year / 100 + year / 400 + of_year;
    days.saturating_sub(719_468).saturating_mul(86_400)
}

/// The files that are there: the data folder's, then the user's.
///
/// # Errors
/// When one cannot be read, or says what is not known; when another user could have written the data folder's.
pub fn both(places: &Places, data_dir: &Path) -> Result<Vec<(PathBuf, File)>, CliError> {
    let of_user = match &places.config_dir {
        Some(folder) => read(&folder.join(FILE))?,
        None => None,
    };
    let safe = of_user
        .as_ref()
        .map(|(_, file)| &*file.remote.safe_data_dirs);
    let of_data = read(&data_dir.join(FILE))?;
    if let Some((path, file)) = &of_data
        && *file != File::default()
    {
        check(path, data_dir, safe.unwrap_or_default(), &file.remote)?;
    }
    Ok(of_data.into_iter().chain(of_user).collect())
}

/// Refuses the file of a data folder that another user could have written.
fn check(path: &Path, data_dir: &Path, safe: &[PathBuf], said: &Section) -> Result<(), CliError> {
    if !said.safe_data_dirs.is_empty() {
        let message = format!(
            "{}: `safe_data_dirs` counts in your own {FILE} only",
            path.display()
        );
        return Err(CliError::usage(message).help(format!("move it to ~/.config/prep/{FILE}")));
    }
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let data_dir = canonical(data_dir);
    if safe.iter().any(|safe| canonical(safe) == data_dir) {
        return Ok(());
    }
    // Where it really is, too: somebody else may be able to replace it there.
    let real = canonical(path);
    let folder = real.parent().unwrap_or(Path::new("/"));
    for place in [&*real, folder, &*data_dir] {
        let metadata = place.metadata();
        let metadata =
            metadata.map_err(|error| prep_app::Error::reading("examine", place, &error))?;
        if let Some(fault) = fault(&metadata, rustix::process::geteuid().as_raw()) {
            let message = format!(
                "{} is not used, because {} {fault}",
                path.display(),
                place.display()
            );
            return Err(CliError::new(Exit::Usage, message).help(format!(
                "it decides where results are sent and whose are believed; `chmod go-w` (and `chown`) file and folder, or add \
                 the folder to `safe_data_dirs` in `[remote]` of ~/.config/prep/{FILE}, or remove the file"
            )));
        }
    }
    Ok(())
}

/// How another user than `user` and root could write here.
fn fault(metadata: &Metadata, user: u32) -> Option<&'static str> {
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let mode = metadata.mode();
    // In such a folder, only owners remove and replace.
    let is_shared_safely = metadata.is_dir() && mode & STICKY != 0;
    if metadata.uid() != user && metadata.uid() != 0 {
        Some("belongs to another user")
    } else if mode & OTHERS_WRITE != 0 && !is_shared_safely {
        Some("can be written by other users")
    } else {
        None
    }
}

fn read(path: &Path) -> Result<Option<(PathBuf, File)>, CliError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(prep_app::Error::reading("read", path, &error).into()),
    };
    let parsed = toml::from_str(&text).map(|file| Some((path.to_owned(), file)));
    parsed.map_err(|error| {
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
        .help(
            "`[remote]` takes url, key, trusted, same_as, mirror, endpoint, region, safe_data_dirs",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    const SAID: &str = "[remote]\nurl = 's3://data'\n";

    fn places(config: &Path) -> Places {
        Places {
            variable: |_| None,
            config_dir: Some(config.to_owned()),
            home: None,
            options: Vec::new(),
            variables: Vec::new(),
        }
    }

    #[test]
    fn a_file_that_others_can_write_is_not_used() {
        let (user, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = data.path().join(FILE);
        fs::write(&file, SAID).unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let both = || both(&places(user.path()), data.path());
        for (folder, mode, is_good) in [
            (0o755, 0o644, true),
            (0o755, 0o664, false),
            (0o755, 0o646, false),
            (0o775, 0o644, false),
            (0o757, 0o644, false),
            (0o1777, 0o644, true),
            (0o1777, 0o666, false),
        ] {
            set(data.path(), folder);
            set(&file, mode);
            let read = both();
            assert_eq!(read.is_ok(), is_good, "{folder:o} {mode:o}: {read:?}");
            if let Err(error) = read {
                assert!(
                    error.message.contains("can be written by other users"),
                    "{error}"
                );
                assert!(error.help.unwrap().contains("safe_data_dirs"));
            }
        }
        // A file that decides nothing is no danger.
        fs::write(&file, "").unwrap();
        assert!(both().is_ok());
        fs::write(&file, SAID).unwrap();
        let own = |text: String| fs::write(user.path().join(FILE), text).unwrap();
        own(format!("[remote]\nsafe_data_dirs = [{:?}]\n", data.path()));
        assert_eq!(both().unwrap().len(), 2);
        // The data folder cannot call itself safe.
        own(String::new());
        fs::write(
            &file,
            format!("[remote]\nsafe_data_dirs = [{:?}]\n", data.path()),
        )
        .unwrap();
        let error = both().unwrap_err();
        assert!(error.message.contains("your own"), "{error}");
    }

    #[test]
    fn a_file_of_another_user_is_not_used() {
        let data = tempfile::tempdir().unwrap();
        let metadata = data.path().metadata().unwrap();
        let owner = metadata.uid();
        assert_eq!(fault(&metadata, owner), None);
        let is_root = owner == 0;
        assert_eq!(fault(&metadata, owner + 1).is_none(), is_root);
        // A link leads to where others can write.
        let (user, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("file"), SAID).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("file"), data.path().join(FILE)).unwrap();
        assert!(both(&places(user.path()), data.path()).is_ok());
        fs::set_permissions(elsewhere.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(both(&places(user.path()), data.path()).is_err());
    }

    #[test]
    fn a_trusted_key_may_have_limits() {
        let key = "ed25519:acjoLnk4+ePVRFGBdnaZuAT+tE4EGyw5wWJSJzCEaxY=";
        let text = format!(
            "[remote]\ntrusted = [{key:?}, {{ key = {key:?}, competitions = ['b', 'a'], until = 2027-06-30 }}]\n"
        );
        let file: File = toml::from_str(&text).unwrap();
        let [all, limited] = &file.remote.trusted[..] else {
            panic!("{file:?}");
        };
        let public: prep_remote::PublicKey = key.parse().unwrap();
        assert_eq!(all.parse().unwrap(), Trusted::from(public));
        assert_eq!(all.to_string(), key);
        let parsed = limited.parse().unwrap();
        assert_eq!(parsed.until, Some(1_814_400_000));
        assert_eq!(Vec::from_iter(parsed.competitions.unwrap()), ["a", "b"]);
        assert_eq!(
            limited.to_string(),
            format!("{key} for b, a until 2027-06-30")
        );
        for wrong in ["{ competitions = ['a'] }", "{ key = 'x', none = 1 }", "1"] {
            let text = format!("[remote]\ntrusted = [{wrong}]\n");
            let error = toml::from_str::<File>(&text).unwrap_err().to_string();
            assert!(error.contains("`key`, `competitions`"), "{error}");
        }
    }

    #[test]
    fn days_are_counted_from_1970() {
        for (year, month, day, end) in [
            (1970, 1, 1, 86_400),
            (1970, 3, 1, 60 * 86_400),
            (2000, 2, 29, 951_868_800),
            (2026, 12, 31, 1_798_761_600),
        ] {
            assert_eq!(
                end_of_day(Date { year, month, day }),
                end,
                "{year}-{month}-{day}"
            );
        }
    }
}
