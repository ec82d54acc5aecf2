//! JSON responses in the form of upstream's server: sorted keys, no spaces, ASCII, a line end.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use prep_grade::report::quoted;

pub(crate) type Answer = Response<Full<Bytes>>;

/// `{"status":"running"}`.
pub(crate) fn running() -> Answer {
    json(StatusCode::OK, "{\"status\":\"running\"}\n".to_owned())
}

/// `{"result":MESSAGE}`, and `is_valid` if the server is for all competitions.
pub(crate) fn result(message: &str, valid: Option<bool>) -> Answer {
    let valid = valid.map_or_else(String::new, |valid| format!("\"is_valid\":{valid},"));
    json(
        StatusCode::OK,
        format!("{{{valid}\"result\":{}}}\n", quoted(message)),
    )
}

/// `{"details":DETAILS,"error":ERROR}`. Some clients read `details` if there is an `error`.
pub(crate) fn error(status: StatusCode, error: &str, details: &str) -> Answer {
    let text = format!(
        "{{\"details\":{},\"error\":{}}}\n",
        quoted(details),
        quoted(error)
    );
    json(status, text)
}

/// The answer to `OPTIONS`, or 405, with the header `Allow`.
pub(crate) fn allowed(status: StatusCode, methods: &'static str) -> Answer {
    let mut answer = match status {
        StatusCode::OK => json(status, String::new()),
        _ => error(
            status,
            "Method Not Allowed",
            &format!("allowed are {methods}"),
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
    fn answers_are_those_of_the_benchmarks_server() {
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
