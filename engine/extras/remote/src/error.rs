//! Errors of a remote, classified by meaning.
//!
//! A message never contains text from a server or library, because such text may include signed URLs. An exception is the
//! first cause of a missing connection.

use std::io::ErrorKind;
use std::sync::Arc;

use object_store::Error as Library;
use object_store::client::{HttpError, HttpErrorKind};
use prep_cache::ownership;
use prep_core::Remedy;
use prep_fetch::{FetchError, NetworkVariables, is_connecting};

use crate::address::Address;

/// The reason why a remote operation failed. `remote` is the remote's address without secrets.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum RemoteError {
    #[error("the remote `{remote}`: {cause}")]
    Address { remote: String, cause: String },

    #[error("the remote {remote} cannot be reached: {cause}")]
    Unreachable {
        remote: String,
        cause: Arc<FetchError>,
    },

    #[error("the remote {remote} does not respond in time, or limits requests")]
    Overloaded { remote: String },

    #[error("the remote {remote} is full")]
    Full { remote: String },

    #[error("the remote {remote} can only be read")]
    ReadOnly { remote: String },

    #[error("the remote {remote} cannot be written: {owner}")]
    Unwritable {
        remote: String,
        /// Owner and mode of a directory that cannot be written.
        owner: String,
    },

    #[error("the remote {remote} contains files that this user cannot read")]
    Unreadable { remote: String },

    #[error("nothing is sent to the remote {remote}: {cause}")]
    NoKey {
        remote: String,
        cause: String,
        remedy: Option<Remedy>,
    },

    #[error("no credentials for the remote {remote} were found")]
    NoCredentials { remote: String },

    #[error(
        "the remote {remote} rejects the credentials: they are wrong, expired, revoked, or do not permit this request"
    )]
    Refused { remote: String },

    #[error(
        "the remote {remote} rejects this machine's clock, which differs too much from the remote's clock"
    )]
    Clock { remote: String },

    /// The bucket or the directory does not exist.
    #[error("the remote {remote} does not exist")]
    NoBucket { remote: String },

    #[error("the remote {remote} failed: {cause}")]
    Failed { remote: String, cause: String },

    #[error("stopped")]
    Stopped,
}

impl RemoteError {
    pub(crate) fn failed(remote: &str, cause: impl Into<String>) -> RemoteError {
        RemoteError::Failed {
            remote: remote.to_owned(),
            cause: cause.into(),
        }
    }

    /// Returns an action that may help, if there is a specific one.
    pub fn remedy(&self) -> Option<Remedy> {
        let words = match self {
            RemoteError::Unreachable { cause, .. } => return cause.remedy(),
            RemoteError::Full { .. } => "free space in the remote, or raise its quota",
            RemoteError::ReadOnly { .. } => "use credentials that may write",
            RemoteError::Unwritable { .. } => {
                "change its owner or mode. If several users write to the remote, each needs the setting `shared` or the umask 002, \
                 and the directory needs their group and its setgid bit"
            }
            RemoteError::Unreadable { .. } => {
                "give read permission to the group to which all users belong: `chmod -R g+rX DIRECTORY`"
            }
            RemoteError::NoKey { remedy, .. } => return remedy.clone(),
            RemoteError::Clock { .. } => "set this machine's clock, for example with NTP",
            RemoteError::NoBucket { .. } => "mount or create it, or correct the address",
            RemoteError::NoCredentials { remote } => match remote.split(':').next() {
                Some("gs") => {
                    "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or run `gcloud auth application-default login`; if you did, \
                     check the network"
                }
                Some("az" | "azure") => {
                    "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or run on a machine whose identity may use the container"
                }
                _ => {
                    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write both to ~/.aws/credentials, or run on a machine whose \
                     role may use the bucket"
                }
            },
            RemoteError::Refused { .. } => {
                "check the variables or the file with the credentials, and the permissions of their account"
            }
            RemoteError::Address { .. }
            | RemoteError::Overloaded { .. }
            | RemoteError::Failed { .. }
            | RemoteError::Stopped => return None,
        };
        Some(words.into())
    }

    pub(crate) fn is_temporary(&self) -> bool {
        matches!(
            self,
            RemoteError::Unreachable { .. }
                | RemoteError::Overloaded { .. }
                | RemoteError::Failed { .. }
        )
    }

    /// Returns whether the error concerns only writing, so that the remote may still be readable.
    pub(crate) fn is_about_writing(&self) -> bool {
        matches!(
            self,
            RemoteError::Full { .. }
                | RemoteError::ReadOnly { .. }
                | RemoteError::Unwritable { .. }
                | RemoteError::NoKey { .. }
        )
    }
}

const CLOCK_CODES: [&str; 2] = ["RequestTimeTooSkewed", "RequestExpired"];
const FULL_CODES: [&str; 4] = [
    "InsufficientStorage",
    "XMinioStorageFull",
    "QuotaExceeded",
    "quotaExceeded",
];
const CREDENTIAL_CODES: [&str; 6] = [
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
];
const OVERLOAD_CODES: [&str; 3] = ["SlowDown", "ServerBusy", "RequestTimeout"];
const NO_BUCKET_CODES: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];

/// Phrases in response bodies that report a full disk. Some servers have no error code for a full disk.
const FULL_PHRASES: [&str; 3] = ["no free volumes", "no writable volumes", "no space left"];

/// A cloud's credential provider failed.
#[derive(Debug, thiserror::Error)]
#[error("no credentials")]
pub(crate) struct NoCredentials {
    pub(crate) source: object_store::Error,
    /// Whether the user named credentials. Otherwise the provider requested those of the machine's role.
    pub(crate) are_named: bool,
}

/// The parts of a server's response that an error of `object_store` contains.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer<'a> {
    status: Option<u16>,
    code: Option<&'a str>,
    body: &'a str,
}

impl<'a> Answer<'a> {
    /// Extracts the server's response from the text of an `object_store` error, because the type of the error is private.
    fn parse(text: &'a str) -> Option<Answer<'a>> {
        if let Some(rest) = text.strip_prefix("Server returned non-2xx status code: ") {
            let status = rest.get(..3)?.parse().ok()?;
            let body = rest.split_once(": ").map_or("", |(_, body)| body);
            return Some(Answer {
                status: Some(status),
                code: code(body),
                body,
            });
        }
        let body = text.strip_prefix("Server returned error response: ")?;
        Some(Answer {
            status: None,
            code: code(body),
            body,
        })
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.code.is_some_and(|code| codes.contains(&code))
    }

    fn is_full(&self) -> bool {
        let body = self.body.to_ascii_lowercase();
        self.status == Some(507)
            || self.has_code(&FULL_CODES)
            || self.status == Some(500) && FULL_PHRASES.iter().any(|words| body.contains(words))
    }
}

/// Returns the error code in a body: `<Code>X</Code>` of S3 and Azure, `"reason": "X"` of Google.
fn code(body: &str) -> Option<&str> {
    let xml = || Some(body.split_once("<Code>")?.1.split_once("</Code>")?.0);
    let json = || {
        let value = body.split_once("\"reason\"")?.1.trim_start();
        let value = value.strip_prefix(':')?.trim_start().strip_prefix('"')?;
        Some(value.split_once('"')?.0)
    };
    xml().or_else(json).map(str::trim)
}

#[derive(Default)]
struct ErrorParts {
    texts: Vec<String>,
    transport: Option<HttpErrorKind>,
    io: Option<ErrorKind>,
    /// The value of [`NoCredentials::are_named`], if this error is among the causes.
    missing_are_named: Option<bool>,
}

impl ErrorParts {
    fn new(error: &object_store::Error) -> ErrorParts {
        let mut parts = ErrorParts::default();
        for cause in prep_core::causes(error) {
            if let Some(cause) = cause.downcast_ref::<HttpError>() {
                parts.transport = Some(cause.kind());
            }
            if let Some(cause) = cause.downcast_ref::<std::io::Error>()
                && cause.kind() != ErrorKind::Other
            {
                parts.io = Some(cause.kind());
            }
            if let Some(cause) = cause.downcast_ref::<NoCredentials>() {
                parts.missing_are_named = Some(cause.are_named);
            }
            parts.texts.push(cause.to_string());
        }
        parts
    }

    /// Returns the URL of the request. If no error names it, returns `remote`, the address of the remote.
    fn url<'a>(&'a self, remote: &'a str) -> &'a str {
        let mut words = self.texts.iter().flat_map(|text| text.split_whitespace());
        let url = words.find(|word| word.starts_with("http"));
        url.unwrap_or(remote)
    }

    fn answer(&self) -> Answer<'_> {
        let answer = self.texts.iter().find_map(|text| Answer::parse(text));
        answer.unwrap_or_default()
    }
}

/// Returns whether the store accepts the credentials but denies access.
pub(crate) fn is_forbidden(error: &object_store::Error) -> bool {
    let parts = ErrorParts::new(error);
    let answer = parts.answer();
    let is_denied = matches!(error, object_store::Error::PermissionDenied { .. });
    is_denied && !answer.has_code(&CLOCK_CODES) && !answer.has_code(&CREDENTIAL_CODES)
}

/// The parts of an error that do not depend on its cause.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorContext {
    /// The remote's address without secrets.
    pub(crate) remote: String,
    pub(crate) variables: NetworkVariables,
}

/// Classifies an error of `object_store` by its type, the HTTP status, and the error code in the body. `writing` states
/// whether the error occurred while writing.
pub(crate) fn classify(at: &ErrorContext, error: &Library, writing: bool) -> RemoteError {
    let remote = at.remote.clone();
    let parts = ErrorParts::new(error);
    let answer = parts.answer();
    // Servers of cloud stores state a code. A proxy sends an error without such a code.
    let of_proxy = answer.status.filter(|_| answer.code.is_none());
    let of_proxy = of_proxy.and_then(|status| at.variables.proxy_error(parts.url(&remote), status));
    if let Some(cause) = of_proxy.map(Arc::new) {
        return RemoteError::Unreachable { remote, cause };
    }
    let is_denied = matches!(
        error,
        Library::PermissionDenied { .. } | Library::Unauthenticated { .. }
    );
    let is_not_done = matches!(
        error,
        Library::NotImplemented { .. } | Library::NotSupported { .. }
    );
    match answer.status {
        _ if answer.has_code(&CLOCK_CODES) => RemoteError::Clock { remote },
        _ if answer.has_code(&NO_BUCKET_CODES) => RemoteError::NoBucket { remote },
        _ if parts.missing_are_named == Some(false) => RemoteError::NoCredentials { remote },
        None if parts.transport.is_some() => no_connection(at, error, &parts),
        _ if parts.missing_are_named.is_some() || answer.has_code(&CREDENTIAL_CODES) => {
            RemoteError::Refused { remote }
        }
        status if is_denied || matches!(status, Some(401 | 403)) => {
            match writing && !matches!(error, Library::Unauthenticated { .. }) {
                true => RemoteError::ReadOnly { remote },
                false => RemoteError::Refused { remote },
            }
        }
        _ if writing && answer.is_full() => RemoteError::Full { remote },
        status if writing && (is_not_done || status == Some(405)) => {
            RemoteError::ReadOnly { remote }
        }
        _ if answer.has_code(&OVERLOAD_CODES) => RemoteError::Overloaded { remote },
        Some(408 | 429 | 503 | 504) => RemoteError::Overloaded { remote },
        // A server with a full disk may respond with status 500 and no reason.
        Some(500) if writing => {
            let cause = "it responded to a write with HTTP status 500; its disk may be full";
            RemoteError::failed(&remote, cause)
        }
        Some(status) => {
            RemoteError::failed(&remote, format!("it responded with HTTP status {status}"))
        }
        None => from_io_error(remote, parts.io, writing),
    }
}

/// Classifies an error of the connection.
fn no_connection(at: &ErrorContext, error: &Library, parts: &ErrorParts) -> RemoteError {
    let remote = at.remote.clone();
    match parts.transport {
        Some(HttpErrorKind::Timeout) if !is_connecting(error) => RemoteError::Overloaded { remote },
        Some(HttpErrorKind::Decode) => RemoteError::failed(&remote, "unknown response"),
        _ => {
            let cause = Arc::new(at.variables.connection_error(parts.url(&remote), error));
            RemoteError::Unreachable { remote, cause }
        }
    }
}

/// Classifies an error of the operating system.
fn from_io_error(remote: String, error: Option<ErrorKind>, writing: bool) -> RemoteError {
    match error {
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => RemoteError::Full { remote },
        Some(ErrorKind::ReadOnlyFilesystem) => RemoteError::ReadOnly { remote },
        Some(ErrorKind::PermissionDenied) if writing => unwritable(remote),
        Some(ErrorKind::PermissionDenied) => RemoteError::Unreadable { remote },
        Some(ErrorKind::TimedOut) => RemoteError::Overloaded { remote },
        Some(kind) => RemoteError::failed(&remote, kind.to_string()),
        None => RemoteError::failed(&remote, "unknown response"),
    }
}

/// Returns the error for a write that the operating system denied. If a subdirectory cannot be written, the error contains
/// its owner.
fn unwritable(remote: String) -> RemoteError {
    let found = Address::parse(&remote).map(|address| address.unwritable());
    let owner = found.ok().and_then(|found| ownership(&found.first?));
    match owner {
        Some(owner) => RemoteError::Unwritable { remote, owner },
        None => RemoteError::ReadOnly { remote },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(remote: &str) -> ErrorContext {
        ErrorContext {
            remote: remote.to_owned(),
            ..ErrorContext::default()
        }
    }

    /// Returns an error as the library's client creates it. The response is a separate cause, below a cause that
    /// contains the address.
    fn answered(text: &str) -> object_store::Error {
        answered_over("https", text)
    }

    fn answered_over(scheme: &'static str, text: &str) -> object_store::Error {
        #[derive(Debug, thiserror::Error)]
        #[error(
            "Error performing GET {0}://host/team507/quotaExceeded?X-Amz-Signature=s3cr3t in 507ms - {1}"
        )]
        struct Request(&'static str, #[source] Status);
        #[derive(Debug, thiserror::Error)]
        #[error("{0}")]
        struct Status(String);
        let status = Status(format!("Server returned non-2xx status code: {text}"));
        object_store::Error::Generic {
            store: "S3",
            source: Box::new(Request(scheme, status)),
        }
    }

    #[test]
    fn errors_are_classified_without_showing_the_response() {
        for (text, writing, expected) in [
            (
                "403 Forbidden: <Code>RequestTimeTooSkewed</Code>",
                false,
                "clock",
            ),
            (
                "403 Forbidden: <Code>InvalidAccessKeyId</Code>",
                true,
                "credentials",
            ),
            ("403 Forbidden: ", true, "can only be read"),
            ("403 Forbidden: ", false, "credentials"),
            ("500 Internal: no free volumes left", true, "is full"),
            ("507 Insufficient: ", true, "is full"),
            (
                "400 Bad Request: <Code>XMinioStorageFull</Code>",
                true,
                "is full",
            ),
            (
                "403: {\"errors\": [{\"reason\": \"quotaExceeded\"}]}",
                false,
                "credentials",
            ),
            ("503 Service Unavailable: SlowDown", false, "in time"),
            ("429 Too Many Requests: ", false, "in time"),
            (
                "404 Not Found: <Code>NoSuchBucket</Code>",
                false,
                "s3://b does not exist",
            ),
            ("500 oops: ", false, "HTTP status 500"),
            ("500 oops: ", true, "may be full"),
            ("405 Method Not Allowed: ", true, "can only be read"),
        ] {
            let error = classify(&at("s3://b"), &answered(text), writing);
            let message = error.to_string();
            assert!(message.contains(expected), "{text}: {message}");
            assert!(!message.contains("s3cr3t"), "{message}");
        }
    }

    /// The classification ignores the address, and the parts of a body that repeat it.
    #[test]
    fn numbers_and_codes_in_names_are_ignored() {
        for text in [
            "400 Bad Request: ",
            "400 Bad Request: <Error><Code>InvalidRequest</Code><Resource>/team507/503 429 SlowDown</Resource></Error>",
            "412 x: <Key>507 NoSuchBucket RequestTimeTooSkewed</Key>",
        ] {
            let message = classify(&at("s3://team507"), &answered(text), true).to_string();
            assert!(
                message.contains("failed: it responded with HTTP status 4"),
                "{message}"
            );
        }
    }

    /// A proxy sees requests without TLS. Its answers have no code of a cloud store.
    #[test]
    fn the_refusal_of_a_proxy_is_not_that_of_the_remote() {
        let at_proxy = |address: &'static str| {
            let value = |name: &str| (name == "HTTP_PROXY").then(|| address.to_owned());
            let variables = NetworkVariables {
                proxies: Some(prep_fetch::Proxies::from_variables(value)),
                certificates: None,
            };
            ErrorContext {
                variables,
                ..at("s3://b")
            }
        };
        let (open, with_password) = ("http://p:1", "http://u:s3cr3t@p:1");
        for (scheme, proxy, text, expected) in [
            (
                "http",
                open,
                "403 Forbidden: <html>",
                "the proxy http://p:1 does not connect to host: HTTP status 403",
            ),
            ("http", open, "502 Bad Gateway: ", "HTTP status 502"),
            ("http", open, "407 x: ", "requires a user name"),
            ("http", with_password, "407 x: ", "rejects the user name"),
            (
                "http",
                open,
                "403 x: <Code>AccessDenied</Code>",
                "rejects the credentials",
            ),
            ("http", open, "500 x: ", "the remote s3://b failed"),
            ("https", open, "403 x: ", "rejects the credentials"),
        ] {
            let error = classify(&at_proxy(proxy), &answered_over(scheme, text), false);
            let message = error.to_string();
            assert!(message.contains(expected), "{text}: {message}");
            assert!(!message.contains("s3cr3t"), "{message}");
        }
    }

    #[test]
    fn a_transport_error_is_classified_by_its_type() {
        for (kind, expected) in [
            (HttpErrorKind::Connect, "cannot be reached"),
            (HttpErrorKind::Interrupted, "cannot be reached"),
            (HttpErrorKind::Timeout, "in time"),
            (HttpErrorKind::Decode, "unknown response"),
        ] {
            let source = HttpError::new(kind, std::io::Error::other("507 SlowDown s3cr3t"));
            let error = object_store::Error::Generic {
                store: "S3",
                source: Box::new(source),
            };
            let message = classify(&at("r"), &error, true).to_string();
            assert!(message.contains(expected), "{kind:?}: {message}");
        }
    }

    /// If the user named no credentials, the provider requests those of the machine's role. If this fails for any reason, the
    /// error is that there are no credentials.
    #[test]
    fn failures_of_a_credential_provider_are_classified() {
        let connect = || {
            let kind = HttpErrorKind::Connect;
            HttpError::new(kind, std::io::Error::other("refused")).into()
        };
        type Cause = Box<dyn std::error::Error + Send + Sync>;
        for (are_named, source, expected) in [
            (false, connect() as Cause, "no credentials"),
            (true, connect(), "cannot be reached"),
            (
                false,
                Box::new(answered("404 Not Found: ")),
                "no credentials",
            ),
            (
                true,
                Box::new(answered("400 Bad Request: ")),
                "rejects the credentials",
            ),
        ] {
            let source = object_store::Error::Generic {
                store: "S3",
                source,
            };
            let error = object_store::Error::Unauthenticated {
                path: String::new(),
                source: Box::new(NoCredentials { source, are_named }),
            };
            let found = classify(&at("s3://b"), &error, false);
            assert!(found.to_string().contains(expected), "{found}");
            assert!(found.remedy().is_some(), "{found}");
        }
    }

    #[test]
    fn the_error_of_the_operating_system_is_found() {
        let full = std::io::Error::from_raw_os_error(28);
        let error = object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(full),
        };
        assert!(matches!(
            classify(&at("f"), &error, true),
            RemoteError::Full { .. }
        ));
    }
}
