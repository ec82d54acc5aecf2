//! Measures downloads from a local server, and compares them with `curl` or Kaggle's client.
//!
//! Run it with `cargo bench -p prep-fetch --bench download`. Each download is a separate process, which prints its peak
//! memory when it ends. The goal is a peak memory of less than 200 MB.
//!
//! ```text
//! full speed   2 GB, or DOWNLOAD_BENCH_BYTES; goal: at least 0.8 times as fast as curl followed by md5sum
//! throttled    a tenth of the bytes, at 20 MB/s for each connection; goal: at least 3 times as fast as Kaggle's client
//! ```
//!
//! `KAGGLE_CLIENT` names the program of Kaggle's client. Without it, the benchmark uses `curl`, which also has a single
//! connection.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prep_cache::Store;
use prep_core::{Cancel, Context, RunLimits, Source};
use prep_fault_server::{At, Bundle, Content, Fault, FaultServer, KEY, Kind, TOKEN, USERNAME};
use prep_fetch::{DownloadOptions, KaggleBundle, KaggleCredentials, Network, SearchPath, Secret};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const ID: &str = "bundle";

fn main() -> Outcome {
    if let Ok(endpoint) = std::env::var("DOWNLOAD_BENCH_CHILD") {
        return child(&endpoint);
    }
    let bytes = std::env::var("DOWNLOAD_BENCH_BYTES").map_or(Ok(2_000_000_000), |n| n.parse())?;
    full_speed(bytes)?;
    throttled(bytes / 10)
}

/// Downloads the bundle into the current directory. Runs in the child process.
fn child(endpoint: &str) -> Outcome {
    let options = DownloadOptions {
        endpoint: endpoint.to_owned(),
        ..DownloadOptions::default()
    };
    let network = Network::new(options, KaggleCredentials::Token(Secret::new(TOKEN)))?;
    let limits = RunLimits {
        jobs: 1,
        memory: 1 << 30,
    };
    let context = Context::new(Store::open(Path::new("store"))?, limits, Cancel::default());
    let search = SearchPath {
        id: ID,
        directories: &[],
        data: Path::new("data"),
    };
    KaggleBundle::new(ID, search, None, network).run(&context)?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("    peak memory {}", peak.unwrap_or("unknown").trim());
    Ok(())
}

fn bundle(bytes: u64) -> Bundle {
    let mut block = vec![0_u8; 16 << 20];
    for (place, byte) in (0_u32..).zip(block.iter_mut()) {
        *byte = (place.wrapping_mul(0x9e37_79b9) >> 24) as u8;
    }
    block.splice(..4, *b"PK\x03\x04");
    let block = block.into();
    Bundle::new(ID, Content::Repeat { block, len: bytes })
}

/// Runs a command in an empty directory and returns its duration.
fn time(name: &str, bytes: u64, command: &mut Command) -> Outcome<Duration> {
    let directory = tempfile::tempdir()?;
    let begin = Instant::now();
    let status = command
        .current_dir(directory.path())
        .stderr(Stdio::null())
        .status()?;
    let time = begin.elapsed();
    if !status.success() {
        return Err(format!("{name}: {status}").into());
    }
    let rate = bytes as f64 / 1e6 / time.as_secs_f64();
    println!("  {name:<24}{:8.2} s {rate:8.0} MB/s", time.as_secs_f64());
    Ok(time)
}

fn ours(server: &FaultServer) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env("DOWNLOAD_BENCH_CHILD", server.endpoint());
    Ok(command)
}

fn curl(server: &FaultServer, then: &str) -> Command {
    let url = format!("{}/competitions/data/download-all/{ID}", server.endpoint());
    let mut command = Command::new("sh");
    let fetch = format!("curl -sfL --noproxy '*' -u {USERNAME}:{KEY} -o bundle.zip {url}");
    command
        .args(["-c", &format!("{fetch} {then}")])
        .stdout(Stdio::null());
    command
}

fn full_speed(bytes: u64) -> Outcome {
    println!("full speed, {} MB", bytes / 1_000_000);
    let server = FaultServer::start(vec![bundle(bytes)], Vec::new())?;
    let (mut others, mut own) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        others.push(time(
            "curl, then md5sum",
            bytes,
            &mut curl(&server, "&& md5sum bundle.zip"),
        )?);
        own.push(time("prep", bytes, &mut ours(&server)?)?);
    }
    compare(others, own, 0.8);
    Ok(())
}

fn throttled(bytes: u64) -> Outcome {
    println!("20 MB/s for each connection, {} MB", bytes / 1_000_000);
    let throttle = Fault::at(At::Store, Kind::Throttle(20_000_000)).always();
    let server = FaultServer::start(vec![bundle(bytes)], vec![throttle])?;
    let other = match std::env::var("KAGGLE_CLIENT") {
        Ok(client) => {
            let mut command = Command::new(client);
            command
                .args(["competitions", "download", "-c", ID])
                .env("KAGGLE_API_ENDPOINT", server.endpoint())
                .env("KAGGLE_USERNAME", USERNAME)
                .env("KAGGLE_KEY", KEY)
                .stdout(Stdio::null());
            time("kaggle", bytes, &mut command)?
        }
        Err(_) => time("curl", bytes, &mut curl(&server, ""))?,
    };
    let own = time("prep", bytes, &mut ours(&server)?)?;
    compare(vec![other], vec![own], 3.0);
    Ok(())
}

/// Compares the fastest run of each program, because noise can only make a run slower.
fn compare(others: Vec<Duration>, own: Vec<Duration>, goal: f64) {
    let best = |times: Vec<Duration>| times.into_iter().min().unwrap_or_default().as_secs_f64();
    let ratio = best(others) / best(own);
    let verdict = if ratio >= goal { "reached" } else { "MISSED" };
    println!("  {ratio:.2} times as fast, goal {goal}: {verdict}\n");
}
