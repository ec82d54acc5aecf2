//! Requests a range from the object store and verifies the answer. Its bytes are written only after this verification.

use std::ops::Range;

use reqwest::header::{CONTENT_RANGE, IF_RANGE, LOCATION, RANGE};
use reqwest::{Response, StatusCode};

use crate::error::FetchError;
use crate::trouble::Trouble;
use crate::wire::api::{self, CallError, MAX_REDIRECTS, Message};
use crate::wire::identity::{Identity, content_range};
use crate::wire::location::{Expected, Location, follow};
use crate::wire::send::send;
use crate::wire::shared::Shared;
use prep_core::units;

/// An answer whose bytes can be used.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response,
    pub(crate) host: String,
    /// The expected type of the file.
    pub(crate) expected: Expected,
    /// The object that the bytes belong to.
    pub(crate) object: Identity,
    /// The range of the bytes. It starts at the requested offset but may end earlier than requested.
    pub(crate) range: Range<u64>,
    /// Whether the server sent the entire object (200) although a range was requested.
    pub(crate) is_complete: bool,
}

/// The reason why there is no usable answer.
#[derive(Debug)]
pub(crate) enum AnswerFailure {
    /// The request can be repeated.
    Trouble(Trouble),
    /// The object on the server has changed or no longer exists.
    Changed,
    /// The request cannot succeed.
    Refused(FetchError),
}

impl From<Trouble> for AnswerFailure {
    fn from(trouble: Trouble) -> AnswerFailure {
        AnswerFailure::Trouble(trouble)
    }
}

/// Requests `range`, whose end may exceed the length of the object. If `expected` is given, a different object is an
/// error.
pub(crate) async fn ask(
    shared: &Shared,
    location: &Location,
    range: Range<u64>,
    expected: Option<&Identity>,
) -> Result<Answer, AnswerFailure> {
    let mut message = location.message().clone();
    // The object store must not receive anything but the signature.
    let mut with_credentials = location.is_api();
    for _ in 0..=MAX_REDIRECTS {
        let host = crate::wire::location::host(&message.url);
        let mut request = message
            .request(&shared.client)
            .header(RANGE, header(&range));
        if with_credentials {
            request = authorized(shared, request).await?;
        }
        if let Some(etag) = expected.and_then(|object| object.etag.as_ref()) {
            request = request.header(IF_RANGE, etag);
        }
        let response = send(shared, request, host.clone(), range.start).await?;
        if response.status().is_redirection() {
            let to = response.headers().get(LOCATION);
            let to = follow(&message.url, to.and_then(|to| to.to_str().ok()));
            message = Message::get(to.map_err(AnswerFailure::Refused)?);
            with_credentials = false;
            continue;
        }
        return classify_answer(shared, location, response, host, &range, expected).await;
    }
    Err(AnswerFailure::Refused(FetchError::Redirect {
        from: location.host(),
        to: crate::wire::location::host(&message.url),
        reason: "there are too many redirects",
    }))
}

/// Adds credentials to a request, if it goes to the API.
async fn authorized(
    shared: &Shared,
    request: reqwest::RequestBuilder,
) -> Result<reqwest::RequestBuilder, AnswerFailure> {
    match api::authorize(shared, request, None).await {
        Ok((request, _)) => Ok(request),
        Err(CallError::Trouble(trouble, _)) => Err(AnswerFailure::Trouble(trouble)),
        Err(CallError::Fatal(error) | CallError::Absent(error)) => {
            Err(AnswerFailure::Refused(error))
        }
    }
}

/// Returns the value of the `Range` header. An end of `u64::MAX` requests everything up to the end of the object.
fn header(range: &Range<u64>) -> String {
    match range.end {
        u64::MAX => format!("bytes={}-", range.start),
        end => format!("bytes={}-{}", range.start, end - 1),
    }
}

async fn classify_answer(
    shared: &Shared,
    location: &Location,
    response: Response,
    host: String,
    requested: &Range<u64>,
    expected: Option<&Identity>,
) -> Result<Answer, AnswerFailure> {
    let status = response.status();
    let code = status.as_u16();
    let kind = location.expected();
    if status.is_success() && kind != Expected::Page && api::is_html(&response) {
        let length = response.content_length();
        let body = api::text_of(shared, response).await;
        let length = length.unwrap_or(body.len() as u64);
        return Err(AnswerFailure::Refused(FetchError::NotZip {
            host,
            got: format!("HTML, {}", units::bytes(length)),
            expected: describe_expected(kind, expected),
        }));
    }
    let usable = |answer: Answer| Answer {
        expected: kind,
        ..answer
    };
    match status {
        StatusCode::PARTIAL_CONTENT => part(response, host, requested, expected).map(usable),
        StatusCode::OK => whole(response, host, expected).map(usable),
        StatusCode::RANGE_NOT_SATISFIABLE if expected.is_some() => Err(AnswerFailure::Changed),
        // A new address may help: object stores answer requests with an expired address with any of these status codes.
        StatusCode::BAD_REQUEST
        | StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::NOT_FOUND
        | StatusCode::GONE
            if location.is_renewable() =>
        {
            Err(Trouble::Address { host, code }.into())
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => {
            Err(AnswerFailure::Refused(FetchError::NoFile {
                path: location.url().path().to_owned(),
                host,
                code,
            }))
        }
        _ if api::is_temporary(status) || status == StatusCode::RANGE_NOT_SATISFIABLE => {
            let retry_after = api::requested_pause(&response);
            Err(Trouble::Status {
                host,
                code,
                retry_after,
            }
            .into())
        }
        // The body is not shown, because it may quote the signed request.
        _ => Err(AnswerFailure::Refused(FetchError::Refused {
            host,
            code,
            message: String::new(),
        })),
    }
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

fn part(
    response: Response,
    host: String,
    requested: &Range<u64>,
    expected: Option<&Identity>,
) -> Result<Answer, AnswerFailure> {
    let other = |what: String| {
        let host = host.clone();
        AnswerFailure::Trouble(Trouble::OtherRange { host, what })
    };
    let Some((range, total)) = content_range(response.headers()) else {
        let value = response.headers().get(CONTENT_RANGE);
        return Err(other(format!(
            "206 with Content-Range {:?}",
            value.and_then(|value| value.to_str().ok()).unwrap_or("")
        )));
    };
    let object = Identity::from_headers(response.headers(), total);
    if expected.is_some_and(|expected| !expected.agrees(&object)) {
        return Err(AnswerFailure::Changed);
    }
    if range.start != requested.start || range.end > requested.end {
        return Err(other(format!(
            "bytes {}-{} for bytes {}-{}",
            range.start,
            range.end - 1,
            requested.start,
            requested.end - 1
        )));
    }
    let length = range.end - range.start;
    match response.content_length() {
        Some(announced) if announced != length => {
            Err(other(format!("{announced} bytes for {length}")))
        }
        _ => Ok(Answer {
            response,
            host,
            expected: Expected::Anything,
            object,
            range,
            is_complete: false,
        }),
    }
}

fn whole(
    response: Response,
    host: String,
    expected: Option<&Identity>,
) -> Result<Answer, AnswerFailure> {
    let Some(total) = response.content_length() else {
        return Err(AnswerFailure::Refused(FetchError::NoLength { host }));
    };
    let object = Identity::from_headers(response.headers(), total);
    match expected {
        Some(expected) if !expected.agrees(&object) => Err(AnswerFailure::Changed),
        Some(_) => Err(Trouble::RangeIgnored { host }.into()),
        None => Ok(Answer {
            response,
            host,
            expected: Expected::Anything,
            object,
            range: 0..total,
            is_complete: true,
        }),
    }
}
