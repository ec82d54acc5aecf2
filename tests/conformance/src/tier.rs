//! Tests the guarantees of a tier.

use std::collections::BTreeMap;

use prep_cache::{Digest, LedgerEntry, Offer, StepResult, Store, StoreError};
use prep_core::chain;

use crate::Violation;
use crate::environment::{Environment, LIMITS};
use crate::violation::{OrViolation, expect};

/// Two machines that share a tier.
pub struct TierCase<'a> {
    /// Returns the cache of a machine that computes results, with the tier added.
    pub writer: &'a dyn Fn(&Store) -> Store,
    /// Returns the cache of another machine, with the tier added. This machine trusts the writer.
    pub reader: &'a dyn Fn(&Store) -> Store,
    /// Waits until other machines can read all offered results.
    pub flush: &'a dyn Fn(),
    /// Changes the bytes of an object in the shared storage.
    pub damage: &'a dyn Fn(&Digest),
}

/// Tests a tier.
///
/// - Other machines find an offered result and its objects, with the same bytes.
/// - A key that nobody offered has no entry, and an unknown object is missing.
/// - A second offer of the same key does not change the entry.
/// - The tier reports damaged objects as missing, so that the engine computes them again.
///
/// # Errors
/// Returns the first guarantee that the tier does not give.
pub fn check_tier(case: &TierCase<'_>) -> Result<(), Violation> {
    let one = Environment::new(LIMITS[1])?;
    let writer = (case.writer)(&one.context.store);
    let content = b"content of a result".repeat(10_000);
    let (key, entry) = offer(&writer, &content)?;
    (case.flush)();
    let machine = Environment::new(LIMITS[1])?;
    check_unknown(&(case.reader)(&machine.context.store))?;
    check_found(case, &key, &entry, &content)?;

    offer(&writer, &content)?;
    (case.flush)();
    check_found(case, &key, &entry, &content)?;

    entry.objects().for_each(case.damage);
    let machine = Environment::new(LIMITS[1])?;
    let reader = (case.reader)(&machine.context.store);
    find(&reader, &key)?;
    for object in entry.objects() {
        let read = reader.read(object);
        expect(read.is_err(), "damaged bytes are never returned", || {
            format!("{object} was returned")
        })?;
        let missing = reader.missing(&entry);
        expect(
            missing.contains(object),
            "a damaged object is missing",
            || format!("{object} is not reported as missing"),
        )?;
    }
    Ok(())
}

fn check_unknown(store: &Store) -> Result<(), Violation> {
    let unknown = Digest::of_bytes(b"never offered");
    let found = find(store, &unknown)?;
    expect(found.is_none(), "an unknown key has no entry", || {
        format!("{found:?}")
    })?;
    let read = store.read(&unknown);
    let is_missing = matches!(read, Err(StoreError::Missing { .. }));
    expect(is_missing, "an unknown object is missing", || {
        read.map_or_else(
            |error| chain(&error),
            |bytes| format!("{} bytes", bytes.len()),
        )
    })
}

/// Stores a result as the engine does, and offers it.
fn offer(store: &Store, content: &[u8]) -> Result<(Digest, LedgerEntry), Violation> {
    const STORED: &str = "a result can be stored";
    let object = store.put(content).or_violation(STORED)?;
    let record = serde_json::json!({ "step": STEP });
    let key = Digest::of_bytes(prep_core::canonical(&record).as_bytes());
    let entry = LedgerEntry {
        record,
        outputs: BTreeMap::from([("value".to_owned(), object)]),
        references: Vec::new(),
        unstored: Vec::new(),
        created: 1,
        millis: 1,
        lengths: Vec::new(),
        is_remote: false,
        is_discarded: false,
    };
    store.record(&key, &entry).or_violation(STORED)?;
    store.offer(|| Offer {
        key,
        entry: entry.clone(),
        competition: COMPETITION.to_owned(),
        step: STEP.to_owned(),
        given: Vec::new(),
    });
    Ok((key, entry))
}

const COMPETITION: &str = "competition";
const STEP: &str = "step";

fn find(store: &Store, key: &Digest) -> Result<Option<StepResult>, Violation> {
    let found = store.find(key, COMPETITION);
    found.or_violation("a tier handles its own errors")
}

/// Checks that a machine with an empty cache finds a result.
fn check_found(
    case: &TierCase<'_>,
    key: &Digest,
    entry: &LedgerEntry,
    content: &[u8],
) -> Result<(), Violation> {
    const FOUND: &str = "an offered result is found on another machine";
    let machine = Environment::new(LIMITS[1])?;
    let store = (case.reader)(&machine.context.store);
    let Some(found) = find(&store, key)? else {
        return Err(Violation::new(FOUND, "no entry"));
    };
    expect(found.outputs == entry.outputs, FOUND, || {
        format!("{found:?}")
    })?;
    for object in found.objects() {
        let bytes = store.read(object).or_violation(FOUND)?;
        expect(bytes == content, FOUND, || {
            format!("{} bytes that differ", bytes.len())
        })?;
    }
    Ok(())
}
