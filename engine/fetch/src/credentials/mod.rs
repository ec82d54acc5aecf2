//! Credentials for Kaggle's API, and the place where they were found.
//!
//! ```text
//! find    searches the places in which Kaggle's own tools store credentials, and parses their contents
//! login   the tokens of `kaggle auth login`: they expire and are renewed
//! ```

pub(crate) mod find;
mod login;

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use prep_cache::hex;
use prep_core::Remedy;
use thiserror::Error;

pub use find::{CredentialVariables, find_credentials};
pub use login::Login;

/// Credentials for the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KaggleCredentials {
    /// A user and a key, sent as HTTP Basic authentication.
    Key {
        /// The user's name.
        username: String,
        /// The API key.
        key: Secret,
    },
    /// An API token, sent as a bearer token.
    Token(Secret),
    /// A token that expires, sent as a bearer token and renewed by prep.
    Login(Login),
}

impl KaggleCredentials {
    /// Replaces the secrets in a server's response, which may contain them in the form in which they were sent.
    pub(crate) fn scrub(&self, text: &str) -> String {
        match self {
            KaggleCredentials::Key { username, key } => {
                let pair = format!("{username}:{}", key.expose());
                let sent = base64::engine::general_purpose::STANDARD.encode(pair);
                key.scrub(&text.replace(&sent, "***"))
            }
            KaggleCredentials::Token(token) => token.scrub(text),
            KaggleCredentials::Login(login) => login.scrub(text),
        }
    }

    /// Returns a name of the account without a secret: the user's name, or a digest of the token.
    pub fn account(&self) -> String {
        match self {
            KaggleCredentials::Key { username, .. } => username.clone(),
            KaggleCredentials::Token(token) => {
                let digest =
                    blake3::derive_key("prep: account of a token", token.expose().as_bytes());
                format!("token-{}", hex(digest.get(..8).unwrap_or_default()))
            }
            KaggleCredentials::Login(login) => {
                login.username().unwrap_or_else(|| "login".to_owned())
            }
        }
    }
}

/// The place where credentials were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Environment variables.
    Variables(&'static str),
    /// A file.
    File(PathBuf),
    /// The program that uses this library.
    Program,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variables(names) => formatter.write_str(names),
            Origin::File(path) => write!(formatter, "{}", path.display()),
            Origin::Program => formatter.write_str("the calling program"),
        }
    }
}

/// Credentials, and the place where they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCredentials {
    /// The credentials.
    pub credentials: KaggleCredentials,
    /// The place where they were found.
    pub origin: Origin,
    /// Places of lower priority that also contain credentials, which are not used.
    pub others: Vec<Origin>,
    /// One-line warnings for the user, for example about a file that other users can read.
    pub warnings: Vec<String>,
}

impl From<KaggleCredentials> for FoundCredentials {
    fn from(credentials: KaggleCredentials) -> FoundCredentials {
        FoundCredentials {
            credentials,
            origin: Origin::Program,
            others: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The reason why no credentials can be used.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum CredentialsError {
    #[error("no Kaggle credentials{}", in_skipped(.skipped))]
    Missing {
        /// The directories that were searched.
        dirs: Vec<PathBuf>,
        /// The files that exist but contain no credentials, each with the reason.
        skipped: Vec<String>,
    },
    #[error("{set} is set, but {missing} is not")]
    Half {
        set: &'static str,
        missing: &'static str,
    },
    #[error("cannot read the credentials {path}")]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("the credentials {origin} {reason}")]
    Malformed {
        origin: Origin,
        reason: &'static str,
    },
}

impl CredentialsError {
    /// Returns an action that the user can take.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            CredentialsError::Missing { dirs, .. } => format!(
                "create an API token at https://www.kaggle.com/settings/api, then set KAGGLE_API_TOKEN, or KAGGLE_USERNAME and \
                 KAGGLE_KEY, or save it as {}",
                files(dirs)
            )
            .into(),
            CredentialsError::Half { .. } => "set both, or neither".into(),
            CredentialsError::Malformed { .. } => {
                "create an API token at https://www.kaggle.com/settings/api".into()
            }
            CredentialsError::Unreadable { cause, .. } => match cause.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    "make this file and its directory readable for this user, with `chmod` or `chown`, or remove the file".into()
                }
                std::io::ErrorKind::NotFound => {
                    "set KAGGLE_API_TOKEN to a token, or to the path of an existing file".into()
                }
                _ => return None,
            },
        })
    }
}

fn in_skipped(skipped: &[String]) -> String {
    match skipped {
        [] => String::new(),
        skipped => format!(": {}", skipped.join("; ")),
    }
}

/// Lists the files in which a user can save credentials, with their directories.
fn files(dirs: &[PathBuf]) -> String {
    let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    let dirs = match dirs.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => dirs.concat(),
    };
    format!("access_token, access_token.txt or kaggle.json in {dirs}")
}

/// A key or token, which neither `Debug` output nor messages contain.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces the secret in `text` with a placeholder, because a server may send it back.
    pub(crate) fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() {
            text.to_owned()
        } else {
            text.replace(&self.0, "***")
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(***)")
    }
}
