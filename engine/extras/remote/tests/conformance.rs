//! Tests the guarantees of a remote, with stores in memory and in a directory, and with faults of all kinds.

use crate::common;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use common::{Fault, Faulty, block_on};
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use prep_cache::{Content, Digest, LedgerEntry, Offer, Store};
use prep_core::Ranges;
use prep_remote::{
    Link, LinkWarning, PutOutcome, Rejection, Remote, RemoteError, SigningKey, TrustedSigner,
    WarningSink,
};

struct Machine {
    store: Store,
    link: Link,
    messages: Arc<Mutex<Vec<String>>>,
    _dir: tempfile::TempDir,
}

impl Machine {
    fn new(remote: Remote) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        let messages: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink: WarningSink = {
            let messages = messages.clone();
            Arc::new(move |warning: &LinkWarning| {
                messages.lock().unwrap().push(format!("{warning:?}"))
            })
        };
        let link = Link::with_remote(remote, true, sink).unwrap();
        let store = link.attach(&Store::open(&dir.path().join("store")).unwrap());
        Machine {
            store,
            link,
            messages,
            _dir: dir,
        }
    }

    fn messages(&self) -> String {
        self.messages.lock().unwrap().join("\n")
    }

    fn create_result(&self, step: &str, content: &[u8], given: &[Digest]) -> (Digest, LedgerEntry) {
        let object = self.store.put(content).unwrap();
        let record = serde_json::json!({ "step": step });
        let key = Digest::of_bytes(prep_core::canonical(&record).as_bytes());
        let entry = LedgerEntry {
            record,
            outputs: BTreeMap::from([("value".to_owned(), object)]),
            references: given.to_vec(),
            unstored: Vec::new(),
            created: 1,
            millis: 2,
            lengths: Vec::new(),
            is_remote: false,
            is_discarded: false,
        };
        self.store.record(&key, &entry).unwrap();
        let (competition, step, given) = ("c".to_owned(), step.to_owned(), given.to_vec());
        self.store.offer(|| Offer {
            key,
            entry: entry.clone(),
            competition,
            step,
            given,
        });
        self.link.finish(|| false);
        (key, entry)
    }
}

fn key(seed: &str) -> SigningKey {
    SigningKey::generate(seed).unwrap()
}

fn for_each_store(test: impl Fn(Arc<dyn ObjectStore>)) {
    test(Arc::new(InMemory::new()));
    let dir = tempfile::tempdir().unwrap();
    test(Arc::new(
        LocalFileSystem::new_with_prefix(dir.path()).unwrap(),
    ));
    test(Faulty::new(Arc::new(InMemory::new())));
}

fn names(store: &Arc<dyn ObjectStore>) -> Vec<String> {
    let all = futures::executor::block_on(store.list(None).try_collect::<Vec<_>>()).unwrap();
    let mut names: Vec<String> = all.iter().map(|one| one.location.to_string()).collect();
    names.sort();
    names
}

#[test]
fn a_machine_fetches_the_results_of_another() {
    for_each_store(|store| {
        let key = key("a");
        let public = key.public();
        let one = Machine::new(Remote::with_store(store.clone(), "r", Some(key), &[]));
        let (secret, _) = one.create_result("table/train", b"answers", &[]);
        let base = Digest::of_bytes(b"answers");
        let long = vec![7u8; 20 << 20];
        let (open, entry) = one.create_result("public/train.csv", &long, &[base]);
        assert_eq!(one.messages(), "");

        let two = Machine::new(Remote::with_store(store.clone(), "r", None, &[public]));
        for key in [secret, open] {
            let found = two.store.find(&key, "c").unwrap().unwrap();
            assert!(found.is_remote);
            assert_eq!(two.store.missing(&found), []);
            assert!(!two.store.missing_locally(&found).is_empty());
        }
        for object in entry.objects() {
            two.store.open_object(object).unwrap();
        }
        let found = two.store.lookup(&open).unwrap().unwrap();
        assert_eq!(two.store.missing_locally(&found), []);
        assert_eq!(two.messages(), "");

        let names = names(&store);
        let area = |digest: &Digest| {
            let rest = &digest.to_string()[2..];
            let mut areas = names.iter().filter(|name| name.ends_with(rest));
            let first = areas.next().map(|name| name.starts_with("private/"));
            assert!(areas.next().is_none());
            first
        };
        assert_eq!(area(&base), Some(true));
        assert_eq!(area(&Digest::of_bytes(&long)), Some(false));
    });
}

#[test]
fn public_readers_can_fetch_everything_except_answers() {
    let faulty = Faulty::new(Arc::new(InMemory::new()));
    let key = key("a");
    let public = key.public();
    let one = Machine::new(Remote::with_store(faulty.clone(), "r", Some(key), &[]));
    let (_, secret) = one.create_result("private/test.csv", b"answers", &[]);
    let (_, open) = one.create_result("public/train.csv", b"rows", &[]);
    faulty.set(Fault::Forbids);
    let two = Machine::new(Remote::with_store(faulty, "r", None, &[public]));
    let opened = |entry: &LedgerEntry| two.store.open_object(entry.objects().next().unwrap());
    assert!(opened(&open).is_ok());
    assert_eq!(two.messages(), "");
    assert!(opened(&secret).is_err());
    assert!(opened(&open).is_ok());
    assert!(
        two.messages().contains("do not permit reading `private/`"),
        "{}",
        two.messages()
    );
    assert_eq!(two.messages().lines().count(), 1);
    assert!(!two.messages().contains("s3cr3t"));
}

#[test]
fn an_entry_is_created_once_and_a_different_result_is_reported() {
    for_each_store(|store| {
        let trusted = key("a");
        let public = trusted.public();
        let one = Machine::new(Remote::with_store(store.clone(), "r", Some(trusted), &[]));
        let two = Machine::new(Remote::with_store(
            store.clone(),
            "r",
            Some(key("b")),
            &[public],
        ));
        let (id, first) = one.create_result("s", b"1", &[]);
        two.create_result("s", b"1", &[]);
        assert_eq!(two.messages(), "", "an equal result is not sent");
        two.create_result("s", b"2", &[]);
        assert!(
            two.messages().contains("`c/s` is not deterministic"),
            "{}",
            two.messages()
        );
        let stored = block_on(one.link.remote().entry(&id, "c"));
        assert_eq!(stored.unwrap().unwrap().unwrap().outputs, first.outputs);
    });
}

#[test]
fn untrusted_entries_are_ignored_and_reported_once() {
    for_each_store(|store| {
        let one = Machine::new(Remote::with_store(
            store.clone(),
            "r",
            Some(key("theirs")),
            &[],
        ));
        let (foreign, _) = one.create_result("s", b"1", &[]);
        let (other, _) = one.create_result("t", b"1", &[]);
        let two = Machine::new(Remote::with_store(
            store.clone(),
            "r",
            Some(key("ours")),
            &[],
        ));
        assert!(two.store.find(&foreign, "c").unwrap().is_none());
        assert!(two.store.find(&other, "c").unwrap().is_none());
        assert_eq!(
            two.messages().matches("which is not trusted").count(),
            1,
            "{}",
            two.messages()
        );

        let path = |key: &Digest| Path::from(format!("v1/ledger/{key}"));
        let put = |key: &Digest, bytes: Vec<u8>| {
            futures::executor::block_on(store.put(&path(key), bytes.into())).unwrap();
        };
        let unsigned = Digest::of_bytes(b"unsigned");
        put(&unsigned, b"{\"outputs\":{}}".to_vec());
        assert!(two.store.find(&unsigned, "c").unwrap().is_none());
        assert!(
            two.messages().contains("it is not signed"),
            "{}",
            two.messages()
        );

        let (good, _) = two.create_result("u", b"3", &[]);
        let sealed = futures::executor::block_on(async {
            store
                .get(&path(&good))
                .await
                .unwrap()
                .bytes()
                .await
                .unwrap()
        });
        let copied = Digest::of_bytes(b"copied");
        put(&copied, sealed.to_vec());
        let three = Machine::new(Remote::with_store(store.clone(), "r", None, &[]));
        assert!(three.store.find(&good, "c").unwrap().is_none());
        assert!(two.store.find(&copied, "c").unwrap().is_none());
        assert!(
            two.messages().contains("its signature is not valid"),
            "{}",
            two.messages()
        );
        assert!(two.store.find(&good, "c").unwrap().is_some());
        let put = block_on(two.link.remote().put_entry(
            &unsigned,
            &two.store.lookup(&good).unwrap().unwrap(),
            "c",
            false,
        ));
        assert_eq!(put.unwrap(), PutOutcome::Rejected(Rejection::Unsigned));
    });
}

fn machine_with_fault(fault: Fault) -> (Arc<Faulty>, Machine, Digest, Digest) {
    let faulty = Faulty::new(Arc::new(InMemory::new()));
    let signing = key("a");
    let public = signing.public();
    let one = Machine::new(Remote::with_store(faulty.clone(), "r", Some(signing), &[]));
    let (id, entry) = one.create_result("s", &[5; 100_000], &[]);
    let two = Machine::new(Remote::with_store(
        faulty.clone(),
        "r",
        Some(key("b")),
        &[public],
    ));
    faulty.set(fault);
    (faulty, two, id, entry.outputs["value"])
}

#[test]
fn read_errors_are_cache_misses_and_reported_once() {
    for (fault, expected_message) in [
        (Fault::Away, "cannot be reached"),
        (Fault::Slow, "does not respond in time"),
        (Fault::Fails, "HTTP status 500"),
        (Fault::Refuses, "rejects the credentials"),
        (Fault::Clock, "clock"),
    ] {
        let (faulty, two, id, object) = machine_with_fault(fault);
        assert!(two.store.find(&id, "c").unwrap().is_none(), "{fault:?}");
        let requests_before = faulty.requests.load(std::sync::atomic::Ordering::Relaxed);
        for _ in 0..20 {
            assert!(two.store.find(&id, "c").unwrap().is_none());
            assert!(two.store.open_object(&object).is_err());
        }
        let requests_after = faulty.requests.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(
            requests_before, requests_after,
            "{fault:?}: the remote is skipped"
        );
        let messages = two.messages();
        assert!(messages.contains(expected_message), "{fault:?}: {messages}");
        assert_eq!(messages.lines().count(), 1, "{messages}");
        assert!(!messages.contains("s3cr3t"), "{messages}");
    }
}

#[test]
fn write_errors_lose_no_result_and_do_not_affect_reads() {
    for (fault, expected_message) in [
        (Fault::Full, "is full"),
        (Fault::ReadOnly, "can only be read"),
    ] {
        let (faulty, two, id, object) = machine_with_fault(fault);
        let began = Instant::now();
        let (mine, entry) = two.create_result("t", b"mine", &[]);
        two.create_result("v", b"more", &[]);
        assert!(began.elapsed().as_secs() < 5);
        let messages = two.messages();
        assert!(
            messages.contains(expected_message) && messages.contains("SendLater"),
            "{messages}"
        );
        assert_eq!(messages.lines().count(), 1, "{messages}");
        assert!(!messages.contains("s3cr3t"), "{messages}");
        assert!(two.store.find(&id, "c").unwrap().is_some(), "{fault:?}");
        two.store.open_object(&object).unwrap();
        assert_eq!(two.store.lookup(&mine).unwrap().unwrap(), entry);
        faulty.set(Fault::None);
        let offer = Offer {
            key: mine,
            entry,
            competition: "c".into(),
            step: "t".into(),
            given: vec![],
        };
        two.link.send(offer, &two.store).unwrap();
        let stored = block_on(two.link.remote().entry(&mine, "c"));
        assert!(stored.unwrap().is_some());
    }
}

#[test]
fn wrong_bytes_are_never_stored() {
    for fault in [Fault::Corrupt, Fault::Partial] {
        let (faulty, two, id, object) = machine_with_fault(fault);
        faulty
            .spares_records
            .store(true, std::sync::atomic::Ordering::Relaxed);
        let entry = two.store.find(&id, "c").unwrap().unwrap();
        assert_eq!(two.store.missing(&entry), []);
        assert!(two.store.open_object(&object).is_err(), "{fault:?}");
        assert_eq!(
            two.store.missing(&entry),
            [object],
            "it has to be created again"
        );
        assert!(two.messages().contains("is damaged"), "{}", two.messages());
        two.create_result("s", &[5; 100_000], &[]);
        faulty.set(Fault::None);
        let three = Machine::new(Remote::with_store(faulty.clone(), "r", None, &[]));
        three.store.open_object(&object).unwrap();
    }
}

#[test]
fn a_damaged_object_is_missing_until_it_is_sent_again() {
    let (faulty, two, id, object) = machine_with_fault(Fault::Corrupt);
    faulty
        .spares_records
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let entry = two.store.find(&id, "c").unwrap().unwrap();
    assert!(two.store.open_object(&object).is_err());
    two.create_result("after", b"made of it", &[object]);
    assert_eq!(two.store.missing(&entry), [object]);
}

#[test]
fn an_incomplete_record_is_rejected() {
    for fault in [Fault::Corrupt, Fault::Partial] {
        let (_, two, id, _) = machine_with_fault(fault);
        assert!(two.store.find(&id, "c").unwrap().is_none(), "{fault:?}");
        assert_eq!(two.messages().lines().count(), 1, "{}", two.messages());
    }
}

#[test]
fn an_entry_is_sent_only_after_its_objects() {
    for_each_store(|store| {
        let one = Machine::new(Remote::with_store(store.clone(), "r", Some(key("a")), &[]));
        one.create_result("s", b"1", &[Digest::of_bytes(b"nowhere")]);
        assert!(!names(&store).iter().any(|name| name.contains("ledger")));
    });
}

#[test]
fn a_bundle_is_read_from_the_mirror() {
    for_each_store(|store| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.zip");
        let bytes: Vec<u8> = (0..10_000_000u32).flat_map(u32::to_le_bytes).collect();
        File::create(&path).unwrap().write_all(&bytes).unwrap();
        let content = Content {
            digest: Digest::of_bytes(&bytes),
            bytes: bytes.len() as u64,
            md5: Some("00".into()),
            sha256: None,
        };
        let signing = key("a");
        let public = signing.public();
        let one = Machine::new(Remote::with_store(store.clone(), "r", Some(signing), &[]));
        let file = File::open(&path).unwrap();
        one.link.send_source("c", &content, Some(file)).unwrap();
        let sent = one.link.remote().sent();
        let file = File::open(&path).unwrap();
        one.link.send_source("c", &content, Some(file)).unwrap();
        assert_eq!(one.link.remote().sent(), sent);

        let two = Machine::new(Remote::with_store(store.clone(), "r", None, &[public]));
        assert_eq!(two.link.sources().unwrap(), ["c"]);
        let bundle = two.link.bundle(content.digest, content.bytes);
        let members: Vec<_> = (0..40u64)
            .map(|n| n * 1_000_000 + 5..n * 1_000_000 + 100_005)
            .collect();
        bundle.expect(members.clone());
        let mut useful = 0;
        for member in &members {
            let mut read = vec![0; (member.end - member.start) as usize];
            let mut at = 0;
            while at < read.len() {
                let count = bundle
                    .read_at(&mut read[at..], member.start + at as u64)
                    .unwrap();
                assert!(count > 0);
                at += count;
            }
            assert_eq!(read, bytes[member.start as usize..member.end as usize]);
            useful += at as u64;
        }
        // The list of hashes has 32 bytes for each block of 4 KiB. Each member may need two blocks more than its length.
        let moved = two.link.remote().received();
        let list = content.bytes / 128 + 1024;
        assert!(moved - list <= useful + 40 * 8192, "{moved} for {useful}");
        let mut rest = vec![0; 3_000_000];
        let start = content.bytes - 2_999_999;
        let mut at = 0;
        loop {
            let count = bundle.read_at(&mut rest[at..], start + at as u64).unwrap();
            if count == 0 {
                break;
            }
            at += count;
        }
        assert_eq!(rest[..at], bytes[start as usize..]);
        assert_eq!(two.messages(), "");
    });
}

#[test]
fn concurrent_readers_transfer_each_range_once() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.zip");
    let bytes: Vec<u8> = (0..10_000_000u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&path, &bytes).unwrap();
    let content = Content {
        digest: Digest::of_bytes(&bytes),
        bytes: bytes.len() as u64,
        md5: None,
        sha256: None,
    };
    let one = Machine::new(Remote::with_store(store, "r", Some(key("a")), &[]));
    let file = File::open(&path).unwrap();
    one.link.send_source("c", &content, Some(file)).unwrap();
    let bundle = one.link.bundle(content.digest, content.bytes);
    let members: Vec<u64> = (0..400).map(|n| n * 98_304).collect();
    bundle.expect(members.iter().map(|at| *at..*at + 16_384).collect());
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut read = vec![0; 16_384];
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(at) = members.get(number) else {
                        return;
                    };
                    let count = bundle.read_at(&mut read, *at).unwrap();
                    assert_eq!(read[..count], bytes[*at as usize..][..count]);
                }
            });
        }
    });
    // The list of hashes has 32 bytes for each block of 4 KiB.
    let list = content.bytes / 128 + 1024;
    let moved = one.link.remote().received();
    assert!(moved <= list + 400 * 17_000, "{moved}");
}

#[test]
fn a_damaged_bundle_is_reported_as_missing() {
    for fault in [Fault::Corrupt, Fault::Partial, Fault::Away] {
        let faulty = Faulty::new(Arc::new(InMemory::new()));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.zip");
        let bytes = vec![3u8; 1_000_000];
        std::fs::write(&path, &bytes).unwrap();
        let content = Content {
            digest: Digest::of_bytes(&bytes),
            bytes: bytes.len() as u64,
            md5: None,
            sha256: None,
        };
        let one = Machine::new(Remote::with_store(faulty.clone(), "r", Some(key("a")), &[]));
        let file = File::open(&path).unwrap();
        one.link.send_source("c", &content, Some(file)).unwrap();
        faulty.set(fault);
        let bundle = one.link.bundle(content.digest, content.bytes);
        let error = bundle.read_at(&mut [0; 100], 5000).unwrap_err();
        let error = prep_core::StepError::input(error);
        assert_eq!(error.lost_object(), Some(content.digest), "{fault:?}");
        assert_eq!(one.messages().lines().count(), 1, "{}", one.messages());
    }
}

#[test]
fn a_damaged_bundle_is_sent_again() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.zip");
    let bytes = vec![3u8; 1_000_000];
    std::fs::write(&path, &bytes).unwrap();
    let content = Content {
        digest: Digest::of_bytes(&bytes),
        bytes: bytes.len() as u64,
        md5: None,
        sha256: None,
    };
    let one = Machine::new(Remote::with_store(store.clone(), "r", Some(key("a")), &[]));
    let send = || {
        let file = File::open(&path).unwrap();
        one.link.send_source("c", &content, Some(file)).unwrap();
    };
    send();
    for name in names(&store).iter().filter(|name| name.contains("bundles")) {
        let path = Path::from(name.as_str());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let mut whole = store
                .get(&path)
                .await
                .unwrap()
                .bytes()
                .await
                .unwrap()
                .to_vec();
            whole[100] ^= 1;
            store.put(&path, whole.into()).await.unwrap();
        });
        let mut read = [0; 100];
        let bundle = one.link.bundle(content.digest, content.bytes);
        assert!(bundle.read_at(&mut read, 50).is_err(), "{name}");
        send();
        let bundle = one.link.bundle(content.digest, content.bytes);
        assert_eq!(bundle.read_at(&mut read, 50).unwrap(), 100, "{name}");
        assert_eq!(read, [3; 100]);
    }
}

#[test]
fn a_sent_file_is_compared_with_its_digest() {
    for_each_store(|store| {
        let remote = Remote::with_store(store.clone(), "r", Some(key("a")), &[]);
        let mut file = tempfile::tempfile().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        for length in [10usize, 20 << 20] {
            file.write_all(&vec![1; length]).unwrap();
            let file = Arc::new(file.try_clone().unwrap());
            let digest = Digest::of_bytes(b"something else");
            let put = remote.put_file("private/v1/objects/ab/cd", &digest, file, false);
            let error = runtime.block_on(put).unwrap_err();
            assert!(matches!(error, RemoteError::Failed { .. }), "{error}");
            assert_eq!(names(&store), Vec::<String>::new());
        }
    });
}

fn paths_of_object(store: &Arc<dyn ObjectStore>, digest: &Digest) -> Vec<Path> {
    let rest = &digest.to_string()[2..];
    let names = names(store).into_iter();
    names
        .filter(|name| name.ends_with(rest))
        .map(Path::from)
        .collect()
}

#[test]
fn a_fetch_is_limited_by_the_length_in_the_entry() {
    for_each_store(|store| {
        let signing = key("a");
        let public = signing.public();
        let one = Machine::new(Remote::with_store(store.clone(), "r", Some(signing), &[]));
        let (id, entry) = one.create_result("s", b"short", &[]);
        let object = entry.outputs["value"];
        let [place] = &paths_of_object(&store, &object)[..] else {
            panic!("one place");
        };
        let long = vec![1; 8 << 20];
        futures::executor::block_on(store.put(place, long.into())).unwrap();
        let two = Machine::new(Remote::with_store(store.clone(), "r", None, &[public]));
        let found = two.store.find(&id, "c").unwrap().unwrap();
        assert_eq!(found.lengths, [5]);
        assert!(two.store.open_object(&object).is_err());
        assert!(two.messages().contains("is damaged"), "{}", two.messages());
        assert_eq!(two.link.remote().received(), 0);
        let again = two.link.attach(&Store::open(two.store.root()).unwrap());
        assert!(again.lookup(&id).unwrap().is_some());
        assert!(again.open_object(&object).is_err());
        assert_eq!(two.link.remote().received(), 0);
    });
}

#[test]
fn an_entry_without_lengths_is_accepted() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let signing = key("a");
    let public = signing.public();
    let one = Machine::new(Remote::with_store(store.clone(), "r", Some(signing), &[]));
    let (id, entry) = one.create_result("s", b"content", &[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let path = Path::from(format!("v1/ledger/{id}"));
    runtime.block_on(store.delete(&path)).unwrap();
    assert!(entry.lengths.is_empty());
    let put = one.link.remote().put_entry(&id, &entry, "c", false);
    assert_eq!(runtime.block_on(put).unwrap(), PutOutcome::New);
    let two = Machine::new(Remote::with_store(store, "r", None, &[public]));
    assert!(two.store.find(&id, "c").unwrap().is_some());
    two.store.open_object(&entry.outputs["value"]).unwrap();
    assert_eq!(two.messages(), "");
}

#[test]
fn an_entry_of_a_different_step_is_rejected() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let signing = key("a");
    let public = signing.public();
    let one = Machine::new(Remote::with_store(store.clone(), "r", Some(signing), &[]));
    let (_, entry) = one.create_result("s", b"content", &[]);
    let other = Digest::of_bytes(b"another step");
    let put = one.link.remote().put_entry(&other, &entry, "c", false);
    block_on(put).unwrap();
    let two = Machine::new(Remote::with_store(store, "r", None, &[public]));
    assert!(two.store.find(&other, "c").unwrap().is_none());
    assert!(
        two.messages().contains("belongs to a different step"),
        "{}",
        two.messages()
    );
}

#[test]
fn a_key_is_trusted_for_its_competitions_until_its_time_limit() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let signing = key("a");
    let public = signing.public();
    let one = Machine::new(Remote::with_store(store.clone(), "r", Some(signing), &[]));
    let (id, _) = one.create_result("s", b"content", &[]);
    let limited = |competition: &str, until| TrustedSigner {
        competitions: Some([competition.to_owned()].into()),
        until,
        ..TrustedSigner::from(public)
    };
    for (trusted, is_found, expected_message) in [
        (limited("c", None), true, ""),
        (limited("c", Some(u64::MAX)), true, ""),
        (limited("d", None), false, "is not trusted for `c`"),
        (limited("c", Some(1)), false, "is no longer trusted"),
    ] {
        let remote = Remote::with_store(store.clone(), "r", None, &[]).with_trusted(&[trusted]);
        let two = Machine::new(remote);
        assert_eq!(
            two.store.find(&id, "c").unwrap().is_some(),
            is_found,
            "{expected_message}"
        );
        assert!(
            two.messages().contains(expected_message),
            "{}",
            two.messages()
        );
        assert_eq!(two.messages().is_empty(), is_found, "{}", two.messages());
    }
}

/// A public object that is also part of the answers is in both areas, because some users can read only the public area.
#[test]
fn a_public_object_reaches_the_public_area() {
    for_each_store(|store| {
        let signing = key("a");
        let public = signing.public();
        let one = Machine::new(Remote::with_store(store.clone(), "r", Some(signing), &[]));
        let (_, entry) = one.create_result("table/train", b"rows", &[]);
        let object = entry.outputs["value"];
        assert_eq!(paths_of_object(&store, &object).len(), 1);
        one.create_result("public/train.csv", b"rows", &[]);
        assert_eq!(paths_of_object(&store, &object).len(), 2);
        // A machine that does not have the object copies it within the remote.
        let (_, entry) = one.create_result("table/test", b"more rows", &[]);
        let object = entry.outputs["value"];
        let two = Machine::new(Remote::with_store(
            store.clone(),
            "r",
            Some(key("b")),
            &[public],
        ));
        let offer = Offer {
            key: Digest::of_bytes(b"public"),
            entry,
            competition: "c".into(),
            step: "public/test.csv".into(),
            given: Vec::new(),
        };
        two.link.send(offer, &two.store).unwrap();
        assert_eq!(paths_of_object(&store, &object).len(), 2);
        assert_eq!(two.messages(), "");
    });
}

#[test]
fn an_old_record_of_a_source_is_rejected() {
    for_each_store(|store| {
        let content = |bytes: &[u8]| Content {
            digest: Digest::of_bytes(bytes),
            bytes: bytes.len() as u64,
            md5: None,
            sha256: None,
        };
        let (wrong, right) = (content(b"wrong"), content(b"right"));
        let signing = key("a");
        let public = signing.public();
        let one = Machine::new(Remote::with_store(store.clone(), "r", Some(signing), &[]));
        let reader =
            |shown: &str| Machine::new(Remote::with_store(store.clone(), shown, None, &[public]));
        let two = reader("r");
        let recorded_digest = |machine: &Machine| {
            let known = machine.link.source("c/s/f.csv").unwrap();
            known.map(|known| known.content.digest)
        };
        assert_eq!(recorded_digest(&two), None);
        let path = Path::from("v1/sources/c+s+f.csv");
        one.link.send_source("c/s/f.csv", &wrong, None).unwrap();
        assert_eq!(recorded_digest(&two), Some(wrong.digest));
        let old = futures::executor::block_on(async {
            store.get(&path).await.unwrap().bytes().await.unwrap()
        });
        one.link.send_source("c/s/f.csv", &right, None).unwrap();
        assert_eq!(recorded_digest(&two), Some(right.digest));
        assert_eq!(two.messages(), "");
        let new = futures::executor::block_on(async {
            store.get(&path).await.unwrap().bytes().await.unwrap()
        });
        futures::executor::block_on(store.put(&path, old.into())).unwrap();
        assert_eq!(recorded_digest(&two), None);
        assert!(
            two.messages().contains("an old record was restored"),
            "{}",
            two.messages()
        );
        assert_eq!(recorded_digest(&reader("r")), Some(wrong.digest));
        futures::executor::block_on(store.put(&path, new.into())).unwrap();
        assert_eq!(recorded_digest(&two), Some(right.digest));
        let other = reader("q");
        assert_eq!(recorded_digest(&other), None);
        assert!(
            other.messages().contains("was written for the remote r"),
            "{}",
            other.messages()
        );
    });
}
