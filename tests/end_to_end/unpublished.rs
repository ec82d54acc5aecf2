//! Tests with files that other programs put into a prepared directory:
//! a run keeps and lists these files, and removes them on request.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::{CommandResult, Gallery, Harbour, Sandbox};

fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(30, 1).bytes());
    sandbox.run_and_count_steps(Gallery::ID);
    sandbox
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    fs::write(path, text).expect("write");
}

const UNPUBLISHED_PATHS: [&str; 3] = [
    "private/mine.csv",
    "public/train/inner.txt",
    "public/unpacked/deep/1.txt",
];

#[test]
fn unpublished_files_stay_until_their_removal_is_requested() {
    let sandbox = prepared();
    let before = sandbox.tree(Gallery::ID);
    let directory = sandbox.prepared(Gallery::ID);
    for path in UNPUBLISHED_PATHS {
        put(&directory.join(path), "mine");
    }
    symlink("nowhere", directory.join("public/link")).expect("link");
    fs::create_dir(directory.join("public/empty")).expect("directory");
    // The run also restores a deleted file.
    fs::remove_file(directory.join("public/train.csv")).expect("remove");

    let run = || CommandResult::of(&mut sandbox.run_command(&[Gallery::ID])).code(0);
    let ended = run().stderr_has(&[
        "stay in the prepared directory",
        "private/mine.csv, public/empty/, public/link, public/train/inner.txt, public/unpacked/",
        "`--remove-unpublished` removes them",
    ]);
    let left = json!({
        "count": 5,
        "paths": ["private/mine.csv", "public/empty/", "public/link", "public/train/inner.txt", "public/unpacked/"],
    });
    assert_eq!(ended.json()["competitions"][0]["unpublished"], left);
    for path in UNPUBLISHED_PATHS {
        assert_eq!(
            fs::read_to_string(directory.join(path)).expect("there"),
            "mine"
        );
    }
    assert!(directory.join("public/train.csv").is_file());
    assert_eq!(sandbox.state(Gallery::ID), "prepared v1");

    // Unpublished files do not make the data stale. A new file in a directory of such files does not either.
    put(&directory.join("public/unpacked/2.txt"), "more");
    assert_eq!(sandbox.run_and_count_steps(Gallery::ID), 0);

    // A run with a different pipeline removes only the files that the first run published.
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(1));
    sandbox.run_and_count_steps(Gallery::ID);
    for path in UNPUBLISHED_PATHS {
        assert!(directory.join(path).is_file(), "{path}");
    }
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.run_and_count_steps(Gallery::ID);

    let ended = CommandResult::of(
        sandbox
            .run_command(&[Gallery::ID])
            .arg("--remove-unpublished"),
    )
    .code(0);
    assert!(ended.json()["competitions"][0].get("unpublished").is_none());
    assert_eq!(sandbox.tree(Gallery::ID).contents(), before.contents());
    assert_eq!(sandbox.run_and_count_steps(Gallery::ID), 0);
}

/// Without the manifest and the listing, `prep` does not know which files it published, so it changes none.
#[test]
fn nothing_is_changed_without_a_listing() {
    let sandbox = prepared();
    let home = sandbox.prepared(Gallery::ID);
    let home = home.parent().expect("a directory");
    fs::remove_file(home.join("prepared.files")).expect("remove");
    fs::remove_file(home.join("prepared.json")).expect("remove");
    let before = sandbox.tree(Gallery::ID);
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(1));
    sandbox
        .run(Gallery::ID)
        .code(4)
        .stderr_has(&["in the way", "--remove-unpublished"]);
    assert_eq!(sandbox.tree(Gallery::ID), before);
}

#[test]
fn unpublished_file_in_place_of_an_output_is_an_error() {
    let sandbox = Harbour::prepared();
    let place = sandbox.prepared(Harbour::ID).join("public/train.csv");
    fs::remove_file(&place).expect("remove");
    put(&place.join("mine.txt"), "mine");
    CommandResult::of(&mut sandbox.run_command(&[Harbour::ID]))
        .code(4)
        .stderr_has(&["public/train.csv` is in the way of a published file"]);
    assert_eq!(
        fs::read_to_string(place.join("mine.txt")).expect("there"),
        "mine"
    );
    CommandResult::of(
        sandbox
            .run_command(&[Harbour::ID])
            .arg("--remove-unpublished"),
    )
    .code(0);
    assert!(place.is_file());
}

/// A publication that removes a link to a published directory also writes the files that did not change.
#[test]
fn a_link_to_a_published_directory_is_replaced_on_request() {
    let sandbox = prepared();
    let public = sandbox.prepared(Gallery::ID).join("public");
    fs::rename(&public, sandbox.path("moved")).expect("moved");
    symlink(sandbox.path("moved"), &public).expect("link");
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(1));
    sandbox
        .run(Gallery::ID)
        .code(4)
        .stderr_has(&["public` is in the way"]);
    let mut run = sandbox.run_command(&[Gallery::ID]);
    CommandResult::of(run.arg("--remove-unpublished")).code(0);
    assert!(sandbox.path("moved/train.csv").is_file());
    let replaced = sandbox.tree(Gallery::ID);
    fs::remove_dir_all(sandbox.data()).expect("removed");
    sandbox.run_and_count_steps(Gallery::ID);
    assert_eq!(replaced.contents(), sandbox.tree(Gallery::ID).contents());
}
