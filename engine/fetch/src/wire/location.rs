//! A signed address of the object store.

use std::fmt;

use reqwest::Url;

use crate::error::FetchError;

/// Where the bundle lies for now. The query is a signature: only the host is ever shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Location(Url);

impl Location {
    pub(crate) fn new(url: Url) -> Location {
        Location(url)
    }

    pub(crate) fn url(&self) -> Url {
        self.0.clone()
    }

    pub(crate) fn host(&self) -> String {
        host(&self.0)
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Location({})", self.host())
    }
}

/// Host and port, for messages.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Where a redirect from `from` leads.
///
/// # Errors
/// [`FetchError::Redirect`]: nowhere, to something else than HTTP, or from HTTPS to HTTP.
pub(crate) fn follow(from: &Url, to: Option<&str>) -> Result<Url, FetchError> {
    let refuse = |to: String, reason| {
        Err(FetchError::Redirect {
            from: host(from),
            to,
            reason,
        })
    };
    let Some(Ok(to)) = to.map(|to| from.join(to)) else {
        return refuse("nowhere".into(), "it names no address");
    };
    if !matches!(to.scheme(), "http" | "https") || to.host_str().is_none() {
        return refuse(host(&to), "it is not an address of http or https");
    }
    if from.scheme() == "https" && to.scheme() == "http" {
        return refuse(host(&to), "it leaves encryption");
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_encrypted_and_show_no_signature() {
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
            let followed = follow(&from, to);
            assert_eq!(
                followed.as_ref().ok().map(host).as_deref(),
                expected,
                "{to:?}"
            );
            if let Err(error) = followed {
                assert!(!format!("{error}{error:?}").contains("Signature"));
            }
        }
        let shown = format!("{:?}", Location::new(from));
        assert_eq!(shown, "Location(a.example)");
    }
}
