//! Writing and reading objects.

use crate::common;
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use common::{Outcome, bytes, count, empty_store, make_old, object_file, second_handle};
use prep_cache::{Buffer, Digest, Store, StoreError};

/// Lengths around a chunk of BLAKE3 (1 KiB), around 64 KiB, and around the chunk in which objects are verified (1 MiB).
const LENGTHS: [usize; 10] = [
    0,
    1,
    1023,
    1024,
    65_535,
    65_536,
    65_537,
    200_000,
    1 << 20,
    (1 << 20) + 1,
];

#[test]
fn read_returns_the_bytes_of_put() -> Outcome {
    let (_dir, store) = empty_store()?;
    for len in LENGTHS {
        let content = bytes(len, len as u64);
        let digest = store.put(&content)?;
        assert_eq!(digest, Digest::of_bytes(&content));
        assert_eq!(store.len_of(&digest), Some(len as u64));
        for handle in [store.clone(), second_handle(&store)?] {
            assert_eq!(handle.read(&digest)?, content);
            let object = handle.open_object(&digest)?;
            assert_eq!(object.len(), len as u64);
            let mut read = Vec::new();
            object.reader().read_to_end(&mut read)?;
            assert_eq!(read, content);
        }
    }
    Ok(())
}

#[test]
fn sha256_of_a_written_object_is_recorded_on_request() -> Outcome {
    use sha2::{Digest as _, Sha256};

    let (_dir, store) = empty_store()?;
    for len in [0, 5, 300_000, 3 << 20] {
        let content = bytes(len, len as u64 + 1);
        let write = |store: &Store| -> Result<Digest, Box<dyn std::error::Error>> {
            let mut writer = store.writer()?;
            writer.write_all(&content)?;
            Ok(writer.commit()?.digest)
        };
        let digest = write(&store)?;
        assert_eq!(store.sha256(&digest), None, "not requested");
        assert_eq!(write(&store.with_sha256())?, digest);
        let sum: [u8; 32] = Sha256::digest(&content).into();
        assert_eq!(store.sha256(&digest), Some(sum));
        assert_eq!(second_handle(&store)?.sha256(&digest), None);
    }
    Ok(())
}

#[test]
fn chunks_of_any_size_produce_the_same_object() -> Outcome {
    let (_dir, store) = empty_store()?;
    let content = bytes(300_000, 7);
    for chunk in [1, 13, 65_535, 65_536, 100_000, 300_000] {
        let mut writer = store.writer()?;
        for part in content.chunks(chunk) {
            writer.write_all(part)?;
        }
        assert_eq!(writer.len(), 300_000);
        let stored = writer.commit()?;
        assert_eq!(
            (stored.digest, stored.len),
            (Digest::of_bytes(&content), 300_000)
        );
    }
    assert_eq!(store.stat()?.objects.files, 1);
    assert_eq!(count(&store, "tmp")?, 0);
    Ok(())
}

#[test]
fn object_in_memory_moves_to_a_file_when_the_buffer_is_full() -> Outcome {
    let (_dir, store) = empty_store()?;
    for len in LENGTHS.into_iter().chain([3 << 20]) {
        let content = bytes(len, 5 + len as u64);
        let digest = Digest::of_bytes(&content);
        let write = |room: usize| -> Result<prep_cache::ObjectWriter, Box<dyn std::error::Error>> {
            let mut writer = store.writer_in_memory(Buffer::with_capacity(room)?);
            for chunk in content.chunks(70_000) {
                writer.write_all(chunk)?;
            }
            Ok(writer)
        };
        let (stored, buffer) = write(len)?.finish()?;
        assert_eq!((stored.digest, stored.len), (digest, len as u64));
        assert_eq!(buffer.as_ref().map(Buffer::bytes), Some(content.as_slice()));
        assert_eq!(store.len_of(&digest), None);
        assert_eq!(count(&store, "tmp")?, 0, "no file was created");
        for room in [len, len / 2, 0] {
            let mut read = Vec::new();
            write(room)?.read_back()?.read_to_end(&mut read)?;
            assert_eq!(read, content);
        }
        for room in [len / 2, 0] {
            let (stored, buffer) = write(room)?.finish()?;
            assert_eq!(stored.digest, digest);
            // A buffer has room for at least one byte.
            assert_eq!(buffer.is_some(), len <= 1);
            assert_eq!(store.len_of(&digest).is_some(), len > 1);
        }
        assert_eq!(write(len)?.commit()?.digest, digest);
        assert_eq!(store.read(&digest)?, content);
    }
    assert_eq!(count(&store, "tmp")?, 0);
    Ok(())
}

#[test]
fn objects_are_read_only_and_follow_the_layout() -> Outcome {
    let (_dir, store) = empty_store()?;
    let digest = store.put(b"x")?;
    let mode = object_file(&store, &digest)
        .metadata()?
        .permissions()
        .mode();
    assert_eq!(mode & 0o222, 0, "{mode:o}");
    assert_eq!(
        store.open_object(&digest)?.path(),
        object_file(&store, &digest)
    );
    Ok(())
}

#[test]
fn object_is_visible_only_after_commit() -> Outcome {
    let (_dir, store) = empty_store()?;
    for len in [100_000, 5_000_000] {
        let mut writer = store.writer()?;
        writer.write_all(&bytes(len, 1))?;
        writer.flush()?;
        assert_eq!(store.stat()?.objects.files, 0);
        assert_eq!(count(&store, "tmp")?, 1);
        drop(writer);
        assert_eq!(count(&store, "tmp")?, 0);
        assert_eq!(store.len_of(&Digest::of_bytes(&bytes(len, 1))), None);
    }
    Ok(())
}

#[test]
fn read_back_creates_no_object() -> Outcome {
    let (_dir, store) = empty_store()?;
    for len in LENGTHS {
        let content = bytes(len, 3);
        let mut writer = store.writer()?;
        writer.write_all(&content)?;
        let mut read = Vec::new();
        writer.read_back()?.read_to_end(&mut read)?;
        assert_eq!(read, content);
        assert_eq!(store.len_of(&Digest::of_bytes(&content)), None);
        assert_eq!(count(&store, "tmp")?, 0);
    }
    Ok(())
}

#[test]
fn push_and_write_can_be_combined() -> Outcome {
    let (_dir, store) = empty_store()?;
    let content = bytes(3_000_000, 4);
    let mut writer = store.writer()?;
    let mut chunk = Vec::new();
    for (number, part) in content.chunks(130_000).enumerate() {
        if number % 3 == 0 {
            writer.write_all(part)?;
        } else {
            chunk.clear();
            chunk.extend_from_slice(part);
            chunk = writer.push(chunk)?.unwrap_or_default();
        }
    }
    assert_eq!(writer.len(), content.len() as u64);
    let stored = writer.commit()?;
    assert_eq!(stored.digest, Digest::of_bytes(&content));
    assert_eq!(stored.len, content.len() as u64);
    assert!(store.read(&stored.digest)? == content);
    Ok(())
}

#[test]
fn scattered_writer_accepts_bytes_in_any_order() -> Outcome {
    let (_dir, store) = empty_store()?;
    let store = store.with_sha256();
    for (parts, len) in [(0, 0), (1, 0), (7, 3), (40, 50_000), (3, 700_000)] {
        let parts: Vec<Vec<u8>> = (0..parts)
            .map(|part| bytes(len + 11 * part, part as u64))
            .collect();
        let mut writer = store.scattered_writer()?;
        let mut left = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            match number % 3 {
                0 => writer.write_all(part)?,
                _ => left.push((writer.reserve(part.len() as u64)?, part)),
            }
        }
        for (offset, part) in left.iter().rev() {
            writer.write_at(part, *offset)?;
        }
        let stored = writer.commit(&|| Ok(()))?;
        let content = parts.concat();
        assert_eq!(stored.digest, Digest::of_bytes(&content));
        assert_eq!(stored.len, content.len() as u64);
        assert_eq!(store.read(&stored.digest)?, content);
        assert!(store.sha256(&stored.digest).is_some());
    }
    let mut writer = store.scattered_writer()?;
    writer.write_all(b"a")?;
    writer.reserve(3)?;
    let stored = writer.commit(&|| Ok(()))?;
    assert_eq!(store.read(&stored.digest)?, b"a\0\0\0");
    store.scattered_writer()?.write_all(b"b")?;
    let mut writer = store.scattered_writer()?;
    writer.write_all(b"c")?;
    assert!(writer.commit(&|| Err(ErrorKind::Other.into())).is_err());
    assert_eq!(store.len_of(&Digest::of_bytes(b"c")), None);
    assert_eq!(count(&store, "tmp")?, 0);
    Ok(())
}

#[test]
fn committing_an_existing_object_keeps_its_file() -> Outcome {
    let (_dir, store) = empty_store()?;
    let digest = store.put(b"same")?;
    let inode = object_file(&store, &digest).metadata()?.ino();
    let mut writer = second_handle(&store)?.writer()?;
    writer.write_all(b"same")?;
    assert_eq!(writer.commit()?.digest, digest);
    store.put(b"same")?;
    assert_eq!(object_file(&store, &digest).metadata()?.ino(), inode);
    assert_eq!(count(&store, "tmp")?, 0);
    Ok(())
}

#[test]
fn threads_can_write_the_same_object_concurrently() -> Outcome {
    let (_dir, store) = empty_store()?;
    let content = bytes(150_000, 3);
    let barrier = Barrier::new(8);
    let digests = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| -> Result<Digest, StoreError> {
                    let mut writer = store.writer()?;
                    let written = writer.write_all(&content);
                    barrier.wait();
                    written.map_err(|error| StoreError::Io {
                        action: "write",
                        path: "test".into(),
                        cause: error,
                    })?;
                    Ok(writer.commit()?.digest)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread panicked"))
            .collect::<Result<Vec<_>, _>>()
    })?;
    for digest in digests {
        assert_eq!(digest?, Digest::of_bytes(&content));
    }
    assert_eq!(store.stat()?.objects.files, 1);
    assert_eq!(count(&store, "tmp")?, 0);
    assert_eq!(
        second_handle(&store)?.read(&Digest::of_bytes(&content))?,
        content
    );
    Ok(())
}

#[test]
fn readers_have_separate_positions() -> Outcome {
    let (_dir, store) = empty_store()?;
    let object = store.open_object(&store.put(b"0123456789")?)?;
    let (mut a, mut b) = (object.reader(), object.reader());
    let mut two = [0; 2];
    a.read_exact(&mut two)?;
    b.seek(SeekFrom::End(-3))?;
    b.read_exact(&mut two)?;
    assert_eq!(&two, b"78");
    a.read_exact(&mut two)?;
    assert_eq!(&two, b"23");
    let before_start = a.seek(SeekFrom::Current(-5)).map_err(|e| e.kind());
    assert_eq!(before_start, Err(ErrorKind::InvalidInput));
    assert_eq!(a.seek(SeekFrom::Current(6))?, 10);
    assert_eq!(a.read(&mut two)?, 0);
    Ok(())
}

#[test]
fn object_that_was_never_stored_is_missing() -> Outcome {
    let (dir, store) = empty_store()?;
    let digest = Digest::of_bytes(b"never stored");
    assert_eq!(store.len_of(&digest), None);
    let dest = dir.path().join("dest");
    let errors = [
        store.open_object(&digest).err(),
        store.read(&digest).err(),
        store.materialise(&digest, &dest).err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(StoreError::Missing { digest: d }) if d == digest));
    }
    assert!(!dest.exists());
    Ok(())
}

#[test]
fn read_only_store_writes_nothing() -> Outcome {
    let (dir, store) = empty_store()?;
    let nowhere = dir.path().join("nowhere");
    assert!(Store::open_existing(&nowhere)?.is_none());
    assert!(!nowhere.exists());

    let digest = store.put(b"x")?;
    let reader = Store::open_existing(store.root())?.ok_or("the store is missing")?;
    assert_eq!(reader.read(&digest)?, b"x");
    let _guard = reader.in_use()?;
    let errors = [
        reader.put(b"y").err(),
        reader.put(b"x").err(),
        reader.writer().err(),
        reader.lock("a").err(),
        reader.verify(true, &|_| {}).err(),
        reader.gc(&prep_cache::GcOptions::default()).err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(StoreError::ReadOnlyHandle { .. })));
    }
    assert_eq!(count(&store, "locks")?, 0);
    Ok(())
}

#[test]
fn error_names_the_directory_without_write_permission() -> Outcome {
    let dir = tempfile::tempdir()?;
    let closed = dir.path().join("closed");
    fs::create_dir(&closed)?;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555))?;
    // The superuser can write to this directory, but cannot create directories in /sys.
    let is_superuser = fs::write(closed.join("probe"), "").is_ok();
    let root = if is_superuser {
        Path::new("/sys/prep-cache-test").to_path_buf()
    } else {
        closed.join("store")
    };
    let error = Store::open(&root).err().ok_or("expected an error")?;
    let is_typed = matches!(
        error,
        StoreError::Permission { .. } | StoreError::ReadOnlyFileSystem { .. }
    );
    assert!(is_typed, "{error:?}");
    assert!(error.to_string().contains(root.to_str().unwrap_or("?")));
    Ok(())
}

#[test]
fn require_space_fails_if_space_is_missing() -> Outcome {
    let (_dir, store) = empty_store()?;
    store.require_space(1)?;
    let error = store.require_space(u64::MAX).err();
    assert!(matches!(
        error,
        Some(StoreError::NoSpace {
            needed: u64::MAX,
            free: Some(_),
            ..
        })
    ));
    Ok(())
}

#[test]
fn opening_removes_old_leftovers_but_no_files_in_use() -> Outcome {
    let (_dir, store) = empty_store()?;
    let tmp = store.root().join("tmp");
    fs::write(tmp.join("old"), "left by a killed process")?;
    make_old(&tmp.join("old"), 2)?;
    fs::write(tmp.join("young"), "perhaps not locked yet")?;
    for name in ["old-directory", "locked-directory"] {
        fs::create_dir_all(tmp.join(name).join("inner"))?;
        fs::write(tmp.join(name).join("inner/file"), "x")?;
    }
    let lock = fs::File::open(tmp.join("locked-directory"))?;
    lock.try_lock()?;
    let slow_writer = store.writer()?;
    for file in fs::read_dir(&tmp)? {
        let path = file?.path();
        if !path.ends_with("young") {
            make_old(&path, 2)?;
        }
    }
    let _again = second_handle(&store)?;
    assert!(!tmp.join("old").exists());
    assert!(!tmp.join("old-directory").exists());
    assert!(tmp.join("locked-directory/inner/file").exists());
    assert!(tmp.join("young").exists());
    assert_eq!(slow_writer.commit()?.digest, Digest::of_bytes(b""));
    Ok(())
}
