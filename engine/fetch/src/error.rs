//! Errors of downloads, and failures after which a request is repeated ([`Trouble`]). No message contains a secret, a
//! signature, or the query string of a URL.

use std::fmt;
use std::io;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prep_core::{Failure, Remedy, StepError, WithRemedy, units};
use prep_formats::zip::ZipError;
use thiserror::Error;

use crate::credentials::{CredentialsError, KaggleCredentials};
use crate::free_space;
use crate::wire::connect::NoConnection;

/// The reason why a bundle was not fetched.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum FetchError {
    #[error("the rules of {id} are not accepted")]
    RulesNotAccepted { id: String },
    #[error(
        "{} does not accept the credentials of {used} (401){}{}",
        .host.of_api(), server_message(.message), unused(.others)
    )]
    Unauthorised {
        host: Server,
        used: String,
        others: Vec<String>,
        can_log_in: bool,
        message: String,
    },
    #[error("the login in {path} cannot be renewed{}", server_message(.message))]
    LoginExpired { path: PathBuf, message: String },
    #[error("{host} returned its login page")]
    LoginPage { host: Server },
    #[error(
        "this account cannot take part in {id}: {} denies the permission `competitions.participate`{}",
        .host.of_api(), server_message(.message)
    )]
    MayNotParticipate {
        host: Server,
        id: String,
        message: String,
    },
    #[error("{host} does not respond like Kaggle's API: it sent {got}")]
    Unexpected { host: Server, got: String },
    #[error(
        "{} denies access to the bundle of {id} (403){}",
        .host.of_api(), server_message(.message)
    )]
    Forbidden {
        host: Server,
        id: String,
        message: String,
    },
    #[error("{} has no competition {id} (404){}", .host.of_api(), server_message(.message))]
    NoSuchCompetition {
        host: Server,
        id: String,
        message: String,
    },
    #[error(
        "too many requests: {host} {}{}",
        describe_pause(*.wait), server_message(.message)
    )]
    Quota {
        host: Server,
        wait: Option<Duration>,
        message: String,
    },
    #[error(
        "{host} answered {code} and asks to wait {}", units::approximate_duration(*.wait)
    )]
    Unavailable {
        host: Server,
        code: u16,
        wait: Duration,
    },
    #[error("{host} has no file {path} ({code})")]
    NoFile {
        host: Server,
        path: String,
        code: u16,
    },
    #[error("{host} answered {code}{}", server_message(.message))]
    Refused {
        host: Server,
        code: u16,
        message: String,
    },
    #[error("got {got}, expected {expected}, from {host}")]
    NotZip {
        host: Server,
        got: String,
        expected: String,
    },
    #[error("the redirect from {from} to {to} is not followed: {reason}")]
    Redirect {
        from: Server,
        to: String,
        reason: &'static str,
    },
    #[error("the address of {item} uses plain http, and there is no checksum to verify the file")]
    Plain { item: String },
    #[error(
        "{host} does not send the length of the file, so a truncated file could not be detected"
    )]
    NoLength { host: Server },
    #[error(
        "{host} sends the file with the header `Content-Encoding: {encoding}`, although no encoding was requested"
    )]
    Encoded { host: Server, encoding: String },
    #[error(
        "{host} sends neither a strong ETag nor an MD5, so ranges of the file may belong to different versions"
    )]
    NoValidator { host: Server },
    #[error("{item} now has MD5 {found}, but the published MD5 is {expected}: {owner} changed it")]
    OtherMd5 {
        item: String,
        owner: String,
        found: String,
        expected: String,
    },
    #[error("{item} arrived damaged {attempts} times: its MD5 is {found}, expected {expected}")]
    Damaged {
        item: String,
        found: String,
        expected: String,
        attempts: u32,
        /// Whether `expected` is the MD5 that the server sent. Otherwise `expected` is the published MD5.
        server_sent_md5: bool,
    },
    #[error("the bundle is not a complete zip archive: {reason}")]
    Incomplete { reason: String },
    #[error("the server replaced the bundle {times} times while it was fetched")]
    KeepsChanging { times: u32 },
    #[error("gave up after {attempts} attempts in a row")]
    GaveUp {
        #[source]
        cause: Box<Trouble>,
        attempts: u32,
        kept: String,
    },
    #[error(
        "no space left for {path}: {} needed, {} free",
        units::bytes(*.needed), units::bytes(*.free)
    )]
    NoSpace {
        path: PathBuf,
        needed: u64,
        free: u64,
    },
    #[error("the server reports that {item} has {}, which is more than prep can fetch", units::bytes(*.bytes))]
    TooLong { item: String, bytes: u64 },
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the disk returns different bytes than those written to {path}, at byte {offset}")]
    Disk { path: PathBuf, offset: u64 },
    #[error("the bundle of {id} cannot be listed")]
    Listing {
        id: String,
        #[source]
        cause: ZipError,
    },
    #[error("the bundle of {id} has no member {member}")]
    NoMember { id: String, member: String },
    #[error("the member {member} of the bundle of {id} arrived damaged: {cause}")]
    DamagedMember {
        id: String,
        member: String,
        cause: String,
    },
    #[error("`{pattern}` is not a valid pattern for members of a bundle: {cause}")]
    Pattern { pattern: String, cause: String },
    #[error("downloads are not allowed")]
    NotAllowed,
    #[error("cannot set up downloads: {cause}")]
    Setup { cause: String },
    /// Another attempt would fail for the same reason.
    #[error("{0}")]
    NoConnection(Box<NoConnection>),
    #[error("{ENDPOINT_VARIABLE} is `{value}`, which {cause}")]
    Endpoint { value: String, cause: String },
    #[error(
        "{variable} is `{value}`, which is not the address of an http or https proxy with a valid port"
    )]
    ProxyAddress {
        variable: &'static str,
        value: String,
    },
    #[error("{variable} names {path}, which {reason}")]
    CertificateFile {
        variable: &'static str,
        path: PathBuf,
        reason: String,
    },
    /// The certificates of servers cannot be checked, for example because the system has no root certificates.
    #[error("cannot check the certificates of servers: {cause}")]
    Certificates { cause: String },
    #[error("{0}")]
    Credentials(#[from] CredentialsError),
    #[error("{0}")]
    Store(#[from] prep_cache::StoreError),
    #[error("stopped")]
    Cancelled,
}

fn server_message(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(": {message}"),
    }
}

fn describe_pause(wait: Option<Duration>) -> String {
    match wait {
        Some(wait) => format!("asks to wait {}", units::approximate_duration(wait)),
        None => "accepts no more for now (429)".to_owned(),
    }
}

fn unused(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!("; not used: {}", others.join(", ")),
    }
}

/// The variable that names the server of the API in place of Kaggle.
pub const ENDPOINT_VARIABLE: &str = "KAGGLE_API_ENDPOINT";

/// A server. Messages contain its host, and [`ENDPOINT_VARIABLE`] if the server is used because of this variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub(crate) host: String,
    pub(crate) role: ServerRole,
}

/// Whether a server is used because of [`ENDPOINT_VARIABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerRole {
    /// The variable names the server.
    Endpoint,
    /// The server that the variable names redirected to this one.
    RedirectTarget,
    /// Kaggle, its object store, or the host of a URL in a pipeline.
    Other,
}

impl Server {
    /// Returns the name of a server of the API: `Kaggle`, or the server in its place.
    fn of_api(&self) -> String {
        match self.role {
            ServerRole::Endpoint => self.to_string(),
            _ => "Kaggle".to_owned(),
        }
    }

    /// Returns whether another value of [`ENDPOINT_VARIABLE`] would lead to another server.
    pub(crate) fn is_of_endpoint(&self) -> bool {
        self.role != ServerRole::Other
    }
}

impl From<String> for Server {
    fn from(host: String) -> Server {
        Server {
            host,
            role: ServerRole::Other,
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.host)?;
        match self.role {
            ServerRole::Endpoint => write!(formatter, " ({ENDPOINT_VARIABLE})"),
            ServerRole::RedirectTarget => {
                write!(formatter, " (redirect from {ENDPOINT_VARIABLE})")
            }
            ServerRole::Other => Ok(()),
        }
    }
}

pub(crate) const CORRECT_ENDPOINT: &str =
    "unset KAGGLE_API_ENDPOINT, or set it to the https URL of a server with Kaggle's API";

pub(crate) const CHECK_NETWORK: &str = "check the network connection and the address";

const TOKEN_PAGE: &str = "https://www.kaggle.com/settings/api";

impl FetchError {
    /// Returns whether fetching a bundle's files one by one may succeed after range requests failed with this error.
    pub(crate) fn may_succeed_one_by_one(&self) -> bool {
        match self {
            FetchError::Listing { .. }
            | FetchError::NotZip { .. }
            | FetchError::NoLength { .. }
            | FetchError::NoValidator { .. } => true,
            FetchError::GaveUp { cause, .. } => matches!(**cause, Trouble::RangeIgnored { .. }),
            _ => false,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path, cause: io::Error) -> FetchError {
        let path = path.to_path_buf();
        match cause.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FetchError::NoSpace {
                needed: 0,
                free: free_space(&path).unwrap_or(0),
                path,
            },
            _ => FetchError::Io {
                action,
                path,
                cause,
            },
        }
    }

    /// Adds the required number of bytes to an error about a full disk.
    pub(crate) fn needing(mut self, bytes: u64) -> FetchError {
        if let FetchError::NoSpace { needed, .. } = &mut self {
            *needed = bytes;
        }
        self
    }

    pub(crate) fn with_message(mut self, text: String) -> FetchError {
        if let FetchError::Quota { message, .. } = &mut self {
            *message = text;
        }
        self
    }

    /// Returns the server whose response caused the error, or that never responded.
    fn server(&self) -> Option<&Server> {
        match self {
            FetchError::Unauthorised { host, .. }
            | FetchError::LoginPage { host }
            | FetchError::MayNotParticipate { host, .. }
            | FetchError::Unexpected { host, .. }
            | FetchError::Forbidden { host, .. }
            | FetchError::NoSuchCompetition { host, .. }
            | FetchError::Refused { host, .. }
            | FetchError::NotZip { host, .. }
            | FetchError::Redirect { from: host, .. } => Some(host),
            FetchError::GaveUp { cause, .. } => match &**cause {
                Trouble::Stalled {
                    host,
                    unanswered: Some(_),
                    ..
                } => Some(host),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns an action that the user can take.
    pub fn remedy(&self) -> Option<Remedy> {
        if self.server().is_some_and(Server::is_of_endpoint) {
            return Some(match self {
                FetchError::Unauthorised { used, .. } => format!(
                    "replace the credentials of {used} with those for this server; or {CORRECT_ENDPOINT}"
                )
                .into(),
                _ => CORRECT_ENDPOINT.into(),
            });
        }
        Some(match self {
            FetchError::RulesNotAccepted { id } => format!(
                "accept them at https://www.kaggle.com/competitions/{id}/rules; for a closed competition, its Rules or Data tab \
                 may still offer this to an account with a verified phone number"
            )
            .into(),
            FetchError::Unauthorised { can_log_in: true, .. } => {
                "log in again with `kaggle auth login`".into()
            }
            FetchError::Unauthorised { .. } => format!(
                "create a new API token at {TOKEN_PAGE}; creating a newer token may have revoked the current one"
            )
            .into(),
            FetchError::LoginExpired { .. } => {
                "log in again with `kaggle auth login`, or set KAGGLE_API_TOKEN".into()
            }
            FetchError::LoginPage { .. } => format!("create a new API token at {TOKEN_PAGE}").into(),
            FetchError::MayNotParticipate { .. } => {
                "verify the phone number of the account and use a token without restrictions; some old competitions no \
                 longer admit new accounts"
                    .into()
            }
            FetchError::NoSuchCompetition { id, .. } => format!(
                "check the last part of its address, https://www.kaggle.com/competitions/{id}; Kaggle returns the same error \
                 for a competition without a bundle"
            )
            .into(),
            FetchError::Quota { .. } => {
                "run again later; the download then continues; Kaggle's limits apply to an account and are not published".into()
            }
            FetchError::Unavailable { .. } => "run again later; the download then continues".into(),
            FetchError::Encoded { .. } => {
                "use an address at which the server sends the file without `Content-Encoding`, or download and decode the file yourself".into()
            }
            FetchError::Certificates { .. } => {
                "install the root certificates of the system (Debian: `apt install ca-certificates`), or set SSL_CERT_FILE".into()
            }
            FetchError::NoConnection(failed) => failed.remedy().into(),
            FetchError::Endpoint { .. } => CORRECT_ENDPOINT.into(),
            FetchError::ProxyAddress { variable, .. } => {
                format!("set {variable} to an address such as http://proxy.lab.org:3128, or unset it; SOCKS proxies are not supported").into()
            }
            FetchError::CertificateFile { variable, .. } => {
                let what = match *variable {
                    "SSL_CERT_DIR" => "directories of PEM files",
                    _ => "a PEM file",
                };
                format!("set {variable} to {what} with the certificates of the trusted authorities (CA), or unset {variable}").into()
            }
            FetchError::NoValidator { .. } => "download the entire file".into(),
            FetchError::NoFile { .. } => {
                "correct the address of the file in the pipeline".into()
            }
            FetchError::NotZip { .. } | FetchError::Unexpected { .. } | FetchError::Redirect { .. } => {
                "open that host in a browser from this machine: a proxy or a login page may answer in its place".into()
            }
            FetchError::Plain { .. } => "use https, or add the md5 or sha256 of the file to the pipeline".into(),
            FetchError::OtherMd5 { .. } => Remedy::AcceptBundle,
            FetchError::Damaged { server_sent_md5: true, .. } => {
                "try another network or another disk: something between the server and this disk changes bytes".into()
            }
            FetchError::Damaged { .. } => Remedy::AcceptBundle.or(
                "try another network: something between the server and this machine may change bytes".into(),
            ),
            FetchError::KeepsChanging { .. } => "run again later".into(),
            FetchError::GaveUp { cause, .. } if cause.unanswered().is_some() => match &**cause {
                Trouble::NoConnection(failed) => failed.remedy().into(),
                _ => CHECK_NETWORK.into(),
            },
            FetchError::GaveUp { kept, .. } => Remedy::Words(kept.clone()),
            FetchError::NoSpace { .. } => {
                "free some disk space and run again; the download then continues from the `.partial` file".into()
            }
            FetchError::NoMember { id, .. } => Remedy::ListMembers { id: id.clone() },
            FetchError::DamagedMember { .. } => "run again to fetch the member again".into(),
            FetchError::NotAllowed => Remedy::AllowDownloads,
            FetchError::Credentials(error) => return error.remedy(),
            _ => return None,
        })
    }

    /// Returns the kind of failure.
    pub fn failure(&self) -> Failure {
        match self {
            FetchError::OtherMd5 { .. }
            | FetchError::Damaged { .. }
            | FetchError::DamagedMember { .. } => Failure::Check,
            FetchError::NoSpace { .. }
            | FetchError::Io { .. }
            | FetchError::Disk { .. }
            | FetchError::Setup { .. }
            | FetchError::Certificates { .. }
            | FetchError::Store(_) => Failure::Machine,
            FetchError::Endpoint { .. }
            | FetchError::CertificateFile { .. }
            | FetchError::ProxyAddress { .. } => Failure::Usage,
            FetchError::GaveUp { .. }
            | FetchError::NoConnection(_)
            | FetchError::Quota { .. }
            | FetchError::Unavailable { .. }
            | FetchError::KeepsChanging { .. } => Failure::Away,
            FetchError::Cancelled => Failure::Cancelled,
            _ => Failure::Input,
        }
    }
}

impl From<FetchError> for StepError {
    fn from(error: FetchError) -> StepError {
        match error {
            FetchError::Cancelled => StepError::Cancelled,
            FetchError::Store(error) => error.into(),
            error => {
                let (failure, remedy) = (error.failure(), error.remedy());
                StepError::new(failure, WithRemedy::attach(error, remedy))
            }
        }
    }
}

/// A failure after which a request can be repeated.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Trouble {
    #[error("{0}")]
    NoConnection(Box<NoConnection>),
    #[error("the connection to {host} broke at byte {offset}: {cause}")]
    Broken {
        host: Server,
        offset: u64,
        cause: String,
    },
    #[error("{host} sent nothing for {}, at byte {offset}", units::approximate_duration(*.time))]
    Stalled {
        host: Server,
        offset: u64,
        time: Duration,
        /// Time since the first request to the host. `None` if the host has answered a request.
        unanswered: Option<Duration>,
    },
    #[error(
        "{host} sent only {} in {}, at byte {offset}",
        units::bytes(*.bytes), units::approximate_duration(*.time)
    )]
    Slow {
        host: Server,
        offset: u64,
        bytes: u64,
        time: Duration,
    },
    #[error("{host} ended its response at byte {offset}, {} too early", units::bytes(*.missing))]
    Short {
        host: Server,
        offset: u64,
        missing: u64,
    },
    #[error("{host} answered {code}")]
    Status {
        host: Server,
        code: u16,
        retry_after: Option<Duration>,
    },
    #[error("{host} does not accept the signed address that Kaggle provided ({code})")]
    Address { host: Server, code: u16 },
    #[error("{host} sent different bytes than requested: {what}")]
    OtherRange { host: Server, what: String },
    #[error("{host} sent the whole bundle instead of a range of it")]
    RangeIgnored { host: Server },
}

/// The reason why a request or a download session ended without success.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The request, or the entire download, can be repeated. The string is the API's message, or empty.
    Trouble(Trouble, String),
    /// The server now has a different object than the expected one.
    Changed,
    /// The server sends nothing that identifies the object, so the entire file must come from one response.
    NoValidator,
    /// The server does not know the protocol or the resource. A request with the other protocol may succeed.
    Absent(FetchError),
    Fatal(FetchError),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Stop {
        Stop::Trouble(trouble, String::new())
    }
}

impl From<FetchError> for Stop {
    fn from(error: FetchError) -> Stop {
        Stop::Fatal(error)
    }
}

impl Trouble {
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Trouble::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns the time since the first request to the host, or `None` if the host has answered a request.
    pub(crate) fn unanswered(&self) -> Option<Duration> {
        match self {
            Trouble::NoConnection(failed) => failed.unanswered,
            Trouble::Stalled { unanswered, .. } => *unanswered,
            _ => None,
        }
    }

    /// Returns whether fewer connections may avoid the failure.
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

/// Returns the first cause of a transport error. The errors above it describe the HTTP library, and the URL of a request,
/// which may contain a signature.
pub(crate) fn transport_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let library = prep_core::causes(error).find(|one| one.is::<reqwest::Error>());
    let cause = library.and_then(|error| prep_core::causes(error).skip(1).last());
    let message = cause.map_or_else(|| "unknown error".to_owned(), ToString::to_string);
    let (words, _) = message.split_once(" (os error ").unwrap_or((&message, ""));
    words.to_owned()
}

/// A longer message of a server is truncated to this length.
const MAX_CHARACTERS: usize = 200;

/// Returns the server's message: the field `message` of a JSON response, or the beginning of a plain text. Returns an empty
/// string if the response is a web page. Removes control characters and secrets.
pub(crate) fn server_text(body: &str, credentials: &KaggleCredentials) -> String {
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

/// Returns whether a response body contains invalid UTF-8, or control characters that do not occur in text.
fn is_binary(body: &str) -> bool {
    body.chars()
        .any(|c| c == char::REPLACEMENT_CHARACTER || c < '\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Secret;

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
            assert_eq!(server_text(body, &credentials), expected);
        }
        assert_eq!(
            server_text(&"x".repeat(1000), &credentials).len(),
            MAX_CHARACTERS
        );
    }
}
