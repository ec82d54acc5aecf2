//! Hostile directories and archives are rejected as packs, and leave nothing behind.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{COMPETITIONS, PACKS, write_pack};
use crate::support::{Archive, CommandResult, Harbour, Member, Sandbox, names_in};

/// A change that makes a pack hostile, and the expected exit code and message.
type Hostile = (&'static str, Box<dyn Fn(&Sandbox)>, i32, &'static str);

fn hostile(
    name: &'static str,
    change: impl Fn(&Sandbox) + 'static,
    code: i32,
    message: &'static str,
) -> Hostile {
    (name, Box::new(change), code, message)
}

fn manifest(text: &'static str) -> impl Fn(&Sandbox) {
    move |sandbox| {
        sandbox.write("lab/pack.yaml", text);
    }
}

/// Replaces the beginning of `pack.yaml`, and keeps the competitions.
fn head(text: &'static str) -> impl Fn(&Sandbox) {
    move |sandbox| {
        sandbox.write("lab/pack.yaml", format!("{text}{COMPETITIONS}"));
    }
}

fn source(text: &'static str) -> impl Fn(&Sandbox) {
    move |sandbox| {
        let text = Harbour::PIPELINE.replace("tables:\n", &format!("sources:\n  notes: {text}\ntables:\n  f: {{ read: notes:f.csv, columns: {{ id: integer }} }}\n"))
            .replace("public:\n", "public:\n  f.csv: SELECT * FROM f\n");
        sandbox.write("lab/harbour/pipeline.yaml", text);
    }
}

fn link(inner: &'static str, target: &'static str) -> impl Fn(&Sandbox) {
    move |sandbox| symlink(target, sandbox.path(inner)).expect("a link")
}

fn replaced(inner: &'static str, by: fn(&Path)) -> impl Fn(&Sandbox) {
    move |sandbox| {
        let path = sandbox.path(inner);
        fs::remove_file(&path).expect("removed");
        by(&path);
    }
}

fn fifo(path: &Path) {
    assert!(
        Command::new("mkfifo")
            .arg(path)
            .status()
            .expect("mkfifo")
            .success()
    );
}

fn directories() -> Vec<Hostile> {
    vec![
        hostile(
            "link to a file",
            link("lab/harbour/answers.csv", "/etc/passwd"),
            4,
            "is a symbolic link",
        ),
        hostile(
            "link to a directory",
            link("lab/other", "/"),
            4,
            "is a symbolic link",
        ),
        hostile(
            "broken link",
            link("lab/harbour/x", "nowhere"),
            4,
            "is a symbolic link",
        ),
        hostile(
            "pipe",
            |sandbox| fifo(&sandbox.path("lab/harbour/x")),
            4,
            "neither a file nor a directory",
        ),
        hostile(
            "pack.yaml is a directory",
            replaced("lab/pack.yaml", |path| {
                fs::create_dir(path).expect("a directory")
            }),
            4,
            "pack.yaml",
        ),
        hostile(
            "pack.yaml is a pipe",
            replaced("lab/pack.yaml", fifo),
            4,
            "neither a file nor a directory",
        ),
        hostile(
            "pack.yaml is a link",
            replaced("lab/pack.yaml", |path| {
                symlink("/etc/passwd", path).expect("a link")
            }),
            4,
            "is a symbolic link",
        ),
        hostile(
            "no pack.yaml",
            replaced("lab/pack.yaml", |_| ()),
            4,
            "cannot read lab/pack.yaml",
        ),
        hostile(
            "pipeline is missing",
            replaced("lab/harbour/pipeline.yaml", |_| ()),
            4,
            "harbour/pipeline.yaml",
        ),
        hostile(
            "pack.yaml is not UTF-8",
            |sandbox| {
                sandbox.write("lab/pack.yaml", b"name: \xff\n");
            },
            4,
            "not UTF-8",
        ),
        hostile(
            "pipeline is not UTF-8",
            |sandbox| {
                sandbox.write("lab/harbour/pipeline.yaml", b"name: \xff\n");
            },
            3,
            "not UTF-8",
        ),
        hostile(
            "unknown key",
            manifest(
                "name: lab\nversion: 1\nset: { a: [harbour] }\ncompetitions: { harbour: {}, Quay: {} }\n",
            ),
            3,
            "did you mean `sets`?",
        ),
        hostile(
            "unknown key of a competition",
            manifest(
                "name: lab\nversion: 1\ncompetitions: { harbour: { close: 2024-01-01 }, Quay: {} }\n",
            ),
            3,
            "did you mean `closed`?",
        ),
        hostile(
            "duplicate id",
            manifest(
                "name: lab\nversion: 1\ncompetitions: { harbour: {}, harbour: {}, Quay: {} }\n",
            ),
            3,
            "appears twice",
        ),
        hostile(
            "ids differ by case",
            manifest(
                "name: lab\nversion: 1\ncompetitions: { harbour: {}, Harbour: {}, Quay: {} }\n",
            ),
            3,
            "differ only in case",
        ),
        hostile(
            "id ..",
            manifest("name: lab\nversion: 1\ncompetitions: { ..: {} }\n"),
            3,
            "cannot be the id",
        ),
        hostile(
            "id .",
            manifest("name: lab\nversion: 1\ncompetitions: { .: {} }\n"),
            3,
            "cannot be the id",
        ),
        hostile(
            "empty id",
            manifest("name: lab\nversion: 1\ncompetitions: { \"\": {} }\n"),
            3,
            "cannot be the id",
        ),
        hostile(
            "id with a slash",
            manifest("name: lab\nversion: 1\ncompetitions: { a/b: {} }\n"),
            3,
            "cannot be the id",
        ),
        hostile(
            "absolute id",
            manifest("name: lab\nversion: 1\ncompetitions: { /etc: {} }\n"),
            3,
            "cannot be the id",
        ),
        hostile(
            "id of a device",
            manifest("name: lab\nversion: 1\ncompetitions: { NUL: {} }\n"),
            3,
            "cannot be the id",
        ),
        hostile(
            "anchors",
            manifest("name: &a [x, x]\nversion: [*a, *a]\ncompetitions: { harbour: {} }\n"),
            3,
            "anchor",
        ),
        hostile(
            "deep nesting",
            |sandbox| {
                sandbox.write("lab/pack.yaml", format!("name: {}", "[".repeat(100_000)));
            },
            3,
            "limit",
        ),
        hostile(
            "competition is not named",
            manifest("name: lab\nversion: 1\ncompetitions: { harbour: {} }\n"),
            3,
            "does not name the competition `Quay`",
        ),
        hostile(
            "named like a built-in competition",
            head("name: spaceship-titanic\nversion: 1\n"),
            2,
            "has the name of the competition",
        ),
        hostile(
            "named like a built-in competition in another case",
            head("name: ai4code\nversion: 1\n"),
            2,
            "has the name of the competition `AI4Code`",
        ),
        hostile(
            "named mle-bench",
            head("name: mle-bench\nversion: 1\n"),
            3,
            "built-in",
        ),
        hostile(
            "named fixed",
            head("name: fixed-30\nversion: 1\n"),
            3,
            "variant",
        ),
        hostile(
            "named like a set",
            head("name: lite\nversion: 1\n"),
            3,
            "set",
        ),
        hostile(
            "name leaves the directory",
            head("name: ../lab\nversion: 1\n"),
            3,
            "is not valid for `name`",
        ),
        hostile(
            "hidden name",
            head("name: .lab\nversion: 1\n"),
            3,
            "is not valid for `name`",
        ),
        hostile(
            "escape sequence in a name",
            head("name: \"a\\u001b[31m\"\nversion: 1\n"),
            3,
            "is not valid for `name`",
        ),
        hostile(
            "source in the home directory",
            source("{ folder: /home/u }"),
            3,
            "not inside the pack",
        ),
        hostile(
            "source in another pack",
            source("{ folder: ../../other/answers }"),
            3,
            "not inside the pack",
        ),
        hostile(
            "source in the data directory",
            source("{ folder: a/../../../../data/spaceship-titanic/prepared }"),
            3,
            "not inside the pack",
        ),
        hostile(
            "pipeline writes elsewhere",
            |sandbox| {
                sandbox.write(
                    "lab/harbour/pipeline.yaml",
                    Harbour::PIPELINE.replace("train.csv: SELECT", "../../x.csv: SELECT"),
                );
            },
            3,
            "`..`",
        ),
        hostile(
            "pipeline reads another competition",
            |sandbox| {
                sandbox.write(
                    "lab/harbour/pipeline.yaml",
                    Harbour::PIPELINE.replace(
                        "read: train.csv",
                        "read: ../../AI4Code/prepared/private/test.csv",
                    ),
                );
            },
            3,
            "`..`",
        ),
        hostile(
            "unknown key of a pipeline",
            |sandbox| {
                sandbox.write(
                    "lab/Quay/pipeline.yaml",
                    format!("{}script: rm.sh\n", Harbour::PIPELINE),
                );
            },
            3,
            "script",
        ),
        hostile(
            "leaderboard without scores",
            |sandbox| {
                sandbox.write("lab/harbour/leaderboard.csv", "team,place\na,1\n");
            },
            3,
            "lab/harbour/leaderboard.csv:1:1",
        ),
        hostile(
            "leaderboard in the wrong order",
            |sandbox| {
                sandbox.write("lab/harbour/leaderboard.csv", "score\n0.5\n0.9\n");
            },
            3,
            "lab/harbour/leaderboard.csv:3:1",
        ),
        hostile(
            "huge file",
            |sandbox| {
                fs::File::create(sandbox.path("lab/harbour/x.bin"))
                    .expect("a file")
                    .set_len(1 << 40)
                    .expect("a hole")
            },
            4,
            "has more than",
        ),
        hostile(
            "long YAML",
            |sandbox| {
                sandbox.write("lab/harbour/pipeline.yaml", "#".repeat(2 << 20));
            },
            4,
            "has more than 1.05 MB",
        ),
        hostile(
            "deep directories",
            |sandbox| {
                sandbox.write(&format!("lab/{}x", "d/".repeat(200)), "");
            },
            4,
            "nested more than 8 directories deep",
        ),
        hostile(
            "paths differ by case",
            |sandbox| {
                sandbox.write("lab/harbour/A/x", "");
                sandbox.write("lab/harbour/a/y", "");
            },
            4,
            "are the same on a system",
        ),
    ]
}

#[test]
fn hostile_directories_are_rejected_and_leave_nothing_behind() {
    for (name, change, code, message) in directories() {
        let sandbox = Sandbox::new();
        write_pack(&sandbox);
        change(&sandbox);
        let ended = sandbox.prep(&["pack", "add", "lab"]);
        assert_rejected(&sandbox, name, ended, code, message);
    }
}

#[track_caller]
fn assert_rejected(sandbox: &Sandbox, name: &str, ended: CommandResult, code: i32, message: &str) {
    assert_eq!(ended.code, Some(code), "{name}: {ended:#?}");
    for part in [message, "help"] {
        // Messages about mistakes in the pack's files (code 3) may have no help.
        let is_given = ended.stderr.contains(part) || part == "help" && code == 3;
        assert!(is_given, "{name}: `{part}` is not in {}", ended.stderr);
    }
    assert!(
        ended.stderr.len() < 4000 && !ended.stderr.contains('\u{1b}'),
        "{name}: {}",
        ended.stderr
    );
    assert_eq!(names_in(&sandbox.path(PACKS)), [""; 0], "{name}");
    assert!(
        !sandbox.data().exists() && !sandbox.path("home/.local/share/x").exists(),
        "{name}"
    );
}

/// Returns a tar archive of one member without content. Its header states the type `kind` and the size `declared`.
fn tar(path: &str, kind: u8, target: &str, declared: u64) -> Vec<u8> {
    let mut header = [0; 512];
    let mut set = |place: usize, text: &str| {
        header[place..place + text.len()].copy_from_slice(text.as_bytes());
    };
    set(0, path);
    set(100, "0000644");
    set(124, &format!("{declared:011o}"));
    set(136, "00000000000");
    set(148, "        ");
    set(157, target);
    set(257, "ustar\u{0}00");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.resize(archive.len() + 1024, 0);
    archive
}

#[test]
fn hostile_archives_are_rejected_and_leave_nothing_behind() {
    let good = || {
        let text = "name: lab\nversion: 1\ncompetitions: { a: {} }\n";
        Archive::new()
            .file("pack.yaml", text)
            .file("a/pipeline.yaml", Harbour::PIPELINE)
    };
    let truncated = {
        let bytes = good().bytes();
        bytes[..bytes.len() / 2].to_vec()
    };
    let cases: Vec<(&str, &str, Vec<u8>, &str)> = vec![
        (
            "absolute path",
            "p.zip",
            good().file("/tmp/x", "").bytes(),
            "absolute",
        ),
        (
            "path out",
            "p.zip",
            good().file("../../x", "").bytes(),
            "`..`",
        ),
        (
            "path out in the middle",
            "p.zip",
            good().file("a/../../../x", "").bytes(),
            "`..`",
        ),
        (
            "backslash",
            "p.zip",
            good().file("a\\..\\x", "").bytes(),
            "backslash",
        ),
        (
            "link in a zip",
            "p.zip",
            good().member(Member::symlink("a/x", "/etc/passwd")).bytes(),
            "link",
        ),
        (
            "path twice",
            "p.zip",
            good().file("a/pipeline.yaml", "x").bytes(),
            "occurs twice",
        ),
        (
            "file and directory",
            "p.zip",
            good().file("a", "x").bytes(),
            "which is a file",
        ),
        (
            "bomb",
            "p.zip",
            good().member(Member::zeros("a/x.bin", 2048)).bytes(),
            "unpacks to",
        ),
        ("truncated zip", "p.zip", truncated, "p.zip"),
        ("not an archive", "p.zip", b"name: lab\n".to_vec(), "p.zip"),
        (
            "link in a tar",
            "p.tar",
            tar("a/x", b'2', "/etc/passwd", 0),
            "link",
        ),
        (
            "hard link in a tar",
            "p.tar",
            tar("a/x", b'1', "../../secret", 0),
            "link",
        ),
        ("device in a tar", "p.tar", tar("a/x", b'3', "", 0), "p.tar"),
        (
            "path out of a tar",
            "p.tar",
            tar("../x", b'0', "", 0),
            "`..`",
        ),
        (
            "absolute path in a tar",
            "p.tar",
            tar("/tmp/x", b'0', "", 0),
            "absolute",
        ),
        (
            "huge declared size",
            "p.tar",
            tar("a/x", b'0', "", (1 << 33) - 1),
            "p.tar",
        ),
        (
            "unknown format",
            "p.rar",
            b"Rar!".to_vec(),
            "neither a directory nor an archive",
        ),
    ];
    for (name, file, bytes, message) in cases {
        let sandbox = Sandbox::new();
        sandbox.write(file, bytes);
        let ended = sandbox.prep(&["pack", "add", file]);
        assert_rejected(&sandbox, name, ended, 4, message);
    }
}
