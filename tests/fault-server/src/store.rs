//! Implements the object store.

use std::ops::Range;

use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_RANGES, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE,
};
use hyper::{Request, Response};

use crate::answer::{self, Body};
use crate::body::{self, Interruption};
use crate::bundle::Bundle;
use crate::data;
use crate::fault::{At, Kind};
use crate::log::{self, Side};
use crate::shared::{Shared, State};

const EXPIRED: &str = "<?xml version='1.0' encoding='UTF-8'?><Error><Code>ExpiredToken</Code>\
                       <Message>Invalid argument.</Message></Error>";

pub(crate) fn serve(shared: &Shared, request: &Request<Bytes>) -> Option<Response<Body>> {
    let mut entry = log::Request::new(Side::Store, request.uri().path());
    let header = |name: &HeaderName| {
        let value = request.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    entry.authorization = request.headers().contains_key(AUTHORIZATION);
    entry.if_range = header(&IF_RANGE);
    entry.range = header(&RANGE).as_deref().and_then(range);
    let fault = shared.state().transport_fault(At::Store);
    let answer = respond(shared, request, &entry);
    let answer = answer::with_transport_fault(answer, fault);
    entry.status = answer.status().as_u16();
    shared.state().log.push(entry);
    Some(answer)
}

/// Returns the response without faults: the bundle, or the range of it.
pub(crate) fn send(
    state: &State,
    id: &str,
    range: Option<Range<u64>>,
    entry: &log::Request,
) -> Response<Body> {
    let mut requested = entry.clone();
    requested.range = range;
    match state.bundle(id) {
        Some(bundle) => ResponseFaults::default().answer(bundle, &requested),
        None => answer::text(404, "application/xml", "<Error/>"),
    }
}

/// Parses `bytes=a-b` and `bytes=a-`. The end of the returned range is exclusive.
pub(crate) fn range(header: &str) -> Option<Range<u64>> {
    let (from, to) = header.strip_prefix("bytes=")?.split_once('-')?;
    let end = match to {
        "" => u64::MAX,
        to => to.parse::<u64>().ok()?.saturating_add(1),
    };
    let range = from.parse().ok()?..end;
    (range.start < range.end).then_some(range)
}

fn respond(shared: &Shared, request: &Request<Bytes>, entry: &log::Request) -> Response<Body> {
    let path = request.uri().path();
    if path == "/page" {
        return answer::html();
    }
    let mut state = shared.state();
    let query = request.uri().query().unwrap_or_default();
    let signature = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("Signature="));
    let file = path.strip_prefix("/files/");
    let is_valid = signature.is_some_and(|signature| state.is_valid(signature));
    if file.is_none() && !is_valid {
        return answer::text(403, "application/xml", EXPIRED);
    }
    if let Some((id, name)) = path
        .strip_prefix("/members/")
        .and_then(|rest| rest.split_once('/'))
    {
        return member(&state, id, &data::decoded(name), entry);
    }
    let bundle = path
        .strip_prefix("/bundles/")
        .and_then(|rest| rest.strip_suffix("/archive.zip"));
    let id = file.or(bundle);
    let Some(id) = id else {
        return answer::text(
            404,
            "application/xml",
            "<Error><Code>NoSuchKey</Code></Error>",
        );
    };
    let requested = entry.range.clone();
    let covers = |byte: u64| requested.as_ref().is_none_or(|range| range.contains(&byte));
    let active_faults = state.active_faults(At::Store, covers);
    let mut faults = ResponseFaults::default();
    for (at, kind) in active_faults {
        let byte = match at {
            At::Byte(offset) => offset,
            _ => requested.as_ref().map_or(0, |range| range.start),
        };
        match kind {
            Kind::Status {
                code,
                retry_after,
                body,
            } => return answer::status(code, retry_after.as_deref(), body),
            Kind::SlowStatus { code, pause } => return answer::slow_status(code, pause),
            Kind::Html => return answer::html(),
            Kind::RedirectToHtml => {
                return answer::redirect(302, &format!("http://{}/page", shared.store));
            }
            Kind::Expire => {
                state.first_valid = state.signatures;
                return answer::text(403, "application/xml", EXPIRED);
            }
            Kind::SingleUse => {
                let signature = signature.unwrap_or_default().to_owned();
                if !state.used.insert(signature) {
                    return answer::text(403, "application/xml", EXPIRED);
                }
            }
            Kind::Replace(content) => {
                if let Some(bundle) = state.bundles.iter_mut().find(|bundle| bundle.id == id) {
                    *bundle = Bundle {
                        hash_header: bundle.hash_header,
                        validators: bundle.validators,
                        ..Bundle::new(id, content)
                    };
                }
            }
            Kind::IgnoreRange => faults.ignore_range = true,
            Kind::OtherRange => faults.shift = 1,
            Kind::NoContentRange => faults.lacks_content_range = true,
            Kind::Cap(bytes) => faults.cap = bytes,
            Kind::Encoding(encoding) => faults.encoding = Some(encoding),
            Kind::Truncate => faults.end = byte,
            Kind::Throttle(rate) => faults.rate = Some(rate),
            Kind::Drop => faults.interruptions.push((byte, Interruption::Drop)),
            Kind::Stall(time) => faults.interruptions.push((byte, Interruption::Stall(time))),
            Kind::Corrupt => faults.interruptions.push((byte, Interruption::Corrupt)),
            Kind::RedirectToLogin | Kind::RedirectTo { .. } | Kind::SendBundle => {}
            // `with_transport_fault` applies these faults.
            Kind::StopAfterHead | Kind::Silence => {}
        }
    }
    faults.is_first = state.served.insert(id.to_owned());
    match state.bundle(id) {
        Some(bundle) => faults.answer(bundle, entry),
        None => answer::text(
            404,
            "application/xml",
            "<Error><Code>NoSuchKey</Code></Error>",
        ),
    }
}

fn member(state: &State, id: &str, name: &str, entry: &log::Request) -> Response<Body> {
    let bundle = state.bundle(id);
    let mut files = bundle.iter().flat_map(|bundle| &bundle.files);
    let file = files.find(|file| data::served_name(&file.path) == name);
    match file {
        None => answer::text(404, "application/xml", "<Error/>"),
        Some(file) => {
            let bytes = match name == file.path {
                true => file.bytes.to_vec(),
                false => file.zipped.to_vec(),
            };
            ResponseFaults::default().answer(&Bundle::new(id, bytes), entry)
        }
    }
}

/// The differences between a response with faults and the correct response.
struct ResponseFaults {
    ignore_range: bool,
    /// Number of bytes by which `Content-Range` is wrong.
    shift: u64,
    lacks_content_range: bool,
    /// The byte of the bundle before which the response ends.
    end: u64,
    /// Maximum length of a requested range, in bytes.
    cap: u64,
    encoding: Option<String>,
    /// Whether the store sends this bundle for the first time.
    is_first: bool,
    rate: Option<u64>,
    interruptions: Vec<(u64, Interruption)>,
}

impl Default for ResponseFaults {
    fn default() -> ResponseFaults {
        ResponseFaults {
            ignore_range: false,
            shift: 0,
            lacks_content_range: false,
            end: u64::MAX,
            cap: u64::MAX,
            encoding: None,
            is_first: true,
            rate: None,
            interruptions: Vec::new(),
        }
    }
}

impl ResponseFaults {
    fn answer(self, bundle: &Bundle, entry: &log::Request) -> Response<Body> {
        let total = bundle.content.len();
        let validators = bundle.validators;
        let etag = bundle.etag();
        let same = entry.if_range.is_none() || entry.if_range == etag;
        let requested = entry.range.clone().filter(|_| same && !self.ignore_range);
        let partial = requested.is_some();
        let range = requested.unwrap_or(0..u64::MAX);
        if partial && range.start >= total {
            let mut answer = answer::text(416, "application/xml", "<Error/>");
            set(&mut answer, CONTENT_RANGE, &format!("bytes */{total}"));
            return answer;
        }
        // A response with status 206 must contain at least one byte.
        let cap = range.start.saturating_add(match partial {
            true => self.cap,
            false => u64::MAX,
        });
        let end = range.end.min(self.end).min(cap);
        let end = end.max(range.start + 1).min(total);
        let range = range.start..end;
        let stream = body::stream(
            bundle.content.clone(),
            range.clone(),
            self.interruptions,
            self.rate,
            entry.counter(),
        );
        let mut answer = Response::new(answer::streamed(stream));
        if partial {
            *answer.status_mut() = hyper::StatusCode::PARTIAL_CONTENT;
            let start = range.start + self.shift;
            let last = (range.end + self.shift).saturating_sub(1);
            if !self.lacks_content_range {
                let value = format!("bytes {start}-{last}/{total}");
                set(&mut answer, CONTENT_RANGE, &value);
            }
        }
        set(
            &mut answer,
            CONTENT_LENGTH,
            &(range.end - range.start).to_string(),
        );
        set(&mut answer, CONTENT_TYPE, "application/zip");
        set(&mut answer, ACCEPT_RANGES, "bytes");
        if let Some(encoding) = &self.encoding {
            answer = answer::with_encoding(answer, encoding);
        }
        if validators.once && !self.is_first {
            return answer;
        }
        if let Some(etag) = etag {
            set(&mut answer, ETAG, &etag);
        }
        if let Some(modified) = bundle.modified() {
            set(&mut answer, LAST_MODIFIED, &modified);
        }
        if bundle.hash_header {
            let value = format!("md5={}", bundle.md5_base64);
            set(&mut answer, HeaderName::from_static("x-goog-hash"), &value);
        }
        answer
    }
}

fn set(answer: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}
