//! Tests how published files share bytes with the cache, and how `prep` publishes descriptions that the user provides.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::support::{CommandResult, Harbour, Sandbox};

const FILE: &str = "private/test.csv";

fn run(sandbox: &Sandbox, more: &[&str]) -> CommandResult {
    CommandResult::of(sandbox.run_command(&[Harbour::ID]).args(more)).code(0)
}

fn link_count(path: &Path) -> u64 {
    fs::metadata(path).expect("metadata").nlink()
}

#[test]
fn copies_share_no_bytes_with_the_cache_or_other_directories() {
    let sandbox = Harbour::prepared();
    let path = sandbox.prepared(Harbour::ID).join(FILE);
    let before = sandbox.tree(Harbour::ID);
    assert!(link_count(&path) > 1, "a hard link by default");

    // A run writes the files again, because hard links share more than `copy` allows.
    run(&sandbox, &["--link-mode", "copy"]);
    assert_eq!(link_count(&path), 1);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
    // Copies satisfy every mode, so the run writes nothing.
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0);
    run(&sandbox, &["--link-mode", "reflink"]);
    assert_eq!(link_count(&path), 1);

    // Simulates a root user in a container, who writes to a published file. The cache must stay intact.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("mode");
    fs::write(&path, "id\n").expect("write");
    sandbox.prep(&["cache", "verify"]).code(0);
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
}

#[test]
fn settings_choose_how_files_share_bytes() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let mut command = sandbox.run_command(&[Harbour::ID]);
    CommandResult::of(command.env("PREP_LINK_MODE", "copy")).code(0);
    assert_eq!(link_count(&sandbox.prepared(Harbour::ID).join(FILE)), 1);
    let mut command = sandbox.run_command(&[Harbour::ID]);
    CommandResult::of(command.env("PREP_LINK_MODE", "symlink"))
        .code(2)
        .stderr_has(&["PREP_LINK_MODE is `symlink`: expected hardlink, reflink or copy"]);
}

#[test]
fn user_descriptions_are_published_unchanged() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let texts = sandbox.path("texts");
    let text = "# Kaggle's text\n\n  with spaces \n";
    fs::create_dir_all(texts.join(Harbour::ID)).expect("directory");
    let place = texts.join(Harbour::ID).join("description.md");
    let option = ["--descriptions", texts.to_str().expect("a path")];
    let mut command = sandbox.run_command(&[Harbour::ID]);
    CommandResult::of(command.args(option))
        .code(4)
        .stderr_has(&["`harbour` has no description"]);
    fs::write(&place, text).expect("write");
    run(&sandbox, &option);
    let after = sandbox.tree(Harbour::ID);
    assert_eq!(after.touched_since(&before), ["public/description.md"]);
    let published = sandbox.prepared(Harbour::ID).join("public/description.md");
    assert_eq!(fs::read_to_string(&published).expect("there"), text);
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID), after);
    // Without the options of the last run, `prep` publishes the built-in text again.
    run(&sandbox, &["--forget-options"]);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
}
