//! Requests a range of an object, and verifies that the response contains this range of this object.

use std::ops::Range;

use bytes::Bytes;
use prep_core::{RateCheck, units};
use reqwest::header::{CONTENT_RANGE, IF_RANGE, LOCATION, RANGE};
use reqwest::{Response, StatusCode};

use crate::error::{FetchError, Server, Stop, Trouble};
use crate::wire::ask::{MAX_REDIRECTS, authorize};
use crate::wire::body::{
    Position, beginning_of, chunk, encoding, is_html, is_temporary, trouble_of,
};
use crate::wire::identity::{Identity, Sameness, content_range};
use crate::wire::location::{Expected, Location, Message, follow, host};
use crate::wire::shared::{Shared, send};

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response,
    pub(crate) host: Server,
    pub(crate) expected: Expected,
    pub(crate) object: Identity,
    /// The range of the bytes. It starts at the requested offset but may end earlier than requested.
    pub(crate) range: Range<u64>,
    /// Whether the response contains the entire object (status 200), because no range was requested or supported.
    pub(crate) is_complete: bool,
}

pub(crate) struct RangeRequest<'a> {
    pub(crate) location: &'a Location,
    /// The requested bytes. The end may exceed the length of the object. [`ENTIRE`] requests no range.
    pub(crate) range: Range<u64>,
    /// The object to which the bytes must belong, if an earlier response identified it. The response must prove this.
    pub(crate) expected: Option<&'a Identity>,
}

/// The range of a request without a range, whose response contains the entire object.
pub(crate) const ENTIRE: Range<u64> = 0..u64::MAX;

impl RangeRequest<'_> {
    /// Sends the request, follows redirects, and checks that the response contains the requested bytes.
    pub(crate) async fn send(&self, shared: &Shared) -> Result<Answer, Stop> {
        // Without a strong validator, no response could prove that it contains the expected object.
        if self
            .expected
            .is_some_and(|object| !object.can_be_verified())
        {
            let host = shared.server(&self.location.message);
            return Err(Stop::Fatal(FetchError::NoValidator { host }));
        }
        let mut message = self.location.message.clone();
        // The object store must not receive credentials.
        let mut with_credentials = self.location.is_api();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = message.request(&shared.client);
            if self.range != ENTIRE {
                request = request.header(RANGE, header(&self.range));
            }
            if with_credentials {
                (request, _) = authorize(shared, request, None).await?;
            }
            if let Some(etag) = self.expected.and_then(Identity::strong_etag) {
                request = request.header(IF_RANGE, etag);
            }
            let response = send(shared, request, &message, self.range.start).await?;
            if response.status().is_redirection() {
                let to = response.headers().get(LOCATION);
                let to = to.and_then(|to| to.to_str().ok());
                let to = follow(shared.server(&message), &message.url, to)?;
                message = Message {
                    is_redirected: message.is_redirected || self.location.is_api(),
                    ..Message::get(to)
                };
                with_credentials = false;
                continue;
            }
            return self
                .classify(shared, response, shared.server(&message))
                .await;
        }
        Err(Stop::Fatal(FetchError::Redirect {
            from: shared.server(&self.location.message),
            to: host(&message.url),
            reason: "there are too many redirects",
        }))
    }

    async fn classify(
        &self,
        shared: &Shared,
        response: Response,
        host: Server,
    ) -> Result<Answer, Stop> {
        let status = response.status();
        let code = status.as_u16();
        let kind = self.location.expected;
        if status.is_success() && kind != Expected::Page && is_html(&response) {
            let length = response.content_length();
            let body = beginning_of(shared, response, &host).await;
            let length = length.unwrap_or(body.len() as u64);
            return Err(Stop::Fatal(FetchError::NotZip {
                host,
                got: format!("HTML, {}", units::bytes(length)),
                expected: describe_expected(kind, self.expected),
            }));
        }
        if status.is_success()
            && let Some(encoding) = encoding(response.headers())
        {
            return Err(Stop::Fatal(FetchError::Encoded { host, encoding }));
        }
        match status {
            StatusCode::PARTIAL_CONTENT => self.part(response, host),
            StatusCode::OK => self.whole(response, host),
            StatusCode::RANGE_NOT_SATISFIABLE if self.expected.is_some() => Err(Stop::Changed),
            // Object stores use these status codes if a signed address has expired, so a new address may help.
            StatusCode::BAD_REQUEST
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::GONE
                if self.location.is_renewable() =>
            {
                Err(Trouble::Address { host, code }.into())
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(Stop::Fatal(FetchError::NoFile {
                path: self.location.message.url.path().to_owned(),
                host,
                code,
            })),
            _ if is_temporary(status) || status == StatusCode::RANGE_NOT_SATISFIABLE => {
                Err(trouble_of(&response, host).into())
            }
            // The body is not shown, because it may quote the signed request.
            _ => Err(Stop::Fatal(FetchError::Refused {
                host,
                code,
                message: String::new(),
            })),
        }
    }

    /// Returns whether an object is expected and `object` is not proven to be the expected object.
    fn is_other(&self, object: &Identity) -> bool {
        let expected = self.expected;
        expected.is_some_and(|expected| expected.compare(object) != Sameness::Same)
    }

    /// Converts a response with a part of the object (status 206).
    fn part(&self, response: Response, host: Server) -> Result<Answer, Stop> {
        let requested = &self.range;
        let other = |what: String| {
            let host = host.clone();
            Trouble::OtherRange { host, what }.into()
        };
        let Some((range, total)) = content_range(response.headers()) else {
            let value = response.headers().get(CONTENT_RANGE);
            return Err(other(format!(
                "206 with Content-Range {:?}",
                value.and_then(|value| value.to_str().ok()).unwrap_or("")
            )));
        };
        let object = Identity::from_headers(response.headers(), total);
        if self.is_other(&object) {
            return Err(Stop::Changed);
        }
        if range.start != requested.start || range.end > requested.end {
            return Err(other(format!(
                "bytes {}-{} instead of bytes {}-{}",
                range.start,
                range.end - 1,
                requested.start,
                requested.end - 1
            )));
        }
        let length = range.end - range.start;
        match response.content_length() {
            Some(announced) if announced != length => Err(other(format!(
                "{announced} bytes instead of {length} bytes"
            ))),
            _ => Ok(Answer {
                response,
                host,
                expected: self.location.expected,
                object,
                range,
                is_complete: false,
            }),
        }
    }

    /// Converts a response with the entire object (status 200).
    fn whole(&self, response: Response, host: Server) -> Result<Answer, Stop> {
        let Some(total) = response.content_length() else {
            return Err(Stop::Fatal(FetchError::NoLength { host }));
        };
        let object = Identity::from_headers(response.headers(), total);
        match self.expected {
            Some(_) if self.is_other(&object) => Err(Stop::Changed),
            Some(_) => Err(Trouble::RangeIgnored { host }.into()),
            None => Ok(Answer {
                response,
                host,
                expected: self.location.expected,
                object,
                range: 0..total,
                is_complete: true,
            }),
        }
    }
}

fn header(range: &Range<u64>) -> String {
    format!("bytes={}-{}", range.start, range.end.saturating_sub(1))
}

pub(crate) fn describe_expected(kind: Expected, expected: Option<&Identity>) -> String {
    let what = match kind {
        Expected::Zip => "a zip archive",
        Expected::Page => "a web page",
        Expected::Anything => "a file",
    };
    match expected {
        Some(object) => format!("{what}, {}", units::bytes(object.total)),
        None => what.into(),
    }
}

/// The body of a verified response. Reading it fails if fewer or more bytes arrive than the response announced.
pub(crate) struct Body {
    response: Response,
    host: Server,
    offset: u64,
    end: u64,
}

impl Body {
    pub(crate) fn new(answer: Answer) -> Body {
        Body {
            response: answer.response,
            host: answer.host,
            offset: answer.range.start,
            end: answer.range.end,
        }
    }

    pub(crate) fn host(&self) -> &Server {
        &self.host
    }

    /// Returns the next bytes, after waiting for the rate limit. `None` after the last byte.
    pub(crate) async fn next(
        &mut self,
        shared: &Shared,
        rate: &mut RateCheck,
    ) -> Result<Option<Bytes>, Trouble> {
        let missing = self.end.saturating_sub(self.offset);
        let position = Position {
            host: &self.host,
            offset: self.offset,
        };
        let Some(chunk) = chunk(&mut self.response, rate, position).await? else {
            return match missing {
                0 => Ok(None),
                missing => Err(Trouble::Short {
                    host: self.host.clone(),
                    offset: self.offset,
                    missing,
                }),
            };
        };
        let bytes = chunk.len() as u64;
        if bytes > missing {
            return Err(Trouble::OtherRange {
                host: self.host.clone(),
                what: "more bytes than it announced".into(),
            });
        }
        shared.rate.take(bytes).await;
        self.offset += bytes;
        Ok(Some(chunk))
    }
}
