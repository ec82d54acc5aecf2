//! Measures the cache operations of a first run and of a run that has nothing to do. Measures the same work with plain
//! files for comparison.
//!
//! Run it with `cargo bench -p prep-cache --bench store`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use prep_cache::{Digest, LedgerEntry, Store};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let dir = tempfile::tempdir()?;
    let store = Store::open(&dir.path().join("store"))?;
    lookups(&store)?;
    small_objects(&store, dir.path())?;
    big_object(&store, dir.path())
}

/// Runs `work` `tries` times and returns the shortest duration, because it is least affected by other processes.
fn best_of(tries: usize, mut work: impl FnMut() -> Outcome) -> Outcome<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..tries {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

fn lookups(store: &Store) -> Outcome {
    let mut keys = Vec::new();
    for n in 0..2000u32 {
        let entry = LedgerEntry {
            record: serde_json::json!({
                "step": "sql", "version": 1, "query": "SELECT id, author FROM labelled ".repeat(8),
                "inputs": {"labelled": Digest::of_bytes(b"a"), "split": Digest::of_bytes(b"b"), "n": n},
            }),
            outputs: BTreeMap::from([("value".to_owned(), Digest::of_bytes(&n.to_le_bytes()))]),
            references: Vec::new(),
            unstored: Vec::new(),
            created: 0,
            millis: 0,
            lengths: Vec::new(),
            is_remote: false,
            is_discarded: false,
        };
        let key = Digest::of_bytes(format!("key {n}").as_bytes());
        store.record(&key, &entry)?;
        keys.push(key);
    }
    let found = best_of(7, || {
        Ok(keys
            .iter()
            .try_for_each(|key| store.lookup(key).map(drop))?)
    })?;
    println!(
        "2,000 lookups in the ledger: {found:?}; a no-op run over all competitions makes about as many lookups"
    );
    Ok(())
}

fn small_objects(store: &Store, dir: &Path) -> Outcome {
    let contents: Vec<_> = (0..20_000).map(|n| bytes(2000, n)).collect();
    let put = || {
        Ok(contents
            .iter()
            .try_for_each(|content| store.put(content).map(drop))?)
    };
    let first = best_of(1, put)?;
    let again = best_of(3, put)?;
    let digests: Vec<_> = contents
        .iter()
        .map(|content| Digest::of_bytes(content))
        .collect();
    let other = Store::open(store.root())?;
    let read = || {
        Ok(digests
            .iter()
            .try_for_each(|digest| other.read(digest).map(drop))?)
    };
    let cold = best_of(1, read)?;
    let warm = best_of(3, read)?;
    let view = dir.join("view");
    let link = best_of(1, || {
        let dest = |digest: &Digest| view.join(digest.to_string());
        Ok(digests
            .iter()
            .try_for_each(|digest| other.materialise(digest, &dest(digest)).map(drop))?)
    })?;
    println!(
        "20,000 objects of 2 kB: write {first:?}, write again {again:?}, read {cold:?}, read again {warm:?}, link {link:?}"
    );

    let plain = dir.join("plain");
    fs::create_dir(&plain)?;
    let path = |n: usize| plain.join(n.to_string());
    let write = best_of(1, || {
        for (n, content) in contents.iter().enumerate() {
            fs::write(path(n), content)?;
        }
        Ok(())
    })?;
    let read = best_of(3, || {
        for n in 0..contents.len() {
            black_box(fs::read(path(n))?);
        }
        Ok(())
    })?;
    println!("20,000 plain files of 2 kB: write {write:?}, read {read:?}");
    Ok(())
}

fn big_object(store: &Store, dir: &Path) -> Outcome {
    use std::io::Write as _;

    let content = bytes(256 << 20, 1);
    let plain = dir.join("bundle");
    let write = best_of(1, || Ok(fs::write(&plain, &content)?))?;
    let hash = best_of(2, || {
        black_box(blake3::hash(&content));
        Ok(())
    })?;
    let put = best_of(1, || {
        let mut writer = store.writer()?;
        writer.write_all(&content)?;
        writer.commit()?;
        Ok(())
    })?;
    let digest = Digest::of_bytes(&content);
    let open = best_of(2, || {
        Store::open(store.root())?.open_object(&digest)?;
        Ok(())
    })?;
    println!(
        "object of 256 MiB: write {put:?}, open and verify {open:?}; plain file of 256 MiB: write {write:?}; BLAKE3 of 256 MiB in memory: {hash:?}"
    );
    let blake3_only = best_of(2, || {
        Ok(store.ingest(&plain, false, &|_| Ok(())).map(drop)?)
    })?;
    let both = best_of(2, || {
        Ok(store.ingest(&plain, true, &|_| Ok(())).map(drop)?)
    })?;
    println!(
        "hash a file of 256 MiB outside the store: BLAKE3 {blake3_only:?}, BLAKE3 and MD5 {both:?}"
    );
    Ok(())
}
