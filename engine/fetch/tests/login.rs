//! The access token of a login expires after some hours. prep renews it before it expires.

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
    CredentialVariables, FetchError, KaggleCredentials, Network, Protocol, find_credentials,
};
use tempfile::TempDir;

struct Fixture {
    server: FaultServer,
    dir: TempDir,
    now: Arc<AtomicU64>,
}

/// 2026-11-25T00:00:00Z
const START: u64 = 1_795_564_800;

impl Fixture {
    fn new(seconds: u64) -> Fixture {
        let bundle = Bundle::new(ID, content(20_000, 1));
        let fixture = Fixture {
            server: FaultServer::start(vec![bundle], Vec::new()).unwrap(),
            dir: crate::temporary::directory(),
            now: Arc::default(),
        };
        let token = fixture.server.issue_access_token(seconds);
        fixture.write(REFRESH_TOKEN, &token, seconds);
        fixture
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
        options.clock = Arc::new(move || {
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

    fn rejected_calls(&self) -> usize {
        self.count(|request| request.status == 401)
    }
}

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

/// A renewal that the server does not complete is repeated. It does not mean that the login has expired.
#[test]
fn an_incomplete_renewal_is_repeated() {
    for kind in [Kind::StopAfterHead, Kind::Silence] {
        for protocol in [Protocol::Rpc, Protocol::Rest] {
            let fixture = Fixture::new(60);
            fixture.set_time(3600);
            fixture
                .server
                .set_faults(vec![Fault::at(At::Any, kind.clone())]);
            access(&fixture.network(protocol)).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        }
    }
}

#[test]
fn a_token_is_renewed_before_it_expires() {
    for protocol in [Protocol::Rpc, Protocol::Rest] {
        for is_new_process in [false, true] {
            let fixture = Fixture::new(40 * 60);
            let mut network = fixture.network(protocol);
            let mut renewed_at = None;
            for minute in 0..=60 {
                fixture.set_time(minute * 60);
                if is_new_process {
                    network = fixture.network(protocol);
                }
                access(&network).unwrap();
                if fixture.renewals() == 1 {
                    renewed_at.get_or_insert(minute);
                }
            }
            assert_eq!(
                fixture.rejected_calls(),
                0,
                "no call with a token that has expired"
            );
            assert_eq!(
                fixture.renewals(),
                1,
                "the new token is kept, including in other processes"
            );
            assert_eq!(renewed_at, Some(30), "ten minutes before it expires");
            // The new token is valid for twelve hours, so it has to be renewed, too.
            fixture.set_time((30 + 12 * 60) * 60);
            access(&fixture.network(protocol)).unwrap();
            assert_eq!((fixture.renewals(), fixture.rejected_calls()), (2, 0));
        }
    }
}

#[test]
fn the_login_file_is_written_in_the_format_of_kaggles_sdk() {
    let fixture = Fixture::new(0);
    let link = fixture.dir.path().join("real.json");
    fs::rename(fixture.path(), &link).unwrap();
    std::os::unix::fs::symlink(&link, fixture.path()).unwrap();
    access(&fixture.network(Protocol::Rpc)).unwrap();
    let text = fs::read_to_string(fixture.path()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["refresh_token"], REFRESH_TOKEN);
    assert_eq!(json["access_token"], format!("{ACCESS_TOKEN}1"));
    assert_eq!(
        json["access_token_expiration"],
        "2026-11-25T12:00:00.000000+00:00"
    );
    assert_eq!(json["username"], "somebody");
    assert_eq!(json["scopes"][0], "resources.admin:*");
    assert_eq!(json["added_later"], 1, "unknown fields are kept");
    assert!(text.starts_with("{\n  \"refresh_token\""), "{text}");
    assert_eq!(link.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fixture.path().is_symlink());
    assert_eq!(fixture.dir.path().read_dir().unwrap().count(), 2);
}

#[test]
fn a_renewal_request_equals_that_of_kaggles_sdk() {
    let fixture = Fixture::new(0);
    access(&fixture.network(Protocol::Rpc)).unwrap();
    let requests = fixture.server.requests_of(Side::Api);
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
fn a_slow_clock_costs_one_rejected_call() {
    let fixture = Fixture::new(3600);
    let network = fixture.network(Protocol::Rpc);
    fixture.server.set_time(Duration::from_secs(3601));
    access(&network).unwrap();
    assert_eq!((fixture.rejected_calls(), fixture.renewals()), (1, 1));
    access(&network).unwrap();
    assert_eq!((fixture.rejected_calls(), fixture.renewals()), (1, 1));
}

#[test]
fn a_revoked_login_is_reported_without_showing_its_tokens() {
    let fixture = Fixture::new(0);
    fixture.write("revoked", "access-token-of-somebody-9", 0);
    let error = access(&fixture.network(Protocol::Rpc)).unwrap_err();
    let shown = format!("{error}\n{error:?}\n{:?}", error.remedy());
    assert!(
        shown.contains("cannot be renewed: Invalid refresh token"),
        "{shown}"
    );
    assert!(shown.contains("kaggle auth login"), "{shown}");
    for secret in ["revoked", "access-token-of-somebody-9"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(fixture.path().exists());
}

#[test]
fn a_renewal_is_retried_with_both_protocols() {
    for (kind, at, times) in [
        (Kind::status(503), At::Api, 2),
        (Kind::status(404), At::Rpc, 1),
        (Kind::Drop, At::Api, 1),
    ] {
        let fixture = Fixture::new(0);
        let fault = Fault::at(at, kind.clone()).times(times);
        fixture.server.set_faults(vec![fault]);
        access(&fixture.network(Protocol::Rpc)).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    }
}

#[test]
fn a_login_file_that_cannot_be_written_is_not_an_error() {
    let fixture = Fixture::new(0);
    let network = fixture.network(Protocol::Rpc);
    fs::remove_file(fixture.path()).unwrap();
    for _ in 0..3 {
        access(&network).unwrap();
    }
    assert_eq!(fixture.renewals(), 1);
    assert!(!Path::new(&fixture.path()).exists());
}

#[test]
fn invalid_answers_to_a_renewal_are_errors() {
    for body in [
        "",
        "[]",
        "{\"token\":1}",
        "{\"token\":\"\",\"expiresIn\":1}",
        "{\"token\":\"two words\",\"expiresIn\":1}",
        "{\"token\":\"line\\nbreak\",\"expiresIn\":1}",
        "{\"token\":\"t\",\"expiresIn\":-1}",
    ] {
        let fixture = Fixture::new(0);
        let kind = Kind::Status {
            code: 200,
            retry_after: None,
            body: body.into(),
        };
        fixture.server.set_faults(vec![Fault::at(At::Api, kind)]);
        let error = access(&fixture.network(Protocol::Rpc)).unwrap_err();
        assert!(
            matches!(error, FetchError::LoginExpired { .. }),
            "{body}: {error}"
        );
    }
    let fixture = Fixture::new(0);
    // The server states an extremely long validity. It is shortened to 30 days.
    let token = fixture.server.issue_access_token(1_000_000);
    let kind = Kind::Status {
        code: 200,
        retry_after: None,
        body: format!("{{\"token\":\"{token}\",\"expiresIn\":{}}}", u64::MAX),
    };
    fixture.server.set_faults(vec![Fault::at(At::Api, kind)]);
    let _ = access(&fixture.network(Protocol::Rpc));
    let text = fs::read_to_string(fixture.path()).unwrap();
    assert!(text.contains("2026-12-25T00:00:00.000000+00:00"), "{text}");
}
