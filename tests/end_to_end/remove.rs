//! Tests of `prep remove`, which removes prepared data, bundles and cached results.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Gallery, Harbour, Sandbox, names_in, skipped};

#[test]
fn removing_a_competition_keeps_others() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(20, 1).bytes());
    sandbox.run_all(&[Harbour::ID, Gallery::ID]).code(0);
    let other = sandbox.tree(Gallery::ID);
    let before = sandbox.tree(Harbour::ID);
    let planned = sandbox.prep(&["remove", Harbour::ID, "--dry-run", "--json"]);
    let planned = planned.code(0).json();
    assert!(planned["cache"]["objects"].as_u64() > Some(0), "{planned}");
    // Without a terminal, the command cannot ask for confirmation.
    sandbox
        .prep(&["remove", Harbour::ID])
        .code(1)
        .stderr_has(&["nothing was removed", "--yes"]);
    assert_eq!(sandbox.tree(Harbour::ID), before);
    sandbox.prep(&["remove", Harbour::ID, "--yes"]).code(0);
    assert_eq!(names_in(&sandbox.data().join(Harbour::ID)), [""; 0]);
    assert_eq!(sandbox.state(Harbour::ID), "not prepared");
    assert_eq!(sandbox.tree(Gallery::ID), other);
    sandbox.prep(&["cache", "verify"]).code(0);
    assert!(sandbox.run_and_count_steps(Harbour::ID) > 0);
    assert_eq!(sandbox.run_and_count_steps(Gallery::ID), 0);
}

/// Two data directories share one cache. The history of each run states its data directory.
#[test]
fn removing_from_a_data_directory_keeps_the_history_of_another() {
    let sandbox = Harbour::prepared();
    let other = ["--data-dir", "other"];
    let run = [
        "run",
        Harbour::ID,
        "--source",
        "source",
        "--skip-verification",
    ];
    sandbox.prep(&[&run[..], &other].concat()).code(0);
    fs::remove_dir_all(sandbox.source()).expect("removed");
    let stay = "stay, because other competitions or data directories use them";
    for option in ["--dry-run", "--yes"] {
        let remove = ["remove", Harbour::ID, option];
        sandbox
            .prep(&remove)
            .code(0)
            .stdout_has(&["\n0 cached results", stay]);
    }
    let run = ["run", Harbour::ID, "--no-download", "--json"];
    let report = sandbox.prep(&[&run[..], &other].concat()).code(0).json();
    assert_eq!(report["competitions"][0]["steps_run"], 0, "{report}");
    let remove = ["remove", Harbour::ID, "--yes"];
    let removed = sandbox.prep(&[&remove[..], &other].concat()).code(0);
    let kept = ["stay", "\n0 cached results"].map(|text| removed.stdout.contains(text));
    assert_eq!(kept, [false; 2], "{removed:?}");
}

/// Returns the sum of the lengths of all files below the directories. Counts a file with several hard links once.
fn bytes_on_disk(directories: &[PathBuf]) -> u64 {
    let mut files = BTreeMap::new();
    let mut unvisited = directories.to_vec();
    while let Some(directory) = unvisited.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let (path, metadata) = entry
                .map(|entry| (entry.path(), entry.metadata().unwrap()))
                .unwrap();
            match metadata.is_dir() {
                true => unvisited.push(path),
                false => drop(files.insert(metadata.ino(), metadata.len())),
            }
        }
    }
    files.values().sum()
}

/// Published tables are hard links to objects of the cache, so removing only one of the two names frees no bytes.
#[test]
fn freed_bytes_are_those_of_files_without_further_links() {
    for options in [&["--keep-cache"][..], &[]] {
        let sandbox = Harbour::prepared();
        let places = [
            sandbox.data().join(Harbour::ID),
            sandbox.store().join("objects-v1"),
        ];
        let before = bytes_on_disk(&places);
        let freed = |last: &str| {
            let remove = [&["remove", Harbour::ID, "--json", last], options].concat();
            let report = sandbox.prep(&remove).code(0).json();
            let bytes = |value: &Value| value.as_u64().unwrap();
            let files = &report["competitions"][0];
            assert!(
                files["prepared"]["freed_bytes"] != files["prepared"]["bytes"]
                    || options.is_empty()
            );
            bytes(&files["prepared"]["freed_bytes"])
                + bytes(&files["bundle"]["freed_bytes"])
                + report["cache"].get("freed_bytes").map_or(0, bytes)
        };
        let planned = freed("--dry-run");
        if options == ["--keep-cache"] {
            let list = ["list", Harbour::ID, "--long", "--json"];
            let row = sandbox.prep(&list).code(0).competition();
            assert_eq!(row["disk"]["prepared"]["freed_bytes"], planned, "{row}");
        }
        assert_eq!(bytes_on_disk(&places), before);
        assert_eq!(freed("--yes"), planned, "{options:?}");
        assert_eq!(before - bytes_on_disk(&places), planned, "{options:?}");
    }
}

#[test]
fn remove_all_lists_only_competitions_with_data() {
    let sandbox = Harbour::prepared();
    let removed = sandbox.prep(&["remove", "--all", "--yes"]).code(0);
    assert!(removed.stdout.contains("harbour"), "{removed:?}");
    assert_eq!(removed.stdout.lines().count(), 3, "{removed:?}");
}

/// The command asks only on a terminal.
#[test]
fn answering_no_is_not_an_error() {
    let sandbox = Harbour::prepared();
    let program = env!("CARGO_BIN_EXE_prep");
    let mut script = sandbox.command(&[]);
    let environment = script
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)));
    let environment: Vec<_> = environment.collect();
    script = std::process::Command::new("script");
    script.current_dir(sandbox.path("")).args([
        "-qec",
        &format!("{program} remove {} --color never", Harbour::ID),
        "/dev/null",
    ]);
    for (name, value) in environment {
        script.env(name, value.unwrap_or_default());
    }
    script.stdin(std::process::Stdio::piped());
    script.stdout(std::process::Stdio::piped());
    let Ok(mut running) = script.spawn() else {
        return skipped("the program `script` is missing");
    };
    running.stdin.take().unwrap().write_all(b"n\n").unwrap();
    let ended = running.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(1), "{shown}");
    assert!(shown.contains("nothing was removed"), "{shown}");
    assert!(
        !shown.contains("error") && !shown.contains("--yes"),
        "{shown}"
    );
    assert_ne!(sandbox.state(Harbour::ID), "not prepared");
}

#[test]
fn one_variant_can_be_removed() {
    let sandbox = Harbour::prepared();
    let run = [
        "run",
        Harbour::ID,
        "--source",
        "source",
        "--variant",
        "fixed",
    ];
    sandbox.prep(&run).code(0);
    let before = sandbox.tree(Harbour::ID);
    let remove = ["remove", Harbour::ID, "--yes"];
    let planned = sandbox.prep(&["remove", Harbour::ID, "--dry-run"]).code(0);
    planned.stdout_has(&["harbour      v1 fixed"]);
    let removed = [&remove[..], &["--variant", "fixed"]].concat();
    sandbox
        .prep(&removed)
        .code(0)
        .stdout_has(&["harbour      fixed  "]);
    assert!(!sandbox.path("data/fixed/harbour").exists());
    assert_eq!(sandbox.tree(Harbour::ID), before);
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0);
}

#[test]
fn a_dry_run_removes_nothing_even_with_yes() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let remove = ["remove", Harbour::ID, "--dry-run", "--yes"];
    sandbox.prep(&remove).code(0).stdout_has(&[Harbour::ID]);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}

#[test]
fn files_of_other_programs_stay_until_their_removal_is_requested() {
    let sandbox = Harbour::prepared();
    let home = sandbox.data().join(Harbour::ID);
    for path in ["agent/model.py", "public/notes.txt"] {
        sandbox.write(&format!("data/harbour/prepared/{path}"), "mine");
    }
    // A killed process left this file.
    sandbox.write("data/harbour/.prep-publish-left", "");
    for option in ["--dry-run", "--yes"] {
        let ended = sandbox.prep(&["remove", Harbour::ID, "--json", option]);
        ended.code(0).stderr_has(&[
            "stay in the prepared directory: agent/, public/notes.txt",
            "--remove-unpublished",
        ]);
    }
    assert_eq!(names_in(&home), ["prepared"]);
    assert_eq!(names_in(&home.join("prepared")), ["agent", "public"]);
    assert_eq!(names_in(&home.join("prepared/public")), ["notes.txt"]);
    let remove = ["remove", Harbour::ID, "--yes", "--remove-unpublished"];
    sandbox.prep(&remove).code(0);
    assert!(!home.exists());
}

/// Removing a link does not remove the data of the other data directory.
#[test]
fn linked_data_stay() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    fs::create_dir(sandbox.path("other")).unwrap();
    std::os::unix::fs::symlink("../data/harbour", sandbox.path("other/harbour")).unwrap();
    let remove = ["remove", Harbour::ID, "--yes", "--data-dir", "other"];
    sandbox.prep(&remove).code(0);
    assert_eq!(names_in(&sandbox.path("other")), [""; 0]);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}
