//! The configuration files `prep.toml`: of the project, of the data directory, of the user, and of the machine.
//!
//! The project's file is the nearest one in the current directory and its parents.
//!
//! A `prep.toml` decides where `prep` sends results and whose results `prep` trusts. Therefore `prep` rejects a file that
//! another user could have written. git rejects repositories of other owners for the same reason.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use prep_app::LinkMode;
use prep_remote::{KeyError, TrustedSigner};
use serde::{Deserialize, Deserializer};
use toml::de::{DeTable, DeValue};
use toml::value::{Date, Datetime};

use crate::error::{CliError, Exit};
use crate::global::{at_least_one, positive_size};
use crate::session::Directories;

pub const FILE: &str = "prep.toml";

/// The alternative for a user who may not read the file of the project or of the data directory.
const IN_DIRECTORY: &str =
    "use another current directory or data directory, because prep reads prep.toml in both";
/// The alternative for a user who may not read the file of the machine.
const OF_MACHINE: &str = "set XDG_CONFIG_DIRS to another directory, because prep reads prep/prep.toml in each of its directories";

/// The content of a `prep.toml`. Paths are relative to the directory of the file.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    pub data_dir: Option<PathBuf>,
    pub cache_dir: Option<PathBuf>,
    pub source: Option<PathBuf>,
    /// `hardlink`, `reflink` or `copy`: how published files share bytes with the cache.
    #[serde(default, deserialize_with = "link_mode")]
    pub link_mode: Option<LinkMode>,
    /// Directory with descriptions that replace the built-in ones.
    pub descriptions: Option<PathBuf>,
    /// Whether `prep` compares neither bundles nor outputs with published checksums.
    pub skip_verification: Option<bool>,
    /// Whether `prep` does not compare bundles with their published MD5.
    pub skip_bundle_verification: Option<bool>,
    pub pipelines: Option<PathBuf>,
    pub packs: Option<PathBuf>,
    #[serde(default, deserialize_with = "jobs")]
    pub jobs: Option<usize>,
    /// Memory for all running steps in bytes. The file contains a size, such as `8GB`.
    #[serde(default, deserialize_with = "memory")]
    pub memory: Option<u64>,
    /// Whether the user's group may write the files and directories that `prep` creates.
    pub shared: Option<bool>,
    #[serde(default)]
    pub remote: ConfigSection,
    /// The line of each key, counted from 1. The name of a key in a section begins with that of the section: `remote.url`.
    #[serde(skip)]
    lines: BTreeMap<String, usize>,
}

impl ConfigFile {
    /// Returns `path`, the path of this file, and the line of a key.
    fn place(&self, path: &Path, name: &str) -> String {
        match self.lines.get(name) {
            Some(line) => format!("{}:{line}", path.display()),
            None => path.display().to_string(),
        }
    }
}

/// Returns the line of each key in a valid TOML text.
fn lines(text: &str) -> BTreeMap<String, usize> {
    fn insert(table: &DeTable<'_>, prefix: &str, text: &str, lines: &mut BTreeMap<String, usize>) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            if let DeValue::Table(section) = value.get_ref() {
                insert(section, &format!("{name}."), text, lines);
            }
            lines.insert(name, line_of(text, key.span().start));
        }
    }
    let mut lines = BTreeMap::new();
    if let Ok(table) = DeTable::parse(text) {
        insert(table.get_ref(), "", text, &mut lines);
    }
    lines
}

/// Returns the line of an offset in bytes, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    before.matches('\n').count() + 1
}

/// The section `[remote]`.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a section: a line `[remote]`, and below it the address as `url`"
)]
pub struct ConfigSection {
    pub url: Option<String>,
    /// Name of the key that signs results before `prep` sends them.
    pub key: Option<String>,
    /// Public keys whose signed results `prep` trusts.
    #[serde(default, deserialize_with = "trusted_keys")]
    pub trusted: Vec<TrustedKey>,
    /// Other addresses of the remote in `url`.
    #[serde(default)]
    pub same_as: Vec<String>,
    /// Whether `prep` sends downloaded bundles to the mirror.
    pub mirror: Option<bool>,
    /// Address of an S3-compatible server other than Amazon's.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Directories whose `prep.toml` is valid although other users can write to it. Only the user's own `prep.toml` may
    /// contain this key.
    #[serde(default)]
    pub safe_data_dirs: Vec<PathBuf>,
}

/// A trusted key: `"ed25519:..."`, or `{ key = "ed25519:...", competitions = [...], until = 2027-06-30 }`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a key, or a table with `key`, `competitions` (a list of ids) and `until` (a date)"
)]
pub struct TrustedKey {
    pub key: String,
    /// The competitions whose results the key may sign. `None` for all.
    pub competitions: Option<Vec<String>>,
    /// The last day on which `prep` trusts the key.
    pub until: Option<Datetime>,
}

fn jobs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let jobs = at_least_one(&value.to_string());
    let wrong = |error| serde::de::Error::custom(format!("`jobs` is {value}: {error}"));
    jobs.map(Some).map_err(wrong)
}

/// Accepts a value of any type. The parser of sizes then reports a number without a unit more clearly than serde would.
fn memory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    let wrong = |error| serde::de::Error::custom(format!("`memory`: {error}"));
    positive_size(&text).map(Some).map_err(wrong)
}

fn link_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LinkMode>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |error| serde::de::Error::custom(format!("`link_mode` is `{text}`: {error}"));
    LinkMode::from_str(&text).map(Some).map_err(wrong)
}

fn trusted_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TrustedKey>, D::Error> {
    let values = Vec::<toml::Value>::deserialize(deserializer)?.into_iter();
    let wrong = |error: &dyn fmt::Display| serde::de::Error::custom(format!("`trusted`: {error}"));
    let keys = values.map(|value| {
        let trusted = match value {
            toml::Value::String(key) => TrustedKey {
                key,
                competitions: None,
                until: None,
            },
            table => {
                let trusted = table.try_into::<TrustedKey>();
                trusted.map_err(|error| wrong(&error.message()))?
            }
        };
        trusted.parse().map_err(|error| wrong(&error))?;
        Ok(trusted)
    });
    keys.collect()
}

impl TrustedKey {
    pub fn parse(&self) -> Result<TrustedSigner, KeyError> {
        let competitions = self.competitions.as_ref();
        let date = self.until.and_then(|until| until.date);
        Ok(TrustedSigner {
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

/// Returns the end of a day in UTC, in seconds since 1970.
fn end_of_day(date: Date) -> u64 {
    let first = jiff::civil::date(1970, 1, 1);
    // The TOML parser accepts only days that exist.
    let days = date.to_string().parse::<jiff::civil::Date>();
    let days = days.map_or(0, |day| (day - first).get_days() + 1);
    u64::try_from(days).unwrap_or(0) * 86_400
}

/// The configuration files that exist, in order of precedence, and all searched paths.
#[derive(Debug, Default)]
pub struct ConfigFiles {
    pub found: Vec<(PathBuf, ConfigFile)>,
    pub searched: Vec<PathBuf>,
    /// The user's `prep.toml`, if `prep` has no permission to read it. Like git, `prep` ignores this file, because
    /// services often run with the home directory of another user.
    pub ignored: Option<PathBuf>,
    /// The error of the first file, except the user's `prep.toml`, that `prep` has no permission to read.
    pub denied: Option<CliError>,
}

impl ConfigFiles {
    /// Reads all files. Reads the data directory's file only if the data directory is known.
    ///
    /// # Errors
    /// Returns an error if a file contains an unknown key, or if another user could have written a file. The error of a file
    /// that the user may not read is in `denied` instead, because `prep doctor` examines such directories.
    pub fn read(places: &Directories, data_dir: Option<&Path>) -> Result<ConfigFiles, CliError> {
        let mut files = ConfigFiles::default();
        let home = places.home.as_deref();
        let user = places.config_dir.as_ref().map(|dir| dir.join(FILE));
        files.ignored = user.clone().filter(|path| is_denied(path));
        let of_user = match &user {
            Some(path) if files.ignored.is_none() => read(path, home)?,
            _ => None,
        };
        let safe = of_user
            .as_ref()
            .map(|file| file.remote.safe_data_dirs.clone());
        let safe = safe.unwrap_or_default();
        let ancestors = places.current_dir.iter().flat_map(|dir| dir.ancestors());
        let project = ancestors
            .map(|dir| dir.join(FILE))
            .find(|path| path.is_file());
        let nearest = places.current_dir.as_ref().map(|dir| dir.join(FILE));
        let of_data = data_dir.map(|dir| dir.join(FILE));
        let is_same = |one: &Path, other: &Path| {
            one == other
                || one
                    .canonicalize()
                    .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
        };
        for path in [project.or(nearest), of_data].into_iter().flatten() {
            let mut seen = files.searched.iter().chain(&user);
            if seen.any(|other| is_same(other, &path)) {
                continue;
            }
            if let Some(file) = files.read_permitted(&path, home, IN_DIRECTORY)? {
                if file != ConfigFile::default() {
                    check(&path, &safe, &file.remote)?;
                }
                files.found.push((path.clone(), file));
            }
            files.searched.push(path);
        }
        if let Some(path) = user {
            files.found.extend(of_user.map(|file| (path.clone(), file)));
            files.searched.push(path);
        }
        for dir in &places.site_dirs {
            let path = dir.join("prep").join(FILE);
            if let Some(file) = files.read_permitted(&path, home, OF_MACHINE)? {
                check(&path, &safe, &file.remote)?;
                files.found.push((path.clone(), file));
            }
            files.searched.push(path);
        }
        Ok(files)
    }

    /// Reads a file. If the user may not read it, sets `denied` and returns `None`. The help of `denied` suggests
    /// `instead` as an alternative to getting the permission.
    fn read_permitted(
        &mut self,
        path: &Path,
        home: Option<&Path>,
        instead: &str,
    ) -> Result<Option<ConfigFile>, CliError> {
        match read(path, home) {
            Err(_) if is_denied(path) => {
                self.denied.get_or_insert_with(|| denied(path, instead));
                Ok(None)
            }
            file => file,
        }
    }

    /// Returns the value with the highest precedence, and its file and line. `key` returns the value of the key `name`.
    pub fn first<T>(
        &self,
        name: &str,
        key: impl Fn(&ConfigFile) -> Option<T>,
    ) -> Option<(T, String)> {
        let mut values = self
            .found
            .iter()
            .filter_map(|(path, file)| Some((key(file)?, file.place(path, name))));
        values.next()
    }

    /// Returns the elements of a list from all files, each with the file and line of its list.
    pub fn all<T: Clone>(&self, name: &str, key: impl Fn(&ConfigFile) -> &[T]) -> Vec<(T, String)> {
        let files = self.found.iter();
        let values = files.flat_map(|(path, file)| {
            let values = key(file).iter().cloned();
            values.map(|value| (value, file.place(path, name)))
        });
        values.collect()
    }
}

/// Rejects a file that another user could have written.
fn check(path: &Path, safe: &[PathBuf], section: &ConfigSection) -> Result<(), CliError> {
    if !section.safe_data_dirs.is_empty() {
        let message = format!(
            "{}: `safe_data_dirs` is allowed in your own {FILE} only",
            path.display()
        );
        return Err(
            CliError::usage(message).help(format!("move this key to ~/.config/prep/{FILE}"))
        );
    }
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = canonical(path.parent().unwrap_or(Path::new("/")));
    if safe.iter().any(|safe| canonical(safe) == dir) {
        return Ok(());
    }
    // Also checks the target of a symbolic link, because another user may be able to replace the target.
    let real = canonical(path);
    let directory = real.parent().unwrap_or(Path::new("/"));
    for place in [&*real, directory, &*dir] {
        let metadata = place.metadata();
        let metadata =
            metadata.map_err(|error| prep_app::Error::reading("examine", place, &error))?;
        if let Some((fault, fix)) = fault(&metadata, rustix::process::geteuid().as_raw()) {
            let (path, place) = (path.display(), place.display());
            let message = format!("{path} is not used, because {place} {fault}");
            return Err(CliError::new(Exit::Usage, message).help(format!(
                "if you trust the users who share the directory, add it to `safe_data_dirs` in `[remote]` of ~/.config/prep/{FILE}; \
                 otherwise run `{fix} {place}`"
            )));
        }
    }
    Ok(())
}

/// Returns the reason why a user other than `user` and root could write a file or directory, and the command that changes
/// this. Returns `None` if only these two users can.
fn fault(metadata: &Metadata, user: u32) -> Option<(&'static str, &'static str)> {
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let mode = metadata.mode();
    // In a sticky directory, only owners can remove and replace files.
    let is_shared_safely = metadata.is_dir() && mode & STICKY != 0;
    if metadata.uid() != user && metadata.uid() != 0 {
        Some(("belongs to another user", "chown root"))
    } else if mode & OTHERS_WRITE != 0 && !is_shared_safely {
        Some(("can be written by other users", "chmod go-w"))
    } else {
        None
    }
}

fn is_denied(path: &Path) -> bool {
    File::open(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// Reads a configuration file, and resolves its relative paths. Returns `None` if the file does not exist.
fn read(path: &Path, home: Option<&Path>) -> Result<Option<ConfigFile>, CliError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(prep_app::Error::reading("read", path, &error).into()),
    };
    let mut file: ConfigFile =
        toml::from_str(&text).map_err(|error| unreadable(path, &text, &error))?;
    file.lines = lines(&text);
    let dir = path.parent().unwrap_or(Path::new(""));
    for (name, value) in [
        ("data_dir", &mut file.data_dir),
        ("cache_dir", &mut file.cache_dir),
        ("source", &mut file.source),
        ("descriptions", &mut file.descriptions),
        ("pipelines", &mut file.pipelines),
        ("packs", &mut file.packs),
    ] {
        let Some(value) = value else { continue };
        if value.as_os_str().is_empty() {
            let line = file.lines.get(name).map(|line| format!(":{line}"));
            let place = format!("{}{}", path.display(), line.unwrap_or_default());
            let message = format!("{place}: `{name}` is empty");
            return Err(CliError::usage(message).help("name a directory, or remove the line"));
        }
        *value = match (value.strip_prefix("~"), home) {
            (Ok(inner), Some(home)) => home.join(inner),
            _ => normalized(&dir.join(&*value)),
        };
    }
    Ok(Some(file))
}

/// Returns the path without `.` and `..`, because messages show it. Resolves symbolic links before the last `..`, because
/// `..` after a link means the parent of its target.
fn normalized(path: &Path) -> PathBuf {
    let path: PathBuf = path.components().collect();
    let up = path.ancestors().find(|up| up.ends_with(".."));
    let real = up.and_then(|up| Some(up.canonicalize().ok()?.join(path.strip_prefix(up).ok()?)));
    real.unwrap_or(path)
}

/// Returns the error for a file that the user may not read, or that is in a directory that the user may not enter.
fn denied(path: &Path, instead: &str) -> CliError {
    let closed = path.parent().and_then(prep_cache::closed_directory);
    let (action, place) = match closed {
        Some(directory) => ("enter a directory", directory),
        None => ("read a file", path),
    };
    let described = prep_cache::ownership(place);
    let described = described.unwrap_or_else(|| place.display().to_string());
    let message = format!("you may not {action}: {described}");
    let is_own = |place: &Metadata| place.uid() == rustix::process::geteuid().as_raw();
    let ask = match place.metadata() {
        Ok(place_data) if is_own(&place_data) => format!("run `chmod u+rX {}`", place.display()),
        _ => prep_cache::group_remedy(place).unwrap_or("ask its owner for permission".to_owned()),
    };
    CliError::new(Exit::Machine, message).help(format!("{ask}, or {instead}"))
}

/// Returns the error for a file that is not valid, with the line and the known keys.
fn unreadable(path: &Path, text: &str, error: &toml::de::Error) -> CliError {
    let span = error.span();
    let line = span.map(|span| format!(":{}", line_of(text, span.start)));
    // If a key is unknown, the parser's message lists the valid keys of the section.
    let (message, keys) = match error.message().split_once(", expected one of ") {
        Some((message, keys)) => (message, Some(keys)),
        None => (error.message(), None),
    };
    // The message about a type mismatch does not name the key. The key is in the line of the value.
    let key = error.span().and_then(|span| {
        let line = text.get(..span.start)?.lines().last()?;
        Some(format!("`{}`: ", line.split_once('=')?.0.trim()))
    });
    let key = key.filter(|_| message.starts_with("invalid type"));
    let found = CliError::usage(format!(
        "{}{}: {}{message}",
        path.display(),
        line.unwrap_or_default(),
        key.unwrap_or_default()
    ));
    let Some(keys) = keys else {
        return found;
    };
    let unknown = message.rsplit('`').nth(1).unwrap_or_default();
    let near = prep_spec::nearest(unknown, keys.split('`').skip(1).step_by(2));
    found.help(format!("the keys are {keys}")).suggest(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    const EXAMPLE: &str = "[remote]\nurl = 's3://data'\n";

    fn places(config: &Path) -> Directories {
        Directories {
            variable: |_| None,
            config_dir: Some(config.to_owned()),
            site_dirs: Vec::new(),
            home: None,
            current_dir: None,
            origins: Vec::new(),
        }
    }

    #[test]
    fn a_file_that_other_users_can_write_is_an_error() {
        let (user, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = data.path().join(FILE);
        fs::write(&file, EXAMPLE).unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let both =
            || ConfigFiles::read(&places(user.path()), Some(data.path())).map(|files| files.found);
        for (directory, mode, is_good) in [
            (0o755, 0o644, true),
            (0o755, 0o664, false),
            (0o755, 0o646, false),
            (0o775, 0o644, false),
            (0o757, 0o644, false),
            (0o1777, 0o644, true),
            (0o1777, 0o666, false),
        ] {
            set(data.path(), directory);
            set(&file, mode);
            let read = both();
            assert_eq!(
                read.is_ok(),
                is_good,
                "directory {directory:o}, file {mode:o}: {read:?}"
            );
            if let Err(error) = read {
                assert!(
                    error.message.contains("can be written by other users"),
                    "{error}"
                );
                assert!(error.help.unwrap().contains("safe_data_dirs"));
            }
        }
        // A file without settings is safe.
        fs::write(&file, "").unwrap();
        assert!(both().is_ok());
        fs::write(&file, EXAMPLE).unwrap();
        let own = |text: String| fs::write(user.path().join(FILE), text).unwrap();
        own(format!("[remote]\nsafe_data_dirs = [{:?}]\n", data.path()));
        assert_eq!(both().unwrap().len(), 2);
        // A data directory must not declare itself safe.
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
    fn a_file_of_another_user_is_an_error() {
        let data = tempfile::tempdir().unwrap();
        let metadata = data.path().metadata().unwrap();
        let owner = metadata.uid();
        assert_eq!(fault(&metadata, owner), None);
        let is_root = owner == 0;
        assert_eq!(fault(&metadata, owner + 1).is_none(), is_root);
        // The file is a symbolic link into a directory that other users can write.
        let (user, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("file"), EXAMPLE).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("file"), data.path().join(FILE)).unwrap();
        assert!(ConfigFiles::read(&places(user.path()), Some(data.path())).is_ok());
        fs::set_permissions(elsewhere.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(ConfigFiles::read(&places(user.path()), Some(data.path())).is_err());
    }

    #[test]
    fn the_nearest_file_in_parent_directories_is_used() {
        let (user, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = tempfile::tempdir().unwrap();
        let inner = project.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let write = |dir: &Path, text: &str| fs::write(dir.join(FILE), text).unwrap();
        write(project.path(), "source = 'bundles'\ndata_dir = '~/data'\n");
        write(user.path(), "jobs = 3\nsource = '/elsewhere'\n");
        let site = tempfile::tempdir().unwrap();
        fs::create_dir(site.path().join("prep")).unwrap();
        write(&site.path().join("prep"), "jobs = 9\nmemory = '4GB'\n");
        let places = Directories {
            site_dirs: vec![site.path().to_owned()],
            current_dir: Some(inner),
            home: Some("/home/u".into()),
            ..places(user.path())
        };
        let files = ConfigFiles::read(&places, Some(data.path())).unwrap();
        assert_eq!((files.found.len(), files.searched.len()), (3, 4));
        let (memory, origin) = files.first("memory", |file| file.memory).unwrap();
        assert_eq!(memory, 4_000_000_000);
        assert!(origin.contains("/prep/prep.toml:"), "{origin}");
        let (source, origin) = files.first("source", |file| file.source.clone()).unwrap();
        assert_eq!(source, project.path().join("bundles"));
        let file = project.path().join(FILE);
        assert_eq!(origin, format!("{}:1", file.display()));
        let (data_dir, _) = files
            .first("data_dir", |file| file.data_dir.clone())
            .unwrap();
        assert_eq!(data_dir, Path::new("/home/u/data"));
        let (jobs, _) = files.first("jobs", |file| file.jobs).unwrap();
        assert_eq!(jobs, 3);
        fs::set_permissions(project.path().join(FILE), Permissions::from_mode(0o666)).unwrap();
        assert!(ConfigFiles::read(&places, None).is_err());
    }

    #[test]
    fn a_trusted_key_may_have_limits() {
        let key = "ed25519:acjoLnk4+ePVRFGBdnaZuAT+tE4EGyw5wWJSJzCEaxY=";
        let text = format!(
            "[remote]\ntrusted = [{key:?}, {{ key = {key:?}, competitions = ['b', 'a'], until = 2027-06-30 }}]\n"
        );
        let file: ConfigFile = toml::from_str(&text).unwrap();
        let [all, limited] = &file.remote.trusted[..] else {
            panic!("{file:?}");
        };
        let public: prep_remote::PublicKey = key.parse().unwrap();
        assert_eq!(all.parse().unwrap(), TrustedSigner::from(public));
        assert_eq!(all.to_string(), key);
        let parsed = limited.parse().unwrap();
        assert_eq!(parsed.until, Some(1_814_400_000));
        assert_eq!(Vec::from_iter(parsed.competitions.unwrap()), ["a", "b"]);
        assert_eq!(
            limited.to_string(),
            format!("{key} for b, a until 2027-06-30")
        );
        for (wrong, message) in [
            ("{ competitions = ['a'] }", "missing field `key`"),
            (
                "{ key = 'x', none = 1 }",
                "unknown field `none`, expected one of `key`, `competitions`",
            ),
            ("1", "expected a key, or a table with `key`"),
        ] {
            let text = format!("[remote]\ntrusted = [{wrong}]\n");
            let error = toml::from_str::<ConfigFile>(&text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn paths_in_messages_have_no_dots() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        std::os::unix::fs::symlink(root.join("a/b"), root.join("link")).unwrap();
        for (path, expected) in [
            ("a/../new", "new"),
            ("a//./b/", "a/b"),
            ("link/../new", "a/new"),
            ("link/./new", "link/new"),
            ("absent/../new", "absent/../new"),
        ] {
            assert_eq!(normalized(&root.join(path)), root.join(expected));
        }
    }

    #[test]
    fn the_end_of_a_day_is_in_seconds_since_1970() {
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
