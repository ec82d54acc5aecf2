//! Handles requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderValue, ORIGIN,
};
use hyper::http::Uri;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use prep_app::{Error, Submission, SubmissionError, Validation};
use prep_grade::report::{CompetitionReport, quoted};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::connections::{Connection, Slot};
use crate::grading::{Gradings, Worker, catch_panic};
use crate::upload;
use crate::upload::{Limits, Upload, UploadError};

const MAX_QUEUE_TIME: Duration = Duration::from_secs(300);

/// Uploads with more bytes than this are graded one at a time, to limit the memory.
const LARGE_UPLOAD_BYTES: u64 = 16 << 20;

/// Name of the header in which a request states its competition, if the server serves all competitions.
const COMPETITION_HEADER: &str = "exp-id";

const UPLOAD_NAME: &str = "submission.csv";

pub(crate) struct Shared {
    /// The host with which the server was started.
    pub host: String,
    pub competition: Option<String>,
    pub scores: bool,
    pub limits: Limits,
    pub uploads: std::path::PathBuf,
    pub gradings: Gradings,
    /// Limits concurrent grading. An upload takes one permit, or all permits if it is longer than [`LARGE_UPLOAD_BYTES`].
    pub permits: Semaphore,
    pub graders: u32,
    pub large: Worker,
}

/// A response, with details that only the log of the server gets.
pub(crate) struct Handled {
    pub answer: Answer,
    pub bytes: Option<u64>,
    pub valid: Option<bool>,
    pub trouble: Option<String>,
}

impl From<Answer> for Handled {
    fn from(answer: Answer) -> Handled {
        Handled {
            answer,
            bytes: None,
            valid: None,
            trouble: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UploadTarget {
    Validation,
    Report,
}

#[derive(Clone)]
pub(crate) struct Client {
    pub connection: Arc<Connection>,
    pub is_loopback: bool,
}

pub(crate) async fn handle(
    shared: Arc<Shared>,
    client: &Client,
    request: Request<Incoming>,
) -> Handled {
    let (head, mut body) = request.into_parts();
    let is_foreign = client.is_loopback && !is_local(&head.uri, &head.headers, &shared.host);
    let mut handled = match is_foreign {
        true => foreign().into(),
        false => route(shared, client, &head, &mut body).await,
    };
    // Read the rest of the body, because some clients read the response only after sending the entire body. If the body
    // does not end in time, close the connection. Otherwise the rest of the body would be mistaken for another request.
    let is_waiting = head.headers.contains_key(EXPECT) && !body.is_end_stream();
    if !is_waiting {
        upload::drain(&mut body).await;
    }
    if !body.is_end_stream() {
        let headers = handled.answer.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    handled
}

fn foreign() -> Answer {
    let details = "the host and the origin of a request to this machine must be localhost, a loopback address or a name without a dot";
    error_answer(StatusCode::FORBIDDEN, "Forbidden", details)
}

async fn route(
    shared: Arc<Shared>,
    client: &Client,
    request: &Parts,
    body: &mut Incoming,
) -> Handled {
    let wanted = match decoded(request.uri.path()).as_str() {
        "/health" => return health(&request.method).into(),
        "/validate" => UploadTarget::Validation,
        "/grade" if shared.scores => UploadTarget::Report,
        _ => {
            let paths = "the server only accepts POST /validate and GET /health";
            return error_answer(StatusCode::NOT_FOUND, "Not Found", paths).into();
        }
    };
    const METHODS: &str = "OPTIONS, POST";
    match request.method {
        Method::POST => {
            let received = receive(&shared, client, &request.headers, body).await;
            match received {
                Ok((id, upload)) => grade(&shared, wanted, id, upload).await,
                Err(handled) => *handled,
            }
        }
        Method::OPTIONS => allowed_answer(StatusCode::OK, METHODS).into(),
        _ => allowed_answer(StatusCode::METHOD_NOT_ALLOWED, METHODS).into(),
    }
}

/// Decodes percent-encoded bytes (`%20`) and merges repeated slashes, as upstream's server does.
fn decoded(path: &str) -> String {
    let mut bytes: Vec<u8> = percent_decode_str(path).collect();
    bytes.dedup_by(|next, byte| *next == b'/' && *byte == b'/');
    String::from_utf8_lossy(&bytes).into_owned()
}

fn health(method: &Method) -> Answer {
    const METHODS: &str = "GET, HEAD, OPTIONS";
    match *method {
        Method::GET | Method::HEAD => running_answer(),
        Method::OPTIONS => allowed_answer(StatusCode::OK, METHODS),
        _ => allowed_answer(StatusCode::METHOD_NOT_ALLOWED, METHODS),
    }
}

/// Receives the upload of a request. Returns the id of its competition and the upload, or an error response.
async fn receive(
    shared: &Shared,
    client: &Client,
    headers: &HeaderMap,
    body: &mut Incoming,
) -> Result<(String, Upload), Box<Handled>> {
    let id = competition(shared, headers).map_err(|details| {
        let answer = error_answer(StatusCode::BAD_REQUEST, "Bad Request", details);
        Box::new(answer.into())
    })?;
    let failed = |error: UploadError| Box::new(upload_error(&error));
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let length = text(CONTENT_LENGTH).and_then(|text| text.parse::<u64>().ok());
    if length.is_some_and(|length| length > shared.limits.bytes) {
        // The client gets this response instead of `100 Continue`.
        return Err(failed(UploadError::TooLarge(shared.limits.bytes)));
    }
    let slot = slot(shared, client).await;
    let _slot = slot.ok_or_else(|| {
        Box::new(busy("too many submissions are waiting; try again later").into())
    })?;
    let received = upload::receive(text(CONTENT_TYPE), body, &shared.limits, &shared.uploads).await;
    Ok((id, received.map_err(failed)?))
}

/// Waits until the upload may begin. Returns `None` after [`MAX_QUEUE_TIME`].
async fn slot(shared: &Shared, client: &Client) -> Option<Slot> {
    let (slots, peer) = (&shared.limits.slots, client.connection.peer);
    if let Some(slot) = slots.try_acquire(peer) {
        return Some(slot);
    }
    let _waiting = client.connection.begin_waiting();
    timeout(MAX_QUEUE_TIME, slots.acquire(peer)).await.ok()?
}

fn busy(details: &str) -> Answer {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    error_answer(status, "Service Unavailable", details)
}

async fn grade(shared: &Arc<Shared>, wanted: UploadTarget, id: String, upload: Upload) -> Handled {
    let bytes = Some(upload.bytes);
    let is_large = upload.bytes > LARGE_UPLOAD_BYTES;
    let permits = match is_large {
        true => shared.graders,
        false => 1,
    };
    let Ok(Ok(_permit)) = timeout(MAX_QUEUE_TIME, shared.permits.acquire_many(permits)).await
    else {
        return Handled {
            bytes,
            ..busy("too many submissions are waiting; try again later").into()
        };
    };
    let state = Arc::clone(shared);
    let work = move || state.grade(&id, upload, wanted);
    let graded = match is_large {
        true => shared.large.run(work).await,
        false => match tokio::task::spawn_blocking(move || catch_panic(work)).await {
            Ok(graded) => graded,
            Err(error) => Err(error.to_string()),
        },
    };
    let handled = graded.unwrap_or_else(|why| Handled {
        trouble: Some(format!("a bug: grading a submission panicked: {why}")),
        ..unexpected("a bug in the server").into()
    });
    Handled { bytes, ..handled }
}

fn competition(shared: &Shared, headers: &HeaderMap) -> Result<String, &'static str> {
    if let Some(id) = &shared.competition {
        return Ok(id.clone());
    }
    let chosen = headers
        .get(COMPETITION_HEADER)
        .and_then(|value| value.to_str().ok());
    match chosen {
        Some(id) if shared.gradings.knows(id) => Ok(id.to_owned()),
        Some(_) => Err("there is no such competition"),
        None => Err("the header exp-id must contain the id of a competition"),
    }
}

fn upload_error(error: &UploadError) -> Handled {
    let (status, name) = match error {
        UploadError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"),
        UploadError::TooSlow => (StatusCode::REQUEST_TIMEOUT, "Request Timeout"),
        UploadError::TooMuch => (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
        UploadError::Disk(cause) => return not_stored(format!("cannot store an upload: {cause}")),
        UploadError::NoMultipart
        | UploadError::NoFile
        | UploadError::Broken(_)
        | UploadError::Multipart(_) => (StatusCode::BAD_REQUEST, "Bad Request"),
    };
    error_answer(status, name, &prep_failure::chain(error)).into()
}

/// Returns the response if the disk fails. Only the log of the server gets the cause.
fn not_stored(cause: String) -> Handled {
    Handled {
        trouble: Some(cause),
        ..unexpected("the upload cannot be stored").into()
    }
}

impl Shared {
    fn grade(&self, id: &str, upload: Upload, wanted: UploadTarget) -> Handled {
        let grading = match self.gradings.get(id) {
            Ok(grading) => grading,
            Err(error) => return not_gradable(id, &error),
        };
        let Upload {
            file,
            reserved: _reserved,
            ..
        } = upload;
        let submission = Submission::of_private_file(UPLOAD_NAME, file);
        let outcome = grading.grade(&submission);
        if let Err(SubmissionError::Competition(error)) = &outcome {
            return not_gradable(id, error);
        }
        let handled = Validation::of(UPLOAD_NAME, &outcome).and_then(|found| {
            let answer = match wanted {
                UploadTarget::Report => report(&grading.report(&submission, outcome)?),
                UploadTarget::Validation => {
                    let valid = self.competition.is_none().then_some(found.valid);
                    result_answer(&found.message, valid)
                }
            };
            Ok(Handled {
                valid: Some(found.valid),
                ..answer.into()
            })
        });
        handled.unwrap_or_else(|error| not_stored(error.message))
    }
}

fn report(report: &CompetitionReport) -> Answer {
    let text = prep_grade::report::pretty(report.to_json()) + "\n";
    json_answer(StatusCode::OK, text)
}

/// Returns the response if the answers cannot be used. The response omits the cause of the error, because the cause
/// contains a path. The log of the server contains the cause.
fn not_gradable(id: &str, error: &Error) -> Handled {
    let details = format!(
        "Dataset for competition `{id}` is not prepared! Please run `mlebench prepare -c {id}` to prepare the dataset."
    );
    Handled {
        trouble: Some(error.message.clone()),
        ..unexpected(&details).into()
    }
}

fn unexpected(details: &str) -> Answer {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    error_answer(status, "An unexpected error occurred.", details)
}

pub(crate) type Answer = Response<Full<Bytes>>;

fn running_answer() -> Answer {
    json_answer(StatusCode::OK, "{\"status\":\"running\"}\n".to_owned())
}

/// Returns the response `{"result":MESSAGE}`. A server for all competitions adds the member `is_valid`.
fn result_answer(message: &str, valid: Option<bool>) -> Answer {
    let valid = valid.map_or_else(String::new, |valid| format!("\"is_valid\":{valid},"));
    json_answer(
        StatusCode::OK,
        format!("{{{valid}\"result\":{}}}\n", quoted(message)),
    )
}

/// Returns the response `{"details":DETAILS,"error":ERROR}`. Some clients show `details` only if there is an `error`.
fn error_answer(status: StatusCode, error: &str, details: &str) -> Answer {
    let text = format!(
        "{{\"details\":{},\"error\":{}}}\n",
        quoted(details),
        quoted(error)
    );
    json_answer(status, text)
}

/// Returns the response to `OPTIONS`, or the error 405, with the header `Allow`.
fn allowed_answer(status: StatusCode, methods: &'static str) -> Answer {
    let mut answer = match status {
        StatusCode::OK => json_answer(status, String::new()),
        _ => error_answer(
            status,
            "Method Not Allowed",
            &format!("allowed methods: {methods}"),
        ),
    };
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

fn json_answer(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Returns whether each host and origin in a request is local, or equals `name`, the host at which the server listens. A
/// request with another host or origin may come from a foreign web page.
pub(crate) fn is_local(uri: &Uri, headers: &HeaderMap, name: &str) -> bool {
    let is_own = |host: &str| is_local_name(host) || host.eq_ignore_ascii_case(name);
    let mut hosts = headers.get_all(HOST).iter();
    let mut origins = headers.get_all(ORIGIN).iter();
    uri.host().is_none_or(is_own)
        && hosts.all(|host| host.to_str().is_ok_and(|host| is_own(without_port(host))))
        && origins.all(|origin| {
            let host = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.split_once("://"));
            host.is_some_and(|(_, host)| is_own(without_port(host)))
        })
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}

fn is_local_name(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            let name = host.to_ascii_lowercase();
            let is_localhost = matches!(&*name, "localhost" | "localhost.");
            // A public host name contains a dot. A name in a local network often does not.
            is_localhost || name.ends_with(".localhost") || !(name.is_empty() || name.contains('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[test]
    fn responses_equal_those_of_upstreams_server() {
        for (answer, expected) in [
            (running_answer(), "{\"status\":\"running\"}\n"),
            (
                result_answer("a \"b\"\né", None),
                "{\"result\":\"a \\\"b\\\"\\n\\u00e9\"}\n",
            ),
            (
                result_answer("x", Some(true)),
                "{\"is_valid\":true,\"result\":\"x\"}\n",
            ),
            (
                error_answer(StatusCode::BAD_REQUEST, "e", "d"),
                "{\"details\":\"d\",\"error\":\"e\"}\n",
            ),
        ] {
            let body = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap()
                .block_on(answer.into_body().collect())
                .unwrap();
            assert_eq!(body.to_bytes(), expected);
        }
    }
}

#[cfg(test)]
mod locality_tests {
    use super::*;

    #[test]
    fn foreign_hosts_and_origins_are_not_local() {
        for (uri, host, origin, expected) in [
            ("/health", None, None, true),
            ("/health", Some("localhost:5000"), None, true),
            ("/health", Some("LOCALHOST."), None, true),
            ("/health", Some("a.localhost:1"), None, true),
            ("/health", Some("127.0.0.1:5000"), None, true),
            ("/health", Some("127.9.9.9"), None, true),
            ("/health", Some("[::1]:5000"), None, true),
            ("/health", Some("[::ffff:127.0.0.1]"), None, true),
            ("/health", Some("my.box:5000"), None, true),
            ("/health", Some("grader:5000"), None, true),
            ("/health", Some("ai."), None, false),
            ("/health", Some("evil.example:5000"), None, false),
            ("/health", Some("localhost.evil.example"), None, false),
            ("/health", Some("127.0.0.1.evil.example"), None, false),
            ("/health", Some("10.0.0.1"), None, false),
            ("/health", Some(""), None, false),
            ("http://evil.example/health", Some("localhost"), None, false),
            ("http://localhost/health", Some("localhost"), None, true),
            (
                "/health",
                Some("localhost"),
                Some("http://localhost:3000"),
                true,
            ),
            (
                "/health",
                Some("localhost"),
                Some("http://evil.example"),
                false,
            ),
            ("/health", Some("localhost"), Some("null"), false),
            ("/health", None, Some("https://evil.example:5000"), false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(HOST, host), (ORIGIN, origin)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            let found = is_local(&uri.parse().unwrap(), &headers, "my.box");
            assert_eq!(found, expected, "{uri} {host:?} {origin:?}");
        }
    }
}
