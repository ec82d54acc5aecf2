//! Giving objects a name outside the store.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{Outcome, bytes, fresh, object_file};
use prep_cache::{Digest, LinkMode, StoreError};

fn only_file(dir: &Path) -> Result<bool, std::io::Error> {
    Ok(fs::read_dir(dir)?.count() == 1)
}

#[test]
fn every_mode_gives_the_bytes_read_only() -> Outcome {
    for cheapest in [LinkMode::HardLink, LinkMode::Reflink, LinkMode::Copy] {
        let (dir, store) = fresh()?;
        let content = bytes(100_000, 2);
        let digest = store.put(&content)?;
        // The parent folders do not exist yet.
        let dest = dir.path().join("a/b/file.bin");
        let used = store.materialise_as(&digest, &dest, cheapest)?;
        assert!(used >= cheapest);
        assert_eq!(fs::read(&dest)?, content);
        assert_eq!(dest.metadata()?.permissions().mode() & 0o222, 0);
        let same = dest.metadata()?.ino() == object_file(&store, &digest).metadata()?.ino();
        assert_eq!(same, used == LinkMode::HardLink);
        assert!(only_file(&dir.path().join("a/b"))?);
    }
    Ok(())
}

#[test]
fn the_same_file_system_is_hard_linked() -> Outcome {
    let (dir, store) = fresh()?;
    let digest = store.put(b"x")?;
    let used = store.materialise(&digest, &dir.path().join("x"))?;
    assert_eq!(used, LinkMode::HardLink);
    Ok(())
}

#[test]
fn what_is_there_is_replaced() -> Outcome {
    for cheapest in [LinkMode::HardLink, LinkMode::Copy] {
        let (dir, store) = fresh()?;
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
            assert!(only_file(&view)?);
        }
        // A symlink is replaced, not followed.
        fs::remove_file(&dest)?;
        symlink(&outside, &dest)?;
        store.materialise_as(&first, &dest, cheapest)?;
        assert!(dest.symlink_metadata()?.is_file());
        assert_eq!(fs::read_to_string(&outside)?, "not ours");
        // The objects were not written through the links.
        assert_eq!(store.read(&first)?, b"first");

        let folder = view.join("folder");
        fs::create_dir_all(folder.join("full"))?;
        let error = store.materialise_as(&first, &folder, cheapest);
        assert!(matches!(error, Err(StoreError::Io { .. })), "{error:?}");
        assert_eq!(fs::read_dir(&view)?.count(), 2);
    }
    Ok(())
}

#[test]
fn another_device_gets_a_copy() -> Outcome {
    let (dir, store) = fresh()?;
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
        // What one device refuses, another may grant.
        let here = store.materialise(&digest, &dir.path().join("link"))?;
        assert_eq!(here, LinkMode::HardLink);
    }
    assert!(only_file(other.path())?);
    Ok(())
}

#[test]
fn threads_may_replace_the_same_name() -> Outcome {
    let (dir, store) = fresh()?;
    let view = dir.path().join("view");
    let dest = view.join("file");
    let digests: Vec<Digest> = (0..4u8)
        .map(|n| store.put(&[n]))
        .collect::<Result<_, _>>()?;
    store.materialise(&digests[0], &dest)?;
    let done = AtomicBool::new(false);
    let is_always_there = || {
        let mut there = true;
        while !done.load(Ordering::Relaxed) {
            there &= fs::read(&dest).is_ok();
        }
        there
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
    assert!(watcher.is_ok_and(|there| there), "missing for a moment");
    assert_eq!(fs::read(&dest)?.len(), 1);
    assert!(only_file(&view)?, "no temporary names are left");
    Ok(())
}

/// Bytes of an open object, read without its cursor.
fn bytes_of(object: &prep_cache::Object) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut object.reader(), &mut bytes)?;
    Ok(bytes)
}

/// Does what a user may do to a published file, whatever its mode says.
fn cut(path: &std::path::Path) -> std::io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    fs::OpenOptions::new().write(true).open(path)?.set_len(1)
}

#[test]
fn a_published_file_that_is_cut_does_not_reach_an_object_opened_before_or_after() -> Outcome {
    let (dir, store) = fresh()?;
    let content = b"id,label\n1,a\n".to_vec();
    let digest = store.put(&content)?;
    let published = dir.path().join("before.csv");
    assert_eq!(store.materialise(&digest, &published)?, LinkMode::HardLink);

    let object = store.open_private(&digest)?;
    cut(&published)?;
    assert_eq!(bytes_of(&object)?, content, "linked before it was opened");
    assert_eq!(store.read(&digest)?, content);

    let later = dir.path().join("after.csv");
    assert_ne!(store.materialise(&digest, &later)?, LinkMode::HardLink);
    assert_eq!(fs::read(&later)?, content);
    cut(&later)?;
    assert_eq!(bytes_of(&object)?, content, "published after it was opened");

    // It stays so for those who come later, and in another process.
    let again = store.open_private(&digest)?;
    assert_eq!(bytes_of(&again)?, content);
    assert_eq!(again.file().metadata()?.nlink(), 1);
    Ok(())
}

#[test]
fn an_object_that_was_cut_through_its_other_name_is_damaged_not_served() -> Outcome {
    let (dir, store) = fresh()?;
    let digest = store.put(b"some bytes")?;
    let published = dir.path().join("a");
    store.materialise(&digest, &published)?;
    cut(&published)?;
    assert!(matches!(
        store.open_private(&digest),
        Err(StoreError::Damaged { .. })
    ));
    Ok(())
}

#[test]
fn objects_are_opened_and_published_at_the_same_time() -> Outcome {
    let (dir, store) = fresh()?;
    for round in 0..200 {
        let content = format!("round {round}").into_bytes();
        let digest = store.put(&content)?;
        let published = dir.path().join(round.to_string());
        std::thread::scope(|scope| {
            let (store, published) = (&store, &published);
            let publish = scope.spawn(move || store.materialise(&digest, published));
            let object = store.open_private(&digest)?;
            publish.join().expect("no panic")?;
            cut(published)?;
            assert_eq!(bytes_of(&object)?, content, "{round}");
            Ok::<(), Box<dyn std::error::Error>>(())
        })?;
    }
    Ok(())
}
