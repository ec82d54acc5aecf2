//! Tests of several processes that share a cache and a data directory.

use std::process::Child;

use crate::support::{CommandResult, Gallery, Harbour, Sandbox};

const PICTURES: usize = 800;

fn start(sandbox: &Sandbox, ids: &[&str]) -> Child {
    sandbox
        .run_command(ids)
        .spawn()
        .expect("the program starts")
}

fn install(sandbox: &Sandbox) {
    Harbour::install(sandbox);
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(PICTURES, 1).bytes());
}

/// Several times, starts all runs at once, and checks that every tree equals that of a single run.
fn check(ids: &[&[&str]]) {
    let alone = Sandbox::new();
    install(&alone);
    for id in [Harbour::ID, Gallery::ID] {
        alone.run_and_count_steps(id);
    }
    for _ in 0..3 {
        let sandbox = Sandbox::new();
        install(&sandbox);
        let children: Vec<Child> = ids.iter().map(|ids| start(&sandbox, ids)).collect();
        for child in children {
            CommandResult::from(child.wait_with_output().expect("an end")).code(0);
        }
        for id in ids.concat() {
            assert_eq!(
                sandbox.tree(id).contents(),
                alone.tree(id).contents(),
                "{id}"
            );
            assert_eq!(sandbox.run_and_count_steps(id), 0, "{id}");
        }
        sandbox.prep(&["cache", "verify"]).code(0);
    }
}

#[test]
fn parallel_runs_of_the_same_competition() {
    check(&[&[Gallery::ID], &[Gallery::ID], &[Gallery::ID]]);
}

#[test]
fn parallel_runs_of_different_competitions() {
    check(&[&[Gallery::ID], &[Harbour::ID], &[Harbour::ID, Gallery::ID]]);
}

#[test]
fn parallel_runs_with_two_caches_and_one_data_directory() {
    let sandbox = Sandbox::new();
    install(&sandbox);
    let alone = Sandbox::new();
    install(&alone);
    alone.run_and_count_steps(Gallery::ID);
    for _ in 0..3 {
        let children = ["store", "other-store"].map(|store| {
            let mut command = sandbox.run_command(&[Gallery::ID]);
            command.env("PREP_CACHE_DIR", sandbox.path(store));
            command.spawn().expect("the program starts")
        });
        for child in children {
            CommandResult::from(child.wait_with_output().expect("an end")).code(0);
        }
        assert_eq!(
            sandbox.tree(Gallery::ID).contents(),
            alone.tree(Gallery::ID).contents()
        );
        assert_eq!(sandbox.state(Gallery::ID), "prepared v1");
        std::fs::remove_dir_all(sandbox.data()).expect("remove");
    }
}

#[test]
fn garbage_collection_during_a_run_removes_nothing_it_needs() {
    let sandbox = Sandbox::new();
    install(&sandbox);
    let run = start(&sandbox, &[Gallery::ID, Harbour::ID]);
    for _ in 0..5 {
        // The garbage collection may fail during the run, but must not harm the run.
        let ended = sandbox.prep(&["cache", "gc", "--max-size", "1KB"]);
        assert!(matches!(ended.code, Some(0 | 6)), "{ended:?}");
    }
    CommandResult::from(run.wait_with_output().expect("an end")).code(0);
    for id in [Harbour::ID, Gallery::ID] {
        let tree = sandbox.tree(id);
        assert_eq!(sandbox.state(id), "prepared v1");
        sandbox.run_and_count_steps(id);
        assert_eq!(sandbox.tree(id), tree);
    }
}
