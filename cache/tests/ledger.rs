//! The ledger and the history.

use crate::common;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::{Outcome, count, empty_store, entry, file_of, make_old, object_file, second_handle};
use prep_cache::{Digest, FailedStep, GcOptions, History, HistoryScope, HistoryStep, Store};
use serde_json::json;

fn age_in_days(path: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let age = SystemTime::now().duration_since(path.metadata()?.modified()?);
    Ok(age.unwrap_or(Duration::ZERO).as_secs() / (24 * 60 * 60))
}

#[test]
fn an_entry_round_trips_and_can_be_replaced() -> Outcome {
    let (_dir, store) = empty_store()?;
    let key = Digest::of_bytes(b"key");
    assert_eq!(store.lookup(&key)?, None);
    let mut written = entry(&[store.put(b"a")?, store.put(b"b")?], 0)?;
    written.record =
        json!({"text": "\u{0}\n\"ü\u{1F600}", "float": 0.1, "big": u64::MAX, "z": 1, "a": [null]});
    written.references = vec![Digest::of_bytes(b"r2"), Digest::of_bytes(b"r1")];
    store.record(&key, &written)?;
    assert_eq!(
        second_handle(&store)?.lookup(&key)?.as_ref(),
        Some(&written)
    );
    written.millis = 99;
    store.record(&key, &written)?;
    assert_eq!(store.lookup(&key)?, Some(written));
    assert_eq!(count(&store, "tmp")?, 0);
    Ok(())
}

#[test]
fn entry_with_removed_objects_is_incomplete() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (a, b, c) = (store.put(b"a")?, store.put(b"b")?, store.put(b"c")?);
    let mut written = entry(&[a, b], 0)?;
    written.references = vec![c];
    assert_eq!(store.missing(&written), []);
    fs::remove_file(object_file(&store, &c))?;
    fs::remove_file(object_file(&store, &a))?;
    assert_eq!(store.missing(&written), [a, c]);
    Ok(())
}

#[test]
fn unstored_objects_are_missing_but_not_reported_by_verify() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (key, unstored) = (Digest::of_bytes(b"key"), Digest::of_bytes(b"unstored"));
    let mut written = entry(&[store.put(b"a")?], 0)?;
    written.unstored = vec![unstored];
    store.record(&key, &written)?;
    assert_eq!(store.missing(&written), [unstored]);
    assert_eq!(store.missing_locally(&written), []);
    assert!(store.verify(true, &|_| {})?.is_clean());
    assert!(store.gc(&GcOptions::default())?.entries.is_empty());
    assert_eq!(store.lookup(&key)?, Some(written.clone()));
    store.put(b"unstored")?;
    assert_eq!(store.missing(&written), []);
    Ok(())
}

#[test]
fn lookup_updates_the_last_use_once_a_day() -> Outcome {
    let (_dir, store) = empty_store()?;
    let key = Digest::of_bytes(b"key");
    store.record(&key, &entry(&[], 9)?)?;
    let path = file_of(&store, "ledger-v1", &key);

    make_old(&path, 9)?;
    let reader = Store::open_existing(store.root())?.ok_or("the store is missing")?;
    reader.lookup(&key)?;
    assert_eq!(
        age_in_days(&path)?,
        9,
        "a read-only handle does not update the time"
    );
    store.lookup(&key)?;
    assert_eq!(age_in_days(&path)?, 0);
    let renewed = path.metadata()?.modified()?;
    store.lookup(&key)?;
    assert_eq!(
        path.metadata()?.modified()?,
        renewed,
        "the time is updated at most once a day"
    );
    Ok(())
}

#[test]
fn history_round_trips_by_competition_variant_and_directory() -> Outcome {
    let (_dir, store) = empty_store()?;
    let run = |n: u64| History {
        recorded: n,
        steps: BTreeMap::from([(
            format!("step {n}"),
            HistoryStep {
                key: Digest::of_bytes(&n.to_le_bytes()),
                record: json!({"n": n}),
            },
        )]),
        failed: BTreeMap::from([(
            "check".to_owned(),
            FailedStep {
                record: json!({"n": n}),
                message: "no".to_owned(),
            },
        )]),
        earlier: Vec::new(),
        unpublished: None,
    };
    // Names that are equal when concatenated, and names that are invalid as file names.
    let names = [
        ("a", "v1", "/data"),
        ("a", "v1", "/other"),
        ("a", "fixed", "/data"),
        ("a v1", "v1", "/data"),
        ("a", "v1 v1", "/data"),
        ("../x", "\0/", "/data"),
    ];
    let scope = |variant: &str, directory: &str| HistoryScope::new(variant, Path::new(directory));
    for (n, (competition, variant, directory)) in (0..).zip(names) {
        let scope = scope(variant, directory);
        assert_eq!(store.last_run(competition, &scope)?, None);
        store.set_last_run(competition, &scope, &run(n))?;
    }
    for (n, (competition, variant, directory)) in (0..).zip(names) {
        let scope = scope(variant, directory);
        let found = second_handle(&store)?.last_run(competition, &scope)?;
        assert_eq!(found, Some(run(n)));
    }
    let first = scope("v1", "/data");
    store.set_last_run("a", &first, &run(77))?;
    assert_eq!(store.last_run("a", &first)?, Some(run(77)));
    let mut history = run(1);
    for n in [1, 2, 2, 3] {
        history = history.followed_by(n, run(n).steps, run(n).failed);
    }
    let earlier: Vec<u64> = history.earlier.iter().map(|run| run.recorded).collect();
    assert_eq!((history.recorded, earlier), (3, vec![2, 1]));
    let attempt = history.clone();
    let attempt = attempt.followed_by_unpublished(9, &run(9).steps, run(9).failed);
    assert_eq!((attempt.recorded, &attempt.steps), (3, &history.steps));
    assert_eq!(attempt.failed, run(9).failed);
    assert_eq!(attempt.earlier, history.earlier);
    assert!(attempt.keys().any(|key| key == run(9).steps["step 9"].key));
    for n in 4..100 {
        history = history.followed_by(n, run(n).steps, run(n).failed);
    }
    assert_eq!(history.earlier.len(), 20);
    Ok(())
}
