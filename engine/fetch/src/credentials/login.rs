//! The file `credentials.json` of `kaggle auth login`. It contains an access token that is valid for some hours, and a
//! refresh token. New access tokens are requested with the refresh token.
//!
//! Several processes may renew the access token in this file at the same time, because a refresh token remains valid after
//! its use.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fmt, io};

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

use crate::credentials::{Secret, find};

/// Tokens are renewed early, so that they stay valid even if the local clock is some minutes slow.
const RENEWAL_MARGIN: Duration = Duration::from_secs(10 * 60);

/// A new token is treated as valid for at most this time, even if the server states a longer one.
const MAX_VALIDITY: Duration = Duration::from_secs(30 * 24 * 3600);

/// The tokens of a login file. Clones refer to the same tokens.
#[derive(Clone)]
pub struct Login(Arc<Shared>);

struct Shared {
    path: PathBuf,
    tokens: Mutex<Tokens>,
    renewing: AsyncMutex<()>,
}

/// The content of the file. Unknown fields are preserved.
#[derive(Clone, Serialize, Deserialize)]
struct Tokens {
    refresh_token: Option<String>,
    access_token: Option<String>,
    access_token_expiration: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(flatten)]
    rest: serde_json::Map<String, serde_json::Value>,
}

impl Login {
    pub(crate) fn parse(path: &Path, text: &str) -> Option<Login> {
        let tokens = serde_json::from_str(text).ok()?;
        Some(Login(Arc::new(Shared {
            path: path.to_path_buf(),
            tokens: Mutex::new(tokens),
            renewing: AsyncMutex::default(),
        })))
    }

    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.0.tokens.lock()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn username(&self) -> Option<String> {
        self.tokens()
            .username
            .clone()
            .filter(|name| !name.is_empty())
    }

    pub(crate) fn refresh_token(&self) -> Option<Secret> {
        let token = self.tokens().refresh_token.clone()?;
        (!token.is_empty()).then(|| Secret::new(token))
    }

    /// Returns the access token, unless it expires soon after `now`.
    pub(crate) fn token(&self, now: SystemTime) -> Option<Secret> {
        let tokens = self.tokens();
        let token = tokens
            .access_token
            .clone()
            .filter(|token| find::is_sendable(token))?;
        let expires = expiration(tokens.access_token_expiration.as_deref()?)?;
        (expires > now + RENEWAL_MARGIN).then(|| Secret::new(token))
    }

    /// Waits until no other task renews the token. While the returned guard exists, no other task renews it. Reads the login
    /// file again, because another process may have renewed the token.
    pub(crate) async fn renewing(&self) -> AsyncMutexGuard<'_, ()> {
        let guard = self.0.renewing.lock().await;
        let text = std::fs::read_to_string(&self.0.path).unwrap_or_default();
        if let Ok(tokens) = serde_json::from_str(&text) {
            *self.tokens() = tokens;
        }
        guard
    }

    /// Stores a new access token that is valid for `valid_for` from `now`, and writes it to the login file. This process
    /// uses the token even if the file cannot be written.
    pub(crate) fn renew(&self, token: String, now: SystemTime, valid_for: Duration) {
        let expires = Timestamp::try_from(now + valid_for.min(MAX_VALIDITY)).unwrap_or_default();
        let tokens = {
            let mut tokens = self.tokens();
            tokens.access_token = Some(token);
            // The format that Python writes and Kaggle's SDK reads.
            tokens.access_token_expiration =
                Some(expires.strftime("%Y-%m-%dT%H:%M:%S.%6f+00:00").to_string());
            tokens.clone()
        };
        let _ = write(&self.0.path, &tokens);
    }

    pub(crate) fn scrub(&self, text: &str) -> String {
        let tokens = self.tokens();
        let secrets = [&tokens.refresh_token, &tokens.access_token]
            .into_iter()
            .flatten();
        secrets.fold(text.to_owned(), |text, secret| {
            Secret::new(secret.clone()).scrub(&text)
        })
    }
}

/// Parses an expiration time in the format of Python's `isoformat`. A time without a zone is UTC.
fn expiration(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let timestamp: Timestamp = text.parse().or_else(|_| format!("{text}Z").parse()).ok()?;
    Some(timestamp.into())
}

/// Replaces the content of the login file atomically. Keeps a symbolic link and replaces its target.
fn write(path: &Path, tokens: &Tokens) -> io::Result<()> {
    let path = path.canonicalize()?;
    let dir = path.parent().unwrap_or(Path::new("."));
    // Temporary files have mode 600, so other users cannot read the tokens.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(serde_json::to_string_pretty(tokens)?.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Login({})", self.0.path.display())
    }
}

impl PartialEq for Login {
    fn eq(&self, other: &Login) -> bool {
        self.0.path == other.0.path
    }
}

impl Eq for Login {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiration_times_are_parsed_in_the_format_of_python() {
        let time = "2026-11-25T14:53:08Z".parse::<Timestamp>().unwrap();
        for text in [
            "2026-11-25T14:53:08+00:00",
            "2026-11-25T15:53:08+01:00",
            "2026-11-25T14:53:08.000000+00:00",
            "2026-11-25T14:53:08",
            "2026-11-25T14:53:08Z",
        ] {
            assert_eq!(expiration(text), Some(time.into()), "{text}");
        }
        for text in ["", "soon", "2026-11-25"] {
            assert_eq!(expiration(text), None, "{text}");
        }
    }
}
