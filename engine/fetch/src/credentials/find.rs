//! Searches for credentials in the same places, and in the same order, as Kaggle's SDK:
//!
//! 1. in a Kaggle notebook, the file that `KAGGLE_API_V1_TOKEN` names
//! 2. `KAGGLE_API_TOKEN`: a token, or the path of a file with a token
//! 3. the files `access_token` and `access_token.txt`
//! 4. `KAGGLE_USERNAME` with `KAGGLE_KEY`
//! 5. the file `kaggle.json`
//! 6. the file `credentials.json` of `kaggle auth login`
//!
//! The first place with credentials is used. Kaggle's tools search for tokens and logins only in `~/.kaggle`, and for
//! `kaggle.json` first in `KAGGLE_CONFIG_DIR`. `prep` begins in the same directory, and then searches all other directories.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::credentials::{
    CredentialsError, FoundCredentials, KaggleCredentials, Login, Origin, Secret,
};

/// The environment variables and directories that the caller passes, because this library never reads the environment.
pub struct CredentialVariables<'a> {
    /// Returns the value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The user's home directory, which replaces `~` in a path.
    pub home: Option<&'a Path>,
    /// Directories that may contain Kaggle's files, with `~/.kaggle` first.
    pub config_dirs: &'a [PathBuf],
}

/// Searches for credentials in all places.
///
/// # Errors
/// - the error of the first place that is defective, for example a file that cannot be read
/// - otherwise [`CredentialsError::Half`] if only `KAGGLE_USERNAME` or only `KAGGLE_KEY` is set
/// - otherwise [`CredentialsError::Missing`]
pub fn find_credentials(
    environment: &CredentialVariables<'_>,
) -> Result<FoundCredentials, CredentialsError> {
    let mut search = Search::default();
    let variable = |name: &str| {
        let value = (environment.variable)(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    let is_notebook =
        variable("KAGGLE_KERNEL_RUN_TYPE").is_some() && variable("KAGGLE_DATA_PROXY_URL").is_some();
    if is_notebook && let Some(path) = variable("KAGGLE_API_V1_TOKEN") {
        search.file(Path::new(&path), token, NO_TOKEN);
    }
    if let Some(text) = variable("KAGGLE_API_TOKEN") {
        match token_file(&text, environment.home) {
            Some(path) => {
                if !path.exists() {
                    let cause = std::io::ErrorKind::NotFound.into();
                    let path = path.clone();
                    search.defective(CredentialsError::Unreadable { path, cause });
                }
                search.file(&path, token, NO_TOKEN);
            }
            None => search.add(Origin::Variables("KAGGLE_API_TOKEN"), token(&text)),
        }
    }
    let config_dir = variable("KAGGLE_CONFIG_DIR").map(PathBuf::from);
    let mut dirs = environment.config_dirs.to_vec();
    let after_home = dirs.len().min(1);
    dirs.splice(after_home..after_home, config_dir.clone());
    for dir in &dirs {
        for name in ["access_token", "access_token.txt"] {
            search.file(&dir.join(name), token, NO_TOKEN);
        }
    }
    let (username, key) = (variable("KAGGLE_USERNAME"), variable("KAGGLE_KEY"));
    let given = (username.as_deref(), key.as_deref());
    let pair = pair(given.0, given.1);
    // If only one of the two variables is set, the user or key in `kaggle.json` completes the pair.
    let (user_of_pair, key_of_pair) = match &pair {
        Ok(Some(_)) => (None, None),
        _ => given,
    };
    search.add(Origin::Variables("KAGGLE_USERNAME and KAGGLE_KEY"), pair);
    for dir in config_dir.iter().chain(environment.config_dirs) {
        let parse = |text: &str| json(text, user_of_pair, key_of_pair);
        let lacks = "contains no `username` with `key`";
        search.file(&dir.join("kaggle.json"), parse, lacks);
    }
    for dir in &dirs {
        let path = dir.join("credentials.json");
        let parse = |text: &str| login(&path, text);
        search.file(&path, parse, "contains no `refresh_token`");
    }
    search.end(username.is_some(), key.is_some(), dirs)
}

const NO_TOKEN: &str = "contains no token";

/// Returns the path in `KAGGLE_API_TOKEN`, if its value is a path instead of a token.
fn token_file(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    // A path to a missing file is reported, and not sent as a token.
    let looks_like_path = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| text.starts_with(start));
    (looks_like_path || path.is_file()).then_some(path)
}

#[derive(Default)]
struct Search {
    found: Option<(KaggleCredentials, Origin)>,
    /// Later places that also contain credentials.
    others: Vec<Origin>,
    warnings: Vec<String>,
    /// The files without credentials, each with the reason.
    skipped: Vec<String>,
    /// The error of the first defective place before the credentials that were found.
    defect: Option<CredentialsError>,
}

impl Search {
    /// Adds the credentials in a file, if the file exists. `lacks` describes a file without credentials.
    fn file(
        &mut self,
        path: &Path,
        read: impl FnOnce(&str) -> ParsedCredentials,
        lacks: &'static str,
    ) {
        let origin = Origin::File(path.to_path_buf());
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let is_first = self.found.is_none();
                let parsed = read(&text);
                if matches!(parsed, Ok(None)) {
                    let reason = if text.trim().is_empty() {
                        "is empty"
                    } else {
                        lacks
                    };
                    self.skipped.push(format!("{origin} {reason}"));
                }
                self.add(origin, parsed);
                if is_first && self.found.is_some() {
                    self.warnings.extend(readable_by_others(path));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => {
                let path = path.to_path_buf();
                self.defective(CredentialsError::Unreadable { path, cause });
            }
        }
    }

    /// Adds the result of parsing a place. The first credentials are used.
    fn add(&mut self, origin: Origin, parsed: ParsedCredentials) {
        match parsed {
            Ok(None) => {}
            Ok(Some(_)) if self.found.is_some() => self.others.push(origin),
            Ok(Some(credentials)) => self.found = Some((credentials, origin)),
            Err(reason) => self.defective(CredentialsError::Malformed { origin, reason }),
        }
    }

    /// Keeps the error of the first defective place, unless credentials were found before.
    fn defective(&mut self, error: CredentialsError) {
        if self.found.is_none() {
            self.defect.get_or_insert(error);
        }
    }

    /// Returns the first credentials that were found. Otherwise returns the error of the first defective place, or the
    /// error for missing credentials. `username` is true if `KAGGLE_USERNAME` is set, and `key` is true if `KAGGLE_KEY`
    /// is set.
    fn end(
        mut self,
        username: bool,
        key: bool,
        dirs: Vec<PathBuf>,
    ) -> Result<FoundCredentials, CredentialsError> {
        let half = match (username, key) {
            (true, false) => Some(("KAGGLE_USERNAME", "KAGGLE_KEY")),
            (false, true) => Some(("KAGGLE_KEY", "KAGGLE_USERNAME")),
            _ => None,
        };
        match self.found {
            Some((credentials, origin)) => {
                // The user may expect prep to use the credentials in the defective place.
                let skipped = self.defect.map(|defect| format!("skipped: {defect}"));
                self.warnings.extend(skipped);
                Ok(FoundCredentials {
                    credentials,
                    origin,
                    others: self.others,
                    warnings: self.warnings,
                })
            }
            None => Err(match (self.defect, half) {
                (Some(defect), _) => defect,
                (None, Some((set, missing))) => CredentialsError::Half { set, missing },
                (None, None) => CredentialsError::Missing {
                    dirs,
                    skipped: self.skipped,
                },
            }),
        }
    }
}

/// The credentials in a variable or file. `None` if there are none. The error completes the sentence "the credentials
/// in this place ...", for example "are not JSON".
pub(crate) type ParsedCredentials = Result<Option<KaggleCredentials>, &'static str>;

/// Prefix of Kaggle's tokens. A key with this prefix is a token.
const TOKEN_PREFIX: &str = "KGAT_";

pub(crate) fn token(text: &str) -> ParsedCredentials {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(KaggleCredentials::Token(sendable(text)?)))
}

/// Combines a user and a key. If the key is a token, no user is needed.
pub(crate) fn pair(username: Option<&str>, key: Option<&str>) -> ParsedCredentials {
    let given = |text: &&str| !text.is_empty();
    let username = username.map(str::trim).filter(given);
    match (username, key.map(str::trim).filter(given)) {
        (_, Some(key)) if key.starts_with(TOKEN_PREFIX) => token(key),
        (Some(username), Some(key)) => Ok(Some(KaggleCredentials::Key {
            username: username.to_owned(),
            key: sendable(key)?,
        })),
        _ => Ok(None),
    }
}

pub(crate) fn is_sendable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn sendable(text: &str) -> Result<Secret, &'static str> {
    match is_sendable(text) {
        true => Ok(Secret::new(text)),
        false => Err("contain spaces or other characters that are not valid in keys and tokens"),
    }
}

#[derive(Deserialize)]
struct KaggleJson {
    username: Option<String>,
    key: Option<String>,
}

/// Parses `kaggle.json`. `key` and `username` are the values of environment variables. `key` takes precedence over the key
/// in the file, but `username` is used only if the file contains no user name.
pub(crate) fn json(text: &str, username: Option<&str>, key: Option<&str>) -> ParsedCredentials {
    if text.trim().is_empty() {
        return Ok(None);
    }
    // The parser's message may quote the file, so it is dropped.
    let file: KaggleJson =
        serde_json::from_str(text).map_err(|_| "are not JSON with `username` and `key`")?;
    pair(
        file.username.as_deref().or(username),
        key.or(file.key.as_deref()),
    )
}

/// Parses the file that `kaggle auth login` writes. Returns `None` if the file is empty or contains no refresh token.
pub(crate) fn login(path: &Path, text: &str) -> ParsedCredentials {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let login =
        Login::parse(path, text).ok_or("are not the JSON that `kaggle auth login` writes")?;
    let can_renew = login.refresh_token().is_some();
    Ok(can_renew.then_some(KaggleCredentials::Login(login)))
}

pub(crate) fn readable_by_others(path: &Path) -> Option<String> {
    let mode = path.metadata().ok()?.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "{path} is readable by other users; run `chmod 600 {path}`",
            path = path.display()
        )
    })
}
