//! Tests the memory and time of every verb that opens files of other authors.
//! The files are small, but decoded copies, recursion in libraries or quadratic searches could make them costly.
//!
//! The limits are lower than those of the modules `hostile` and `foreign`, because the costs of these files are known.
//! The scripts in `tests/hostile` measure many more files.

use std::fs;
use std::time::Duration;

use crate::deep::parquet;
use crate::hostile::{CostLimits, archive, gzip, npy, watch_within};
use crate::support::{CommandResult, Harbour, Member, Sandbox};

const LIMITS: CostLimits = CostLimits {
    kilobytes: 256_000,
    time: Duration::from_secs(5),
};

/// All exit codes except those of a bug and of signals.
const CODES: [i32; 7] = [0, 1, 2, 3, 4, 5, 6];

/// A spreadsheet whose cells refer to one long text.
fn workbook() -> Vec<u8> {
    let shared = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(300_000));
    let cells = "<row><c t=\"s\"><v>0</v></c></row>".repeat(12_000);
    archive(&[
        Member::deflated("xl/sharedStrings.xml", shared),
        Member::deflated(
            "xl/worksheets/sheet1.xml",
            format!("<sheetData>{cells}</sheetData>"),
        ),
    ])
}

/// Nested elements with long names. The innermost element has many attributes.
fn markup() -> Vec<u8> {
    let name = "t".repeat(1_000);
    let attributes: String = (0..200)
        .map(|number| format!(" a{number}=\"{number}\""))
        .collect();
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let block = format!("{}<b{attributes}/>{}", begin.repeat(60), end.repeat(60));
    archive(&[Member::deflated("all.xml", block.repeat(100))])
}

/// An archive with the image of a test item. The image consists of many text chunks.
fn image() -> Vec<u8> {
    let chunk = [&[0, 0, 0, 1], b"tEXt".as_slice(), b"a", &[0; 4]].concat();
    let file = [b"\x89PNG\r\n\x1a\n".as_slice(), &chunk.repeat(2 << 20)].concat();
    archive(&[Member::deflated("3.png", file)])
}

fn keys(records: usize) -> String {
    let records: Vec<String> = (0..records)
        .map(|key| format!("{{\"k{key}\":1}}"))
        .collect();
    format!("[{}]", records.join(","))
}

/// A tar.gz without members. After the end of the archive, the file unpacks to two gigabytes of zeros.
fn end_of_archive() -> Vec<u8> {
    let empty = gzip(&[0; 1024]);
    [empty, gzip(&vec![0; 16 << 20]).repeat(128)].concat()
}

/// An archive whose directory lists the same member again and again.
fn repeated_members(count: usize) -> Vec<u8> {
    let record = [
        b"PK\x01\x02".as_slice(),
        &[0; 24],
        b"\x01\0",
        &[0; 16],
        b"a",
    ]
    .concat();
    let directory = record.repeat(count);
    let number = (count as u16).to_le_bytes();
    let length = (directory.len() as u32).to_le_bytes();
    let end = [
        b"PK\x05\x06\0\0\0\0".as_slice(),
        &number,
        &number,
        &length,
        &[0; 6],
    ];
    [directory, end.concat()].concat()
}

/// Files of other authors, as names and contents.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let header = Member::deflated("x.csv", format!("{}\n1\n", "x".repeat(60 << 20)));
    let end = Member::deflated("x.tar.gz", end_of_archive());
    let columns = Member::deflated("x.csv", ",".repeat(60 << 20));
    let words = Member::deflated("3.txt", "a b ".repeat(8 << 20));
    let members = Member::deflated("x.zip", repeated_members(300_000));
    vec![
        ("book.xlsx", workbook()),
        ("markup.zip", markup()),
        ("image.zip", image()),
        ("deep.parquet", parquet(10_000)),
        ("keys.json", keys(8_000).into_bytes()),
        ("header.zip", archive(&[header])),
        ("columns.zip", archive(&[columns])),
        ("words.zip", archive(&[words])),
        ("members.zip", archive(&[members])),
        ("end.zip", archive(&[end])),
    ]
}

#[track_caller]
fn assert_is_cheap(sandbox: &Sandbox, note: &str, arguments: &[&str]) -> CommandResult {
    let note = format!("{note}: {}", arguments.join(" "));
    let ended = watch_within(&LIMITS, &note, &mut sandbox.command(arguments), &CODES);
    ended.unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn files_of_others_are_cheap_for_every_verb() {
    let sandbox = Harbour::prepared();
    let id = Harbour::ID;
    let public = sandbox.prepared(id).join("public");
    let table = Harbour::table();
    for (name, content) in files() {
        assert!(content.len() < 300 << 10, "{name}: {} bytes", content.len());
        let cheap = |arguments: &[&str]| assert_is_cheap(&sandbox, name, arguments);
        let theirs = sandbox.write(&format!("other/{id}/prepared/public/{name}"), &content);
        let file = theirs.to_str().expect("UTF-8");
        cheap(&["audit", id, "--source", "source", "--tree", "other"]);
        cheap(&["diff", id, "data", "other"]);
        fs::write(public.join(name), &content).expect("a file");
        let members = [
            Member::stored("train.csv", &table),
            Member::stored(name, &content),
        ];
        sandbox.bundle(id, &archive(&members));
        for verb in ["leaks", "audit", "run"] {
            cheap(&[verb, id, "--source", "source"]);
        }
        cheap(&["fetch", "--list", id, "--source", "source"]);
        let new = ["pipeline", "new", id, "--source", "source", "--no-download"];
        cheap(&[&new[..], &["--output", "drafts"]].concat());
        let _ = fs::remove_dir_all(sandbox.path("drafts"));
        cheap(&["report", "--output", "report.html"]);
        sandbox.write("list.jsonl", &content);
        cheap(&["grade", "list.jsonl", "--output", "grades"]);
        for verb in [&["grade", id][..], &["validate", id]] {
            cheap(&[verb, &[file]].concat());
        }
        for verb in [&["pipeline", "check"][..], &["summarize"]] {
            cheap(&[verb, &[file]].concat());
        }
        fs::remove_file(public.join(name)).expect("a file");
        fs::remove_file(theirs).expect("a file");
    }
}

/// Each file is costly for one kind of step. The pipeline reads the file with this kind of step.
#[test]
fn members_are_cheap_for_the_steps_that_read_them() {
    let mut board = npy(&format!(
        "{:<117}\n",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (8000, 8001), }"
    ));
    board.extend((0..8000 * 8001).map(|number| (number % 2) as u8));
    let long = format!("{}\n1\n", "x".repeat(60 << 20));
    let records = "t: { read: x.json, dialect: dataframe, columns: [k1] }";
    for (name, content, table) in [
        (
            "x.parquet",
            parquet(10_000),
            "t: { read: x.parquet, format: parquet, columns: { a: json } }",
        ),
        ("x.json", keys(8_000).into_bytes(), records),
        (
            "x.csv",
            long.into_bytes(),
            "t: { read: x.csv, columns: [a] }",
        ),
        (
            "x.tar.gz",
            end_of_archive(),
            "t: { read: x.tar.gz/a.csv, columns: [a] }",
        ),
        ("x.npy", board, "f: { files: x.npy }\n  t: { masks: f }"),
        (
            "x.zip",
            repeated_members(300_000),
            "t: { read: x.zip/a.csv, columns: [a] }",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.pipeline("costs", &format!(
            "name: Costs\ncategory: Tabular\nbundle: {{ kaggle: costs }}\ntables:\n  {table}\npublic:\n  t.csv: SELECT * FROM t\n"
        ));
        sandbox.bundle("costs", &archive(&[Member::deflated(name, content)]));
        let ended = assert_is_cheap(&sandbox, name, &["run", "costs", "--source", "source"]);
        assert_eq!(ended.code, Some(4), "{name}: {ended:?}");
    }
}

/// Messages shorten names and values from files of other authors, and contain no characters that move the cursor.
#[test]
fn messages_about_files_of_others_are_short() {
    let sandbox = Harbour::prepared();
    let id = Harbour::ID;
    let long = "x\u{1b}[2J".repeat(30_000);
    sandbox.write("long.csv", format!("{long}\n1\n"));
    sandbox.write("long.ids", &long);
    sandbox.write("sub.csv", "id,score\n1,2\n");
    let unknown: String = (0..2_000)
        .map(|number| {
            format!("{{\"competition_id\": \"u{number}\", \"submission_path\": \"a\"}}\n")
        })
        .collect();
    sandbox.write("unknown.jsonl", unknown);
    let name = "n".repeat(200_000);
    sandbox.write(
        "long.yaml",
        format!(
            "name: X\ncategory: Tabular\nbundle: {{ kaggle: x }}\npublic:\n  a.csv: SELECT id FROM {name}\n"
        ),
    );
    for (side, cell) in [("one", "a"), ("two", "b")] {
        let path = format!("{side}/{id}/prepared/public/x.csv");
        sandbox.write(&path, format!("id,{long}\n1,{}\n", cell.repeat(200_000)));
    }
    for arguments in [
        &["diff", id, "one", "two"][..],
        &["audit", id, "--source", "source", "--tree", "one"],
        &[
            "grade",
            id,
            "sub.csv",
            "--answers",
            "sub.csv",
            "--leaderboard",
            "long.csv",
        ],
        &["grade", id, "long.csv"],
        &["grade", "unknown.jsonl", "--output", "grades"],
        &["run", "--ids-from", "long.ids"],
        &["pipeline", "check", "long.yaml"],
    ] {
        let ended = assert_is_cheap(&sandbox, "long texts", arguments);
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert_ne!(ended.code, Some(0), "{arguments:?}: {text}");
        assert!(text.len() < 40_000, "{arguments:?}: {} bytes", text.len());
        assert!(!text.contains('\u{1b}'), "{arguments:?}: {text}");
    }
}

/// Each pipeline repeats a mistake or a costly construct many times.
#[test]
fn pipelines_with_many_mistakes_are_cheap() {
    let list = |count: usize, item: &dyn Fn(usize) -> String| {
        (0..count).map(item).collect::<Vec<_>>().join(", ")
    };
    let head = "name: X\ncategory: Tabular\nbundle: { kaggle: x }\n";
    let public = "public:\n  a.csv: SELECT id FROM t\n";
    let table = "tables:\n  t: { read: a.csv, columns: [id] }\n";
    let texts = list(20_000, &|_| "a".to_owned());
    let lists: String = (0..8_000)
        .map(|number| format!("  l{number}: [a]\n"))
        .collect();
    let unknown: String = (0..4_000)
        .map(|number| format!("  o{number}.csv: SELECT id FROM unknown{number}\n"))
        .collect();
    let tables: String = (0..4_000)
        .map(|number| format!("  known{number}: {{ read: a.csv, columns: [id] }}\n"))
        .collect();
    let chain: String = (0..4_000)
        .map(|number| {
            format!(
                "  t{number}: SELECT a.id FROM t{} AS a JOIN t0 USING (id)\n",
                number + 1
            )
        })
        .collect();
    let nested = format!("{}a{}", "{a,".repeat(200), "}".repeat(200));
    for (name, text) in [
        (
            "equal texts",
            format!("{head}lists:\n  l: [{texts}]\n{table}{public}"),
        ),
        (
            "unused lists",
            format!("{head}lists:\n{lists}{table}{public}"),
        ),
        (
            "equal columns",
            format!("{head}tables:\n  t: {{ read: a.csv, columns: [{texts}] }}\n{public}"),
        ),
        (
            "equal columns of unpivot",
            format!(
                "{head}{table}  u: {{ unpivot: t, columns: [{texts}], name: n, value: v }}\n{public}"
            ),
        ),
        (
            "unknown tables",
            format!("{head}tables:\n{tables}public:\n{unknown}"),
        ),
        (
            "cycles",
            format!(
                "{head}tables:\n{chain}  t4000: SELECT id FROM t0\npublic:\n  a.csv: SELECT id FROM t0\n"
            ),
        ),
        (
            "nested braces",
            format!(
                "{head}tables:\n  t: {{ files: '{nested}' }}\npublic:\n  a.csv: SELECT file FROM t\n"
            ),
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.pipeline("x", &text);
        let ended = assert_is_cheap(
            &sandbox,
            name,
            &["pipeline", "check", "pipelines/x/pipeline.yaml"],
        );
        let code = if name == "unused lists" { 0 } else { 3 };
        assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
        assert!(
            ended.stdout.len() < 200_000,
            "{name}: {} bytes",
            ended.stdout.len()
        );
        let ended = assert_is_cheap(&sandbox, name, &["run", "x", "--source", "source"]);
        let code = if name == "unused lists" { 4 } else { 3 };
        assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
        assert!(
            ended.stderr.len() < 200_000,
            "{name}: {} bytes",
            ended.stderr.len()
        );
    }
}
