//! Tests of trouble with Kaggle: request limits, rules that cannot be accepted, missing credentials, no network.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prep_fault_server::{At, Bundle, Fault, Kind, MemberFile, Side};

use super::{World, wide_harbour};
use crate::support::{Gallery, Harbour, Sandbox};
use crate::until::wait_until;

fn pipelines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines")
}

/// Returns `harbour` and the competitions of the benchmark, except the one with a further source.
fn all() -> Vec<String> {
    let mut ids: Vec<String> = fs::read_dir(pipelines())
        .expect("pipelines")
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|id| {
            fs::read_to_string(pipelines().join(id).join("pipeline.yaml"))
                .is_ok_and(|text| !text.contains("\nsources:"))
        })
        .collect();
    ids.push(Harbour::ID.to_owned());
    ids.sort();
    ids
}

fn kaggle(id: &str) -> String {
    let text = fs::read_to_string(pipelines().join(id).join("pipeline.yaml"))
        .unwrap_or_else(|_| Harbour::PIPELINE.to_owned());
    let at = text.find("kaggle: ").expect("a name") + "kaggle: ".len();
    text[at..]
        .chars()
        .take_while(|c| !", }".contains(*c))
        .collect()
}

#[test]
fn check_rules_stops_at_the_request_limit_and_continues_later() {
    let ids = all();
    assert_eq!(ids.len(), 82);
    let bundle = wide_harbour(0);
    let bundles = ids
        .iter()
        .map(|id| Bundle::new(&kaggle(id), bundle.clone()));
    let limit = Fault::at(At::Api, Kind::status(429)).after(10).always();
    let world = World::new(bundles.collect(), vec![limit]);
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let list = world.sandbox.write("ids.txt", ids.join("\n"));
    let list = list.display().to_string();
    let rules = [
        "fetch",
        "--check-rules",
        "--ids-from",
        &list,
        "--pause",
        "0.01",
    ];

    let ended = world.prep(&rules).code(7);
    let ended = ended.stdout_has(&[
        "10 of 82 may be downloaded, 72 not checked",
        "not checked: ",
    ]);
    let ended = ended.stderr_has(&["too many requests", "accepts no more for now (429)"]);
    assert!(
        !ended.stderr.contains("asks to wait"),
        "no waiting time is invented: {}",
        ended.stderr
    );
    assert_eq!(ended.stderr.matches("too many requests").count(), 1);
    // The program sends one request at a time, and none after the first error 429.
    assert_eq!(world.server.requests_of(Side::Api).len(), 11);

    // `prep` remembers accepted rules, so only the remaining competitions cause requests.
    world.server.set_faults(vec![
        Fault::at(At::Api, Kind::status(429)).after(40).always(),
    ]);
    let ended = world.prep(&rules).code(7);
    ended.stdout_has(&["50 of 82 may be downloaded, 32 not checked"]);
    assert_eq!(world.server.requests_of(Side::Api).len(), 11 + 41);
    world.server.set_faults(Vec::new());
    world
        .prep(&rules)
        .code(0)
        .stdout_has(&["82 of 82 may be downloaded"]);
    assert_eq!(world.server.requests_of(Side::Api).len(), 11 + 41 + 32);
    world
        .prep(&rules)
        .code(0)
        .stdout_has(&["82 of 82 may be downloaded"]);
    assert_eq!(world.server.requests_of(Side::Api).len(), 11 + 41 + 32);

    // For another account, `prep` remembers no accepted rules. `--again` checks all competitions again.
    let mut command = world.command_without_credentials(&["fetch", "--check-rules", Harbour::ID]);
    command.env("KAGGLE_API_TOKEN", prep_fault_server::TOKEN);
    world.run_command(&mut command).code(0);
    world
        .prep(&["fetch", "--check-rules", Harbour::ID, "--again"])
        .code(0);
    assert_eq!(world.server.requests_of(Side::Api).len(), 11 + 41 + 32 + 2);
}

#[test]
fn rule_checks_pause_between_requests() {
    let names = ["one", "two", "three"];
    let bundles = names.map(|name| Bundle::new(name, wide_harbour(0)));
    let world = World::new(bundles.to_vec(), Vec::new());
    for name in names {
        let text = Harbour::PIPELINE.replace("harbour", name);
        world.sandbox.pipeline(name, &text);
    }
    let begun = Instant::now();
    world
        .prep(&[
            "fetch",
            "--check-rules",
            "one",
            "two",
            "three",
            "--pause",
            "0.4",
        ])
        .code(0);
    assert!(
        begun.elapsed() > Duration::from_millis(800),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn rules_to_accept_are_opened_in_a_browser() {
    let refused = Bundle::new(Harbour::ID, wide_harbour(0)).without_consent();
    let world = World::new(vec![refused], Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let seen = world.sandbox.path("seen");
    let script = format!(
        "#!/bin/sh\necho \"$1\" > {0}.new && mv {0}.new {0}\n",
        seen.display()
    );
    let browser = world.sandbox.write("browser", script);
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("mode");
    let mut command = world.command(&["fetch", "--check-rules", Harbour::ID, "--open"]);
    command.env("BROWSER", &browser);
    let ended = world.run_command(&mut command).code(4);
    ended.stdout_has(&["may still offer this"]);
    wait_until("the browser was called", || seen.exists());
    let opened = fs::read_to_string(seen).expect("the browser was called");
    assert_eq!(
        opened,
        "https://www.kaggle.com/competitions/harbour/rules\n"
    );
    let mut command = world.command(&["fetch", "--check-rules", Harbour::ID, "--open"]);
    command.env("BROWSER", "/nowhere/browser");
    world
        .run_command(&mut command)
        .code(4)
        .stderr_has(&["cannot open pages with /nowhere/browser"]);
}

/// Two competitions, one of which the account cannot join.
#[test]
fn run_skips_forbidden_competitions_and_lists_them_at_the_end() {
    let bundles = vec![
        Bundle::new(Harbour::ID, wide_harbour(0)),
        Bundle::new(Gallery::ID, Gallery::archive(10, 0).bytes()).without_consent(),
    ];
    let world = World::new(bundles, Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    world.sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    let run = ["run", "--skip-verification", Harbour::ID, Gallery::ID];
    let ended = world.prep(&run).code(4);
    ended.stderr_has(&[
        "the rules of gallery are not accepted",
        "the run prepared 1 of 2 competitions, but not gallery",
    ]);
    assert!(world.sandbox.prepared(Harbour::ID).exists());
}

#[test]
fn missing_credentials_are_one_error_before_the_run() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let run = [
        "run",
        "--lite",
        Harbour::ID,
        "--skip-verification",
        "--source",
        "source",
    ];
    let ended = sandbox.prep(&run).code(4);
    let ended = ended.stderr_has(&[
        "22 bundles cannot be downloaded: no Kaggle credentials",
        "missing: ",
        "spooky-author-identification",
        "KAGGLE_API_TOKEN",
        "--available",
    ]);
    assert_eq!(
        ended.stderr.matches("error:").count(),
        1,
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("harbour"), "{}", ended.stderr);
    assert!(
        !sandbox.prepared(Harbour::ID).exists(),
        "nothing was started"
    );
    let fetch = ["fetch", "--lite", "--source", "source"];
    let ended = sandbox.prep(&fetch).code(4);
    let ended = ended.stderr_has(&["22 bundles cannot be downloaded: no Kaggle credentials"]);
    assert_eq!(
        ended.stderr.matches("error:").count(),
        1,
        "{}",
        ended.stderr
    );

    // `--available` prepares competitions with a local bundle, and lists the others on one line.
    let ended = sandbox.prep(&[&run[..], &["--available"]].concat()).code(0);
    let line = ended
        .stderr
        .lines()
        .find(|line| line.contains("22 competitions left out"));
    let line = line.expect("a line");
    assert!(line.contains("aerial-cactus-identification"), "{line}");
    assert!(line.ends_with(" and 17 more"), "{line}");
    assert!(sandbox.prepared(Harbour::ID).exists());
    let ended = sandbox.prep(&["run", "--lite", "--available"]).code(0);
    ended.stderr_has(&["22 competitions left out because a bundle or source is missing"]);

    // `--keep-going` fails only the competitions without a bundle.
    std::fs::remove_dir_all(sandbox.data()).expect("the data directory");
    let ended = sandbox.prep(&[&run[..], &["--keep-going"]].concat());
    let ended = ended.code(4);
    ended.stderr_has(&[
        "the run prepared 1 of 23 competitions",
        "no Kaggle credentials",
    ]);
    assert!(sandbox.prepared(Harbour::ID).exists());
    let ended = sandbox.prep(&[&fetch[..], &["--keep-going"]].concat());
    ended.code(4).stderr_has(&["no bundle: looked for"]);
}

/// With credentials but without a network, the first message appears within seconds.
#[test]
fn unreachable_network_is_reported_immediately() {
    let world = World::harbour(&wide_harbour(0), Vec::new());
    for arguments in [&["run", "-c", Harbour::ID][..], &["fetch", Harbour::ID]] {
        let mut command = world.command(arguments);
        // Nothing listens on this port.
        command.env("KAGGLE_API_ENDPOINT", "http://127.0.0.1:9");
        let mut child = command.spawn().expect("prep");
        let stderr = child.stderr.take().expect("stderr");
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            use std::io::BufRead as _;
            for line in std::io::BufReader::new(stderr)
                .lines()
                .map_while(Result::ok)
            {
                let _ = sender.send(line);
            }
        });
        let begun = Instant::now();
        let mut retry_line = None;
        while retry_line.is_none() && begun.elapsed() < Duration::from_secs(20) {
            let line = lines.recv_timeout(Duration::from_secs(20)).expect("a line");
            retry_line = line
                .contains("no connection to 127.0.0.1:9")
                .then_some(line);
        }
        let retry_line = retry_line.expect("a line about the network");
        assert!(retry_line.contains("trying again in"), "{retry_line}");
        child.kill().expect("kill");
        child.wait().expect("end");
    }
}

#[test]
fn kaggle_auth_login_is_enough_to_prepare() {
    let world = World::harbour(&wide_harbour(0), Vec::new());
    let login = format!(
        "{{\"refresh_token\": \"{}\", \"access_token\": \"\", \"access_token_expiration\": \"\", \"username\": \"somebody\"}}",
        prep_fault_server::REFRESH_TOKEN
    );
    let path = world.sandbox.write("home/.kaggle/credentials.json", login);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("mode");
    let run = ["run", "--skip-verification", "-c", Harbour::ID];
    let ended = world
        .run_command(&mut world.command_without_credentials(&run))
        .code(0);
    ended.stderr_has(&["Kaggle credentials: ", "credentials.json"]);
    let text = fs::read_to_string(path).expect("the file");
    assert!(text.contains(prep_fault_server::ACCESS_TOKEN), "{text}");
}

fn checks(ended: &crate::support::CommandResult) -> Vec<(String, String)> {
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let checks = json["checks"].as_array().expect("a list").clone();
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    checks
        .iter()
        .map(|one| (text(&one["check"]), text(&one["state"])))
        .collect()
}

#[test]
fn doctor_checks_the_requirements_of_a_run() {
    let world = World::harbour(&wide_harbour(0), Vec::new());
    let ended = world
        .prep(&["doctor", Harbour::ID, "--json", "--memory", "4GB"])
        .code(0);
    let names = [
        "credentials",
        "endpoint",
        "kaggle",
        "clock",
        "rules",
        "cache",
        "data",
        "links",
        "bundles",
        "disk",
        "open files",
        "memory",
        "remote",
    ];
    let expected: Vec<_> = names
        .map(|name| (name.to_owned(), "ok".to_owned()))
        .to_vec();
    assert_eq!(checks(&ended), expected, "{}", ended.stdout);
    assert_eq!(world.sandbox.names_in_home(Harbour::ID), [""; 0]);
    let ended = world.prep(&["doctor", "--memory", "4GB"]).code(0);
    ended.stdout_has(&[
        "accepts the credentials of somebody",
        "hard links",
        "not configured",
    ]);
}

#[test]
fn doctor_reports_problems_with_help() {
    let refused = Bundle::new(Harbour::ID, wide_harbour(0)).without_consent();
    let world = World::new(vec![refused], Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let state = |ended: &crate::support::CommandResult, name: &str| {
        let checks = checks(ended);
        let found = checks.iter().find(|(check, _)| check == name);
        found.map(|(_, state)| state.clone())
    };
    let ended = world.prep(&["doctor", Harbour::ID, "--json"]).code(4);
    assert_eq!(state(&ended, "rules").as_deref(), Some("error"));
    let mut command = world.command_without_credentials(&["doctor", "--json"]);
    let ended = world.run_command(&mut command).code(4);
    assert_eq!(state(&ended, "credentials").as_deref(), Some("error"));
    assert_eq!(state(&ended, "kaggle"), None);
    let mut command = world.command_without_credentials(&["doctor"]);
    command.env("KAGGLE_API_TOKEN", "wrong");
    let ended = world.run_command(&mut command).code(4);
    ended.stdout_has(&[
        "does not accept the credentials of KAGGLE_API_TOKEN (401)",
        "kaggle: replace the credentials of KAGGLE_API_TOKEN",
    ]);
    let mut command = world.command(&["doctor", "--json"]);
    command.env("KAGGLE_API_ENDPOINT", "http://127.0.0.1:9");
    let ended = world.run_command(&mut command).code(7);
    assert_eq!(state(&ended, "kaggle").as_deref(), Some("error"));
    let requests = world.requests();
    let ended = world
        .prep(&[
            "doctor",
            Harbour::ID,
            "--json",
            "--offline",
            "--memory",
            "1GB",
        ])
        .code(0);
    assert_eq!(world.requests(), requests);
    assert_eq!(state(&ended, "memory").as_deref(), Some("warning"));
    world.sandbox.write("data", "a file");
    let ended = world.prep(&["doctor", "--offline", "--json"]).code(6);
    assert_eq!(state(&ended, "data").as_deref(), Some("error"));
    fs::remove_file(world.sandbox.data()).expect("the file");
    let remote = ["doctor", "--offline", "--remote", "ftp://host/x"];
    world.prep(&remote).code(2).stdout_has(&["remote", "error"]);
}

/// Without a missing bundle, a run needs no credentials.
#[test]
fn doctor_requires_credentials_only_for_missing_bundles() {
    let world = World::harbour(&wide_harbour(0), Vec::new());
    let doctor = ["doctor", Harbour::ID, "--source", "source"];
    let doctor = || world.run_command(&mut world.command_without_credentials(&doctor));
    doctor()
        .code(4)
        .stdout_has(&["0 of 1 found, 1 must be downloaded"]);
    world.sandbox.bundle(Harbour::ID, &wide_harbour(0));
    doctor().code(0).stdout_has(&["warning", "1 of 1 found\n"]);
    world.sandbox.bundle(Harbour::ID, b"not an archive");
    doctor()
        .code(4)
        .stdout_has(&["error       1 of 1 found; the bundle source/harbour.zip: "]);
    // A plan does not read bundles, but opens them.
    let planned = world.prep(&["plan", Harbour::ID, "--source", "source"]);
    let failed = "it failed: source/harbour.zip: got text, 14 B, expected a zip archive";
    let unusable = "harbour: the bundle cannot be used: source/harbour.zip: got text, 14 B";
    planned.code(4).stdout_has(&[unusable, failed]);
}

/// Kaggle lists file sizes even for accounts that have not accepted the rules.
#[test]
fn plan_shows_sizes_without_accepted_rules() {
    let files = ["train.csv", "other.bin"].map(|path| MemberFile {
        path: path.to_owned(),
        bytes: vec![0; 600].into(),
        zipped: Vec::new().into(),
    });
    let refused = Bundle::new(Harbour::ID, wide_harbour(0)).without_consent();
    let world = World::new(vec![refused.with_files(files.to_vec())], Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let plan = world
        .prep(&["plan", "-c", Harbour::ID, "--json"])
        .code(4)
        .json();
    let download = &plan["competitions"][0]["download"];
    assert_eq!(download["bytes"], 1200, "{download}");
    let error = download["error"]["message"].as_str().expect("an error");
    assert!(error.contains("rules of harbour"), "{error}");
    assert_eq!(world.server.sent(), 0);
}
