//! Tests of the validation server: clients upload different submissions at once, and each gets the response for its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Harbour, Sandbox};
use crate::until::{self, wait_until_open};

/// A running server. Dropping it kills the server.
pub struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    pub fn start(sandbox: &Sandbox, data: &str, more: &[&str]) -> Serving {
        Serving::start_with(sandbox, data, more, |_| ())
    }

    fn start_with(
        sandbox: &Sandbox,
        data: &str,
        more: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Serving {
        let mut arguments = vec!["serve", "--port", "0", "--data-dir", data];
        arguments.extend(more);
        let mut command = sandbox.command(&arguments);
        change(&mut command);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("listening on http://").expect(&first);
        let address = address.to_owned();
        // Discards the log, so that the pipe does not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        Serving { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// Returns the status and body of the response.
    pub fn ask(&self, request: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        // Ignores errors, because the server may respond and close the connection before it has read the entire request.
        let _ = stream.write_all(request);
        answer(stream)
    }

    pub fn validate(&self, content: &[u8]) -> (u16, String) {
        self.ask(&post("/validate", &multipart(content)))
    }

    /// Returns the server's peak memory in kilobytes.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM"));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        words[1].parse().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.unwrap_or(0), body.to_owned())
}

fn part(disposition: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("--XX\r\nContent-Disposition: form-data; {disposition}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n"].concat()
}

pub fn multipart(content: &[u8]) -> Vec<u8> {
    let file = part("name=\"file\"; filename=\"a.csv\"", content);
    [file.as_slice(), b"--XX--\r\n"].concat()
}

fn head(path: &str, length: usize) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: {length}\r\n\r\n"
    )
    .into_bytes()
}

pub fn post(path: &str, body: &[u8]) -> Vec<u8> {
    [head(path, body.len()), body.to_vec()].concat()
}

const VALID: &str = "{\"result\":\"Submission is valid.\"}\n";

/// Returns the sandbox and the sample submission.
fn prepared() -> (Sandbox, Vec<u8>) {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.run_and_count_steps(Harbour::ID);
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    let sample = fs::read(sample).unwrap();
    (sandbox, sample)
}

fn short(rows: usize) -> Vec<u8> {
    let mut text = "id,docked\n".to_owned();
    for row in 0..rows {
        text.push_str(&format!("{row},0\n"));
    }
    text.into_bytes()
}

#[test]
fn each_of_200_clients_gets_its_own_response() {
    let (sandbox, sample) = prepared();
    let limits = ["--max-upload", "8MB", "--timeout", "5", Harbour::ID];
    let server = Serving::start(&sandbox, "data", &limits);
    let client = |number: usize| match number % 5 {
        0 => {
            let (status, body) = server.validate(&sample);
            assert_eq!((status, body.as_str()), (200, VALID));
        }
        1 => {
            // Every client uploads a different number of rows, above the expected ten.
            let rows = 11 + number;
            let (status, body) = server.validate(&short(rows));
            let expected = format!("the submission has {rows} rows");
            assert!(status == 200 && body.contains(&expected), "{rows}: {body}");
        }
        2 => {
            let (status, body) = server.validate(&vec![b'x'; 9_000_000]);
            assert_eq!(status, 413, "{body}");
        }
        3 => {
            // This client sends two bytes and no more.
            let mut stream = server.connect();
            stream.write_all(&head("/validate", 1000)).unwrap();
            stream.write_all(b"--").unwrap();
            let (status, body) = answer(stream);
            assert_eq!(status, 408, "{body}");
        }
        _ => {
            let whole = multipart(&sample);
            let (status, body) = server.ask(&post("/validate", &whole[..whole.len() - 12]));
            assert_eq!(status, 400, "{body}");
        }
    };
    std::thread::scope(|scope| {
        for number in 0..200 {
            let client = &client;
            scope.spawn(move || client(number));
        }
    });
    let (status, body) = server.validate(&sample);
    assert_eq!((status, body.as_str()), (200, VALID), "and it lives on");
    let peak = server.peak();
    eprintln!("at most {peak} kB");
    assert!(peak < 200_000, "{peak} kB");
}

/// Uploads with one huge cell or millions of rows: the server does not parse their cells, and keeps only one upload at
/// a time in memory.
#[test]
fn large_uploads_are_graded_one_by_one() {
    let (sandbox, sample) = prepared();
    let limits = ["--max-upload", "64MB", Harbour::ID];
    let server = Serving::start(&sandbox, "data", &limits);
    let header = vec![b'x'; 40 << 20];
    let cell = [b"id,docked\n1,".as_slice(), &vec![b'x'; 20 << 20]].concat();
    let rows = [b"id,docked\n".as_slice(), &b"a,\"b\"\n".repeat(7 << 20)].concat();
    let client = |number: usize| {
        let (upload, expected) = match number % 4 {
            0 => (&header, "the first line has 41943040 bytes"),
            1 => (&cell, "Submission invalid!"),
            2 => (&rows, "the submission has 7340032 rows"),
            _ => (&sample, "Submission is valid."),
        };
        let (status, body) = server.validate(upload);
        assert!(status == 200 && body.contains(expected), "{body:.200}");
        assert!(body.len() < 10_000);
    };
    std::thread::scope(|scope| {
        for number in 0..24 {
            let client = &client;
            scope.spawn(move || client(number));
        }
    });
    let peak = server.peak();
    assert!(peak < 200_000, "{peak} kB");
}

/// The temporary file of an upload has no name, so a killed server leaves no file behind.
#[test]
fn uploads_have_no_name() {
    let (sandbox, sample) = prepared();
    let directory = sandbox.path("uploads");
    fs::create_dir(&directory).unwrap();
    let server = Serving::start_with(&sandbox, "data", &[Harbour::ID], |command| {
        command.env("TMPDIR", &directory);
    });
    let whole = multipart(&sample);
    let mut stream = server.connect();
    stream.write_all(&head("/validate", whole.len())).unwrap();
    stream.write_all(&whole[..whole.len() - 12]).unwrap();
    wait_until_open(server.child.id(), &directory, 1);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    stream.write_all(&whole[whole.len() - 12..]).unwrap();
    assert_eq!(answer(stream), (200, VALID.to_owned()));
}

#[test]
fn invalid_uploads_are_rejected() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID]);
    let get = |method: &str, path: &str| {
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        server.ask(request.as_bytes())
    };
    let running = "{\"status\":\"running\"}\n".to_owned();
    assert_eq!(get("GET", "/health"), (200, running));
    assert_eq!(get("HEAD", "/health"), (200, String::new()));
    for (method, path, expected) in [
        ("POST", "/health", 405),
        ("GET", "/validate", 405),
        ("POST", "/validate", 400),
        ("POST", "/validate/", 404),
        ("POST", "/grade", 404),
        ("GET", "/", 404),
    ] {
        assert_eq!(get(method, path).0, expected, "{method} {path}");
    }
    let end = b"--XX--\r\n".as_slice();
    let file = part("name=\"file\"; filename=\"a.txt\"", &sample);
    let other = part("name=\"file\"; filename=\"b.csv\"", b"x");
    let field = part("name=\"note\"", b"{}");
    let no_name = part("name=\"file\"", &sample);
    let extended = part("name=\"file\"; filename*=UTF-8''%C3%A9.csv", &sample);
    for (what, body, expected) in [
        ("the first file counts", [&file, &other, end].concat(), 200),
        ("further fields", [&field, &file, &field, end].concat(), 200),
        ("a name beyond ASCII", [&extended, end].concat(), 200),
        ("no name of a file", [&no_name, end].concat(), 400),
        ("no end", file.clone(), 400),
        ("another field", [&field, end].concat(), 400),
        ("garbage", b"garbage".to_vec(), 400),
        (
            "a header without an end",
            [b"--XX\r\nA: ".to_vec(), vec![b'x'; 4 << 20]].concat(),
            400,
        ),
    ] {
        let (status, text) = server.ask(&post("/validate", &body));
        assert_eq!(status, expected, "{what}: {text}");
        assert!(status != 200 || text == VALID, "{what}: {text}");
    }
    for piece in [1, 7, 100] {
        let mut request = b"POST /validate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\
                            Content-Type: multipart/form-data; boundary=XX\r\n\r\n"
            .to_vec();
        for piece in multipart(&sample).chunks(piece) {
            request.extend(format!("{:x}\r\n", piece.len()).bytes());
            request.extend(piece);
            request.extend(b"\r\n");
        }
        request.extend(b"0\r\n\r\n");
        assert_eq!(server.ask(&request), (200, VALID.to_owned()), "{piece}");
    }
}

/// A container may mount only `prepared/private`, which any program may have written.
#[test]
fn server_needs_only_the_answers() {
    let (sandbox, sample) = prepared();
    let id = Harbour::ID;
    let server = Serving::start(&sandbox, "mount", &[id]);
    let (status, body) = server.validate(&sample);
    let expected = format!(
        "{{\"details\":\"Dataset for competition `{id}` is not prepared! Please run `mlebench prepare -c {id}` to \
         prepare the dataset.\",\"error\":\"An unexpected error occurred.\"}}\n"
    );
    assert_eq!((status, body), (500, expected));
    let answers = fs::read_to_string(sandbox.prepared(id).join("private/test.csv")).unwrap();
    sandbox.write(
        &format!("mount/{id}/prepared/private/test.csv"),
        answers.replace(",1", ",0"),
    );
    assert_eq!(server.validate(&sample), (200, VALID.to_owned()));
}

#[test]
fn scores_are_returned_only_on_request() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &["--scores"]);
    let body = multipart(&sample);
    let choosing = |path: &str, id: &str| {
        let request = String::from_utf8(post(path, &body)).unwrap();
        let chosen = request.replacen("\r\n", &format!("\r\nexp-id: {id}\r\n"), 1);
        server.ask(chosen.as_bytes())
    };
    let (status, text) = choosing("/grade", Harbour::ID);
    let log = fs::read_to_string(sandbox.path("data/grades.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    let report: serde_json::Value = serde_json::from_str(&text).expect(&text);
    assert_eq!((status, report["score"].as_f64()), (200, Some(0.8)));
    assert!(
        !text.contains(&*sandbox.path("").to_string_lossy()),
        "{text}"
    );
    let valid = "{\"is_valid\":true,\"result\":\"Submission is valid.\"}\n";
    assert_eq!(choosing("/validate", Harbour::ID), (200, valid.to_owned()));
    assert_eq!(choosing("/validate", "nothing").0, 400);
    assert_eq!(server.ask(&post("/validate", &body)).0, 400);
}

#[test]
fn server_stops_on_a_signal() {
    let (sandbox, _) = prepared();
    let mut server = Serving::start(&sandbox, "data", &[Harbour::ID]);
    assert_eq!(server.ask(b"GET /health HTTP/1.0\r\n\r\n").0, 200);
    let _silent = server.connect();
    let pid = server.child.id().to_string();
    let killed = std::process::Command::new("kill").arg(&pid).status();
    assert!(killed.unwrap().success());
    let begun = Instant::now();
    let status = server.child.wait().unwrap();
    assert!(
        status.success() && begun.elapsed() < Duration::from_secs(5),
        "{status}"
    );
}

/// Returns a request head without `Connection: close`. The connection stays open unless the server closes it.
fn kept(path: &str, length: usize) -> Vec<u8> {
    let head = String::from_utf8(head(path, length)).unwrap();
    head.replace("Connection: close\r\n", "").into_bytes()
}

fn next_head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        text.push(byte[0]);
    }
    String::from_utf8_lossy(&text).to_lowercase()
}

#[test]
fn early_response_closes_the_connection() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID, "--max-upload", "10kB"]);
    for (path, length) in [("/nothing", 90 << 20), ("/validate", 90 << 20)] {
        let mut stream = server.connect();
        stream.write_all(&kept(path, length)).unwrap();
        stream.write_all(b"--XX\r\nbroken").unwrap();
        let found = next_head(&mut stream);
        assert!(found.contains("connection: close"), "{path}: {found}");
    }
    // The server read the entire body, including the bytes after the last part, so the client can use the connection again.
    let mut stream = server.connect();
    for _ in 0..2 {
        let body = [multipart(&sample), vec![b'e'; 3000]].concat();
        stream.write_all(&kept("/validate", body.len())).unwrap();
        stream.write_all(&body).unwrap();
        let found = next_head(&mut stream);
        assert!(
            found.starts_with("http/1.1 200") && !found.contains("connection: close"),
            "{found}"
        );
        let mut text = vec![0; VALID.len()];
        stream.read_exact(&mut text).unwrap();
        assert_eq!(text, VALID.as_bytes());
    }
}

#[test]
fn idle_connections_do_not_block_other_clients() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID]);
    // Opens more connections than the server serves at the same time.
    let idle: Vec<TcpStream> = (0..600)
        .filter_map(|_| TcpStream::connect(&server.address).ok())
        .collect();
    let begun = Instant::now();
    assert_eq!(server.validate(&sample), (200, VALID.to_owned()));
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    drop(idle);
}

#[test]
fn server_uses_answers_that_were_prepared_again() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID]);
    assert_eq!(server.validate(&sample), (200, VALID.to_owned()));
    // A different split has different test rows.
    let other = Harbour::PIPELINE.replace("seed: 0", "seed: 1");
    assert_ne!(other, Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &other);
    sandbox.run_and_count_steps(Harbour::ID);
    let (_, text) = server.validate(&sample);
    assert!(
        text.starts_with("{\"result\":\"Submission invalid!"),
        "{text}"
    );
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    assert_eq!(
        server.validate(&fs::read(sample).unwrap()),
        (200, VALID.to_owned())
    );
}

/// The header lines of a part may arrive byte by byte. The server must not search all of them again for each byte.
#[test]
fn long_headers_in_small_chunks_take_linear_time() {
    let (sandbox, _) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID]);
    let mut request = b"POST /validate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\
                        Content-Type: multipart/form-data; boundary=XX\r\n\r\n"
        .to_vec();
    let header = [b"--XX\r\n".to_vec(), b"a\r\n".repeat(20_000)].concat();
    for byte in header {
        request.extend(b"1\r\n");
        request.push(byte);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    let before = cpu_seconds(server.child.id());
    let (status, text) = server.ask(&request);
    assert_eq!(status, 400, "{text}");
    let seconds = cpu_seconds(server.child.id()) - before;
    assert!(seconds < 3.0, "{seconds} s");
}

fn cpu_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after = stat.rsplit_once(')').unwrap().1;
    let times = after.split_whitespace().skip(11).take(2);
    times
        .map(|ticks| ticks.parse::<f64>().unwrap() / 100.0)
        .sum()
}

/// Uploads of a few bytes per second must not block the health check or other uploads for long.
#[test]
fn slow_uploads_do_not_block_other_clients() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID]);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let slow = || -> Vec<TcpStream> {
            let begin = |_| {
                let mut stream = server.connect();
                stream.write_all(&head("/validate", 1_000_000)).ok()?;
                Some(stream)
            };
            (0..520).filter_map(begin).collect()
        };
        let mut streams = slow();
        let is_done = &is_done;
        scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                for stream in &mut streams {
                    // The server may have closed the connection.
                    let _ = stream.write_all(b"x");
                }
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let begun = Instant::now();
        let health = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        assert_eq!(server.ask(health).0, 200);
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(server.validate(&sample), (200, VALID.to_owned()));
        assert!(
            begun.elapsed() < Duration::from_secs(45),
            "{:?}",
            begun.elapsed()
        );
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn all_uploads_together_are_limited() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID, "--max-upload", "100kB"]);
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut stream = server.connect();
        let whole = multipart(&vec![b'x'; 99_000]);
        stream.write_all(&head("/validate", whole.len())).unwrap();
        stream.write_all(&whole[..whole.len() - 12]).unwrap();
        open.push(stream);
    }
    until::wait_until("the uploads are stored", || {
        let files = fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap();
        let sizes = files.filter_map(|file| Some(fs::metadata(file.ok()?.path()).ok()?.len()));
        sizes
            .filter(|size| *size > 98_000 && *size < 100_000)
            .count()
            == 16
    });
    assert_eq!(server.validate(&vec![b'x'; 50_000]).0, 503);
    drop(open);
    until::wait_until("the space is free again", || {
        server.validate(&sample).0 == 200
    });
}

#[test]
fn requests_of_web_pages_are_refused() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID, "--scores"]);
    let body = multipart(&sample);
    for (from, to, expected) in [
        ("Host: localhost", "Host: 127.0.0.1:5000", 200),
        ("Host: localhost", "Host: evil.example", 403),
        (
            "Host: localhost",
            "Host: localhost\r\nOrigin: http://evil.example",
            403,
        ),
        ("Host: localhost", "Host: localhost\r\nOrigin: null", 403),
        (
            "Host: localhost",
            "Host: localhost\r\nOrigin: http://localhost:8888",
            200,
        ),
    ] {
        for path in ["/grade", "/validate"] {
            let request = String::from_utf8(post(path, &body)).unwrap();
            let (status, text) = server.ask(request.replacen(from, to, 1).as_bytes());
            assert_eq!(status, expected, "{to}: {text}");
            assert!(status == 200 || !text.contains("score"), "{text}");
        }
    }
}

/// A client may close its sending side after the request.
#[test]
fn half_closed_client_gets_its_answer() {
    let (sandbox, sample) = prepared();
    let server = Serving::start(&sandbox, "data", &[Harbour::ID]);
    for _ in 0..20 {
        let mut stream = server.connect();
        stream
            .write_all(&post("/validate", &multipart(&sample)))
            .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(answer(stream), (200, VALID.to_owned()));
    }
}
