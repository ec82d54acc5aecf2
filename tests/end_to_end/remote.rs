//! Tests of machines that share a remote, here a directory (`file://`).
//! `engine/extras/remote/tests` covers other storage and faults, `tests/cluster` real servers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{CommandResult, Gallery, Harbour, Sandbox};
use crate::{held, nested};

const BOTH: [&str; 2] = [Harbour::ID, Gallery::ID];

/// A remote, and machines with separate directories.
pub struct Lab {
    remote: tempfile::TempDir,
}

impl Lab {
    pub fn new() -> Lab {
        Lab {
            remote: crate::temporary::directory(),
        }
    }

    fn url(&self) -> String {
        format!("file://{}", self.remote.path().display())
    }

    /// Returns a machine and its own key. The machine has pipelines and trusts the keys `trusted`.
    pub fn machine(&self, trusted: &[&str], more: &str) -> (Sandbox, String) {
        let sandbox = Sandbox::new();
        sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
        sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
        let key = sandbox
            .prep(&["remote", "key", "new", "own"])
            .code(0)
            .stdout;
        let (url, key) = (self.url(), key.trim().to_owned());
        let config = format!("[remote]\nurl = {url:?}\ntrusted = {trusted:?}\n{more}");
        sandbox.write("home/.config/prep/prep.toml", config);
        (sandbox, key)
    }

    /// Returns a machine and its own key. The machine has prepared both competitions and uploaded their bundles.
    fn first(&self) -> (Sandbox, String) {
        let (one, key) = self.machine(&[], "mirror = true\n");
        one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
        one.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
        let ended = one.run_all(&BOTH).code(0);
        assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
        (one, key)
    }

    fn files(&self, below: &str) -> Vec<PathBuf> {
        let mut open = vec![self.remote.path().join(below)];
        let mut files = Vec::new();
        while let Some(path) = open.pop() {
            match path.is_dir() {
                true => open.extend(fs::read_dir(path).unwrap().map(|one| one.unwrap().path())),
                false => files.push(path),
            }
        }
        files.sort();
        files
    }
}

fn pull(sandbox: &Sandbox) -> CommandResult {
    sandbox.prep(&["remote", "pull", "--skip-verification", "--json"])
}

fn ran(ended: &CommandResult) -> Vec<String> {
    let report = ended.json();
    let timings = report["timings"].as_array().expect("timings");
    let mut kinds: Vec<String> = timings
        .iter()
        .map(|one| one["kind"].as_str().expect("a kind").to_owned())
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

fn assert_same_trees(one: &Sandbox, two: &Sandbox) {
    for id in BOTH {
        assert_eq!(one.tree(id).contents(), two.tree(id).contents(), "{id}");
    }
}

#[test]
fn second_machine_uses_results_of_the_first() {
    let lab = Lab::new();
    let (one, key) = lab.first();
    let (two, _) = lab.machine(&[&key], "");
    let ended = pull(&two).code(0);
    let kinds = ran(&ended);
    assert!(
        kinds
            .iter()
            .all(|kind| ["bundle", "check", "trial", "publish"].contains(&kind.as_str())),
        "{kinds:?}"
    );
    assert!(
        kinds.contains(&"check".to_owned()),
        "the second machine runs checks itself"
    );
    assert_same_trees(&one, &two);
    two.prep(&["cache", "verify"]).code(0);
    // The machine sends no further request to the remote, and garbage collection loses nothing.
    fs::rename(lab.remote.path().join("v1"), lab.remote.path().join("away")).unwrap();
    assert_eq!(ran(&pull_again(&two)), Vec::<String>::new());
    two.prep(&["cache", "gc"]).code(0);
    assert_eq!(ran(&pull_again(&two)), Vec::<String>::new());
}

#[test]
fn answers_of_sealed_competitions_are_sent_only_on_request() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    one.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
    let mut run = one.run_command(&BOTH);
    CommandResult::of(run.arg("--no-remote")).code(0);
    let key = one.prep(&["seal", "--new-identity", "grader.txt"]).code(0);
    one.prep(&["seal", Harbour::ID, "--for", key.stdout.trim()])
        .code(0);
    let push = ["remote", "push", "--json", "--skip-verification"];
    let sent = |ended: &CommandResult| {
        let all = ended.json()["competitions"].clone();
        let all = all.as_array().expect("competitions").iter();
        let ids = all.filter(|one| one.get("error").is_none());
        ids.map(|one| one["id"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };
    let ended = one.prep(&push).code(4);
    let ended = ended.stderr_has(&["the answers of harbour are sealed", "--unseal"]);
    assert_eq!(sent(&ended), [Gallery::ID]);
    one.prep(&[&push[..], &[Harbour::ID]].concat()).code(4);
    let ended = one.prep(&[&push[..], &["--unseal", Harbour::ID]].concat());
    assert_eq!(sent(&ended.code(0)), [Harbour::ID]);
}

/// A remote may have the bundles, so a machine that uses a remote may need no credentials of Kaggle.
#[test]
fn doctor_only_warns_about_credentials_if_a_remote_answers() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    let state = |more: &[&str]| {
        let found = one.prep(&[&["doctor", "--json"], more].concat()).json();
        let mut checks = found["checks"].as_array().expect("checks").iter();
        let check = checks.find(|check| check["check"] == "credentials");
        check.expect("credentials")["state"].clone()
    };
    assert_eq!(state(&[]), "warning");
    assert_eq!(state(&["--no-remote"]), "error");
}

/// The error must name the reason why the remote has no usable results. It must not be about the missing bundle, which
/// nobody requested.
#[test]
fn a_pull_of_something_unknown_names_the_remote() {
    let lab = Lab::new();
    let (one, key) = lab.machine(&[], "mirror = true\n");
    let pull = [
        "remote",
        "pull",
        "--json",
        "--skip-verification",
        Harbour::ID,
    ];
    let last = |ended: CommandResult| {
        let error = ended.code(4).json()["error"].clone();
        [&error["message"], &error["help"]].map(|text| text.as_str().expect("text").to_owned())
    };
    let [message, help] = last(one.prep(&pull));
    assert_eq!(
        message,
        format!("the remote {} has no results of harbour", lab.url())
    );
    assert!(help.contains("prep remote push harbour"), "{help}");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    one.run_and_count_steps(Harbour::ID);
    let (two, _) = lab.machine(&[], "");
    let ended = two.prep(&pull);
    let ended = ended.stderr_has(&["not trusted"]);
    let [message, help] = last(ended);
    assert!(
        message.ends_with("has no results of harbour that you trust"),
        "{message}"
    );
    assert!(help.contains("trusted"), "{help}");
    // Results of a trusted key are still rejected if their bundle does not have the published checksum.
    let pipeline = Harbour::PIPELINE.replace(
        "bundle: {",
        "bundle: { md5: 0123456789abcdef0123456789abcdef,",
    );
    let (four, _) = lab.machine(&[&key], "");
    four.pipeline(Harbour::ID, &pipeline);
    let [message, help] = last(four.prep(&["remote", "pull", "--json", Harbour::ID]));
    assert!(
        message.contains("does not have the published checksum"),
        "{message}"
    );
    assert!(help.contains("--skip-verification"), "{help}");
    // Each reason is reported, and the other competitions are pulled.
    for machine in [&one, &four] {
        machine.pipeline("quay", Harbour::PIPELINE);
    }
    one.bundle("quay", &Harbour::bundle(&Harbour::table()));
    one.run_and_count_steps("quay");
    let all = ["remote", "pull", "--json", Harbour::ID, Gallery::ID];
    four.prep(&all).code(4).stderr_has(&[
        "has results of harbour, but their bundle does not have the published checksum",
    ]);
    let ended = four.prep(&[&all[..], &["quay"]].concat()).code(4);
    let ended = ended.stderr_has(&["has results of harbour, but", "has no results of gallery\n"]);
    assert_eq!(ended.competition()["id"], "quay");
    let (three, _) = lab.machine(&[&key], "");
    let ended = three.prep(&[&pull[..], &[Gallery::ID]].concat()).code(4);
    let ended = ended.stderr_has(&["has no results of gallery\n"]);
    assert_eq!(ended.competition()["id"], Harbour::ID);
    let failed = &ended.json()["competitions"][1];
    assert_eq!(
        (&failed["id"], &failed["error"]["code"]),
        (&json!(Gallery::ID), &json!(4))
    );
    // A pull does not continue without the remote, so it prints only an error.
    let mut unreachable = three.command(&["remote", "pull", Harbour::ID]);
    unreachable.args(["--remote", "http://127.0.0.1:9/team"]);
    let ended = CommandResult::of(&mut unreachable).code(7);
    assert_eq!(
        ended.stderr.matches("cannot be reached").count(),
        1,
        "{}",
        ended.stderr
    );
}

/// The results of images are members of the bundle, so another machine needs the bundle.
#[test]
fn a_pull_without_a_mirrored_bundle_names_the_mirror() {
    let lab = Lab::new();
    let (one, key) = lab.machine(&[], "");
    one.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
    one.run_and_count_steps(Gallery::ID);
    let (two, _) = lab.machine(&[&key], "");
    let pull = ["remote", "pull", "--skip-verification", Gallery::ID];
    two.prep(&pull).code(4).stderr_has(&[
        &format!(
            "the mirror of {} lacks the bundle, and no bundle: looked for",
            lab.url()
        ),
        "help: set `mirror = true` in `[remote]` of prep.toml on a machine that has the bundle",
    ]);
}

#[test]
fn a_pull_with_a_damaged_mirror_names_the_repair() {
    let lab = Lab::new();
    let (one, key) = lab.machine(&[], "mirror = true\n");
    one.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
    one.run_and_count_steps(Gallery::ID);
    for path in lab.files("private/v1/bundles") {
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(path, bytes.iter().map(|byte| byte ^ 1).collect::<Vec<u8>>()).unwrap();
    }
    let (two, _) = lab.machine(&[&key], "");
    let pull = ["remote", "pull", "--skip-verification", Gallery::ID];
    let ended = two.prep(&pull).code(4);
    let ended = ended.stderr_has(&["warning: the bundle ", "is damaged, so it is not used"]);
    let error = ended.stderr.split("error: ").last().unwrap();
    for part in [
        "has a damaged copy of the bundle",
        "prep remote push --replace",
    ] {
        assert!(error.contains(part), "{}", ended.stderr);
    }
    let push = ["remote", "push", "--skip-verification", "--replace"];
    one.prep(&push).code(0);
    two.prep(&pull).code(0);
}

/// The record of a bundle states that the mirror has the bundle. Somebody may have deleted it since.
#[test]
fn a_bundle_that_was_deleted_from_the_mirror_is_sent_again() {
    let lab = Lab::new();
    let (one, key) = lab.first();
    let push = ["remote", "push", "--skip-verification", Gallery::ID];
    let fetch = [
        "fetch",
        "--skip-bundle-verification",
        "--source",
        "source",
        Gallery::ID,
    ];
    let all = lab.files("private/v1/bundles");
    let (two, _) = lab.machine(&[&key], "");
    let plan = ["plan", "--skip-verification", "--no-download", Gallery::ID];
    let shown = two.prep(&plan).stdout_has(&["is in the mirror"]);
    assert!(!shown.stderr.contains("unknown size"), "{}", shown.stderr);
    for command in [&push[..], &fetch] {
        for deleted in &all {
            fs::remove_file(deleted).unwrap();
        }
        let shown = two.prep(&plan).stdout;
        assert!(!shown.contains("is in the mirror"), "{shown}");
        one.prep(command).code(0);
        let gallery = lab.files("private/v1/bundles");
        assert_eq!(gallery.len(), 2, "the bundle and its hashes: {gallery:?}");
        one.prep(&["remote", "push", "--skip-verification"]).code(0);
        assert_eq!(lab.files("private/v1/bundles"), all);
    }
    let pull = ["remote", "pull", "--skip-verification", Gallery::ID];
    two.prep(&pull).code(0);
    // The help names a command that sends a bundle that this machine does not have.
    for deleted in all {
        fs::remove_file(deleted).unwrap();
    }
    fs::remove_dir_all(one.path("source")).unwrap();
    let ended = one.prep(&push).code(0);
    ended.stderr_has(&["to download and send it, run `prep fetch gallery`"]);
}

#[test]
fn a_push_leaves_out_competitions_that_are_not_prepared() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    one.bundle(Gallery::ID, &Gallery::archive(5, 1).bytes());
    one.run_and_count_steps(Gallery::ID);
    let push = [
        "remote",
        "push",
        "--skip-verification",
        "--json",
        Harbour::ID,
    ];
    let error = ["error: competition `harbour` is not prepared"];
    let ended = one.prep(&[&push[..], &[Gallery::ID]].concat()).code(4);
    let ended = ended.stderr_has(&error);
    assert_eq!(ended.competition()["id"], Gallery::ID);
    one.prep(&push).code(4).stderr_has(&error);
    // A prepared competition whose pipeline has a mistake.
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    one.run_and_count_steps(Harbour::ID);
    one.pipeline(Harbour::ID, "tables: 1");
    let ended = one.prep(&[&push[..], &[Gallery::ID]].concat()).code(3);
    assert_eq!(ended.competition()["id"], Gallery::ID);
    one.prep(&[&push[..], &["nowhere"]].concat()).code(2);
}

/// One machine records the restart points of a deflated archive, and all other machines use them.
#[test]
fn nested_archive_is_read_from_the_mirror() {
    let lab = Lab::new();
    let (one, key) = lab.machine(&[], "mirror = true\n");
    one.pipeline(nested::ID, &nested::pipeline(""));
    let photos = nested::photos(0..nested::PHOTOS);
    one.bundle(nested::ID, &nested::bundle(photos).bytes());
    one.run_and_count_steps(nested::ID);
    let (two, _) = lab.machine(&[&key], "");
    two.pipeline(nested::ID, &nested::pipeline(""));
    let pull = [
        "remote",
        "pull",
        "--skip-verification",
        "--json",
        nested::ID,
    ];
    let kinds = ran(&two.prep(&pull).code(0));
    assert!(!kinds.contains(&"unpack".to_owned()), "{kinds:?}");
    let trees = [&one, &two].map(|machine| machine.tree(nested::ID));
    assert_eq!(trees[0].contents(), trees[1].contents());
}

fn pull_again(sandbox: &Sandbox) -> CommandResult {
    let run = [
        "run",
        "--json",
        "--skip-verification",
        "--no-download",
        "--no-remote",
    ];
    let all = run.into_iter().chain(BOTH);
    sandbox.prep(&all.collect::<Vec<_>>()).code(0)
}

#[test]
fn machine_without_results_prepares_from_the_mirror() {
    let lab = Lab::new();
    let (one, key) = lab.first();
    fs::remove_dir_all(lab.remote.path().join("v1/ledger")).unwrap();
    let (two, _) = lab.machine(&[&key], "");
    let run = ["run", "--json", "--skip-verification", "--no-download"];
    let all: Vec<&str> = run.into_iter().chain(BOTH).collect();
    let ended = two.prep(&all).code(0);
    assert!(
        ran(&ended).contains(&"unpack".to_owned()),
        "{:?}",
        ran(&ended)
    );
    assert_same_trees(&one, &two);
    for id in BOTH {
        assert!(!two.data().join(id).join(format!("{id}.zip")).exists());
    }
    // This machine also offers its results to other machines.
    assert!(!lab.files("v1/ledger").is_empty());
}

#[test]
fn untrusted_and_unsigned_results_are_not_used() {
    let lab = Lab::new();
    let (_, key) = lab.first();
    let (two, _) = lab.machine(&[], "");
    let ended = pull(&two);
    assert_ne!(ended.code, Some(0));
    // The warning shows the line for prep.toml.
    let line = format!("trusted = [{key:?}]");
    assert!(ended.stderr.contains(&line), "{}", ended.stderr);
    assert_eq!(
        ended.stderr.matches("which is not trusted").count(),
        1,
        "{}",
        ended.stderr
    );
    for path in lab.files("v1/ledger") {
        fs::write(path, "{\"outputs\": {}}").unwrap();
    }
    two.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let ended = two.run(Harbour::ID).code(0);
    assert_eq!(
        ended.stderr.matches("it is not signed").count(),
        1,
        "{}",
        ended.stderr
    );
}

#[test]
fn damaged_remote_object_is_computed_again_and_replaced() {
    let lab = Lab::new();
    let (one, key) = lab.first();
    let damage = || {
        for path in lab
            .files("private/v1/objects")
            .into_iter()
            .chain(lab.files("v1/objects"))
        {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::remove_file(&path).unwrap();
            fs::write(path, bytes).unwrap();
        }
    };
    damage();
    let (two, _) = lab.machine(&[&key], "");
    let ended = pull(&two).stderr_has(&["is damaged"]);
    assert_ne!(ended.code, Some(0), "only the remote has the object");
    // The last error also names the damaged object and the repair.
    let error = ended.stderr.split("error: ").last().unwrap();
    for part in [
        "delivered no intact copy of the object ",
        "prep remote push --replace",
    ] {
        assert!(error.contains(part), "{}", ended.stderr);
    }
    // A machine that has the objects repairs the remote.
    let push = ["remote", "push", "--skip-verification"];
    one.prep(&push).code(0);
    let (three, _) = lab.machine(&[&key], "");
    assert_ne!(pull(&three).code, Some(0), "the remote has damaged objects");
    let again = one.prep(&[&push[..], &["--replace", "--json"]].concat());
    let counts = again.code(0).json()["competitions"].clone();
    for pushed in counts.as_array().unwrap() {
        assert!(pushed["new"].as_u64() > Some(0), "{counts}");
    }
    pull(&three).code(0);
    assert_same_trees(&one, &three);
    // A machine that computes the damaged objects again replaces them.
    damage();
    let run = ["run", "--json", "--skip-verification", "--no-download"];
    let all: Vec<&str> = run.into_iter().chain(BOTH).collect();
    two.prep(&all).code(0);
    assert_same_trees(&one, &two);
    two.prep(&["cache", "verify"]).code(0);
}

/// If the bundle is in the remote, no credentials of Kaggle are needed.
#[test]
fn doctor_reports_a_bundle_that_nobody_can_deliver() {
    let lab = Lab::new();
    let (two, _) = lab.machine(&[], "");
    let doctor = ["doctor", Harbour::ID];
    two.prep(&doctor)
        .code(4)
        .stdout_has(&["credentials  error", "remote       ok"]);
    let (_, key) = lab.first();
    let (three, _) = lab.machine(&[&key], "");
    let found = three.prep(&doctor).code(0);
    found.stdout_has(&["credentials  warning", "remote       ok"]);
}

#[test]
fn a_missing_directory_is_not_a_bucket() {
    let sandbox = Sandbox::new();
    let pull = ["remote", "pull", "--remote", "file:///nowhere/at/all"];
    let messages = [
        "file:///nowhere/at/all does not exist",
        "mount or create it",
    ];
    sandbox.prep(&pull).code(6).stderr_has(&messages);
}

#[test]
fn unreachable_remote_is_reported_once_and_the_run_continues() {
    let lab = Lab::new();
    let (sandbox, _) = lab.machine(&[], "");
    sandbox.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let mut command = sandbox.run_command(&[Harbour::ID]);
    command
        .args(["--remote", "s3://bucket/team"])
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .env("AWS_ACCESS_KEY_ID", "somebody")
        .env("AWS_SECRET_ACCESS_KEY", "verysecret");
    let ended = CommandResult::of(&mut command).code(0);
    assert_eq!(
        ended.stderr.matches("warning").count(),
        1,
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("cannot be reached"),
        "{}",
        ended.stderr
    );
    // Neither messages nor files contain the user and password of the remote's address.
    for text in [&ended.stdout, &ended.stderr] {
        assert!(!text.contains("verysecret") && !text.contains("somebody"));
    }
    assert_word_is_nowhere(&sandbox.store(), "verysecret");
    assert_word_is_nowhere(&sandbox.data(), "verysecret");
}

fn assert_word_is_nowhere(directory: &Path, word: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_word_is_nowhere(&path, word);
        } else {
            let bytes = fs::read(&path).unwrap();
            let held = bytes
                .windows(word.len())
                .any(|window| window == word.as_bytes());
            assert!(!held, "{}", path.display());
        }
    }
}

#[test]
fn push_uploads_results_that_the_run_did_not_upload() {
    let lab = Lab::new();
    let (one, key) = lab.machine(&[], "mirror = true\n");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    one.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
    let mut run = one.run_command(&BOTH);
    CommandResult::of(run.arg("--no-remote")).code(0);
    assert_eq!(lab.files(""), Vec::<PathBuf>::new());
    let push = |count: &str| {
        let push = [
            "remote",
            "push",
            "--skip-verification",
            "--source",
            "source",
            "--json",
        ];
        let report = one.prep(&push).code(0).json();
        let competitions = report["competitions"].as_array().unwrap();
        let sent = competitions.iter().map(|one| one[count].as_u64().unwrap());
        (sent.sum::<u64>(), report["bytes"].as_u64().unwrap())
    };
    let (new, bytes) = push("new");
    assert!(new > 5 && bytes > 0);
    assert_eq!(
        push("new"),
        (0, 0),
        "existing objects are not transferred again"
    );
    let (two, _) = lab.machine(&[&key], "");
    pull(&two).code(0);
    assert_same_trees(&one, &two);
}

/// The other machine has no bundle, so checks read the table from the remote.
#[test]
fn push_uploads_tables_that_were_kept_in_memory() {
    let lab = Lab::new();
    let (one, key) = lab.machine(&[], "mirror = true\n");
    one.bundle(Harbour::ID, &Harbour::bundle(&held::long_table()));
    one.bundle(Gallery::ID, &Gallery::archive(5, 1).bytes());
    let mut run = one.run_command(&BOTH);
    CommandResult::of(run.arg("--no-remote")).code(0);
    one.prep(&[
        "remote",
        "push",
        "--skip-verification",
        "--source",
        "source",
    ])
    .code(0);
    let (two, _) = lab.machine(&[&key], "");
    pull(&two).code(0);
    assert_same_trees(&one, &two);
}

/// Users who trust the first machine, and not the second one, can still pull.
#[test]
fn a_refused_push_or_run_leaves_the_record_of_the_remote_unchanged() {
    let lab = Lab::new();
    let machine = || {
        let (sandbox, key) = lab.machine(&[], "mirror = true\n");
        sandbox.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
        sandbox.run_and_count_steps(Harbour::ID);
        (sandbox, key)
    };
    let pull_with = |key: &str| {
        let pull = ["remote", "pull", "--skip-verification", Harbour::ID];
        lab.machine(&[key], "").0.prep(&pull)
    };
    let record = || fs::read(lab.remote.path().join("v1/sources").join(Harbour::ID)).unwrap();
    let (_one, key) = machine();
    let before = record();
    let (two, other) = machine();
    assert_eq!(record(), before, "a run replaced the record");
    let push = ["remote", "push", Harbour::ID, "--skip-verification"];
    two.prep(&push).code(5).stderr_has(&[
        "error: harbour: the remote has ",
        "that you do not trust (the first one: it is signed by ed25519:",
        "help: if you trust the owner of this key",
        "--replace replaces results and records",
    ]);
    assert_eq!(record(), before);
    pull_with(&key).code(0);
    // The results can be sent, but the record belongs to the first machine.
    fs::remove_dir_all(lab.remote.path().join("v1/ledger")).unwrap();
    two.prep(&push)
        .code(5)
        .stderr_has(&["the remote's record of the bundle is not replaced: it is signed by"]);
    assert_eq!(record(), before);
    two.prep(&[&push[..], &["--replace"]].concat()).code(0);
    pull_with(&other).code(0);
    pull_with(&key).code(4);
}

/// A `prep.toml` of the machine may name a key that only some users have.
#[test]
fn a_missing_key_only_prevents_sending() {
    let lab = Lab::new();
    let (one, key) = lab.first();
    let (two, _) = lab.machine(&[&key], "key = 'lab'\n");
    let missing = ["there is no key `lab`", "prep remote key new lab"];
    let listed = two.prep(&["config"]).code(0);
    listed.stdout_has(&["not usable: there is no key `lab`"]);
    let table = two.prep(&["doctor"]).code(0);
    table.stdout_has(&[
        "key          warning",
        missing[0],
        missing[1],
        "reachable; no key",
    ]);
    two.prep(&["plan", Harbour::ID]).code(0);
    pull(&two).code(0);
    assert_same_trees(&one, &two);
    two.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    two.run(Harbour::ID).code(0).stderr_has(&missing);
    two.prep(&["remote", "push"]).code(2).stderr_has(&missing);
}

#[test]
fn push_of_nothing_creates_no_cache() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    one.prep(&["remote", "push", Harbour::ID]);
    assert!(!one.store().exists());
}

#[test]
fn push_without_uploads_reports_the_reason() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let other = format!("bundle: {{ kaggle: harbour, md5: {} }}", "0".repeat(32));
    let published = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", &other);
    assert_ne!(published, Harbour::PIPELINE);
    one.pipeline(Harbour::ID, &published);
    let run = ["run", Harbour::ID, "--no-remote", "--skip-verification"];
    one.prep(&[&run[..], &["--source", "source"]].concat())
        .code(0);
    // The bundle of the competition is not the published one.
    one.prep(&["remote", "push", Harbour::ID, "--skip-verification=no"])
        .code(4)
        .stderr_has(&["harbour: this data directory has no results for these options"]);
    // The JSON names the error of each competition.
    one.pipeline("quay", Harbour::PIPELINE);
    one.bundle("quay", &Harbour::bundle(&Harbour::table()));
    one.prep(&[&run[..1], &["quay"], &run[2..], &["--source", "source"]].concat())
        .code(0);
    let push = ["remote", "push", "--json", "--skip-verification=no"];
    let ids = ["quay", Harbour::ID, Gallery::ID];
    let ended = one.prep(&[&push[..], &ids].concat()).code(4);
    let sent = ended.json()["competitions"].clone();
    let errors = ids.map(|id| {
        let mut all = sent.as_array().expect("competitions").iter();
        let one = all.find(|one| one["id"] == id).expect("the competition");
        one["error"]["code"].clone()
    });
    assert_eq!(errors, [Value::Null, 4.into(), 4.into()]);
    // With two keys, `prep` chooses neither.
    one.prep(&["remote", "key", "new", "another"]).code(0);
    one.prep(&["remote", "key", "new", "another"]).code(2);
    one.prep(&[
        "remote",
        "push",
        "--skip-verification",
        "--source",
        "source",
    ])
    .code(2)
    .stderr_has(&[
        "contains several keys, and the settings do not name the key that signs",
        "select one of several keys with `[remote] key`",
    ]);
}

/// Each task of a Slurm array runs one unit: a part of the selected competitions.
#[test]
fn units_cover_the_selection_exactly_once() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    one.bundle(Gallery::ID, &Gallery::archive(5, 1).bytes());
    let mut done = Vec::new();
    for task in ["7", "8"] {
        let mut command = one.run_command(&BOTH);
        command
            .args(["--unit", "2", "--no-remote"])
            .env("SLURM_ARRAY_TASK_ID", task)
            .env("SLURM_ARRAY_TASK_MIN", "7");
        let report = CommandResult::of(&mut command).code(0).json();
        let ids = report["competitions"].as_array().unwrap();
        assert_eq!(ids.len(), 1);
        done.push(ids[0]["id"].as_str().unwrap().to_owned());
    }
    done.sort();
    assert_eq!(done, [Gallery::ID, Harbour::ID]);
    let mut command = one.run_command(&BOTH);
    let ended = CommandResult::of(command.args(["--unit", "2"])).code(2);
    assert!(ended.stderr.contains("--unit I/2"), "{}", ended.stderr);
}

#[test]
fn scripts_and_manifests_contain_no_secrets() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "mirror = true\n");
    for kind in [&["slurm"][..], &["k8s", "--image", "r/prep:1"]] {
        let mut command = one.command(&["remote", "jobs"]);
        command
            .args(kind)
            .args(BOTH)
            .args([
                "--no-check",
                "--remote",
                "https://user:verysecret@host/p?sig=verysecret",
            ])
            .env("AWS_SECRET_ACCESS_KEY", "verysecret");
        let ended = CommandResult::of(&mut command).code(0);
        assert!(ended.stdout.contains(Harbour::ID) && ended.stdout.contains("https://host/p"));
        assert!(!ended.stdout.contains("verysecret"), "{}", ended.stdout);
        assert!(!ended.stderr.contains("verysecret"), "{}", ended.stderr);
    }
    let config = one.prep(&["config", "--json"]).code(0).json();
    let settings = config["settings"].as_array().unwrap();
    let url = settings
        .iter()
        .find(|one| one["name"] == "remote.url")
        .unwrap();
    assert!(
        url["from"].as_str().unwrap().ends_with("prep.toml:2"),
        "{url}"
    );
}

/// Jobs exchange bundles through the mirror and sign results with a key, so the command checks both first.
#[test]
fn jobs_need_a_mirror_and_a_key() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    let jobs = ["remote", "jobs", "slurm", Harbour::ID];
    one.prep(&jobs)
        .code(2)
        .stderr_has(&["no mirror", "mirror = true"]);
    one.prep(&[&jobs[..], &["--no-check"]].concat()).code(0);
    let (two, _) = lab.machine(&[], "mirror = true\n");
    two.prep(&jobs).code(0);
    fs::remove_dir_all(two.path("home/.config/prep/keys")).unwrap();
    two.prep(&jobs)
        .code(2)
        .stderr_has(&["no key", "prep remote key new"]);
}

/// Jobs start in another directory, perhaps without this shell's variables, so the script names absolute directories.
/// Pods see no directory of this machine.
#[test]
fn jobs_get_the_directories_of_pipelines_and_bundles() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "mirror = true\n");
    let given = ["--pipelines", "pipelines", "--source", "it's $(here)"];
    let jobs = |kind: &[&str], more: &[&str]| {
        let mut command = one.command(&["remote", "jobs"]);
        command.args(kind).args(["--set", "own"]).args(more);
        CommandResult::of(command.args(given).env_remove("PREP_PIPELINES"))
    };
    let script = jobs(&["slurm"], &["--data-dir", "data"]).code(0).stdout;
    // Replaces `sbatch` with a command that prints the job's script.
    let stub = one.write("bin/sbatch", "#!/bin/sh\ncat >&2\necho 7\n");
    fs::set_permissions(&stub, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", one.path("bin").display());
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &script]).env_clear().env("PATH", path);
    let submitted = String::from_utf8(shell.output().expect("bash").stderr).unwrap();
    let root = one.path("").canonicalize().unwrap();
    let root = root.display();
    let expected = format!(
        "--data-dir {root}/data --pipelines {root}/pipelines --source '{root}/it'\\''s $(here)' --cache-dir"
    );
    assert_eq!(submitted.matches(&expected).count(), 2, "{submitted}");
    for line in submitted.lines().filter(|line| line.contains(" --unit 2 ")) {
        let verb = line.split(' ').nth(1);
        assert!(matches!(verb, Some("fetch" | "run")), "{line}");
    }
    let k8s = ["k8s", "--image", "prep:1"];
    jobs(&k8s, &[])
        .code(2)
        .stderr_has(&["pods cannot read", "`pipelines = ", "--no-check"]);
    jobs(&k8s, &["--no-check"]).code(0);
    // Pods cannot read the remote of this machine either, because it is a directory.
    let remote = |more: &[&str]| {
        let jobs = [
            "remote",
            "jobs",
            "k8s",
            "--image",
            "prep:1",
            "spaceship-titanic",
        ];
        one.prep(&[&jobs[..], more].concat())
    };
    remote(&[])
        .code(2)
        .stderr_has(&["pods cannot read file://", "file:///data/remote"]);
    remote(&["--remote", "file:///data/remote"]).code(0);
    remote(&["--remote", "s3://bucket/team"]).code(0);
}

#[test]
fn slurm_script_has_partition_account_and_qos() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "mirror = true\n");
    let jobs = ["remote", "jobs", "slurm", Harbour::ID];
    let common = |script: &str| {
        let mut lines = script.lines();
        let line = lines.find(|line| line.starts_with("common=("));
        line.unwrap().to_owned()
    };
    let plain = common(&one.prep(&jobs).code(0).stdout);
    assert!(
        !plain.contains("--partition") && plain.ends_with(":00:00 --array)"),
        "{plain}"
    );
    let given = ["--partition", "gpu", "--account", "my lab", "--qos", "long"];
    let chosen = common(&one.prep(&[&jobs[..], &given].concat()).code(0).stdout);
    let expected = " --partition=gpu --account='my lab' --qos=long --array)";
    assert!(chosen.ends_with(expected), "{chosen}");
}

fn bad_source(sandbox: &Sandbox) -> &'static str {
    sandbox.write(&format!("bad/{}.zip", Harbour::ID), b"no zip");
    "bad"
}

/// The remote records the bundle of the results, not the bundle that was opened last.
#[test]
fn push_records_the_bundle_of_the_results() {
    let lab = Lab::new();
    let (one, key) = lab.machine(&[], "mirror = true\n");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let run = |source: Option<&str>| {
        let mut run = vec!["run", Harbour::ID, "--no-remote", "--no-download", "--json"];
        run.push("--skip-verification");
        run.extend(source.map(|_| "--source"));
        run.extend(source);
        one.prep(&run)
    };
    run(Some("source")).code(0);
    assert_ne!(run(Some(bad_source(&one))).code, Some(0));
    // The failed run does not affect the data, so without `--source` the competition is up to date.
    let ended = run(None).code(0);
    assert_eq!(ran(&ended), Vec::<String>::new());
    let push = [
        "remote",
        "push",
        Harbour::ID,
        "--skip-verification",
        "--json",
    ];
    let report = one.prep(&push).code(0).json();
    assert_eq!(
        report["competitions"][0]["not_here"],
        serde_json::Value::Null
    );
    let path = lab.remote.path().join("v1/sources").join(Harbour::ID);
    let record = fs::read_to_string(&path).unwrap();
    let bytes = Harbour::bundle(&Harbour::table()).len();
    assert!(record.contains(&format!("\"bytes\":{bytes},")), "{record}");
    let with_bundle = [&push[..], &["--source", "source"]].concat();
    one.prep(&with_bundle).code(0);
    let (two, _) = lab.machine(&[&key], "");
    two.prep(&["remote", "pull", Harbour::ID, "--skip-verification"])
        .code(0);
    assert_eq!(
        one.tree(Harbour::ID).contents(),
        two.tree(Harbour::ID).contents()
    );
}

/// A failed run does not record its bundle in the remote.
#[test]
fn failed_run_does_not_record_its_bundle() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "mirror = true\n");
    let run = |source: &str| {
        let run = [
            "run",
            Harbour::ID,
            "--skip-verification",
            "--no-download",
            "--source",
        ];
        one.prep(&[&run[..], &[source]].concat())
    };
    assert_ne!(run(bad_source(&one)).code, Some(0));
    assert!(!lab.remote.path().join("v1/sources").exists());
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    run("source").code(0);
    let [path] = &lab.files("v1/sources")[..] else {
        panic!("one record");
    };
    let record = fs::read(path).unwrap();
    assert_ne!(run("bad").code, Some(0));
    assert_eq!(fs::read(path).unwrap(), record);
}

/// `prep` rejects a `prep.toml` that other users can write to, so that these users cannot choose the remote.
#[test]
fn data_directory_writable_by_others_does_not_choose_the_remote() {
    use std::os::unix::fs::PermissionsExt;

    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let elsewhere = crate::temporary::directory();
    let text = format!(
        "[remote]\nurl = \"file://{}\"\n",
        elsewhere.path().display()
    );
    let path = one.write("data/prep.toml", text);
    let run = [
        "run",
        Harbour::ID,
        "--skip-verification",
        "--source",
        "source",
    ];
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    one.prep(&run)
        .code(2)
        .stderr_has(&["can be written by other users", "safe_data_dirs"]);
    assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
    // `prep` uses the file, with a message, if only its owner can write to the file.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ended = one.prep(&run).code(0);
    let set = format!("(set in {}:2)", path.display());
    assert_eq!(ended.stderr.matches(&set).count(), 1, "{}", ended.stderr);
}
