//! What can go wrong with a remote, by meaning.
//!
//! Nothing of what a server or a library says gets into a message: it may hold addresses with signatures in them. Its
//! meaning is looked for, and told in words of our own.

use std::io::ErrorKind;

/// Why the remote could not do something. `remote` is its address without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The address makes no sense, or the settings for it do not.
    #[error("the remote `{remote}`: {cause}")]
    Address { remote: String, cause: String },

    #[error("the remote {remote} cannot be reached; look at the network and the address")]
    Away { remote: String },

    #[error("the remote {remote} does not answer in time, or asks for a slower pace")]
    Slow { remote: String },

    #[error("the remote {remote} is full; make room in it, or raise its quota")]
    Full { remote: String },

    #[error("the remote {remote} may only be read; use credentials that may write")]
    ReadOnly { remote: String },

    /// What is sent is signed.
    #[error(
        "nothing is sent to the remote {remote}, because no key signs it; `prep key new NAME` makes one, `[remote] key` in \
         prep.toml names one of several"
    )]
    NoKey { remote: String },

    #[error(
        "the remote {remote} refuses the credentials: they are wrong, expired, revoked, or may not do this"
    )]
    Refused { remote: String },

    #[error(
        "the remote {remote} refuses this machine's clock, which differs too much from its own; set the clock (NTP)"
    )]
    Clock { remote: String },

    #[error(
        "the remote {remote}: there is no such bucket or folder; make it, or correct the address"
    )]
    NoPlace { remote: String },

    /// An answer that means nothing better.
    #[error("the remote {remote} failed: {cause}")]
    Failed { remote: String, cause: String },
}

impl RemoteError {
    /// What kind of trouble it is; each is said once.
    pub(crate) fn kind(&self) -> std::mem::Discriminant<RemoteError> {
        std::mem::discriminant(self)
    }

    /// Whether it may be over in a while.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self,
            RemoteError::Away { .. } | RemoteError::Slow { .. } | RemoteError::Failed { .. }
        )
    }

    /// Whether reading still makes sense.
    pub(crate) fn is_about_writing(&self) -> bool {
        matches!(
            self,
            RemoteError::Full { .. } | RemoteError::ReadOnly { .. } | RemoteError::NoKey { .. }
        )
    }
}

const CLOCK: [&str; 2] = ["RequestTimeTooSkewed", "RequestExpired"];
const FULL: [&str; 9] = [
    "InsufficientStorage",
    "507",
    "no free volumes",
    "no writable volumes",
    "No space left",
    "no space left",
    "XMinioStorageFull",
    "QuotaExceeded",
    "quota exceeded",
];
const CREDENTIALS: [&str; 8] = [
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
    "401 Unauthorized",
    "Credentials",
];
const SLOW: [&str; 6] = [
    "SlowDown",
    "503 ",
    "429 ",
    "timed out",
    "Timeout",
    "deadline",
];
const AWAY: [&str; 7] = [
    "error sending request",
    "Connection refused",
    "connection closed",
    "connection reset",
    "dns error",
    "Connect",
    "tcp connect",
];
const NO_PLACE: [&str; 3] = ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"];

/// Whether the store knows who asks, and does not let him.
pub(crate) fn is_forbidden(error: &object_store::Error) -> bool {
    let text = format!("{error:?} {error}");
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_denied = matches!(error, object_store::Error::PermissionDenied { .. });
    is_denied && !says(&CLOCK) && !says(&CREDENTIALS)
}

/// What an error of the library means, while something was read or written.
pub(crate) fn meaning(remote: &str, error: &object_store::Error, writing: bool) -> RemoteError {
    let remote = remote.to_owned();
    // For looking at only.
    let text = format!("{error:?} {error}");
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if let Some(kind) = io_kind(error) {
        match kind {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                return RemoteError::Full { remote };
            }
            ErrorKind::ReadOnlyFilesystem => return RemoteError::ReadOnly { remote },
            ErrorKind::PermissionDenied if writing => return RemoteError::ReadOnly { remote },
            ErrorKind::PermissionDenied => return RemoteError::Refused { remote },
            ErrorKind::TimedOut => return RemoteError::Slow { remote },
            ErrorKind::NotConnected
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::StaleNetworkFileHandle => return RemoteError::Away { remote },
            _ => {}
        }
    }
    let is_denied = matches!(
        error,
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. }
    );
    match error {
        _ if says(&CLOCK) => RemoteError::Clock { remote },
        _ if says(&NO_PLACE) => RemoteError::NoPlace { remote },
        _ if says(&CREDENTIALS) => RemoteError::Refused { remote },
        _ if is_denied && writing => RemoteError::ReadOnly { remote },
        _ if is_denied => RemoteError::Refused { remote },
        object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. }
            if writing =>
        {
            RemoteError::ReadOnly { remote }
        }
        _ if writing && says(&FULL) => RemoteError::Full { remote },
        _ if writing && says(&["405 "]) => RemoteError::ReadOnly { remote },
        _ if says(&SLOW) => RemoteError::Slow { remote },
        _ if says(&AWAY) => RemoteError::Away { remote },
        _ => RemoteError::Failed {
            remote,
            cause: match status(&text) {
                // Servers that cannot write do not all say why.
                Some("500") if writing => {
                    "it answered a write with the HTTP status 500; its disk may be full".to_owned()
                }
                Some(status) => format!("it answered with the HTTP status {status}"),
                None => "an answer that cannot be understood".to_owned(),
            },
        },
    }
}

/// The operating system's reason, wherever it is in the chain.
fn io_kind(error: &object_store::Error) -> Option<ErrorKind> {
    let chain = prep_core::causes(error);
    let kinds = chain.filter_map(|error| Some(error.downcast_ref::<std::io::Error>()?.kind()));
    kinds.filter(|kind| *kind != ErrorKind::Other).last()
}

/// The three digits of an HTTP status.
fn status(text: &str) -> Option<&str> {
    let after = text.split_once("status code: ")?.1;
    let digits = after.get(..3)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> object_store::Error {
        object_store::Error::Generic {
            store: "S3",
            source: text.to_owned().into(),
        }
    }

    #[test]
    fn meanings_are_told_without_what_was_said() {
        let secret = "https://host/b?X-Amz-Signature=s3cr3t";
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
            ("500 Internal: no free volumes left", true, "is full"),
            ("507 Insufficient", true, "is full"),
            ("status code: 503 SlowDown", false, "in time"),
            ("error sending request for url", false, "cannot be reached"),
            ("404: <Code>NoSuchBucket</Code>", false, "no such bucket"),
            ("status code: 500 oops", false, "HTTP status 500"),
            ("status code: 500 oops", true, "may be full"),
            ("odd", false, "cannot be understood"),
        ] {
            let error = meaning("s3://b", &said(&format!("{text} {secret}")), writing);
            let message = error.to_string();
            assert!(message.contains(expected), "{text}: {message}");
            assert!(!message.contains("s3cr3t"), "{message}");
        }
    }

    #[test]
    fn the_operating_systems_reason_is_found() {
        let full = std::io::Error::from_raw_os_error(28);
        let error = object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(full),
        };
        assert!(matches!(
            meaning("f", &error, true),
            RemoteError::Full { .. }
        ));
    }
}
