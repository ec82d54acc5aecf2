//! Tests that inject faults into the program `prep`, whose exit code must show the failure.
//! A preloaded library makes file accesses fail (`tests/faults/trouble.c`).
//!
//! Two pipelines are enough, because the parent module injects faults into every kind of step.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::worker;
use super::world::World;
use crate::kinds;
use crate::support::{CommandResult, Harbour, Random, Sandbox, Snapshot};

/// Number of accesses at which a test tries each fault. Some accesses can fail without effect, for example in caches
/// that only save time. The test fails if no attempt has an effect.
const ATTEMPTS: usize = 12;

/// Pipelines of `kinds`: one unpacks archives, and one reads and writes tables in many formats.
const PIPELINES: [&str; 2] = ["archives", "formats"];

/// Runs `prep`, and makes access `number` (from 0) fail, if any. Also returns how many accesses the fault can affect.
fn run(
    world: &World,
    library: &Path,
    fault: &str,
    number: Option<usize>,
) -> (CommandResult, usize) {
    let mut command = world.sandbox.run_command(&[&world.id]);
    run_with(&world.sandbox, &mut command, library, (fault, ""), number)
}

/// Runs a command in which access `number` (from 0) to paths that contain `path` fails.
/// Also returns how many accesses the fault can affect, or 0 if a signal killed the command.
fn run_with(
    sandbox: &Sandbox,
    command: &mut Command,
    library: &Path,
    (fault, path): (&str, &str),
    number: Option<usize>,
) -> (CommandResult, usize) {
    let (count, source) = (sandbox.path("count"), sandbox.source());
    let _ = fs::remove_file(&count);
    command
        .env("LD_PRELOAD", library)
        .env("TROUBLE", fault)
        .env("TROUBLE_WHERE", path)
        .env("TROUBLE_ROOT", source.parent().expect("a directory"))
        .env("TROUBLE_COUNT", &count);
    if let Some(number) = number {
        command.env("TROUBLE_NUMBER", number.to_string());
    }
    let ended = CommandResult::of(command);
    let accesses = match ended.code {
        None => 0,
        Some(_) => {
            let text = fs::read_to_string(count).expect("the library was loaded");
            text.parse().expect("a number")
        }
    };
    (ended, accesses)
}

/// Asserts that `prep` does not treat an incomplete tree as complete, and that the next run completes the tree.
fn assert_next_run_repairs(
    world: &World,
    undisturbed: &Snapshot,
    ended: &CommandResult,
    note: &str,
) {
    let is_equal = world.sandbox.tree(&world.id).contents() == undisturbed.contents();
    if ended.code == Some(0) || world.is_complete() {
        assert!(
            is_equal,
            "{note}: {ended:?}, and the tree differs from that of an undisturbed run"
        );
    }
    let next = world.sandbox.run(&world.id);
    assert_eq!(next.code, Some(0), "{note}: the next run: {next:?}");
    let found = world.sandbox.tree(&world.id);
    assert_eq!(found.contents(), undisturbed.contents(), "{note}");
}

#[test]
fn exit_code_shows_the_kind_of_fault() {
    let mut random = Random::new();
    let Some(library) = worker::preloaded() else {
        return;
    };
    for name in PIPELINES {
        let world = World::new(&kinds::directory(name));
        world.sandbox.run_and_count_steps(&world.id);
        let undisturbed = world.sandbox.tree(&world.id);
        for (fault, code, reason) in [
            ("reader", 6, "input/output error"),
            ("writer", 6, "input/output error"),
            ("full", 6, "no space left"),
            ("stop", 130, "stopped"),
        ] {
            world.clear();
            let (quiet, accesses) = run(&world, library, fault, None);
            quiet.code(0);
            assert!(accesses > 10, "{}: {accesses} accesses", world.id);
            let noticed = (0..ATTEMPTS).any(|_| {
                let number = random.below(accesses);
                let note = format!("{}: {fault} at {number}, seed {}", world.id, random.seed);
                world.clear();
                let (ended, _) = run(&world, library, fault, Some(number));
                // A signal kills a program that has not yet installed its handler. Shells report this as 130, too.
                let is_early = fault == "stop" && ended.code.is_none();
                let noticed = ended.code != Some(0) && !is_early;
                if noticed {
                    assert_eq!(ended.code, Some(code), "{note}: {ended:?}");
                    let stderr = ended.stderr.to_lowercase();
                    assert!(stderr.contains(reason), "{note}: {ended:?}");
                }
                assert_next_run_repairs(&world, &undisturbed, &ended, &note);
                noticed
            });
            assert!(noticed, "{}: {fault} was never noticed", world.id);
        }
    }
}

#[test]
fn truncated_bundle_and_too_little_memory_have_their_codes() {
    for name in PIPELINES {
        let world = World::new(&kinds::directory(name));
        world.sandbox.run_and_count_steps(&world.id);
        let undisturbed = world.sandbox.tree(&world.id);
        world.clear();
        let bundle = world.sandbox.source().join(format!("{}.zip", world.id));
        let bytes = fs::read(&bundle).expect("bundle");
        fs::write(&bundle, &bytes[..bytes.len() / 2]).expect("written");
        let ended = world.sandbox.run(&world.id).code(4);
        assert!(!world.sandbox.prepared(&world.id).exists(), "{ended:?}");
        world.clear();
        let mut command = world.sandbox.run_command(&[&world.id]);
        let ended = CommandResult::of(command.args(["--memory", "1MB"]));
        match ended.code {
            Some(0) => {}
            Some(6) => assert!(ended.stderr.contains("memory"), "{ended:?}"),
            _ => panic!("{}: {ended:?}", world.id),
        }
        assert_next_run_repairs(&world, &undisturbed, &ended, &world.id);
    }
}

/// Outputs that a pipeline published by mistake: a file, a directory that no other output uses, an empty directory.
const MISTAKES: &str = "public:
  leaked.csv: SELECT * FROM labelled
  leaked/all.csv: SELECT * FROM labelled
  empty/: { empty: true }
";

/// Kills a run at each access to the data directory.
/// A run of the corrected pipeline must remove everything that the killed run published.
#[test]
fn the_next_run_removes_everything_that_a_killed_run_published() {
    let Some(library) = worker::preloaded() else {
        return;
    };
    let wrong = Harbour::PIPELINE.replace("public:\n", MISTAKES);
    for is_later in [false, true] {
        let sandbox = Harbour::prepared();
        let undisturbed = sandbox.tree(Harbour::ID);
        let run_and_kill = |number: Option<usize>| {
            sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
            fs::remove_dir_all(sandbox.data()).expect("removed");
            if is_later {
                sandbox.run_and_count_steps(Harbour::ID);
            }
            sandbox.pipeline(Harbour::ID, &wrong);
            let mut command = sandbox.run_command(&[Harbour::ID]);
            run_with(&sandbox, &mut command, library, ("kill", "/data/"), number)
        };
        // The number of accesses differs between runs, because a run that waits for a lock tries repeatedly.
        let is_killed = |number: &usize| match run_and_kill(Some(*number)).0.code {
            None => true,
            Some(0) => false,
            code => panic!("killed at {number}: exit code {code:?}"),
        };
        let mut kills = 0;
        for number in (0..).take_while(is_killed) {
            kills += 1;
            let mut incomplete = sandbox.tree(Harbour::ID).files().count();
            if sandbox.state(Harbour::ID) == "prepared v1" {
                incomplete = 0;
            }
            sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
            sandbox.run_and_count_steps(Harbour::ID);
            let found = sandbox.tree(Harbour::ID);
            assert_eq!(
                found.contents(),
                undisturbed.contents(),
                "killed at {number}, later: {is_later}, with {incomplete} files"
            );
            assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
        }
        assert!(kills > 20, "{kills} kills");
    }
}

/// Ctrl-C during planning causes the same message as Ctrl-C during the run.
#[test]
fn ctrl_c_at_any_time_has_the_same_message() {
    let Some(library) = worker::preloaded() else {
        return;
    };
    let sandbox = Harbour::prepared();
    let mut noticed = 0;
    for number in 0..40 {
        fs::remove_dir_all(sandbox.data()).expect("removed");
        let mut command = sandbox.run_command(&[Harbour::ID]);
        let (ended, _) = run_with(&sandbox, &mut command, library, ("stop", ""), Some(number));
        let note = format!("{number}: {ended:?}");
        if ended.code == Some(130) {
            noticed += 1;
            let stopped = "stopped; finished steps are kept, and the next run continues from there";
            assert!(ended.stderr.contains(stopped), "{note}");
            assert!(!ended.stderr.contains("error"), "{note}");
        }
        fs::create_dir_all(sandbox.data()).expect("directory");
    }
    assert!(noticed > 3, "{noticed}");
}
