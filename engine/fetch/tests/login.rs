//! A login expires, and is renewed before it does.

use crate::common;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use common::{ID, content, options};
use prep_core::Cancel;
use prep_fault_server::{ACCESS_TOKEN, At, Bundle, Fault, FaultServer, Kind, REFRESH_TOKEN, Side};
use prep_fetch::{
    Clock, CredentialVariables, FetchError, KaggleCredentials, Network, Protocol, find_credentials,
};
use tempfile::TempDir;

/// A login in a file, a server that knows it, and a clock that the test sets.
struct World {
    server: FaultServer,
    dir: TempDir,
    /// Seconds since the start.
    now: Arc<AtomicU64>,
}

/// When the tests begin: 2026-11-25T00:00:00Z.
const START: u64 = 1_795_564_800;

impl World {
    /// A login whose token expires after some seconds.
    fn new(seconds: u64) -> World {
        let bundle = Bundle::new(ID, content(20_000, 1));
        let world = World {
            server: FaultServer::start(vec![bundle], Vec::new()).unwrap(),
            dir: tempfile::tempdir().unwrap(),
            now: Arc::default(),
        };
        let token = world.server.issue_access_token(seconds);
        world.write(REFRESH_TOKEN, &token, seconds);
        world
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("credentials.json")
    }

    fn write(&self, refresh_token: &str, token: &str, seconds: u64) {
        let expires = isoformat(START + seconds);
        let text = format!(
            "{{\"refresh_token\": \"{refresh_token}\", \"access_token\": \"{token}\", \
             \"access_token_expiration\": \"{expires}\", \"username\": \"somebody\", \"scopes\": [\"resources.admin:*\"], \
             \"added_later\": 1}}"
        );
        fs::write(self.path(), text).unwrap();
    }

    fn set_time(&self, seconds: u64) {
        self.now.store(seconds, Ordering::Relaxed);
        self.server.set_time(Duration::from_secs(seconds));
    }

    /// A new process.
    fn network(&self, protocol: Protocol) -> Network {
        let dirs = [self.dir.path().to_path_buf()];
        let places = CredentialVariables {
            variable: &|_| None,
            home: None,
            config_dirs: &dirs,
        };
        let found = find_credentials(&places).unwrap();
        assert!(matches!(found.credentials, KaggleCredentials::Login(_)));
        let now = Arc::clone(&self.now);
        let mut options = options(&self.server.endpoint());
        options.protocol = protocol;
        options.clock = Clock::new(move || {
            let seconds = START + now.load(Ordering::Relaxed);
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
        });
        Network::new(options, found).unwrap()
    }

    fn count(&self, is_counted: impl Fn(&prep_fault_server::Request) -> bool) -> usize {
        let requests = self.server.requests_of(Side::Api);
        requests
            .iter()
            .filter(|request| is_counted(request))
            .count()
    }

    fn renewals(&self) -> usize {
        self.count(|request| request.body.contains("refreshToken"))
    }

    fn refusals(&self) -> usize {
        self.count(|request| request.status == 401)
    }
}

/// A time as Python's `isoformat` has it, without the help of the code under test.
fn isoformat(seconds: u64) -> String {
    let day = seconds / 86_400 - START / 86_400 + 25;
    let second = seconds % 86_400;
    format!(
        "2026-11-{day:02}T{:02}:{:02}:{:02}+00:00",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

fn access(network: &Network) -> Result<u64, FetchError> {
    network.check_access(ID, &Cancel::default())
}

/// Checks each minute, in one process and in a new process for each request.
#[test]
fn an_hour_in_which_a_token_expires() {
    for protocol in [Protocol::Rpc, Protocol::Rest] {
        for is_new_process in [false, true] {
            let world = World::new(40 * 60);
            let mut network = world.network(protocol);
            let mut renewed_at = None;
            for minute in 0..=60 {
                world.set_time(minute * 60);
                if is_new_process {
                    network = world.network(protocol);
                }
                access(&network).unwrap();
                if world.renewals() == 1 {
                    renewed_at.get_or_insert(minute);
                }
            }
            assert_eq!(world.refusals(), 0, "no call with a token that has expired");
            assert_eq!(
                world.renewals(),
                1,
                "the new token is kept, also for other processes"
            );
            assert_eq!(renewed_at, Some(30), "ten minutes before its end");
            // Twelve hours later it is renewed again.
            world.set_time((30 + 12 * 60) * 60);
            access(&world.network(protocol)).unwrap();
            assert_eq!((world.renewals(), world.refusals()), (2, 0));
        }
    }
}

#[test]
fn the_file_is_written_as_kaggles_sdk_writes_it() {
    let world = World::new(0);
    let link = world.dir.path().join("real.json");
    fs::rename(world.path(), &link).unwrap();
    std::os::unix::fs::symlink(&link, world.path()).unwrap();
    access(&world.network(Protocol::Rpc)).unwrap();
    let text = fs::read_to_string(world.path()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["refresh_token"], REFRESH_TOKEN);
    assert_eq!(json["access_token"], format!("{ACCESS_TOKEN}1"));
    assert_eq!(
        json["access_token_expiration"],
        "2026-11-25T12:00:00.000000+00:00"
    );
    assert_eq!(json["username"], "somebody");
    assert_eq!(json["scopes"][0], "resources.admin:*");
    assert_eq!(json["added_later"], 1, "what prep does not know is kept");
    assert!(text.starts_with("{\n  \"refresh_token\""), "{text}");
    assert_eq!(link.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(world.path().is_symlink());
    assert_eq!(world.dir.path().read_dir().unwrap().count(), 2);
}

/// The request is the one that Kaggle's SDK sends.
#[test]
fn a_token_is_renewed_as_kaggles_sdk_does() {
    let world = World::new(0);
    access(&world.network(Protocol::Rpc)).unwrap();
    let requests = world.server.requests_of(Side::Api);
    let renewal = &requests[0];
    assert_eq!(
        renewal.path,
        "/api/v1/users.AccountService/GenerateAccessToken"
    );
    let body: serde_json::Value = serde_json::from_str(&renewal.body).unwrap();
    let expected = serde_json::json!({
        "refreshToken": REFRESH_TOKEN,
        "apiVersion": "API_VERSION_V1",
        "expirationDuration": "43200s",
    });
    assert_eq!(body, expected);
    assert!(!renewal.authorization, "the old token is not sent");
}

#[test]
fn a_clock_that_is_slow_or_a_revoked_token_costs_one_call() {
    let world = World::new(3600);
    let network = world.network(Protocol::Rpc);
    // Only the server's clock advances.
    world.server.set_time(Duration::from_secs(3601));
    access(&network).unwrap();
    assert_eq!((world.refusals(), world.renewals()), (1, 1));
    access(&network).unwrap();
    assert_eq!((world.refusals(), world.renewals()), (1, 1));
}

#[test]
fn a_login_that_was_ended_is_said_to_be_one() {
    let world = World::new(0);
    world.write("revoked", "access-token-of-somebody-9", 0);
    let error = access(&world.network(Protocol::Rpc)).unwrap_err();
    let shown = format!("{error}\n{error:?}\n{:?}", error.remedy());
    assert!(
        shown.contains("cannot be renewed: Invalid refresh token"),
        "{shown}"
    );
    assert!(shown.contains("kaggle auth login"), "{shown}");
    for secret in ["revoked", "access-token-of-somebody-9"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    // The file is the user's: it is not removed.
    assert!(world.path().exists());
}

#[test]
fn a_renewal_is_tried_again_and_by_the_other_protocol() {
    for (kind, at, times) in [
        (Kind::status(503), At::Api, 2),
        (Kind::status(404), At::Rpc, 1),
        (Kind::Drop, At::Api, 1),
    ] {
        let world = World::new(0);
        let fault = Fault::at(at, kind.clone()).times(times);
        world.server.set_faults(vec![fault]);
        access(&world.network(Protocol::Rpc)).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    }
}

#[test]
fn a_file_that_cannot_be_written_does_no_harm() {
    let world = World::new(0);
    let network = world.network(Protocol::Rpc);
    fs::remove_file(world.path()).unwrap();
    for _ in 0..3 {
        access(&network).unwrap();
    }
    assert_eq!(world.renewals(), 1);
    assert!(!Path::new(&world.path()).exists());
}

/// A server that sends invalid data does not damage anything.
#[test]
fn strange_answers_to_a_renewal_are_errors() {
    for body in [
        "",
        "[]",
        "{\"token\":1}",
        "{\"token\":\"\",\"expiresIn\":1}",
        "{\"token\":\"two words\",\"expiresIn\":1}",
        "{\"token\":\"line\\nbreak\",\"expiresIn\":1}",
        "{\"token\":\"t\",\"expiresIn\":-1}",
    ] {
        let world = World::new(0);
        let kind = Kind::Status {
            code: 200,
            retry_after: None,
            body: body.into(),
        };
        world.server.set_faults(vec![Fault::at(At::Api, kind)]);
        let error = access(&world.network(Protocol::Rpc)).unwrap_err();
        assert!(
            matches!(error, FetchError::LoginExpired { .. }),
            "{body}: {error}"
        );
    }
    // A time beyond the range of clocks.
    let world = World::new(0);
    let token = world.server.issue_access_token(1_000_000);
    let kind = Kind::Status {
        code: 200,
        retry_after: None,
        body: format!("{{\"token\":\"{token}\",\"expiresIn\":{}}}", u64::MAX),
    };
    world.server.set_faults(vec![Fault::at(At::Api, kind)]);
    let _ = access(&world.network(Protocol::Rpc));
    let text = fs::read_to_string(world.path()).unwrap();
    assert!(text.contains("2026-12-25T00:00:00.000000+00:00"), "{text}");
}
