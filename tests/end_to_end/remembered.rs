//! Later commands use the options with which a directory was prepared.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use crate::support::{CommandResult, Harbour, Sandbox};

fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let other = format!("bundle: {{ kaggle: harbour, md5: {} }}", "0".repeat(32));
    let text = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", &other);
    sandbox.pipeline(Harbour::ID, &text);
    sandbox
}

fn run(sandbox: &Sandbox, more: &[&str]) -> CommandResult {
    sandbox.prep(&[&["run", Harbour::ID, "--no-download", "--json"], more].concat())
}

#[test]
fn a_bundle_of_the_last_run_is_not_downloaded_again() {
    let sandbox = world();
    let skip = ["--source", "source", "--skip-bundle-verification"];
    run(&sandbox, &skip).code(0);
    let list = ["fetch", "--list", Harbour::ID, "--no-download", "--json"];
    let listed = sandbox.prep(&list).code(0).competition();
    let bundle = sandbox.source().join("harbour.zip").display().to_string();
    assert_eq!(listed["bundle"], json!(bundle));
    let last = format!(
        "as last time: --source={} --skip-bundle-verification",
        sandbox.source().display()
    );
    let fetched = sandbox.prep(&["fetch", Harbour::ID]).code(0);
    fetched.stdout_has(&[&bundle]).stderr_has(&[&last]);
    let fetch = ["fetch", Harbour::ID, "--skip-bundle-verification"];
    sandbox.prep(&fetch).code(0).stdout_has(&[&bundle]);
    // Before it downloads several bundles, `fetch` checks which ones are missing. It searches the same directories.
    sandbox.pipeline("quay", &Harbour::PIPELINE.replace("harbour", "quay"));
    sandbox.pipeline("pier", &Harbour::PIPELINE.replace("harbour", "pier"));
    let several = sandbox.prep(&[&fetch[..], &["quay", "pier"]].concat());
    several
        .code(4)
        .stderr_has(&["2 bundles", "missing: quay, pier"]);
}

#[test]
fn options_of_the_last_run_are_used_again() {
    let sandbox = world();
    run(&sandbox, &["--source", "source"])
        .code(5)
        .stderr_has(&["--skip-bundle-verification"]);
    let skip = ["--source", "source", "--skip-bundle-verification"];
    let first = run(&sandbox, &skip).code(0);
    // The help does not offer results of a bundle without the published checksum.
    let new = run(&sandbox, &["--data-dir", "new"]).code(4);
    assert!(!new.stderr.contains("--from-cache"), "{}", new.stderr);
    assert!(!first.stderr.contains("as last time"), "{}", first.stderr);
    assert_eq!(first.competition()["as_last_time"], Value::Null);
    for is_deleted in [false, true] {
        if is_deleted {
            fs::remove_file(sandbox.source().join("harbour.zip")).expect("removed");
        }
        let line = format!(
            "as last time: --source={} --skip-bundle-verification",
            sandbox.source().display()
        );
        let again = run(&sandbox, &[]).code(0).stderr_has(&[&line]);
        assert_eq!(again.stderr.matches("as last time").count(), 1);
        assert_eq!(again.competition()["state"], "up_to_date");
        let names = json!(["source", "skip_bundle_verification"]);
        assert_eq!(again.competition()["as_last_time"], names);
        let plan = sandbox
            .prep(&["plan", Harbour::ID, "--no-download"])
            .code(0);
        plan.stderr_has(&[&line])
            .stdout_has(&["harbour: up to date"]);
        let why = sandbox
            .prep(&["why", Harbour::ID])
            .code(0)
            .stderr_has(&[&line]);
        assert!(
            !why.stdout.contains("missing") && !why.stdout.contains("may run"),
            "{why:?}"
        );
        let why = sandbox.prep(&["why", Harbour::ID, "--json"]).code(0);
        assert_eq!(why.competition()["as_last_time"], names);
    }
    // An option on the command line has precedence over the option of the last run.
    run(&sandbox, &["--skip-verification=no"])
        .code(4)
        .stderr_has(&["no bundle"]);
    Harbour::install(&sandbox);
    let other = format!("bundle: {{ kaggle: harbour, md5: {} }}", "0".repeat(32));
    let text = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", &other);
    sandbox.pipeline(Harbour::ID, &text);
    for off in ["--skip-verification=no", "--skip-bundle-verification=no"] {
        run(&sandbox, &[off]).code(5).stderr_has(&["published MD5"]);
    }
    run(&sandbox, &["--forget-options"])
        .code(4)
        .stderr_has(&["no bundle"]);
    run(&sandbox, &[]).code(0);
}

/// `prep why` names the file that the failed run read.
#[test]
fn a_rejected_bundle_is_the_reason_to_run() {
    let sandbox = world();
    let source = ["--source", "source"];
    let why = |more: &[&str]| sandbox.prep(&[&["why", Harbour::ID, "bundle"], more].concat());
    why(&source)
        .code(0)
        .stdout_has(&["would run: not read yet"]);
    run(&sandbox, &source).code(5);
    why(&source).code(0).stdout_has(&[
        "would run: it failed: ",
        "has MD5",
        "the published MD5 is 0000",
    ]);
    let plan = [&["plan", Harbour::ID, "--no-download"], &source[..]].concat();
    sandbox.prep(&plan).code(5).stdout_has(&["it failed: "]);
    // The bundle is now another file, which no run has read yet.
    sandbox.bundle(Harbour::ID, &Harbour::bundle("id\n1\n"));
    why(&source).code(0).stdout_has(&["not read yet"]);
}

/// An audit and a search for leaks use the bundle of the last run.
#[test]
fn the_source_of_the_last_run_is_audited() {
    let sandbox = world();
    let skip = ["--source", "source", "--skip-bundle-verification"];
    run(&sandbox, &skip).code(0);
    let audit = sandbox.prep(&["audit", Harbour::ID, "--json"]).code(5);
    let cause = &audit.competition()["bundle"]["report"]["blocks"][0]["kind"];
    assert_eq!(*cause, "bundle-other-md5");
    let leaks = sandbox.prep(&["leaks", Harbour::ID, "--json"]);
    assert_eq!(leaks.competition()["bundle"], true);
    let empty = ["audit", Harbour::ID, "--json", "--source", "data"];
    let empty = sandbox.prep(&empty);
    assert_eq!(empty.competition()["bundle"], Value::Null);
}

/// An option keeps its value until the user gives another one.
#[test]
fn each_option_is_remembered_and_can_be_turned_off() {
    let archive = "public:\n  a.zip: { zip: { train.csv: SELECT * FROM train } }\n";
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("public:\n", archive),
    );
    sandbox.write("texts/harbour.md", "# Mine\n");
    let public = sandbox.prepared(Harbour::ID).join("public");
    let links = || {
        fs::metadata(public.join("train.csv"))
            .expect("a file")
            .nlink()
    };
    let description = || fs::read_to_string(public.join("description.md")).expect("a text");
    let given = [
        "--source",
        "source",
        "--expand-archives",
        "--link-mode",
        "copy",
        "--descriptions",
        "texts",
    ];
    let is_as_given = || public.join("a").is_dir() && links() == 1 && description() == "# Mine\n";
    run(&sandbox, &given).code(0);
    assert!(is_as_given());
    let again = run(&sandbox, &[]).code(0);
    assert_eq!(again.competition()["state"], "up_to_date");
    assert_eq!(
        again.competition()["as_last_time"],
        json!(["source", "expand_archives", "link_mode", "descriptions"])
    );
    assert!(is_as_given());
    run(&sandbox, &["--expand-archives=no"]).code(0);
    assert!(!public.join("a").exists() && links() == 1);
    let last = run(&sandbox, &[]).code(0).competition();
    assert_eq!(
        last["as_last_time"],
        json!(["source", "link_mode", "descriptions"])
    );
    run(&sandbox, &["--forget-options", "--source", "source"]).code(0);
    assert_ne!(description(), "# Mine\n");
    let last = run(&sandbox, &[]).code(0).competition();
    assert_eq!(last["as_last_time"], json!(["source"]));
}

/// `prep.toml` and variables configure verification, and have precedence over the last run.
#[test]
fn settings_turn_verification_off() {
    let sandbox = world();
    sandbox.write(
        "prep.toml",
        "source = 'source'\nskip_bundle_verification = true\n",
    );
    run(&sandbox, &[]).code(0);
    let config = sandbox.prep(&["config", "--json"]).code(0).json();
    let settings = config["settings"].as_array().expect("settings");
    let setting = |name: &str| {
        settings
            .iter()
            .find(|one| one["name"] == name)
            .expect("there")
    };
    let found = setting("skip_bundle_verification");
    assert_eq!(found["value"], "yes");
    let from = found["from"].as_str().expect("an origin");
    assert!(from.ends_with("/prep.toml:2"), "{from}");
    assert_eq!(setting("skip_verification")["from"], "default");
    run(&sandbox, &["--skip-bundle-verification=no"]).code(5);
    // The last run did not verify, but the setting requires verification.
    sandbox.write(
        "prep.toml",
        "source = 'source'\nskip_bundle_verification = false\n",
    );
    run(&sandbox, &[]).code(5);
    let mut command = sandbox.command(&["run", Harbour::ID, "--no-download"]);
    CommandResult::of(command.env("PREP_SKIP_VERIFICATION", "yes")).code(0);
    let mut command = sandbox.command(&["run", Harbour::ID]);
    CommandResult::of(command.env("PREP_SKIP_VERIFICATION", "perhaps"))
        .code(2)
        .stderr_has(&["PREP_SKIP_VERIFICATION is `perhaps`: expected yes or no"]);
}

/// After a failed run, `list` shows the error, and later commands use the run's directory of bundles.
/// A complete run removes the record of the failure.
#[test]
fn a_failed_run_is_recorded() {
    let sandbox = world();
    let reason = || {
        let list = ["list", Harbour::ID, "--json"];
        let row = sandbox.prep(&list).code(0).competition();
        row["reasons"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let audit = || sandbox.prep(&["audit", Harbour::ID, "--json"]);
    audit().code(4);
    let source = ["--source", "source"];
    run(&sandbox, &source).code(5).stderr_has(&[
        "`prep audit harbour --source source` explains the difference; or --skip-bundle-verification",
    ]);
    let failure = "the last run failed: bundle: source/harbour.zip has MD5 ";
    assert!(reason().starts_with(failure), "{}", reason());
    assert_eq!(sandbox.state(Harbour::ID), "not prepared");
    let cause = &audit().code(5).competition()["bundle"]["report"]["blocks"][0]["kind"];
    assert_eq!(*cause, "bundle-other-md5");
    let last = format!("as last time: --source={}", sandbox.source().display());
    run(&sandbox, &[]).code(5).stderr_has(&[&last]);
    // `prep remove` also removes the record of the failure.
    sandbox.prep(&["remove", "--yes", Harbour::ID]).code(0);
    assert_eq!(reason(), "");
    run(&sandbox, &[]).code(4);

    run(&sandbox, &source).code(5);
    run(&sandbox, &["--skip-bundle-verification"]).code(0);
    assert_eq!(reason(), "");
    // The data and the options of the last complete run stay.
    run(&sandbox, &["--skip-bundle-verification=no"]).code(5);
    assert!(reason().contains("the last run failed: "), "{}", reason());
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    let again = run(&sandbox, &[]).code(0).competition();
    let names = json!(["source", "skip_bundle_verification"]);
    assert_eq!(again["as_last_time"], names);
    assert_eq!(reason(), "");
    // Another variant takes only the directory of bundles from the record.
    let fixed = run(&sandbox, &["--variant", "fixed"]).code(5).competition();
    assert_eq!(fixed["as_last_time"], json!(["source"]));
}
