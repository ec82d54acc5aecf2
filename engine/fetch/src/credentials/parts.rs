//! Parses the credentials in variables and files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Deserialize;

use crate::credentials::{KaggleCredentials, Login};
use crate::secret::Secret;

/// The credentials in a variable or file. `None` if there are none, for example in a file that contains only other
/// settings. The error is the end of a message.
pub(crate) type ParsedCredentials = Result<Option<KaggleCredentials>, &'static str>;

/// Prefix of Kaggle's tokens. A key with this prefix is treated as a token.
const TOKEN_PREFIX: &str = "KGAT_";

/// Parses a token. Ignores white space around it.
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

/// Returns whether a text can be sent in a header.
pub(crate) fn is_sendable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns a secret that can be sent in a header.
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

/// Parses `kaggle.json`, which may contain only other settings. A key from a variable takes precedence over the key in
/// the file. A user from a variable is used only if the file has no user.
pub(crate) fn json(text: &str, username: Option<&str>, key: Option<&str>) -> ParsedCredentials {
    if text.trim().is_empty() {
        return Ok(None);
    }
    // The parser's message is dropped, because it may quote the file.
    let file: KaggleJson =
        serde_json::from_str(text).map_err(|_| "are not JSON with `username` and `key`")?;
    pair(
        file.username.as_deref().or(username),
        key.or(file.key.as_deref()),
    )
}

/// Parses the login file `credentials.json`.
pub(crate) fn login(path: &Path, text: &str) -> ParsedCredentials {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let login =
        Login::parse(path, text).ok_or("are not the JSON that `kaggle auth login` writes")?;
    let can_renew = login.refresh_token().is_some();
    Ok(can_renew.then_some(KaggleCredentials::Login(login)))
}

/// Returns a warning if other users can read a file.
pub(crate) fn readable_by_others(path: &Path) -> Option<String> {
    let mode = path.metadata().ok()?.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "{path} is readable by other users; run `chmod 600 {path}`",
            path = path.display()
        )
    })
}
