//! Tests with a damaged cache.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use crate::support::{Harbour, Sandbox, Snapshot};

/// Returns the objects of the cache, sorted by size, so that their order does not depend on their names.
fn objects(sandbox: &Sandbox) -> Vec<PathBuf> {
    let root = sandbox.store().join("objects-v1");
    let mut paths: Vec<PathBuf> = Snapshot::of(&root)
        .files()
        .map(|path| root.join(path))
        .collect();
    paths.sort_by_key(|path| fs::metadata(path).expect("metadata").len());
    paths
}

/// Changes the first byte of a file and keeps its length.
fn flip(path: &PathBuf) {
    let mut bytes = fs::read(path).expect("object");
    bytes[0] ^= 0xff;
    // Write a new file, because writing in place would also change prepared files that are hard links to this one.
    fs::remove_file(path).expect("remove");
    fs::write(path, bytes).expect("write");
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).expect("mode");
}

#[test]
fn damaged_objects_are_found_removed_and_computed_again() {
    let count = objects(&Harbour::prepared()).len();
    assert!(count > 10, "{count} objects");
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    for path in objects(&sandbox) {
        flip(&path);
    }
    let report = sandbox.prep(&["cache", "verify", "--json"]).code(6).json();
    assert_eq!(
        report["damaged"].as_array().map(Vec::len),
        Some(count),
        "{report}"
    );
    sandbox
        .prep(&["cache", "verify"])
        .code(6)
        .stdout_has(&["damaged", "--repair"]);
    let report = sandbox
        .prep(&["cache", "verify", "--repair", "--json"])
        .code(0)
        .json();
    assert_eq!(report["repaired"], true, "{report}");
    sandbox
        .prep(&["cache", "verify"])
        .code(0)
        .stdout_has(&["the cache is intact"]);
    fs::remove_dir_all(sandbox.data()).expect("remove");
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
}

/// A published file that is a hard link to a damaged object has the same damage, and no metadata show it.
#[test]
fn published_files_that_share_a_damaged_object_are_written_again() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let published = sandbox.prepared(Harbour::ID).join("public/train.csv");
    let (good, metadata) = (fs::read(&published), fs::metadata(&published));
    let (good, metadata) = (good.expect("a file"), metadata.expect("metadata"));
    assert!(metadata.nlink() > 1, "the file is not a hard link");
    let time = metadata.modified().expect("a time");
    let damage = || {
        fs::set_permissions(&published, fs::Permissions::from_mode(0o644)).expect("mode");
        let mut bytes = good.clone();
        bytes[0] ^= 1;
        fs::write(&published, bytes).expect("write");
        let file = fs::File::options().write(true).open(&published);
        file.expect("a file").set_modified(time).expect("a time");
        fs::set_permissions(&published, metadata.permissions()).expect("mode");
    };
    damage();
    let line = format!("damaged published file: {}\n", published.display());
    sandbox
        .prep(&["cache", "verify"])
        .code(6)
        .stdout_has(&[&line]);
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    let repair = ["cache", "verify", "--repair"];
    sandbox.prep(&repair).code(0).stdout_has(&[&line]);
    assert_eq!(sandbox.state(Harbour::ID), "changed since prepared");
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
    let ended = sandbox.prep(&["cache", "verify"]).code(0);
    assert!(!ended.stdout.contains("published"), "{}", ended.stdout);
}

#[test]
fn run_replaces_a_damaged_object() {
    let whole = Harbour::prepared();
    let before = whole.tree(Harbour::ID);
    for number in 0..objects(&whole).len() {
        let sandbox = Harbour::prepared();
        let path = &objects(&sandbox)[number];
        flip(path);
        // Without the data directory, the run has to publish all files again from the cache.
        fs::remove_dir_all(sandbox.data()).expect("remove");
        sandbox.run_and_count_steps(Harbour::ID);
        let tree = sandbox.tree(Harbour::ID);
        assert_eq!(
            tree.contents(),
            before.contents(),
            "object {number}: {}",
            path.display()
        );
    }
}

#[test]
fn damaged_records_are_found_and_not_used() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    for bucket in ["ledger-v1", "history-v1", "sources-v1"] {
        let root = sandbox.store().join(bucket);
        for path in Snapshot::of(&root).files() {
            let path = root.join(path);
            let bytes = fs::read(&path).expect("record");
            fs::write(&path, &bytes[..bytes.len() / 2]).expect("write");
        }
    }
    let report = sandbox.prep(&["cache", "verify", "--json"]).code(6).json();
    assert!(
        report["garbled"]
            .as_array()
            .is_some_and(|records| records.len() > 5),
        "{report}"
    );
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}

#[test]
fn garbled_manifest_does_not_mark_a_tree_as_prepared() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let home = sandbox.data().join(Harbour::ID);
    for (name, content) in [
        ("prepared.json", "{\"version\": 2"),
        ("prepared.json", ""),
        ("prepared.json", "{\"version\": 2}"),
        ("prepared.files", "x\ty\n"),
    ] {
        fs::remove_file(home.join(name)).expect("remove");
        fs::write(home.join(name), content).expect("write");
        if name == "prepared.json" {
            let listed = sandbox.prep(&["list", Harbour::ID]).code(4);
            listed.stdout_has(&["unreadable", "is damaged", "run `prep run harbour`"]);
            let found = sandbox.prep(&["doctor", "--offline"]).code(4);
            found.stdout_has(&["is damaged", "prepared: run `prep run harbour`"]);
            let grade = ["grade", Harbour::ID, "x.csv"];
            sandbox.prep(&grade).code(4).stderr_has(&["is damaged"]);
            let plan = ["plan", Harbour::ID, "--no-download"];
            sandbox.prep(&plan).code(0);
        }
        sandbox.run_and_count_steps(Harbour::ID);
        assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
        assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    }
}
