//! Tests with malicious input: small files of every format that declare huge sizes or unpack to huge files.
//!
//! Each kind of file is tested in bundles of about 1 KB and about 100 KB, with default settings.
//! The program must end with one of its exit codes, within 1 GB of memory and 30 s of processor time.

use std::fs;
use std::io::{Read, Write as _};
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use prep_formats::sevenz::SevenZWriter;
use prep_formats::tar::TarWriter;
use prep_formats::tfrecord::masked_crc32c;

use crate::deep::{bson, matlab, parquet, structures};
use crate::support::{Archive, CommandResult, Member, Sandbox};

const LIMITS: CostLimits = CostLimits {
    kilobytes: 1_000_000,
    time: Duration::from_secs(30),
};

pub(crate) struct CostLimits {
    pub kilobytes: u64,
    pub time: Duration,
}

/// A program that runs longer is treated as waiting forever.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Approximate lengths of the bundles, in bytes.
const SIZES: [usize; 2] = [1_000, 100_000];

/// The best compression ratio that deflate can reach.
const RATIO: usize = 1_000;

/// A malicious member of the bundle, and the parts of a pipeline that read it.
struct Hostile {
    name: &'static str,
    member: fn(usize) -> Member,
    tables: &'static str,
    public: &'static str,
}

pub(crate) fn archive(members: &[Member]) -> Vec<u8> {
    let archive = members
        .iter()
        .cloned()
        .fold(Archive::new(), Archive::member);
    archive.bytes()
}

fn repeated(text: &str, bytes: usize) -> Vec<u8> {
    text.bytes()
        .cycle()
        .take(bytes / text.len() * text.len())
        .collect()
}

fn packed(name: &str, front: &str, text: &str, back: &str, bytes: usize) -> Member {
    let total = bytes * RATIO;
    let middle = repeated(text, total.min(1 << 20));
    let times = u32::try_from(total / middle.len()).expect("a small number");
    let parts = [
        (front.as_bytes(), 1),
        (&middle[..], times),
        (back.as_bytes(), 1),
    ];
    Member::repeated(name, &parts)
}

pub(crate) fn npy(header: &str) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file
}

pub(crate) fn png(width: u32, height: u32, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8], content: &[u8]| {
        file.extend((content.len() as u32).to_be_bytes());
        let body = [kind, content].concat();
        file.extend(&body);
        file.extend(crc32fast::hash(&body).to_be_bytes());
    };
    let head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    chunk(b"IHDR", &[&head[..], &[8, 0, 0, 0, 0]].concat());
    chunk(b"IDAT", data);
    chunk(b"IEND", b"");
    file
}

/// Returns about `bytes` bytes of zlib data, which decompress to zeros.
pub(crate) fn zlib(bytes: usize) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    out.write_all(&vec![0; bytes * RATIO]).unwrap();
    out.finish().unwrap()
}

fn record(length: u64, payload: &[u8]) -> Vec<u8> {
    let length = length.to_le_bytes();
    let mut file = length.to_vec();
    file.extend(masked_crc32c(&length).to_le_bytes());
    file.extend(payload);
    file.extend(masked_crc32c(payload).to_le_bytes());
    file
}

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(content);
    out
}

/// Returns a tar archive with a sparse file that claims to be a terabyte of zeros.
pub(crate) fn sparse() -> Vec<u8> {
    let mut header = [0_u8; 512];
    let fields: [(usize, &[u8]); 6] = [
        (0, b"a.csv"),
        (100, b"0000644\0"),
        (124, b"00000000000\0"),
        (148, b"        "),
        (156, b"S"),
        (257, b"ustar  \0"),
    ];
    for (at, field) in fields {
        let end = (at + field.len()).min(512);
        header[at..end].copy_from_slice(&field[..end - at]);
    }
    // Writes 1 TiB in base 256: the length of the file, and the offset of its only data block, which is empty.
    for at in [386, 483] {
        header[at..at + 12].copy_from_slice(b"\x80\0\0\0\0\0\x01\0\0\0\0\0");
    }
    header[398..410].copy_from_slice(b"00000000000\0");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    [&header[..], &[0; 1024]].concat()
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(content).unwrap();
    out.finish().unwrap()
}

/// Returns a 7z archive with a compressible list of members: one file, and many directories that all have one name.
fn sevenz(bytes: usize) -> Vec<u8> {
    let mut archive = SevenZWriter::new(std::io::Cursor::new(Vec::new()), 6);
    archive.add_file("a.csv", &b"id\n1\n"[..]).unwrap();
    for _ in 0..bytes * 20 {
        archive.add_directory("aaaaaaaaaaaaaaaa").unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn nested(bytes: usize) -> Vec<u8> {
    let mut inner = b"id\n1\n".to_vec();
    let mut name = "a.csv";
    while inner.len() < bytes {
        inner = archive(&[Member::stored(name, &inner)]);
        name = "a.zip";
    }
    inner
}

const CSV: (&str, &str) = (
    "  t: { read: x.csv, columns: { a: inferred } }",
    "out.csv: SELECT * FROM t",
);
const JSON: (&str, &str) = (
    "  t: { read: x.json, columns: { x: json } }",
    "out.csv: SELECT x FROM t",
);

fn all() -> Vec<Hostile> {
    let case = |name, member, tables, public| Hostile {
        name,
        member,
        tables,
        public,
    };
    let lines = (
        "  t: { read: x.jsonl, format: json_lines, columns: { x: json } }",
        "out.csv: SELECT x FROM t",
    );
    let array = (
        "  t: { read: x.npy, columns: { value: inferred } }",
        "out.csv: SELECT value FROM t",
    );
    let pixels = (
        "  f: { files: x.png }\n  t: { pixels: f }",
        "out.csv: SELECT grey FROM t",
    );
    let records = (
        "  f: { files: x.tfrec }\n  t: { tfrecords: f, features: { n: integer } }",
        "out.csv: SELECT n FROM t",
    );
    let documents = (
        "  t: { read: x.bson, format: bson, columns: { a: integer } }",
        "out.csv: SELECT record FROM t",
    );
    let text = (
        "  f: { files: x.txt }\n  t: { text_lines: f }",
        "out.csv: SELECT line FROM t",
    );
    vec![
        case(
            "a document of many members",
            |bytes| {
                let members: Vec<String> = (0..bytes * 20)
                    .map(|name| format!("\"{name}\":0"))
                    .collect();
                Member::deflated("x.json", format!("{{{}}}", members.join(",")))
            },
            "  t: { read: x.json, at: '', columns: { key: text } }",
            "x.json: { document: x.json, members: { last: SELECT key FROM t LIMIT 1 } }",
        ),
        case(
            "short rows below a wide header",
            |bytes| {
                packed(
                    "x.csv",
                    &format!("a{}\n", ",".repeat(bytes * 100)),
                    "1\n",
                    "",
                    bytes / 2,
                )
            },
            CSV.0,
            CSV.1,
        ),
        case(
            "a row of commas",
            |bytes| packed("x.csv", "a\n", ",", "\n", bytes),
            CSV.0,
            CSV.1,
        ),
        case(
            "a header of commas",
            |bytes| packed("x.csv", "a", ",", "\n", bytes),
            CSV.0,
            CSV.1,
        ),
        case(
            "a quote without an end",
            |bytes| packed("x.csv", "a\n\"", "bbbbbbbb\n", "", bytes),
            CSV.0,
            CSV.1,
        ),
        case(
            "a record of empty lists",
            |bytes| packed("x.json", "[{\"x\":[[]", ",[]", "]}]", bytes),
            JSON.0,
            JSON.1,
        ),
        case(
            "lists in lists",
            |bytes| packed("x.json", "[{\"x\":", "[", "", bytes),
            JSON.0,
            JSON.1,
        ),
        case(
            "objects in objects",
            |bytes| packed("x.json", "[{\"x\":", "{\"a\":", "", bytes),
            JSON.0,
            JSON.1,
        ),
        case(
            "a long line of lists",
            |bytes| packed("x.jsonl", "{\"x\":[[]", ",[]", "]}", bytes),
            lines.0,
            lines.1,
        ),
        case(
            "a long line of spaces",
            |bytes| packed("x.jsonl", "{", " ", "}", bytes),
            lines.0,
            lines.1,
        ),
        case(
            "an array of empty rows",
            |bytes| {
                let blanks = " ".repeat((bytes / 2).min(60_000));
                let header = format!(
                    "{{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976, 0)}}{blanks}"
                );
                Member::stored("x.npy", npy(&header))
            },
            array.0,
            array.1,
        ),
        case(
            "an array of texts without width",
            |_| {
                let header =
                    "{'descr': '<U0', 'fortran_order': False, 'shape': (1152921504606846976,)}";
                Member::stored("x.npy", npy(header))
            },
            array.0,
            array.1,
        ),
        case(
            "an image of a terapixel",
            |bytes| Member::stored("x.png", png(1 << 20, 1 << 20, &zlib(bytes))),
            pixels.0,
            pixels.1,
        ),
        case(
            "an image of zeros",
            |bytes| {
                let side = ((bytes * RATIO) as f64).sqrt() as u32;
                Member::stored("x.png", png(side - 1, side - 1, &zlib(bytes)))
            },
            pixels.0,
            pixels.1,
        ),
        case(
            "a record of 8 EiB",
            |bytes| Member::stored("x.tfrec", record(1 << 63, &vec![0; bytes])),
            records.0,
            records.1,
        ),
        case(
            "a record of empty values",
            |bytes| {
                let values = repeated("\n\0", bytes * RATIO);
                let entry = [field(1, b"n"), field(2, &field(1, &values))].concat();
                let payload = field(1, &field(1, &entry));
                Member::deflated("x.tfrec", record(payload.len() as u64, &payload))
            },
            records.0,
            records.1,
        ),
        case(
            "documents in documents",
            |bytes| Member::deflated("x.bson", bson(bytes * 20)),
            documents.0,
            documents.1,
        ),
        case(
            "a document of 2 GiB",
            |bytes| {
                let mut file = b"\xff\xff\xff\x7f\x02a\0\xff\xff\xff\x7f".to_vec();
                file.extend(repeated("a", bytes * RATIO));
                Member::deflated("x.bson", file)
            },
            documents.0,
            documents.1,
        ),
        case(
            "structures in structures",
            |bytes| Member::deflated("x.mat", matlab(&structures(bytes * 4))),
            "",
            "x.mat: { redact_matlab: x.mat, variables: [v.f.v.f.labels] }",
        ),
        case(
            "a packed variable",
            |bytes| {
                let packed = zlib(bytes);
                let tag = [15_u32.to_le_bytes(), (packed.len() as u32).to_le_bytes()].concat();
                Member::stored("x.mat", matlab(&[tag, packed].concat()))
            },
            "",
            "x.mat: { redact_matlab: x.mat, variables: [labels] }",
        ),
        case(
            "a long line",
            |bytes| packed("x.txt", "", "a", "", bytes),
            text.0,
            text.1,
        ),
        case(
            "zips in zips",
            |bytes| Member::stored("x.zip", nested(bytes)),
            "  t: { read: x.zip/a.zip/a.zip/a.csv, columns: { id: integer } }",
            "out.csv: SELECT * FROM t",
        ),
        case(
            "zips in zips, rewritten",
            |bytes| Member::stored("x.zip", nested(bytes)),
            "",
            "x.zip: { redact_matlab: x.zip, variables: [labels] }",
        ),
        case(
            "members under deep paths",
            |bytes| {
                let members: Vec<Member> = (0..bytes / 20)
                    .map(|number| Member::stored(&format!("{number:05}{}", "/a".repeat(1_480)), ""))
                    .collect();
                Member::deflated("x.zip", archive(&members))
            },
            "  t: { read: x.zip/a.csv, columns: { id: integer } }",
            "out.csv: SELECT * FROM t",
        ),
        case(
            "a sparse file of a terabyte",
            |bytes| Member::stored("x.tar", [sparse(), vec![0; bytes]].concat()),
            "  t: { read: x.tar/a.csv, columns: { id: integer } }",
            "out.csv: SELECT * FROM t",
        ),
        case(
            "a tar of many members",
            |bytes| {
                let mut archive = TarWriter::new(Vec::new());
                for number in 0..bytes * 2 {
                    archive.add_directory(&number.to_string()).unwrap();
                }
                Member::stored("x.tar.gz", gzip(&archive.finish().unwrap()))
            },
            "  t: { read: x.tar.gz/a.csv, columns: { id: integer } }",
            "out.csv: SELECT * FROM t",
        ),
        case(
            "a 7z of many members",
            |bytes| Member::stored("x.7z", sevenz(bytes)),
            "  t: { read: x.7z/a.csv, columns: { id: integer } }",
            "out.csv: SELECT * FROM t",
        ),
        case(
            "groups of columns in groups",
            |bytes| Member::deflated("x.parquet", parquet(bytes * 20)),
            "  t: { read: x.parquet, format: parquet, columns: { a: json } }",
            "out.csv: SELECT * FROM t",
        ),
        case(
            "zeros in place of a table",
            |bytes| packed("x.parquet", "PAR1", "\0", "\0\0\0\x7fPAR1", bytes),
            "  t: { read: x.parquet, format: parquet, columns: { id: integer } }",
            "out.csv: SELECT * FROM t",
        ),
    ]
}

/// Returns the current anonymous memory of a process in kilobytes, or `None` after the process has ended.
fn anonymous_kilobytes(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the CPU time that a process has used. Wall time would depend on other processes.
fn cpu_time(child: &Child) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields
        .get(11..13)?
        .iter()
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Some(Duration::from_millis(10 * ticks))
}

fn attempt(hostile: &Hostile, bytes: usize) -> Result<CommandResult, String> {
    let sandbox = Sandbox::new();
    let Hostile {
        name,
        member,
        tables,
        public,
    } = hostile;
    let id = "hostile";
    let tables = match tables.is_empty() {
        true => String::new(),
        false => format!("tables:\n{tables}\n"),
    };
    sandbox.pipeline(id, &format!("name: Hostile\ncategory: Tabular\nbundle: {{ kaggle: {id} }}\n{tables}public:\n  {public}\n"));
    let bundle = archive(&[member(bytes)]);
    sandbox.bundle(id, &bundle);
    let name = format!("{name}, {} bytes", bundle.len());
    watch(&name, &mut sandbox.run_command(&[id]), &[0, 4, 6])
}

/// Runs a command, and kills it at a limit of memory or time.
/// Returns an error after a limit, a signal, or an exit code that is not in `codes`.
pub(crate) fn watch(
    name: &str,
    command: &mut Command,
    codes: &[i32],
) -> Result<CommandResult, String> {
    watch_within(&LIMITS, name, command, codes)
}

pub(crate) fn watch_within(
    limits: &CostLimits,
    name: &str,
    command: &mut Command,
    codes: &[i32],
) -> Result<CommandResult, String> {
    let mut child = command.spawn().expect("the program starts");
    let (started, mut most, mut time) = (Instant::now(), 0, Duration::ZERO);
    let stdout = child.stdout.take().expect("stdout");
    let stderr = child.stderr.take().expect("stderr");
    let ended = std::thread::scope(|scope| {
        // Reads the output, because the program would otherwise wait for a reader.
        let stdout = scope.spawn(|| read_all(stdout));
        let stderr = scope.spawn(|| read_all(stderr));
        let status = loop {
            most = most.max(anonymous_kilobytes(&child).unwrap_or(0));
            time = time.max(cpu_time(&child).unwrap_or_default());
            let is_costly = most > limits.kilobytes || time > limits.time;
            if is_costly || started.elapsed() > MAX_WAIT {
                let _ = child.kill();
            }
            match child.try_wait().expect("a child") {
                Some(status) => break status,
                None => sleep(Duration::from_millis(5)),
            }
        };
        CommandResult::from(Output {
            status,
            stdout: stdout.join().expect("output"),
            stderr: stderr.join().expect("output"),
        })
    });
    let cost = format!("{name}: {:?}, {most} kB, {time:?}", ended.code);
    let is_known = ended.code.is_some_and(|code| codes.contains(&code));
    if is_known && most <= limits.kilobytes && time <= limits.time {
        eprintln!("{cost}");
        return Ok(ended);
    }
    Err(format!("{cost}\n{}", ended.stderr))
}

fn read_all(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("output");
    bytes
}

#[test]
fn hostile_bundles_do_not_exhaust_the_system() {
    let all = all();
    let attempts = all
        .iter()
        .flat_map(|hostile| SIZES.map(|bytes| attempt(hostile, bytes)));
    let failed: Vec<String> = attempts.filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
