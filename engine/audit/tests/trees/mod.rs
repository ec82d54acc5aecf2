//! Differences between trees: a change of a good tree, or a tree from a different library version. The audit must report
//! exactly the causes of these differences.

mod cases;
mod further;
mod together;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use prep_audit::tree::{self, Roles, SplitSearch, TreeOptions};
use prep_audit::{AuditReport, Harm};
use prep_contents::{DecodingLimits, Resources};
use prep_splits::{KeyRole, Split, SplitAlgorithm, SplitKeys, SplitSize, split};

use cases::CASES;
use further::{FURTHER, NUMBERED, gzipped};

const ROWS: u32 = 200;

fn recorded(path: &str) -> Vec<u8> {
    fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/writers")
            .join(path),
    )
    .unwrap()
}

fn fastparquet(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/data/fastparquet");
    fs::read(directory.join(format!("{name}.numbers.parquet"))).unwrap()
}

fn png(colour: png::ColorType, compression: png::Compression, change: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, 8, 8);
    encoder.set_color(colour);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(compression);
    let samples: Vec<u8> = (0..64u8)
        .flat_map(|n| vec![n * 3; colour.samples()])
        .collect();
    let samples: Vec<u8> = samples
        .iter()
        .enumerate()
        .map(|(place, value)| value ^ if place == 9 { change } else { 0 })
        .collect();
    encoder
        .write_header()
        .unwrap()
        .write_image_data(&samples)
        .unwrap();
    out
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = prep_formats::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.add_file(
            name,
            prep_formats::zip::ZipMethod::Deflate,
            &mut &content[..],
        )
        .unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn item(number: u32) -> String {
    let share = f64::from(number * 37 % 101) / 101.0;
    format!(
        "a{number:04},\"word {}, more\",{}.5,{share}",
        number * 13 % 17,
        number * 7 % 50
    )
}

fn label(number: u32) -> u32 {
    number * 31 % 3
}

fn write(root: &Path, seed: u32, test_size: f64) {
    write_parts(root, &parts(seed, test_size, false));
}

fn parts(seed: u32, test_size: f64, stratified: bool) -> Split {
    let method = SplitAlgorithm::Shuffle {
        test_size: Some(SplitSize::Fraction(test_size)),
        train_size: None,
        seed,
        order: None,
    };
    let codes: Vec<u32> = (0..ROWS).map(label).collect();
    let keys = SplitKeys {
        role: KeyRole::Stratify,
        codes: &codes,
    };
    split(&method, ROWS as usize, stratified.then_some(keys)).unwrap()
}

fn write_parts(root: &Path, parts: &Split) {
    let mut train = "id,text,length,share,gap,kind\n".to_owned();
    for number in &parts.train {
        let gap = if number % 9 == 0 {
            String::new()
        } else {
            format!("{}", number % 4)
        };
        writeln!(train, "{},{gap},{}", item(*number), label(*number)).unwrap();
    }
    let (mut test, mut sample) = ("id,text,length,share\n".to_owned(), "id,kind\n".to_owned());
    let mut answers = sample.clone();
    for number in &parts.test {
        writeln!(test, "{}", item(*number)).unwrap();
        writeln!(sample, "a{number:04},0").unwrap();
        writeln!(answers, "a{number:04},{}", label(*number)).unwrap();
    }
    let images = [("train", &parts.train), ("test", &parts.test)];
    for (part, numbers) in images {
        let directory = root.join("public").join(part);
        fs::create_dir_all(&directory).unwrap();
        for number in numbers.iter().filter(|number| *number % 10 == 0) {
            let name = directory.join(format!("a{number:04}.png"));
            fs::write(
                name,
                png(png::ColorType::Rgb, png::Compression::Fast, *number as u8),
            )
            .unwrap();
        }
    }
    fs::create_dir_all(root.join("private")).unwrap();
    let public = root.join("public");
    for (path, content) in [
        ("train.csv", train.as_bytes()),
        ("test.csv", test.as_bytes()),
        ("sample_submission.csv", sample.as_bytes()),
        ("../private/test.csv", answers.as_bytes()),
        ("notes.txt", "one\ntwo\nthree\n".as_bytes()),
        ("names.csv", "id,name\n1,é\n2,naïve\n3,x\n".as_bytes()),
        ("list.json", br#"[{"id": "a", "kind": 0}, {"id": "b", "kind": 1}, {"id": "c", "kind": 2}, {"id": "d", "kind": 1}]"#),
        ("codes.csv", b"id,code,number\n1,007,1\n2,1e5,08\n3,x12,3\n"),
        ("places.csv", &recorded("pandas-2.2.3/table.csv")),
        ("events.parquet", &fastparquet("2024.5.0+2.2.3")),
        ("meta.json", br#"{"a": 1, "b": [{"id": 1, "x": 0.5}, {"id": 2, "x": 1.5}], "c": "text"}"#),
        ("rows.jsonl", b"{\"id\": 1, \"kind\": \"x\", \"v\": 1.5}\n{\"id\": 2, \"kind\": \"y\", \"v\": 2.5}\n{\"id\": 3, \"kind\": \"x\", \"v\": 3.5}\n"),
        ("more.zip", &zip(&[("x/1.txt", b"one"), ("x/2.txt", b"two")])),
        ("weights.bin", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("flags.csv", b"id,flag\n1,True\n2,False\n3,True\n"),
        ("numbered.csv", NUMBERED),
        ("page.rst", b"# One\n\nand more\n"),
        (
            "parts.zip",
            &zip(&[("train/1.bin", &[5; 300]), ("test/2.bin", &[6; 300])]),
        ),
        ("packed.csv.gz", &gzipped(b"id,size\n1,a\n2,b\n")),
        ("large-1.bin", &[1; 700]),
        ("large-2.bin", &[2; 700]),
        ("short-1.bin", b"aa"),
        ("short-2.bin", b"bb"),
    ] {
        fs::write(public.join(path), content).unwrap();
    }
}

struct Change<'a>(&'a Path);

impl Change<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn text(&self, path: &str, change: impl FnOnce(String) -> String) {
        let place = self.path(path);
        let text = fs::read_to_string(&place).unwrap();
        let changed = change(text.clone());
        assert_ne!(text, changed, "{path} is not changed");
        fs::write(place, changed).unwrap();
    }

    fn train(&self, change: impl FnOnce(String) -> String) {
        self.text("public/train.csv", change);
    }

    fn rows(&self, change: impl FnOnce(&mut Vec<String>)) {
        self.train(|text| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let header = lines.remove(0);
            change(&mut lines);
            format!("{header}\n{}\n", lines.join("\n"))
        });
    }

    fn cells(&self, column: usize, change: impl Fn(usize, &str) -> String) {
        self.rows(|rows| {
            for (number, row) in rows.iter_mut().enumerate() {
                // The second column is quoted and has a comma.
                let (head, tail) = row.split_once(" more\",").unwrap();
                let mut cells: Vec<String> = tail.split(',').map(str::to_owned).collect();
                cells[column] = change(number, &cells[column]);
                *row = format!("{head} more\",{}", cells.join(","));
            }
        });
    }

    fn put(&self, path: &str, content: &[u8]) {
        fs::write(self.path(path), content).unwrap();
    }

    fn image(&self) -> PathBuf {
        let mut all: Vec<_> = fs::read_dir(self.path("public/train"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        all.sort();
        all.swap_remove(0)
    }

    fn write_again(&self, seed: u32, size: f64) {
        fs::remove_dir_all(self.0).unwrap();
        write(self.0, seed, size);
    }

    fn write_parts(&self, parts: &Split) {
        fs::remove_dir_all(self.0).unwrap();
        write_parts(self.0, parts);
    }
}

/// Name of the case, change, and expected causes with their harm.
type Case = (
    &'static str,
    fn(&Change<'_>),
    &'static [(&'static str, Harm)],
);

const NONE: Harm = Harm::None;
const FORM: Harm = Harm::Form;
const CONTENT: Harm = Harm::Content;
const ANSWERS: Harm = Harm::Answers;

const SPLIT: &[(&str, Harm)] = &[("other-split", ANSWERS), ("files-other-part", ANSWERS)];

// Positions of the columns after the quoted text.
const LENGTH: usize = 0;
const SHARE: usize = 1;
const GAP: usize = 2;
const KIND: usize = 3;

fn options_without_split<'a>(roles: &'a Roles, temp: &'a Path) -> TreeOptions<'a> {
    TreeOptions {
        threads: 1,
        roles,
        split: None,
        resources: Resources {
            limits: DecodingLimits::default(),
            temp,
        },
    }
}

#[test]
fn a_changed_tree_is_reported_with_exactly_its_causes() {
    let home = tempfile::tempdir().unwrap();
    let ours = home.path().join("ours");
    write(&ours, 0, 0.2);
    let roles = Roles {
        answers: Some("private/test.csv".into()),
        sample: Some("public/sample_submission.csv".into()),
        ..Roles::default()
    };
    let search = SplitSearch {
        id: None,
        train: "public/train.csv".into(),
        test: "public/test.csv".into(),
        seed: 0,
        test_size: Some(SplitSize::Fraction(0.2)),
        answers: Some("private/test.csv".into()),
    };
    let options = TreeOptions {
        threads: 2,
        roles: &roles,
        split: Some(&search),
        resources: Resources {
            limits: DecodingLimits::default(),
            temp: &home.path().join("temp"),
        },
    };
    let mut wrong = Vec::new();
    for (name, change, expected) in CASES.iter().chain(FURTHER) {
        let theirs = home.path().join("theirs");
        let _ = fs::remove_dir_all(&theirs);
        write(&theirs, 0, 0.2);
        change(&Change(&theirs));
        let compared = tree::compare(&theirs, &ours, &options).unwrap();
        let report = AuditReport::new(compared.findings);
        let mut found: Vec<(&str, Harm)> = report
            .blocks
            .iter()
            .map(|block| (block.cause, block.harm))
            .collect();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        if found != expected {
            wrong.push(format!(
                "{name}: found {found:?}, expected {expected:?}\n{:#?}",
                report.blocks
            ));
        }
        let proof = match *name {
            "a different seed" => "seed 1 produces exactly the audited parts, with 40 of 200",
            "a different test size" => "seed 0 produces exactly the audited parts, with 20 of 200",
            "stratified" => "seed 0, stratified by `kind`, produces exactly the audited parts",
            "unshuffled" => "taking the last items for test produces exactly",
            "an unknown split" => "none of ",
            "pyarrow 17" => "theirs: parquet-cpp-arrow 17.0.0 with pandas 2.2.3",
            _ => "",
        };
        let texts = format!("{:?}", report.blocks);
        if !texts.contains(proof) {
            wrong.push(format!("{name}: no {proof:?} in {texts}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        CASES.len() + FURTHER.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_changed_byte_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
    write(&ours, 0, 0.2);
    write(&theirs, 0, 0.2);
    let roles = Roles::default();
    let temp = home.path().join("temp");
    let options = options_without_split(&roles, &temp);
    let paths = [
        "public/train.csv",
        "private/test.csv",
        "public/names.csv",
        "public/events.parquet",
        "public/meta.json",
        "public/rows.jsonl",
        "public/more.zip",
        "public/notes.txt",
    ];
    let mut state = 1_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for _ in 0..400 {
        let place = theirs.join(paths[random(paths.len())]);
        let good = fs::read(&place).unwrap();
        let mut bytes = good.clone();
        match random(3) {
            0 => bytes.truncate(random(good.len())),
            1 => bytes.insert(
                random(good.len()),
                [b'\"', b',', b'\n', b'\r', 0, 0xff, b'0'][random(7)],
            ),
            _ => {
                let at = random(good.len());
                bytes[at] ^= 1 << random(8);
            }
        }
        fs::write(&place, &bytes).unwrap();
        let compared = tree::compare(&theirs, &ours, &options).unwrap();
        assert!(
            bytes == good || !compared.findings.is_empty(),
            "{}: {:?}",
            place.display(),
            String::from_utf8_lossy(&bytes)
        );
        fs::write(&place, good).unwrap();
    }
}
