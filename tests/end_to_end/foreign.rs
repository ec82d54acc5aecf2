//! Tests of commands that inspect files of other people. Malicious files must not exhaust the system.
//! Missing resources must not cause a verdict about the files.
//!
//! `tests/hostile` measures many more malicious files.

use std::fs;
use std::io::Cursor;
use std::process::Command;

use prep_formats::sevenz::SevenZWriter;
use prep_formats::tar::TarWriter;
use serde_json::Value;

use crate::faults::library;
use crate::hostile::{archive, gzip, npy, png, sparse, watch, zlib};
use crate::support::{Archive, CommandResult, Harbour, Member, Sandbox, skipped};

fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Archive::new();
    for (name, content) in members {
        archive = archive.member(Member::stored(name, content));
    }
    archive.bytes()
}

fn nested(levels: usize) -> Vec<u8> {
    let first = zip_of(&[("x.txt", b"x")]);
    (0..levels).fold(first, |inner, _| zip_of(&[("a.zip", &inner)]))
}

/// Returns nested archives. Each archive contains `width` equal members.
fn zips(width: usize, levels: usize, version: u8) -> Vec<u8> {
    let mut content = format!("a,b\n{version},1\n").into_bytes();
    let mut ending = "csv";
    for _ in 0..levels {
        let members = (0..width).map(|number| format!("{number}.{ending}"));
        let members: Vec<Member> = members
            .map(|name| Member::deflated(&name, &content))
            .collect();
        content = archive(&members);
        ending = "zip";
    }
    content
}

fn tar(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = TarWriter::new(Vec::new());
    for (name, content) in members {
        let length = content.len() as u64;
        tar.add_file(name, length, content.as_slice()).expect("tar");
    }
    tar.finish().expect("tar")
}

fn array(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [npy(&header), data.to_vec()].concat()
}

/// Returns files of several formats in the version 0 or 1. The two versions of a file differ only deep inside: in the
/// innermost members, or in the width of the picture. Names are relative to `public`.
fn versions(version: u8) -> Vec<(&'static str, Vec<u8>)> {
    let numbered = |count: usize| (0..count).map(|number| format!("{number}.csv"));
    let members = numbered(500).enumerate().map(|(number, name)| {
        let content = vec![b'0'; number % 2 * usize::from(version)];
        Member::deflated(&name, content)
    });
    let members: Vec<Member> = members.collect();
    let files: Vec<(String, Vec<u8>)> = numbered(4_000)
        .map(|name| (name, vec![b'0' + version]))
        .collect();
    let mut sevenz = SevenZWriter::new(Cursor::new(Vec::new()), 6);
    for (name, content) in &files[..500] {
        sevenz.add_file(name, content.as_slice()).expect("7z");
    }
    let zips_in_tar = tar(&[("a.zip".to_owned(), zips(5, 5, version))]);
    vec![
        ("members.zip", archive(&members)),
        ("zips.zip", zips(3, 6, version)),
        ("zips.tgz", gzip(&zips_in_tar)),
        ("members.tgz", gzip(&tar(&files))),
        ("members.7z", sevenz.finish().expect("7z").into_inner()),
        (
            "large.png",
            png(40_000_000 - u32::from(version), 1, &zlib(40_000)),
        ),
    ]
}

/// Returns malicious files of many formats. Names are relative to `public`.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let columns = ",".repeat(40_000) + "\n" + &"1\n".repeat(30_000);
    let keys: String = (0..8_000)
        .map(|key| format!("{{\"k{key}\": 1}}\n"))
        .collect();
    let jpeg = b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\
        \xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0";
    let values: Vec<u8> = (0..20_000_u64).flat_map(u64::to_le_bytes).collect();
    let zeros = |name: &str, mebibytes| {
        Archive::new()
            .member(Member::zeros(name, mebibytes))
            .bytes()
    };
    let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
    vec![
        ("nested.zip", nested(1_500)),
        ("packed.zip.gz", gzip(&gzip(&vec![0; 64 << 20]))),
        ("huge.png", png(1 << 20, 1 << 20, b"x")),
        ("wide.png", png(i32::MAX as u32, 1, b"x")),
        ("huge.jpg", jpeg.to_vec()),
        ("sparse.tar", sparse()),
        ("sparse.tar.gz", gzip(&sparse())),
        ("commas.csv.gz", gzip(&vec![b','; 64 << 20])),
        ("square.csv", columns.into_bytes()),
        ("keys.jsonl", keys.into_bytes()),
        ("deep.json", deep.into_bytes()),
        (
            "objects.json.gz",
            gzip(format!("[{}{{}}]", "{},".repeat(16 << 20)).as_bytes()),
        ),
        ("zeros.zip", zeros("a.csv", 60)),
        ("more.zip", zeros("a.zip", 90)),
        (
            "nothing.npy",
            array("<U0", "False", "(1152921504606846976,)", b""),
        ),
        (
            "scattered.npy",
            array("<u8", "True", "(100, 100, 2)", &values),
        ),
    ]
}

/// Asserts that the command ends within the limits of time and memory, and that no signal kills it.
#[track_caller]
fn assert_ends_within_limits(note: &str, command: &mut Command) -> CommandResult {
    watch(note, command, &[0, 1, 4, 5, 6]).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Returns a small file in the format of the malicious file with this name.
fn small(name: &str) -> Vec<u8> {
    match name.rsplit_once('.').expect("an end").1 {
        "zip" => zip_of(&[("a.csv", b"id\n1\n"), ("a.zip", &nested(1))]),
        "gz" => gzip(b"id\n1\n"),
        "png" => png(1, 1, b"x"),
        "json" => b"[[1]]".to_vec(),
        "jsonl" => b"{\"k1\": 2}\n".to_vec(),
        "npy" => array("<u8", "False", "(1,)", &[0; 8]),
        _ => b"id\n1\n".to_vec(),
    }
}

#[test]
fn hostile_files_do_not_exhaust_inspecting_commands() {
    let sandbox = Harbour::prepared();
    let public = sandbox.prepared(Harbour::ID).join("public");
    let theirs = format!("other/{}/prepared/public", Harbour::ID);
    let single = files().into_iter();
    let single = single.map(|(name, content)| (name, small(name), content));
    let pairs = versions(0).into_iter().zip(versions(1));
    let pairs = pairs.map(|((name, ours), (_, content))| (name, ours, content));
    for (name, ours, content) in single.chain(pairs) {
        assert!(content.len() < 200 << 10, "{name}: {} bytes", content.len());
        sandbox.write(&format!("{theirs}/{name}"), &content);
        fs::write(public.join(name), ours).expect("a file");
        let audit = [
            "audit",
            Harbour::ID,
            "--source",
            "source",
            "--tree",
            "other",
        ];
        let audit = assert_ends_within_limits(name, &mut sandbox.command(&audit));
        assert_ne!(audit.code, Some(0), "{name}: {audit:?}");
        let diff = ["diff", Harbour::ID, "data", "other", "--json"];
        let diff = assert_ends_within_limits(name, &mut sandbox.command(&diff));
        assert_eq!(diff.code, Some(1), "{name}: {diff:?}");
        assert!(diff.stdout.contains(name), "{name}: {diff:?}");
        fs::write(public.join(name), &content).expect("a file");
        let table = Harbour::table();
        sandbox.bundle(
            Harbour::ID,
            &zip_of(&[("train.csv", table.as_bytes()), (name, &content)]),
        );
        let leaks = ["leaks", Harbour::ID, "--source", "source"];
        assert_ends_within_limits(name, &mut sandbox.command(&leaks));
        for command in [&["fetch", "--list"][..], &["audit"]] {
            let command = [command, &[Harbour::ID, "--source", "source"]].concat();
            assert_ends_within_limits(name, &mut sandbox.command(&command));
        }
        fs::remove_file(public.join(name)).expect("a file");
        fs::remove_file(sandbox.path(&format!("{theirs}/{name}"))).expect("a file");
        let left = fs::read_dir(sandbox.store().join("tmp"))
            .expect("a directory")
            .count();
        assert_eq!(left, 0, "{name} left something in the store");
    }
}

#[test]
fn bundles_with_false_member_sizes_do_not_exhaust_commands() {
    let sandbox = Harbour::prepared();
    let zeros = || Member::zeros("a", 40);
    // 2,000 members share the same compressed bytes. Together, they unpack to 80 GB.
    let shared = (0..2_000).fold(Archive::new().member(zeros()), |archive, number| {
        let member = zeros().named(&format!("b{number}")).shared();
        archive.member(member)
    });
    // The zip64 record at the end claims 2^54 members.
    let mut claims = Harbour::bundle(&Harbour::table());
    let end = claims.len() - 22;
    let directory = u32::from_le_bytes(claims[end + 16..end + 20].try_into().expect("four bytes"));
    let mut wide = b"PK\x06\x06".to_vec();
    wide.extend(44_u64.to_le_bytes());
    wide.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for field in [
        1_u64 << 54,
        1 << 54,
        end as u64 - u64::from(directory),
        u64::from(directory),
    ] {
        wide.extend(field.to_le_bytes());
    }
    wide.extend(b"PK\x06\x07\0\0\0\0");
    wide.extend((end as u64).to_le_bytes());
    wide.extend(1_u32.to_le_bytes());
    wide.extend(
        [
            b"PK\x05\x06".as_slice(),
            &[0, 0, 0, 0],
            &[0xff; 12],
            &[0, 0],
        ]
        .concat(),
    );
    claims.splice(end.., wide);
    for (name, bundle) in [("shared", shared.bytes()), ("claims", claims)] {
        sandbox.bundle(Harbour::ID, &bundle);
        for command in [&["audit"][..], &["fetch", "--list"], &["leaks"]] {
            let command = [command, &[Harbour::ID, "--source", "source"]].concat();
            assert_ends_within_limits(name, &mut sandbox.command(&command));
        }
    }
}

/// A link in another person's tree could make `audit` show files of its user. A pipe may never end.
#[test]
fn links_and_pipes_in_a_tree_are_errors() {
    let sandbox = Harbour::prepared();
    let secret = sandbox.write("secret.csv", "id,docked\n1,secret\n");
    let theirs = sandbox.path("theirs");
    let audit = ["audit", Harbour::ID, "--tree", "theirs"];
    for kind in ["link", "pipe"] {
        let _ = fs::remove_dir_all(&theirs);
        let place = theirs.join("public/train.csv");
        fs::create_dir_all(theirs.join("public")).expect("a directory");
        match kind {
            "link" => std::os::unix::fs::symlink(&secret, &place).expect("a link"),
            _ => {
                let made = Command::new("mkfifo").arg(&place).status();
                assert!(made.expect("mkfifo").success());
            }
        }
        let ended = assert_ends_within_limits(kind, &mut sandbox.command(&audit));
        assert_eq!(ended.code, Some(4), "{kind}: {ended:?}");
        assert!(ended.stderr.contains("train.csv is"), "{kind}: {ended:?}");
        assert!(!ended.stdout.contains("secret"), "{kind}: {ended:?}");
    }
}

/// Prepares two trees that differ in many members of archives, in tables and in documents.
fn differing() -> Sandbox {
    let sandbox = Harbour::prepared();
    for (root, word) in [
        (sandbox.prepared(Harbour::ID), "a"),
        (sandbox.path("theirs"), "b"),
    ] {
        let members: Vec<(String, String)> = (0..300)
            .map(|number| (format!("{number}.csv"), format!("id,x\n1,{word}{number}\n")))
            .collect();
        let members: Vec<(&str, &[u8])> = members
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()))
            .collect();
        let write = |name: &str, content: &[u8]| {
            let path = root.join("public").join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, content).expect("a file");
        };
        write("many.zip", &zip_of(&members));
        write("table.csv", format!("id,x\n1,{word}\n").as_bytes());
        write("document.json", format!("{{\"x\": \"{word}\"}}").as_bytes());
    }
    sandbox
}

const INSPECTIONS: [&[&str]; 3] = [
    &["audit", Harbour::ID, "--tree", "theirs", "--json"],
    &["leaks", Harbour::ID, "--json"],
    &["diff", Harbour::ID, "data", "other", "--json"],
];

fn undisturbed(sandbox: &Sandbox, command: &[&str]) -> (Option<i32>, Value) {
    let ended = sandbox.prep(command);
    (ended.code, ended.json())
}

/// Asserts that the command reports a system error, or the result of an undisturbed run.
#[track_caller]
fn assert_no_wrong_verdict(note: &str, ended: &CommandResult, whole: &(Option<i32>, Value)) {
    if ended.code != Some(6) {
        assert_eq!(ended.code, whole.0, "{note}: {ended:?}");
        assert_eq!(ended.json(), whole.1, "{note}");
    }
}

#[test]
fn too_few_open_files_do_not_cause_a_verdict() {
    let sandbox = differing();
    let other = sandbox.path(&format!("other/{}/prepared", Harbour::ID));
    fs::create_dir_all(other.parent().expect("a directory")).expect("a directory");
    fs::rename(sandbox.path("theirs"), &other).expect("renamed");
    std::os::unix::fs::symlink(&other, sandbox.path("theirs")).expect("a link");
    for inspection in INSPECTIONS {
        let whole = undisturbed(&sandbox, inspection);
        let mut failures = 0;
        for most in [4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 64, 100] {
            let program = sandbox.command(inspection);
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &format!("ulimit -n {most} && exec \"$0\" \"$@\"")]);
            command.arg(program.get_program()).args(program.get_args());
            command.current_dir(program.get_current_dir().expect("a directory"));
            command.env_clear();
            command.envs(
                program
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
            let ended = CommandResult::of(&mut command);
            let note = format!("{inspection:?} with {most} open files");
            assert_no_wrong_verdict(&note, &ended, &whole);
            failures += usize::from(ended.code == Some(6));
        }
        assert!(failures > 0, "{inspection:?}: no limit caused an error");
        assert!(
            failures < 12,
            "{inspection:?}: {failures} limits caused an error"
        );
    }
}

#[test]
fn bad_blocks_and_full_disks_do_not_cause_a_verdict() {
    let sandbox = differing();
    let directory = crate::temporary::directory();
    let Some(library) = library(directory.path()) else {
        skipped("accesses cannot be made to fail");
        return;
    };
    // Faults affect only files below `data`, so the other tree must be there, too.
    let other = sandbox
        .data()
        .join("other")
        .join(Harbour::ID)
        .join("prepared");
    fs::create_dir_all(other.parent().expect("a directory")).expect("a directory");
    fs::rename(sandbox.path("theirs"), &other).expect("renamed");
    let root = sandbox.data().parent().expect("a directory").to_owned();
    let inspections: [&[&str]; 3] = [
        &["audit", Harbour::ID, "--tree", "data/other", "--json"],
        &["leaks", Harbour::ID, "--json"],
        &["diff", Harbour::ID, "data", "data/other", "--json"],
    ];
    for inspection in inspections {
        let whole = undisturbed(&sandbox, inspection);
        for fault in ["reader", "full"] {
            let run = |number: Option<usize>| {
                let count = sandbox.path("count");
                let mut command = sandbox.command(inspection);
                command
                    .env("LD_PRELOAD", &library)
                    .env("TROUBLE", fault)
                    .env("TROUBLE_ROOT", &root)
                    .env("TROUBLE_COUNT", &count);
                if let Some(number) = number {
                    command.env("TROUBLE_NUMBER", number.to_string());
                }
                let ended = CommandResult::of(&mut command);
                let accesses = fs::read_to_string(count).expect("the library was loaded");
                (ended, accesses.parse::<usize>().expect("a number"))
            };
            let (quiet, accesses) = run(None);
            assert_no_wrong_verdict("no fault", &quiet, &whole);
            // Tries at most 40 accesses, evenly distributed.
            let step = (accesses / 40).max(1);
            for number in (0..accesses).step_by(step) {
                let (ended, _) = run(Some(number));
                let note = format!("{inspection:?}: {fault} at {number} of {accesses}");
                assert_no_wrong_verdict(&note, &ended, &whole);
            }
        }
    }
}
