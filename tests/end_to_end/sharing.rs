//! How published files share bytes with the cache, and descriptions of the user.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::support::{Ended, Harbour, Sandbox};

const FILE: &str = "private/test.csv";

fn run(sandbox: &Sandbox, more: &[&str]) -> Ended {
    Ended::of(sandbox.run_command(&[Harbour::ID]).args(more)).code(0)
}

fn names(path: &Path) -> u64 {
    fs::metadata(path).expect("metadata").nlink()
}

#[test]
fn a_copy_shares_nothing_with_the_cache_and_other_directories() {
    let sandbox = Harbour::prepared();
    let path = sandbox.prepared(Harbour::ID).join(FILE);
    let before = sandbox.tree(Harbour::ID);
    assert!(names(&path) > 1, "a hard link by default");

    // The files are written again, because they share more than is allowed now.
    run(&sandbox, &["--link-mode", "copy"]);
    assert_eq!(names(&path), 1);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
    // Copies are good enough for every mode.
    assert_eq!(sandbox.run_well(Harbour::ID), 0);
    run(&sandbox, &["--link-mode", "reflink"]);
    assert_eq!(names(&path), 1);

    // A container's root writes into one directory.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("mode");
    fs::write(&path, "id\n").expect("write");
    sandbox.prep(&["cache", "verify"]).code(0);
    sandbox.run_well(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
}

#[test]
fn a_setting_decides_how_files_share_bytes() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let mut command = sandbox.run_command(&[Harbour::ID]);
    Ended::of(command.env("PREP_LINK_MODE", "copy")).code(0);
    assert_eq!(names(&sandbox.prepared(Harbour::ID).join(FILE)), 1);
    let mut command = sandbox.run_command(&[Harbour::ID]);
    Ended::of(command.env("PREP_LINK_MODE", "symlink"))
        .code(2)
        .says(&["PREP_LINK_MODE is `symlink`: expected hardlink, reflink or copy"]);
}

#[test]
fn descriptions_of_the_user_are_published_unchanged() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let texts = sandbox.path("texts");
    let text = "# Kaggle's text\n\n  with spaces \n";
    fs::create_dir_all(texts.join(Harbour::ID)).expect("directory");
    let place = texts.join(Harbour::ID).join("description.md");
    let option = ["--descriptions", texts.to_str().expect("a path")];
    let mut command = sandbox.run_command(&[Harbour::ID]);
    Ended::of(command.args(option))
        .code(4)
        .says(&["`harbour` has no description"]);
    fs::write(&place, text).expect("write");
    run(&sandbox, &option);
    let after = sandbox.tree(Harbour::ID);
    assert_eq!(after.touched_since(&before), ["public/description.md"]);
    let published = sandbox.prepared(Harbour::ID).join("public/description.md");
    assert_eq!(fs::read_to_string(&published).expect("there"), text);
    // Without the option, the built-in text comes back.
    sandbox.run_well(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
}
