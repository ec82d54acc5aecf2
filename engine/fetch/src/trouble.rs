//! Failures of a request that may succeed if the request is repeated, and the error messages of servers.

use std::time::Duration;

use prep_core::units;
use thiserror::Error;

use crate::credentials::KaggleCredentials;

/// A failure after which a request can be repeated.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Trouble {
    /// The connection could not be established.
    #[error("no connection to {host}: {cause}")]
    Unreachable {
        host: String,
        cause: String,
        /// Time since the first request to the host, if it never answered.
        unanswered: Option<Duration>,
    },
    /// The connection broke.
    #[error("the connection to {host} broke at byte {offset}: {cause}")]
    Broken {
        host: String,
        offset: u64,
        cause: String,
    },
    /// The server sent nothing for a long time.
    #[error("{host} sent nothing for {}, at byte {offset}", units::approximate_duration(*.time))]
    Stalled {
        host: String,
        offset: u64,
        time: Duration,
        /// Time since the first request to the host, if it never answered.
        unanswered: Option<Duration>,
    },
    /// The server sent less than the minimum rate.
    #[error(
        "{host} sent only {} in {}, at byte {offset}",
        units::bytes(*.bytes), units::approximate_duration(*.time)
    )]
    Slow {
        host: String,
        offset: u64,
        bytes: u64,
        time: Duration,
    },
    /// The answer ended early.
    #[error("{host} ended its answer at byte {offset}, {} too early", units::bytes(*.missing))]
    Short {
        host: String,
        offset: u64,
        missing: u64,
    },
    /// The server answered with a status that may be temporary.
    #[error("{host} answered {code}")]
    Status {
        host: String,
        code: u16,
        /// The pause that the server requested.
        retry_after: Option<Duration>,
    },
    /// The object store rejected a signed address.
    #[error("{host} does not accept the signed address that Kaggle provided ({code})")]
    Address { host: String, code: u16 },
    /// The server sent a range that was not requested.
    #[error("{host} sent different bytes than requested: {what}")]
    OtherRange { host: String, what: String },
    /// The server does not support ranges.
    #[error("{host} sent the whole bundle instead of a range of it")]
    RangeIgnored { host: String },
}

impl Trouble {
    /// Returns the pause that the server requested.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Trouble::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns the time since the first request to the host, if it never answered.
    pub(crate) fn unanswered(&self) -> Option<Duration> {
        match self {
            Trouble::Unreachable { unanswered, .. } | Trouble::Stalled { unanswered, .. } => {
                *unanswered
            }
            _ => None,
        }
    }

    /// Returns whether fewer connections may help.
    pub(crate) fn is_overload(&self) -> bool {
        matches!(
            self,
            Trouble::Slow { .. }
                | Trouble::Status {
                    code: 429 | 500..,
                    ..
                }
        )
    }
}

/// Returns the causes of a transport error without the error's URL, which may contain a signature.
pub(crate) fn cause(error: reqwest::Error) -> String {
    prep_core::chain(&error.without_url())
}

/// Maximum length of a quoted message in characters.
const MAX_CHARACTERS: usize = 200;

/// Returns the `message` field of the API's JSON, or the beginning of a plain text. Returns an empty text for a web
/// page. Removes control characters, and secrets that the server may have sent back.
pub(crate) fn of_api(body: &str, credentials: &KaggleCredentials) -> String {
    let text = match serde_json::from_str::<serde_json::Value>(body) {
        Ok(json) => of_json(&json).unwrap_or_default().to_owned(),
        Err(_) if body.trim_start().starts_with('<') || is_binary(body) => String::new(),
        Err(_) => body.to_owned(),
    };
    let line: String = credentials
        .scrub(&text)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_CHARACTERS)
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the error message in a JSON response. Some servers put it into an object `error`.
fn of_json(json: &serde_json::Value) -> Option<&str> {
    let error = json.get("error");
    let described = ["message", "error_description"]
        .iter()
        .find_map(|key| json.get(key)?.as_str());
    described
        .or_else(|| error?.get("message")?.as_str())
        .or_else(|| error?.as_str())
}

/// Returns whether a body is not text: it contains invalid UTF-8, or control characters that do not occur in text.
fn is_binary(body: &str) -> bool {
    body.chars()
        .any(|c| c == char::REPLACEMENT_CHARACTER || c < '\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn messages_are_one_line_without_secrets() {
        let credentials = KaggleCredentials::Token(Secret::new("hush"));
        for (body, expected) in [
            (
                r#"{"code":403,"message":"You must\naccept"}"#,
                "You must accept",
            ),
            (r#"{"code":403}"#, ""),
            (
                r#"{"error":{"code":403,"message":"Permission hush denied"}}"#,
                "Permission *** denied",
            ),
            (r#"{"error":"invalid_token"}"#, "invalid_token"),
            (
                r#"{"error":"invalid_token","error_description":"It expired"}"#,
                "It expired",
            ),
            ("PK\u{3}\u{4}\u{14}\0\0", ""),
            ("\u{fffd}\u{fffd}PNG", ""),
            ("bad token hush!", "bad token ***!"),
            ("\u{1b}[31mred", "[31mred"),
            ("<html>hush</html>", ""),
            ("", ""),
        ] {
            assert_eq!(of_api(body, &credentials), expected);
        }
        assert_eq!(
            of_api(&"x".repeat(1000), &credentials).len(),
            MAX_CHARACTERS
        );
    }
}
