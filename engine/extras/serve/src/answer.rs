//! Creates JSON responses in the format of upstream's server: sorted keys, no spaces, ASCII, and a final line break.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use prep_grade::report::quoted;

pub(crate) type Answer = Response<Full<Bytes>>;

/// Returns the response `{"status":"running"}`.
pub(crate) fn running() -> Answer {
    json(StatusCode::OK, "{\"status\":\"running\"}\n".to_owned())
}

/// Returns the response `{"result":MESSAGE}`. If the server is for all competitions, it also has `is_valid`.
pub(crate) fn result(message: &str, valid: Option<bool>) -> Answer {
    let valid = valid.map_or_else(String::new, |valid| format!("\"is_valid\":{valid},"));
    json(
        StatusCode::OK,
        format!("{{{valid}\"result\":{}}}\n", quoted(message)),
    )
}

/// Returns the response `{"details":DETAILS,"error":ERROR}`. Some clients show `details` if there is an `error`.
pub(crate) fn error(status: StatusCode, error: &str, details: &str) -> Answer {
    let text = format!(
        "{{\"details\":{},\"error\":{}}}\n",
        quoted(details),
        quoted(error)
    );
    json(status, text)
}

/// Returns the response to `OPTIONS`, or the error 405. Both have the header `Allow`.
pub(crate) fn allowed(status: StatusCode, methods: &'static str) -> Answer {
    let mut answer = match status {
        StatusCode::OK => json(status, String::new()),
        _ => error(
            status,
            "Method Not Allowed",
            &format!("allowed methods: {methods}"),
        ),
    };
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

pub(crate) fn json(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[test]
    fn responses_equal_those_of_upstreams_server() {
        for (answer, expected) in [
            (running(), "{\"status\":\"running\"}\n"),
            (
                result("a \"b\"\né", None),
                "{\"result\":\"a \\\"b\\\"\\n\\u00e9\"}\n",
            ),
            (
                result("x", Some(true)),
                "{\"is_valid\":true,\"result\":\"x\"}\n",
            ),
            (
                error(StatusCode::BAD_REQUEST, "e", "d"),
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
