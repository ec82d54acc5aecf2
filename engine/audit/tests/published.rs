//! Published files in a different form than the prepared ones. The audit must find the form if a file in this form has the
//! published checksum, and must report no form otherwise.

use std::fs;
use std::path::Path;

use md5::{Digest, Md5};
use prep_audit::published::{self, FileCheck};
use prep_contents::{DecodingLimits, Resources};

const OURS: &str =
    "id,name,score,gap\n3,\"a, b\",0.5,\n1,x,0.1234567890123456,7\n2,y,43.85123456789012,\n";

/// Name of the case, content of the published file, and expected cause.
type Case = (&'static str, fn() -> String, Option<&'static str>);

const CASES: &[Case] = &[
    ("equal", || OURS.into(), None),
    ("CR LF", || OURS.replace('\n', "\r\n"), Some("line-ends")),
    (
        "byte order mark",
        || format!("\u{feff}{OURS}"),
        Some("byte-order-mark"),
    ),
    (
        "CR LF and byte order mark",
        || format!("\u{feff}{}", OURS.replace('\n', "\r\n")),
        Some("byte-order-mark"),
    ),
    (
        "no line break at the end",
        || OURS.trim_end().into(),
        Some("final-newline"),
    ),
    (
        "index column",
        || {
            OURS.lines()
                .enumerate()
                .map(|(n, l)| {
                    if n == 0 {
                        format!(",{l}\n")
                    } else {
                        format!("{},{l}\n", n - 1)
                    }
                })
                .collect()
        },
        Some("index-column"),
    ),
    (
        "all fields quoted",
        || {
            "\"id\",\"name\",\"score\",\"gap\"\n\"3\",\"a, b\",\"0.5\",\"\"\n\"1\",\"x\",\"0.1234567890123456\",\"7\"\n\"2\",\"y\",\"43.85123456789012\",\"\"\n".into()
        },
        Some("quoting"),
    ),
    (
        "texts quoted",
        || {
            "\"id\",\"name\",\"score\",\"gap\"\n3,\"a, b\",0.5,\"\"\n1,\"x\",0.1234567890123456,7\n2,\"y\",43.85123456789012,\"\"\n".into()
        },
        Some("quoting"),
    ),
    (
        "`None` for missing values",
        || OURS.replace(",\n", ",None\n"),
        Some("missing-words"),
    ),
    (
        "rows sorted",
        || {
            "id,name,score,gap\n1,x,0.1234567890123456,7\n2,y,43.85123456789012,\n3,\"a, b\",0.5,\n"
                .into()
        },
        Some("row-order"),
    ),
    (
        "a changed value",
        || OURS.replace("0.5", "0.6"),
        Some("not-classified"),
    ),
];

const WORDS: &[Case] = &[
    (
        "spreadsheet",
        || TABLE.replace("True", "TRUE").replace("False", "FALSE"),
        Some("boolean-words"),
    ),
    (
        "spreadsheet with CR LF",
        || {
            TABLE
                .replace("True", "TRUE")
                .replace("False", "FALSE")
                .replace('\n', "\r\n")
        },
        Some("boolean-words"),
    ),
    (
        "`NaN` in all columns",
        || TABLE.replace(",,", ",NaN,").replace(",\n", ",NaN\n"),
        Some("missing-words"),
    ),
    (
        "`NaN` in a column",
        || TABLE.replace(",\n", ",NaN\n"),
        Some("missing-words"),
    ),
    (
        "a changed boolean",
        || TABLE.replace("True", "FALSE"),
        Some("not-classified"),
    ),
];

const TABLE: &str = "id,is_new,size,gap\n3,True,,\n1,False,0.5,7\n2,True,1.5,\n";

#[test]
fn words_for_booleans_and_missing_values_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ours.csv");
    fs::write(&file, TABLE).unwrap();
    for (name, published, expected) in WORDS {
        let found = cause("public/ours.csv", &file, &md5(published().as_bytes()));
        assert_eq!(found, *expected, "{name}");
    }
}

fn md5(bytes: &[u8]) -> String {
    prep_formats::hex::encode(&Md5::digest(bytes))
}

fn cause(path: &str, file: &Path, md5: &str) -> Option<&'static str> {
    match published::check(path, file, md5, &DecodingLimits::default()).unwrap() {
        FileCheck::Equal => None,
        FileCheck::Other(finding) => Some(finding.cause.id()),
    }
}

#[test]
fn the_form_of_a_published_table_is_found() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("a.csv");
    fs::write(&place, OURS).unwrap();
    for (name, published, expected) in CASES {
        let sum = md5(published().as_bytes());
        assert_eq!(cause("public/a.csv", &place, &sum), *expected, "{name}");
    }
}

#[test]
fn the_writer_versions_of_a_published_parquet_file_are_found() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/data/fastparquet");
    let file = |versions: &str| directory.join(format!("{versions}.numbers.parquet"));
    let all = [
        "2023.10.1+2.2.2",
        "2024.5.0+2.2.3",
        "2024.11.0+2.0.3",
        "2026.9.0+2.2.3",
        "2026.9.0+3.1.1",
    ];
    for ours in all {
        for published in all {
            let sum = md5(&fs::read(file(published)).unwrap());
            let checked = published::check(
                "public/e.parquet",
                &file(ours),
                &sum,
                &DecodingLimits::default(),
            )
            .unwrap();
            match checked {
                FileCheck::Equal => assert_eq!(ours, published),
                FileCheck::Other(finding) => {
                    assert_eq!(finding.cause.id(), "parquet-versions");
                    let (fastparquet, pandas) = published.split_once('+').unwrap();
                    let words =
                        format!("with fastparquet {fastparquet}, pandas {pandas} in the footer");
                    assert!(finding.proof.unwrap().starts_with(&words));
                }
            }
        }
    }
    let unknown = cause("public/e.parquet", &file("2024.5.0+2.2.3"), &"0".repeat(32));
    assert_eq!(unknown, Some("parquet-unknown-versions"));
    let other = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/writers/pandas-2.2.3+pyarrow-17.0.0/numbers.parquet");
    assert_eq!(
        cause("public/e.parquet", &other, &"0".repeat(32)),
        Some("parquet-unknown-versions")
    );
}

#[test]
fn the_seed_and_size_of_a_published_split_are_found() {
    use prep_audit::tree::SplitSearch;
    use prep_splits::{SplitAlgorithm, SplitSize, split};
    let home = tempfile::tempdir().unwrap();
    let write = |root: &Path, seed: u32, share: f64| {
        let method = SplitAlgorithm::Shuffle {
            test_size: Some(SplitSize::Fraction(share)),
            train_size: None,
            seed,
            order: None,
        };
        let parts = split(&method, 90, None).unwrap();
        let lines = |numbers: &[u32], line: &dyn Fn(u32) -> String| {
            numbers
                .iter()
                .map(|number| line(*number))
                .collect::<String>()
        };
        fs::create_dir_all(root.join("public")).unwrap();
        fs::create_dir_all(root.join("private")).unwrap();
        let text = |n: u32| format!("{n},\"t, {}\"", n * 7 % 11);
        let train = lines(&parts.train, &|n| format!("{},{}\n", text(n), n % 2));
        let test = lines(&parts.test, &|n| format!("{}\n", text(n)));
        let answers = lines(&parts.test, &|n| format!("{n},{}\n", n % 2));
        fs::write(root.join("public/train.csv"), format!("id,t,y\n{train}")).unwrap();
        fs::write(root.join("public/test.csv"), format!("id,t\n{test}")).unwrap();
        fs::write(root.join("private/test.csv"), format!("id,y\n{answers}")).unwrap();
    };
    let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
    write(&ours, 0, 0.1);
    write(&theirs, 42, 0.2);
    let search = SplitSearch {
        id: None,
        train: "public/train.csv".into(),
        test: "public/test.csv".into(),
        seed: 0,
        test_size: Some(SplitSize::Fraction(0.1)),
        answers: Some("private/test.csv".into()),
    };
    for path in ["public/train.csv", "public/test.csv", "private/test.csv"] {
        let sum = md5(&fs::read(theirs.join(path)).unwrap());
        let found = published::search_split(&ours, path, &sum, &search, &DecodingLimits::default())
            .unwrap()
            .expect(path);
        assert!(
            found
                .proof
                .unwrap()
                .starts_with("if the rows are split with seed 42 and test size 0.2"),
            "{path}"
        );
        assert!(
            published::search_split(
                &ours,
                path,
                &"0".repeat(32),
                &search,
                &DecodingLimits::default()
            )
            .unwrap()
            .is_none()
        );
    }
}

#[test]
fn a_published_checksum_is_found_among_the_members_of_a_bundle() {
    let home = tempfile::tempdir().unwrap();
    let zip = |members: &[(&str, &[u8])]| {
        let mut zip = prep_formats::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in members {
            let method = prep_formats::zip::ZipMethod::Deflate;
            zip.add_file(name, method, &mut &content[..]).unwrap();
        }
        zip.finish().unwrap().into_inner()
    };
    let inner = zip(&[("labels.csv", b"id,kind\n1,a\n")]);
    let bundle = home.path().join("older.zip");
    fs::write(
        &bundle,
        zip(&[("notes.txt", b"hello"), ("inner.zip", &inner)]),
    )
    .unwrap();
    let wanted = [
        "5d41402abc4b2a76b9719d911017c592",
        "00000000000000000000000000000000",
    ];
    let wanted = wanted.map(str::to_owned).into_iter().collect();
    let resources = Resources {
        limits: DecodingLimits::default(),
        temp: &home.path().join("temp"),
    };
    let found = published::members(&bundle, &resources, &wanted).unwrap();
    let found: Vec<(String, String)> = found.into_iter().collect();
    let expected = ("5d41402abc4b2a76b9719d911017c592", "notes.txt");
    assert_eq!(found, [(expected.0.to_owned(), expected.1.to_owned())]);
}
