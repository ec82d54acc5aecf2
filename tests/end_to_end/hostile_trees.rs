//! Tests of the verbs that read prepared trees of others, with malicious files in them: archives of many members, archives
//! in archives, and large images in small files. Each verb must end, and use at most 1 GB of memory and 30 s.
//!
//! `tests/hostile` measures many more files of this kind.

use std::process::Stdio;

use prep_formats::sevenz::SevenZWriter;
use prep_formats::tar::TarWriter;

use crate::hostile::{archive, gzip, png, watch, zlib};
use crate::support::{Member, Sandbox};

const PIPELINE: &str = "name: X
category: Tabular
bundle: { kaggle: x }
tables:
  answers: { read: answers.csv }
public:
  sample_submission.csv: SELECT * FROM answers
private:
  answers.csv: SELECT * FROM answers
grade:
  answers: private/answers.csv
  sample: public/sample_submission.csv
  rules:
    - columns: [id, target]
    - same_rows
    - align: id
  metric: { accuracy: target }
";

/// A file in two versions, which differ in one of their innermost bytes.
struct HostileFile {
    ending: &'static str,
    content: fn(u8) -> Vec<u8>,
}

fn numbered(count: usize, content: impl Fn(usize) -> Vec<u8>) -> Vec<(String, Vec<u8>)> {
    let member = |number: usize| (format!("{number}.csv"), content(number));
    (0..count).map(member).collect()
}

fn zip(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let deflated = |(name, content): &(String, Vec<u8>)| Member::deflated(name, content);
    archive(&members.iter().map(deflated).collect::<Vec<_>>())
}

fn tar(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = TarWriter::new(Vec::new());
    for (name, content) in members {
        let length = content.len() as u64;
        tar.add_file(name, length, content.as_slice()).unwrap();
    }
    tar.finish().unwrap()
}

fn sevenz(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = SevenZWriter::new(std::io::Cursor::new(Vec::new()), 6);
    for (name, content) in members {
        archive.add_file(name, content.as_slice()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Returns archives in archives: each level has `width` equal members.
fn zips(width: usize, levels: usize, version: u8) -> Vec<u8> {
    let mut content = format!("a,b\n{version},1\n").into_bytes();
    let mut ending = "csv";
    for _ in 0..levels {
        let member = |number: usize| (format!("{number}.{ending}"), content.clone());
        content = zip(&(0..width).map(member).collect::<Vec<_>>());
        ending = "zip";
    }
    content
}

const FILES: &[HostileFile] = &[
    HostileFile {
        ending: "zip",
        content: |version| {
            zip(&numbered(500, |number| {
                vec![b'0'; number % 2 * usize::from(version)]
            }))
        },
    },
    HostileFile {
        ending: "zip",
        content: |version| zips(3, 6, version),
    },
    HostileFile {
        ending: "tgz",
        content: |version| gzip(&tar(&[("a.zip".to_owned(), zips(5, 5, version))])),
    },
    HostileFile {
        ending: "tgz",
        content: |version| gzip(&tar(&numbered(4_000, |_| vec![b'0' + version]))),
    },
    HostileFile {
        ending: "7z",
        content: |version| sevenz(&numbered(500, |_| vec![b'0' + version])),
    },
    HostileFile {
        ending: "png",
        content: |version| png(40_000_000 - u32::from(version), 1, &zlib(40_000)),
    },
];

#[test]
fn hostile_trees_do_not_exhaust_the_system() {
    let attempts = FILES.iter().flat_map(attempt);
    let failed: Vec<String> = attempts.filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn attempt(file: &HostileFile) -> Vec<Result<String, String>> {
    let sandbox = Sandbox::new();
    sandbox.pipeline("x", PIPELINE);
    let answers = "id,target\n3,1\n4,0\n";
    let name = format!("x.{}", file.ending);
    let trees = [sandbox.prepared("x"), sandbox.path("theirs/x/prepared")];
    for (version, tree) in (0..).zip(&trees) {
        let write = |path: &str, content: &[u8]| {
            let path = tree.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        write("private/answers.csv", answers.as_bytes());
        write("public/sample_submission.csv", answers.as_bytes());
        write(&format!("public/{name}"), &(file.content)(version));
    }
    let data = sandbox.data();
    let verbs: [&[&str]; 3] = [
        &["audit", "x", "--tree", "theirs"],
        &["leaks", "x"],
        &["diff", "x", "theirs", data.to_str().unwrap()],
    ];
    let run = |verb: &&[&str]| {
        let mut command = sandbox.command(verb);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        watch(&format!("{} of {name}", verb[0]), child, &[0, 1, 4, 5, 6])
    };
    verbs.iter().map(run).collect()
}
