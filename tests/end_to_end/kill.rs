//! Tests that kill runs (`kill -9`) at random times: `prep` never treats an incomplete tree as prepared, and the next run
//! repairs it. Ctrl-C ends a run in an orderly way.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{CommandResult, Gallery, Random, Sandbox, Snapshot};

const PICTURES: usize = 1500;

/// Number of kills in a test: `PREP_KILLS`, or a few by default.
fn kills() -> usize {
    std::env::var("PREP_KILLS").map_or(6, |text| text.parse().expect("PREP_KILLS is a number"))
}

/// Random moments at which a test kills or interrupts runs.
struct Moments {
    random: Random,
    /// Factor that shortens random delays. They are fractions of the measured duration of a run. If the machine was
    /// busier during the measurement, this duration is too long.
    scale: f64,
}

impl Moments {
    fn new() -> Moments {
        Moments {
            random: Random::new(),
            scale: 1.0,
        }
    }

    fn next(&mut self, end: Duration) -> Duration {
        end.mul_f64(self.random.fraction() * self.scale)
    }

    /// Shortens later delays, because a run ended before its kill.
    fn too_late(&mut self) {
        self.scale *= 0.8;
    }
}

/// A pipeline and a bundle, and the tree that an undisturbed run produces.
struct Goal {
    pipeline: String,
    bundle: Vec<u8>,
    tree: Snapshot,
    time: Duration,
}

impl Goal {
    fn new(seed: u32, edition: usize) -> Goal {
        let sandbox = Sandbox::new();
        let mut goal = Goal {
            pipeline: Gallery::pipeline(seed),
            bundle: Gallery::archive(PICTURES, edition).bytes(),
            tree: Snapshot::of(&sandbox.path("none")),
            time: Duration::ZERO,
        };
        goal.install(&sandbox);
        let begin = Instant::now();
        sandbox.run_and_count_steps(Gallery::ID);
        goal.time = begin.elapsed();
        goal.tree = sandbox.tree(Gallery::ID);
        goal
    }

    fn install(&self, sandbox: &Sandbox) {
        sandbox.pipeline(Gallery::ID, &self.pipeline);
        sandbox.bundle(Gallery::ID, &self.bundle);
    }
}

#[derive(Debug, Clone, Copy)]
enum When {
    After(Duration),
    /// As soon as the run writes into the prepared directory.
    Publishing,
}

/// A publication is in progress while the directory for unfinished files exists.
fn is_publishing(sandbox: &Sandbox) -> bool {
    let home = sandbox.data().join(Gallery::ID);
    let names = sandbox.names_in_home(Gallery::ID);
    let mut hidden = names.iter().filter(|name| name.starts_with(".prep-"));
    hidden.any(|name| home.join(name).is_dir())
}

/// Starts a run and kills it. Returns whether the kill came before the end of the run.
fn kill(sandbox: &Sandbox, when: When) -> bool {
    let mut child = sandbox
        .run_command(&[Gallery::ID])
        .spawn()
        .expect("the program starts");
    match when {
        When::After(moment) => std::thread::sleep(moment),
        When::Publishing => {
            while !is_publishing(sandbox) && child.try_wait().expect("a state").is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    let running = child.try_wait().expect("a state").is_none();
    child.kill().expect("a signal");
    child.wait().expect("an end");
    running
}

/// Checks the files that mark the tree as prepared. Returns whether a tree exists that is marked incomplete.
fn check_claims(sandbox: &Sandbox, goals: &[&Goal], note: &str) -> bool {
    let state = sandbox.state(Gallery::ID);
    let tree = sandbox.tree(Gallery::ID);
    let is_whole = goals
        .iter()
        .any(|goal| goal.tree.contents() == tree.contents());
    assert!(
        is_whole || state != "prepared v1",
        "{note}: an incomplete tree is called prepared"
    );
    let sample = sandbox
        .prepared(Gallery::ID)
        .join("public/sample_submission.csv");
    // Without a sample, uses a submission without rows. The command must still report that the data are not prepared.
    let sample = match sample.exists() {
        true => sample,
        false => sandbox.write("submission.csv", "id,artist\n"),
    };
    let sample = sample.to_string_lossy();
    let grade = sandbox.prep(&["grade", Gallery::ID, &sample]);
    if state == "prepared v1" {
        assert_eq!(grade.code, Some(0), "{note}: {grade:?}");
    } else {
        assert_eq!(
            grade.code,
            Some(4),
            "{note}: graded although `{state}`: {grade:?}"
        );
    }
    state == "incomplete"
}

/// The run after a kill must produce the tree of an undisturbed run, and leave no other files.
fn check_repair(sandbox: &Sandbox, goal: &Goal, note: &str) {
    sandbox.run_and_count_steps(Gallery::ID);
    assert_eq!(
        sandbox.tree(Gallery::ID).contents(),
        goal.tree.contents(),
        "{note}"
    );
    assert_eq!(sandbox.state(Gallery::ID), "prepared v1", "{note}");
    assert_eq!(
        sandbox.names_in_home(Gallery::ID),
        ["prepared", "prepared.files", "prepared.json"],
        "{note}"
    );
}

#[test]
fn killed_first_run_leaves_no_tree_or_a_complete_one() {
    let goal = Goal::new(0, 1);
    let mut moments = Moments::new();
    let (mut number, mut hits) = (0, 0);
    let sandbox = Sandbox::new();
    goal.install(&sandbox);
    // A kill that comes too late shortens the next delays, so that a kill hits eventually.
    while number < kills() || hits == 0 {
        let note = format!("kill {number} with seed {}", moments.random.seed);
        // Keeps the cache every third time, so that the kill hits the publication.
        for (directory, goes) in [(sandbox.data(), true), (sandbox.store(), number % 3 != 2)] {
            if goes && directory.exists() {
                fs::remove_dir_all(directory).expect("remove");
            }
        }
        let when = match number % 3 {
            2 => When::Publishing,
            _ => When::After(moments.next(goal.time)),
        };
        match kill(&sandbox, when) {
            true => hits += 1,
            false => moments.too_late(),
        }
        check_claims(&sandbox, &[&goal], &note);
        check_repair(&sandbox, &goal, &note);
        number += 1;
    }
    sandbox.prep(&["cache", "verify"]).code(0);
}

#[test]
fn the_lock_file_of_a_killed_process_is_removed_by_a_run_with_nothing_to_do() {
    let sandbox = Sandbox::new();
    let goal = Goal::new(0, 1);
    goal.install(&sandbox);
    sandbox.run_and_count_steps(Gallery::ID);
    sandbox.write(&format!("data/{}/prepared.lock", Gallery::ID), "");
    check_repair(&sandbox, &goal, "a lock file");
}

#[test]
fn killed_later_run_is_marked_incomplete() {
    // Another seed moves pictures between directories. Another edition changes the content of most pictures.
    let goals = [Goal::new(0, 1), Goal::new(5, 1), Goal::new(5, 2)];
    let mut moments = Moments::new();
    let sandbox = Sandbox::new();
    goals[0].install(&sandbox);
    sandbox.run_and_count_steps(Gallery::ID);
    let (mut number, mut hits, mut incomplete) = (0, 0, 0);
    while number < kills() || incomplete == 0 {
        assert!(number < kills() + 100, "no kill interrupted a publication");
        let note = format!("kill {number} with seed {}", moments.random.seed);
        let goal = &goals[(number + 1) % goals.len()];
        let all: Vec<&Goal> = goals.iter().collect();
        goal.install(&sandbox);
        let when = match number % 3 {
            2 => When::Publishing,
            _ => When::After(moments.next(goal.time)),
        };
        match kill(&sandbox, when) {
            true => hits += 1,
            false => moments.too_late(),
        }
        if check_claims(&sandbox, &all, &note) {
            incomplete += 1;
            for verb in ["digest", "leaks"] {
                let refused = sandbox.prep(&[verb, Gallery::ID]).code(4);
                refused.stderr_has(&["are incomplete"]);
            }
        }
        if number % 2 == 0 {
            check_repair(&sandbox, goal, &note);
        } else {
            // Returns to the earlier pipeline and bundle, starting from the tree that the kill left.
            let before = &goals[number % goals.len()];
            before.install(&sandbox);
            check_repair(&sandbox, before, &note);
        }
        number += 1;
    }
    assert!(hits >= incomplete, "{hits} kills in time");
    sandbox.prep(&["cache", "verify"]).code(0);
}

/// Starts a run, waits for the first step and for `moment`, and sends a signal.
/// The program installs its signal handler before the first step.
fn interrupt(sandbox: &Sandbox, signal: &str, moment: Duration) -> CommandResult {
    let mut child = sandbox
        .run_command(&[Gallery::ID])
        .spawn()
        .expect("the program starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut text = String::new();
    while !text.contains("started") && stderr.read_line(&mut text).expect("stderr") > 0 {}
    std::thread::sleep(moment);
    Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .expect("a signal");
    stderr.read_to_string(&mut text).expect("stderr");
    let ended = CommandResult::from(child.wait_with_output().expect("an end"));
    CommandResult {
        stderr: text,
        ..ended
    }
}

#[test]
fn ctrl_c_ends_with_code_130_and_the_next_run_continues() {
    let goal = Goal::new(0, 1);
    let mut moments = Moments::new();
    for signal in ["-INT", "-TERM"] {
        let (mut stopped, mut late) = (0, 0);
        // A signal that comes too late shortens the next delays.
        while stopped < 2 {
            assert!(late < 100, "{signal} never stopped a run");
            let note = format!("{signal} with seed {}", moments.random.seed);
            let sandbox = Sandbox::new();
            goal.install(&sandbox);
            let ended = interrupt(&sandbox, signal, moments.next(goal.time));
            match ended.code {
                Some(0) => {
                    late += 1;
                    moments.too_late();
                }
                Some(130) => {
                    stopped += 1;
                    assert!(ended.stderr.contains("stopped"), "{note}: {ended:?}");
                    check_claims(&sandbox, &[&goal], &note);
                }
                _ => panic!("{note}: {ended:?}"),
            }
            check_repair(&sandbox, &goal, &note);
        }
    }
}
