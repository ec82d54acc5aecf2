//! Who asks: a user with a key, or a bearer token, from the places where Kaggle's own tools keep them.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use thiserror::Error;

use crate::secret::Secret;

/// What the API is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// `KAGGLE_USERNAME` and `KAGGLE_KEY`, or `kaggle.json`.
    Key { username: String, key: Secret },
    /// `KAGGLE_API_TOKEN`, or `access_token`.
    Token(Secret),
}

impl Credentials {
    /// `text` without the secret in any form in which it is sent, should a server send it back.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let text = match self {
            Credentials::Key { username, key } => {
                let pair = format!("{username}:{}", key.expose());
                let sent = base64::engine::general_purpose::STANDARD.encode(pair);
                text.replace(&sent, "***")
            }
            Credentials::Token(_) => text.to_owned(),
        };
        self.secret().scrub(&text)
    }

    pub(crate) fn secret(&self) -> &Secret {
        match self {
            Credentials::Key { key, .. } => key,
            Credentials::Token(token) => token,
        }
    }
}

/// Where credentials came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Environment variables.
    Variables(&'static str),
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variables(names) => formatter.write_str(names),
            Origin::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// Credentials that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What to show the API.
    pub credentials: Credentials,
    /// Where they came from.
    pub origin: Origin,
    /// What the user should know, such as a file that others can read. One line each.
    pub warnings: Vec<String>,
}

/// Why there are no credentials.
#[derive(Debug, Error)]
pub enum CredentialsError {
    #[error(
        "no Kaggle credentials; make an API token at https://www.kaggle.com/settings, then set KAGGLE_API_TOKEN, or \
         KAGGLE_USERNAME and KAGGLE_KEY, or save it as {}", list(.0)
    )]
    Missing(Vec<PathBuf>),
    #[error("{set} is set, but {missing} is not; set both, or neither")]
    Half {
        set: &'static str,
        missing: &'static str,
    },
    #[error("cannot read the credentials {path}: {cause}")]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error(
        "the credentials {path} {reason}; download the file anew from https://www.kaggle.com/settings"
    )]
    Malformed { path: PathBuf, reason: &'static str },
}

/// Files, each name and each folder once: the same names were looked for in every folder.
fn list(paths: &[PathBuf]) -> String {
    let distinct = |part: fn(&Path) -> Option<&Path>| {
        let mut parts: Vec<String> = Vec::new();
        for part in paths.iter().filter_map(|path| part(path)) {
            let shown = part.display().to_string();
            if !parts.contains(&shown) {
                parts.push(shown);
            }
        }
        match parts.split_last() {
            Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => parts.concat(),
        }
    };
    let names = distinct(|path| path.file_name().map(Path::new));
    format!("{names} in {}", distinct(Path::parent))
}

/// Looks in the environment first, then in the folders: each for `kaggle.json`, `access_token`, `access_token.txt`.
/// If `KAGGLE_CONFIG_DIR` is set, it stands in for `config_dirs`.
///
/// # Errors
/// [`CredentialsError`]: nothing found, or what was found first cannot be used.
pub fn find(
    env: &dyn Fn(&str) -> Option<String>,
    config_dirs: &[PathBuf],
) -> Result<Found, CredentialsError> {
    let env = |name: &str| {
        let value = env(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    let from_variables = |credentials, names| {
        Ok(Found {
            credentials,
            origin: Origin::Variables(names),
            warnings: Vec::new(),
        })
    };
    let half = |set, missing| Err(CredentialsError::Half { set, missing });
    match (env("KAGGLE_USERNAME"), env("KAGGLE_KEY")) {
        (Some(username), Some(key)) => {
            let key = Secret::new(key);
            return from_variables(
                Credentials::Key { username, key },
                "KAGGLE_USERNAME and KAGGLE_KEY",
            );
        }
        (username, key) => {
            if let Some(token) = env("KAGGLE_API_TOKEN") {
                return from_variables(Credentials::Token(Secret::new(token)), "KAGGLE_API_TOKEN");
            }
            if username.is_some() {
                return half("KAGGLE_USERNAME", "KAGGLE_KEY");
            }
            if key.is_some() {
                return half("KAGGLE_KEY", "KAGGLE_USERNAME");
            }
        }
    }
    let dirs =
        env("KAGGLE_CONFIG_DIR").map_or_else(|| config_dirs.to_vec(), |dir| vec![dir.into()]);
    let mut looked = Vec::new();
    for dir in dirs {
        for name in ["kaggle.json", "access_token", "access_token.txt"] {
            let path = dir.join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) => return from_file(path, &text),
                Err(error) if error.kind() == ErrorKind::NotFound => looked.push(path),
                Err(cause) => return Err(CredentialsError::Unreadable { path, cause }),
            }
        }
    }
    Err(CredentialsError::Missing(looked))
}

#[derive(serde::Deserialize)]
struct KaggleJson {
    username: String,
    key: String,
}

fn from_file(path: PathBuf, text: &str) -> Result<Found, CredentialsError> {
    let malformed = |reason| CredentialsError::Malformed {
        path: path.clone(),
        reason,
    };
    let credentials = if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        // The parser's message may quote the file: it is not passed on.
        let parsed: KaggleJson = serde_json::from_str(text)
            .map_err(|_| malformed("are not JSON with `username` and `key`"))?;
        Credentials::Key {
            username: parsed.username,
            key: Secret::new(parsed.key.trim()),
        }
    } else {
        Credentials::Token(Secret::new(text.trim()))
    };
    if credentials.secret().expose().is_empty() {
        return Err(malformed("are empty"));
    }
    Ok(Found {
        credentials,
        warnings: readable_by_others(&path).into_iter().collect(),
        origin: Origin::File(path),
    })
}

fn readable_by_others(path: &Path) -> Option<String> {
    let mode = path.metadata().ok()?.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "{path} can be read by other users; `chmod 600 {path}` prevents that",
            path = path.display()
        )
    })
}
