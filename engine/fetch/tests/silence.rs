//! No server can block a call for ever: every call ends if the server stops at any request, or sends too slowly.

use crate::common;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use common::{Fixture, ID, content, key, options, search};
use prep_core::{Cancel, Failure, Source};
use prep_fault_server::{At, Bundle, Fault, FaultServer, Kind};
use prep_fetch::{
    BundleChecksums, DownloadOptions, FetchError, KaggleBundle, Members, Network, PartOfBundle,
    WebAddress, WebFile,
};
use prep_formats::zip::{ZipMethod, ZipWriter};

/// A call of the library that sends requests.
type Call = fn(&Fixture) -> Result<(), String>;

/// Drops the value, and converts the error to its text.
fn without_value<T>(result: Result<T, FetchError>) -> Result<(), String> {
    result.map(drop).map_err(|error| prep_core::chain(&error))
}

fn run(fixture: &Fixture, source: &dyn Source) -> Result<(), String> {
    let result = source.run(&fixture.context);
    result.map(drop).map_err(|error| prep_core::chain(&error))
}

const CALLS: [(&str, Call); 8] = [
    ("bundle", |fixture| run(fixture, &fixture.source(None))),
    ("part", |fixture| {
        let members = Members::new(["1.bin".to_owned()]).unwrap();
        run(fixture, &PartOfBundle::new(fixture.source(None), members))
    }),
    ("url", |fixture| {
        let (data, url) = (fixture.data(), fixture.server.file(ID));
        let address = WebAddress {
            source: "web",
            file: "x.zip",
            url: &url,
            member: None,
        };
        let network = fixture.network.clone();
        let sums = BundleChecksums::default();
        run(
            fixture,
            &WebFile::new(address, search(ID, &data), sums, true, network).unwrap(),
        )
    }),
    ("files", |fixture| {
        without_value(fixture.network.files(ID, &Cancel::default()))
    }),
    ("summary", |fixture| {
        without_value(fixture.network.summary(ID, &Cancel::default()))
    }),
    ("account", |fixture| {
        without_value(fixture.network.account(&Cancel::default()))
    }),
    ("access", |fixture| {
        without_value(fixture.network.check_access(ID, &Cancel::default()))
    }),
    ("length", |fixture| {
        let url = fixture.server.file(ID);
        without_value(fixture.network.file_length("x", &url, &Cancel::default()))
    }),
];

fn archive() -> Vec<u8> {
    let mut zip = ZipWriter::new(Vec::new());
    for member in 0..3 {
        let bytes = content(60_000, member);
        let name = format!("{member}.bin");
        zip.add_file(&name, ZipMethod::Stored, &*bytes).unwrap();
    }
    zip.finish().unwrap()
}

fn impatient(options: &mut DownloadOptions) {
    options.stall = Duration::from_millis(150);
    options.attempts = 2;
}

fn fixture(faults: Vec<Fault>) -> Fixture {
    Fixture::with(vec![Bundle::new(ID, archive())], faults, impatient)
}

/// The server stops at each of the first requests of a call, up to this number.
const MAX_REQUESTS: usize = 8;

#[test]
fn every_call_ends_if_the_server_stops_at_any_request() {
    thread::scope(|scope| {
        for (name, call) in CALLS {
            scope.spawn(move || {
                for kind in [Kind::StopAfterHead, Kind::Silence] {
                    for request in 0..MAX_REQUESTS {
                        let place = format!("{name}, {kind:?}, request {request}");
                        let begun = Instant::now();
                        let fault = Fault::at(At::Any, kind.clone()).after(request);
                        let result = call(&fixture(vec![fault.clone()]));
                        assert!(result.is_ok(), "{place}: {result:?}");
                        let fixture = fixture(vec![fault.always()]);
                        let result = call(&fixture);
                        // Some calls need only the header, and calls with few requests end before the fault.
                        let must_fail = request == 0 && matches!(kind, Kind::Silence);
                        assert!(result.is_err() || !must_fail, "{place}");
                        let time = begun.elapsed();
                        assert!(time < Duration::from_secs(20), "{place}: {time:?}");
                    }
                }
            });
        }
    });
}

#[test]
fn every_call_ends_if_the_server_sends_a_byte_now_and_then() {
    let slow = Kind::Throttle(50);
    let faults = vec![Fault::at(At::Store, slow).always()];
    for (name, call) in &CALLS[..3] {
        let error = call(&fixture(faults.clone())).unwrap_err();
        assert!(error.contains("sent only"), "{name}: {error}");
    }
}

/// Returns an address at which no server listens any more.
fn unused_endpoint() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn a_host_that_never_answered_fails_soon() {
    for endpoint in [unused_endpoint(), "https://no-such-host.invalid".to_owned()] {
        let mut options = options(&endpoint);
        options.attempts = 1000;
        options.backoff = Duration::from_millis(20);
        let network = Network::new(options, key()).unwrap();
        let dir = crate::temporary::directory();
        let context = common::context(&dir);
        let data = dir.path().join("data");
        for _ in 0..2 {
            let begun = Instant::now();
            let source = KaggleBundle::new(ID, search(ID, &data), None, network.clone());
            let error = source.run(&context).unwrap_err();
            assert_eq!(error.failure(), Failure::Away, "{error}");
            let remedy = format!("{:?}", error.remedy());
            assert!(remedy.contains("unset KAGGLE_API_ENDPOINT"), "{remedy}");
            let text = error.to_string();
            assert!(text.contains("gave up after 3 attempts"), "{text}");
            let time = begun.elapsed();
            assert!(time < Duration::from_secs(5), "{endpoint}: {time:?}");
            let left = data.join(ID).read_dir().map_or(0, Iterator::count);
            assert_eq!(left, 0, "{endpoint}");
        }
    }
}

#[test]
fn a_host_that_answered_once_gets_all_attempts() {
    let server = FaultServer::start(vec![Bundle::new(ID, archive())], Vec::new()).unwrap();
    let mut options = options(&server.endpoint());
    options.first_contact = Duration::ZERO;
    options.attempts = 5;
    let network = Network::new(options, key()).unwrap();
    network.account(&Cancel::default()).unwrap();
    drop(server);
    let error = network.account(&Cancel::default()).unwrap_err();
    assert!(
        matches!(error, FetchError::GaveUp { attempts: 5, .. }),
        "{error:?}"
    );
}
