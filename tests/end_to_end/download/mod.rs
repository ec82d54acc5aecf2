//! Tests without local bundles. A server that imitates Kaggle sends the bundles and injects faults.

mod asking;
mod bundles;
mod kaggle;
mod packs;
mod part;
mod refusals;
mod sources;

use std::fs;
use std::path::Path;
use std::process::Command;

use prep_fault_server::{Bundle, Fault, FaultServer, KEY, SIGNATURE, TOKEN, USERNAME};

use crate::support::{Archive, CommandResult, Harbour, Member, Sandbox};

struct World {
    sandbox: Sandbox,
    server: FaultServer,
}

impl World {
    fn new(bundles: Vec<Bundle>, faults: Vec<Fault>) -> World {
        World {
            sandbox: Sandbox::new(),
            server: FaultServer::start(bundles, faults).expect("a server"),
        }
    }

    fn harbour(bundle: &[u8], faults: Vec<Fault>) -> World {
        let world = World::new(vec![Bundle::new(Harbour::ID, bundle.to_vec())], faults);
        world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
        world
    }

    /// Returns a `prep` command without credentials, which uses the server in place of Kaggle.
    fn command_without_credentials(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(arguments);
        command.env("KAGGLE_API_ENDPOINT", self.server.endpoint());
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command_without_credentials(arguments);
        command
            .env("KAGGLE_USERNAME", USERNAME)
            .env("KAGGLE_KEY", KEY);
        command
    }

    /// Runs `prep`, and asserts that its output and all files that it wrote contain no secrets.
    #[track_caller]
    fn prep(&self, arguments: &[&str]) -> CommandResult {
        self.run_command(&mut self.command(arguments))
    }

    #[track_caller]
    fn run_command(&self, command: &mut Command) -> CommandResult {
        let ended = CommandResult::of(command);
        assert_no_secrets("stdout", ended.stdout.as_bytes());
        assert_no_secrets("stderr", ended.stderr.as_bytes());
        for directory in ["store", "data"] {
            assert_no_secrets_below(&self.sandbox.path(directory));
        }
        ended
    }

    /// Runs one competition, and verifies no checksums.
    #[track_caller]
    fn run(&self, id: &str, more: &[&str]) -> CommandResult {
        let usual = ["run", "--json", "--skip-verification", "-c", id];
        self.prep(&[&usual, more].concat())
    }

    fn requests(&self) -> usize {
        self.server.requests().len()
    }
}

#[track_caller]
fn assert_no_secrets(place: &str, bytes: &[u8]) {
    for secret in [KEY, TOKEN, SIGNATURE] {
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "{place} shows {secret}");
    }
}

#[track_caller]
fn assert_no_secrets_below(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            assert_no_secrets_below(&path);
        } else if let Ok(bytes) = fs::read(&path)
            && bytes.len() < 1_000_000
        {
            assert_no_secrets(&path.display().to_string(), &bytes);
        }
    }
}

fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[5]
    })
    .take(length)
    .collect()
}

/// Returns a bundle with the table of `harbour`, and with `others` members of a million bytes that no pipeline reads.
fn wide_harbour(others: u64) -> Vec<u8> {
    let archive = (0..others).fold(Archive::new(), |archive, number| {
        archive.file(&format!("other/{number}.bin"), noise(1_000_000, number + 1))
    });
    archive
        .member(Member::deflated("train.csv", Harbour::table()))
        .bytes()
}
