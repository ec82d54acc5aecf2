//! Responses of a server are classified correctly. They pass through `object_store`, because the module `error` parses
//! the messages of this library.

use std::io::{Read, Write};
use std::net::TcpListener;

use prep_cache::{Content, Digest};
use prep_remote::{Address, CloudCredentials, Remote, RemoteError, RemoteSource, SigningKey};

fn server(status: &str, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 65536]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

fn remote(endpoint: &str, url: &str) -> Remote {
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", "a"),
        ("AWS_SECRET_ACCESS_KEY", "b"),
        ("AWS_REGION", "r"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let address = Address::parse(url).unwrap();
    let key = SigningKey::generate("a").unwrap();
    Remote::open(
        &address,
        &CloudCredentials::new(variables),
        prep_fetch::NetworkVariables::default(),
        Ok(Some(key)),
        &[],
    )
    .unwrap()
}

fn put(remote: &Remote) -> RemoteError {
    let known = RemoteSource {
        content: Content {
            digest: Digest::of_bytes(b"x"),
            bytes: 1,
            md5: None,
            sha256: None,
        },
        mirrored: false,
        serial: 1,
        remote: String::new(),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime
        .block_on(remote.put_source("507", &known))
        .unwrap_err()
}

#[test]
fn a_response_is_classified_by_its_status_and_code() {
    type Is = fn(&RemoteError) -> bool;
    let table: [(&str, &str, Is); 7] = [
        ("507 Insufficient Storage", "", |error| {
            matches!(error, RemoteError::Full { .. })
        }),
        (
            "400 Bad Request",
            "<Error><Code>XMinioStorageFull</Code></Error>",
            |error| matches!(error, RemoteError::Full { .. }),
        ),
        // The names of the bucket, directory and record contain numbers that look like HTTP statuses.
        (
            "400 Bad Request",
            "<Error><Code>InvalidArgument</Code></Error>",
            |error| matches!(error, RemoteError::Failed { cause, .. } if cause.contains("400")),
        ),
        (
            "403 Forbidden",
            "<Error><Code>AccessDenied</Code></Error>",
            |error| matches!(error, RemoteError::ReadOnly { .. }),
        ),
        (
            "403 Forbidden",
            "<Error><Code>RequestTimeTooSkewed</Code></Error>",
            |error| matches!(error, RemoteError::Clock { .. }),
        ),
        (
            "404 Not Found",
            "<Error><Code>NoSuchBucket</Code></Error>",
            |error| matches!(error, RemoteError::NoBucket { .. }),
        ),
        ("503 Service Unavailable", "", |error| {
            matches!(error, RemoteError::Overloaded { .. })
        }),
    ];
    std::thread::scope(|scope| {
        for (status, body, is_right) in table {
            scope.spawn(move || {
                let error = put(&remote(&server(status, body), "s3://bucket503/team507"));
                assert!(is_right(&error), "{status} {body}: {error:?}");
            });
        }
    });
}

#[test]
fn a_missing_server_is_reported_as_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let error = put(&remote(&endpoint, "s3://bucket/team"));
    assert!(
        matches!(error, RemoteError::Unreachable { .. }),
        "{error:?}"
    );
}
