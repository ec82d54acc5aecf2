//! Tests of the commands that inspect files of other people. Malicious files must not exhaust the system, and missing
//! resources must not cause a verdict about the files.

use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::faults::library;
use crate::hostile::{peak, worked};
use crate::support::{Archive, Ended, Harbour, Member, Sandbox, skipped};

/// Memory limit of a command in kilobytes. [`TIME`] limits its CPU time.
const MEMORY: u64 = 1_000_000;
const TIME: Duration = Duration::from_secs(30);
/// If a command uses no CPU time for this long, it is treated as waiting forever.
const PATIENCE: Duration = Duration::from_secs(240);

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Archive::new();
    for (name, content) in members {
        archive = archive.member(Member::stored(name, content));
    }
    archive.bytes()
}

/// Returns nested zip archives.
fn nested(levels: usize) -> Vec<u8> {
    let first = zip_of(&[("x.txt", b"x")]);
    (0..levels).fold(first, |inner, _| zip_of(&[("a.zip", &inner)]))
}

/// Returns a PNG image that consists only of its header.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    for chunk in [
        [b"IHDR".as_slice(), &size, &[8, 6, 0, 0, 0]].concat(),
        b"IDATx".to_vec(),
    ] {
        file.extend(u32::try_from(chunk.len() - 4).expect("short").to_be_bytes());
        file.extend(&chunk);
        file.extend(crc32fast::hash(&chunk).to_be_bytes());
    }
    file
}

/// Returns a tar archive with a sparse file of one tebibyte, for which no bytes are stored.
fn sparse() -> Vec<u8> {
    let mut header = vec![0_u8; 512];
    let tebibyte = [0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
    let fields: [(usize, &[u8]); 9] = [
        (0, b"a.csv"),
        (100, b"0000644\0"),
        (124, b"00000000000\0"),
        (148, b"        "),
        (156, b"S"),
        (257, b"ustar  \0"),
        (386, &tebibyte),
        (398, b"00000000000\0"),
        (483, &tebibyte),
    ];
    for (at, field) in fields {
        header[at..at + field.len()].copy_from_slice(field);
    }
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.resize(10_240, 0);
    header
}

fn npy(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).expect("short").to_le_bytes();
    [
        b"\x93NUMPY\x01\x00".as_slice(),
        &length,
        header.as_bytes(),
        data,
    ]
    .concat()
}

/// Returns malicious files, each as a name below `public` and a content.
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
        ("huge.png", png(1 << 20, 1 << 20)),
        ("wide.png", png(1 << 30, 1)),
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
            npy("<U0", "False", "(1152921504606846976,)", b""),
        ),
        (
            "scattered.npy",
            npy("<u8", "True", "(100, 100, 2)", &values),
        ),
    ]
}

/// Runs a command, and asserts that it ends in time and within the memory limit, and is not killed by a signal.
#[track_caller]
fn ends_well(note: &str, command: &mut Command) -> Ended {
    let begin = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let (mut most, mut time) = (0, Duration::ZERO);
    let pipes = (child.stdout.take(), child.stderr.take());
    let read = |pipe: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("output");
        bytes
    };
    let ended = std::thread::scope(|scope| {
        let (mut stdout, mut stderr) = (pipes.0.expect("stdout"), pipes.1.expect("stderr"));
        let stdout = scope.spawn(move || read(&mut stdout));
        let stderr = scope.spawn(move || read(&mut stderr));
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            most = most.max(peak(&child).unwrap_or(0));
            time = time.max(worked(&child).unwrap_or_default());
            if time > TIME || begin.elapsed() > PATIENCE {
                child.kill().expect("a child");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Ended::from(std::process::Output {
            status,
            stdout: stdout.join().expect("output"),
            stderr: stderr.join().expect("output"),
        })
    });
    assert!(time < TIME, "{note}: {time:?}");
    assert!(most < MEMORY, "{note}: {most} kB of memory");
    let known = [0, 1, 4, 5, 6];
    let is_known = ended.code.is_some_and(|code| known.contains(&code));
    assert!(is_known, "{note}: {ended:?}");
    ended
}

#[test]
fn hostile_files_do_not_exhaust_inspecting_commands() {
    let sandbox = Harbour::prepared();
    let public = sandbox.prepared(Harbour::ID).join("public");
    let theirs = format!("other/{}/prepared/public", Harbour::ID);
    for (name, content) in files() {
        assert!(content.len() < 200 << 10, "{name}: {} bytes", content.len());
        // The published file is small, and has the same format.
        let ours: &[u8] = match name.rsplit_once('.').expect("an end").1 {
            "zip" => &zip_of(&[("a.csv", b"id\n1\n"), ("a.zip", &nested(1))]),
            "gz" => &gzip(b"id\n1\n"),
            "png" => &png(1, 1),
            "json" => b"[[1]]",
            "jsonl" => b"{\"k1\": 2}\n",
            "npy" => &npy("<u8", "False", "(1,)", &[0; 8]),
            _ => b"id\n1\n",
        };
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
        let audit = ends_well(name, &mut sandbox.command(&audit));
        assert_ne!(audit.code, Some(0), "{name}: {audit:?}");
        let diff = ["diff", Harbour::ID, "data", "other", "--json"];
        let diff = ends_well(name, &mut sandbox.command(&diff));
        assert_eq!(diff.code, Some(1), "{name}: {diff:?}");
        assert!(diff.stdout.contains(name), "{name}: {diff:?}");
        // Put the malicious file into the prepared data and into the bundle.
        fs::write(public.join(name), &content).expect("a file");
        let table = Harbour::table();
        sandbox.bundle(
            Harbour::ID,
            &zip_of(&[("train.csv", table.as_bytes()), (name, &content)]),
        );
        let leaks = ["leaks", Harbour::ID, "--source", "source"];
        ends_well(name, &mut sandbox.command(&leaks));
        for command in [&["fetch", "--list"][..], &["audit"]] {
            let command = [command, &[Harbour::ID, "--source", "source"]].concat();
            ends_well(name, &mut sandbox.command(&command));
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
    // 2,000 members that share the same bytes, so that 80 GB would have to be checked.
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
            ends_well(name, &mut sandbox.command(&command));
        }
    }
}

/// A link in a tree of another person could reveal files that this person cannot read. A pipe has no end.
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
        let ended = ends_well(kind, &mut sandbox.command(&audit));
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

const LOOKS: [&[&str]; 3] = [
    &["audit", Harbour::ID, "--tree", "theirs", "--json"],
    &["leaks", Harbour::ID, "--json"],
    &["diff", Harbour::ID, "data", "other", "--json"],
];

/// Returns exit code and output of a command that has enough resources.
fn undisturbed(sandbox: &Sandbox, command: &[&str]) -> (Option<i32>, Value) {
    let ended = sandbox.prep(command);
    (ended.code, ended.json())
}

/// Asserts that the command reports a system error, or that the fault had no effect on its result.
#[track_caller]
fn no_verdict(note: &str, ended: &Ended, whole: &(Option<i32>, Value)) {
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
    for look in LOOKS {
        let whole = undisturbed(&sandbox, look);
        let mut short = 0;
        for most in [4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 64, 100] {
            let program = sandbox.command(look);
            let mut command = Command::new("sh");
            command.args(["-c", &format!("ulimit -n {most} && exec \"$0\" \"$@\"")]);
            command.arg(program.get_program()).args(program.get_args());
            command.current_dir(program.get_current_dir().expect("a directory"));
            command.env_clear();
            command.envs(
                program
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
            let ended = Ended::of(&mut command);
            let note = format!("{look:?} with {most} open files");
            no_verdict(&note, &ended, &whole);
            short += usize::from(ended.code == Some(6));
        }
        assert!(short > 0, "{look:?}: nothing was short");
        // The remaining limits are high enough for the commands.
        assert!(short < 12, "{look:?}: {short}");
    }
}

#[test]
fn bad_blocks_and_full_disks_do_not_cause_a_verdict() {
    let sandbox = differing();
    let directory = tempfile::tempdir().expect("a directory");
    let Some(library) = library(directory.path()) else {
        skipped("accesses cannot be made to fail");
        return;
    };
    // Inject faults only into accesses below `data`.
    let other = sandbox
        .data()
        .join("other")
        .join(Harbour::ID)
        .join("prepared");
    fs::create_dir_all(other.parent().expect("a directory")).expect("a directory");
    fs::rename(sandbox.path("theirs"), &other).expect("renamed");
    let root = sandbox.data().parent().expect("a directory").to_owned();
    let looks: [&[&str]; 3] = [
        &["audit", Harbour::ID, "--tree", "data/other", "--json"],
        &["leaks", Harbour::ID, "--json"],
        &["diff", Harbour::ID, "data", "data/other", "--json"],
    ];
    for look in looks {
        let whole = undisturbed(&sandbox, look);
        for fault in ["reader", "full"] {
            let run = |number: Option<usize>| {
                let count = sandbox.path("count");
                let mut command = sandbox.command(look);
                command
                    .env("LD_PRELOAD", &library)
                    .env("TROUBLE", fault)
                    .env("TROUBLE_ROOT", &root)
                    .env("TROUBLE_COUNT", &count);
                if let Some(number) = number {
                    command.env("TROUBLE_NUMBER", number.to_string());
                }
                let ended = Ended::of(&mut command);
                let accesses = fs::read_to_string(count).expect("the library was loaded");
                (ended, accesses.parse::<usize>().expect("a number"))
            };
            let (quiet, accesses) = run(None);
            no_verdict("no fault", &quiet, &whole);
            // Try at most 40 accesses, evenly distributed.
            let step = (accesses / 40).max(1);
            for number in (0..accesses).step_by(step) {
                let (ended, _) = run(Some(number));
                let note = format!("{look:?}: {fault} at {number} of {accesses}");
                no_verdict(&note, &ended, &whole);
            }
        }
    }
}
