//! Kaggle's API in both protocols: methods that clients call by POST (`kaggle` 2, `kagglehub`), and paths that clients
//! read by GET (`kaggle` 1.6).

use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HeaderName};
use hyper::{Method, Request, Response};
use serde_json::{Value, json};

use crate::answer::{self, Body};
use crate::data;
use crate::fault::{At, Kind};
use crate::log::{self, Side};
use crate::shared::{REFRESH_TOKEN, Shared, State, USERNAME};
use crate::store;

enum Call {
    Bundle(String),
    File(String, String),
    Files(String, String),
    Summary(String),
    Hello,
    /// The list of competitions, which is always empty.
    List,
    Introspect(String),
    AccessToken(Value),
    Login,
    Unknown,
}

/// Returns the response to a request. If it is `None`, the server cuts the connection.
pub(crate) fn serve(shared: &Shared, request: &Request<Bytes>) -> Option<Response<Body>> {
    // Clients that use the API as a proxy also send requests for the store's URLs.
    let authority = request.uri().authority();
    if authority.is_some_and(|authority| authority.as_str() == shared.store.to_string()) {
        return store::serve(shared, request);
    }
    let mut entry = log::Request::new(Side::Api, request.uri().path());
    entry.authorization = request.headers().contains_key(AUTHORIZATION);
    let header = request.headers().get(AUTHORIZATION);
    entry.authorization_header = header
        .and_then(|header| header.to_str().ok())
        .map(str::to_owned);
    entry.method = request.method().to_string();
    entry.body = String::from_utf8_lossy(request.body()).into_owned();
    let side = match request.method() == Method::POST {
        true => At::Rpc,
        false => At::Rest,
    };
    let fault = shared.state().transport_fault(side);
    let answer = respond(shared, request, &entry, side);
    let answer = answer.map(|answer| answer::with_transport_fault(answer, fault));
    entry.status = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
    shared.state().log.push(entry);
    answer
}

fn respond(
    shared: &Shared,
    request: &Request<Bytes>,
    entry: &log::Request,
    side: At,
) -> Option<Response<Body>> {
    let mut state = shared.state();
    let mut sends_bundle = false;
    for (_, kind) in state.active_faults(side, |_| false) {
        match kind {
            Kind::Status {
                code,
                retry_after,
                body,
            } => return Some(answer::status(code, retry_after.as_deref(), body)),
            Kind::SlowStatus { code, pause } => return Some(answer::slow_status(code, pause)),
            Kind::Html => return Some(answer::html()),
            Kind::RedirectToHtml => {
                return Some(answer::redirect(
                    302,
                    &format!("http://{}/page", shared.store),
                ));
            }
            Kind::RedirectToLogin => {
                let to = format!("http://{}/account/login?returnUrl=%2F", shared.api);
                return Some(answer::redirect(302, &to));
            }
            Kind::RedirectTo { code, base } => {
                let path = request
                    .uri()
                    .path_and_query()
                    .map_or("", |path| path.as_str());
                return Some(answer::redirect(code, &format!("{base}{path}")));
            }
            Kind::Drop => return None,
            Kind::SendBundle => sends_bundle = true,
            Kind::Encoding(encoding) => {
                return Some(answer::with_encoding(
                    answer::json(200, &json!({})),
                    &encoding,
                ));
            }
            _ => {}
        }
    }
    let call = call(request);
    if let Call::AccessToken(body) = &call {
        return Some(access_token(&mut state, body));
    }
    if let Call::Introspect(token) = &call {
        return Some(introspect(&state, token));
    }
    if matches!(call, Call::Login) {
        return Some(answer::html());
    }
    let header = |name: &HeaderName| request.headers().get(name)?.to_str().ok();
    if !header(&AUTHORIZATION).is_some_and(|given| state.knows(given)) {
        return Some(answer::error(401, "Unauthenticated"));
    }
    let redirect = |state: &mut State, path: String| {
        let signature = state.sign();
        answer::redirect(
            302,
            &format!(
                "http://{}/{path}?GoogleAccessId=prep&Expires=4102444800&Signature={signature}",
                shared.store
            ),
        )
    };
    Some(match call {
        Call::Bundle(id) => match access_error(&state, &id) {
            Some(error) => error,
            None if sends_bundle => {
                let range = request.headers().get(hyper::header::RANGE);
                let range = range.and_then(|range| store::range(range.to_str().ok()?));
                store::send(&state, &id, range, entry)
            }
            None => redirect(&mut state, format!("bundles/{id}/archive.zip")),
        },
        Call::File(id, file) => match access_error(&state, &id) {
            Some(error) => error,
            None if state
                .bundle(&id)
                .is_some_and(|bundle| bundle.file(&file).is_some()) =>
            {
                let name = data::served_name(&file);
                redirect(&mut state, format!("members/{id}/{name}"))
            }
            None => answer::error(404, "Not found"),
        },
        // These calls do not require accepted rules.
        Call::Files(id, page) => match state.bundle(&id) {
            Some(bundle) => answer::json(200, &data::page(bundle, &page)),
            None => answer::error(404, "Not found"),
        },
        Call::Summary(id) => match state.bundle(&id) {
            Some(bundle) => answer::json(200, &data::summary(bundle)),
            None => answer::error(404, "Not found"),
        },
        Call::Hello => answer::json(200, &json!({ "userName": USERNAME })),
        Call::List => answer::json(
            200,
            &json!([{ "ref": "https://www.kaggle.com/competitions/titanic" }]),
        ),
        _ => answer::error(404, "Not found"),
    })
}

/// Returns the error for an unknown competition, or for rules that are not accepted.
fn access_error(state: &State, id: &str) -> Option<Response<Body>> {
    match state.bundle(id) {
        None => Some(answer::error(404, "Not found")),
        Some(bundle) if !bundle.rules_accepted => Some(answer::error(
            403,
            "You must accept this competition's rules before you'll be able to download files.",
        )),
        Some(_) => None,
    }
}

fn call(request: &Request<Bytes>) -> Call {
    let path = request.uri().path();
    // The path has a prefix if the client uses a proxy, or if it calls methods at Kaggle's own host.
    let below = path
        .strip_prefix("/api/v1/")
        .or_else(|| path.strip_prefix("/v1/"));
    let Some(below) = below else {
        return match path.starts_with("/account/login") {
            true => Call::Login,
            false => Call::Unknown,
        };
    };
    if request.method() == Method::POST {
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let id = || text("competitionName");
        return match below {
            "competitions.CompetitionApiService/DownloadDataFiles" => Call::Bundle(id()),
            "competitions.CompetitionApiService/DownloadDataFile" => {
                Call::File(id(), text("fileName"))
            }
            "competitions.CompetitionApiService/ListDataFiles" => {
                Call::Files(id(), text("pageToken"))
            }
            "competitions.CompetitionApiService/GetCompetitionDataFilesSummary" => {
                Call::Summary(id())
            }
            "api.v1.DiagnosticsService/Hello" => Call::Hello,
            "security.OAuthService/IntrospectToken" => Call::Introspect(text("token")),
            "users.AccountService/GenerateAccessToken" | "access-tokens/generate" => {
                Call::AccessToken(body)
            }
            _ => Call::Unknown,
        };
    }
    let parts: Vec<&str> = below.splitn(5, '/').collect();
    match parts.as_slice() {
        ["competitions", "data", "download-all", id] => Call::Bundle((*id).to_owned()),
        ["competitions", "data", "download", id, file] => {
            Call::File((*id).to_owned(), data::decoded(file))
        }
        ["competitions", "data", "list", id] => {
            let query = request.uri().query().unwrap_or_default();
            let page = query
                .split('&')
                .find_map(|pair| pair.strip_prefix("pageToken="));
            Call::Files((*id).to_owned(), page.unwrap_or_default().to_owned())
        }
        ["competitions", "list"] => Call::List,
        ["competitions", "data", "summary", id] => Call::Summary((*id).to_owned()),
        _ => Call::Unknown,
    }
}

fn access_token(state: &mut State, body: &Value) -> Response<Body> {
    if body["refreshToken"] != REFRESH_TOKEN {
        return answer::error(401, "Invalid refresh token");
    }
    let duration = body["expirationDuration"].as_str().unwrap_or_default();
    let seconds = duration.trim_end_matches('s').parse().unwrap_or(0);
    let token = state.issue(seconds);
    answer::json(
        200,
        &json!({ "token": token, "expiresIn": seconds, "userName": USERNAME, "userId": 1 }),
    )
}

fn introspect(state: &State, token: &str) -> Response<Body> {
    match state.knows(&format!("Bearer {token}")) {
        true => answer::json(200, &json!({ "active": true, "username": USERNAME })),
        false => answer::json(200, &json!({ "active": false, "username": "" })),
    }
}
