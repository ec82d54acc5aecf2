//! Files that can be downloaded.

use std::fmt;

use reqwest::Url;

use crate::error::FetchError;
use crate::wire::location::Message;
use crate::wire::location::{Expected, Location, LocationKind, is_private};

/// A bundle of Kaggle, a file of a competition, or a file at a URL.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// The bundle of the competition with this name on Kaggle. The API returns its address.
    Bundle(String),
    /// One file of a competition. The API returns its address.
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
    /// Creates an item for the file `name` at `url`.
    ///
    /// # Errors
    /// [`FetchError::Setup`] if `url` is not an http or https URL.
    pub(crate) fn file(name: &str, url: &str) -> Result<Item, FetchError> {
        let wrong = |cause| FetchError::Setup {
            cause: format!("the address of `{name}` {cause}"),
        };
        let parsed: Url = url
            .parse()
            .map_err(|error| wrong(format!("is not a URL: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(wrong("is not an http or https URL".to_owned()));
        }
        Ok(Item::File {
            name: name.to_owned(),
            location: Location {
                message: Message::get(parsed),
                expected: Expected::from_name(name),
                kind: LocationKind::Permanent,
            },
        })
    }

    /// Returns the item's key in the cache of addresses.
    pub(crate) fn key(&self) -> String {
        match self {
            Item::Bundle(id) => id.clone(),
            // Names of competitions contain no slash, and URLs do not begin with a slash, so this key is unique.
            Item::Member { id, file } => format!("/{id}/{file}"),
            Item::File { location, .. } => location.message.url.to_string(),
        }
    }

    /// Returns the owner's name for messages.
    pub(crate) fn owner(&self) -> String {
        match self {
            Item::Bundle(_) | Item::Member { .. } => "Kaggle".to_owned(),
            Item::File { location, .. } => location.host(),
        }
    }

    /// Returns whether the connection protects the file, so that nobody between the server and this machine can read or
    /// change it.
    pub(crate) fn is_private(&self) -> bool {
        match self {
            Item::Bundle(_) | Item::Member { .. } => true,
            Item::File { location, .. } => is_private(&location.message.url),
        }
    }

    /// Returns whether the file must be a zip archive.
    pub(crate) fn is_zip(&self) -> bool {
        self.expected() == Expected::Zip
    }

    /// Returns the expected type of the file.
    pub(crate) fn expected(&self) -> Expected {
        match self {
            Item::Bundle(_) => Expected::Zip,
            // Kaggle may send a file as it is, or in a zip archive.
            Item::Member { .. } => Expected::Anything,
            Item::File { location, .. } => location.expected,
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
