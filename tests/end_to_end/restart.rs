//! Tests of a restart of the machine after a publication, for example because of a power loss. After the restart,
//! `prep` reads published trees once, and restores damaged files.
//!
//! The tests simulate a restart with a different boot id in the manifest. A damaged file is filled with zeros, and keeps its
//! length, time and inode.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{Gallery, Harbour, Sandbox, skipped};

/// Whether the system has boot ids. Without them, restarts cannot be detected.
fn has_boots() -> bool {
    let has = fs::exists("/proc/sys/kernel/random/boot_id").is_ok_and(|there| there);
    if !has {
        skipped("this machine does not number its boots");
    }
    has
}

fn manifest(sandbox: &Sandbox, id: &str) -> Value {
    let text = fs::read(sandbox.data().join(id).join("prepared.json")).expect("manifest");
    serde_json::from_slice(&text).expect("JSON")
}

/// Changes the manifest so that the tree was published in an earlier boot.
fn restart(sandbox: &Sandbox, id: &str) {
    let mut manifest = manifest(sandbox, id);
    assert!(manifest["boot"].is_string(), "{manifest}");
    manifest["boot"] = "00000000-0000-4000-8000-000000000000".into();
    sandbox.write(&format!("data/{id}/prepared.json"), manifest.to_string());
}

/// Fills a published file with zeros, as a power loss can do if the system has not yet written the file to disk.
fn fill_with_zeros(sandbox: &Sandbox, id: &str, path: &str) {
    let path = sandbox.prepared(id).join(path);
    let metadata = fs::metadata(&path).expect("metadata");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("mode");
    let length = usize::try_from(metadata.len()).expect("a small file");
    fs::write(&path, vec![0; length]).expect("write");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).expect("mode");
    let file = File::open(&path).expect("file");
    let time = metadata.modified().expect("time");
    file.set_modified(time).expect("time");
}

fn gallery() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(40, 1).bytes());
    sandbox.run_and_count_steps(Gallery::ID);
    sandbox
}

#[test]
fn intact_tree_is_read_once_and_not_changed() {
    if !has_boots() {
        return;
    }
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    restart(&sandbox, Harbour::ID);
    assert_eq!(sandbox.state(Harbour::ID), "not checked since a restart");
    sandbox
        .prep(&["plan", "-c", Harbour::ID, "--source", "source"])
        .code(0)
        .stdout_has(&["publish", "restart"]);
    // The answers are intact, so they can be graded before the other files were read.
    let submission = "data/harbour/prepared/public/sample_submission.csv";
    let grade = ["grade", Harbour::ID, submission];
    sandbox.prep(&grade).code(0);
    let report = sandbox
        .run(Harbour::ID)
        .code(0)
        .stderr_has(&["was restarted"]);
    assert_eq!(report.json()["competitions"][0]["steps_run"], 0);
    assert_eq!(sandbox.tree(Harbour::ID), before);
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    // The files were read from the disk, so a later restart cannot damage them.
    assert!(manifest(&sandbox, Harbour::ID)["boot"].is_null());
    let again = sandbox.run(Harbour::ID).code(0);
    assert!(!again.stderr.contains("restarted"), "{}", again.stderr);
}

#[test]
fn damaged_file_is_found_and_only_it_is_rewritten() {
    if !has_boots() {
        return;
    }
    let sandbox = gallery();
    let before = sandbox.tree(Gallery::ID);
    let damaged = before
        .files()
        .find(|path| path.starts_with("public/train/"))
        .expect("a picture");
    fill_with_zeros(&sandbox, Gallery::ID, damaged);
    let now = sandbox.tree(Gallery::ID);
    assert_ne!(now.contents(), before.contents());
    restart(&sandbox, Gallery::ID);
    let ended = sandbox.run(Gallery::ID).code(0);
    ended.stderr_has(&["1 published file is damaged"]);
    let after = sandbox.tree(Gallery::ID);
    assert_eq!(after.contents(), before.contents());
    assert_eq!(after.touched_since(&now), [damaged]);
    assert_eq!(sandbox.state(Gallery::ID), "prepared v1");
}

#[test]
fn damaged_answers_are_not_used_for_grading() {
    if !has_boots() {
        return;
    }
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    fill_with_zeros(&sandbox, Harbour::ID, "private/test.csv");
    restart(&sandbox, Harbour::ID);
    let submission = "data/harbour/prepared/public/sample_submission.csv";
    sandbox
        .prep(&["grade", Harbour::ID, submission])
        .code(4)
        .stderr_has(&["changed after they were prepared", "prep run harbour"]);
    // The answers are a hard link to an object of the cache, so that object is damaged as well.
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
    sandbox.prep(&["grade", Harbour::ID, submission]).code(0);
}

#[test]
fn truncated_listing_does_not_verify_a_tree() {
    if !has_boots() {
        return;
    }
    let sandbox = gallery();
    let before = sandbox.tree(Gallery::ID);
    let listing = sandbox.data().join(Gallery::ID).join("prepared.files");
    let text = fs::read(&listing).expect("listing");
    fs::write(&listing, &text[..text.len() / 2]).expect("listing");
    restart(&sandbox, Gallery::ID);
    sandbox.run(Gallery::ID).code(0).stderr_has(&["damaged"]);
    assert_eq!(sandbox.tree(Gallery::ID).contents(), before.contents());
    assert_eq!(sandbox.state(Gallery::ID), "prepared v1");
}
