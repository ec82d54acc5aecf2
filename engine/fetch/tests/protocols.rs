//! Bundles can be fetched with two protocols. prep remembers the one that works, and sends credentials only to Kaggle.

use crate::common;
use std::time::{Duration, Instant};

use common::{Fixture, ID, Outcome, content, key, options, search};
use prep_core::{Cancel, Remedy, Source};
use prep_fault_server::{At, Bundle, Fault, FaultServer, Kind, Request, Side};
use prep_fetch::{FetchError, KaggleBundle, Network, Protocol};

const OTHER_ID: &str = "another";

fn bundles() -> Vec<Bundle> {
    vec![
        Bundle::new(ID, content(50_000, 1)),
        Bundle::new(OTHER_ID, content(50_000, 2)),
    ]
}

fn fixture(faults: Vec<Fault>) -> Fixture {
    Fixture::with(bundles(), faults, |_| {})
}

fn access(network: &Network, id: &str) -> Result<u64, FetchError> {
    network.check_access(id, &Cancel::default())
}

fn methods(fixture: &Fixture) -> Vec<String> {
    let requests = fixture.server.requests_of(Side::Api);
    requests.into_iter().map(|request| request.method).collect()
}

#[test]
fn requests_equal_those_of_kaggles_current_tools() -> Outcome {
    let fixture = fixture(Vec::new());
    fixture.run(None)?;
    let requests = fixture.server.requests_of(Side::Api);
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].path,
        "/api/v1/competitions.CompetitionApiService/DownloadDataFiles"
    );
    assert_eq!(
        requests[0].body,
        format!("{{\"competitionName\":\"{ID}\"}}")
    );
    Ok(())
}

#[test]
fn a_missing_protocol_is_tried_once() {
    for kind in [
        Kind::status(404),
        Kind::status(405),
        Kind::status(410),
        Kind::status(501),
        Kind::Drop,
    ] {
        // `gone` and `good` are the HTTP methods of the missing protocol and of the other protocol.
        for (at, protocol, gone, good) in [
            (At::Rpc, Protocol::Rpc, "POST", "GET"),
            (At::Rest, Protocol::Rest, "GET", "POST"),
        ] {
            let faults = vec![Fault::at(at, kind.clone()).always()];
            let fixture = Fixture::with(bundles(), faults, |options| options.protocol = protocol);
            for id in [ID, OTHER_ID] {
                access(&fixture.network, id).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            }
            assert_eq!(methods(&fixture), [gone, good, good], "{kind:?}");
            // After a status 404, the missing protocol is tried once, in case it works again.
            let error = access(&fixture.network, "unknown").unwrap_err();
            let text = prep_core::chain(&error);
            assert!(text.contains("has no competition unknown (404)"), "{text}");
            assert_eq!(
                methods(&fixture),
                [gone, good, good, good, gone],
                "{kind:?}"
            );
        }
    }
}

/// A rejected request is not repeated with the other protocol. That would cost a request, and might lock the account.
#[test]
fn a_rejected_request_is_not_repeated_with_the_other_protocol() {
    for code in [401, 403, 429, 500, 503] {
        let fault = Fault::at(At::Rpc, Kind::status(code)).always();
        let fixture = fixture(vec![fault]);
        assert!(access(&fixture.network, ID).is_err(), "{code}");
        assert!(
            methods(&fixture).iter().all(|method| method == "POST"),
            "{code}"
        );
    }
}

#[test]
fn unaccepted_rules_are_reported_if_only_one_protocol_exists() {
    let refused = Bundle::new(ID, content(1000, 1)).without_consent();
    let gone = Fault::at(At::Rpc, Kind::status(404)).always();
    let fixture = Fixture::with(vec![refused], vec![gone], |_| {});
    let error = access(&fixture.network, ID).unwrap_err();
    assert!(
        matches!(error, FetchError::RulesNotAccepted { .. }),
        "{error}"
    );
}

#[test]
fn an_unreachable_host_is_replaced_with_the_other_host() -> Outcome {
    let server = FaultServer::start(bundles(), Vec::new())?;
    for (endpoint, rpc) in [
        (server.endpoint(), "http://127.0.0.1:9/v1".to_owned()),
        ("http://127.0.0.1:9/api/v1".to_owned(), server.endpoint()),
        (format!("http://{}", server.api_host()), server.endpoint()),
    ] {
        let mut options = options(&endpoint);
        options.rpc_endpoint = Some(rpc);
        for protocol in [Protocol::Rpc, Protocol::Rest] {
            options.protocol = protocol;
            let network = Network::new(options.clone(), key())?;
            assert_eq!(access(&network, ID)?, 50_000, "{endpoint} {protocol:?}");
        }
    }
    Ok(())
}

#[test]
fn a_redirect_to_a_foreign_api_does_not_prove_access() -> Outcome {
    let stranger = FaultServer::start(Vec::new(), Vec::new())?;
    let base = format!("http://{}", stranger.api_host());
    for code in [301, 302, 303, 307, 308] {
        let base = base.clone();
        let fixture = fixture(vec![
            Fault::at(At::Api, Kind::RedirectTo { code, base }).always(),
        ]);
        let error = prep_core::chain(&access(&fixture.network, ID).unwrap_err());
        assert!(
            error.contains("does not accept the signed address"),
            "{error}"
        );
        let error = prep_core::chain(&fixture.run(None).unwrap_err());
        assert!(
            error.contains("does not accept the signed address"),
            "{error}"
        );
    }
    let requests = stranger.requests();
    assert!(
        requests.iter().all(|request| !request.authorization),
        "credentials were sent to a foreign host"
    );
    Ok(())
}

#[test]
fn a_redirect_between_api_hosts_is_followed() -> Outcome {
    let moved = FaultServer::start(bundles(), Vec::new())?;
    let base = format!("http://{}", moved.api_host());
    for (code, method) in [
        (301, "GET"),
        (302, "GET"),
        (303, "GET"),
        (307, "POST"),
        (308, "POST"),
    ] {
        let fault = Fault::at(
            At::Rpc,
            Kind::RedirectTo {
                code,
                base: base.clone(),
            },
        );
        let server = FaultServer::start(Vec::new(), vec![fault.always()])?;
        let mut options = options(&moved.endpoint());
        options.rpc_endpoint = Some(server.endpoint());
        let network = Network::new(options, key())?;
        let before = moved.requests_of(Side::Api).len();
        assert_eq!(access(&network, ID)?, 50_000, "{code}");
        let first: &Request = &moved.requests_of(Side::Api)[before];
        assert_eq!(
            (first.method.as_str(), first.authorization),
            (method, true),
            "{code}"
        );
    }
    Ok(())
}

#[test]
fn a_login_page_gets_no_credentials() {
    for at in [At::Api, At::Rpc] {
        let fixture = fixture(vec![Fault::at(at, Kind::RedirectToLogin).always()]);
        let error = prep_core::chain(&access(&fixture.network, ID).unwrap_err());
        assert!(error.contains("returned its login page"), "{error}");
        assert_eq!(
            fixture.server.requests().len(),
            1,
            "the page is not requested"
        );
    }
}

#[test]
fn a_bundle_sent_by_the_api_itself_is_accepted() -> Outcome {
    for protocol in [Protocol::Rpc, Protocol::Rest] {
        let faults = vec![Fault::at(At::Api, Kind::SendBundle).always()];
        let bundle = Bundle::new(ID, content(300_000, 1));
        let md5 = bundle.md5.clone();
        let fixture = Fixture::with(vec![bundle], faults, |options| options.protocol = protocol);
        assert_eq!(access(&fixture.network, ID)?, 300_000);
        fixture.run(Some(&md5))?;
        fixture.assert_complete(&content(300_000, 1));
        assert!(fixture.server.requests_of(Side::Store).is_empty());
        let requests = fixture.server.requests_of(Side::Api);
        assert!(requests.iter().all(|request| request.authorization));
    }
    Ok(())
}

#[test]
fn an_api_answer_that_is_not_a_bundle_is_an_error() {
    for (body, got) in [("{\"url\":\"x\"}", "JSON"), ("GIF89a", "something else")] {
        let kind = Kind::Status {
            code: 200,
            retry_after: None,
            body: body.into(),
        };
        let fixture = fixture(vec![Fault::at(At::Api, kind).always()]);
        let error = prep_core::chain(&fixture.run(None).unwrap_err());
        let first = error.lines().next().unwrap();
        assert!(
            first.contains(&format!("got {got}, expected a redirect")),
            "{error}"
        );
    }
}

/// A server that is not Kaggle's API may respond to the address in `KAGGLE_API_ENDPOINT`.
#[test]
fn a_server_in_place_of_kaggle_is_named() {
    let (page, json) = ("<html>Welcome</html>", "{\"message\":\"no\"}");
    for (code, body, of_bundle, of_account) in [
        (404, page, "it sent status 404", "it sent status 404"),
        (403, page, "it sent status 403", "it sent status 403"),
        (401, page, "it sent status 401", "it sent status 401"),
        (200, page, "got something else", "that is not Kaggle's JSON"),
        (404, json, "has no competition", "answered 404: no"),
        (
            403,
            json,
            "denies access to the bundle of spooky",
            "answered 403: no",
        ),
        (401, json, "does not accept the", "does not accept the"),
        (500, page, "answered 500", "answered 500"),
        (
            200,
            "{\"hello\":\"world\"}",
            "got JSON",
            "that is not Kaggle's JSON",
        ),
        (
            200,
            "[{\"hello\":1}]",
            "got something else",
            "that is not Kaggle's JSON",
        ),
        (200, "[]", "got something else", "that is not Kaggle's JSON"),
    ] {
        let kind = Kind::Status {
            code,
            retry_after: None,
            body: body.into(),
        };
        let fixture = fixture(vec![Fault::at(At::Api, kind).always()]);
        let host = format!("{} (KAGGLE_API_ENDPOINT)", fixture.server.api_host());
        let account = fixture.network.account(&Cancel::default()).map(drop);
        let bundle = access(&fixture.network, ID).map(drop);
        for (result, expected) in [(bundle, of_bundle), (account, of_account)] {
            let error = result.unwrap_err();
            let text = prep_core::chain(&error);
            assert!(text.contains(expected) && text.contains(&host), "{text}");
            let Some(Remedy::Words(help)) = error.remedy() else {
                panic!("{text}");
            };
            assert!(help.contains("unset KAGGLE_API_ENDPOINT"), "{text}: {help}");
        }
    }
}

#[test]
fn rejected_credentials_are_reported_with_the_unused_ones() {
    let found = prep_fetch::FoundCredentials {
        others: vec![prep_fetch::Origin::File(
            "/home/u/.kaggle/access_token".into(),
        )],
        origin: prep_fetch::Origin::Variables("KAGGLE_API_TOKEN"),
        ..key().into()
    };
    let fixture = fixture(vec![Fault::at(At::Api, Kind::status(401)).always()]);
    let network = Network::new(options(&fixture.server.endpoint()), found).unwrap();
    let error = access(&network, ID).unwrap_err();
    let expected = format!(
        "{} (KAGGLE_API_ENDPOINT) does not accept the credentials of KAGGLE_API_TOKEN (401): status 401; not used: \
         /home/u/.kaggle/access_token",
        fixture.server.api_host()
    );
    assert_eq!(error.to_string(), expected);
    let help = "Words(\"replace the credentials of KAGGLE_API_TOKEN with those for this server; or unset KAGGLE_API_ENDPOINT";
    let remedy = format!("{:?}", error.remedy().unwrap());
    assert!(remedy.starts_with(help), "{remedy}");
}

/// After a response 429 (too many requests), a query fails at once. A download waits, and tries again.
#[test]
fn a_query_fails_at_the_first_rate_limit() {
    let fixture = fixture(vec![Fault::at(At::Api, Kind::status(429))]);
    let error = access(&fixture.network, ID).unwrap_err();
    let wait = matches!(error, FetchError::Quota { wait: None, .. });
    assert!(
        wait,
        "the error contains a pause that the server did not send: {error}"
    );
    assert_eq!(fixture.server.requests().len(), 1);
    fixture
        .server
        .set_faults(vec![Fault::at(At::Api, Kind::status(429))]);
    fixture.run(None).unwrap();
}

#[test]
fn the_owner_of_the_credentials_is_returned() -> Outcome {
    let fixture = fixture(Vec::new());
    let account = fixture.network.account(&Cancel::default())?;
    assert_eq!(account.user.as_deref(), Some("somebody"));
    assert!(account.server_time.is_some());
    // The older protocol does not return the user's name, but rejects unknown users.
    fixture
        .server
        .set_faults(vec![Fault::at(At::Rpc, Kind::status(404)).always()]);
    let account = fixture.network.account(&Cancel::default())?;
    assert_eq!(account.user, None);
    let stranger = prep_fetch::KaggleCredentials::Token(prep_fetch::Secret::new("unknown"));
    for faults in [
        Vec::new(),
        vec![Fault::at(At::Rpc, Kind::status(404)).always()],
    ] {
        fixture.server.set_faults(faults);
        let network = Network::new(options(&fixture.server.endpoint()), stranger.clone())?;
        let error = network.account(&Cancel::default()).unwrap_err();
        assert!(matches!(error, FetchError::Unauthorised { .. }), "{error}");
    }
    Ok(())
}

#[test]
fn waiting_for_a_retry_is_reported() {
    let reports = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = reports.clone();
    let fixture = Fixture::with(Vec::new(), Vec::new(), |options| {
        options.endpoint = "http://127.0.0.1:9".into();
        options.backoff = Duration::from_millis(50);
        options.watcher = std::sync::Arc::new(move |waiting| {
            seen.lock()
                .unwrap()
                .push((Instant::now(), waiting.to_string()));
        });
    });
    let begun = Instant::now();
    let data = fixture.data();
    let source = KaggleBundle::new(ID, search(ID, &data), None, fixture.network.clone());
    source.run(&fixture.context).unwrap_err();
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert!(reports[1].1.ends_with(" (attempt 3)"), "{reports:?}");
    let (time, text) = &reports[0];
    assert!(*time - begun < Duration::from_secs(1));
    let expected =
        "no connection to 127.0.0.1:9 (KAGGLE_API_ENDPOINT): Connection refused; trying again in ";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_silent_server_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (sender, reports) = std::sync::mpsc::channel();
    let fixture = Fixture::with(Vec::new(), Vec::new(), |options| {
        options.endpoint = format!("http://{}", listener.local_addr().unwrap());
        options.stall = Duration::from_secs(5);
        options.attempts = 1;
        options.watcher = std::sync::Arc::new(move |waiting| {
            let _ = sender.send(waiting.to_string());
        });
    });
    let begun = Instant::now();
    assert!(access(&fixture.network, ID).is_err());
    let first = reports.recv().unwrap();
    assert!(first.starts_with("no answer from 127.0.0.1:"), "{first}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}
