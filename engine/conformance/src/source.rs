//! Guarantees of a source.

use prep_core::{Context, Source, SourceState};

use crate::Violation;
use crate::violation::{OrViolation, expect};
use crate::world::{LIMITS, World};

/// A source, and ways to change it.
pub struct SourceCase<'a> {
    /// The source. It exists.
    pub source: &'a dyn Source,
    /// Changes the content. Its length may stay the same.
    pub change: &'a dyn Fn(),
    /// Removes the content.
    pub remove: &'a dyn Fn(),
}

/// Tests a source.
///
/// - [`Source::state`] writes nothing into the store.
/// - After [`Source::run`], the state is known, and its digest is that of the value.
/// - A second run returns the same value.
/// - After a change, the old digest is not reported, and another value is read.
/// - Once its content is removed, an empty store has no state of it, and `run` returns an error.
///
/// # Errors
/// The first guarantee that does not hold.
pub fn check_source(case: &SourceCase<'_>) -> Result<(), Violation> {
    let SourceCase {
        source,
        change,
        remove,
    } = *case;
    let world = World::new(LIMITS[1])?;
    let state = |context: &Context| source.state(context).or_violation("a source has a state");
    let before = world.files()?;
    let first = state(&world.context)?;
    expect(
        matches!(first, SourceState::Unread { .. }),
        "a source that was never read is unread",
        || format!("{first:?}"),
    )?;
    expect(
        before == world.files()?,
        "looking at a source writes nothing",
        || "files of the store have changed".to_owned(),
    )?;

    let read = |context: &Context| source.run(context).or_violation("a source can be read");
    let value = read(&world.new_run())?.digest();
    check_known(&state(&world.new_run())?, value)?;
    let again = read(&world.new_run())?.digest();
    expect(value == again, "an unchanged source has one value", || {
        format!("{value}, then {again}")
    })?;

    change();
    let changed = state(&world.new_run())?;
    expect(
        changed != SourceState::Known { value },
        "a changed source does not have the state of its old content",
        || format!("{changed:?}"),
    )?;
    let other = read(&world.new_run())?.digest();
    expect(other != value, "a changed source has another value", || {
        format!("{value}, as before")
    })?;
    check_known(&state(&world.new_run())?, other)?;

    remove();
    let empty = World::new(LIMITS[0])?;
    let missing = state(&empty.context)?;
    expect(
        missing == SourceState::Missing,
        "a removed source is missing",
        || format!("{missing:?}"),
    )?;
    expect(
        source.run(&empty.context).is_err(),
        "a missing source cannot be read",
        || "it returned a value".to_owned(),
    )
}

fn check_known(state: &SourceState, value: prep_cache::Digest) -> Result<(), Violation> {
    expect(
        *state == SourceState::Known { value },
        "the state of a source that was read is the digest of its value",
        || format!("{state:?} instead of {value}"),
    )
}
