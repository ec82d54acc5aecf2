//! Requests without credentials.

use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Url};

/// A request without credentials, which can be repeated with another URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) url: Url,
    /// JSON body of a POST request. `None` for a GET request.
    pub(crate) body: Option<String>,
}

impl Message {
    pub(crate) fn get(url: Url) -> Message {
        Message { url, body: None }
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
