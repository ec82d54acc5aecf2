//! Tests of drafts, the pipelines that `prep pipeline new` writes. The draft for each recorded bundle loads and runs.

use std::fs;
use std::path::Path;

use crate::support::{Archive, CommandResult, Harbour, Sandbox};

#[test]
fn drafts_of_all_recorded_bundles_load_and_run() {
    let sandbox = Sandbox::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let mut ids = Vec::new();
    for directory in fs::read_dir(root).unwrap() {
        let directory = directory.unwrap().path();
        let bundle = directory.join("seed0/raw.zip");
        if bundle.is_file() {
            let id = directory
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned();
            let link = sandbox.source().join(format!("{id}.zip"));
            std::os::unix::fs::symlink(bundle, link).unwrap();
            ids.push(id);
        }
    }
    assert!(ids.len() > 12, "{ids:?}");
    ids.sort();
    for id in &ids {
        sandbox
            .prep(&[
                "pipeline",
                "new",
                id,
                "--source",
                "source",
                "--output",
                "drafts",
                "--no-download",
            ])
            .code(0);
    }
    let files: Vec<String> = ids
        .iter()
        .map(|id| format!("drafts/{id}/pipeline.yaml"))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    sandbox
        .prep(&[&["pipeline", "check"], &files[..]].concat())
        .code(0);
    let mut arguments = vec![
        "run",
        "--json",
        "--source",
        "source",
        "--pipelines",
        "drafts",
        "--no-download",
        "--skip-verification",
    ];
    for id in &ids {
        arguments.extend(["-c", id]);
    }
    let ended = sandbox.prep(&arguments);
    let text =
        |id: &str| fs::read_to_string(sandbox.path(&format!("drafts/{id}/pipeline.yaml"))).unwrap();
    let mut wrong = Vec::new();
    for one in ended.json()["competitions"].as_array().unwrap() {
        if one["state"] != "prepared" {
            let id = one["id"].as_str().unwrap();
            wrong.push(format!("{id}: {}\n{}", one["failures"], text(id)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}\n{}",
        wrong.len(),
        ids.len(),
        wrong.join("\n")
    );
}

#[test]
fn draft_describes_the_bundle() {
    let sandbox = Sandbox::new();
    let rows: String = (0..50)
        .map(|at| format!("s{at:02},{}.5,{}\n", at * 7 % 30, at % 2))
        .collect();
    let mut archive = Archive::new()
        .file("suitcases.csv", format!("id,Weight,found\n{rows}"))
        .file("test.csv", "id,Weight\nx1,2.5\n")
        .file("sample_submission.csv", "id,found\nx1,0.5\n");
    for at in 0..50 {
        archive = archive.file(&format!("photos/s{at:02}.jpg"), format!("photo {at}"));
    }
    sandbox.bundle("lost-luggage", &archive.bytes());
    sandbox
        .prep(&[
            "pipeline",
            "new",
            "lost-luggage",
            "--source",
            "source",
            "--output",
            "pipelines",
        ])
        .code(0);
    let text = fs::read_to_string(sandbox.path("pipelines/lost-luggage/pipeline.yaml")).unwrap();
    for part in [
        "name: Lost Luggage",
        "Weight: number",
        "found: integer",
        "photos: { files: photos/*.jpg } # 50 files",
        "SELECT * EXCLUDE (found) FROM test",
        "SELECT f.file FROM train t JOIN photos f ON f.stem = t.id",
        "metric: { roc_auc: found }",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    sandbox.run_and_count_steps("lost-luggage");
    let photos = fs::read_dir(sandbox.prepared("lost-luggage").join("public/photos/test")).unwrap();
    assert_eq!(photos.count(), 5);
    sandbox
        .prep(&[
            "pipeline",
            "new",
            "lost-luggage",
            "--source",
            "source",
            "--output",
            "pipelines",
        ])
        .code(2);
    sandbox
        .prep(&["pipeline", "new", "../evil", "--source", "source"])
        .code(2);
}

#[test]
fn tables_with_other_delimiters_are_prepared_and_graded() {
    let sandbox = Sandbox::new();
    for (id, delimiter, written) in [
        ("semicolons", ";", "delimiter: \";\""),
        ("tabs", "\t", "delimiter: tab"),
        ("bars", "|", "delimiter: \"|\""),
        ("commas", ",", ""),
    ] {
        let rows: String = (0..50)
            .map(|at| format!("s{at:02},\"a;b\t|, {at}\",{}\n", at % 2).replace(',', "\0"))
            .map(|row| row.replace("|\0 ", "|, ").replace('\0', delimiter))
            .collect();
        let header = ["id", "note", "found"].join(delimiter);
        let sample = ["id", "found"].join(delimiter);
        let archive = Archive::new()
            .file("train.csv", format!("{header}\n{rows}"))
            .file(
                "sample_submission.csv",
                format!("{sample}\nx1{delimiter}0.5\n"),
            );
        sandbox.bundle(id, &archive.bytes());
        let new = [
            "pipeline",
            "new",
            id,
            "--source",
            "source",
            "--output",
            "pipelines",
        ];
        sandbox.prep(&new).code(0);
        let path = format!("pipelines/{id}/pipeline.yaml");
        let text = fs::read_to_string(sandbox.path(&path)).unwrap();
        assert!(text.contains(written), "{text}");
        assert_eq!(text.contains("delimiter"), !written.is_empty(), "{text}");
        sandbox.prep(&["pipeline", "check", &path]).code(0);
        sandbox.run_and_count_steps(id);
        let train = sandbox.prepared(id).join("public/train.csv");
        let train = fs::read_to_string(train).unwrap();
        assert!(train.starts_with("id,note,found\ns"), "{train}");
        assert!(train.contains(",\"a;b\t|, "), "{train}");

        let sample = sandbox.prepared(id).join("public/sample_submission.csv");
        let sample = sample.to_str().unwrap();
        sandbox.prep(&["validate", id, sample]).code(0);
        let graded = sandbox.prep(&["grade", id, sample, "--json"]).code(0);
        let report = graded.stderr_has(&["has no leaderboard.csv"]).competition();
        assert_eq!(report["score"], 0.5);
        assert!(report["gold_threshold"].is_null() && report["is_lower_better"] == false);
        assert_eq!(report["any_medal"], false);
        sandbox.prep(&["grade", id, "--score", "0.5"]).code(3);
    }
}

/// The target is the column that the test table lacks. This does not depend on the position of the column in the sample
/// submission, and a sample is not needed.
#[test]
fn draft_predicts_the_column_missing_in_the_test_table() {
    let rows: String = (0..30)
        .map(|at| format!("{},d{at},text {at}\n", at % 2))
        .collect();
    let archive = || {
        Archive::new()
            .file("train.csv", format!("Insult,Date,Comment\n{rows}"))
            .file("test.csv", "Date,Comment\nd99,a\n")
    };
    let sample = archive().file(
        "sample_submission_null.csv",
        "Insult,Date,Comment\n0,d99,a\n",
    );
    let sandbox = Sandbox::new();
    for (id, archive) in [("with-sample", sample), ("without", archive())] {
        sandbox.bundle(id, &archive.bytes());
        sandbox
            .prep(&[
                "pipeline",
                "new",
                id,
                "--source",
                "source",
                "--output",
                "pipelines",
            ])
            .code(0);
        let text =
            fs::read_to_string(sandbox.path(&format!("pipelines/{id}/pipeline.yaml"))).unwrap();
        for part in [
            "SELECT * EXCLUDE (\"Insult\") FROM test",
            "align: Date",
            "roc_auc: Insult",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        sandbox.run_and_count_steps(id);
    }
}

#[test]
fn metric_fits_the_target_of_a_draft() {
    let rows: String = (0..60)
        .map(|at| {
            format!(
                "s{at:02},2024-{:02}-03,{},{},{}\n",
                1 + at % 12,
                at * 7 % 30,
                ["cat", "dog"][at % 2],
                at % 3 % 2
            )
        })
        .collect();
    let sandbox = Sandbox::new();
    let table = format!("id,day,weight,kind,late\n{rows}");
    sandbox.bundle("yard", &Archive::new().file("train.csv", table).bytes());
    for (target, metric, refusal) in [
        ("kind", "accuracy", ""),
        ("late", "f1", ""),
        ("late", "log_loss", ""),
        ("weight", "root_mean_squared_error", ""),
        ("kind", "log_loss", ""),
        ("kind", "average_precision", ""),
        (
            "kind",
            "root_mean_squared_error",
            "metrics for this target are, for example, accuracy, f1,",
        ),
    ] {
        let directory = format!("drafts/{target}-{metric}");
        let new = [
            "pipeline", "new", "yard", "--source", "source", "--target", target,
        ];
        let new = [&new[..], &["--metric", metric, "--output", &directory]].concat();
        let ended = sandbox.prep(&new);
        if !refusal.is_empty() {
            ended.code(2).stderr_has(&[refusal]);
            continue;
        }
        ended.code(0);
        let text = fs::read_to_string(sandbox.path(&format!("{directory}/yard/pipeline.yaml")));
        let text = text.expect("a draft");
        let cut = "use { split: labelled, method: cut, by: day, from: 2024-11-03 }.";
        assert!(
            text.contains(" It loads and runs. ") && text.contains(cut),
            "{text}"
        );
        let run = [
            "run",
            "yard",
            "--source",
            "source",
            "--pipelines",
            &directory,
        ];
        sandbox.prep(&run).code(0);
    }
}

#[test]
fn mistakes_have_file_line_and_column() {
    let sandbox = Sandbox::new();
    let wrong = Harbour::PIPELINE.replace("EXCLUDE (docked)", "EXCLUDE (doked)");
    sandbox.write("a/pipeline.yaml", wrong);
    sandbox.write("b/pipeline.yaml", Harbour::PIPELINE);
    sandbox
        .prep(&["pipeline", "check", "b/pipeline.yaml"])
        .code(0);
    sandbox
        .prep(&["pipeline", "check", "a/pipeline.yaml", "b/pipeline.yaml"])
        .code(3)
        .stdout_has(&["a/pipeline.yaml:11:", "error: there is no column `doked`"]);
    let found = sandbox
        .prep(&["pipeline", "check", "--json", "a/pipeline.yaml"])
        .code(3)
        .json()["mistakes"][0]
        .clone();
    assert_eq!(
        (&found["place"]["line"], &found["kind"]),
        (&11.into(), &"query".into())
    );
    sandbox
        .prep(&["pipeline", "check", "c/pipeline.yaml"])
        .code(4)
        .stdout_has(&["c/pipeline.yaml: error: cannot read the pipeline"]);
}

#[test]
fn drafts_of_bundles_with_only_tables_do_not_count_files() {
    let sandbox = Sandbox::new();
    let bundle = Archive::new()
        .file("train.csv", "label\n0\n1\n")
        .file("test.csv", "label\n0\n1\n");
    sandbox.bundle("one-column", &bundle.bytes());
    let arguments = [
        "pipeline",
        "new",
        "one-column",
        "--source",
        "source",
        "--output",
        "drafts",
    ];
    sandbox.prep(&arguments).code(0);
    let text = fs::read_to_string(sandbox.path("drafts/one-column/pipeline.yaml")).unwrap();
    assert!(
        text.contains("everything: { files: \"**\" } # all files of the bundle"),
        "{text}"
    );
}

/// Numbers with leading zeros are text, so that they match files of the same name.
#[test]
fn ids_with_leading_zeros_are_text_and_match_files() {
    let sandbox = Sandbox::new();
    let new = |id: &str| {
        let arguments = [
            "pipeline",
            "new",
            id,
            "--source",
            "source",
            "--output",
            "pipelines",
        ];
        sandbox.prep(&arguments).code(0);
        fs::read_to_string(sandbox.path(&format!("pipelines/{id}/pipeline.yaml"))).unwrap()
    };
    let bundle = |without: usize| {
        let rows: String = (0..60).map(|at| format!("{at:04},{}\n", at % 10)).collect();
        let mut archive = Archive::new().file("labels.csv", format!("image_id,digit\n{rows}"));
        for at in (0..60).filter(|at| *at >= without) {
            archive = archive.file(&format!("images/{at:04}.png"), format!("image {at}"));
        }
        archive.bytes()
    };
    sandbox.bundle("digits", &bundle(0));
    let text = new("digits");
    for part in [
        "image_id: text",
        "digit: integer",
        "f.stem = t.image_id",
        "\n  each: labelled.image_id in images.stem",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    sandbox.run_and_count_steps("digits");
    let public = sandbox.prepared("digits").join("public");
    let count = |directory: &str| fs::read_dir(public.join(directory)).unwrap().count();
    assert_eq!(count("images/train") + count("images/test"), 60);
    let test = fs::read_to_string(public.join("test.csv")).unwrap();
    let ids: Vec<&str> = test.lines().skip(1).collect();
    assert!(ids.iter().all(|id| id.len() == 4), "{test}");

    // The draft's check is active, so it fails if a later bundle lacks a file.
    sandbox.bundle("digits", &bundle(1));
    let mut command = sandbox.run_command(&["digits"]);
    CommandResult::of(&mut command)
        .code(5)
        .stderr_has(&["check `each`", "0000"]);
    // If the bundle lacks files, the draft contains the check only as a comment, so the pipeline runs.
    sandbox.bundle("gaps", &bundle(2));
    let text = new("gaps");
    assert!(
        text.contains("2 rows of labelled without a file in images"),
        "{text}"
    );
    sandbox.run_and_count_steps("gaps");
}

/// `prep` writes no draft if the bundle has nothing to split, because such a draft would not run.
#[test]
fn bundle_with_nothing_to_split_gets_no_draft() {
    let sandbox = Sandbox::new();
    for (name, content, help) in [
        (
            "reviews.json",
            "[{\"id\": 1}, {\"id\": 2}]",
            "reviews.json has 2 rows and 1 column",
        ),
        ("reviews.parquet", "PAR1", "write the pipeline by hand"),
        (
            "train.csv",
            "label\n0\n1\n",
            "train.csv has 2 rows and 1 column",
        ),
        (
            "train.csv",
            "a,b\n0,1\n0,1,2\n",
            "train.csv cannot be read as a table: row 2",
        ),
    ] {
        sandbox.bundle("reviews", &Archive::new().file(name, content).bytes());
        let arguments = [
            "pipeline", "new", "reviews", "--source", "source", "--output", "drafts",
        ];
        sandbox
            .prep(&arguments)
            .code(4)
            .stderr_has(&["no table with rows to split", help]);
        assert!(!sandbox.path("drafts").exists(), "{name}");
    }
}

/// Identifiers and labels may be inside JSON values, and labels may be lists.
#[test]
fn members_of_records_are_columns_of_a_draft() {
    let sandbox = Sandbox::new();
    let record = |at: usize| {
        let topic = ["law", "art", "tea"][at % 3];
        format!(
            "{{\"doc\": {{\"id\": \"d{at:03}\", \"text\": \"words {at}\"}}, \"topics\": [\"{topic}\"]}}\n"
        )
    };
    let records: String = (0..60).map(record).collect();
    sandbox.bundle(
        "topics",
        &Archive::new().file("texts.jsonl", records).bytes(),
    );
    for (directory, further, id) in [
        ("a", &["--id", "doc.id", "--target", "topics"][..], "doc_id"),
        ("b", &[][..], "row_id"),
    ] {
        let new = ["pipeline", "new", "topics", "--source", "source", "-o"];
        sandbox
            .prep(&[&new[..], &[directory], further].concat())
            .code(0);
        sandbox.prep(&["pipeline", "check", directory]).code(0);
        let run = [
            "run",
            "topics",
            "--source",
            "source",
            "--pipelines",
            directory,
        ];
        sandbox
            .prep(&[&run[..], &["--data-dir", directory]].concat())
            .code(0);
        let answers = format!("{directory}/topics/prepared/private/test.csv");
        let answers = fs::read_to_string(sandbox.path(&answers)).unwrap();
        assert!(
            answers.starts_with(&format!("{id},art,law,tea\n")),
            "{answers}"
        );
        assert_eq!(answers.lines().count(), 7, "{answers}");
    }
    let new = ["pipeline", "new", "topics", "--source", "source", "-o", "c"];
    sandbox
        .prep(&[&new[..], &["--id", "doc.number"]].concat())
        .code(2)
        .stderr_has(&["no table of the bundle has a column `doc.number`"]);
}

/// Lists of labels become a column for each label, unless the metric takes only one column.
#[test]
fn several_labels_are_columns_of_a_draft() {
    let sandbox = Sandbox::new();
    let labels = ["late", "late,broken", "broken", "refund,late"];
    let json = |cell: &str| format!("\"[\"\"{}\"\"]\"", cell.replace(',', "\"\",\"\""));
    for (id, is_json) in [("json", true), ("commas", false)] {
        let row = |at: usize| match is_json {
            true => format!("t{at},{}\n", json(labels[at % 4])),
            false => format!("t{at},\"{}\"\n", labels[at % 4]),
        };
        let table = format!("id,labels\n{}", (0..60).map(row).collect::<String>());
        sandbox.bundle(id, &Archive::new().file("tickets.csv", table).bytes());
        for (metric, is_multi, placeholder) in [
            ("", true, "0 AS late"),
            ("f1", true, "0 AS late"),
            ("roc_auc", true, "0.5 AS late"),
            ("accuracy", false, "AS labels"),
        ] {
            let directory = format!("{id}-{metric}");
            let new = [
                "pipeline", "new", id, "--source", "source", "-o", &directory,
            ];
            let metric = [&["--target", "labels"][..], &["--metric", metric]].concat();
            let choices = if metric[3].is_empty() {
                &metric[..2]
            } else {
                &metric[..]
            };
            let note = match is_multi {
                true => {
                    "the cells of `labels` are lists of labels, so the answers have a column for each label"
                }
                false => "the cells of `labels` are lists of labels, and are compared as texts",
            };
            sandbox
                .prep(&[&new[..], choices].concat())
                .code(0)
                .stderr_has(&[note]);
            let path = sandbox.path(&format!("{directory}/{id}/pipeline.yaml"));
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains(placeholder), "{text}");
            assert_eq!(
                text.contains("classes: [broken, late, refund]"),
                is_multi,
                "{text}"
            );
            let run = ["run", id, "--source", "source", "--pipelines", &directory];
            sandbox.prep(&run).code(0);
        }
    }
}

/// `pipeline new` reports a wrong choice of the author: a target, a metric or an id that does not fit the bundle. The
/// draft also suggests a split by date, with the format of the dates.
#[test]
fn drafts_report_ids_dates_and_names() {
    let sandbox = Sandbox::new();
    let row = |at: usize| {
        format!(
            "{at:03},{},{:02}.{:02}.2023,{at}.5\n",
            at % 4,
            1 + at % 28,
            1 + at % 12
        )
    };
    let table = format!(
        "meter,store,day,kwh\n{}",
        (0..60).map(row).collect::<String>()
    );
    let photos = (0..20).fold(Archive::new(), |archive, at| {
        archive.file(
            &format!("photos/{}/{at}.jpg", ["cat", "dog"][at % 2]),
            format!("{at}"),
        )
    });
    sandbox.bundle(
        "meters",
        &Archive::new().file("readings.csv", table).bytes(),
    );
    sandbox.bundle("pets", &photos.bytes());
    let new = |id: &str, choices: &[&str]| {
        let new = ["pipeline", "new", id, "--source", "source", "-o", "drafts"];
        sandbox.prep(&[&new[..], choices].concat())
    };
    for (id, choices, code, message) in [
        (
            "meters",
            ["--target", "kw"],
            2,
            "help: did you mean `kwh`? readings.csv has meter, store, day, kwh",
        ),
        (
            "meters",
            ["--metric", "rmse"],
            2,
            "there is no metric `rmse`\n  help: did you mean `root_mean_squared_error`?",
        ),
        (
            "pets",
            ["--metric", "log_loss"],
            2,
            "row 1: the answers contain `cat`, expected a number",
        ),
        (
            "meters",
            ["--id", "store"],
            0,
            "`store` has 4 values in 60 rows, so it does not identify a row",
        ),
    ] {
        new(id, &choices).code(code).stderr_has(&[message]);
    }
    let text = fs::read_to_string(sandbox.path("drafts/meters/pipeline.yaml")).unwrap();
    for part in [
        "# CHOOSE: `store` has 4 values in 60 rows, so it does not identify a row.",
        "use { split: labelled, method: cut, by: day, from: 23.11.2023, format: '%d.%m.%Y' }.",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let text = text.replace("    - train.store and test.store\n", "");
    let cut = text.replace(
        "method: shuffle, groups: store, test_size: 0.1, seed: 0",
        "method: cut, by: day, from: 23.11.2023, format: '%d.%m.%Y'",
    );
    assert!(cut != text, "{text}");
    fs::write(sandbox.path("drafts/meters/pipeline.yaml"), cut).unwrap();
    let run = [
        "run",
        "meters",
        "--source",
        "source",
        "--pipelines",
        "drafts",
    ];
    sandbox.prep(&run).code(0);
}

/// A draft must not publish the answers inside of the JSON values that contain them.
#[test]
fn the_target_is_removed_from_json_values() {
    let sandbox = Sandbox::new();
    for (column, path, labels) in [
        ("note", "note.label", r#"{"label": "LABEL", "length": 3}"#),
        (
            "note",
            "note.of.label",
            r#"{"of": {"label": "LABEL", "kept": 1}, "length": 3}"#,
        ),
        ("note", "note.label", r#"[{"label": "LABEL"}]"#),
    ] {
        let record = |at: usize| {
            let note = match (labels.starts_with('['), at % 2) {
                (true, 0) => labels,
                (true, _) => r#"{"label": "LABEL"}"#,
                _ => labels,
            };
            let note = note.replace("LABEL", ["secret-a", "secret-b"][at % 3 % 2]);
            format!("{{\"id\": \"d{at:03}\", \"{column}\": {note}}}\n")
        };
        let records: String = (0..60).map(record).collect();
        sandbox.bundle(
            "notes",
            &Archive::new().file("notes.jsonl", records).bytes(),
        );
        let new = [
            "pipeline", "new", "notes", "--source", "source", "-o", "drafts",
        ];
        sandbox
            .prep(&[&new[..], &["--id", "id", "--target", path]].concat())
            .code(0);
        let run = [
            "run",
            "notes",
            "--source",
            "source",
            "--pipelines",
            "drafts",
        ];
        sandbox.prep(&run).code(0);
        let public = sandbox.prepared("notes").join("public");
        let test = fs::read_to_string(public.join("test.csv")).unwrap();
        assert!(!test.contains("secret"), "{path}: {test}");
        assert_eq!(test.contains("kept"), labels.contains("kept"), "{test}");
        let train = fs::read_to_string(public.join("train.csv")).unwrap();
        assert!(train.contains("secret"), "{path}: {train}");
        fs::remove_dir_all(sandbox.path("drafts")).unwrap();
    }
}

/// A leaderboard with the worst score first would give medals to the worst submissions.
#[test]
fn leaderboard_in_the_wrong_order_is_an_error() {
    let sandbox = Harbour::prepared();
    sandbox
        .prep(&["pipeline", "check", "pipelines/harbour/pipeline.yaml"])
        .code(0);
    sandbox.write("pipelines/harbour/leaderboard.csv", "score\n0.5\n0.9\n");
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    let sample = sample.to_str().unwrap().to_owned();
    let says = ["pipelines/harbour/leaderboard.csv:3:1", "rank 2"];
    for arguments in [
        &["run", "harbour", "--source", "source"][..],
        &["grade", "harbour", &sample],
        &["grade", "harbour", "--score", "0.5"],
    ] {
        sandbox.prep(arguments).code(3).stderr_has(&says);
    }
    let check = ["pipeline", "check", "pipelines/harbour/pipeline.yaml"];
    sandbox.prep(&check).code(3).stdout_has(&says);
}

/// A draft splits files in directories of classes, even if a table next to the directories describes the classes.
/// Each pattern of the draft matches files.
#[test]
fn directories_of_classes_are_split_in_spite_of_a_lookup_table() {
    let sandbox = Sandbox::new();
    let mut archive =
        Archive::new().file("species.csv", "species,size\nmoth,1.5\nbee,2.5\nfly,3.5\n");
    for at in 0..60 {
        let species = ["moth", "bee", "fly"][at % 3];
        archive = archive.file(&format!("wings/{species}/{at}.png"), format!("wing {at}"));
    }
    sandbox.bundle("wings", &archive.bytes());
    for (directory, further) in [("a", &[][..]), ("b", &["--target", "folder"])] {
        let new = [
            "pipeline", "new", "wings", "--source", "source", "-o", directory,
        ];
        sandbox.prep(&[&new, further].concat()).code(0);
        let path = format!("{directory}/wings/pipeline.yaml");
        let text = fs::read_to_string(sandbox.path(&path)).unwrap();
        assert!(
            text.contains("everything: { files: wings/*/*.png }"),
            "{text}"
        );
        sandbox.prep(&["pipeline", "check", directory]).code(0);
        let run = [
            "run",
            "--set",
            "own",
            "--source",
            "source",
            "--pipelines",
            directory,
        ];
        let ended = sandbox.prep(&[&run[..], &["--data-dir", directory]].concat());
        let ended = ended.code(0);
        if further.is_empty() {
            ended.stderr_has(&["wings: sample: valid"]);
        }
        // `--all --available` includes the user's own competitions.
        let all = ["run", "--all", "--available", "--source", "source"];
        let of_own = ["--pipelines", directory, "--data-dir", directory];
        sandbox
            .prep(&[&all[..], &of_own].concat())
            .code(0)
            .stdout_has(&["wings"]);
    }
    sandbox
        .prep(&["pipeline", "check", "source"])
        .code(2)
        .stderr_has(&["contains no pipeline"]);
    sandbox
        .prep(&["run", "--set", "own", "--data-dir", "c", "--pipelines", "a"])
        .code(4);
}

/// One pattern matches the directories of all classes, even if files of different classes or archives have equal names.
#[test]
fn directories_of_classes_become_one_table_of_files() {
    let classes = |start: usize| {
        let mut archive = Archive::new();
        for at in 0..20 {
            let class = ["cat", "dog"][at % 2];
            archive = archive.file(&format!("{class}/{}.png", at / 2), format!("{start} {at}"));
        }
        archive
    };
    let nested = Archive::new()
        .file("one.zip", classes(0).bytes())
        .file("two.zip", classes(1).bytes());
    // The files of the test part have no labels, so `test` is not a class.
    let mut parts = Archive::new();
    for at in 0..30 {
        let directory = ["train/cat", "train/dog", "test"][at % 3];
        parts = parts.file(&format!("data/{directory}/{at}.png"), format!("{at}"));
    }
    for (archive, pattern) in [
        (classes(0), "files: \"*/*.png\" } # 20 files"),
        (nested, "files: \"*.zip/*/*.png\" } # 40 files"),
        (parts, "files: data/train/*/*.png } # 20 files"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.bundle("pets", &archive.bytes());
        let new = ["pipeline", "new", "pets", "--source", "source"];
        sandbox
            .prep(&[&new[..], &["--output", "pipelines"]].concat())
            .code(0);
        let text = fs::read_to_string(sandbox.path("pipelines/pets/pipeline.yaml")).unwrap();
        assert!(text.contains(pattern), "{text}");
        sandbox.run_and_count_steps("pets");
        let train = fs::read_to_string(sandbox.prepared("pets").join("public/train.csv")).unwrap();
        assert!(
            train.contains(",cat\n") && train.contains(",dog\n") && !train.contains(",test\n"),
            "{train}"
        );
    }
}

#[test]
fn a_file_is_not_the_id_of_a_draft() {
    let sandbox = Sandbox::new();
    for file in ["source/train.csv", "train.csv"] {
        let ended = sandbox.prep(&["pipeline", "new", file]).code(2);
        ended.stderr_has(&["is a file, not the id", "put it into an archive ID.zip"]);
    }
}

/// A draft with any metric of the catalog loads. Otherwise the message names the parameter that only the author knows, or
/// the reason why the metric does not fit the target.
#[test]
fn a_draft_can_have_each_metric() {
    let sandbox = Sandbox::new();
    let rows: String = (0..40)
        .map(|at| format!("{at},{},{}.5\n", at % 2, at * 7))
        .collect();
    let archive = Archive::new().file("train.csv", format!("id,label,weight\n{rows}"));
    sandbox.bundle("harbour", &archive.bytes());
    let mut files = Vec::new();
    for kind in prep_grade::metrics::ALL {
        let name = kind.definition.name;
        let directory = format!("drafts/{name}");
        let new = [
            "pipeline",
            "new",
            "harbour",
            "--source",
            "source",
            "--no-download",
        ];
        let choices = ["--target", "label", "--metric", name, "-o", &directory];
        let ended = sandbox.prep(&[&new[..], &choices].concat());
        match ended.code {
            Some(2) => {
                let reasons = [
                    "a new pipeline cannot have this metric: grade.metric",
                    "does not fit the target: ",
                ];
                let is_stated = reasons.iter().any(|one| ended.stderr.contains(one));
                assert!(is_stated, "{}", ended.stderr);
            }
            _ => {
                ended.code(0);
                files.push(format!("{directory}/harbour/pipeline.yaml"));
            }
        }
    }
    assert!(files.len() > 30, "{} drafts", files.len());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    sandbox
        .prep(&[&["pipeline", "check"], &files[..]].concat())
        .code(0);
    let f1 = fs::read_to_string(sandbox.path("drafts/f1/harbour/pipeline.yaml")).unwrap();
    assert!(
        f1.contains("only examples: average\n  metric: { f1: { average: binary, column: label } }"),
        "{f1}"
    );
}

/// Runs the commands of the tutorial in their order, each from the directory that the first block creates.
#[test]
fn all_commands_of_the_tutorial_work() {
    let page = include_str!("../../docs/adding-a-competition.md");
    let (mut script, mut has_pipeline) = (String::from("set -e\n"), false);
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "sh" => script.push_str(&format!("{text}\n")),
            "console" => {
                let commands = text.lines().filter_map(|line| line.strip_prefix("$ "));
                commands.for_each(|command| script.push_str(&format!("{command}\n")));
            }
            "yaml" if !has_pipeline => {
                has_pipeline = true;
                let file = "pipelines/lost-luggage/pipeline.yaml";
                script.push_str(&format!("cat > {file} <<'END'\n{text}\nEND\n"));
            }
            _ => {}
        }
    }
    let sandbox = Sandbox::new();
    let prep = sandbox.command(&[]);
    let programs = Path::new(prep.get_program()).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &script])
        .current_dir(sandbox.path(""))
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("HOME", sandbox.path("home"))
        .env("PREP_CACHE_DIR", sandbox.store());
    let ended = CommandResult::of(&mut shell).code(0);
    ended.stdout_has(&["16 of 16 steps run", "0 leaks, 0 risks"]);
    assert_eq!(script.matches("prep ").count(), 8, "{script}");
}
