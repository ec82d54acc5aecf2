//! Tests with the cache and the data directory on different file systems, so that files cannot be linked or renamed
//! between them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::{Gallery, Harbour, Sandbox, skipped};

/// Returns a directory on a different file system than the sandbox, if one of the usual directories is.
fn elsewhere(sandbox: &Sandbox) -> Option<tempfile::TempDir> {
    let here = fs::metadata(sandbox.path("")).expect("sandbox").dev();
    let other = [
        "/dev/shm",
        "/run/shm",
        "/var/tmp",
        env!("CARGO_TARGET_TMPDIR"),
    ]
    .into_iter()
    .map(Path::new)
    .filter(|directory| fs::metadata(directory).is_ok_and(|found| found.dev() != here))
    .find_map(|directory| tempfile::tempdir_in(directory).ok());
    if other.is_none() {
        skipped("all directories of this machine are on one file system");
    }
    other
}

#[test]
fn cache_on_another_device_gives_the_same_tree() {
    for id in [Harbour::ID, Gallery::ID] {
        let install = |sandbox: &Sandbox| match id {
            Harbour::ID => Harbour::install(sandbox),
            _ => {
                sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
                sandbox.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
            }
        };
        let alone = Sandbox::new();
        install(&alone);
        alone.run_well(id);
        let sandbox = Sandbox::new();
        install(&sandbox);
        let Some(other) = elsewhere(&sandbox) else {
            return;
        };
        let run = || {
            let mut command = sandbox.run_command(&[id]);
            command.env("PREP_CACHE_DIR", other.path().join("store"));
            crate::support::Ended::of(&mut command).code(0).json()
        };
        let steps = |report: &serde_json::Value| report["competitions"][0]["steps_run"].as_u64();
        assert!(steps(&run()) > Some(3));
        let tree = sandbox.tree(id);
        assert_eq!(tree.contents(), alone.tree(id).contents());
        assert_eq!(steps(&run()), Some(0));
        assert_eq!(sandbox.tree(id), tree);
        // Published files share nothing with the cache, so a change of a published file does not affect the cache, and
        // the next run restores the file.
        let victim = sandbox.prepared(id).join("public/train.csv");
        assert_eq!(fs::metadata(&victim).expect("a file").nlink(), 1);
        fs::remove_file(&victim).expect("removed");
        fs::write(&victim, "scribble").expect("written");
        assert_eq!(steps(&run()), Some(1));
        assert_eq!(sandbox.tree(id).contents(), tree.contents());
    }
}
