//! Handles requests.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode};
use percent_encoding::percent_decode_str;
use prep_app::{Error, Submission, SubmissionError, Validation};
use prep_grade::report::CompetitionReport;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::connections::Connection;
use crate::gradings::Gradings;
use crate::locality;
use crate::slots::Slot;
use crate::upload::{self, Limits, Upload, UploadError};
use crate::worker::{Worker, catch_panic};

/// Maximum time that an upload waits to be graded.
const MAX_QUEUE_TIME: Duration = Duration::from_secs(300);

/// Uploads that are longer than this are graded one at a time, to limit the memory. In bytes.
const LARGE_UPLOAD_BYTES: u64 = 16 << 20;

/// The header that names the competition, if the server is for all competitions.
const COMPETITION_HEADER: &str = "exp-id";

/// The name of each upload in reports. Names that clients send are ignored.
const UPLOAD_NAME: &str = "submission.csv";

/// State that all requests share.
pub(crate) struct Shared {
    /// The host that the server was started with.
    pub host: String,
    pub competition: Option<String>,
    pub scores: bool,
    pub limits: Limits,
    pub uploads: std::path::PathBuf,
    pub gradings: Gradings,
    /// Permits for grading uploads at the same time. An upload of more than [`LARGE_UPLOAD_BYTES`] bytes takes all permits.
    pub permits: Semaphore,
    pub graders: u32,
    /// Grades large uploads.
    pub large: Worker,
}

/// A response, with details that only the owner of the server gets.
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

/// The connection on which a request arrived.
#[derive(Clone)]
pub(crate) struct Client {
    pub connection: Arc<Connection>,
    /// Whether the client connected to a loopback address.
    pub is_loopback: bool,
}

pub(crate) async fn handle(
    shared: Arc<Shared>,
    client: &Client,
    request: Request<Incoming>,
) -> Handled {
    let (head, mut body) = request.into_parts();
    let is_foreign =
        client.is_loopback && !locality::is_local(&head.uri, &head.headers, &shared.host);
    let mut handled = match is_foreign {
        true => foreign().into(),
        false => route(shared, client, &head, &mut body).await,
    };
    // The client may still be sending. It must be able to read the response, and must not send another request on this
    // connection.
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

/// Returns the response to a request that a page of another origin may have sent.
fn foreign() -> Answer {
    let details = "the host and the origin of a request to this machine must be localhost, a loopback address or a name without a dot";
    answer::error(StatusCode::FORBIDDEN, "Forbidden", details)
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
            let paths = "the paths are POST /validate and GET /health";
            return answer::error(StatusCode::NOT_FOUND, "Not Found", paths).into();
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
        Method::OPTIONS => answer::allowed(StatusCode::OK, METHODS).into(),
        _ => answer::allowed(StatusCode::METHOD_NOT_ALLOWED, METHODS).into(),
    }
}

/// Returns a path with its percent signs decoded and its repeated slashes merged, as upstream's server reads it.
fn decoded(path: &str) -> String {
    let mut bytes: Vec<u8> = percent_decode_str(path).collect();
    bytes.dedup_by(|next, byte| *next == b'/' && *byte == b'/');
    String::from_utf8_lossy(&bytes).into_owned()
}

fn health(method: &Method) -> Answer {
    const METHODS: &str = "GET, HEAD, OPTIONS";
    match *method {
        Method::GET | Method::HEAD => answer::running(),
        Method::OPTIONS => answer::allowed(StatusCode::OK, METHODS),
        _ => answer::allowed(StatusCode::METHOD_NOT_ALLOWED, METHODS),
    }
}

/// Receives the upload of a request. Returns it with the id of the competition, or the response to an invalid request.
async fn receive(
    shared: &Shared,
    client: &Client,
    headers: &HeaderMap,
    body: &mut Incoming,
) -> Result<(String, Upload), Box<Handled>> {
    let id = competition(shared, headers).map_err(|details| {
        let answer = answer::error(StatusCode::BAD_REQUEST, "Bad Request", details);
        Box::new(answer.into())
    })?;
    let failed = |error: UploadError| Box::new(upload_error(&error));
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let length = text(CONTENT_LENGTH).and_then(|text| text.parse::<u64>().ok());
    if length.is_some_and(|length| length > shared.limits.bytes) {
        // The error is returned before the client gets `100 Continue`.
        return Err(failed(UploadError::TooLarge(shared.limits.bytes)));
    }
    let slot = slot(shared, client).await;
    let _slot = slot.ok_or_else(|| {
        Box::new(busy("too many submissions are waiting; try again later").into())
    })?;
    let received = upload::receive(text(CONTENT_TYPE), body, &shared.limits, &shared.uploads).await;
    Ok((id, received.map_err(failed)?))
}

/// Waits until the upload may begin. Returns `None` if this takes too long.
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
    answer::error(status, "Service Unavailable", details)
}

/// Waits for a permit, and grades.
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

/// Returns the competition of a request, or the error of the request.
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
        None => Err("the header exp-id names no competition"),
    }
}

fn upload_error(error: &UploadError) -> Handled {
    let (status, name) = match error {
        UploadError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"),
        UploadError::TooSlow => (StatusCode::REQUEST_TIMEOUT, "Request Timeout"),
        UploadError::TooMuch => (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
        UploadError::Disk(cause) => {
            return Handled {
                trouble: Some(format!("cannot store an upload: {cause}")),
                ..unexpected("the upload cannot be stored").into()
            };
        }
        UploadError::NoMultipart
        | UploadError::NoFile
        | UploadError::Broken(_)
        | UploadError::Multipart(_) => (StatusCode::BAD_REQUEST, "Bad Request"),
    };
    answer::error(status, name, &prep_failure::chain(error)).into()
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
        if let Err(SubmissionError::Read { source, .. }) = outcome {
            return upload_error(&UploadError::Disk(source));
        }
        let found = Validation::of(UPLOAD_NAME, &outcome);
        let answer = match wanted {
            UploadTarget::Report => report(&grading.report(&submission, outcome)),
            UploadTarget::Validation => {
                let valid = self.competition.is_none().then_some(found.valid);
                answer::result(&found.message, valid)
            }
        };
        Handled {
            valid: Some(found.valid),
            ..answer.into()
        }
    }
}

/// Returns upstream's report.
fn report(report: &CompetitionReport) -> Answer {
    let text = prep_grade::report::pretty(report.to_json()) + "\n";
    answer::json(StatusCode::OK, text)
}

/// Returns the response if the answers cannot be used. Only the owner of the server gets their path and the error.
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
    answer::error(status, "An unexpected error occurred.", details)
}
