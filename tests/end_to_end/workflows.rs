//! Tests of the rules of `docs/workflows.md` with Make, and of prepared data under Snakemake and DVC.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use crate::support::{CommandResult, Harbour, Sandbox, skipped};

const PAGE: &str = include_str!("../../docs/workflows.md");

fn prepared() -> Sandbox {
    let sandbox = Harbour::prepared();
    let answers = fs::read(sandbox.prepared(Harbour::ID).join("private/test.csv"));
    sandbox.write("submissions/harbour.csv", answers.expect("answers"));
    sandbox
}

fn time(path: &Path) -> SystemTime {
    fs::metadata(path)
        .and_then(|found| found.modified())
        .expect("a time")
}

fn touch(path: &Path) {
    let file = File::open(path).expect("a file or directory");
    file.set_modified(SystemTime::now()).expect("a time");
}

#[track_caller]
fn score(sandbox: &Sandbox) {
    let grade = ["grade", Harbour::ID, "submissions/harbour.csv", "--json"];
    assert_eq!(sandbox.prep(&grade).code(0).competition()["score"], 1.0);
}

#[test]
fn the_record_has_the_time_of_the_last_run_that_found_the_data_current() {
    let sandbox = prepared();
    let bundle = sandbox.source().join("harbour.zip");
    let record = sandbox.data().join("harbour/prepared.json");
    for _ in 0..2 {
        touch(&bundle);
        assert!(time(&record) < time(&bundle));
        assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 1);
        assert!(
            time(&record) > time(&bundle),
            "a run that has nothing to do renews it"
        );
    }
    // `prep grade` records that the files in the touched directory are equal. This does not make the data more recent.
    let before = time(&record);
    touch(&sandbox.prepared(Harbour::ID).join("public"));
    score(&sandbox);
    assert_eq!(time(&record), before);
    // A failed run does not make the data more recent, even if it changed files.
    let wrong = Harbour::PIPELINE.replace(
        "disjoint: train.id and test.id",
        "disjoint: train.id and train.id",
    );
    sandbox.pipeline(Harbour::ID, &wrong);
    sandbox.run(Harbour::ID).code(5);
    assert_eq!(time(&record), before);
}

#[test]
fn a_failed_publication_keeps_the_time_of_the_record() {
    let sandbox = prepared();
    let record = sandbox.data().join("harbour/prepared.json");
    let before = time(&record);
    fs::remove_file(sandbox.prepared(Harbour::ID).join("public/train.csv")).expect("removed");
    // The user has a directory at the path of a file that the run must publish.
    sandbox.write("data/harbour/prepared/public/train.csv/x", "mine");
    sandbox.run(Harbour::ID).code(4);
    assert_eq!(time(&record), before);
}

/// Snakemake deletes the output directory before a rule, and writes a file into the directory afterwards.
#[test]
fn directories_that_snakemake_manages_are_graded_and_prepared_again() {
    let sandbox = prepared();
    let before = sandbox.tree(Harbour::ID);
    for _ in 0..2 {
        fs::remove_dir_all(sandbox.prepared(Harbour::ID)).expect("removed");
        assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 1);
        assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
        sandbox.write("data/harbour/prepared/.snakemake_timestamp", "");
        score(&sandbox);
    }
}

/// DVC deletes the output directory before a stage, moves the outputs to its cache, and links or copies them back.
#[test]
fn directories_that_dvc_manages_are_graded_and_prepared_again() {
    for link in [
        "ln -s $PWD/$s $f",
        "ln $s $f",
        "cp $s $f",
        "cp $s $f; chmod 644 $f",
    ] {
        let sandbox = prepared();
        let before = sandbox.tree(Harbour::ID);
        let line = format!(
            "mkdir -p dvc && find data/harbour/prepared -type f | while read f; do \
               s=dvc/$(md5sum < $f | cut -c -32); \
               [ $f -ef $s ] || {{ mv -f $f $s; chmod 444 $s; {link}; }}; done"
        );
        for _ in 0..2 {
            fs::remove_dir_all(sandbox.prepared(Harbour::ID)).expect("removed");
            assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 1, "{link}");
            let mut shell = Command::new("sh");
            let linked = shell
                .args(["-ec", &line])
                .current_dir(sandbox.path(""))
                .status();
            assert!(linked.expect("a shell").success());
            score(&sandbox);
            assert_eq!(sandbox.state(Harbour::ID), "prepared v1", "{link}");
            assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0, "{link}");
        }
        // A run replaces a link, and does not write to its target.
        let pipeline = Harbour::PIPELINE.replace("seed: 0", "seed: 1");
        sandbox.pipeline(Harbour::ID, &pipeline);
        sandbox.run_and_count_steps(Harbour::ID);
        assert_ne!(sandbox.tree(Harbour::ID).contents(), before.contents());
        let stored = fs::read_dir(sandbox.path("dvc")).expect("stored files");
        for file in stored {
            let path = file.expect("a file").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name");
            let content = fs::read(&path).expect("content");
            assert_eq!(crate::support::hex_md5(&content), name, "{link}");
        }
    }
}

/// Runs the rules of the page with Make.
#[test]
fn rules_of_the_page_work_with_make() {
    let rules = PAGE
        .split("```make\n")
        .nth(1)
        .and_then(|text| text.split("```").next());
    let rules = rules
        .expect("rules")
        .replace("spaceship-titanic tweet-sentiment-extraction", Harbour::ID);
    let rules = rules.replace("prep run $*", "prep run $* --skip-verification");
    let sandbox = prepared();
    fs::remove_dir_all(sandbox.data()).expect("removed");
    fs::rename(sandbox.source(), sandbox.path("bundles")).expect("renamed");
    sandbox.write("Makefile", rules);
    let program = Path::new(env!("CARGO_BIN_EXE_prep"));
    let paths = std::env::var_os("PATH").expect("PATH");
    let paths = std::env::split_paths(&paths).map(|path| path.to_path_buf());
    let paths = std::iter::once(program.parent().expect("a directory").to_path_buf()).chain(paths);
    let paths = std::env::join_paths(paths).expect("paths");
    let make = || {
        let mut command = Command::new("make");
        let environment = sandbox.command(&[]);
        command.current_dir(sandbox.path("")).env_clear();
        command.envs(
            environment
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command.env("PATH", &paths).output()
    };
    let Ok(first) = make() else {
        skipped("make is not installed");
        return;
    };
    CommandResult::from(first)
        .code(0)
        .stdout_has(&["prep run", "prep grade"]);
    let up_to_date = |note: &str| {
        let ended = CommandResult::from(make().expect("make")).code(0);
        assert!(
            ended.stdout.contains("Nothing to be done"),
            "{note}: {ended:?}"
        );
    };
    up_to_date("after the first time");
    touch(&sandbox.path("bundles/harbour.zip"));
    CommandResult::from(make().expect("make"))
        .code(0)
        .stdout_has(&["prep run"]);
    up_to_date("after a touched bundle");
    touch(&sandbox.prepared(Harbour::ID).join("public/train.csv"));
    up_to_date("after a touched file");
}
