//! Damaged objects and records are detected, reported and repaired, and never returned.

use crate::common;
use std::fs;
use std::io::Write;

use common::{
    Outcome, bytes, count, empty_store, entry, file_of, flip, object_file, second_handle, set_len,
};
use prep_cache::{Digest, LinkMode, Store, StoreError};

type Damage = fn(&Store, &Digest) -> Outcome;

const DAMAGES: [(&str, Damage); 6] = [
    ("first byte flipped", |s, d| flip(&object_file(s, d), 0)),
    ("last byte flipped", |s, d| {
        let len = s.len_of(d).ok_or("absent")?;
        flip(&object_file(s, d), len - 1)
    }),
    ("one byte shorter", |s, d| {
        let len = s.len_of(d).ok_or("absent")?;
        set_len(&object_file(s, d), len - 1)
    }),
    ("emptied", |s, d| set_len(&object_file(s, d), 0)),
    ("one byte longer", |s, d| {
        let len = s.len_of(d).ok_or("absent")?;
        set_len(&object_file(s, d), len + 1)
    }),
    ("replaced by a directory", |s, d| {
        fs::remove_file(object_file(s, d))?;
        Ok(fs::create_dir(object_file(s, d))?)
    }),
];

#[test]
fn damaged_object_is_never_returned() -> Outcome {
    for len in [1, 1000, 70_000, 3_000_000] {
        for (name, damage) in DAMAGES {
            for method in 0..3 {
                let (dir, store) = empty_store()?;
                let content = bytes(len, 5);
                let digest = store.put(&content)?;
                damage(&store, &digest)?;
                let other = second_handle(&store)?;
                let dest = dir.path().join("dest");
                let error = match method {
                    0 => other.open_object(&digest).err(),
                    1 => other.read(&digest).err(),
                    _ => other.materialise(&digest, &dest).err(),
                };
                let Some(StoreError::Damaged {
                    quarantined: Some(kept),
                    ..
                }) = error
                else {
                    return Err(format!("{len} bytes, {name}, method {method}: {error:?}").into());
                };
                assert!(kept.exists() && !dest.exists());
                assert_eq!(other.len_of(&digest), None);
                assert_eq!(other.put(&content)?, digest);
                assert_eq!(second_handle(&store)?.read(&digest)?, content);
            }
        }
    }
    Ok(())
}

#[test]
fn damage_through_a_hard_link_is_detected_in_the_same_process() -> Outcome {
    let (dir, store) = empty_store()?;
    let digest = store.put(&bytes(5000, 1))?;
    let dest = dir.path().join("view");
    store.materialise(&digest, &dest)?;
    store.open_object(&digest)?;
    std::thread::sleep(std::time::Duration::from_millis(20));
    flip(&dest, 100)?;
    assert!(matches!(
        store.open_object(&digest),
        Err(StoreError::Damaged { .. })
    ));
    Ok(())
}

#[test]
fn committing_replaces_a_damaged_object() -> Outcome {
    for (name, damage) in DAMAGES {
        let (_dir, store) = empty_store()?;
        let content = bytes(1000, 9);
        let digest = store.put(&content)?;
        damage(&store, &digest)?;
        let other = second_handle(&store)?;
        let mut writer = other.writer()?;
        writer.write_all(&content)?;
        writer.commit()?;
        assert_eq!(other.read(&digest)?, content, "{name}");
        assert_eq!(count(&store, "quarantine")?, 1, "{name}");
    }
    Ok(())
}

#[test]
fn read_only_store_reports_damage_and_moves_nothing() -> Outcome {
    let (_dir, store) = empty_store()?;
    let digest = store.put(b"12345")?;
    flip(&object_file(&store, &digest), 2)?;
    let reader = Store::open_existing(store.root())?.ok_or("the store is missing")?;
    for _ in 0..2 {
        let error = reader.read(&digest).err();
        assert!(matches!(
            error,
            Some(StoreError::Damaged {
                quarantined: None,
                ..
            })
        ));
    }
    assert!(object_file(&store, &digest).exists());
    Ok(())
}

#[test]
fn garbled_entry_is_treated_as_absent() -> Outcome {
    let (_dir, store) = empty_store()?;
    let (key, other_key) = (Digest::of_bytes(b"key"), Digest::of_bytes(b"other"));
    let written = entry(&[store.put(b"out")?], 0)?;
    store.record(&key, &written)?;
    let path = file_of(&store, "ledger-v1", &key);
    let entry_bytes = fs::read(&path)?;
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    for len in 0..entry_bytes.len() {
        fs::write(&path, &entry_bytes[..len])?;
        assert_eq!(store.lookup(&key)?, None, "cut to {len}");
    }
    for at in 0..entry_bytes.len() {
        let mut changed = entry_bytes.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed)?;
        assert_eq!(store.lookup(&key)?, None, "byte {at} changed");
    }
    fs::write(&path, &entry_bytes)?;
    assert_eq!(store.lookup(&key)?, Some(written));
    let wrong_place = file_of(&store, "ledger-v1", &other_key);
    fs::create_dir_all(wrong_place.parent().ok_or("has a parent")?)?;
    fs::copy(&path, &wrong_place)?;
    assert_eq!(store.lookup(&other_key)?, None);
    Ok(())
}

#[test]
fn verify_reports_all_damage_and_repairs_it() -> Outcome {
    let (_dir, store) = empty_store()?;
    let [good, bad, lost] = [b"good", b"bad!", b"lost"].map(|content| store.put(content));
    let (good, bad, lost) = (good?, bad?, lost?);
    let keys = [b"k0", b"k1", b"k2", b"k3"].map(|key| Digest::of_bytes(key));
    store.record(&keys[0], &entry(&[good], 0)?)?;
    store.record(&keys[1], &entry(&[good, bad], 0)?)?;
    let mut refers = entry(&[good], 0)?;
    refers.references.push(lost);
    store.record(&keys[2], &refers)?;
    store.record(&keys[3], &entry(&[good], 0)?)?;
    assert!(store.verify(false, &|_| {})?.is_clean());

    flip(&object_file(&store, &bad), 0)?;
    fs::remove_file(object_file(&store, &lost))?;
    set_len(&file_of(&store, "ledger-v1", &keys[3]), 80)?;
    fs::write(store.root().join("objects-v1/notes.txt"), "foreign")?;

    let mut dangling = vec![keys[1], keys[2]];
    dangling.sort();
    for repair in [false, true] {
        let hashed = std::sync::atomic::AtomicU64::new(0);
        let report = store.verify(repair, &|bytes| {
            hashed.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        })?;
        assert!(!report.is_clean());
        assert_eq!(report.damaged, [bad]);
        assert_eq!(report.missing, [lost]);
        assert_eq!(report.dangling, dangling);
        assert_eq!(report.garbled, [file_of(&store, "ledger-v1", &keys[3])]);
        assert_eq!(report.foreign, [store.root().join("objects-v1/notes.txt")]);
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        assert_eq!((report.checked.files, report.checked.bytes), (2, 8));
        assert_eq!(hashed.into_inner(), 8);
        assert_eq!(report.entries, 3);
    }
    let after = store.verify(false, &|_| {})?;
    assert!(after.is_clean(), "{after:?}");
    assert_eq!(after.foreign.len(), 1);
    assert!(store.lookup(&keys[0])?.is_some());
    assert_eq!(count(&store, "quarantine")?, 1);
    Ok(())
}

#[test]
fn copied_file_is_independent_of_the_store() -> Outcome {
    let (dir, store) = empty_store()?;
    let digest = store.put(b"abc")?;
    let dest = dir.path().join("copy");
    assert_eq!(
        store.materialise_as(&digest, &dest, LinkMode::Copy)?,
        LinkMode::Copy
    );
    flip(&dest, 0)?;
    assert_eq!(second_handle(&store)?.read(&digest)?, b"abc");
    Ok(())
}
