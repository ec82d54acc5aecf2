//! Tests that a server never blocks a run. A server that stops, or only sends a byte now and then, is treated as a
//! cache miss.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prep_cache::{Digest, Store, StoreError};
use prep_core::Ranges;
use prep_remote::{Address, CloudCredentials, Link, LinkWarning, Remote, SigningKey};

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
            let dir = tempfile::tempdir().unwrap();
            let store = Store::open(&dir.path().join("store")).unwrap();
            let key = SigningKey::generate("a").unwrap();
            let credentials = CloudCredentials::new(Vec::new());
            let variables = prep_fetch::NetworkVariables::default();
            let remote = Remote::open(
                &server(respond),
                &credentials,
                variables,
                Ok(Some(key)),
                &[],
            )
            .unwrap();
            let sink = Arc::new(|_: &LinkWarning| {});
            let link = Link::with_remote(remote.with_patience(PATIENCE), false, sink).unwrap();
            let begun = Instant::now();
            work(&link, &link.attach(&store), digest);
            let time = begun.elapsed();
            assert!(
                time < Duration::from_secs(5),
                "{response}, {read}: {time:?}"
            );
        }
    }
}
