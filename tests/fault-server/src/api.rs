//! Kaggle's API.

use base64::Engine as _;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Request, Response};

use crate::answer::{self, Body};
use crate::fault::{At, Kind};
use crate::log::{self, Side};
use crate::shared::{KEY, Shared, TOKEN, USERNAME};

const DOWNLOAD: &str = "/api/v1/competitions/data/download-all/";

pub(crate) fn serve(shared: &Shared, request: &Request<Incoming>) -> Response<Body> {
    let mut entry = log::Request::new(Side::Api, request.uri().path());
    entry.authorization = request.headers().contains_key(AUTHORIZATION);
    let answer = respond(shared, request);
    entry.status = answer.status().as_u16();
    shared.state().log.push(entry);
    answer
}

fn respond(shared: &Shared, request: &Request<Incoming>) -> Response<Body> {
    let mut state = shared.state();
    for (_, kind) in state.hits(At::Api, |_| false) {
        match kind {
            Kind::Status {
                code,
                retry_after,
                body,
            } => return answer::status(code, retry_after.as_deref(), body),
            Kind::SlowStatus { code, pause } => return answer::slow_status(code, pause),
            Kind::Html => return answer::html(),
            Kind::RedirectToHtml => {
                return answer::redirect(&format!("http://{}/page", shared.store));
            }
            _ => {}
        }
    }
    if !is_known(request) {
        return answer::refusal(401, "Unauthenticated");
    }
    let Some(id) = request.uri().path().strip_prefix(DOWNLOAD) else {
        return answer::refusal(404, "Not found");
    };
    match state.bundle(id) {
        None => answer::refusal(404, "Not found"),
        Some(bundle) if !bundle.rules_accepted => answer::refusal(
            403,
            "You must accept this competition's rules before you'll be able to download files.",
        ),
        Some(_) => {
            let signature = state.sign();
            answer::redirect(&format!(
                "http://{}/bundles/{id}/archive.zip?GoogleAccessId=prep&Expires=4102444800&Signature={signature}",
                shared.store
            ))
        }
    }
}

fn is_known(request: &Request<Incoming>) -> bool {
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{USERNAME}:{KEY}"));
    let given = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    given.is_some_and(|given| {
        given == format!("Bearer {TOKEN}")
            || given
                .get(..6)
                .is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic "))
                && given.get(6..) == Some(basic.as_str())
    })
}
