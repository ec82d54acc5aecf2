//! Responses that contain no part of a bundle.

use bytes::Bytes;
use futures::StreamExt;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::body::Body as _;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER};

use crate::fault::Kind;

/// The body of a response. After an error of the body, the server cuts the connection.
pub(crate) type Body = BoxBody<Bytes, std::io::Error>;

/// A web page such as a login form, which a proxy may send.
pub(crate) const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>\n";

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed()
}

pub(crate) fn streamed(
    stream: impl futures::Stream<Item = std::io::Result<Bytes>> + Send + Sync + 'static,
) -> Body {
    BodyExt::boxed(http_body_util::StreamBody::new(
        stream.map(|part| part.map(hyper::body::Frame::data)),
    ))
}

pub(crate) fn text(code: u16, kind: &str, body: impl Into<Bytes>) -> Response<Body> {
    let mut answer = Response::new(full(body));
    *answer.status_mut() =
        hyper::StatusCode::from_u16(code).unwrap_or(hyper::StatusCode::IM_A_TEAPOT);
    if let Ok(kind) = kind.parse() {
        answer.headers_mut().insert(CONTENT_TYPE, kind);
    }
    answer
}

pub(crate) fn error(code: u16, message: &str) -> Response<Body> {
    let body = format!("{{\"code\":{code},\"message\":\"{message}\"}}");
    text(code, "application/json", body)
}

pub(crate) fn html() -> Response<Body> {
    text(200, "text/html; charset=utf-8", PAGE)
}

pub(crate) fn status(code: u16, retry_after: Option<&str>, body: String) -> Response<Body> {
    let kind = if body.starts_with('{') {
        "application/json"
    } else {
        "text/plain"
    };
    let mut answer = text(code, kind, body);
    if let Some(value) = retry_after.and_then(|value| value.parse().ok()) {
        answer.headers_mut().insert(RETRY_AFTER, value);
    }
    answer
}

pub(crate) fn slow_status(code: u16, pause: std::time::Duration) -> Response<Body> {
    let mut answer = text(code, "text/plain", "");
    *answer.body_mut() = streamed(futures::stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok(Bytes::from_static(b".")), ()))
    }));
    answer
}

pub(crate) fn with_encoding(mut answer: Response<Body>, encoding: &str) -> Response<Body> {
    if let Ok(encoding) = encoding.parse() {
        answer.headers_mut().insert(CONTENT_ENCODING, encoding);
    }
    answer
}

/// Marks a response that the server must not send.
#[derive(Clone)]
pub(crate) struct Unsent;

/// Applies a fault that does not depend on the content of the response.
pub(crate) fn with_transport_fault(
    mut answer: Response<Body>,
    fault: Option<Kind>,
) -> Response<Body> {
    match fault {
        Some(Kind::StopAfterHead) => {
            let length = answer.body().size_hint().exact().unwrap_or(0).max(10);
            let headers = answer.headers_mut();
            headers.entry(CONTENT_LENGTH).or_insert(length.into());
            *answer.body_mut() = streamed(futures::stream::pending());
        }
        Some(Kind::Silence) => {
            answer.extensions_mut().insert(Unsent);
        }
        _ => {}
    }
    answer
}

pub(crate) fn json(code: u16, value: &serde_json::Value) -> Response<Body> {
    text(code, "application/json", value.to_string())
}

pub(crate) fn redirect(code: u16, to: &str) -> Response<Body> {
    let mut answer = text(code, "text/plain", "");
    if let Ok(to) = to.parse() {
        answer.headers_mut().insert(LOCATION, to);
    }
    answer
}
