//! Serves a directory of files `ID.zip` like Kaggle: `prep-fault-server DIRECTORY [PORT] [BYTES_PER_SECOND]`.

#![allow(clippy::print_stdout, reason = "a program prints its result")]

use std::error::Error;
use std::path::Path;

use prep_fault_server::{At, Bundle, Fault, FaultServer, KEY, Kind, TOKEN, USERNAME};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .ok_or("usage: prep-fault-server DIRECTORY [PORT] [BYTES_PER_SECOND]")?;
    let port = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let rate = arguments.next().map(|rate| rate.parse()).transpose()?;
    let mut bundles = Vec::new();
    for entry in Path::new(&directory).read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "zip")
            && let Some(id) = path.file_stem().and_then(|stem| stem.to_str())
        {
            bundles.push(Bundle::new(id, std::fs::read(&path)?));
        }
    }
    let faults = rate
        .map(|rate| Fault::at(At::Store, Kind::Throttle(rate)).always())
        .into_iter()
        .collect();
    let server = FaultServer::start_at(port, bundles, faults)?;
    println!("export KAGGLE_API_ENDPOINT={}", server.endpoint());
    println!("export KAGGLE_USERNAME={USERNAME} KAGGLE_KEY={KEY}");
    println!("# or: export KAGGLE_API_TOKEN={TOKEN}");
    loop {
        std::thread::park();
    }
}
