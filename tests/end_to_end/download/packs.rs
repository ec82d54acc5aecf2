//! Packs at a URL, and downloads of the bundles of a pack's competitions.

use std::path::Path;
use std::process::Command;

use prep_fault_server::{At, Bundle, Fault, Kind};

use super::World;
use crate::support::{Archive, Harbour, names_in};

const FILE: &str = "lab.zip";

fn archive() -> Vec<u8> {
    let text = "name: lab\nversion: 1\ncompetitions: { harbour: {} }\n";
    Archive::new()
        .file("lab-1/pack.yaml", text)
        .file("lab-1/harbour/pipeline.yaml", Harbour::PIPELINE)
        .bytes()
}

fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output();
    let text = String::from_utf8(output.expect("sha256sum").stdout).expect("a text");
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn a_pack_at_a_url_must_have_the_given_digest() {
    let bundles = vec![
        Bundle::new(Harbour::ID, Harbour::bundle(&Harbour::table())),
        Bundle::new(FILE, archive()).without_hash(),
    ];
    let faults = vec![Fault::at(At::Store, Kind::status(503)).after(1)];
    let world = World::new(bundles, faults);
    let right = sha256(&world.sandbox.write(FILE, archive()));
    let url = world.server.file(FILE);
    let packs = world.sandbox.path("home/.local/share/prep/packs");
    for (digest, code, message) in [
        ("0".repeat(64), 5, "SHA-256"),
        ("12".to_owned(), 2, "needs the SHA-256"),
    ] {
        let origin = format!("{url}@sha256:{digest}");
        let ended =
            world.run_command(&mut world.command_without_credentials(&["pack", "add", &origin]));
        ended.code(code).stderr_has(&[message]);
        assert_eq!(names_in(&packs), [""; 0]);
    }
    let origin = format!("{url}@sha256:{}", right.to_uppercase());
    world
        .run_command(&mut world.command_without_credentials(&["pack", "add", &origin]))
        .code(0);
    assert_eq!(names_in(&packs), ["lab"]);
    world.run("lab/harbour", &[]).code(0);
    let home = world.sandbox.data().join("lab/harbour");
    assert!(home.join("harbour.zip").is_file() && home.join("prepared/public/train.csv").is_file());
    world.run("lab/harbour", &["--discard-bundle"]).code(0);
    assert!(!home.join("harbour.zip").exists());
}
