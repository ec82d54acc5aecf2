//! Tests that a server never blocks a run. A server that stops, or only sends a byte now and then, is treated as a
//! cache miss.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use prep_cache::{Content, Digest, Store, StoreError};
use prep_core::{Cancel, Failure, Ranges, StepError};
use prep_remote::{Address, CloudCredentials, Link, LinkWarning, Remote, RemoteError, SigningKey};

const PATIENCE: Duration = Duration::from_millis(300);

type Respond = fn(&mut TcpStream) -> std::io::Result<()>;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nLast-Modified: Tue, 10 Dec 2024 09:08:07 GMT\r\n\
                      ETag: \"1\"\r\n\r\n";

fn trickle(stream: &mut TcpStream) -> std::io::Result<()> {
    for _ in 0..1000 {
        stream.write_all(b"x")?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

const RESPONSES: [(&str, Respond); 5] = [
    ("silence", |_| Ok(())),
    ("a part of the head", |stream| stream.write_all(&HEAD[..20])),
    ("the head", |stream| stream.write_all(HEAD)),
    ("a slow body", |stream| {
        stream.write_all(HEAD)?;
        trickle(stream)
    }),
    ("a slow error", |stream| {
        stream.write_all(b"HTTP/1.1 418 Teapot\r\nContent-Length: 100000\r\n\r\n")?;
        trickle(stream)
    }),
];

fn server(respond: Respond) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 65536]);
                let _ = respond(&mut stream);
                std::thread::sleep(Duration::from_secs(60));
            });
        }
    });
    Address::parse(&format!("http://{address}/team")).unwrap()
}

#[test]
fn every_read_ends_if_the_server_stops_or_is_slow() {
    type Read = fn(&Link, &Store, Digest);
    let digest = Digest::of_bytes(b"x");
    let reads: [(&str, Read); 4] = [
        ("entry", |_, store, key| {
            assert!(store.find(&key, "c").unwrap().is_none());
        }),
        ("object", |_, store, digest| {
            let read = store.read(&digest);
            assert!(matches!(read, Err(StoreError::Missing { .. })), "{read:?}");
        }),
        ("source", |link, _, _| assert!(link.source("c").is_err())),
        ("bundle", |link, _, digest| {
            let read = link.bundle(digest, 100_000).read_at(&mut [0; 10], 0);
            assert!(read.is_err());
        }),
    ];
    for (response, respond) in RESPONSES {
        for (read, work) in reads {
            let (dir, store, link) = machine(respond, PATIENCE);
            let begun = Instant::now();
            work(&link, &link.attach(&store), digest);
            let time = begun.elapsed();
            assert!(
                time < Duration::from_secs(5),
                "{response}, {read}: {time:?}"
            );
            drop(dir);
        }
    }
}

/// Returns a store, and a link to a server.
fn machine(respond: Respond, patience: Duration) -> (tempfile::TempDir, Store, Link) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let key = SigningKey::generate("a").unwrap();
    let credentials = CloudCredentials::new(Vec::new());
    let variables = prep_fetch::NetworkVariables::default();
    let address = server(respond);
    let remote = Remote::open(&address, &credentials, variables, Ok(Some(key)), &[]).unwrap();
    let sink = Arc::new(|_: &LinkWarning| {});
    let link = Link::with_remote(remote.with_patience(patience), false, sink).unwrap();
    (dir, store, link)
}

/// The user stops the run while the server sends an object slowly. The store counts the bytes that have arrived, and
/// subtracts them when the fetch ends.
#[test]
fn a_cancellation_ends_the_fetch_of_an_object() {
    let (_dir, store, link) = machine(RESPONSES[3].1, Duration::from_secs(60));
    let (cancel, arriving) = (Cancel::default(), Arc::new(AtomicU64::new(0)));
    link.stop_with(&cancel);
    let store = link.attach(&store).with_arriving(arriving.clone());
    let begun = Instant::now();
    let reading = std::thread::spawn(move || store.read(&Digest::of_bytes(b"x")).unwrap_err());
    while arriving.load(Ordering::Relaxed) < 5 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    let stopped = Instant::now();
    cancel.cancel();
    let error = StepError::from(reading.join().unwrap());
    assert_eq!(error.failure(), Failure::Cancelled);
    assert!(stopped.elapsed() < Duration::from_secs(2));
    assert_eq!(arriving.load(Ordering::Relaxed), 0);
}

/// The same for an upload to a store that does not respond. The object does not get its name.
#[test]
fn a_cancellation_ends_an_upload() {
    let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let slow = ThrottledStore::new(
        inner.clone(),
        ThrottleConfig {
            wait_put_per_call: Duration::from_secs(60),
            ..ThrottleConfig::default()
        },
    );
    let key = SigningKey::generate("a").unwrap();
    let remote = Remote::with_store(Arc::new(slow), "memory", Some(key), &[]);
    let link = Link::with_remote(remote, true, Arc::new(|_: &LinkWarning| {})).unwrap();
    let cancel = Cancel::default();
    link.stop_with(&cancel);
    let mut file = tempfile::tempfile().unwrap();
    let bytes = vec![1; 20 << 20];
    file.write_all(&bytes).unwrap();
    let content = Content {
        digest: Digest::of_bytes(&bytes),
        bytes: bytes.len() as u64,
        md5: None,
        sha256: None,
    };
    let sending = std::thread::spawn(move || link.send_source("c", &content, Some(file)));
    std::thread::sleep(Duration::from_millis(300));
    let stopped = Instant::now();
    cancel.cancel();
    let sent = sending.join().unwrap();
    assert!(matches!(sent, Err(RemoteError::Stopped)), "{sent:?}");
    assert!(stopped.elapsed() < Duration::from_secs(3));
    let listed = futures::executor::block_on_stream(inner.list(None));
    assert_eq!(listed.count(), 0);
}

/// A run that is stopped while it sends results reports that they stay on this machine.
#[test]
fn stopped_jobs_are_reported() {
    for delay in [None, Some(Duration::from_millis(500))] {
        let slow = ThrottledStore::new(
            InMemory::new(),
            ThrottleConfig {
                wait_put_per_call: Duration::from_secs(60),
                ..ThrottleConfig::default()
            },
        );
        let key = SigningKey::generate("a").unwrap();
        let remote = Remote::with_store(Arc::new(slow), "memory", Some(key), &[]);
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let sink = warnings.clone();
        let sink = move |warning: &LinkWarning| sink.lock().unwrap().push(warning.message.clone());
        let link = Link::with_remote(remote, true, Arc::new(sink)).unwrap();
        let cancel = Cancel::default();
        link.stop_with(&cancel);
        assert!(link.finish(|| false), "there are no jobs yet");
        let content = Content {
            digest: Digest::of_bytes(b"x"),
            bytes: 1,
            md5: None,
            sha256: None,
        };
        link.offer_source("c", &content);
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        // If the run waits late, the job has already ended.
        delay.into_iter().for_each(std::thread::sleep);
        assert!(!link.finish(|| cancel.is_cancelled()));
        let warnings = warnings.lock().unwrap();
        let [warning] = warnings.as_slice() else {
            panic!("{warnings:?}");
        };
        assert!(
            warning.contains("results stay on this machine"),
            "{warning}"
        );
    }
}
