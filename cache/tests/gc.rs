//! Garbage collection: removed and kept objects.

use crate::common;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::{Outcome, bytes, empty_store, entry, file_of, make_old, object_file, second_handle};
use prep_cache::{
    Digest, GcOptions, GcReport, History, HistoryScope, HistoryStep, Store, StoreError,
};

use crate::until::wait_until_open;

/// Stores an object of `len` bytes and an entry that was last used `days` days ago. Returns the key and the object.
fn step(
    store: &Store,
    name: &str,
    len: usize,
    days: u64,
) -> Result<(Digest, Digest), Box<dyn Error>> {
    let seed = name
        .bytes()
        .fold(1, |n: u64, byte| (n * 31 + u64::from(byte)) % 1_000_003);
    let object = store.put(&bytes(len, seed))?;
    let key = Digest::of_bytes(name.as_bytes());
    store.record(&key, &entry(&[object], days)?)?;
    make_old(&file_of(store, "ledger-v1", &key), days)?;
    make_old(&object_file(store, &object), days)?;
    Ok((key, object))
}

fn options(max_size: Option<u64>, keep_days: Option<u32>) -> GcOptions {
    GcOptions {
        max_size,
        keep_days,
        dry_run: false,
    }
}

/// Collects garbage. Also checks that a dry run reports the same and changes nothing.
fn collect(store: &Store, options: GcOptions) -> Result<GcReport, Box<dyn Error>> {
    let before = store.stat()?;
    let dry = store.gc(&GcOptions {
        dry_run: true,
        ..options
    })?;
    assert_eq!(store.stat()?.objects, before.objects);
    assert_eq!(store.stat()?.ledger, before.ledger);
    assert_eq!(store.stat()?.temporary, before.temporary);
    let wet = store.gc(&options)?;
    assert!(wet.failed.is_empty(), "{:?}", wet.failed);
    assert_eq!(format!("{dry:?}"), format!("{wet:?}"));
    assert_eq!(store.stat()?.objects, wet.kept);
    assert!(store.verify(false, &|_| {})?.is_clean());
    Ok(wet)
}

#[test]
fn collection_without_limits_removes_only_garbage() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (_, kept) = step(&store, "old but kept", 10, 400)?;
    let orphan = store.put(b"of a killed run")?;
    make_old(&object_file(&store, &orphan), 2)?;
    let young = store.put(b"young")?;
    let (dangling, gone) = step(&store, "its object is gone", 10, 0)?;
    fs::remove_file(object_file(&store, &gone))?;
    fs::write(store.root().join("tmp/left"), "")?;
    make_old(&store.root().join("tmp/left"), 2)?;

    let report = collect(&store, GcOptions::default())?;
    assert_eq!(report.objects, [(orphan, 15)]);
    assert_eq!((report.removed_bytes, report.freed_bytes), (15, 15));
    assert_eq!(report.entries, [dangling]);
    assert_eq!(report.leftovers, 1);
    assert!(store.len_of(&kept).is_some() && store.len_of(&young).is_some());
    assert!(!store.root().join("tmp/left").exists());
    Ok(())
}

#[test]
fn entries_unused_for_keep_days_are_removed() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (_, recent) = step(&store, "recent", 10, 3)?;
    let (old_key, old) = step(&store, "old", 10, 31)?;
    // An old entry whose object is shared with an entry that is used.
    let (sharing_key, _) = step(&store, "sharing", 10, 31)?;
    store.record(&sharing_key, &entry(&[recent], 31)?)?;
    make_old(&file_of(&store, "ledger-v1", &sharing_key), 31)?;
    // An old entry that a run used recently without a lookup.
    let (in_run_key, in_run) = step(&store, "in run", 10, 31)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let recorded = HistoryStep {
        key: in_run_key,
        record: serde_json::Value::Null,
    };
    let run = History {
        recorded: since.as_secs() - 5 * 24 * 60 * 60,
        steps: BTreeMap::from([("s".to_owned(), recorded)]),
        failed: BTreeMap::new(),
        earlier: Vec::new(),
        unpublished: None,
    };
    let scope = |variant| HistoryScope::new(variant, Path::new("/data"));
    store.set_last_run("c", &scope("v1"), &run)?;
    let ancient = History {
        recorded: 0,
        ..run.clone()
    };
    store.set_last_run("c", &scope("fixed"), &ancient)?;

    let report = collect(&store, options(None, Some(30)))?;
    let mut gone = vec![old_key, sharing_key];
    gone.sort();
    assert_eq!(report.entries, gone);
    assert_eq!(store.len_of(&old), None);
    assert!(store.len_of(&recent).is_some() && store.len_of(&in_run).is_some());
    assert_eq!(store.last_run("c", &scope("v1"))?, Some(run));
    assert_eq!(store.last_run("c", &scope("fixed"))?, None);
    Ok(())
}

#[test]
fn lookup_keeps_an_old_entry() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (key, object) = step(&store, "used again", 10, 31)?;
    store.lookup(&key)?;
    assert_eq!(collect(&store, options(None, Some(30)))?.entries, []);
    assert!(store.len_of(&object).is_some());
    Ok(())
}

#[test]
fn least_recently_used_entries_are_removed_first() -> Outcome {
    for (max_size, stay) in [
        (600, 3),
        (599, 2),
        (400, 2),
        (300, 2),
        (299, 1),
        (99, 0),
        (0, 0),
    ] {
        let (_dir, store) = empty_store()?;
        let young_orphan = store.put(&bytes(1000, 99))?;
        let steps = [
            step(&store, "newest", 100, 1)?,
            step(&store, "middle", 200, 2)?,
            step(&store, "oldest", 300, 3)?,
        ];
        collect(&store, options(Some(max_size), None))?;
        assert_eq!(
            store.len_of(&young_orphan),
            None,
            "objects without an entry are removed first"
        );
        for (n, (key, object)) in steps.iter().enumerate() {
            assert_eq!(
                store.len_of(object).is_some(),
                n < stay,
                "max_size {max_size}, step {n}"
            );
            assert_eq!(
                store.lookup(key)?.is_some(),
                n < stay,
                "max_size {max_size}, step {n}"
            );
        }
    }
    Ok(())
}

/// Without its entries, a data directory whose bundle was deleted would no longer be up to date.
#[test]
fn entries_of_the_last_run_stay_without_their_objects() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (recorded, object) = step(&store, "recorded", 100, 3)?;
    let (other, _) = step(&store, "other", 100, 1)?;
    let named = HistoryStep {
        key: recorded,
        record: serde_json::Value::Null,
    };
    let run = History {
        recorded: 1,
        steps: BTreeMap::from([("s".to_owned(), named)]),
        ..History::default()
    };
    store.set_last_run("c", &HistoryScope::new("v1", Path::new("/data")), &run)?;
    let report = collect(&store, options(Some(0), None))?;
    assert_eq!(
        (report.entries, report.discarded),
        (vec![other], vec![recorded])
    );
    assert_eq!(store.len_of(&object), None);
    // A later collection and a repair do not treat the entry as damaged.
    let report = collect(&store, options(Some(0), None))?;
    assert!(report.entries.is_empty() && report.discarded.is_empty());
    assert!(store.verify(true, &|_| {})?.is_clean());
    let entry = store.lookup(&recorded)?.ok_or("the entry is gone")?;
    assert!(entry.is_discarded && entry.outputs.values().any(|one| *one == object));
    // The removal of a competition also removes its entries.
    assert_eq!(
        store.forget(&["c"], |_| "/data".into(), false)?.entries,
        [recorded]
    );
    Ok(())
}

#[test]
fn linked_objects_are_removed_but_not_counted_as_freed() -> Outcome {
    let (dir, store) = empty_store()?;
    let (_, object) = step(&store, "linked", 1000, 5)?;
    let view = dir.path().join("view");
    store.materialise(&object, &view)?;
    let report = collect(&store, options(Some(0), None))?;
    assert_eq!((report.removed_bytes, report.freed_bytes), (1000, 0));
    assert_eq!(Digest::of_bytes(&fs::read(&view)?), object);
    Ok(())
}

#[test]
fn open_object_stays_readable_after_removal() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (_, digest) = step(&store, "open", 100_000, 5)?;
    let object = store.open_object(&digest)?;
    second_handle(&store)?.gc(&options(Some(0), None))?;
    assert_eq!(store.len_of(&digest), None);
    let mut read = Vec::new();
    std::io::Read::read_to_end(&mut object.reader(), &mut read)?;
    assert_eq!(Digest::of_bytes(&read), digest);
    Ok(())
}

#[test]
fn run_prevents_collection() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (_, object) = step(&store, "in use", 10, 400)?;
    let guards = (store.in_use()?, second_handle(&store)?.in_use()?);
    let refused = second_handle(&store)?.gc(&options(Some(0), None));
    assert!(matches!(refused, Err(StoreError::InUse { .. })));
    assert!(store.len_of(&object).is_some());
    drop(guards);
    store.gc(&options(Some(0), None))?;
    assert_eq!(store.len_of(&object), None);
    Ok(())
}

#[test]
fn records_of_removed_source_files_are_removed() -> Outcome {
    let (dir, store) = empty_store()?;
    let (kept, gone) = (dir.path().join("kept.zip"), dir.path().join("gone.zip"));
    for path in [&kept, &gone] {
        fs::write(path, "bundle")?;
        store.ingest(path, true, &|_| Ok(()))?;
    }
    // If the directory is missing, the file may be on a disk that is not mounted.
    let disk = dir.path().join("disk");
    fs::create_dir(&disk)?;
    fs::write(disk.join("a.zip"), "bundle")?;
    store.ingest(&disk.join("a.zip"), true, &|_| Ok(()))?;
    // A record with a name remains after its file is removed.
    let named = store.ingest(&gone, true, &|_| Ok(()))?;
    store.name_source("a competition", &named)?;
    fs::remove_file(&gone)?;
    fs::rename(&disk, dir.path().join("unmounted"))?;
    assert_eq!(collect(&store, GcOptions::default())?.records.len(), 1);
    assert_eq!(store.stat()?.sources.files, 3);
    assert!(store.source(&kept)?.is_some());
    let digests = |name: &str| {
        let found = store.named_sources(name)?;
        let contents = found.into_iter().map(|one| (one.digest, one.md5));
        Ok::<_, Box<dyn std::error::Error>>(contents.collect::<Vec<_>>())
    };
    let named = (named.digest, named.md5);
    assert_eq!(digests("a competition")?, std::slice::from_ref(&named));
    assert_eq!(digests("another")?, []);
    // A content from which results were produced is not replaced by a content that was only read.
    let confirmed = store.named_sources("a competition")?;
    store.confirm_source("a competition", confirmed.first().ok_or("no record")?)?;
    fs::write(&gone, "another bundle")?;
    let other = store.ingest(&gone, true, &|_| Ok(()))?;
    store.name_source("a competition", &other)?;
    let seen = (other.digest, other.md5.clone());
    assert_eq!(digests("a competition")?, [named, seen.clone()]);
    store.confirm_source("a competition", &other)?;
    assert_eq!(digests("a competition")?, [seen.clone(), seen]);
    Ok(())
}

#[test]
fn lock_files_are_removed_unless_held() -> Outcome {
    let (_dir, store) = empty_store()?;
    let locks = || Ok::<_, std::io::Error>(fs::read_dir(store.root().join("locks"))?.count());
    let held = store.lock("held")?;
    drop(store.lock("free")?);
    assert_eq!(locks()?, 2);
    store.gc(&GcOptions::default())?;
    assert_eq!(locks()?, 2, "the held lock and the collector's lock");
    assert!(store.try_lock("held")?.is_none());
    drop(held);
    assert!(store.try_lock("held")?.is_some());
    Ok(())
}

#[test]
fn waiting_for_a_removed_lock_file_continues_with_the_new_one() -> Outcome {
    let (_dir, store) = empty_store()?;
    let first = store.lock("name")?;
    let (locked, was_locked) = std::sync::mpsc::channel();
    let waiting = store.clone();
    let waiter = std::thread::spawn(move || {
        let guard = waiting.lock("name");
        let sent = locked.send(());
        guard.is_ok() && sent.is_ok()
    });
    let path = store.root().join("locks");
    wait_until_open(std::process::id(), &path, 2);
    // Remove the lock file, as a collector would if it got the lock between the two holders.
    for file in fs::read_dir(store.root().join("locks"))? {
        fs::remove_file(file?.path())?;
    }
    let second = store.lock("name")?;
    drop(first);
    let early = was_locked.recv_timeout(Duration::from_millis(100));
    assert!(early.is_err(), "the lock has two holders");
    drop(second);
    assert!(waiter.join().is_ok_and(|locked| locked));
    Ok(())
}

#[test]
fn damaged_objects_are_removed_after_a_day() -> Outcome {
    let (_dir, store) = empty_store()?;
    let quarantine = store.root().join("quarantine");
    let nanos = |hours: u64| {
        let then = SystemTime::now() - Duration::from_secs(hours * 3600);
        then.duration_since(SystemTime::UNIX_EPOCH)
            .map(|since| since.as_nanos())
    };
    let old = format!("{}-{}", Digest::of_bytes(b"a"), nanos(25)?);
    let new = format!("{}-{}", Digest::of_bytes(b"b"), nanos(23)?);
    for name in [&*old, &*new, "a note"] {
        fs::write(quarantine.join(name), "12345")?;
        make_old(&quarantine.join(name), 40)?;
    }
    assert_eq!(store.quarantined()?.files, 3);
    let report = collect(&store, options(None, None))?;
    assert_eq!(report.quarantined, [quarantine.join(&old)]);
    assert_eq!((report.removed_bytes, report.freed_bytes), (5, 5));
    assert!(quarantine.join(new).exists() && quarantine.join("a note").exists());
    assert_eq!(store.quarantined()?.files, 2);
    Ok(())
}

#[test]
fn member_lists_of_bundles_are_counted_and_removed() -> Outcome {
    let (_dir, store) = empty_store()?;
    let lists = Store::bundle_lists(store.root());
    for (name, days) in [
        ("aa.gz", 1),
        ("bb.gz", 40),
        ("cc.7.part", 2),
        ("dd.8.part", 0),
    ] {
        fs::write(lists.join(name), "12345")?;
        make_old(&lists.join(name), days)?;
    }
    let stat = store.stat()?;
    assert_eq!((stat.bundles.files, stat.bundles.bytes), (4, 20));
    let report = collect(&store, options(None, Some(30)))?;
    assert_eq!(
        report.records,
        [lists.join("bb.gz"), lists.join("cc.7.part")]
    );
    let left = fs::read_dir(&lists)?.map(|entry| Ok(entry?.file_name()));
    let mut left: Vec<_> = left.collect::<Result<_, std::io::Error>>()?;
    left.sort();
    assert_eq!(left, ["aa.gz", "dd.8.part"]);
    Ok(())
}
