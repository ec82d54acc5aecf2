//! Tests the guarantees of a sink.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use prep_cache::{Digest, LockGuard, try_lock_at};
use prep_core::{Context, Inputs, Sink, StepError};

use crate::Violation;
use crate::environment::{Environment, LIMITS, files};
use crate::violation::{OrViolation, expect};

/// A sink, its inputs, and a way to damage its target.
pub struct SinkCase<'a> {
    /// Its target must not exist yet.
    pub sink: &'a dyn Sink,
    /// The directory that the sink writes.
    pub target: &'a Path,
    /// Creates the inputs in the cache of a context.
    pub inputs: &'a dyn Fn(&Context) -> Result<Inputs, StepError>,
    /// Damages the target, as another program could.
    pub damage: &'a dyn Fn() -> io::Result<()>,
}

/// Tests a sink.
///
/// - After a complete run with a key, the target is current for this key. The target is not current before the run, for
///   another key, or after damage.
/// - A run repairs damage, and a repeated run changes no byte.
/// - A cancelled run does not make the target current.
///
/// # Errors
/// Returns the first guarantee that the sink does not give.
pub fn check_sink(case: &SinkCase<'_>) -> Result<(), Violation> {
    let environment = Environment::new(LIMITS[1])?;
    let (key, other) = (
        Digest::of_bytes(b"one state"),
        Digest::of_bytes(b"another state"),
    );
    let current = |key: &Digest| {
        let difference = case.sink.difference(&environment.new_run(), key);
        let difference = difference.or_violation("`difference` succeeds")?;
        Ok(difference.is_none())
    };
    let expect_state = |key: &Digest, expected: bool, when: &'static str| {
        let is_current = current(key)?;
        expect(is_current == expected, CURRENT, || {
            format!("after {when}, the target is current: {is_current}")
        })
    };
    let inputs = (case.inputs)(&environment.context).or_violation("the inputs can be created")?;
    let run = |context: &Context| {
        let _lock = lock(case)?;
        case.sink
            .run(context, &key, &inputs)
            .or_violation("the sink succeeds")
    };
    let content = || files(case.target).or_violation("the target is a directory");

    expect_state(&key, false, "no run")?;
    let guard = lock(case)?;
    let stopped = case.sink.run(&environment.cancelled_run(), &key, &inputs);
    expect(
        stopped.is_err(),
        "a sink stops when the run was cancelled",
        || "it succeeded".to_owned(),
    )?;
    drop(guard);
    expect_state(&key, false, "a run that was cancelled")?;
    run(&environment.new_run())?;
    expect_state(&key, true, "a complete run")?;
    expect_state(&other, false, "a run with another key")?;
    let written = content()?;
    run(&environment.new_run())?;
    expect_same(&written, &content()?, "a repeated run changes no byte")?;

    (case.damage)().or_violation("the target can be damaged")?;
    expect_state(&key, false, "damage by another program")?;
    run(&environment.new_run())?;
    expect_state(&key, true, "a repair")?;
    expect_same(&written, &content()?, "a run repairs damage")
}

const CURRENT: &str = "a target is current only after a complete run with its key";

fn lock(case: &SinkCase<'_>) -> Result<Option<LockGuard>, Violation> {
    const FREE: &str = "the lock of the target can be taken";
    let Some(path) = case.sink.lock() else {
        return Ok(None);
    };
    // The engine creates the directory before it takes the lock.
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).or_violation(FREE)?;
    }
    match try_lock_at(&path).or_violation(FREE)? {
        Some(guard) => Ok(Some(guard)),
        None => Err(Violation::new(FREE, path.display())),
    }
}

fn expect_same(
    before: &BTreeMap<String, Digest>,
    after: &BTreeMap<String, Digest>,
    guarantee: &'static str,
) -> Result<(), Violation> {
    let names = before.keys().chain(after.keys());
    let changed: Vec<&str> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(String::as_str)
        .collect();
    expect(changed.is_empty(), guarantee, || changed.join(", "))
}
