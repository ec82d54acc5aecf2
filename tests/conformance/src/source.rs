//! Tests the guarantees of a source.

use prep_core::{Context, Source, SourceState};

use crate::Violation;
use crate::environment::{Environment, LIMITS};
use crate::violation::{OrViolation, expect};

/// A source, and ways to change it.
pub struct SourceCase<'a> {
    /// Creates the source. The test calls this function for each run. The content of the source must exist locally, on
    /// a server or in a remote.
    pub source: &'a dyn Fn() -> Box<dyn Source>,
    /// Replaces the content on this machine. The length may stay the same.
    pub change: &'a dyn Fn(),
    /// Removes the content from this machine, and makes it unavailable everywhere else.
    pub remove: &'a dyn Fn(),
}

/// Tests a source.
///
/// - Before a run, [`Source::state`] writes nothing into the cache except records of sources.
///   If the state is known, its digest is that of the value that the run returns.
/// - After [`Source::run`], the state is known, and its digest is that of the value.
/// - A second run returns the same value.
/// - Changed content gives a different digest of the state, and a run returns a different value.
/// - Without the content and with an empty cache, the state is [`SourceState::Missing`], and a run returns an error.
///
/// # Errors
/// Returns the first guarantee that the source does not give.
pub fn check_source(case: &SourceCase<'_>) -> Result<(), Violation> {
    let SourceCase {
        source,
        change,
        remove,
    } = *case;
    let environment = Environment::new(LIMITS[1])?;
    let state = |context: &Context| source().state(context).or_violation("`state` succeeds");
    let files = || {
        let mut files = environment.files()?;
        files.retain(|path, _| !path.contains(SOURCE_RECORDS));
        Ok(files)
    };
    let before = files()?;
    let first = state(&environment.context)?;
    expect(
        before == files()?,
        "checking the state of a source writes only records of sources",
        || "other files of the cache have changed".to_owned(),
    )?;

    let read = |context: &Context| source().run(context).or_violation("`run` succeeds");
    let value = read(&environment.new_run())?.digest();
    if matches!(first, SourceState::Known { .. }) {
        check_known(&first, value)?;
    }
    check_known(&state(&environment.new_run())?, value)?;
    let again = read(&environment.new_run())?.digest();
    expect(
        value == again,
        "reading an unchanged source again returns the same value",
        || format!("{value}, then {again}"),
    )?;

    change();
    let changed = state(&environment.new_run())?;
    expect(
        changed != SourceState::Known { value },
        "the state of a changed source does not have the old digest",
        || format!("{changed:?}"),
    )?;
    let other = read(&environment.new_run())?.digest();
    expect(
        other != value,
        "a changed source has a different value",
        || format!("both values are {value}"),
    )?;
    check_known(&state(&environment.new_run())?, other)?;

    remove();
    let empty = Environment::new(LIMITS[0])?;
    let missing = state(&empty.context)?;
    expect(
        missing == SourceState::Missing,
        "a removed source is missing",
        || format!("{missing:?}"),
    )?;
    expect(
        source().run(&empty.context).is_err(),
        "a missing source cannot be read",
        || "it returned a value".to_owned(),
    )
}

const SOURCE_RECORDS: &str = "sources-v1";

fn check_known(state: &SourceState, value: prep_cache::Digest) -> Result<(), Violation> {
    expect(
        *state == SourceState::Known { value },
        "a known state has the digest of the value",
        || format!("{state:?} instead of {value}"),
    )
}
