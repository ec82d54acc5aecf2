//! Errors of downloads, by meaning. The first line of each is the cause. None contains a secret, a signature or the
//! query of a URL.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prep_core::{Failure, StepError};
use prep_formats::zip::ZipError;
use thiserror::Error;

use crate::credentials::CredentialsError;
use crate::free_space;
use crate::trouble::Trouble;
use prep_core::units;

/// The reason why a bundle was not fetched.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the fields contain")]
pub enum FetchError {
    #[error(
        "the rules of {id} are not accepted: accept them at https://www.kaggle.com/competitions/{id}/rules\n\
         For a competition that is closed, its Rules tab (or its Data tab) may still offer this, to an account whose phone \
         number is verified; some old competitions no longer admit new accounts"
    )]
    RulesNotAccepted { id: String },
    #[error(
        "Kaggle does not accept the credentials (401){}\n{}",
        said(.message), other_credentials(.used, .others, *.can_log_in)
    )]
    Unauthorised {
        /// Origin of the credentials.
        used: String,
        /// Places of further credentials, which are not used.
        others: Vec<String>,
        /// Whether they are those of a login.
        can_log_in: bool,
        message: String,
    },
    #[error(
        "the login {path} cannot be renewed{}\nLog in again with `kaggle auth login`, or set KAGGLE_API_TOKEN",
        said(.message)
    )]
    LoginExpired { path: PathBuf, message: String },
    #[error(
        "{host} answers with its login page instead of the bundle\n\
         The credentials may be of no use there; check KAGGLE_API_ENDPOINT, or make a new API token at \
         https://www.kaggle.com/settings/api"
    )]
    LoginPage { host: String },
    #[error(
        "this account may not take part in {id}: Kaggle denies `competitions.participate`{}\n\
         Verify the phone number of the account and use a token without restrictions; some old competitions no longer \
         admit new accounts",
        said(.message)
    )]
    MayNotParticipate { id: String, message: String },
    #[error(
        "{host} gives an answer that prep cannot read\nCheck KAGGLE_API_ENDPOINT and the proxy"
    )]
    Unexpected { host: String },
    #[error("Kaggle refuses the bundle of {id} (403){}", said(.message))]
    Forbidden { id: String, message: String },
    #[error(
        "Kaggle knows no competition {id} (404){}\n\
         Check its name: it is the last part of its address, https://www.kaggle.com/competitions/{id}. Kaggle gives the same \
         answer for a competition without a bundle",
        said(.message)
    )]
    NoSuchCompetition { id: String, message: String },
    #[error(
        "too many requests: {host} {}{}\n\
         The limits are per account and not published; run again later, what was fetched is kept",
        wish(*.wait), said(.message)
    )]
    Quota {
        host: String,
        /// The pause that the server requested, if any.
        wait: Option<Duration>,
        message: String,
    },
    #[error(
        "{host} has no file {path} ({code})\n\
         Correct its address in the pipeline; or put the file into the folder that --source names"
    )]
    NoFile {
        host: String,
        path: String,
        code: u16,
    },
    #[error("{host} answered {code}{}", said(.message))]
    Refused {
        host: String,
        code: u16,
        message: String,
    },
    #[error(
        "got {got}, expected {expected}, from {host}\n\
         Usually a proxy or a login page answers in place of the server; open that host in a browser from this machine"
    )]
    NotZip {
        host: String,
        got: String,
        expected: String,
    },
    #[error(
        "the redirect from {from} to {to} is not followed: {reason}\n\
         Check KAGGLE_API_ENDPOINT and the proxy"
    )]
    Redirect {
        from: String,
        to: String,
        reason: &'static str,
    },
    #[error(
        "the address of {item} is plain http, and no checksum is compared\n\
         Use https, or give its md5 or sha256 in the pipeline; or put the file into the folder that --source names"
    )]
    Plain { item: String },
    #[error(
        "{host} does not tell the length of the file, so a complete one cannot be told from a cut-off one"
    )]
    NoLength { host: String },
    #[error(
        "{item} has MD5 {found} now, published is {expected}: {owner} changed it\n\
         Nothing was downloaded; --skip-bundle-verification fetches it all the same, and still checks what is made of it"
    )]
    OtherMd5 {
        item: String,
        owner: String,
        found: String,
        expected: String,
    },
    #[error(
        "{item} arrived damaged {attempts} times: its MD5 is {found}, should be {expected}\n{help}"
    )]
    Damaged {
        item: String,
        found: String,
        expected: String,
        attempts: u32,
        help: &'static str,
    },
    #[error(
        "the bundle is not a complete zip archive: {reason}\nThe server tells no checksum that would say more"
    )]
    Incomplete { reason: String },
    #[error(
        "the server replaced the bundle {times} times while it was fetched\n\
         Run again later"
    )]
    KeepsChanging { times: u32 },
    #[error("{cause}\nGave up after {attempts} attempts in a row; {kept}")]
    GaveUp {
        #[source]
        cause: Trouble,
        attempts: u32,
        /// The kept part of the download, and the help.
        kept: String,
    },
    #[error(
        "no space left for {path}: {} needed, {} free\n\
         Free some disk and run again; what was fetched is kept beside it, as .partial",
        units::bytes(*.needed), units::bytes(*.free)
    )]
    NoSpace {
        path: PathBuf,
        needed: u64,
        free: u64,
    },
    #[error("the server claims that {item} has {}, which is more than can be fetched", units::bytes(*.bytes))]
    TooLong { item: String, bytes: u64 },
    #[error("cannot {action} {path}: {cause}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the disk returns other bytes than were written to {path}, at byte {offset}")]
    Disk { path: PathBuf, offset: u64 },
    #[error("the bundle of {id} cannot be listed: {cause}")]
    Listing {
        id: String,
        #[source]
        cause: ZipError,
    },
    #[error(
        "the bundle of {id} has no member {member}\nIts members are listed by `prep fetch --list {id}`"
    )]
    NoMember { id: String, member: String },
    #[error(
        "the member {member} of the bundle of {id} arrived damaged: {cause}\nRun again to fetch it anew"
    )]
    DamagedMember {
        id: String,
        member: String,
        cause: String,
    },
    #[error("`{pattern}` does not name members of a bundle: {cause}")]
    Pattern { pattern: String, cause: String },
    #[error("--no-download is given")]
    NotAllowed,
    #[error("cannot set up downloads: {cause}")]
    Setup { cause: String },
    #[error("{0}")]
    Credentials(#[from] CredentialsError),
    #[error("{0}")]
    Store(#[from] prep_cache::StoreError),
    #[error("stopped")]
    Cancelled,
}

/// Returns the server's message after a colon, nothing if it is empty.
fn said(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

/// Describes what a server that limits requests asks for.
fn wish(wait: Option<Duration>) -> String {
    match wait {
        Some(wait) => format!("asks to wait {}", units::about(wait)),
        None => "accepts no more for now (429)".to_owned(),
    }
}

/// Describes which credentials were rejected, and which others could be used.
fn other_credentials(used: &str, others: &[String], can_log_in: bool) -> String {
    let others = match others {
        [] => String::new(),
        others => format!("; not used: {}", others.join(", ")),
    };
    let help = match can_log_in {
        true => "Log in again with `kaggle auth login`",
        false => {
            "Make a new API token at https://www.kaggle.com/settings/api; an older one may have been revoked by it"
        }
    };
    format!("They are those of {used}{others}. {help}")
}

impl FetchError {
    /// Wraps an error of the operating system. A full disk gets a kind of its own.
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

    /// Adds the number of missing bytes to an error about a full disk.
    pub(crate) fn needing(self, bytes: u64) -> FetchError {
        match self {
            FetchError::NoSpace { path, free, .. } => FetchError::NoSpace {
                path,
                needed: bytes,
                free,
            },
            other => other,
        }
    }

    /// Adds the server's message to an error that has a field for it.
    pub(crate) fn with_message(self, said: String) -> FetchError {
        match self {
            FetchError::Quota { host, wait, .. } => FetchError::Quota {
                host,
                wait,
                message: said,
            },
            other => other,
        }
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
            | FetchError::Store(_) => Failure::Machine,
            FetchError::GaveUp { .. }
            | FetchError::Quota { .. }
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
            error => StepError::new(error.failure(), error),
        }
    }
}
