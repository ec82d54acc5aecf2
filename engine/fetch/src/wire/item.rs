//! What is downloaded, and from where.

use std::fmt;

use reqwest::Url;

use crate::error::FetchError;
use crate::wire::location::{Expected, Location, host, is_private};

/// A bundle of Kaggle's, or a file at an address of its own.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// The bundle of the competition that Kaggle calls so: the API gives its address.
    Bundle(String),
    /// One file of a competition, whose address the API gives, too.
    Member {
        id: String,
        file: String,
    },
    File {
        name: String,
        location: Location,
    },
}

impl Item {
    /// The file `name` at `url`.
    ///
    /// # Errors
    /// [`FetchError::Setup`]: that is no address.
    pub(crate) fn file(name: &str, url: &str) -> Result<Item, FetchError> {
        let wrong = |cause| FetchError::Setup {
            cause: format!("the address of `{name}` {cause}"),
        };
        let parsed: Url = url
            .parse()
            .map_err(|error| wrong(format!("is none: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(wrong("is not one of http or https".to_owned()));
        }
        Ok(Item::File {
            name: name.to_owned(),
            location: Location::of_file(parsed, Expected::of(name)),
        })
    }

    /// Under which the process remembers its address.
    pub(crate) fn key(&self) -> String {
        match self {
            Item::Bundle(id) => id.clone(),
            // No competition's name has a slash, and no address begins with one.
            Item::Member { id, file } => format!("/{id}/{file}"),
            Item::File { location, .. } => location.url().to_string(),
        }
    }

    /// Whose it is.
    pub(crate) fn owner(&self) -> String {
        match self {
            Item::Bundle(_) | Item::Member { .. } => "Kaggle".to_owned(),
            Item::File { location, .. } => host(&location.url()),
        }
    }

    /// Whether nobody on the way can read or change it.
    pub(crate) fn is_private(&self) -> bool {
        match self {
            Item::Bundle(_) | Item::Member { .. } => true,
            Item::File { location, .. } => is_private(&location.url()),
        }
    }

    /// Whether it has to be a zip archive.
    pub(crate) fn is_zip(&self) -> bool {
        self.expected() == Expected::Zip
    }

    /// What its first bytes have to be.
    pub(crate) fn expected(&self) -> Expected {
        match self {
            Item::Bundle(_) => Expected::Zip,
            // Kaggle may send a file as it is, or within a zip archive.
            Item::Member { .. } => Expected::Anything,
            Item::File { location, .. } => location.expected(),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Bundle(_) => formatter.write_str("the bundle"),
            Item::Member { file: name, .. } | Item::File { name, .. } => {
                write!(formatter, "the file `{name}`")
            }
        }
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Item({self})")
    }
}
