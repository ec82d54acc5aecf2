//! Credentials for Kaggle's API: what they are ([`Credentials`]), and where they were found ([`Found`]).
//!
//! ```text
//! find    the places in which Kaggle's own tools keep credentials, in their order
//! parts   what one variable or file holds
//! login   the token of `kaggle auth login`, which expires and is renewed
//! ```

mod find;
mod login;
pub(crate) mod parts;

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use thiserror::Error;

use crate::secret::Secret;

pub use find::{Places, find};
pub use login::Login;

/// What is sent to the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A user and a key, sent as HTTP Basic.
    Key { username: String, key: Secret },
    /// An API token, sent as a bearer token.
    Token(Secret),
    /// A token that expires, sent as a bearer token and renewed by prep.
    Login(Login),
}

impl Credentials {
    /// Removes the secrets from `text`, in each form in which they are sent, in case a server returns them.
    pub(crate) fn scrub(&self, text: &str) -> String {
        match self {
            Credentials::Key { username, key } => {
                let pair = format!("{username}:{}", key.expose());
                let sent = base64::engine::general_purpose::STANDARD.encode(pair);
                key.scrub(&text.replace(&sent, "***"))
            }
            Credentials::Token(token) => token.scrub(text),
            Credentials::Login(login) => login.scrub(text),
        }
    }

    /// A name of the account that holds no secret: the user, or a digest of the token.
    pub fn account(&self) -> String {
        match self {
            Credentials::Key { username, .. } => username.clone(),
            Credentials::Token(token) => {
                let digest =
                    blake3::derive_key("prep: account of a token", token.expose().as_bytes());
                let digest = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
                format!("token-{}", digest.collect::<String>())
            }
            Credentials::Login(login) => login.username().unwrap_or_else(|| "login".to_owned()),
        }
    }
}

/// A place of credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Environment variables.
    Variables(&'static str),
    /// A file.
    File(PathBuf),
    /// The program that links this library.
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

/// Credentials that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What is sent to the API.
    pub credentials: Credentials,
    /// Where they came from.
    pub origin: Origin,
    /// Places later in the order that hold credentials, too. They are not used.
    pub others: Vec<Origin>,
    /// What the user should know, such as a file that others can read. One line each.
    pub warnings: Vec<String>,
}

impl From<Credentials> for Found {
    fn from(credentials: Credentials) -> Found {
        Found {
            credentials,
            origin: Origin::Program,
            others: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Why there are no credentials.
#[derive(Debug, Error)]
pub enum CredentialsError {
    #[error(
        "no Kaggle credentials; make an API token at https://www.kaggle.com/settings/api, then set KAGGLE_API_TOKEN, or \
         KAGGLE_USERNAME and KAGGLE_KEY, or save it as {}", files(.0)
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
        "the credentials {origin} {reason}; make an API token at https://www.kaggle.com/settings/api"
    )]
    Malformed {
        origin: Origin,
        reason: &'static str,
    },
}

/// Names `access_token` and `kaggle.json` in each directory once.
fn files(dirs: &[PathBuf]) -> String {
    let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    let dirs = match dirs.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => dirs.concat(),
    };
    format!("access_token, access_token.txt or kaggle.json in {dirs}")
}
