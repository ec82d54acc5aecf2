//! Tests of failed downloads: each has an exit code, a cause and help, and leaves no bundle under its final name.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use prep_fault_server::{At, Bundle, Fault, Kind};

use super::{World, wide_harbour};
use crate::support::{CommandResult, Harbour, Sandbox};

const PUBLISHED: &str = "bundle: { kaggle: harbour, md5: 00000000000000000000000000000000 }";

fn bundle() -> Vec<u8> {
    Harbour::bundle(&Harbour::table())
}

#[track_caller]
fn assert_download_fails(world: &World, ended: CommandResult, code: i32, messages: &[&str]) {
    ended.code(code).stderr_has(messages);
    let target = world.sandbox.data().join("harbour/harbour.zip");
    assert!(!target.exists());
    assert!(!world.sandbox.prepared(Harbour::ID).exists());
}

#[test]
fn no_request_is_sent_without_credentials() {
    let world = World::harbour(&bundle(), Vec::new());
    let mut command = world.command_without_credentials(&["run", "-c", Harbour::ID]);
    let ended = world.run_command(&mut command);
    let messages = [
        "no bundle: looked for",
        "no Kaggle credentials",
        "https://www.kaggle.com/settings",
        "kaggle.json",
    ];
    assert_download_fails(&world, ended, 4, &messages);
    assert_eq!(world.requests(), 0);
}

#[test]
fn wrong_credentials_are_an_error() {
    let world = World::harbour(&bundle(), Vec::new());
    let mut command = world.command_without_credentials(&["run", "-c", Harbour::ID]);
    command.env("KAGGLE_API_TOKEN", "an-older-token-of-mine");
    let ended = world.run_command(&mut command);
    assert!(!ended.stderr.contains("an-older-token-of-mine"));
    let messages = [
        "does not accept the credentials of KAGGLE_API_TOKEN (401)",
        "replace the credentials of KAGGLE_API_TOKEN",
        "unset KAGGLE_API_ENDPOINT",
    ];
    assert_download_fails(&world, ended, 4, &messages);
}

/// Starts a proxy that sends the same answer to every request. Returns its host and port.
fn proxy(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_proxy_that_refuses_is_an_error_at_once() {
    let sandbox = Sandbox::new();
    let refused = "it answered CONNECT with an error status, or not with HTTP";
    for (scheme, answer, code, message) in [
        ("http", "HTTP/1.1 403 Forbidden\r\n\r\n", 7, refused),
        (
            "http",
            "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            7,
            "it rejects the user name and the password (407)",
        ),
        ("http", "<html>no</html>\r\n\r\n", 7, refused),
        (
            "https",
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            7,
            "does not use TLS",
        ),
        (
            "https",
            "",
            7,
            "tls handshake eof; the proxy may not use TLS",
        ),
        ("foo", "", 2, "HTTPS_PROXY is `***@127.0.0.1:"),
    ] {
        let address = proxy(answer);
        for verb in [
            &["fetch", "spaceship-titanic"][..],
            &["doctor"],
            &["remote", "pull", "--remote", "s3://bucket/team"],
        ] {
            let mut command = sandbox.command(verb);
            command.env("HTTPS_PROXY", format!("{scheme}://user:hush@{address}"));
            command.env("KAGGLE_API_TOKEN", "token");
            command.env("AWS_ACCESS_KEY_ID", "somebody");
            command.env("AWS_SECRET_ACCESS_KEY", "verysecret");
            let ended = CommandResult::of(&mut command).code(code);
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            for part in [message, &address] {
                assert!(shown.contains(part), "{verb:?} {answer}: {shown}");
            }
            for part in ["trying again", "hush"] {
                assert!(!shown.contains(part), "{verb:?} {answer}: {shown}");
            }
        }
    }
}

#[test]
fn a_silent_proxy_is_named_during_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["fetch", "spaceship-titanic"]);
    command
        .env("HTTPS_PROXY", &address)
        .env("KAGGLE_API_TOKEN", "token")
        .stderr(Stdio::piped());
    let mut running = command.spawn().expect("prep");
    let lines = BufReader::new(running.stderr.take().expect("stderr")).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.contains("no answer"));
    running.kill().expect("prep runs");
    running.wait().expect("prep ends");
    let expected = format!("no answer from api.kaggle.com through the proxy {address} for 3 s");
    assert!(
        line.as_deref()
            .is_some_and(|line| line.starts_with(&expected)),
        "{line:?}"
    );
}

/// The message names the proxy that did not answer and the variable that is in use, and no part of the HTTP library.
#[test]
fn unusable_addresses_name_their_variable() {
    let sandbox = Sandbox::new();
    let https = "KAGGLE_API_ENDPOINT, or set it to the https URL";
    for (variable, value, parts) in [
        (
            "ALL_PROXY",
            "http://127.0.0.1:9",
            [
                "no connection to the proxy http://127.0.0.1:9: Connection refused",
                "check that ALL_PROXY is correct",
            ],
        ),
        (
            "https_proxy",
            "http://127.0.0.1:99999",
            [
                "https_proxy is `http://127.0.0.1:99999`",
                "with a valid port",
            ],
        ),
        (
            "KAGGLE_API_ENDPOINT",
            "http://127.0.0.1:9",
            [
                "no connection to 127.0.0.1:9 (KAGGLE_API_ENDPOINT): Connection refused",
                "kaggle: unset KAGGLE_API_ENDPOINT",
            ],
        ),
        (
            "KAGGLE_API_ENDPOINT",
            "kaggle",
            [
                "KAGGLE_API_ENDPOINT is `kaggle`, which does not begin with `https://`",
                https,
            ],
        ),
        (
            "KAGGLE_API_ENDPOINT",
            "localhost:7001",
            ["`localhost:7001`, which does not begin with", https],
        ),
        (
            "KAGGLE_API_ENDPOINT",
            "http://u:hush@127.0.0.1:99999",
            [
                "`***@127.0.0.1:99999`, which is not a URL: invalid port number",
                https,
            ],
        ),
        (
            "KAGGLE_API_ENDPOINT",
            "http://a.com",
            ["`http://a.com`, which uses plain http", https],
        ),
    ] {
        let mut command = sandbox.command(&["doctor"]);
        command
            .env("KAGGLE_API_TOKEN", "token")
            .env(variable, value);
        let ended = CommandResult::of(&mut command);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        for part in parts {
            assert!(shown.contains(part), "{variable}={value}: {shown}");
        }
        for part in ["client error", "os error", "HTTPS_PROXY"] {
            assert!(!shown.contains(part), "{variable}={value}: {shown}");
        }
    }
}

/// An error that the server sends through the proxy shows that the proxy works.
#[test]
fn an_answer_through_a_proxy_verifies_the_proxy() {
    let sandbox = Sandbox::new();
    let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let mut command = sandbox.command(&["doctor"]);
    command
        .env("KAGGLE_API_TOKEN", "token")
        .env("KAGGLE_API_ENDPOINT", "http://127.0.0.1:9")
        .env("HTTP_PROXY", format!("http://{}", proxy(answer)));
    CommandResult::of(&mut command).code(4).stdout_has(&[
        "proxy        ok ",
        "endpoint     unverified",
        "does not accept the credentials",
    ]);
}

/// Without TLS, the answer of a proxy looks like that of the remote's server.
#[test]
fn a_proxy_that_refuses_requests_to_a_remote_is_named() {
    let sandbox = Sandbox::new();
    let refused = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    let address = format!("http://{}", proxy(refused));
    let ended = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        command
            .args(["--remote", "s3://bucket/team"])
            .env("HTTP_PROXY", &address)
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            .env("AWS_ACCESS_KEY_ID", "a")
            .env("AWS_SECRET_ACCESS_KEY", "b");
        CommandResult::of(&mut command)
    };
    let place = format!("the proxy {address} does not connect to 127.0.0.1:9: HTTP status 403");
    let pull = ended(&["remote", "pull", "leaf-classification"]);
    pull.code(7).stderr_has(&[&place, "check that HTTP_PROXY"]);
    ended(&["doctor"]).stdout_has(&[&place]);
    ended(&["doctor", "--offline"]).stdout_has(&[&format!("proxy {address} (HTTP_PROXY)")]);
    let config = ended(&["config"]).code(0);
    config.stdout_has(&["remote.proxy ", &address]);
}

#[test]
fn user_name_without_key_is_an_error() {
    let world = World::harbour(&bundle(), Vec::new());
    let mut command = world.command_without_credentials(&["run", "-c", Harbour::ID]);
    command.env("KAGGLE_USERNAME", "somebody");
    let ended = world.run_command(&mut command);
    assert_download_fails(&world, ended, 4, &["KAGGLE_KEY is not"]);
}

#[test]
fn unaccepted_rules_are_reported_with_their_url() {
    let refused = Bundle::new(Harbour::ID, bundle()).without_consent();
    let world = World::new(vec![refused], Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let ended = world.run(Harbour::ID, &[]);
    let messages = [
        "the rules of harbour are not accepted",
        "https://www.kaggle.com/competitions/harbour/rules",
        "phone",
    ];
    assert_download_fails(&world, ended, 4, &messages);
}

#[test]
fn unknown_competition_on_kaggle_is_reported() {
    let world = World::new(Vec::new(), Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let ended = world.run(Harbour::ID, &[]);
    assert_download_fails(&world, ended, 4, &["has no competition harbour (404)"]);
}

#[test]
fn web_page_is_not_stored_as_a_bundle() {
    for at in [At::Api, At::Store] {
        for kind in [Kind::Html, Kind::RedirectToHtml] {
            let messages = match (at, &kind) {
                (At::Api, Kind::Html) => ["respond like Kaggle's API: it sent a web page", ""],
                _ => ["got HTML, ", "(redirect from KAGGLE_API_ENDPOINT)"],
            };
            let world = World::harbour(&bundle(), vec![Fault::at(at, kind).always()]);
            let ended = world.run(Harbour::ID, &[]);
            let messages = [&messages[..], &["unset KAGGLE_API_ENDPOINT"]].concat();
            assert_download_fails(&world, ended, 4, &messages);
        }
    }
}

#[test]
fn web_page_does_not_destroy_a_partial_download() {
    let bundle = wide_harbour(2);
    let page = Fault::at_byte(1_000_000, Kind::Drop).always();
    let world = World::harbour(
        &bundle,
        vec![page, Fault::at(At::Store, Kind::Html).after(1)],
    );
    let ended = world.run(Harbour::ID, &[]);
    assert_download_fails(&world, ended, 4, &["got HTML"]);
    let before = world.server.sent();
    world.server.set_faults(Vec::new());
    world.run(Harbour::ID, &[]).code(0);
    let again = world.server.sent() - before;
    assert!(again < bundle.len() as u64 - 500_000, "{again}");
}

/// The failure has its own exit code, because the same job may succeed later.
#[test]
fn unreachable_server_has_its_own_exit_code() {
    let wait = Kind::Status {
        code: 429,
        retry_after: Some("90000".to_owned()),
        body: String::new(),
    };
    for at in [At::Api, At::Store] {
        let world = World::harbour(&bundle(), vec![Fault::at(at, wait.clone()).always()]);
        let ended = world.run(Harbour::ID, &[]);
        assert_download_fails(&world, ended, 7, &["too many requests", "asks to wait"]);
    }
    let world = World::harbour(&bundle(), Vec::new());
    for option in ["--check-rules", "--list"] {
        let mut command = world.command(&["fetch", option, Harbour::ID]);
        command.env("KAGGLE_API_ENDPOINT", "http://127.0.0.1:9");
        world
            .run_command(&mut command)
            .code(7)
            .stderr_has(&["gave up after 3 attempts in a row: no connection to"]);
    }
}

#[test]
fn no_download_forbids_downloads() {
    let world = World::harbour(&bundle(), Vec::new());
    let ended = world.run(Harbour::ID, &["--no-download"]);
    let messages = ["no bundle: looked for", "downloads are not allowed"];
    assert_download_fails(&world, ended, 4, &messages);
    for verb in [
        &["fetch", "--list", Harbour::ID][..],
        &["plan", "-c", Harbour::ID],
    ] {
        world.prep(&[verb, &["--no-download"]].concat());
    }
    assert_eq!(world.requests(), 0);
}

#[test]
fn downloaded_bundle_with_wrong_md5_is_used_only_on_request() {
    let world = World::harbour(&bundle(), Vec::new());
    let text = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", PUBLISHED);
    world.sandbox.pipeline(Harbour::ID, &text);
    let ended = world.prep(&["run", "-c", Harbour::ID]);
    let messages = ["Kaggle changed it", "--skip-bundle-verification"];
    assert_download_fails(&world, ended, 5, &messages);
    let run = ["run", "-c", Harbour::ID, "--skip-bundle-verification"];
    world.prep(&run).code(0);
    // `prep` also compares a local bundle with the published checksum.
    let strict = ["run", "-c", Harbour::ID, "--forget-options"];
    let ended = world.prep(&strict).code(5);
    ended.stderr_has(&["the published MD5 is 00000000000000000000000000000000"]);
}

#[test]
fn outputs_are_verified_with_skip_bundle_verification() {
    let world = World::harbour(&bundle(), Vec::new());
    let text = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", PUBLISHED);
    world.sandbox.pipeline(Harbour::ID, &text);
    let sums = r#"{"public":{"test.csv":"00000000000000000000000000000000"}}"#;
    world
        .sandbox
        .write("pipelines/harbour/checksums.json", sums);
    let run = ["run", "--json", "-c", Harbour::ID];
    let ended = world.prep(&[&run[..], &["--skip-bundle-verification"]].concat());
    assert_eq!(ended.json()["competitions"][0]["checksums"], "differ");
    ended.code(5).stderr_has(&["public/test.csv"]);
    world
        .prep(&[&run[..], &["--skip-verification"]].concat())
        .code(0);
}

#[test]
fn competition_id_can_differ_from_kaggles_name() {
    let world = World::new(vec![Bundle::new("the-harbour", bundle())], Vec::new());
    let text = Harbour::PIPELINE.replace("kaggle: harbour", "kaggle: the-harbour");
    world.sandbox.pipeline(Harbour::ID, &text);
    world.run(Harbour::ID, &[]).code(0);
    let names = world.sandbox.names_in_home(Harbour::ID);
    assert!(names.contains(&"harbour.zip".to_owned()), "{names:?}");
}

/// With `--no-download`, a run requires no disk space for downloads. It prepares local bundles and lists missing ones.
#[test]
fn no_download_needs_no_disk_space_for_downloads() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let usual = ["run", "--json", "--skip-verification", "--source", "source"];
    let large = "siim-isic-melanoma-classification";
    let report = sandbox
        .prep(&[&usual[..], &["--no-download", Harbour::ID, large]].concat())
        .code(4);
    let report = report.stderr_has(&[
        &format!("{large}/bundle: no bundle: looked for"),
        "--no-download",
    ]);
    assert!(!report.stderr.contains("disk"), "{}", report.stderr);
    assert_eq!(report.json()["competitions"][0]["state"], "prepared");

    // Without credentials, downloads are impossible and need no disk space, either.
    let report = sandbox.prep(&[&usual[..], &[large]].concat()).code(4);
    let report = report.stderr_has(&["no Kaggle credentials"]);
    assert!(!report.stderr.contains("disk"), "{}", report.stderr);
}
