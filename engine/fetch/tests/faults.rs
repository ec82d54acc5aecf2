//! Injects each kind of fault at several offsets of a download. The download must end with the right bytes or error.

use crate::common;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::{Fixture, ID, Outcome, content};
use prep_fault_server::{At, Bundle, Fault, Kind, Side};
use prep_fetch::Protocol;

/// Number of runs per thread in a test whose outcome could depend on the order of responses.
const RUNS: usize = 10;

const LENGTH: usize = 1_000_003;

/// The first byte, a byte in the first piece, bytes around the ends of pieces and ranges, and the last byte.
const OFFSETS: [u64; 7] = [0, 5_000, 16_383, 65_536, 500_000, 999_424, 1_000_002];

enum End {
    /// The right bytes, with at most `api` API calls and `extra` additional bytes.
    Right { api: usize, extra: u64 },
    /// The bytes with which [`Kind::Replace`] replaced the bundle during the download.
    Other,
    /// An error whose message or remedy contains this text.
    Error(&'static str),
}

/// Length of a range request with the options of the fixture.
const RANGE: u64 = 64 << 10;

fn status(code: u16, retry_after: &str) -> Kind {
    Kind::Status {
        code,
        retry_after: Some(retry_after.into()),
        body: String::new(),
    }
}

fn check(name: &str, bundle: Bundle, faults: Vec<Fault>, md5: Option<&str>, end: &End) {
    for protocol in [Protocol::Rpc, Protocol::Rest] {
        let name = &format!("{name}, {protocol:?}");
        let fixture = Fixture::with(vec![bundle.clone()], faults.clone(), |options| {
            options.protocol = protocol;
        });
        check_fixture(name, &fixture, md5, end);
        let method = match protocol {
            Protocol::Rpc => "POST",
            Protocol::Rest => "GET",
        };
        let first = &fixture.server.requests_of(Side::Api)[0];
        assert_eq!(first.method, method, "{name}");
    }
}

fn check_fixture(name: &str, fixture: &Fixture, md5: Option<&str>, end: &End) {
    let result = fixture.run(md5);
    let bytes = content(LENGTH, 1);
    for request in fixture.server.requests_of(Side::Store) {
        assert!(
            !request.authorization,
            "{name}: credentials reached the store"
        );
    }
    match end {
        End::Right { api, extra } => {
            result.unwrap_or_else(|error| panic!("{name}: {error}"));
            fixture.assert_complete(&bytes);
            let calls = fixture.server.requests_of(Side::Api).len();
            assert!(calls <= *api, "{name}: {calls} API calls");
            let sent = fixture.server.sent();
            let most = LENGTH as u64 + extra;
            assert!(sent <= most, "{name}: {sent} bytes sent, {most} allowed");
        }
        End::Other => {
            result.unwrap_or_else(|error| panic!("{name}: {error}"));
            fixture.assert_complete(&content(LENGTH, 2));
        }
        End::Error(expected) => {
            let error = result.expect_err(name);
            let shown = format!("{} {:?}", prep_core::chain(&error), error.remedy());
            assert!(shown.contains(expected), "{name}: {shown}");
            assert!(!fixture.target().exists(), "{name}");
        }
    }
}

#[test]
fn downloads_survive_or_report_faults_at_any_byte() {
    let stall = Kind::Stall(Duration::from_secs(60));
    let replace = Kind::Replace(content(LENGTH, 2).into());
    // The right bytes, after at most `api` API calls, and with at most `ranges` ranges that are sent twice.
    let right = |api, ranges| End::Right {
        api,
        extra: ranges * RANGE,
    };
    // Name, kind, number of times (0: always), and outcome.
    let table: Vec<(&str, Kind, usize, End)> = vec![
        ("drop", Kind::Drop, 1, right(1, 1)),
        ("drop three times", Kind::Drop, 3, right(1, 3)),
        ("drop always", Kind::Drop, 0, End::Error("broke at byte")),
        ("stall", stall.clone(), 1, right(1, 1)),
        // The error may report silence or a slow transfer, because bytes may have arrived just before the stall.
        ("stall always", stall, 0, End::Error(": 127.0.0.1")),
        ("throttle", Kind::Throttle(1_000_000), 0, right(1, 0)),
        ("truncate", Kind::Truncate, 1, right(1, 1)),
        // Requesting the rest of a range again is not a failure.
        ("truncate always", Kind::Truncate, 0, right(1, 1)),
        ("403", Kind::status(403), 1, right(2, 0)),
        (
            "403 always",
            Kind::status(403),
            0,
            End::Error("does not accept the signed address"),
        ),
        ("404", Kind::status(404), 1, right(2, 0)),
        ("404 always", Kind::status(404), 0, End::Error("(404)")),
        ("429", status(429, "0"), 1, right(1, 0)),
        (
            "429 always",
            status(429, "0"),
            0,
            End::Error("too many requests"),
        ),
        (
            "429 for an hour",
            status(429, "3600"),
            1,
            End::Error("asks to wait 60 min"),
        ),
        ("500", Kind::status(500), 1, right(1, 0)),
        ("500 three times", Kind::status(500), 3, right(1, 0)),
        (
            "500 always",
            Kind::status(500),
            0,
            End::Error("answered 500"),
        ),
        ("503", status(503, "0"), 1, right(1, 0)),
        (
            "503 always",
            status(503, "0"),
            0,
            End::Error("answered 503"),
        ),
        ("expire", Kind::Expire, 1, right(2, 0)),
        (
            "expire always",
            Kind::Expire,
            0,
            End::Error("does not accept the signed address"),
        ),
        ("ignore a range", Kind::IgnoreRange, 1, right(1, 20)),
        ("ignore ranges", Kind::IgnoreRange, 0, right(1, 400)),
        (
            "html",
            Kind::Html,
            0,
            End::Error("got HTML, 93 B, expected a zip archive"),
        ),
        (
            "redirect to html",
            Kind::RedirectToHtml,
            0,
            End::Error("got HTML, 93 B"),
        ),
        ("replace", replace, 1, End::Other),
        ("a different range", Kind::OtherRange, 1, right(1, 1)),
        (
            "other ranges",
            Kind::OtherRange,
            0,
            End::Error("different bytes than requested"),
        ),
        ("no content range", Kind::NoContentRange, 1, right(1, 1)),
        (
            "no content ranges",
            Kind::NoContentRange,
            0,
            End::Error("different bytes than requested"),
        ),
        ("416", Kind::status(416), 1, right(1, 20)),
        ("416 always", Kind::status(416), 0, End::Error("")),
        ("418", Kind::status(418), 1, End::Error("answered 418")),
    ];
    let cases = table
        .iter()
        .flat_map(|row| OFFSETS.map(|offset| (row, offset)));
    let cases = Mutex::new(cases);
    let next = || cases.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(((name, kind, times, end), offset)) = next() {
                    let fault = Fault::at_byte(offset, kind.clone());
                    let fault = fault.times(if *times == 0 { usize::MAX } else { *times });
                    let name = format!("{name} at {offset}");
                    let bundle = Bundle::new(ID, content(LENGTH, 1));
                    check(&name, bundle, vec![fault], None, end);
                }
            });
        }
    });
}

#[test]
fn corrupted_bytes_are_detected() {
    let bundle = || Bundle::new(ID, content(LENGTH, 1));
    for offset in OFFSETS.map(|offset| offset.max(2)) {
        let fault = Fault::at_byte(offset, Kind::Corrupt);
        let right = End::Right {
            api: 1,
            extra: LENGTH as u64,
        };
        check("once", bundle(), vec![fault.clone()], None, &right);
        let error = End::Error("arrived damaged 2 times");
        check("always", bundle(), vec![fault.always()], None, &error);
    }
    let fault = Fault::at_byte(0, Kind::Corrupt);
    let error = End::Error("got unknown binary data, 1.00 MB, expected a zip archive");
    check("first byte", bundle(), vec![fault], None, &error);
}

#[test]
fn api_faults_are_retried_or_reported() {
    let right = |api| End::Right { api, extra: 0 };
    let refusal = |code: u16, message: &str| Kind::Status {
        code,
        retry_after: None,
        body: format!("{{\"code\":{code},\"message\":\"{message}\"}}"),
    };
    let table: Vec<(&str, Kind, usize, End)> = vec![
        (
            "401",
            refusal(401, "Unauthenticated"),
            1,
            End::Error("does not accept the credentials"),
        ),
        (
            "403 rules",
            refusal(
                403,
                "You must accept this competition's rules before you'll be able to download files.",
            ),
            1,
            End::Error(
                "accept them at https://www.kaggle.com/competitions/spooky-author-identification/rules",
            ),
        ),
        (
            "403",
            refusal(403, "Permission denied"),
            1,
            End::Error("(403): Permission denied"),
        ),
        (
            "404",
            refusal(404, "Not found"),
            0,
            End::Error("has no competition"),
        ),
        (
            "404 of one protocol",
            refusal(404, "Not found"),
            1,
            right(2),
        ),
        ("405 of one protocol", Kind::status(405), 1, right(2)),
        ("410 of one protocol", Kind::status(410), 1, right(2)),
        ("501 of one protocol", Kind::status(501), 1, right(2)),
        ("405", Kind::status(405), 0, End::Error("answered 405")),
        ("cut off by one protocol", Kind::Drop, 1, right(2)),
        (
            "cut off",
            Kind::Drop,
            0,
            End::Error("no connection to 127.0.0.1"),
        ),
        (
            "403 nested",
            Kind::Status {
                code: 403,
                retry_after: None,
                body: r#"{"error":{"code":403,"message":"You must accept the rules"}}"#.into(),
            },
            1,
            End::Error("the rules of spooky-author-identification are not accepted"),
        ),
        (
            "403 participate",
            refusal(403, "Permission 'competitions.participate' was denied"),
            1,
            End::Error("cannot take part in spooky-author-identification"),
        ),
        (
            "403 with a picture",
            Kind::Status {
                code: 403,
                retry_after: None,
                body: "PK\u{3}\u{4}\0\0".into(),
            },
            1,
            End::Error("it sent status 403 without Kaggle's JSON"),
        ),
        (
            "login page",
            Kind::RedirectToLogin,
            1,
            End::Error("its login page"),
        ),
        (
            "the bundle itself",
            Kind::SendBundle,
            0,
            End::Right {
                api: 30,
                extra: LENGTH as u64,
            },
        ),
        (
            "429 without a pause",
            Kind::status(429),
            0,
            End::Error("accepts no more for now (429)"),
        ),
        ("429", status(429, "0"), 1, right(2)),
        (
            "429 always",
            status(429, "0"),
            0,
            End::Error("too many requests"),
        ),
        (
            "429 for an hour",
            status(429, "3600"),
            1,
            End::Error("asks to wait 60 min"),
        ),
        ("500", Kind::status(500), 2, right(3)),
        (
            "500 always",
            Kind::status(500),
            0,
            End::Error("answered 500"),
        ),
        (
            "html",
            Kind::Html,
            0,
            End::Error("does not respond like Kaggle's API: it sent a web page"),
        ),
        (
            "redirect to html",
            Kind::RedirectToHtml,
            0,
            End::Error("got HTML, 93 B, expected a zip archive"),
        ),
    ];
    for (name, kind, times, end) in &table {
        let fault = Fault::at(At::Api, kind.clone());
        let fault = fault.times(if *times == 0 { usize::MAX } else { *times });
        check(
            name,
            Bundle::new(ID, content(LENGTH, 1)),
            vec![fault],
            None,
            end,
        );
    }
}

#[test]
fn a_bundle_without_faults_is_fetched_once() -> Outcome {
    let bundle = Bundle::new(ID, content(LENGTH, 1));
    let md5 = bundle.md5.clone();
    let fixture = Fixture::new(bundle, Vec::new());
    let value = fixture.run(Some(&md5))?;
    fixture.assert_complete(&content(LENGTH, 1));
    assert_eq!(fixture.server.sent(), LENGTH as u64);
    assert_eq!(fixture.server.requests_of(Side::Api).len(), 1);
    assert_eq!(fixture.run(Some(&md5))?.digest(), value.digest());
    assert_eq!(fixture.server.requests_of(Side::Api).len(), 1);
    Ok(())
}

#[test]
fn a_wrong_md5_is_reported_before_the_download_if_possible() {
    let published = "0123456789abcdef0123456789abcdef";
    let fixture = Fixture::new(Bundle::new(ID, content(LENGTH, 1)), Vec::new());
    let error = fixture.run(Some(published)).expect_err("another MD5");
    let error = prep_core::chain(&error);
    assert!(error.contains("Kaggle changed it"), "{error}");
    assert!(fixture.server.requests_of(Side::Store).len() <= 1);
    assert!(!fixture.target().exists());
    let silent = Bundle::new(ID, content(LENGTH, 1)).without_hash();
    let end = End::Error("arrived damaged");
    check("silent", silent, Vec::new(), Some(published), &end);
}

#[test]
fn a_truncated_archive_is_rejected_even_without_a_checksum() {
    let mut truncated = content(LENGTH, 1);
    truncated.truncate(LENGTH - 1);
    let silent = Bundle::new(ID, truncated).without_hash();
    let end = End::Error("not a complete zip archive");
    check("silent", silent, Vec::new(), None, &end);
}

#[test]
fn a_broken_download_without_ranges_starts_over() {
    let bundle = Bundle::new(ID, content(LENGTH, 1));
    let faults = vec![
        Fault::at(At::Store, Kind::IgnoreRange).always(),
        Fault::at_byte(500_000, Kind::Drop).times(2),
    ];
    let extra = 1_200_000;
    check("drop", bundle, faults, None, &End::Right { api: 1, extra });
}

/// The server accepts each address only once, so each range needs a new address. Responses arrive in any order.
#[test]
fn addresses_that_serve_only_one_request_are_renewed() {
    let bytes = content(LENGTH, 1);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..RUNS {
                    let bundle = Bundle::new(ID, bytes.clone());
                    // Several addresses are rejected before a piece is complete.
                    let faults = [Kind::SingleUse, Kind::Throttle(500_000)];
                    let faults = faults.map(|kind| Fault::at(At::Store, kind).always());
                    let fixture = Fixture::with(vec![bundle], faults.to_vec(), |options| {
                        options.connections = 8;
                        options.first_connections = 8;
                    });
                    fixture
                        .run(None)
                        .unwrap_or_else(|error| panic!("single use: {error}"));
                    fixture.assert_complete(&bytes);
                }
            });
        }
    });
}

#[test]
fn a_download_fails_if_new_addresses_serve_no_request() {
    let refused = Fault::at(At::Store, Kind::status(403)).after(1).always();
    let fixture = Fixture::new(Bundle::new(ID, content(LENGTH, 1)), vec![refused]);
    let error = prep_core::chain(&fixture.run(None).expect_err("refused"));
    assert!(
        error.contains("does not accept the signed address"),
        "{error}"
    );
    assert!(error.contains("after 3 attempts in a row"), "{error}");
    // The rejection of the first address is not one of the three attempts, because this address has served a request.
    // Each piece that the address completes resets the count of attempts, so the number of API calls varies.
    let calls = fixture.server.requests_of(Side::Api).len();
    assert!((4..16).contains(&calls), "{calls}");
}

/// An error whose text never ends does not block the download for longer than the stall timeout.
#[test]
fn a_slow_error_response_is_cut_off() {
    let slow = Kind::SlowStatus {
        code: 418,
        pause: Duration::from_millis(200),
    };
    let bundle = Bundle::new(ID, content(LENGTH, 1));
    let fixture = Fixture::new(bundle, vec![Fault::at(At::Api, slow)]);
    let begun = std::time::Instant::now();
    let error = prep_core::chain(&fixture.run(None).expect_err("slow"));
    assert!(error.contains("it sent status 418"), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}
