//! Every fault, at several bytes: the right bytes or the right error, and never a damaged bundle under its final name.

use crate::common;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::{ID, Outcome, World, content};
use prep_fault_server::{At, Bundle, Fault, Kind, Side};
use prep_fetch::Protocol;

/// Downloads by each of four threads in `addresses_that_serve_one_request_each`.
const RUNS: usize = 10;

const LENGTH: usize = 1_000_003;

/// The first byte, in the first piece, at and around edges of pieces and ranges, and the last bytes.
const OFFSETS: [u64; 7] = [0, 5_000, 16_383, 65_536, 500_000, 999_424, 1_000_002];

/// The expected end of a case.
enum End {
    /// With the right bytes, and at most this many API calls, and bytes sent beyond the length.
    Right { api: usize, extra: u64 },
    /// With the second content.
    Other,
    /// With an error whose first line contains this text.
    Error(&'static str),
}

const RANGE: u64 = 64 << 10;

fn status(code: u16, retry_after: &str) -> Kind {
    Kind::Status {
        code,
        retry_after: Some(retry_after.into()),
        body: String::new(),
    }
}

/// In both protocols.
fn check(name: &str, bundle: Bundle, faults: Vec<Fault>, md5: Option<&str>, end: &End) {
    for protocol in [Protocol::Rpc, Protocol::Rest] {
        let name = &format!("{name}, {protocol:?}");
        let world = World::with(vec![bundle.clone()], faults.clone(), |options| {
            options.protocol = protocol;
        });
        check_world(name, &world, md5, end);
        let method = match protocol {
            Protocol::Rpc => "POST",
            Protocol::Rest => "GET",
        };
        let first = &world.server.requests_of(Side::Api)[0];
        assert_eq!(first.method, method, "{name}");
    }
}

fn check_world(name: &str, world: &World, md5: Option<&str>, end: &End) {
    let result = world.run(md5);
    let bytes = content(LENGTH, 1);
    for request in world.server.requests_of(Side::Store) {
        assert!(
            !request.authorization,
            "{name}: credentials reached the store"
        );
    }
    match end {
        End::Right { api, extra } => {
            result.unwrap_or_else(|error| panic!("{name}: {error}"));
            world.assert_complete(&bytes);
            let calls = world.server.requests_of(Side::Api).len();
            assert!(calls <= *api, "{name}: {calls} API calls");
            let sent = world.server.sent();
            let most = LENGTH as u64 + extra;
            assert!(sent <= most, "{name}: {sent} bytes sent, {most} allowed");
        }
        End::Other => {
            result.unwrap_or_else(|error| panic!("{name}: {error}"));
            world.assert_complete(&content(LENGTH, 2));
        }
        End::Error(expected) => {
            let error = result.expect_err(name);
            let shown = format!("{error} {:?}", error.remedy());
            assert!(shown.contains(expected), "{name}: {shown}");
            assert!(!world.target().exists(), "{name}");
        }
    }
}

#[test]
fn faults_at_a_byte() {
    let stall = Kind::Stall(Duration::from_secs(60));
    let replace = Kind::Replace(content(LENGTH, 2).into());
    let right = |api, ranges| End::Right {
        api,
        extra: ranges * RANGE,
    };
    // Kind, how often (0: always), whether the server sends the MD5, result.
    let table: Vec<(&str, Kind, usize, End)> = vec![
        ("drop", Kind::Drop, 1, right(1, 1)),
        ("drop three times", Kind::Drop, 3, right(1, 3)),
        ("drop always", Kind::Drop, 0, End::Error("broke at byte")),
        ("stall", stall.clone(), 1, right(1, 1)),
        ("stall always", stall, 0, End::Error("sent nothing for 1 s")),
        ("throttle", Kind::Throttle(1_000_000), 0, right(1, 0)),
        ("truncate", Kind::Truncate, 1, right(1, 1)),
        (
            "truncate always",
            Kind::Truncate,
            0,
            End::Error("too early"),
        ),
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
        ("another range", Kind::OtherRange, 1, right(1, 1)),
        (
            "other ranges",
            Kind::OtherRange,
            0,
            End::Error("other bytes than requested"),
        ),
        ("no content range", Kind::NoContentRange, 1, right(1, 1)),
        (
            "no content ranges",
            Kind::NoContentRange,
            0,
            End::Error("other bytes than requested"),
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
fn corrupted_bytes() {
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
    // Data that do not begin like a zip archive is not fetched to its end.
    let fault = Fault::at_byte(0, Kind::Corrupt);
    let error = End::Error("got unknown binary data, 1.00 MB, expected a zip archive");
    check("first byte", bundle(), vec![fault], None, &error);
}

#[test]
fn faults_of_the_api() {
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
            End::Error("knows no competition"),
        ),
        // If one protocol does not know a competition, the other one is tried once.
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
            End::Error("may not take part in spooky-author-identification"),
        ),
        (
            "403 with a picture",
            Kind::Status {
                code: 403,
                retry_after: None,
                body: "PK\u{3}\u{4}\0\0".into(),
            },
            1,
            End::Error("refuses the bundle of spooky-author-identification (403)"),
        ),
        (
            "login page",
            Kind::RedirectToLogin,
            1,
            End::Error("its login page"),
        ),
        // Each range is a call then, and the first call may send all of it.
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
            "429 without a wish",
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
            End::Error("got HTML, 93 B, expected a redirect to a zip archive"),
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
    let world = World::new(bundle, Vec::new());
    let value = world.run(Some(&md5))?;
    world.assert_complete(&content(LENGTH, 1));
    assert_eq!(world.server.sent(), LENGTH as u64);
    assert_eq!(world.server.requests_of(Side::Api).len(), 1);
    // Afterwards it is known without a request.
    assert_eq!(world.run(Some(&md5))?.digest(), value.digest());
    assert_eq!(world.server.requests_of(Side::Api).len(), 1);
    Ok(())
}

#[test]
fn another_md5_than_the_published_one_is_refused_before_it_is_fetched() {
    let published = "0123456789abcdef0123456789abcdef";
    let world = World::new(Bundle::new(ID, content(LENGTH, 1)), Vec::new());
    let error = world
        .run(Some(published))
        .expect_err("another MD5")
        .to_string();
    assert!(error.contains("Kaggle changed it"), "{error}");
    assert!(world.server.requests_of(Side::Store).len() <= 1);
    assert!(!world.target().exists());
    // If the server does not send it, after the download.
    let silent = Bundle::new(ID, content(LENGTH, 1)).without_hash();
    let end = End::Error("arrived damaged");
    check("silent", silent, Vec::new(), Some(published), &end);
}

#[test]
fn without_any_checksum_a_cut_off_archive_is_still_refused() {
    let silent = Bundle::new(ID, content(LENGTH, 1)).without_hash();
    let end = End::Error("not a complete zip archive");
    check("silent", silent, Vec::new(), None, &end);
}

#[test]
fn a_server_without_ranges_that_drops_starts_at_the_front() {
    let bundle = Bundle::new(ID, content(LENGTH, 1));
    let faults = vec![
        Fault::at(At::Store, Kind::IgnoreRange).always(),
        Fault::at_byte(500_000, Kind::Drop).times(2),
    ];
    let extra = 1_200_000;
    check("drop", bundle, faults, None, &End::Right { api: 1, extra });
}

/// Each address serves one request: each range gets another address, in any order of the responses.
#[test]
fn addresses_that_serve_one_request_each() {
    let bytes = content(LENGTH, 1);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..RUNS {
                    let bundle = Bundle::new(ID, bytes.clone());
                    // Slow enough that several addresses are rejected before a piece is complete.
                    let faults = [Kind::SingleUse, Kind::Throttle(500_000)];
                    let faults = faults.map(|kind| Fault::at(At::Store, kind).always());
                    let world = World::with(vec![bundle], faults.to_vec(), |options| {
                        options.connections = 8;
                        options.first_connections = 8;
                    });
                    world
                        .run(None)
                        .unwrap_or_else(|error| panic!("single use: {error}"));
                    world.assert_complete(&bytes);
                }
            });
        }
    });
}

/// An address that never serves a request is a failure.
#[test]
fn addresses_that_serve_nothing_end_the_download() {
    let refused = Fault::at(At::Store, Kind::status(403)).after(1).always();
    let world = World::new(Bundle::new(ID, content(LENGTH, 1)), vec![refused]);
    let error = world.run(None).expect_err("refused").to_string();
    assert!(
        error.contains("does not accept the signed address"),
        "{error}"
    );
    assert!(error.contains("after 3 attempts in a row"), "{error}");
    // The first address has served a request, so it is not one of the three; each of its pieces starts the count again.
    let calls = world.server.requests_of(Side::Api).len();
    assert!((4..16).contains(&calls), "{calls}");
}

/// An error whose text never ends does not hold the download beyond the stall timer.
#[test]
fn a_slow_refusal_is_cut_off() {
    let slow = Kind::SlowStatus {
        code: 418,
        pause: Duration::from_millis(200),
    };
    let bundle = Bundle::new(ID, content(LENGTH, 1));
    let world = World::new(bundle, vec![Fault::at(At::Api, slow)]);
    let begun = std::time::Instant::now();
    let error = world.run(None).expect_err("slow").to_string();
    assert!(error.contains("answered 418"), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}
