//! Tests of corrections for which the recorded cases are too small.
//! Each test creates a bundle for which `v1` has upstream's mistake, in its data or in grading, and `fixed` does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use prep_formats::limits::DecodingLimits;
use prep_formats::sevenz::{SevenZReader, SevenZWriter};
use prep_formats::zip::ZipDirectory;
use serde_json::{Value, json};

use crate::support::{Archive, CommandResult, Sandbox};

/// Prepares `v1` and `fixed` of a competition. Returns the sandbox and the prepared directories of `v1` and `fixed`.
fn both_of(id: &str, bundle: &[u8]) -> (Sandbox, [PathBuf; 2]) {
    let sandbox = Sandbox::new();
    sandbox.bundle(id, bundle);
    prepare(sandbox, id)
}

fn prepare(sandbox: Sandbox, id: &str) -> (Sandbox, [PathBuf; 2]) {
    for variant in ["v1", "fixed"] {
        let mut command = sandbox.run_command(&[id]);
        CommandResult::of(command.args(["--variant", variant])).code(0);
    }
    let fixed = sandbox.data().join("fixed").join(id).join("prepared");
    let places = [sandbox.prepared(id), fixed];
    (sandbox, places)
}

/// Returns the bundle of a recorded case.
fn recorded(id: &str, case: &str) -> Vec<u8> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    fs::read(tests.join(format!("cases/{id}/{case}/raw.zip"))).expect("a bundle")
}

/// Returns the text of the first member of a zip archive.
fn first_zip_member(path: &Path) -> String {
    let archive = fs::read(path).expect("an archive");
    let end = archive.len() as u64;
    let listing =
        ZipDirectory::read(&archive, 0..end, &DecodingLimits::default().budget(end)).expect("zip");
    let members = listing.entries();
    let member = members.first().expect("a member");
    let mut text = String::new();
    let mut reader = member.open(&archive).expect("a member");
    reader.read_to_string(&mut text).expect("content");
    text
}

/// Returns the content of the files in a 7z archive.
fn seven_z_content(path: &Path) -> Vec<u8> {
    let archive = Cursor::new(fs::read(path).expect("an archive"));
    let mut found = Vec::new();
    let budget = DecodingLimits::default().budget(1 << 30);
    let archive = SevenZReader::open(archive, &budget).expect("7z");
    let read = archive.read(&mut |member, content| {
        if !member.is_directory {
            content.read_to_end(&mut found)?;
        }
        Ok(())
    });
    read.expect("7z");
    found
}

fn seven_z_archive(name: &str, content: &[u8]) -> Vec<u8> {
    let mut archive = SevenZWriter::new(Cursor::new(Vec::new()), 1);
    archive.add_file(name, content).expect("7z");
    archive.finish().expect("7z").into_inner()
}

fn rows(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let lines = text.lines().skip(1);
    let cells = |line: &str| line.split(delimiter).map(str::to_owned).collect();
    lines.map(cells).collect()
}

#[test]
fn fixed_keeps_phrases_of_a_sentence_in_one_part() {
    let mut phrases = "PhraseId\tSentenceId\tPhrase\tSentiment\n".to_owned();
    for phrase in 0..600 {
        let sentence = phrase / 10;
        writeln!(
            phrases,
            "{phrase}\t{sentence}\tword {phrase}\t{}",
            sentence % 5
        )
        .expect("text");
    }
    let inner = |name: &str, text: &str| Archive::new().file(name, text).bytes();
    let own = "PhraseId\tSentenceId\tPhrase\n900\t90\tword\n";
    let bundle = Archive::new()
        .file("sampleSubmission.csv", "PhraseId,Sentiment\n900,2\n")
        .file("test.tsv.zip", inner("test.tsv", own))
        .file("train.tsv.zip", inner("train.tsv", &phrases))
        .bytes();
    let id = "movie-review-sentiment-analysis-kernels-only";
    let (_sandbox, places) = both_of(id, &bundle);
    let [before, after] = places.map(|prepared| {
        let sentences = |name: &str| -> Vec<String> {
            let text = first_zip_member(&prepared.join(format!("public/{name}.zip")));
            let delimiter = if text.contains('\t') { '\t' } else { ',' };
            rows(&text, delimiter)
                .into_iter()
                .map(|row| row[1].clone())
                .collect()
        };
        let train_sentences: BTreeSet<String> = sentences("train.tsv").into_iter().collect();
        let test_sentences = sentences("test.tsv");
        assert!(test_sentences.len() > 100, "{}", test_sentences.len());
        test_sentences
            .iter()
            .filter(|sentence| train_sentences.contains(*sentence))
            .count()
    });
    assert!(
        before > 150,
        "{before} of the test phrases have their sentence in train"
    );
    assert_eq!(after, 0);
}

#[test]
fn fixed_keeps_images_of_an_angle_in_one_part() {
    let images: Vec<Value> = (0..200)
        .map(|number| {
            let angle = match number % 50 {
                0 => json!("na"),
                angle => json!(30.0 + f64::from(angle) / 7.0),
            };
            json!({
                "id": format!("i{number}"), "band_1": [number], "band_2": [-number], "inc_angle": angle,
                "is_iceberg": number % 2,
            })
        })
        .collect();
    let own = json!([{ "id": "x", "band_1": [0], "band_2": [0], "inc_angle": 31.5 }]);
    let json = |name: &str, list: Value| {
        seven_z_archive(
            &format!("data/processed/{name}"),
            list.to_string().as_bytes(),
        )
    };
    let bundle = Archive::new()
        .file("train.json.7z", json("train.json", images.into()))
        .file("test.json.7z", json("test.json", own))
        .file(
            "sample_submission.csv.7z",
            seven_z_archive("sample_submission.csv", b"id,is_iceberg\nx,0.5\n"),
        )
        .bytes();
    let (_sandbox, places) = both_of("statoil-iceberg-classifier-challenge", &bundle);
    let [before, after] = places.map(|prepared| {
        let angles = |name: &str| -> Vec<String> {
            let text = seven_z_content(&prepared.join("public").join(name));
            let images: Vec<Value> = serde_json::from_slice(&text).expect("a list");
            let angles = images.iter().map(|image| image["inc_angle"].to_string());
            angles.filter(|angle| angle != "\"na\"").collect()
        };
        let train_angles: BTreeSet<String> = angles("train.json.7z").into_iter().collect();
        let test_angles = angles("test.json.7z");
        assert!(test_angles.len() > 20, "{}", test_angles.len());
        test_angles
            .iter()
            .filter(|angle| train_angles.contains(*angle))
            .count()
    });
    assert!(
        before > 20,
        "{before} of the test images have their angle in train"
    );
    assert_eq!(after, 0);
}

const FRAME: usize = 2;

/// Returns a file in NumPy's format.
fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

#[test]
fn fixed_keeps_windows_of_a_recording_in_one_part() {
    const COUNT: usize = 40_000;
    let frames: Vec<[f32; FRAME]> = (0..COUNT + 10)
        .map(|number| [number as f32, (number * 7919 % 1009) as f32])
        .collect();
    let windows = |range: std::ops::Range<usize>| -> Vec<u8> {
        let windows = range.filter_map(|begin| frames.get(begin..begin + 11));
        let numbers = windows.flatten().flatten();
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    };
    let labels: Vec<u8> = (0..COUNT)
        .flat_map(|number| u32::from(b'0' + (number / 900 % 10) as u8).to_le_bytes())
        .collect();
    let (width, tenth) = (11 * FRAME, COUNT / 10);
    let directory = "timit_11/timit_11";
    let train = array("<f4", &format!("{COUNT}, {width}"), &windows(0..COUNT));
    let own = array("<f4", &format!("{tenth}, {width}"), &windows(0..tenth));
    let bundle = Archive::new()
        .file("sampleSubmission.csv", "Id,ClassId\n0,0\n")
        .file(&format!("{directory}/train_11.npy"), train)
        .file(
            &format!("{directory}/train_label_11.npy"),
            array("<U1", &format!("{COUNT},"), &labels),
        )
        .file(&format!("{directory}/test_11.npy"), own)
        .bytes();
    let (_sandbox, places) = both_of("ml2021spring-hw2", &bundle);
    let [before, after] = places.map(|prepared| {
        // Identifies a window by its first frame.
        let firsts = |name: &str| -> BTreeSet<u32> {
            let file =
                fs::read(prepared.join("public").join(directory).join(name)).expect("an array");
            let header = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
            let windows = file[header..].chunks_exact(4 * width);
            windows
                .map(|row| f32::from_le_bytes([row[0], row[1], row[2], row[3]]) as u32)
                .collect()
        };
        let (train_firsts, test_firsts) = (firsts("train_11.npy"), firsts("test_11.npy"));
        assert!(test_firsts.len() > 3000, "{}", test_firsts.len());
        let has_neighbour = |first: &&u32| {
            train_firsts.contains(&(*first + 1)) || train_firsts.contains(&first.wrapping_sub(1))
        };
        test_firsts.iter().filter(has_neighbour).count() as f64 / test_firsts.len() as f64
    });
    // Fraction of test windows that share ten of their eleven frames with a window of train.
    // This is nearly every window in `v1`, but only windows at the ends of blocks in `fixed`.
    assert!(before > 0.95, "{before}");
    assert!(after < 0.06, "{after}");
}

fn score(sandbox: &Sandbox, id: &str, variant: &str, submission: &str) -> Option<f64> {
    let path = sandbox.write("submission.csv", submission);
    let path = path.to_str().expect("a path");
    let arguments = [
        "grade",
        id,
        path,
        "--variant",
        variant,
        "--no-log",
        "--json",
    ];
    let ended = sandbox.prep(&arguments);
    ended.competition()["score"].as_f64()
}

#[test]
fn fixed_pairs_rows_by_id_in_grading() {
    let id = "nomad2018-predict-transparent-conductors";
    let (sandbox, [v1, _]) = both_of(id, &recorded(id, "seed0"));
    let answers = fs::read_to_string(v1.join("private/test.csv")).expect("answers");
    let header: Vec<&str> = answers
        .lines()
        .next()
        .expect("a header")
        .split(',')
        .collect();
    let wanted = ["id", "formation_energy_ev_natom", "bandgap_energy_ev"];
    let places = wanted.map(|name| {
        header
            .iter()
            .position(|one| *one == name)
            .expect("a column")
    });
    let lines: Vec<String> = rows(&answers, ',')
        .iter()
        .map(|row| places.map(|place| row[place].as_str()).join(","))
        .collect();
    assert!(lines.len() > 1);
    let submission = |lines: &[String]| format!("{}\n{}\n", wanted.join(","), lines.join("\n"));
    let reversed: Vec<String> = lines.iter().rev().cloned().collect();
    let scores = |variant| {
        [&lines, &reversed]
            .map(|lines| score(&sandbox, id, variant, &submission(lines)).expect("a score"))
    };
    // The correct answers in another order: wrong if grading pairs rows by position, right if grading pairs rows by id.
    let [right, wrong] = scores("v1");
    assert!(right.abs() < 1e-9 && wrong > 1e-3, "{right} {wrong}");
    assert!(scores("fixed").iter().all(|score| score.abs() < 1e-9));
}

#[test]
fn fixed_rejects_submissions_with_unknown_keys() {
    let id = "new-york-city-taxi-fare-prediction";
    let (sandbox, [v1, _]) = both_of(id, &recorded(id, "hard0"));
    let sample = v1.join("public/sample_submission.csv");
    let sample = fs::read_to_string(sample).expect("a sample");
    let made_up: String = sample
        .lines()
        .enumerate()
        .map(|(number, line)| match number {
            0 => format!("{line}\n"),
            _ => format!("made up {number:06},11.35\n"),
        })
        .collect();
    for (variant, expected) in [("v1", [true, true]), ("fixed", [true, false])] {
        let graded = [&sample, &made_up].map(|text| score(&sandbox, id, variant, text).is_some());
        assert_eq!(graded, expected, "{variant}");
    }
}

#[test]
fn fixed_publishes_the_sample_submission() {
    let id = "billion-word-imputation";
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../pipelines")
        .join(id);
    let text = fs::read_to_string(directory.join("pipeline.yaml")).expect("a pipeline");
    // Uses fewer sentences than the real data set has.
    assert_eq!(text.matches("30301028").count(), 2);
    let sandbox = Sandbox::new();
    sandbox.pipeline(id, &text.replace("30301028", "3000"));
    let leaderboard = fs::read(directory.join("leaderboard.csv")).expect("a leaderboard");
    sandbox.write(&format!("pipelines/{id}/leaderboard.csv"), leaderboard);
    let sentences: String = (0..3000)
        .map(|number| format!("This is sentence number {number} .\n"))
        .collect();
    let inner = |name: &str, text: &str| Archive::new().file(name, text).bytes();
    let bundle = Archive::new()
        .file("train_v2.txt.zip", inner("train_v2.txt", &sentences))
        .file(
            "test_v2.txt.zip",
            inner("test_v2.txt", "\"id\",\"sentence\"\n1,\"a b\"\n"),
        )
        .bytes();
    sandbox.bundle(id, &bundle);
    let (sandbox, [v1, fixed]) = prepare(sandbox, id);
    let sample =
        |prepared: &Path| fs::read_to_string(prepared.join("public/sample_submission.csv"));
    assert!(sample(&v1).is_err());
    let sample = sample(&fixed).expect("a sample");
    assert!(!fixed.join("private/sample_submission.csv").exists());
    // The sample has the rows of the test part, and grading accepts the sample.
    let sample_rows: BTreeMap<String, String> = rows(&sample, ',')
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let shown = first_zip_member(&fixed.join("public/test_v2.txt.zip"));
    assert_eq!(sample_rows.len(), shown.lines().count() - 1);
    assert!(score(&sandbox, id, "fixed", &sample).is_some_and(|score| score > 0.0));
}
