//! The API calls, and the request of each call in each protocol.

use reqwest::Url;
use serde_json::{Value, json};

use crate::wire::api::endpoint::{Endpoint, Protocol};
use crate::wire::location::Message;

/// An API call.
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

/// Number of files on a page of the file list.
const PAGE_SIZE: u32 = 200;

/// Requested validity of a new access token. It is 12 hours, as in Kaggle's SDK.
const TOKEN_VALIDITY: &str = "43200s";

impl Call<'_> {
    /// Returns the request of the call in a protocol.
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
        Message { url, body }
    }

    /// Returns the service, the method, and the JSON body.
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

    /// Returns the competition that the call is about.
    pub(crate) fn id(&self) -> &str {
        match self {
            Call::Bundle(id) | Call::Summary(id) => id,
            Call::File { id, .. } | Call::Files { id, .. } => id,
            Call::Hello | Call::AccessToken { .. } => "",
        }
    }
}

/// Appends segments to the path of a URL. A slash in a segment is encoded as %2F. All endpoints are http or https URLs,
/// so they have a path.
fn extend<'a>(url: &mut Url, segments: impl IntoIterator<Item = &'a str>) {
    if let Ok(mut path) = url.path_segments_mut() {
        path.extend(segments);
    }
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
