//! Tests of packs: adding, using the ids `PACK/ID`, and removing.

mod hostile;

use std::fs;
use std::path::PathBuf;

use crate::support::{Archive, CommandResult, Harbour, Sandbox, names_in};

const PACKS: &str = "home/.local/share/prep/packs";

const HEAD: &str = "name: lab\nversion: 2026.1\nupstream: { repository: https://example.org/lab, commit: abc }\n\
                    licences: { pack: MIT, upstream: MIT }\n";
const COMPETITIONS: &str = "sets: { small: [harbour] }\n\
                            competitions:\n  harbour: { launched: 2024-01-01, closed: 2024-03-01, rules: https://www.kaggle.com/c/harbour/rules }\n  \
                            Quay: {}\n";

/// Writes a pack of two competitions, and returns its directory.
fn write_pack(sandbox: &Sandbox) -> PathBuf {
    let text = format!("{HEAD}{COMPETITIONS}");
    let path = sandbox.write("lab/pack.yaml", text);
    for id in ["harbour", "Quay"] {
        sandbox.write(&format!("lab/{id}/pipeline.yaml"), Harbour::PIPELINE);
        sandbox.write(
            &format!("lab/{id}/leaderboard.csv"),
            "score\n0.9\n0.8\n0.5\n",
        );
        sandbox.write(
            &format!("lab/{id}/description.md"),
            "# Ships\n\nPredict which ships dock.\n",
        );
    }
    sandbox.bundle("harbour", &Harbour::bundle(&Harbour::table()));
    sandbox.bundle("Quay", &Harbour::bundle(&Harbour::table()));
    path.parent().expect("a parent").to_owned()
}

/// Returns a sandbox in which the pack is installed.
#[track_caller]
fn with_pack() -> Sandbox {
    let sandbox = Sandbox::new();
    write_pack(&sandbox);
    sandbox
        .prep(&["pack", "add", "lab"])
        .code(0)
        .stdout_has(&["added lab 2026.1: 2 competitions"]);
    sandbox
}

fn ids(ended: &CommandResult) -> Vec<String> {
    let json = ended.json();
    let all = json["competitions"].as_array().expect("competitions");
    all.iter()
        .map(|one| one["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn competitions_of_a_pack_are_used_by_pack_and_id() {
    let sandbox = with_pack();
    let list = sandbox
        .prep(&["list", "lab/harbour", "--json"])
        .code(0)
        .competition();
    assert_eq!(
        (&list["launched"], &list["closed"]),
        (&"2024-01-01".into(), &"2024-03-01".into())
    );
    assert_eq!(list["sets"][0], "lab/small");
    let all = ids(&sandbox.prep(&["list", "--json"]).code(0));
    assert_eq!(all.len(), 84);
    assert!(all.contains(&"lab/Quay".to_owned()));
    for (selection, expected) in [
        (&["--set", "lab"][..], &["lab/Quay", "lab/harbour"][..]),
        (&["--set", "lab/small"], &["lab/harbour"]),
        (&["--closed-after", "2024-02-29"], &["lab/harbour"]),
        (&["--set", "lab", "--closed-after", "2024-03-01"], &[]),
        (
            &["-c", "mle-bench/spaceship-titanic"],
            &["spaceship-titanic"],
        ),
    ] {
        let listed = sandbox
            .prep(&[&["list", "--json"], selection].concat())
            .code(0);
        assert_eq!(ids(&listed), expected, "{selection:?}");
    }
    assert_eq!(
        ids(&sandbox.prep(&["list", "--json", "--set", "mle-bench"])).len(),
        82
    );
    assert_eq!(ids(&sandbox.prep(&["list", "--json", "--all"])).len(), 82);

    let steps = sandbox.run_and_count_steps("lab/harbour");
    assert!(steps > 3, "{steps}");
    assert_eq!(sandbox.run_and_count_steps("lab/harbour"), 0);
    let prepared = sandbox.path("data/lab/harbour/prepared");
    assert!(
        prepared.join("public/train.csv").is_file() && prepared.join("private/test.csv").is_file()
    );
    assert_eq!(sandbox.state("lab/harbour"), "prepared v1");
    assert_eq!(sandbox.state("lab/Quay"), "not prepared");
    let lock = fs::read_to_string(sandbox.path("data/prep.lock")).expect("prep.lock");
    assert!(lock.contains("\nlab/harbour v1 public sha256:"), "{lock}");
    let locked = [
        "run",
        "--locked",
        "--skip-verification",
        "--source",
        "source",
        "lab/harbour",
    ];
    sandbox.prep(&locked).code(0);
    let answers = prepared.join("private/test.csv").display().to_string();
    let graded = sandbox
        .prep(&["grade", "lab/harbour", &answers, "--json"])
        .code(0);
    assert_eq!(graded.competition()["score"], 1.0);
    assert_eq!(graded.competition()["id"], "lab/harbour");
    sandbox.prep(&["validate", "lab/harbour", &answers]).code(0);
    for (verb, code) in [
        // The bundle of another competition of the set is missing.
        (&["plan", "--set", "lab"][..], 4),
        (&["plan", "lab/harbour"], 0),
        (&["digest", "lab/harbour"], 0),
    ] {
        sandbox.prep(verb).code(code).stdout_has(&["lab/harbour"]);
    }
    for verb in [
        &["why", "lab/harbour"][..],
        &["audit", "lab/harbour"],
        &["cache", "log", "lab/harbour"],
        &["pipeline", "show", "lab/harbour", "train"],
        &["cache", "verify", "--rerun", "lab/harbour"],
        &["diff", "lab/harbour", "data", "data"],
    ] {
        sandbox.prep(verb).code(0);
    }
    let page = sandbox.path("page.html");
    sandbox.prep(&["report", "-o", "page.html"]).code(0);
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("lab/harbour") && page.contains("2024-01-01 to 2024-03-01"));

    sandbox.prep(&["remove", "lab/harbour", "--yes"]).code(0);
    assert!(!prepared.exists());
    sandbox.prep(&["pack", "remove", "lab"]).code(0);
    sandbox
        .prep(&["run", "lab/harbour"])
        .code(2)
        .stderr_has(&["there is no pack `lab`"]);
    assert_eq!(names_in(&sandbox.path(PACKS)), [""; 0]);
}

#[test]
fn results_of_a_pack_are_shared_by_a_remote() {
    let sandbox = with_pack();
    sandbox.prep(&["remote", "key", "new", "k"]).code(0);
    let shown = sandbox
        .prep(&["remote", "key", "list", "--json"])
        .code(0)
        .json();
    let key = shown["keys"][0]["public"]
        .as_str()
        .expect("a key")
        .to_owned();
    let text = format!(
        "[remote]\nurl = \"file://{}\"\nkey = \"k\"\nmirror = true\n\
                        trusted = [{{ key = \"{key}\", competitions = [\"lab/harbour\"] }}]\n",
        sandbox.path("remote").display()
    );
    sandbox.write("home/.config/prep/prep.toml", text);
    fs::create_dir(sandbox.path("remote")).expect("a directory");
    sandbox.run_and_count_steps("lab/harbour");
    sandbox.prep(&["remote", "push", "lab/harbour"]).code(0);
    fs::remove_dir_all(sandbox.data()).expect("removed");
    fs::remove_dir_all(sandbox.store()).expect("removed");
    fs::remove_dir_all(sandbox.source()).expect("removed");
    let pulled = sandbox.prep(&["remote", "pull", "lab/harbour", "--skip-verification"]);
    pulled.code(0);
    assert!(
        sandbox
            .path("data/lab/harbour/prepared/private/test.csv")
            .is_file()
    );
}

#[test]
fn a_pack_may_be_an_archive_with_a_directory_around_it() {
    for (prefix, name) in [("", "lab.zip"), ("lab-2026.1/", "LAB.ZIP")] {
        let sandbox = Sandbox::new();
        let directory = write_pack(&sandbox);
        let mut archive = Archive::new().file(&format!("{prefix}.git/config"), "ignored");
        for inner in ["pack.yaml", "harbour/pipeline.yaml", "Quay/pipeline.yaml"] {
            let content = fs::read(directory.join(inner)).expect("a file");
            archive = archive.file(&format!("{prefix}{inner}"), content);
        }
        sandbox.write(name, archive.bytes());
        let add = |digest: &str| sandbox.prep(&["pack", "add", &format!("{name}@sha256:{digest}")]);
        let wrong = add(&"0".repeat(64)).code(5);
        let (_, found) = wrong.stderr.split_once("has the SHA-256 ").expect(name);
        add(&found[..64]).code(0);
        assert_eq!(names_in(&sandbox.path(PACKS)), ["lab"]);
        assert_eq!(
            names_in(&sandbox.path(&format!("{PACKS}/lab"))),
            ["Quay", "harbour", "pack.yaml"]
        );
        let listed = sandbox.prep(&["pack", "list", "--json"]).code(0).json();
        assert_eq!(listed["packs"][0]["pack"]["version"], "2026.1");
    }
}

#[test]
fn a_valid_pack_replaces_the_installed_one() {
    let sandbox = with_pack();
    let installed = sandbox.path(PACKS);
    let version = || {
        let listed = sandbox.prep(&["pack", "list", "--json"]).code(0).json();
        listed["packs"][0]["pack"]["version"].clone()
    };
    let pack = fs::read_to_string(sandbox.path("lab/pack.yaml")).expect("a file");
    sandbox.write("lab/pack.yaml", pack.replace("2026.1", "2026.2"));
    let refused = sandbox.prep(&["pack", "add", "lab"]).code(2);
    refused.stderr_has(&["--replace installs the pack"]);
    // A pack in a directory is checked without being installed.
    let checked = ["pack", "check", "./lab", "--source", "source"];
    let checked = sandbox.prep(&checked).code(0);
    checked.stdout_has(&["lab/harbour"]);
    assert_eq!(version(), "2026.1");
    sandbox.prep(&["pack", "add", "--replace", "lab"]).code(0);
    assert_eq!(version(), "2026.2");
    sandbox.write("lab/harbour/pipeline.yaml", "name: Harbour\n");
    sandbox.prep(&["pack", "add", "--replace", "lab"]).code(3);
    sandbox.prep(&["pack", "check", "./lab"]).code(3);
    let wrong = Harbour::PIPELINE.replace("EXCLUDE (docked)", "EXCLUDE (doked)");
    sandbox.write("lab/harbour/pipeline.yaml", wrong);
    sandbox
        .prep(&["pack", "add", "--replace", "lab"])
        .code(3)
        .stderr_has(&[
            "lab/harbour/pipeline.yaml:11:",
            "there is no column `doked`",
        ]);
    sandbox.prep(&["pack", "check", "./lab"]).code(3);
    assert_eq!(version(), "2026.2");
    assert_eq!(names_in(&installed), ["lab"]);
    sandbox.run_and_count_steps("lab/harbour");
}

#[test]
fn source_directories_are_installed_with_the_pack() {
    let sandbox = Sandbox::new();
    write_pack(&sandbox);
    let text = Harbour::PIPELINE
        .replace("tables:\n", "sources:\n  notes: { folder: ../shared }\ntables:\n  flags: { read: notes:flags.csv, columns: { id: integer, flag: text } }\n")
        .replace("public:\n", "public:\n  flags.csv: SELECT * FROM flags\n");
    sandbox.write("lab/harbour/pipeline.yaml", text);
    sandbox.write("lab/shared/flags.csv", "id,flag\n1,a\n");
    sandbox.prep(&["pack", "add", "lab"]).code(0);
    fs::remove_dir_all(sandbox.path("lab")).expect("removed");
    sandbox.run_and_count_steps("lab/harbour");
    let flags = sandbox.path("data/lab/harbour/prepared/public/flags.csv");
    assert_eq!(fs::read_to_string(flags).expect("a file"), "id,flag\n1,a\n");
}

#[test]
fn requests_that_cannot_be_fulfilled_change_nothing() {
    let sandbox = with_pack();
    let installed = sandbox.path(PACKS);
    for (arguments, code, message) in [
        (&["pack", "add", "lab"][..], 2, "already installed"),
        (&["pack", "remove", "lb"], 2, "did you mean `lab`?"),
        (&["pack", "remove", "../lab"], 2, "there is no pack"),
        (&["pack", "check", "lb"], 2, "did you mean `lab`?"),
        (&["pack", "remove", "mle-bench"], 2, "is built in"),
        (&["pack", "check", "./source"], 4, "pack.yaml"),
        (&["pack", "add", "nowhere"], 4, "does not exist"),
        (&["pack", "add", "nowhere.zip"], 4, "nowhere.zip"),
        (
            &["pack", "add", "https://example.org/p.zip"],
            2,
            "needs the SHA-256",
        ),
        (&["list", "--set", "lab/smal"], 2, "did you mean `small`?"),
        (&["list", "--set", "lb"], 2, "did you mean `lab`?"),
        (&["run", "lab/harbor"], 2, "did you mean `lab/harbour`?"),
        (
            &["run", "lab/../lab/harbour"],
            2,
            "no competition `../lab/harbour`",
        ),
        (&["list", "--closed-after", "soon"], 2, "2026-01-31"),
    ] {
        sandbox.prep(arguments).code(code).stderr_has(&[message]);
        assert_eq!(names_in(&installed), ["lab"], "{arguments:?}");
    }
    // A competition of the user must not use the data directory of a pack.
    sandbox.pipeline("LAB", Harbour::PIPELINE);
    sandbox
        .prep(&["list"])
        .code(2)
        .stderr_has(&["has the name of an installed pack"]);
}

#[test]
fn one_of_several_processes_adds_a_pack() {
    let sandbox = Sandbox::new();
    write_pack(&sandbox);
    let children: Vec<_> = (0..6)
        .map(|_| {
            sandbox
                .command(&["pack", "add", "lab"])
                .spawn()
                .expect("a process")
        })
        .collect();
    let ended = children
        .into_iter()
        .map(|child| CommandResult::from(child.wait_with_output().expect("ended")));
    let ended: Vec<CommandResult> = ended.collect();
    let codes: Vec<Option<i32>> = ended.iter().map(|one| one.code).collect();
    assert_eq!(
        codes.iter().filter(|code| **code == Some(0)).count(),
        1,
        "{ended:#?}"
    );
    assert!(
        codes.iter().all(|code| matches!(code, Some(0 | 2))),
        "{ended:#?}"
    );
    assert_eq!(names_in(&sandbox.path(PACKS)), ["lab"]);
    sandbox.run_and_count_steps("lab/harbour");
}

#[test]
fn a_damaged_pack_does_not_affect_other_competitions() {
    let sandbox = with_pack();
    sandbox.write(&format!("{PACKS}/lab/pack.yaml"), "nme: lab\n");
    sandbox.prep(&["list", "spaceship-titanic"]).code(0);
    sandbox
        .prep(&["run", "lab/harbour"])
        .code(3)
        .stderr_has(&["pack.yaml"]);
    sandbox.prep(&["list", "--set", "lab"]).code(3);
    sandbox
        .prep(&["pack", "list"])
        .code(3)
        .stdout_has(&["cannot be used"]);
    sandbox.prep(&["pack", "remove", "lab"]).code(0);
    assert_eq!(names_in(&sandbox.path(PACKS)), [""; 0]);
}

#[test]
fn pack_check_shows_the_warnings_of_a_run() {
    let sandbox = Sandbox::new();
    write_pack(&sandbox);
    let leaky = Harbour::PIPELINE
        .replace("SELECT * EXCLUDE (docked) FROM test", "SELECT * FROM test")
        .replace("    - align: id\n", "")
        .replace("grade:\n", "accepted:\n  column2: why\n\ngrade:\n");
    sandbox.write("lab/harbour/pipeline.yaml", leaky);
    let check = |more: &[&str]| {
        let arguments = ["pack", "check", "./lab", "harbour", "--source", "source"];
        sandbox.prep(&[&arguments[..], more].concat())
    };
    let expected = [
        "[published-answers]; leave the column out, for example with `* EXCLUDE (docked)`",
        "[unknown-detector]; did you mean `column`?",
        "rows are paired by position",
    ];
    check(&[])
        .code(5)
        .stdout_has(&["3 warnings"])
        .stderr_has(&expected);
    let found = check(&["--json"]).code(5).json();
    let warnings = found["competitions"][0]["warnings"].to_string();
    for part in expected {
        assert!(warnings.contains(part), "{warnings}");
    }
    sandbox
        .prep(&["pack", "check", "source"])
        .code(4)
        .stderr_has(&["source/pack.yaml"]);
}

#[test]
fn pack_check_prepares_twice_and_compares_with_pack_lock() {
    let sandbox = Sandbox::new();
    write_pack(&sandbox);
    fs::remove_file(sandbox.path("source/Quay.zip")).expect("removed");
    // The pipeline publishes the answers as test file, and accepts this leak.
    let leaky = Harbour::PIPELINE
        .replace("SELECT * EXCLUDE (docked) FROM test", "SELECT * FROM test")
        .replace(
            "grade:\n",
            "accepted:\n  published-answers: test.csv has the answers\n  column: test.csv has the answers\n  \
             not-reproducible: the script draws without a seed\n\ngrade:\n",
        );
    sandbox.write("lab/harbour/pipeline.yaml", leaky);
    sandbox.prep(&["pack", "add", "lab"]).code(0);
    let check = |more: &[&str]| {
        let arguments = ["pack", "check", "lab", "--source", "source"];
        sandbox.prep(&[&arguments[..], more].concat())
    };
    let found = check(&["--json"]).code(0).json();
    let (quay, harbour) = (&found["competitions"][0], &found["competitions"][1]);
    assert_eq!(
        (&quay["id"], &quay["bundle"]),
        (&"lab/Quay".into(), &serde_json::Value::Null)
    );
    assert_eq!(harbour["is_reproducible"], true);
    assert_eq!(harbour["is_sample_valid"], true);
    assert_eq!(harbour["lock"]["is_equal"], serde_json::Value::Null);
    assert!(!sandbox.data().exists());

    sandbox.prep(&["remote", "key", "new", "k"]).code(0);
    check(&["harbour", "--write", "lab/pack.lock"])
        .code(0)
        .stderr_has(&["wrote lab/pack.lock, signed by ed25519:"])
        .stdout_has(&["equal, signed"]);
    let lock = fs::read_to_string(sandbox.path("lab/pack.lock")).expect("a lock");
    assert!(
        lock.contains("\nharbour v1 answers sha256:") && !lock.contains("Quay"),
        "{lock}"
    );
    sandbox.run_and_count_steps("lab/harbour");
    let digest = sandbox
        .prep(&["digest", "lab/harbour", "--json"])
        .code(0)
        .competition();
    let public = digest["public"]["sha256"].as_str().expect("a digest");
    assert!(lock.contains(public), "{lock}");
    sandbox.bundle("Quay", &Harbour::bundle(&Harbour::table()));
    check(&["Quay", "--write", "lab/pack.lock"]).code(0);
    let lock = fs::read_to_string(sandbox.path("lab/pack.lock")).expect("a lock");
    assert!(lock.contains("\nQuay v1 ") && lock.contains("\nharbour v1 "));
    fs::remove_file(sandbox.path("source/Quay.zip")).expect("removed");
    let install = |lock: &str| {
        sandbox.write(&format!("{PACKS}/lab/pack.lock"), lock);
    };
    install(&lock);
    check(&["harbour"]).code(0).stdout_has(&["equal, signed"]);
    fs::remove_file(sandbox.path("home/.config/prep/keys/k.key")).expect("removed");
    check(&["harbour"])
        .code(0)
        .stdout_has(&["equal, signed by an unknown key"]);
    let signature = lock.lines().last().expect("a signature");
    let key = signature.split(' ').nth(2).expect("a key");
    sandbox.write(
        "home/.config/prep/prep.toml",
        format!("[remote]\ntrusted = [{key:?}]\n"),
    );
    check(&["lab/harbour"])
        .code(0)
        .stdout_has(&["equal, signed"]);
    let unsigned: String = lock
        .lines()
        .filter(|line| !line.starts_with("# signed"))
        .map(|line| format!("{line}\n"))
        .collect();
    // The file can be written before the competitions are prepared.
    let early = check(&["harbour", "--write", "missing/pack.lock"]).code(6);
    let early = early.stderr_has(&["check that the directory exists and that you may write to it"]);
    assert!(!early.stderr.contains("prepared twice"), "{}", early.stderr);
    install(&unsigned.replace(public, &"0".repeat(64)));
    check(&["harbour"])
        .code(5)
        .stdout_has(&["differs, not signed"])
        .stderr_has(&[
            "lab/harbour: differs from pack.lock (`--write FILE` accepts the new data): public",
        ]);
    install(&lock.replace(public, &"0".repeat(64)));
    check(&["harbour"])
        .code(5)
        .stderr_has(&["its signature is not valid"]);
    install(&lock);
    let table = check(&["--markdown"]).code(0).stdout;
    assert!(table.contains("| lab/harbour | test.csv has the answers | the script draws without a seed | - | equal | equal, signed |"), "{table}");
    assert!(
        table.contains("| lab/Quay | - | - | - | bundle: missing | - |"),
        "{table}"
    );

    sandbox.bundle("Quay", b"not a zip");
    let both = check(&["--json"]);
    assert_eq!(both.code, Some(4));
    let both = both.json();
    assert!(
        both["competitions"][0]["failure"]["message"].is_string()
            && both["competitions"][1]["is_reproducible"] == true
    );
    check(&["harbor"])
        .code(2)
        .stderr_has(&["did you mean `lab/harbour`?"]);
    sandbox
        .prep(&["pack", "check", "lb"])
        .code(2)
        .stderr_has(&["did you mean `lab`?"]);
}

#[test]
fn mle_dojo_reads_an_export() {
    let sandbox = with_pack();
    sandbox.write(
        &format!("{PACKS}/lab/harbour/public_leaderboard.csv"),
        "score\n0.95\n0.5\n",
    );
    sandbox.run_and_count_steps("lab/harbour");
    let export = |more: &[&str]| {
        let arguments = ["export", "lab/harbour", "--layout", "dojo"];
        sandbox.prep(&[&arguments[..], more].concat())
    };
    export(&["-o", "all", "--private"]).code(0);
    let home = sandbox.path("all/harbour");
    let read = |path: &str| {
        fs::read_to_string(home.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let prepared = sandbox.prepared("lab/harbour");
    let ours = |path: &str| fs::read_to_string(prepared.join(path)).expect("a file");
    assert_eq!(
        read("data/private/test_answer.csv"),
        ours("private/test.csv")
    );
    assert_eq!(
        read("data/public/sample_submission.csv"),
        ours("public/sample_submission.csv")
    );
    for place in ["data/public/description.txt", "info/description.txt"] {
        assert_eq!(read(place), ours("public/description.md"));
    }
    for place in ["data/private", "info"] {
        assert_eq!(
            read(&format!("{place}/private_leaderboard.csv")),
            "rank,score\n1,0.9\n2,0.8\n3,0.5\n"
        );
        assert_eq!(
            read(&format!("{place}/public_leaderboard.csv")),
            "rank,score\n1,0.95\n2,0.5\n"
        );
    }
    assert_eq!(
        names_in(&home.join("data/public")),
        [
            "description.txt",
            "sample_submission.csv",
            "test.csv",
            "train.csv"
        ]
    );
    assert_eq!(names_in(&home), ["data", "info", "manifest.json"]);
    for path in ["info", "data/private"].map(|place| format!("{place}/private_leaderboard.csv")) {
        assert!(read("manifest.json").contains(&path), "{path}");
    }
    export(&["-o", "public"]).code(0);
    assert_eq!(names_in(&sandbox.path("public/harbour/data")), ["public"]);
    export(&["-o", "all.tar", "--private"]).code(0);
    sandbox
        .prep(&["export", "lab/harbour", "-o", "plain"])
        .code(0);
    assert_eq!(
        names_in(&sandbox.path("plain/lab/harbour/prepared")),
        ["public"]
    );
}
