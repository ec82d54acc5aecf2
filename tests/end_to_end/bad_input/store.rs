//! A damaged cache.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::{Harbour, Sandbox, Snapshot};

/// Objects of the cache, smallest first, so that their order does not depend on names.
fn objects(sandbox: &Sandbox) -> Vec<PathBuf> {
    let root = sandbox.store().join("objects-v1");
    let mut paths: Vec<PathBuf> = Snapshot::of(&root)
        .files()
        .map(|path| root.join(path))
        .collect();
    paths.sort_by_key(|path| fs::metadata(path).expect("metadata").len());
    paths
}

/// Changes the first byte of a file; its length stays.
fn flip(path: &PathBuf) {
    let mut bytes = fs::read(path).expect("object");
    bytes[0] ^= 0xff;
    // Hard links share the bytes: a new file keeps the prepared one out of it.
    fs::remove_file(path).expect("remove");
    fs::write(path, bytes).expect("write");
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).expect("mode");
}

#[test]
fn every_damaged_object_is_found_repaired_and_made_again() {
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
        .shows(&["damaged", "--repair"]);
    let report = sandbox
        .prep(&["cache", "verify", "--repair", "--json"])
        .code(0)
        .json();
    assert_eq!(report["repaired"], true, "{report}");
    sandbox
        .prep(&["cache", "verify"])
        .code(0)
        .shows(&["the cache is intact"]);
    fs::remove_dir_all(sandbox.data()).expect("remove");
    sandbox.run_well(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
}

#[test]
fn a_damaged_object_is_never_served_and_a_run_mends_it_by_itself() {
    let whole = Harbour::prepared();
    let before = whole.tree(Harbour::ID);
    for number in 0..objects(&whole).len() {
        let sandbox = Harbour::prepared();
        let path = &objects(&sandbox)[number];
        flip(path);
        // All files have to be published again, from the cache.
        fs::remove_dir_all(sandbox.data()).expect("remove");
        sandbox.run_well(Harbour::ID);
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
fn damaged_records_are_found_and_nothing_is_taken_from_them() {
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
    sandbox.run_well(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}

#[test]
fn a_garbled_manifest_does_not_make_a_tree_prepared() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let home = sandbox.data().join(Harbour::ID);
    for (name, content) in [
        ("prepared.json", "{\"version\": 1"),
        ("prepared.json", ""),
        ("prepared.files", "x\ty\n"),
    ] {
        fs::remove_file(home.join(name)).expect("remove");
        fs::write(home.join(name), content).expect("write");
        if name == "prepared.json" {
            assert_eq!(sandbox.state(Harbour::ID), "not prepared");
        }
        sandbox.run_well(Harbour::ID);
        assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
        assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    }
}

#[test]
fn a_file_in_the_place_of_the_store_is_an_error_that_names_it() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.write("store", "not a directory");
    let ended = sandbox.run(Harbour::ID).code(6).says(&["store"]);
    super::assert_readable(&ended);
    assert!(!sandbox.data().exists());
}
