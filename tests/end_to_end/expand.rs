//! Tests of `run --expand-archives`, which publishes archives of `public` as directories and changes no result of a step.

use std::fs;

use crate::support::{Archive, CommandResult, Harbour, Sandbox, Snapshot};

/// Three kinds of archives. One has a top-level directory. One contains a file that is also an output next to the archive.
const OUTPUTS: &str = "public:
  a.zip: { zip: { train.csv: SELECT * FROM train } }
  a/train.csv: SELECT * FROM train
  b.tar: { tar: { b/deep/x.csv: SELECT * FROM train, b/y.csv: SELECT id FROM test } }
  in/c.7z: { 7z: { z.csv: SELECT id FROM test } }
";

fn sandbox(outputs: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let text = Harbour::PIPELINE.replace("public:\n", outputs);
    sandbox.pipeline(Harbour::ID, &text);
    sandbox
}

fn run(sandbox: &Sandbox, option: &str) -> CommandResult {
    CommandResult::of(sandbox.run_command(&[Harbour::ID]).arg(option))
}

fn steps(ended: &CommandResult) -> u64 {
    ended.json()["competitions"][0]["steps_run"]
        .as_u64()
        .expect("a number")
}

#[test]
fn expanded_directories_appear_and_disappear_with_the_option() {
    let sandbox = sandbox(OUTPUTS);
    sandbox.run_and_count_steps(Harbour::ID);
    let plain = sandbox.tree(Harbour::ID);
    let new = ["public/b/deep/x.csv", "public/b/y.csv", "public/in/c/z.csv"];

    let ended = run(&sandbox, "--expand-archives").code(0);
    assert!(steps(&ended) > 0);
    let beside = sandbox.tree(Harbour::ID);
    assert_eq!(beside.touched_since(&plain), new);
    let read = |path: &str| fs::read(sandbox.prepared(Harbour::ID).join(path)).expect("a file");
    assert_eq!(read(new[0]), read("public/train.csv"));
    assert_eq!(read(new[1]), read(new[2]));
    assert_eq!(steps(&run(&sandbox, "--expand-archives=beside").code(0)), 0);
    assert_eq!(sandbox.tree(Harbour::ID), beside);

    run(&sandbox, "--expand-archives=instead").code(0);
    let instead = sandbox.tree(Harbour::ID);
    let files: Vec<&str> = instead.files().collect();
    let is_archive =
        |path: &&str| path.ends_with(".zip") || path.contains(".tar") || path.ends_with(".7z");
    assert_eq!(
        files.iter().filter(|path| is_archive(path)).count(),
        0,
        "{files:?}"
    );
    let archives = ["public/a.zip", "public/b.tar", "public/in/c.7z"];
    assert_eq!(instead.touched_since(&beside), archives);

    // Without the option, the archives stay unpacked, as in the last run.
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID), instead);
    // After `--expand-archives=no`, the tree has the same bytes as after the first run.
    run(&sandbox, "--expand-archives=no").code(0);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), plain.contents());
    run(&sandbox, "--expand-archives=instead").code(0);
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    let sample = sample.to_str().expect("a path");
    sandbox.prep(&["grade", Harbour::ID, sample]).code(0);
}

/// An empty archive becomes an empty directory, as with `unzip`.
#[test]
fn empty_archive_becomes_an_empty_directory() {
    let sandbox = Sandbox::new();
    let text = Harbour::PIPELINE.replace(
        "public:\n",
        "  archives: { files: \"*.tar\" }\n\npublic:\n  in/: SELECT file, name AS path FROM archives\n",
    );
    sandbox.pipeline(Harbour::ID, &text);
    let bundle = Archive::new()
        .file("train.csv", Harbour::table())
        .file("nothing.tar", [0; 10240]);
    sandbox.bundle(Harbour::ID, &bundle.bytes());
    run(&sandbox, "--expand-archives=instead").code(0);
    let names = |directory: &str| {
        let inside = fs::read_dir(sandbox.path(directory)).expect("a directory");
        let names = inside.map(|entry| entry.expect("an entry").file_name());
        names.collect::<Vec<_>>()
    };
    let place = sandbox.prepared(Harbour::ID).join("public/in");
    assert_eq!(names(place.to_str().expect("a path")), ["nothing"]);

    run(&sandbox, "--expand-archives=no").code(0);
    let export = [
        "export",
        Harbour::ID,
        "-o",
        "copy",
        "--expand-archives=instead",
    ];
    sandbox.prep(&export).code(0);
    let place = format!("copy/{}/prepared/public/in", Harbour::ID);
    assert_eq!(names(&place), ["nothing"]);
    assert!(names(&format!("{place}/nothing")).is_empty());
}

#[test]
fn conflicting_output_is_reported() {
    let outputs = "public:
  a.zip: { zip: { train.csv: SELECT * FROM train } }
  a/train.csv: SELECT id FROM train
";
    let sandbox = sandbox(outputs);
    sandbox.run_and_count_steps(Harbour::ID);
    let before: Snapshot = sandbox.tree(Harbour::ID);
    let ended = run(&sandbox, "--expand-archives").code(3);
    assert!(
        ended.stderr.contains("two outputs would write"),
        "{}",
        ended.stderr
    );
    assert_eq!(sandbox.tree(Harbour::ID), before);
}
