//! Limits that a no-op run depends on. Measured in release builds only:
//! `cargo test --release -p prep-cache --test speed -- --nocapture`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod common;

use std::time::{Duration, Instant};

use common::{Outcome, bytes, entry, fresh, stranger};
use prep_cache::{Digest, StoreError};

/// The best of some tries: what the code needs, not what the machine was busy with.
fn best_of<T>(
    tries: usize,
    mut work: impl FnMut() -> Result<T, StoreError>,
) -> Result<Duration, StoreError> {
    let mut best = Duration::MAX;
    for _ in 0..tries {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

#[test]
#[cfg_attr(debug_assertions, ignore = "measures optimised code")]
fn looking_up_2000_entries_takes_less_than_20_ms() -> Outcome {
    let (_dir, store) = fresh()?;
    let mut keys = Vec::new();
    for n in 0..2000u32 {
        let mut written = entry(&[Digest::of(&n.to_le_bytes())], 0)?;
        written.record = serde_json::json!({
            "step": "sql", "version": 1, "query": "SELECT id, author FROM labelled ".repeat(8),
            "inputs": {"labelled": Digest::of(b"a"), "split": Digest::of(b"b"), "n": n},
        });
        let key = Digest::of(format!("key {n}").as_bytes());
        store.record(&key, &written)?;
        keys.push(key);
    }
    let best = best_of(7, || {
        keys.iter().try_for_each(|key| store.lookup(key).map(drop))
    })?;
    println!("2,000 lookups: {best:?}");
    assert!(best < Duration::from_millis(20), "{best:?}");
    Ok(())
}

#[test]
#[cfg_attr(debug_assertions, ignore = "measures optimised code")]
fn small_objects_take_microseconds() -> Outcome {
    let (dir, store) = fresh()?;
    let contents: Vec<_> = (0..20_000).map(|n| bytes(2000, n)).collect();
    let put = || {
        contents
            .iter()
            .try_for_each(|content| store.put(content).map(drop))
    };
    let first = best_of(1, put)?;
    let again = best_of(3, put)?;
    let digests: Vec<_> = contents.iter().map(|content| Digest::of(content)).collect();
    let other = stranger(&store)?;
    let read = || {
        digests
            .iter()
            .try_for_each(|digest| other.read(digest).map(drop))
    };
    let cold = best_of(1, read)?;
    let warm = best_of(3, read)?;
    let view = dir.path().join("view");
    let link = best_of(1, || {
        let dest = |digest: &Digest| view.join(digest.to_string());
        digests
            .iter()
            .try_for_each(|digest| other.materialise(digest, &dest(digest)).map(drop))
    })?;
    println!(
        "20,000 objects of 2 kB: put {first:?}, again {again:?}, read {cold:?}, again {warm:?}, link {link:?}"
    );
    assert!(first < Duration::from_secs(10), "{first:?}");
    Ok(())
}

#[test]
#[cfg_attr(debug_assertions, ignore = "measures optimised code")]
fn big_objects_go_at_the_speed_of_the_hash() -> Outcome {
    let (dir, store) = fresh()?;
    let content = bytes(256 << 20, 1);
    let path = dir.path().join("bundle");
    std::fs::write(&path, &content)?;
    let put = best_of(1, || store.put(&content))?;
    let digest = Digest::of(&content);
    let open = best_of(2, || {
        let other = prep_cache::Store::open(store.root())?;
        other.open_object(&digest)
    })?;
    let ingest = best_of(2, || store.ingest(&path, true, &|_| {}))?;
    println!("256 MiB: put {put:?}, first open {open:?}, BLAKE3 and MD5 of a source {ingest:?}");
    Ok(())
}
