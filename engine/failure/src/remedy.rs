//! Remedies: actions with which the user can resolve an error.
//!
//! A library attaches a remedy to an error as data, with [`WithRemedy`]. The program that the user started converts it
//! to text, because only the program knows the names of its options. [`remedy`] finds the remedy in a chain of causes.
//!
//! ```
//! use prep_failure::{Remedy, WithRemedy, remedy};
//! let error = std::io::Error::other(WithRemedy::new("no bundle", Remedy::NameSource));
//! assert_eq!(remedy(&error), Some(&Remedy::NameSource));
//! assert_eq!(prep_failure::chain(&error), "no bundle");
//! ```

use std::error::Error;
use std::fmt;

use crate::{BoxError, causes};

/// An action with which the user can resolve an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// An action that every program describes with the same words.
    Words(String),
    /// Name the directory that contains the bundle or the file.
    NameSource,
    /// Use results in the cache whose bundle the user does not have.
    UseCachedResults,
    /// Prepare without the options of the last run.
    ForgetOptions,
    /// Allow downloads.
    AllowDownloads,
    /// Accept a bundle whose checksum differs from the published one. Outputs are still compared with their published
    /// checksums.
    AcceptBundle,
    /// Accept bundles and outputs without comparing them with published checksums.
    AcceptOutputs,
    /// Give running steps more memory.
    RaiseMemory,
    /// Publish archives without unpacking them.
    KeepArchives,
    /// Remove damaged objects from the cache.
    RepairCache,
    /// List the members of a competition's bundle.
    ListMembers {
        /// The competition.
        id: String,
    },
    /// Prepare the competitions whose bundles exist.
    PrepareAvailable,
    /// Name a different data directory.
    NameDataDir,
    /// Delete each bundle once its competition is prepared.
    DiscardBundles,
    /// Prepare a competition, or prepare it again.
    Prepare {
        /// The competition.
        id: String,
    },
    /// Show the list of competitions.
    ListCompetitions,
    /// Name the directory that contains the directories of pipelines.
    NamePipelines {
        /// This directory, if it is known.
        parent: Option<String>,
    },
    /// Prepare a competition, which also sends its bundle and its results to the remote.
    PrepareAndSend {
        /// The competition.
        id: String,
    },
    /// Name the remote.
    NameRemote,
    /// Create a key that signs results.
    CreateKey {
        /// The name of the key, if it is known.
        name: Option<String>,
    },
    /// Create a key that signs results, or select one of several keys.
    ChooseKey,
    /// Show the public keys of this machine.
    ListKeys,
    /// Add a key to the trusted keys.
    TrustKey,
    /// Name a further address of the same remote.
    NameSameRemote,
    /// Send results to the remote after the run.
    SendLater,
    /// Send results to the remote again, from a machine that has them.
    SendAgain,
    /// Prepare without comparing with the lock file.
    Unlock,
    /// Move files that no publication created out of the prepared directory, or let a publication remove them.
    MoveOrRemoveUnpublished,
    /// Use directories on one file system for the cache and the data.
    UseOneFileSystem,
    /// Several remedies, each of which helps.
    AnyOf(Vec<Remedy>),
    /// Several remedies that help together, in this order.
    InOrder(Vec<Remedy>),
}

impl Remedy {
    /// Returns a remedy that offers `self` and `other` as alternatives.
    #[must_use]
    pub fn or(self, other: Remedy) -> Remedy {
        match self {
            Remedy::AnyOf(mut all) => {
                all.push(other);
                Remedy::AnyOf(all)
            }
            one => Remedy::AnyOf(vec![one, other]),
        }
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Remedy {
        Remedy::Words(words.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Remedy {
        Remedy::Words(words)
    }
}

/// An error with its remedy. Its message is the message of the error.
#[derive(Debug)]
pub struct WithRemedy {
    error: BoxError,
    remedy: Remedy,
}

impl WithRemedy {
    /// Attaches `remedy` to `error`.
    pub fn new(error: impl Into<BoxError>, remedy: Remedy) -> WithRemedy {
        WithRemedy {
            error: error.into(),
            remedy,
        }
    }

    /// Attaches `remedy` to `error`, if there is a remedy.
    pub fn attach(error: impl Into<BoxError>, remedy: Option<Remedy>) -> BoxError {
        match remedy {
            Some(remedy) => Box::new(WithRemedy::new(error, remedy)),
            None => error.into(),
        }
    }
}

impl fmt::Display for WithRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for WithRemedy {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// Returns the remedy of the outermost cause that has one.
pub fn remedy<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Remedy> {
    causes(error).find_map(|cause| Some(&cause.downcast_ref::<WithRemedy>()?.remedy))
}
