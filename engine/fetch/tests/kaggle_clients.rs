//! Verifies that the test server behaves like Kaggle, and prep like Kaggle's own clients: `kaggle` 1.6.17, `kaggle` 2.2.5
//! and `kagglehub` 1.0.3, unchanged from PyPI. prep must send the same requests with the same credentials.
//!
//! The clients are installed once, below `target`. Without Python or PyPI, the tests are skipped.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use common::{ID, Outcome, content, options};
use prep_core::Cancel;
use prep_fault_server::{
    Bundle, FaultServer, KEY, MemberFile, REFRESH_TOKEN, Request, Side, TOKEN, USERNAME,
};
use prep_fetch::{CredentialVariables, Network, find_credentials};
use prep_formats::zip::{ZipMethod, ZipWriter};
use tempfile::TempDir;

use crate::skipped::skipped;

const CURRENT_CLIENTS: [&str; 4] = [
    "kaggle==2.2.5",
    "kagglehub==1.0.3",
    "kagglesdk==0.1.38",
    "six",
];
const OLDER_CLIENT: [&str; 1] = ["kaggle==1.6.17"];

/// Returns a Python environment with these packages. Creates it if it does not exist. Returns `None` if this is
/// impossible.
fn environment(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Tests may run in separate processes, and only one of them may install.
    let lock = fs::File::create(root.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let dir = root.join(name);
    let complete = dir.join("complete");
    if complete.exists() {
        return Some(dir);
    }
    let run = |command: &mut Command| {
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        status.status().is_ok_and(|status| status.success())
    };
    let pip = dir.join("bin/pip");
    let install = ["install", "--quiet", "--retries", "1", "--timeout", "10"];
    let is_installed = run(Command::new("python3").args(["-m", "venv"]).arg(&dir))
        && run(Command::new(pip).args(install).args(packages));
    if !is_installed {
        skipped(&format!(
            "no Python, or PyPI cannot be reached for {}",
            packages.join(", ")
        ));
        return None;
    }
    fs::write(complete, "").unwrap();
    Some(dir)
}

fn current_clients() -> Option<&'static Path> {
    static DIR: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIR.get_or_init(|| environment("kaggle-current", &CURRENT_CLIENTS))
        .as_deref()
}

fn older_client() -> Option<&'static Path> {
    static DIR: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIR.get_or_init(|| environment("kaggle-older", &OLDER_CLIENT))
        .as_deref()
}

fn bundle() -> Bundle {
    let table = content(5_000, 3);
    let files = ["train.csv", "images/a b.png"];
    let mut all = ZipWriter::new(Vec::new());
    let files = files.map(|path| {
        all.add_file(path, ZipMethod::Stored, &*table).unwrap();
        let mut one = ZipWriter::new(Vec::new());
        let name = path.rsplit('/').next().unwrap();
        one.add_file(name, ZipMethod::Deflate, &*table).unwrap();
        MemberFile {
            path: path.to_owned(),
            bytes: table.clone().into(),
            zipped: one.finish().unwrap().into(),
        }
    });
    Bundle::new(ID, all.finish().unwrap()).with_files(files.to_vec())
}

struct Fixture {
    server: FaultServer,
    home: TempDir,
}

impl Fixture {
    fn new(bundle: Bundle) -> Fixture {
        let home = crate::temporary::directory();
        fs::create_dir(home.path().join(".kaggle")).unwrap();
        Fixture {
            server: FaultServer::start(vec![bundle], Vec::new()).unwrap(),
            home,
        }
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.home.path().join(".kaggle").join(name), text).unwrap();
    }

    fn login(&self, token: &str) {
        self.file(
            "credentials.json",
            &login(token, "2020-01-01T00:00:00+00:00"),
        );
    }

    /// Returns a command that runs a client with the server instead of Kaggle. The current clients use
    /// `http://localhost`, for which the server acts as a proxy.
    fn command(&self, dir: &Path, program: &str) -> Command {
        let proxy = format!("http://{}", self.server.api_host());
        let mut command = Command::new(dir.join("bin").join(program));
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", "/usr/bin:/bin")
            .env("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
            .env("KAGGLE_API_ENDPOINT", self.server.endpoint())
            .env("KAGGLEHUB_CACHE", self.home.path().join("cache"))
            .env("http_proxy", &proxy)
            .env("HTTP_PROXY", &proxy)
            .env("no_proxy", "127.0.0.1")
            .env("NO_PROXY", "127.0.0.1")
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    fn kaggle(&self, dir: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(dir, "kaggle");
        command.arg("competitions").args(arguments);
        command
    }

    fn hub(&self, dir: &Path, arguments: &str) -> Command {
        let script = format!(
            "import kagglehub; print(kagglehub.competition_download('{ID}'{arguments}), end='')"
        );
        let mut command = self.command(dir, "python3");
        command.args(["-c", &script]);
        command
    }

    fn api(&self) -> Vec<Request> {
        self.server.requests_of(Side::Api)
    }
}

fn login(token: &str, expires: &str) -> String {
    format!(
        "{{\"refresh_token\": \"{REFRESH_TOKEN}\", \"access_token\": \"{token}\", \
         \"access_token_expiration\": \"{expires}\", \"username\": \"{USERNAME}\", \"scopes\": []}}"
    )
}

#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}{errors}");
    text
}

#[track_caller]
fn fail(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!output.status.success(), "{command:?}: {text}");
    text
}

fn with_key(mut command: Command) -> Command {
    command
        .env("KAGGLE_USERNAME", USERNAME)
        .env("KAGGLE_KEY", KEY);
    command
}

fn with_token(mut command: Command) -> Command {
    command.env("KAGGLE_API_TOKEN", TOKEN);
    command
}

#[test]
fn client_kaggle_1_6_17_works_with_the_test_server() -> Outcome {
    let Some(dir) = older_client() else {
        return Ok(());
    };
    let fixture = Fixture::new(bundle());
    succeed(&mut with_key(
        fixture.kaggle(dir, &["download", "-c", ID, "-p", "out"]),
    ));
    let got = fs::read(fixture.home.path().join(format!("out/{ID}.zip")))?;
    assert!(got == bundle().content.read(0, usize::MAX));
    assert_eq!(fixture.api().len(), 1);
    let file = ["download", "-c", ID, "-f", "images/a b.png", "-p", "out"];
    succeed(&mut with_key(fixture.kaggle(dir, &file)));
    let text = succeed(&mut with_key(fixture.kaggle(dir, &["files", ID])));
    assert!(text.contains("train.csv"), "{text}");
    Ok(())
}

#[test]
fn client_kaggle_2_2_5_and_prep_send_the_same_requests() -> Outcome {
    let Some(dir) = current_clients() else {
        return Ok(());
    };
    let download = ["download", "-c", ID, "-p", "out", "-o"];
    type Prepare = fn(&Fixture, Command) -> Command;
    let credentials: [Prepare; 3] = [
        |_, command| with_key(command),
        |_, command| with_token(command),
        |fixture, command| {
            fixture.login("expired");
            command
        },
    ];
    for prepare in credentials {
        let fixture = Fixture::new(bundle());
        succeed(&mut prepare(&fixture, fixture.kaggle(dir, &download)));
        let got = fs::read(fixture.home.path().join(format!("out/{ID}.zip")))?;
        assert!(got == bundle().content.read(0, usize::MAX));
        let last = fixture.api().pop().ok_or("no request")?;
        let body: serde_json::Value = serde_json::from_str(&last.body)?;
        let network = Network::new(options(&fixture.server.endpoint()), common::key())?;
        network.check_access(ID, &Cancel::default())?;
        let own = fixture.api().pop().ok_or("no request")?;
        assert_eq!((&last.method, &last.path), (&own.method, &own.path));
        assert_eq!(body, serde_json::from_str::<serde_json::Value>(&own.body)?);
    }
    let fixture = Fixture::new(bundle());
    let file = ["download", "-c", ID, "-f", "train.csv", "-p", "out"];
    succeed(&mut with_token(fixture.kaggle(dir, &file)));
    let text = succeed(&mut with_token(fixture.kaggle(dir, &["files", ID])));
    assert!(text.contains("train.csv"), "{text}");
    let refused = Fixture::new(bundle().without_consent());
    let text = fail(&mut with_token(refused.kaggle(dir, &download)));
    assert!(
        text.contains("You must accept this competition's rules"),
        "{text}"
    );
    Ok(())
}

#[test]
fn client_kagglehub_1_0_3_works_with_the_test_server() -> Outcome {
    let Some(dir) = current_clients() else {
        return Ok(());
    };
    let fixture = Fixture::new(bundle());
    let path = succeed(&mut with_token(fixture.hub(dir, "")));
    let path = path.lines().last().ok_or("no path")?;
    assert!(fs::read(Path::new(path).join("images/a b.png"))? == content(5_000, 3));
    // The API sends a table within a zip archive, and other files as they are.
    for file in ["train.csv", "images/a b.png"] {
        let fixture = Fixture::new(bundle());
        let path = succeed(&mut with_key(fixture.hub(dir, &format!(", path='{file}'"))));
        let path = path.lines().last().ok_or("no path")?;
        assert!(fs::read(path)? == content(5_000, 3), "{file}");
    }
    let refused = Fixture::new(bundle().without_consent());
    let text = fail(&mut with_token(refused.hub(dir, "")));
    assert!(
        text.contains("You must accept this competition's rules"),
        "{text}"
    );
    Ok(())
}

/// A place of credentials, and a function that fills it and returns the variables to set.
type Fill = (&'static str, fn(&Fixture) -> Vec<(&'static str, String)>);

/// All places that the clients support outside of Kaggle's notebooks.
const PLACES: [Fill; 7] = [
    ("KAGGLE_API_TOKEN", |_| {
        vec![("KAGGLE_API_TOKEN", "in-env".into())]
    }),
    ("path of a token", |fixture| {
        fixture.file("mine", "in-file");
        let path = fixture.home.path().join(".kaggle/mine");
        vec![("KAGGLE_API_TOKEN", path.display().to_string())]
    }),
    ("access_token", |fixture| {
        fixture.file("access_token", "saved\n");
        vec![]
    }),
    ("access_token.txt", |fixture| {
        fixture.file("access_token.txt", "saved-as-text\r\n");
        vec![]
    }),
    ("variables", |_| {
        vec![
            ("KAGGLE_USERNAME", "u".into()),
            ("KAGGLE_KEY", "in-env".into()),
        ]
    }),
    ("kaggle.json", |fixture| {
        fixture.file("kaggle.json", r#"{"username":"filed","key":"in-json"}"#);
        vec![]
    }),
    ("credentials.json", |fixture| {
        fixture.file(
            "credentials.json",
            &login("logged-in", "2999-01-01T00:00:00+00:00"),
        );
        vec![]
    }),
];

/// Prints the authentication that Kaggle's SDK computes for a list of environments.
const SDK_SCRIPT: &str = r#"
import json, os, sys
from kagglesdk import KaggleClient, KaggleCredentials
from kagglesdk.kaggle_env import KaggleEnv
def decide():
    pair = os.environ.get('KAGGLE_USERNAME'), os.environ.get('KAGGLE_KEY')
    client = KaggleClient(env=KaggleEnv.LOCAL, username=pair[0], password=pair[1])
    http = client.http_client()
    http._init_session()
    auth = http._session.auth
    if auth is None:
        login = KaggleCredentials.load(client=client)
        return login and login.get_access_token()
    return auth.token if hasattr(auth, 'token') else ':'.join(auth)
found = []
for variables in json.load(sys.stdin):
    for name in [name for name in os.environ if name.startswith('KAGGLE_')]:
        del os.environ[name]
    os.environ.update(variables)
    found.append(decide())
json.dump(found, sys.stdout)
"#;

#[test]
fn prep_and_kaggles_sdk_use_the_same_credentials() -> Outcome {
    let Some(dir) = current_clients() else {
        return Ok(());
    };
    let mut cases = Vec::new();
    for (number, (first, fill)) in PLACES.iter().enumerate() {
        for (second, fill_other) in &PLACES[number..] {
            let fixture = Fixture::new(bundle());
            let mut variables = fill(&fixture);
            for (name, value) in fill_other(&fixture) {
                if !variables.iter().any(|(known, _)| *known == name) {
                    variables.push((name, value));
                }
            }
            variables.push(("HOME", fixture.home.path().display().to_string()));
            cases.push((format!("{first} and {second}"), fixture, variables));
        }
    }
    let surroundings: Vec<serde_json::Map<String, serde_json::Value>> = cases
        .iter()
        .map(|(_, _, variables)| {
            let variables = variables.iter();
            variables
                .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
                .collect()
        })
        .collect();
    let input = cases[0].1.home.path().join("cases.json");
    fs::write(&input, serde_json::to_vec(&surroundings)?)?;
    let mut command = cases[0].1.command(dir, "python3");
    let decided = succeed(
        command
            .args(["-c", SDK_SCRIPT])
            .stdin(fs::File::open(&input)?),
    );
    let decided: Vec<String> = serde_json::from_str(&decided)?;
    assert_eq!(decided.len(), 28);
    for ((name, fixture, variables), expected) in cases.iter().zip(decided) {
        let found = find_credentials(&CredentialVariables {
            variable: &|name| {
                let mut known = variables.iter();
                known
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| value.clone())
            },
            home: Some(fixture.home.path()),
            config_dirs: &[fixture.home.path().join(".kaggle")],
        })?;
        assert_eq!(sent(fixture, found)?, expected, "{name}");
    }
    Ok(())
}

/// Returns the credentials that prep sends: a token, or user and key with a colon between them.
fn sent(
    fixture: &Fixture,
    found: prep_fetch::FoundCredentials,
) -> Result<String, Box<dyn std::error::Error>> {
    use base64::Engine as _;
    let network = Network::new(options(&fixture.server.endpoint()), found)?;
    // The server rejects the credentials. prep then renews a login, which does not matter here.
    let _ = network.check_access(ID, &Cancel::default());
    let request = fixture
        .api()
        .into_iter()
        .find(|request| !request.body.contains("refreshToken"));
    let header = request
        .ok_or("no request")?
        .authorization_header
        .ok_or("no credentials")?;
    Ok(match header.split_once(' ').ok_or("no scheme")? {
        ("Bearer", token) => token.to_owned(),
        (_, pair) => String::from_utf8(base64::engine::general_purpose::STANDARD.decode(pair)?)?,
    })
}
