//! Files that can be downloaded, and their locations. A location contains the request that reads a file. The request goes to
//! a signed address of the object store, or to another URL. Signed addresses are cached, so listing and then fetching a
//! bundle needs only one API call.

use std::collections::HashMap;
use std::fmt;

use parking_lot::Mutex;
use prep_core::is_loopback;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Url};

use crate::error::{FetchError, Server};

/// The type of file that a response should contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Zip,
    /// A web page. If another type is expected, a web page is an error, because it usually comes from a login or a proxy.
    Page,
    Anything,
}

impl Expected {
    pub(crate) fn from_name(name: &str) -> Expected {
        let ending = name
            .rsplit_once('.')
            .map(|(_, end)| end.to_ascii_lowercase());
        match ending.as_deref() {
            Some("zip") => Expected::Zip,
            Some("html" | "htm") => Expected::Page,
            _ => Expected::Anything,
        }
    }
}

/// The location of a file. The query string of its URL may be a signature, so only the host is ever printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) message: Message,
    pub(crate) expected: Expected,
    pub(crate) kind: LocationKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocationKind {
    /// An address that the API signed for a limited time. If it is rejected, the API signs a new one.
    Signed,
    /// The API itself, which sends the bytes to authenticated users.
    Api,
    Permanent,
}

impl Location {
    pub(crate) fn is_renewable(&self) -> bool {
        self.kind != LocationKind::Permanent
    }

    pub(crate) fn is_api(&self) -> bool {
        self.kind == LocationKind::Api
    }

    pub(crate) fn host(&self) -> String {
        host(&self.message.url)
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Location({})", self.host())
    }
}

pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Returns whether a connection to `url` is encrypted or does not leave this machine.
pub(crate) fn is_private(url: &Url) -> bool {
    url.scheme() == "https" || url.host_str().is_some_and(is_loopback)
}

/// Returns the target of a redirect from the URL `from` of `server`, whose header `Location` is `to`. A redirect from HTTPS to HTTP is an error.
pub(crate) fn follow(server: Server, from: &Url, to: Option<&str>) -> Result<Url, FetchError> {
    let refuse = |to: String, reason| {
        Err(FetchError::Redirect {
            from: server.clone(),
            to,
            reason,
        })
    };
    let Some(Ok(to)) = to.map(|to| from.join(to)) else {
        return refuse("nowhere".into(), "it has no valid URL");
    };
    if !matches!(to.scheme(), "http" | "https") || to.host_str().is_none() {
        return refuse(host(&to), "its target is not an http or https URL");
    }
    if from.scheme() == "https" && to.scheme() == "http" {
        return refuse(host(&to), "it leads from https to plain http");
    }
    Ok(to)
}

/// The last address of each bundle and member, by [`Item::key`]. An address is removed when a server rejects it.
#[derive(Default)]
pub(crate) struct Addresses(Mutex<HashMap<String, Location>>);

impl Addresses {
    pub(crate) fn get(&self, id: &str) -> Option<Location> {
        self.0.lock().get(id).cloned()
    }

    pub(crate) fn insert(&self, id: &str, location: Location) {
        self.0.lock().insert(id.to_owned(), location);
    }

    /// Removes an address that the object store rejected, because the address has probably expired.
    pub(crate) fn forget(&self, id: &str) {
        self.0.lock().remove(id);
    }
}

/// A request without credentials, which can be repeated with another URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) url: Url,
    pub(crate) body: Option<String>,
    /// Whether a server of the API redirected to `url`, which belongs to another server.
    pub(crate) is_redirected: bool,
}

impl Message {
    pub(crate) fn get(url: Url) -> Message {
        Message {
            url,
            body: None,
            is_redirected: false,
        }
    }

    pub(crate) fn request(&self, client: &Client) -> RequestBuilder {
        let request = match &self.body {
            None => client.get(self.url.clone()),
            Some(body) => {
                let request = client.post(self.url.clone());
                request
                    .header(CONTENT_TYPE, "application/json")
                    .body(body.clone())
            }
        };
        request.header(ACCEPT_ENCODING, "identity")
    }
}

/// A file that can be downloaded.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// The bundle of the competition with this name on Kaggle.
    Bundle(String),
    /// One file of this bundle.
    Member { id: String, file: String },
    /// A file at a URL of the pipeline.
    File { name: String, location: Location },
}

impl Item {
    /// Creates the item for the file at a URL.
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

    /// Returns a string that identifies the file.
    pub(crate) fn key(&self) -> String {
        match self {
            Item::Bundle(id) => id.clone(),
            // Names of competitions and URLs do not begin with a slash, so this key differs from all other keys.
            Item::Member { id, file } => format!("/{id}/{file}"),
            Item::File { location, .. } => location.message.url.to_string(),
        }
    }

    /// Returns the provider of the file: Kaggle, or the host of the URL.
    pub(crate) fn owner(&self) -> String {
        match self {
            Item::Bundle(_) | Item::Member { .. } => "Kaggle".to_owned(),
            Item::File { location, .. } => location.host(),
        }
    }

    /// Returns whether the connection protects the file from eavesdropping and modification.
    pub(crate) fn is_private(&self) -> bool {
        match self {
            Item::Bundle(_) | Item::Member { .. } => true,
            Item::File { location, .. } => is_private(&location.message.url),
        }
    }

    pub(crate) fn is_zip(&self) -> bool {
        self.expected() == Expected::Zip
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_to_plain_http_are_rejected_without_showing_the_signature() {
        let from: Url = "https://a.example/x?Signature=first".parse().unwrap();
        for (to, expected) in [
            (
                Some("https://b.example:8080/y?Signature=s"),
                Some("b.example:8080"),
            ),
            (Some("/y"), Some("a.example")),
            (Some("http://b.example/?Signature=s"), None),
            (Some("file:///etc/passwd"), None),
            (Some("https://"), None),
            (None, None),
        ] {
            let followed = follow(host(&from).into(), &from, to);
            assert_eq!(
                followed.as_ref().ok().map(host).as_deref(),
                expected,
                "{to:?}"
            );
            if let Err(error) = followed {
                assert!(!format!("{error}{error:?}").contains("Signature"));
            }
        }
        let location = Location {
            message: Message::get(from),
            expected: Expected::Zip,
            kind: LocationKind::Signed,
        };
        assert_eq!(format!("{location:?}"), "Location(a.example)");
    }
}
