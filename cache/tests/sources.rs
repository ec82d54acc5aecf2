//! Digests of files outside the store.

use crate::common;
use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use common::{Outcome, bytes, empty_store, second_handle};
use prep_cache::{Digest, StoreError, Threads};

#[test]
fn blake3_and_md5_are_computed_in_one_pass() -> Outcome {
    // The MD5 values are from RFC 1321, A.5.
    let known = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ];
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    for (content, md5) in known {
        fs::write(&path, content)?;
        for store in [store.clone(), store.with_threads(Threads::new(0))] {
            let record = store.ingest(&path, true, &|_| Ok(()))?;
            assert_eq!(record.md5.as_deref(), Some(md5));
            assert_eq!(record.digest, Digest::of_bytes(content.as_bytes()));
            assert_eq!(record.len(), content.len() as u64);
        }
    }
    Ok(())
}

#[test]
fn chunks_of_a_long_file_are_hashed_in_order() -> Outcome {
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    let content = bytes(12_345_678, 8);
    fs::write(&path, &content)?;
    let seen = Cell::new(0);
    let record = store.ingest(&path, true, &|bytes| {
        seen.set(seen.get() + bytes);
        Ok(())
    })?;
    assert_eq!(record.digest, Digest::of_bytes(&content));
    // `md5sum` printed this MD5 for the same bytes, which a Python program had generated.
    assert_eq!(
        record.md5.as_deref(),
        Some("c203f2ed5f6926bc9d33aa1e9f875a5f")
    );
    assert_eq!(seen.get(), 12_345_678);
    Ok(())
}

#[test]
fn md5_is_computed_only_on_request() -> Outcome {
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    fs::write(&path, "abc")?;
    let without = store.ingest(&path, false, &|_| Ok(()))?;
    assert_eq!(without.md5, None);
    assert_eq!(without.digest, Digest::of_bytes(b"abc"));
    assert_eq!(store.source(&path)?, Some(without));
    let with = store.ingest(&path, true, &|_| Ok(()))?;
    assert!(with.md5.is_some());
    assert_eq!(store.source(&path)?, Some(with));
    Ok(())
}

#[test]
fn records_are_stored_under_the_canonical_path() -> Outcome {
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    fs::write(&path, "content")?;
    assert_eq!(store.source(&path)?, None);
    let record = store.ingest(&path, true, &|_| Ok(()))?;
    let link = dir.path().join("link.zip");
    symlink(&path, &link)?;
    for name in [path.clone(), link, dir.path().join("./store/../bundle.zip")] {
        assert_eq!(
            second_handle(&store)?.source(&name)?.as_ref(),
            Some(&record)
        );
    }
    let absent = store.source(&dir.path().join("absent"));
    assert!(matches!(absent, Err(StoreError::Io { .. })));
    Ok(())
}

#[test]
fn recently_modified_file_is_read_after_a_short_wait() -> Outcome {
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    fs::write(&path, "just now")?;
    store.ingest(&path, true, &|_| Ok(()))?;
    let age = SystemTime::now().duration_since(path.metadata()?.modified()?)?;
    assert!(age >= Duration::from_millis(20), "{age:?}");
    Ok(())
}

type Change = fn(&std::path::Path) -> std::io::Result<()>;

#[test]
fn any_change_of_the_file_invalidates_the_record() -> Outcome {
    let changes: [(&str, Change); 6] = [
        ("rewritten in place, same length and time", |path| {
            let time = path.metadata()?.modified()?;
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.write_all(b"CONTENT")?;
            file.set_modified(time)
        }),
        ("touched", |path| {
            File::open(path)?.set_modified(SystemTime::now() + Duration::from_nanos(1))
        }),
        ("longer, same time", |path| {
            let time = path.metadata()?.modified()?;
            let mut file = OpenOptions::new().append(true).open(path)?;
            file.write_all(b"x")?;
            file.set_modified(time)
        }),
        ("another file, same length and time", |path| {
            let time = path.metadata()?.modified()?;
            let new = path.with_extension("new");
            fs::write(&new, "CONTENT")?;
            File::open(&new)?.set_modified(time)?;
            fs::rename(new, path)
        }),
        ("overwritten immediately", |path| fs::write(path, "CONTENT")),
        ("older than before", |path| {
            File::open(path)?.set_modified(SystemTime::UNIX_EPOCH)
        }),
    ];
    for (name, change) in changes {
        let (dir, store) = empty_store()?;
        let path = dir.path().join("bundle.zip");
        fs::write(&path, "content")?;
        store.ingest(&path, true, &|_| Ok(()))?;
        change(&path)?;
        assert_eq!(store.source(&path)?, None, "{name}");
        let again = store.ingest(&path, true, &|_| Ok(()))?;
        assert_eq!(again.digest, Digest::of_bytes(&fs::read(&path)?), "{name}");
        assert_eq!(store.source(&path)?, Some(again), "{name}");
    }
    Ok(())
}

#[test]
fn file_that_changes_while_it_is_read_is_an_error() -> Outcome {
    let changes: [(&str, Change); 3] = [
        ("overwritten", |path| {
            let file = OpenOptions::new().write(true).open(path)?;
            std::os::unix::fs::FileExt::write_all_at(&file, b"x", 0)
        }),
        ("grown", |path| {
            OpenOptions::new().append(true).open(path)?.write_all(b"x")
        }),
        ("replaced by name", |path| {
            fs::write(path.with_extension("new"), "new")?;
            fs::rename(path.with_extension("new"), path)
        }),
    ];
    for (name, change) in changes {
        let (dir, store) = empty_store()?;
        let path = dir.path().join("bundle.zip");
        fs::write(&path, bytes(3_000_000, 1))?;
        let changed = Cell::new(false);
        let result = store.ingest(&path, true, &|_| {
            if !changed.replace(true) {
                assert!(change(&path).is_ok());
            }
            Ok(())
        });
        assert!(
            matches!(result, Err(StoreError::Changed { .. })),
            "{name}: {result:?}"
        );
        assert_eq!(store.source(&path)?, None, "{name}");
    }
    Ok(())
}

#[test]
fn reading_stops_if_the_callback_fails() -> Outcome {
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    fs::write(&path, bytes(9_000_000, 1))?;
    for with_md5 in [true, false] {
        let seen = Cell::new(0);
        let result = store.ingest(&path, with_md5, &|bytes| {
            seen.set(seen.get() + bytes);
            Err(io::ErrorKind::TimedOut.into())
        });
        assert!(matches!(result, Err(StoreError::Io { .. })), "{result:?}");
        assert!(seen.get() < 9_000_000, "{} bytes were read", seen.get());
        assert_eq!(store.source(&path)?, None);
    }
    Ok(())
}

#[test]
fn digests_computed_while_writing_are_stored() -> Outcome {
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    let mut file = File::create(&path)?;
    file.write_all(b"abc")?;
    let md5 = "900150983cd24fb0d6963f7d28e17f72";
    let recorded = store.remember_source(&path, &file, Digest::of_bytes(b"abc"), md5)?;
    assert_eq!(store.source(&path)?.as_ref(), Some(&recorded));
    assert_eq!(store.ingest(&path, true, &|_| Ok(()))?, recorded);
    file.write_all(b"d")?;
    assert_eq!(store.source(&path)?, None);
    Ok(())
}

#[test]
fn digests_of_a_different_file_are_not_stored() -> Outcome {
    let (dir, store) = empty_store()?;
    let path = dir.path().join("bundle.zip");
    fs::write(&path, "abc")?;
    let other = dir.path().join("other.zip");
    fs::write(&other, "abc")?;
    let result = store.remember_source(&path, &File::open(&other)?, Digest::of_bytes(b"abc"), "");
    assert!(matches!(result, Err(StoreError::Changed { .. })));
    assert_eq!(store.source(&path)?, None);
    Ok(())
}
