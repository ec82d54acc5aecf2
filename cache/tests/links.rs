//! Publishing objects outside the store, and private objects.

use crate::common;
use crate::faults;
use crate::skipped::skipped;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{Outcome, bytes, empty_store, object_file, second_handle};
use prep_cache::{Digest, LinkMode, Store, StoreError};

fn has_one_file(dir: &Path) -> Result<bool, std::io::Error> {
    Ok(fs::read_dir(dir)?.count() == 1)
}

#[test]
fn every_link_mode_creates_a_read_only_file() -> Outcome {
    for cheapest in [LinkMode::HardLink, LinkMode::Reflink, LinkMode::Copy] {
        let (dir, store) = empty_store()?;
        let content = bytes(100_000, 2);
        let digest = store.put(&content)?;
        let dest = dir.path().join("a/b/file.bin");
        let used = store.materialise_as(&digest, &dest, cheapest)?;
        assert!(used >= cheapest);
        assert_eq!(fs::read(&dest)?, content);
        assert_eq!(dest.metadata()?.permissions().mode() & 0o222, 0);
        let same = dest.metadata()?.ino() == object_file(&store, &digest).metadata()?.ino();
        assert_eq!(same, used == LinkMode::HardLink);
        assert!(has_one_file(&dir.path().join("a/b"))?);
    }
    Ok(())
}

#[test]
fn objects_are_hard_linked_on_the_same_file_system() -> Outcome {
    let (dir, store) = empty_store()?;
    let digest = store.put(b"x")?;
    let used = store.materialise(&digest, &dir.path().join("x"))?;
    assert_eq!(used, LinkMode::HardLink);
    Ok(())
}

#[test]
fn existing_file_is_replaced() -> Outcome {
    for cheapest in [LinkMode::HardLink, LinkMode::Copy] {
        let (dir, store) = empty_store()?;
        let view = dir.path().join("view");
        fs::create_dir(&view)?;
        let dest = view.join("file");
        let outside = dir.path().join("outside");
        fs::write(&outside, "not ours")?;
        let (first, second) = (store.put(b"first")?, store.put(b"second")?);

        fs::write(&dest, "older, longer content")?;
        for (digest, content) in [(first, "first"), (second, "second"), (second, "second")] {
            store.materialise_as(&digest, &dest, cheapest)?;
            assert_eq!(fs::read_to_string(&dest)?, content);
            assert!(has_one_file(&view)?);
        }
        fs::remove_file(&dest)?;
        symlink(&outside, &dest)?;
        store.materialise_as(&first, &dest, cheapest)?;
        assert!(dest.symlink_metadata()?.is_file());
        assert_eq!(fs::read_to_string(&outside)?, "not ours");
        assert_eq!(store.read(&first)?, b"first");

        let directory = view.join("folder");
        fs::create_dir_all(directory.join("full"))?;
        let error = store.materialise_as(&first, &directory, cheapest);
        assert!(matches!(error, Err(StoreError::Io { .. })), "{error:?}");
        assert_eq!(fs::read_dir(&view)?.count(), 2);
    }
    Ok(())
}

#[test]
fn objects_are_copied_to_another_device() -> Outcome {
    let (dir, store) = empty_store()?;
    let memory = Path::new("/dev/shm");
    let Ok(other) = tempfile::tempdir_in(memory) else {
        return Ok(());
    };
    if other.path().metadata()?.dev() == dir.path().metadata()?.dev() {
        return Ok(());
    }
    for n in 0..3 {
        let content = bytes(50_000 + n, 4);
        let digest = store.put(&content)?;
        let dest = other.path().join("copy");
        assert_eq!(store.materialise(&digest, &dest)?, LinkMode::Copy);
        assert_eq!(fs::read(&dest)?, content);
        assert_eq!(dest.metadata()?.permissions().mode() & 0o222, 0);
        // The failed link on `other` does not stop hard links on the store's own device.
        let mode = store.materialise(&digest, &dir.path().join("link"))?;
        assert_eq!(mode, LinkMode::HardLink);
    }
    assert!(has_one_file(other.path())?);
    Ok(())
}

#[test]
fn threads_can_replace_the_same_file_concurrently() -> Outcome {
    let (dir, store) = empty_store()?;
    let view = dir.path().join("view");
    let dest = view.join("file");
    let digests: Vec<Digest> = (0..4u8)
        .map(|n| store.put(&[n]))
        .collect::<Result<_, _>>()?;
    store.materialise(&digests[0], &dest)?;
    let done = AtomicBool::new(false);
    let is_always_there = || {
        let mut exists = true;
        while !done.load(Ordering::Relaxed) {
            exists &= fs::read(&dest).is_ok();
        }
        exists
    };
    let replace = || {
        for digest in digests.iter().cycle().take(3000) {
            store.materialise(digest, &dest)?;
        }
        Ok::<_, StoreError>(())
    };
    let (outcomes, watcher) = thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(replace));
        let watcher = scope.spawn(is_always_there);
        let outcomes = threads.map(|thread| thread.join());
        done.store(true, Ordering::Relaxed);
        (outcomes, watcher.join())
    });
    for outcome in outcomes {
        outcome.map_err(|_| "a thread panicked")??;
    }
    assert!(
        watcher.is_ok_and(|exists| exists),
        "the file was temporarily missing"
    );
    assert_eq!(fs::read(&dest)?.len(), 1);
    assert!(has_one_file(&view)?, "no temporary names are left");
    Ok(())
}

fn bytes_of(object: &prep_cache::Object) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut object.reader(), &mut bytes)?;
    Ok(bytes)
}

/// Truncates a published file. Its owner can do this after changing its mode.
fn truncate_file(path: &std::path::Path) -> std::io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    fs::OpenOptions::new().write(true).open(path)?.set_len(1)
}

#[test]
fn truncated_published_file_does_not_change_an_open_object() -> Outcome {
    let (dir, store) = empty_store()?;
    let content = b"id,label\n1,a\n".to_vec();
    let digest = store.put(&content)?;
    let published = dir.path().join("before.csv");
    assert_eq!(store.materialise(&digest, &published)?, LinkMode::HardLink);

    let object = store.open_private(&digest)?;
    truncate_file(&published)?;
    assert_eq!(
        bytes_of(&object)?,
        content,
        "the object was linked before it was opened"
    );
    assert_eq!(store.read(&digest)?, content);

    let later = dir.path().join("after.csv");
    assert_ne!(store.materialise(&digest, &later)?, LinkMode::HardLink);
    assert_eq!(fs::read(&later)?, content);
    truncate_file(&later)?;
    assert_eq!(
        bytes_of(&object)?,
        content,
        "the object was published after it was opened"
    );

    let again = store.open_private(&digest)?;
    assert_eq!(bytes_of(&again)?, content);
    assert_eq!(again.file().metadata()?.nlink(), 1);
    Ok(())
}

#[test]
fn object_truncated_through_a_hard_link_is_damaged() -> Outcome {
    let (dir, store) = empty_store()?;
    let digest = store.put(b"some bytes")?;
    let published = dir.path().join("a");
    store.materialise(&digest, &published)?;
    truncate_file(&published)?;
    assert!(matches!(
        store.open_private(&digest),
        Err(StoreError::Damaged { .. })
    ));
    Ok(())
}

#[test]
fn objects_can_be_opened_and_published_concurrently() -> Outcome {
    let (dir, store) = empty_store()?;
    for round in 0..200 {
        let content = format!("round {round}").into_bytes();
        let digest = store.put(&content)?;
        let published = dir.path().join(round.to_string());
        std::thread::scope(|scope| {
            let (store, published) = (&store, &published);
            let publish = scope.spawn(move || store.materialise(&digest, published));
            let object = store.open_private(&digest)?;
            publish.join().expect("no panic")?;
            truncate_file(published)?;
            assert_eq!(bytes_of(&object)?, content, "{round}");
            Ok::<(), Box<dyn std::error::Error>>(())
        })?;
    }
    Ok(())
}

/// Name of the environment variable that contains the directory of the test. It is set only in the process in which a
/// preloaded library ([`faults`]) delays one file access until the test has acted.
const ROOT: &str = "PREP_GATED";

/// Runs `test` again in another process. There, the first file access of the kind `access` (`r`: read, `c`: create)
/// waits if its path contains `part`.
fn run_again_with_gate(test: &str, root: &Path, access: &str, part: &str) -> Outcome {
    let library = match faults::library(root) {
        Ok(library) => library,
        Err(why) => {
            skipped(why);
            return Ok(());
        }
    };
    let ended = Command::new(std::env::current_exe()?)
        .args([&format!("links::{test}"), "--exact"])
        .env(ROOT, root)
        .env("LD_PRELOAD", library)
        .env("TROUBLE", "gate")
        .env("TROUBLE_ROOT", root)
        .env("TROUBLE_NUMBER", "0")
        .env("TROUBLE_MEETS", access)
        .env("TROUBLE_WHERE", part)
        .env("TROUBLE_GATE", root.join("gate"))
        .env("TROUBLE_COUNT", root.join("count"))
        .output()?;
    assert!(ended.status.success(), "{ended:?}");
    assert_ne!(
        fs::read_to_string(root.join("count"))?,
        "0",
        "no access waited at the gate"
    );
    Ok(())
}

/// Another process replaces the opened object with a private copy, before the linker links the old file.
#[test]
fn private_copy_created_during_linking_gets_no_public_name() -> Outcome {
    let content = b"id,label\n1,a\n";
    let digest = Digest::of_bytes(content);
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else {
        let (dir, store) = empty_store()?;
        store.put(content)?;
        store.materialise(&digest, &dir.path().join("first"))?;
        fs::create_dir(dir.path().join("data"))?;
        let test = "private_copy_created_during_linking_gets_no_public_name";
        return run_again_with_gate(test, dir.path(), "c", "/data/");
    };
    let store = Store::open(&root.join("store"))?;
    let (mapped, other) = (Arc::new(Mutex::new(None)), second_handle(&store)?);
    let published = root.join("data/second");
    faults::act_at(root.join("gate"), {
        let mapped = Arc::clone(&mapped);
        move |_| {
            let object = other.open_private(&digest).unwrap();
            *mapped.lock().unwrap() = Some((object.map().unwrap(), object));
        }
    });
    store.materialise(&digest, &published)?;
    let mapped = mapped.lock().unwrap().take().ok_or("not opened")?;
    assert_eq!(mapped.1.file().metadata()?.nlink(), 1);
    assert_eq!(fs::read(&published)?, content);
    truncate_file(&published)?;
    assert_eq!(mapped.0.as_ref(), content);
    assert!(has_one_file(&store.root().join("objects-v1"))?);
    Ok(())
}

/// The first process replaces the object with a copy. After that, the file that the second process opened has only
/// the published name.
#[test]
fn file_with_only_a_published_name_is_not_private() -> Outcome {
    let content = b"id,label\n1,a\n";
    let digest = Digest::of_bytes(content);
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else {
        let (dir, store) = empty_store()?;
        store.put(content)?;
        store.materialise(&digest, &dir.path().join("published"))?;
        // The second process waits before it reads the object for its digest.
        let test = "file_with_only_a_published_name_is_not_private";
        return run_again_with_gate(test, dir.path(), "r", "/objects-v1/");
    };
    let second = Store::open(&root.join("store"))?;
    let first = second_handle(&second)?;
    faults::act_at(root.join("gate"), move |_| {
        first.open_private(&digest).unwrap();
    });
    let object = second.open_private(&digest)?;
    let mapped = object.map()?;
    truncate_file(&root.join("published"))?;
    assert_eq!(mapped.as_ref(), content);
    Ok(())
}

/// A linker may temporarily give a marked file another name. A second marker that counts the names must not remove the
/// mark, because the first marker may rely on it.
#[test]
fn mark_of_a_mapped_object_is_not_removed() -> Outcome {
    let (dir, store) = empty_store()?;
    let digest = store.put(b"id,label\n")?;
    let object = store.open_private(&digest)?;
    let path = object_file(&store, &digest);
    let linking = dir.path().join("temporary name of a linker");
    fs::hard_link(&path, &linking)?;
    let other = second_handle(&store)?.open_private(&digest)?;
    assert_ne!(
        other.file().metadata()?.ino(),
        object.file().metadata()?.ino()
    );
    assert_ne!(object.file().metadata()?.mode() & 0o100, 0);
    Ok(())
}

#[test]
fn read_only_store_maps_only_private_objects() -> Outcome {
    let (dir, store) = empty_store()?;
    let (linked, single) = (store.put(b"linked")?, store.put(b"single")?);
    store.materialise(&linked, &dir.path().join("published"))?;
    let reader = Store::open_existing(store.root())?.ok_or("no store")?;
    for digest in [linked, single] {
        let refused = reader.open_private(&digest);
        assert!(
            matches!(refused, Err(StoreError::ReadOnlyHandle { .. })),
            "{refused:?}"
        );
        store.open_private(&digest)?;
        let private = reader.open_private(&digest)?;
        assert_eq!(private.map()?.as_ref(), store.read(&digest)?);
    }
    Ok(())
}

#[test]
fn released_pages_of_a_mapped_object_are_read_again() -> Outcome {
    let (_dir, store) = empty_store()?;
    for content in [Vec::new(), bytes(3_000_000, 7)] {
        let digest = store.put(&content)?;
        let mapped = store.open_private(&digest)?.map()?;
        assert_eq!(mapped.as_ref(), content);
        mapped.release(0..content.len());
        mapped.release(5000..usize::MAX);
        mapped.release(content.len() + 10..3);
        assert_eq!(mapped.as_ref(), content);
    }
    Ok(())
}

/// Truncating the published files must not change the mapped files.
#[test]
fn concurrent_linking_and_collection_never_change_a_mapped_file() -> Outcome {
    let (dir, store) = empty_store()?;
    let content = bytes(10_000, 3);
    let digest = store.put(&content)?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (store, content, done, dir) = (&store, &content, &done, dir.path());
        let mut threads = Vec::new();
        for number in 0..3 {
            threads.push(scope.spawn(move || {
                for round in 0..400 {
                    let published = dir.join(format!("{number}-{}", round % 5));
                    match store.materialise(&digest, &published) {
                        Ok(_) => truncate_file(&published).unwrap(),
                        Err(StoreError::Damaged { .. } | StoreError::Missing { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    if round % 3 == 0 {
                        fs::remove_file(&published).ok();
                    }
                }
            }));
        }
        for _ in 0..3 {
            threads.push(scope.spawn(move || {
                for _ in 0..400 {
                    let other = second_handle(store).unwrap();
                    match other.open_private(&digest) {
                        Ok(object) => {
                            let mapped = object.map().unwrap();
                            for _ in 0..20 {
                                assert_eq!(mapped.as_ref().len(), content.len());
                                assert!(mapped.as_ref() == content);
                                thread::yield_now();
                            }
                        }
                        Err(StoreError::Damaged { .. } | StoreError::Missing { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }));
        }
        let restorer = scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                store.put(content).unwrap();
                fs::remove_file(object_file(store, &digest)).ok();
                store.put(content).unwrap();
                thread::yield_now();
            }
        });
        let panicked = threads
            .into_iter()
            .map(|thread| thread.join().is_err())
            .fold(false, |any, one| any | one);
        done.store(true, Ordering::Relaxed);
        assert!(restorer.join().is_ok() && !panicked);
    });
    Ok(())
}
