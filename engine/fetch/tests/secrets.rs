//! No message, debug output or file contains a secret, and the object store receives no credentials.

use crate::common;
use std::error::Error;
use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use common::{Fixture, ID, content, key};
use prep_core::Cancel;
use prep_fault_server::{At, Bundle, Fault, KEY, Kind, SIGNATURE, Side, TOKEN, USERNAME};
use prep_fetch::{KaggleCredentials, Network, Secret};

fn secrets() -> [String; 4] {
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{USERNAME}:{KEY}"));
    [KEY.into(), TOKEN.into(), SIGNATURE.into(), pair]
}

fn assert_no_secret(place: &str, text: &str) {
    for secret in secrets() {
        assert!(!text.contains(&secret), "{place} shows {secret}: {text}");
    }
}

/// Returns a response whose message repeats all secrets.
fn echo(code: u16) -> Kind {
    let [key, token, signature, pair] = secrets();
    Kind::Status {
        code,
        retry_after: None,
        body: format!("{{\"message\":\"rejected: {key} {token} {signature} Basic {pair}\"}}"),
    }
}

#[test]
fn no_error_shows_a_secret() {
    let stall = Kind::Stall(Duration::from_secs(9));
    let mut table: Vec<Fault> = [Kind::Drop, stall, Kind::Corrupt, Kind::OtherRange]
        .into_iter()
        .map(|kind| Fault::at_byte(100_000, kind).always())
        .collect();
    let pages = [Kind::Html, Kind::RedirectToHtml, Kind::RedirectToLogin];
    for kind in pages
        .into_iter()
        .chain([400, 401, 403, 404, 418, 429, 500].map(echo))
    {
        for at in [At::Api, At::Store, At::Byte(100_000)] {
            table.push(Fault::at(at, kind.clone()).always());
        }
    }
    for fault in table {
        let place = format!("{fault:?}");
        let fixture = Fixture::new(Bundle::new(ID, content(200_000, 1)), vec![fault]);
        let Err(error) = fixture.run(None) else {
            assert!(place.contains("RedirectToLogin"), "{place}");
            continue;
        };
        let mut shown = format!(
            "{error}\n{error:?}\n{:?}\n{:?}",
            fixture.source(None),
            fixture.network
        );
        let mut cause = error.source();
        while let Some(error) = cause {
            write!(shown, "\n{error}\n{error:?}").unwrap();
            cause = error.source();
        }
        // The server's message contains a token that this client never had.
        let shown = shown.replace(TOKEN, "");
        let shown = if place.contains("Status") && place.contains("Api") {
            shown.replace(SIGNATURE, "")
        } else {
            shown
        };
        assert_no_secret(&place, &shown);
        for request in fixture.server.requests_of(Side::Store) {
            assert!(!request.authorization, "{place}");
        }
        let directory = fixture.target().parent().unwrap().to_path_buf();
        for entry in directory.read_dir().into_iter().flatten() {
            let path = entry.unwrap().path();
            let text = std::fs::read(&path).unwrap();
            assert_no_secret(&place, &String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn errors_of_unreachable_servers_show_no_signed_address() {
    let fixture = Fixture::with(Vec::new(), Vec::new(), |options| {
        options.endpoint = "http://127.0.0.1:9/api/v1".into();
    });
    let error = prep_core::chain(&fixture.run(None).unwrap_err());
    assert!(error.contains("no connection to 127.0.0.1:9 "), "{error}");
    assert_no_secret("api", &error);
}

#[test]
fn an_invalid_endpoint_is_reported_without_its_credentials() {
    for endpoint in [
        "",
        "kaggle.com",
        "file:///etc",
        "https://u:hush@kaggle.com/",
        "https://hush@[::",
    ] {
        let mut options = common::options(endpoint);
        options.endpoint = endpoint.into();
        let error = Network::new(options, key()).unwrap_err();
        let shown = format!("{error}{error:?}");
        assert!(
            shown.contains("KAGGLE_API_ENDPOINT") && !shown.contains("hush"),
            "{shown}"
        );
    }
}

#[test]
fn a_token_is_accepted_and_not_shown() {
    let fixture = Fixture::new(Bundle::new(ID, content(1000, 1)), Vec::new());
    let options = common::options(&fixture.server.endpoint());
    for (credentials, accepted) in [
        (KaggleCredentials::Token(Secret::new(TOKEN)), true),
        (key(), true),
        (KaggleCredentials::Token(Secret::new(KEY)), false),
    ] {
        let network = Network::new(options.clone(), credentials.clone()).unwrap();
        assert_eq!(
            network.check_access(ID, &Cancel::default()).is_ok(),
            accepted
        );
        assert_no_secret("debug", &format!("{network:?}{credentials:?}"));
    }
}

#[test]
fn rules_are_checked_without_a_download() {
    let bundles = vec![
        Bundle::new("accepted", content(1000, 1)),
        Bundle::new("not-accepted", content(1000, 1)).without_consent(),
    ];
    let fixture = Fixture::with(bundles, Vec::new(), |_| {});
    let access = |id: &str| fixture.network.check_access(id, &Cancel::default());
    assert_eq!(access("accepted").unwrap(), 1000);
    // An address does not prove access, but a byte of the bundle does.
    let requests = fixture.server.requests_of(Side::Store);
    let ranges: Vec<_> = requests
        .iter()
        .map(|request| request.range.clone())
        .collect();
    assert_eq!((ranges, fixture.server.sent()), (vec![Some(0..1)], 1));
    for (id, expected) in [
        (
            "not-accepted",
            "https://www.kaggle.com/competitions/not-accepted/rules",
        ),
        ("unknown", "has no competition unknown"),
    ] {
        let error = access(id).unwrap_err();
        let shown = format!("{} {:?}", prep_core::chain(&error), error.remedy());
        assert!(shown.contains(expected), "{shown}");
    }
    assert_eq!(fixture.server.requests_of(Side::Store).len(), 1);
}
