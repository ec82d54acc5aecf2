//! The API calls, their requests in Kaggle's two protocols, and the hosts that may receive credentials.
//!
//! Kaggle's current tools call methods by POST at `api.kaggle.com`. Older tools read paths by GET at `www.kaggle.com`.
//! Both protocols return the same data.
//!
//! A call uses the protocol that worked last. If there is no response, or if the status is 404, 405, 410 or 501, the
//! server may not support this protocol. In this case, the call is sent once with the other protocol. If the other
//! protocol works, later calls use it.

use std::sync::atomic::{AtomicU8, Ordering};

use reqwest::Url;
use serde_json::{Value, json};

use crate::error::{FetchError, ServerRole};
use crate::wire::location::{Message, is_private};
use crate::wire::proxy::without_user;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Call<'a> {
    /// The bundle of a competition.
    Bundle(&'a str),
    /// One file of a competition.
    File { id: &'a str, file: &'a str },
    /// A page of a competition's file list.
    Files { id: &'a str, page: &'a str },
    /// Number and total length of a competition's files.
    Summary(&'a str),
    /// The owner of the credentials.
    Hello,
    /// A new access token for a login.
    AccessToken { refresh_token: &'a str },
}

const PAGE_SIZE: u32 = 200;

/// Requested validity of a new access token, as in Kaggle's SDK.
const TOKEN_VALIDITY: &str = "43200s";

impl Call<'_> {
    pub(crate) fn message(&self, endpoint: &Endpoint, protocol: Protocol) -> Message {
        let mut url = endpoint.base(protocol).clone();
        let body = match protocol {
            Protocol::Rpc => {
                let (service, method, body) = self.method();
                extend(&mut url, [service, method]);
                Some(body)
            }
            Protocol::Rest => {
                extend(&mut url, self.path());
                if let Call::Files { page, .. } = self {
                    let mut query = url.query_pairs_mut();
                    query.append_pair("pageSize", &PAGE_SIZE.to_string());
                    query.append_pair("pageToken", page);
                }
                match self {
                    Call::AccessToken { .. } => Some(self.method().2),
                    _ => None,
                }
            }
        };
        let body = body.map(|body| body.to_string());
        Message {
            body,
            ..Message::get(url)
        }
    }

    /// Returns the service, the method and the body of the call in the RPC protocol.
    fn method(&self) -> (&'static str, &'static str, Value) {
        let competitions = "competitions.CompetitionApiService";
        match self {
            Call::Bundle(id) => (
                competitions,
                "DownloadDataFiles",
                json!({ "competitionName": id }),
            ),
            Call::File { id, file } => (
                competitions,
                "DownloadDataFile",
                json!({ "competitionName": id, "fileName": file }),
            ),
            Call::Files { id, page } => (
                competitions,
                "ListDataFiles",
                json!({ "competitionName": id, "pageSize": PAGE_SIZE, "pageToken": page }),
            ),
            Call::Summary(id) => (
                competitions,
                "GetCompetitionDataFilesSummary",
                json!({ "competitionName": id }),
            ),
            Call::Hello => ("api.v1.DiagnosticsService", "Hello", json!({})),
            Call::AccessToken { refresh_token } => (
                "users.AccountService",
                "GenerateAccessToken",
                json!({
                    "refreshToken": refresh_token,
                    "apiVersion": "API_VERSION_V1",
                    "expirationDuration": TOKEN_VALIDITY,
                }),
            ),
        }
    }

    fn path(&self) -> Vec<&str> {
        let data = ["competitions", "data"];
        match self {
            Call::Bundle(id) => [&data[..], &["download-all", id]].concat(),
            Call::File { id, file } => [&data[..], &["download", id, file]].concat(),
            Call::Files { id, .. } => [&data[..], &["list", id]].concat(),
            Call::Summary(id) => [&data[..], &["summary", id]].concat(),
            // The older protocol has no call for the owner, but this call rejects invalid credentials.
            Call::Hello => vec!["competitions", "list"],
            Call::AccessToken { .. } => vec!["access-tokens", "generate"],
        }
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            Call::Bundle(id) | Call::Summary(id) => id,
            Call::File { id, .. } | Call::Files { id, .. } => id,
            Call::Hello | Call::AccessToken { .. } => "",
        }
    }
}

/// Appends segments to the path of an http or https URL. Encodes a slash in a segment as %2F.
fn extend<'a>(url: &mut Url, segments: impl IntoIterator<Item = &'a str>) {
    if let Ok(mut path) = url.path_segments_mut() {
        path.extend(segments);
    }
}

/// A protocol of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Methods that are called by POST with a JSON body, for example `DownloadDataFiles`.
    #[default]
    Rpc,
    /// Paths that are read by GET, for example `competitions/data/download-all/ID`.
    Rest,
}

impl Protocol {
    pub(crate) fn alternative(self) -> Protocol {
        match self {
            Protocol::Rpc => Protocol::Rest,
            Protocol::Rest => Protocol::Rpc,
        }
    }
}

/// The path of the older protocol on Kaggle's hosts, and of both protocols on other hosts.
const API_PATH: &str = "api/v1";

const KAGGLE_RPC: &str = "https://api.kaggle.com/v1";

const KAGGLE_REST: &str = "https://www.kaggle.com/api/v1";

#[derive(Debug)]
pub(crate) struct Endpoint {
    rest: Url,
    rpc: Url,
    pub(crate) is_official: bool,
    preferred: AtomicU8,
}

impl Endpoint {
    /// Parses the URLs of the API. `text` is the URL for the protocol that uses GET. It may omit `/api/v1`. `rpc` is the URL
    /// for the protocol that uses POST. If `rpc` is `None`, this URL is derived from `text`.
    ///
    /// A URL to which credentials must not be sent is an error ([`FetchError::Endpoint`]).
    pub(crate) fn parse(
        text: &str,
        rpc: Option<&str>,
        first: Protocol,
    ) -> Result<Endpoint, FetchError> {
        let mut rest = address(text)?;
        let is_official = is_of_kaggle(&rest);
        if is_official
            && matches!(
                rest.host_str(),
                Some("kaggle.com" | "www.kaggle.com" | "api.kaggle.com")
            )
        {
            rest = address(KAGGLE_REST)?;
        } else if rest.path() == "/" {
            rest.set_path(API_PATH);
        }
        let rpc = match rpc {
            Some(rpc) => address(rpc)?,
            None if rest.as_str() == KAGGLE_REST => address(KAGGLE_RPC)?,
            None => rest.clone(),
        };
        Ok(Endpoint {
            rest,
            rpc,
            is_official,
            preferred: AtomicU8::new(first as u8),
        })
    }

    pub(crate) fn base(&self, protocol: Protocol) -> &Url {
        match protocol {
            Protocol::Rpc => &self.rpc,
            Protocol::Rest => &self.rest,
        }
    }

    pub(crate) fn preferred(&self) -> Protocol {
        match self.preferred.load(Ordering::Relaxed) {
            byte if byte == Protocol::Rest as u8 => Protocol::Rest,
            _ => Protocol::Rpc,
        }
    }

    pub(crate) fn prefer(&self, protocol: Protocol) {
        self.preferred.store(protocol as u8, Ordering::Relaxed);
    }

    /// Returns whether `url` may receive credentials. The hosts of the API may receive them. If the API is Kaggle's, all
    /// hosts of Kaggle may.
    pub(crate) fn is_trusted(&self, url: &Url) -> bool {
        self.contains(url) || self.is_official && is_of_kaggle(url)
    }

    /// Returns the role of the server that receives a message.
    pub(crate) fn role(&self, message: &Message) -> ServerRole {
        match (self.is_official, self.contains(&message.url)) {
            (false, true) => ServerRole::Endpoint,
            (false, false) if message.is_redirected => ServerRole::RedirectTarget,
            _ => ServerRole::Other,
        }
    }

    fn contains(&self, url: &Url) -> bool {
        let mut own = [&self.rest, &self.rpc].into_iter();
        own.any(|own| own.origin() == url.origin())
    }
}

/// Checks a value of [`ENDPOINT_VARIABLE`](crate::ENDPOINT_VARIABLE).
///
/// # Errors
/// [`FetchError::Endpoint`] if it is not the URL of a server to which credentials may be sent.
pub fn check_endpoint(text: &str) -> Result<(), FetchError> {
    address(text).map(drop)
}

fn is_of_kaggle(url: &Url) -> bool {
    let is_host = |host: &str| host == "kaggle.com" || host.ends_with(".kaggle.com");
    url.scheme() == "https" && url.port().is_none() && url.host_str().is_some_and(is_host)
}

/// Returns the URL of an API.
fn address(text: &str) -> Result<Url, FetchError> {
    let wrong = |cause: &str| FetchError::Endpoint {
        value: without_user(text),
        cause: cause.to_owned(),
    };
    let text = text.trim_end_matches('/');
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    if !["https", "http"]
        .iter()
        .any(|one| scheme.eq_ignore_ascii_case(one))
    {
        return Err(wrong("does not begin with `https://` or `http://`"));
    }
    let url = text.parse::<Url>();
    let url = url.map_err(|error| wrong(&format!("is not a URL: {error}")))?;
    if !is_private(&url) {
        return Err(wrong(
            "uses plain http, which would expose the credentials to the network",
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("contains a user or password"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_equal_those_of_kaggles_tools() {
        let endpoint = Endpoint::parse("https://www.kaggle.com", None, Protocol::Rpc).unwrap();
        let service = "https://api.kaggle.com/v1/competitions.CompetitionApiService";
        let rest = "https://www.kaggle.com/api/v1";
        for (call, rpc, body, get) in [
            (
                Call::Bundle("spooky"),
                format!("{service}/DownloadDataFiles"),
                r#"{"competitionName":"spooky"}"#,
                format!("{rest}/competitions/data/download-all/spooky"),
            ),
            (
                Call::File {
                    id: "spooky",
                    file: "a b/c.csv",
                },
                format!("{service}/DownloadDataFile"),
                r#"{"competitionName":"spooky","fileName":"a b/c.csv"}"#,
                format!("{rest}/competitions/data/download/spooky/a%20b%2Fc.csv"),
            ),
            (
                Call::Hello,
                "https://api.kaggle.com/v1/api.v1.DiagnosticsService/Hello".to_owned(),
                "{}",
                format!("{rest}/competitions/list"),
            ),
        ] {
            let message = call.message(&endpoint, Protocol::Rpc);
            assert_eq!(
                (message.url.as_str(), message.body.as_deref()),
                (&*rpc, Some(body))
            );
            let message = call.message(&endpoint, Protocol::Rest);
            assert_eq!(message.url.as_str(), get);
        }
    }
}

#[cfg(test)]
mod endpoint_tests {
    use super::*;

    fn parse(text: &str) -> Endpoint {
        Endpoint::parse(text, None, Protocol::Rpc).unwrap()
    }

    #[test]
    fn the_api_path_of_an_endpoint_is_optional() {
        let kaggle = (KAGGLE_REST, KAGGLE_RPC);
        for (text, (rest, rpc)) in [
            ("https://www.kaggle.com/api/v1", kaggle),
            ("https://www.kaggle.com/api/v1/", kaggle),
            ("https://www.kaggle.com", kaggle),
            ("https://www.kaggle.com/", kaggle),
            ("https://kaggle.com", kaggle),
            ("https://api.kaggle.com/v1", kaggle),
            ("https://api.kaggle.com", kaggle),
            (
                "https://staging.kaggle.com",
                (
                    "https://staging.kaggle.com/api/v1",
                    "https://staging.kaggle.com/api/v1",
                ),
            ),
            (
                "http://127.0.0.1:80/x/api/v1",
                ("http://127.0.0.1/x/api/v1", "http://127.0.0.1/x/api/v1"),
            ),
        ] {
            let endpoint = parse(text);
            let bases = [Protocol::Rest, Protocol::Rpc].map(|one| endpoint.base(one).as_str());
            assert_eq!(bases, [rest, rpc], "{text}");
        }
    }

    #[test]
    fn only_the_api_and_kaggle_receive_credentials() {
        for (endpoint, url, is_trusted) in [
            ("https://www.kaggle.com", "https://api.kaggle.com/x", true),
            ("https://www.kaggle.com", "https://kaggle.com/x", true),
            ("https://www.kaggle.com", "https://new.kaggle.com/x", true),
            ("https://www.kaggle.com", "http://www.kaggle.com/x", false),
            (
                "https://www.kaggle.com",
                "https://www.kaggle.com:8443/x",
                false,
            ),
            ("https://www.kaggle.com", "https://evilkaggle.com/x", false),
            (
                "https://www.kaggle.com",
                "https://kaggle.com.evil.org/x",
                false,
            ),
            (
                "https://www.kaggle.com",
                "https://storage.googleapis.com/x",
                false,
            ),
            (
                "https://proxy.example.org",
                "https://proxy.example.org/y",
                true,
            ),
            (
                "https://proxy.example.org",
                "https://www.kaggle.com/y",
                false,
            ),
            ("http://127.0.0.1:1", "http://127.0.0.1:2/y", false),
        ] {
            let url = url.parse().unwrap();
            assert_eq!(
                parse(endpoint).is_trusted(&url),
                is_trusted,
                "{endpoint} {url}"
            );
        }
    }
}
