//! Tests of the variant `fixed`: outputs that no correction changes are equal to those of `v1`.
//! Each known mistake of upstream is present in `v1` and absent in `fixed`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{CommandResult, Harbour, Sandbox, Snapshot, zip_members};

/// A correction of the sample pipeline: a different constant in the sample submission, an additional file, and a
/// removed file.
const CORRECTED: &str = "
variants:
  fixed:
    47:
      public:
        sample_submission.csv: SELECT id, 1 AS docked FROM test
    ships:
      public:
        ships.csv: SELECT id FROM labelled
        test.csv: null
";

fn run(sandbox: &Sandbox, ids: &[&str], variant: &str) {
    let mut command = sandbox.run_command(ids);
    CommandResult::of(command.args(["--variant", variant])).code(0);
}

fn fixed(sandbox: &Sandbox, id: &str) -> PathBuf {
    sandbox.data().join("fixed").join(id).join("prepared")
}

#[test]
fn fixed_is_prepared_next_to_v1_with_its_corrections() {
    let sandbox = Harbour::prepared();
    let alone = sandbox.tree(Harbour::ID);
    let pipeline = format!("{}{CORRECTED}", Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &pipeline);
    run(&sandbox, &[Harbour::ID], "fixed");
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1, fixed");
    let corrected = Snapshot::of(&fixed(&sandbox, Harbour::ID));
    assert_eq!(sandbox.tree(Harbour::ID).contents(), alone.contents());
    let (base, found) = (alone.contents(), corrected.contents());
    let paths: BTreeSet<&str> = base.keys().chain(found.keys()).copied().collect();
    let differing: Vec<&str> = paths
        .into_iter()
        .filter(|path| base.get(path) != found.get(path))
        .collect();
    assert_eq!(
        differing,
        [
            "public/description.md",
            "public/sample_submission.csv",
            "public/ships.csv",
            "public/test.csv",
        ]
    );
    // Each variant has its own directory, and the report names the variant.
    let grade = |arguments: &[&str]| {
        sandbox
            .prep(&[arguments, &["--json"]].concat())
            .competition()
    };
    let sample = "data/harbour/prepared/public/sample_submission.csv";
    let report = grade(&["grade", Harbour::ID, sample]);
    assert_eq!(report["variant"], "own");
    let base = report["digests"].clone();
    let report = grade(&["grade", Harbour::ID, sample, "--variant", "fixed"]);
    // The variant is `own`, because the pipeline does not belong to the benchmark.
    assert_eq!(report["variant"], "own");
    assert_eq!(report["comparable_with_v1"], false);
    assert_ne!(report["digests"], base);
    // The directory of a variant is also a valid data directory.
    let there = ["grade", Harbour::ID, sample, "--data-dir", "data/fixed"];
    assert_eq!(grade(&there)["digests"], report["digests"]);
    // Preparing `v1` does not change the data of `fixed`.
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(
        Snapshot::of(&fixed(&sandbox, Harbour::ID)).contents(),
        found
    );
}

/// `prep list` names the variant whose files changed.
#[test]
fn a_changed_variant_is_named() {
    let sandbox = Harbour::prepared();
    let pipeline = format!("{}{CORRECTED}", Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &pipeline);
    run(&sandbox, &[Harbour::ID], "fixed:47");
    let list = ["list", "-c", Harbour::ID, "--json"];
    let changed = sandbox.data().join("fixed-47").join(Harbour::ID);
    let change = |file: PathBuf| {
        // The file may be a hard link to a file of the other variant.
        fs::remove_file(&file).expect("a file");
        fs::write(file, "id\n").expect("a file");
    };
    change(changed.join("prepared/public/train.csv"));
    let row = sandbox.prep(&list).code(0).competition();
    assert_eq!(row["variant"], "fixed:47", "{row}");
    let reason = row["reasons"][0]["message"].as_str().expect("a reason");
    assert!(reason.starts_with("fixed:47: "), "{row}");
    fs::write(
        sandbox.prepared(Harbour::ID).join("public/train.csv"),
        "id\n",
    )
    .expect("a file");
    let row = sandbox.prep(&list).code(0).competition();
    assert_eq!(row["variant"], "v1", "{row}");
    let [base, other] = [0, 1].map(|at| row["reasons"][at]["message"].as_str().expect("a reason"));
    assert_eq!(other, format!("fixed:47: {base}"));
}

/// A variant with one correction has its own directory. Outputs that the correction does not change are equal to `v1`.
#[test]
fn single_correction_is_a_variant() {
    let sandbox = Harbour::prepared();
    let pipeline = format!("{}{CORRECTED}", Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &pipeline);
    run(&sandbox, &[Harbour::ID], "fixed:#47");
    let state = sandbox.state(Harbour::ID);
    assert_eq!(state, "prepared v1, fixed:47");
    let base = sandbox.tree(Harbour::ID);
    let directory = |name: &str| sandbox.data().join(name).join(Harbour::ID).join("prepared");
    let alone = Snapshot::of(&directory("fixed-47"));
    let (base, alone) = (base.contents(), alone.contents());
    let paths: BTreeSet<&str> = base.keys().chain(alone.keys()).copied().collect();
    let differing: Vec<&str> = paths
        .into_iter()
        .filter(|path| base.get(path) != alone.get(path))
        .collect();
    assert_eq!(
        differing,
        ["public/description.md", "public/sample_submission.csv"]
    );
    run(&sandbox, &[Harbour::ID], "fixed:ships,47");
    run(&sandbox, &[Harbour::ID], "fixed");
    assert_eq!(
        Snapshot::of(&directory("fixed-47-ships")).contents(),
        Snapshot::of(&directory("fixed")).contents()
    );
    let digest = |variant: &str| {
        let found = sandbox.prep(&["digest", Harbour::ID, "--variant", variant, "--json"]);
        found.competition()["public"].clone()
    };
    assert_ne!(digest("fixed:47"), digest("v1"));
    assert_ne!(digest("fixed:47"), digest("fixed"));
    // A misspelled correction is an error, because preparing `v1` under a wrong name would go unnoticed.
    let refused = |variant: &str, code| {
        let mut command = sandbox.run_command(&[Harbour::ID]);
        let ended = CommandResult::of(command.args(["--variant", variant])).code(code);
        ended.stderr
    };
    let message = refused("fixed:48", 2);
    assert!(
        message.contains("no competition has the correction `48`"),
        "{message}"
    );
    assert!(
        message.contains("47, 63") || message.contains("ships"),
        "{message}"
    );
    refused("fixed:a-b", 2);
    sandbox.prep(&["remove", Harbour::ID, "--yes"]).code(0);
    assert!(!directory("fixed-47").exists());
}

/// A mistake of upstream, and a function that counts how often it occurs in a prepared directory.
struct Mistake {
    id: &'static str,
    count: fn(&World, &Path) -> usize,
}

struct World {
    bundle: PathBuf,
}

const MISTAKES: &[Mistake] = &[
    // The test set has labels besides the twelve of the competition.
    Mistake {
        id: "tensorflow-speech-recognition-challenge",
        count: |_, prepared| {
            let known = [
                "yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go", "silence",
                "unknown",
            ];
            let labels = column(&prepared.join("private/test.csv"), "label");
            labels
                .iter()
                .filter(|one| !known.contains(&one.as_str()))
                .count()
        },
    },
    // The sample lacks labels of the original data.
    Mistake {
        id: "ranzcr-clip-catheter-line-classification",
        count: |_, prepared| {
            let sample = header(&prepared.join("public/sample_submission.csv"));
            let labels = ["CVC - Normal", "Swan Ganz Catheter Present"];
            labels
                .iter()
                .filter(|one| !sample.contains(&(**one).to_owned()))
                .count()
        },
    },
    // Patients are in both train and test.
    Mistake {
        id: "ranzcr-clip-catheter-line-classification",
        count: |_, prepared| {
            both(
                &column(&prepared.join("public/train.csv"), "PatientID"),
                &column(&prepared.join("private/test.csv"), "PatientID"),
            )
        },
    },
    // Molecules of the test set have no structure.
    Mistake {
        id: "champs-scalar-coupling",
        count: |_, prepared| {
            let known = column(&prepared.join("public/structures.csv"), "molecule_name");
            let known: BTreeSet<String> = known.into_iter().collect();
            let test_molecules = column(&prepared.join("public/test.csv"), "molecule_name");
            let file = |name: &String| prepared.join(format!("public/structures/{name}.xyz"));
            test_molecules
                .iter()
                .filter(|name| !known.contains(*name) || !file(name).is_file())
                .count()
        },
    },
    // The test set contains logs of the reference receiver.
    Mistake {
        id: "smartphone-decimeter-2022",
        count: |_, prepared| named(&prepared.join("public/test"), "span_log.nmea"),
    },
    // The outlines of test images are public.
    Mistake {
        id: "hubmap-kidney-segmentation",
        count: |_, prepared| {
            let ids = column(&prepared.join("public/sample_submission.csv"), "id");
            let outline = |id: &&String| prepared.join(format!("public/test/{id}.json")).is_file();
            ids.iter().filter(outline).count()
        },
    },
    // The files of the test videos contain labels.
    Mistake {
        id: "multi-modal-gesture-recognition",
        count: |_, prepared| labelled_videos(&prepared.join("public/test.tar.gz")),
    },
    // The names of the users who gave pizzas are public.
    Mistake {
        id: "random-acts-of-pizza",
        count: |_, prepared| {
            let files = ["public/train.json", "public/test.json"];
            let text = |file: &&str| fs::read_to_string(prepared.join(file)).expect("a file");
            let texts: Vec<String> = files.iter().map(text).collect();
            texts
                .iter()
                .map(|text| text.matches("giver_username").count())
                .sum()
        },
    },
    // The test set contains records of training images with their labels.
    Mistake {
        id: "siim-isic-melanoma-classification",
        count: |_, prepared| {
            let shards = Snapshot::of(&prepared.join("public/tfrecords"));
            shards
                .files()
                .filter(|path| path.starts_with("test"))
                .count()
        },
    },
    Mistake {
        id: "cassava-leaf-disease-classification",
        count: |_, prepared| match fs::read_dir(prepared.join("public/test_tfrecords")) {
            Ok(entries) => entries.count(),
            Err(_) => 0,
        },
    },
    // The sample submission is not public.
    Mistake {
        id: "invasive-species-monitoring",
        count: without_sample,
    },
    Mistake {
        id: "statoil-iceberg-classifier-challenge",
        count: without_sample,
    },
    Mistake {
        id: "text-normalization-challenge-english-language",
        count: without_sample,
    },
    Mistake {
        id: "text-normalization-challenge-russian-language",
        count: without_sample,
    },
    // The archives contain no photos.
    Mistake {
        id: "invasive-species-monitoring",
        count: |_, prepared| {
            let length = |name: &str| fs::metadata(prepared.join(name)).expect("an archive").len();
            let names = ["public/train.7z", "public/test.7z"];
            names.into_iter().filter(|name| length(name) < 400).count()
        },
    },
    // Travelling companions or patients are in both train and test.
    Mistake {
        id: "spaceship-titanic",
        count: |_, prepared| {
            let party = |path: &str| -> Vec<String> {
                let ids = column(&prepared.join(path), "PassengerId");
                let first = |id: &String| id.split('_').next().unwrap_or_default().to_owned();
                ids.iter().map(first).collect()
            };
            both(&party("public/train.csv"), &party("public/test.csv"))
        },
    },
    Mistake {
        id: "hms-harmful-brain-activity-classification",
        count: |_, prepared| {
            both(
                &column(&prepared.join("public/train.csv"), "patient_id"),
                &column(&prepared.join("public/test.csv"), "patient_id"),
            )
        },
    },
    // The clean versions of test pages are public.
    Mistake {
        id: "denoising-dirty-documents",
        count: clean_pages,
    },
];

/// Each mistake is present in `v1` and absent in `fixed`.
/// For two more competitions, the recorded cases are too small to show a mistake, so the test only prepares them.
#[test]
fn known_mistakes_are_present_in_v1_and_absent_in_fixed() {
    let sandbox = Sandbox::new();
    let mut ids: Vec<&str> = MISTAKES.iter().map(|one| one.id).collect();
    ids.extend([
        "ml2021spring-hw2",
        "movie-review-sentiment-analysis-kernels-only",
    ]);
    ids.sort_unstable();
    ids.dedup();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    for id in &ids {
        let planted = tests.join(format!("leaks/{id}.zip"));
        let bundle = match planted.is_file() {
            true => planted,
            false => tests.join(format!("cases/{id}/seed0/raw.zip")),
        };
        let target = sandbox.source().join(format!("{id}.zip"));
        std::os::unix::fs::symlink(bundle, target).expect("link");
    }
    for variant in ["v1", "fixed"] {
        run(&sandbox, &ids, variant);
    }
    let mut wrong = Vec::new();
    for mistake in MISTAKES {
        let world = World {
            bundle: sandbox.source().join(format!("{}.zip", mistake.id)),
        };
        let before = (mistake.count)(&world, &sandbox.prepared(mistake.id));
        let after = (mistake.count)(&world, &fixed(&sandbox, mistake.id));
        if before == 0 || after != 0 {
            wrong.push(format!("{}: {before} in v1, {after} in fixed", mistake.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In competitions with several corrections, each correction corrects only its own mistake.
/// The numbers are indices into the competition's mistakes in [`MISTAKES`].
#[test]
fn single_correction_leaves_other_mistakes() {
    let sandbox = Sandbox::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    for (id, correction, corrected, left) in [
        (
            "ranzcr-clip-catheter-line-classification",
            "30",
            Some(0),
            Some(1),
        ),
        (
            "ranzcr-clip-catheter-line-classification",
            "patients",
            Some(1),
            Some(0),
        ),
        ("invasive-species-monitoring", "47", Some(0), Some(1)),
        ("invasive-species-monitoring", "131", Some(1), Some(0)),
        // A check of the pipeline verifies that no speaker is in both train and test.
        (
            "tensorflow-speech-recognition-challenge",
            "63",
            Some(0),
            None,
        ),
        (
            "tensorflow-speech-recognition-challenge",
            "speakers",
            None,
            Some(0),
        ),
    ] {
        let bundle = tests.join(format!("cases/{id}/seed0/raw.zip"));
        let target = sandbox.source().join(format!("{id}.zip"));
        let _ = std::os::unix::fs::symlink(bundle, &target);
        let variant = format!("fixed:{correction}");
        run(&sandbox, &[id], &variant);
        let directory = format!("fixed-{correction}");
        let prepared = sandbox.data().join(directory).join(id).join("prepared");
        let world = World { bundle: target };
        let mistakes: Vec<&Mistake> = MISTAKES.iter().filter(|one| one.id == id).collect();
        let count = |place: usize| (mistakes[place].count)(&world, &prepared);
        assert_eq!(corrected.map_or(0, count), 0, "{id} {variant}");
        assert!(left.is_none_or(|place| count(place) > 0), "{id} {variant}");
    }
}

/// Mistakes outside of the data: upstream's validation cannot read its own answers, and labels of photos are public.
/// `writer.rs` tests Parquet files whose published checksums depend on the writer.
#[test]
fn mistakes_outside_the_data_are_reported() {
    let sandbox = Sandbox::new();
    let ids = ["tensorflow2-question-answering", "dog-breed-identification"];
    let [answers, dogs] = ids;
    for id in ids {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
        let bundle = tests.join(format!("cases/{id}/seed0/raw.zip"));
        let target = sandbox.source().join(format!("{id}.zip"));
        std::os::unix::fs::symlink(bundle, target).expect("link");
    }
    run(&sandbox, &ids, "v1");
    // Upstream cannot validate submissions here, because the answers are JSON lines. `prep` can.
    let sample = sandbox
        .prepared(answers)
        .join("public/sample_submission.csv");
    let sample = sample.to_str().expect("a path");
    sandbox.prep(&["validate", answers, sample]).code(0);
    let wrong = sandbox.write("wrong.csv", "id\n1\n");
    let wrong = wrong.to_str().expect("a path");
    sandbox.prep(&["validate", answers, wrong]).code(1);
    let report = sandbox
        .prep(&["leaks", dogs, "--json"])
        .code(0)
        .competition();
    let findings = report["findings"].as_array().expect("findings");
    let declared = |one: &&serde_json::Value| one["detector"] == "declared";
    let leak = findings.iter().find(declared).expect("the declared leak");
    assert!(leak["accepted"].to_string().contains("public"), "{leak}");
}

/// Returns 1 if the sample submission is not public, otherwise 0.
fn without_sample(_: &World, prepared: &Path) -> usize {
    usize::from(!prepared.join("public/sample_submission.csv").is_file())
}

/// Counts the videos in the archive whose `.mat` file contains labels.
fn labelled_videos(archive: &Path) -> usize {
    use prep_formats::archive::{Member, StoredForms};
    use std::io::Read;
    let mut count = 0;
    let file = fs::File::open(archive).expect("an archive");
    let mut each = |_: &Member<'_>, content: &mut dyn Read| {
        let mut video = Vec::new();
        content.read_to_end(&mut video)?;
        for (name, content) in zip_members(&video) {
            if name.ends_with(".mat") {
                let names = prep_formats::matlab::variable_paths(&content);
                let frames = names.iter().any(|name| name == "Video.Frames");
                assert!(frames, "{name} has lost its skeletons: {names:?}");
                count += usize::from(names.iter().any(|name| name == "Video.Labels"));
            }
        }
        Ok(())
    };
    let budget = prep_formats::limits::DecodingLimits::default().budget(1 << 30);
    prep_formats::tar::read(file, &budget, StoredForms::Skip, &mut each).expect("tar");
    count
}

/// Counts the test pages whose clean version, which is the answer, is also public.
fn clean_pages(world: &World, prepared: &Path) -> usize {
    let pages = unzipped(&world.bundle, "train_cleaned.zip");
    let test_pages = Snapshot::of(&prepared.join("public/test"));
    let public_clean = Snapshot::of(&prepared.join("public/train_cleaned"));
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let public_clean: BTreeSet<String> = public_clean.files().map(name).collect();
    let public: Vec<&Vec<u8>> = pages
        .iter()
        .filter(|(page, _)| public_clean.contains(*page))
        .map(|(_, content)| content)
        .collect();
    test_pages
        .files()
        .filter(|path| {
            pages
                .get(&name(path))
                .is_some_and(|page| public.contains(&page))
        })
        .count()
}

/// Returns the files of the archive `inner` in the bundle, by name.
fn unzipped(bundle: &Path, inner: &str) -> BTreeMap<String, Vec<u8>> {
    let whole = fs::read(bundle).expect("a bundle");
    let inner = zip_members(&whole).remove(inner).expect("an archive");
    let files = zip_members(&inner).into_iter();
    files
        .map(|(path, content)| {
            (
                path.rsplit('/').next().unwrap_or_default().to_owned(),
                content,
            )
        })
        .collect()
}

fn header(path: &Path) -> Vec<String> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = text.lines().next().unwrap_or_default();
    line.split(',').map(str::to_owned).collect()
}

/// Returns the cells of a column of a table without quotes.
fn column(path: &Path, name: &str) -> Vec<String> {
    let place = header(path)
        .iter()
        .position(|one| one == name)
        .expect("the column");
    let text = fs::read_to_string(path).expect("a table");
    text.lines()
        .skip(1)
        .map(|line| line.split(',').nth(place).unwrap_or_default().to_owned())
        .collect()
}

/// Counts the values of `second` that also occur in `first`.
fn both(first: &[String], second: &[String]) -> usize {
    let first: BTreeSet<&String> = first.iter().collect();
    second.iter().filter(|one| first.contains(one)).count()
}

fn named(directory: &Path, name: &str) -> usize {
    let tree = Snapshot::of(directory);
    tree.files()
        .filter(|path| path.rsplit('/').next() == Some(name))
        .count()
}

/// The report page shows all prepared variants, or the variant that `--variant` names.
#[test]
fn report_page_shows_all_variants_or_one() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let pipeline = format!("{}{CORRECTED}", Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &pipeline);
    run(&sandbox, &[Harbour::ID], "fixed");
    let both = ["report", "--variant", "fixed", "-o", "r.html"];
    let page = |arguments: &[&str]| {
        let ended = sandbox.prep(arguments).code(0);
        let page = fs::read_to_string(sandbox.path("r.html")).unwrap();
        (page, ended.stderr)
    };
    let (fixed, stderr) = page(&both);
    assert!(
        fixed.contains("public/ships.csv") && fixed.contains("prepared"),
        "{fixed}"
    );
    assert_eq!(stderr, "");
    run(&sandbox, &[Harbour::ID], "v1");
    for (arguments, has_fixed) in [
        (&["report", "-o", "r.html"][..], true),
        (&["report", "harbour", "-o", "r.html"], true),
        (&["report", "--variant", "v1", "-o", "r.html"], false),
    ] {
        let (base, stderr) = page(arguments);
        assert_eq!(base.contains("public/ships.csv"), has_fixed, "{base}");
        assert_eq!(stderr, "");
    }
}
