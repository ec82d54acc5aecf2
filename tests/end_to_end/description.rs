//! Tests of the parts of `public/description.md` that `prep` adds to the competition's own text.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::support::{Archive, Harbour, Sandbox};

#[test]
fn description_shows_a_sample_copied_from_the_bundle() {
    let sandbox = Sandbox::new();
    let sample = "id,docked\n1,0\n2,0\n3,0\n4,0\n";
    let bundle = Archive::new()
        .file("train.csv", Harbour::table())
        .file("guesses.csv", sample);
    sandbox.bundle(Harbour::ID, &bundle.bytes());
    let pipeline = Harbour::PIPELINE.replace(
        "sample_submission.csv: SELECT id, 0 AS docked FROM test",
        "sample_submission.csv: { copy: guesses.csv }",
    );
    let pipeline = pipeline.replace("  rules:", "  invalid_sample: a few rows\n  rules:");
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_and_count_steps(Harbour::ID);
    let text = sandbox.prepared(Harbour::ID).join("public/description.md");
    let text = fs::read_to_string(text).expect("the description");
    assert!(
        text.contains("\n```\nid,docked\n1,0\n2,0\n3,0\n```\n"),
        "{text}"
    );
}

#[test]
fn description_contains_the_query_of_the_metric() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let query =
        "SELECT 1 - avg(abs(a.docked - s.docked)) FROM answers a JOIN submission s USING (id)";
    let metric = format!("metric:\n    sql: {query}\n    direction: higher_is_better");
    let pipeline = Harbour::PIPELINE.replace("metric: { accuracy: docked }", &metric);
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_and_count_steps(Harbour::ID);
    let text = sandbox.prepared(Harbour::ID).join("public/description.md");
    let text = fs::read_to_string(text).expect("the description");
    let block = format!("Higher is better.\n\n```sql\n{query}\n```\n");
    assert!(text.ends_with(&block), "{text}");
}

#[test]
fn description_contains_rules_and_parameters() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let metric = "metric: { f1: { column: docked, average: binary } }";
    let pipeline = Harbour::PIPELINE.replace("metric: { accuracy: docked }", metric);
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_and_count_steps(Harbour::ID);
    let text = sandbox.prepared(Harbour::ID).join("public/description.md");
    let text = fs::read_to_string(text).expect("the description");
    for part in [
        "\nThese rules apply:\n\n- The file has the columns `id`, `docked`. Other columns and any order are allowed.\n",
        "\n- The file has as many rows as the answers.\n",
        "(`sample_submission.csv`, 10 rows)",
        "\n- The metric requires a label (an integer or a name) in every cell of the column `docked`.\n",
        " Parameters: `column`: `docked`; `average`: `binary`. Higher is better.\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// The description states which file belongs to a row, the classes, and the columns that are not graded.
#[test]
fn description_contains_files_and_classes() {
    let sandbox = Sandbox::new();
    let rows = (0..30).map(|at| format!("{}/p{at},{},{at}\n", at % 3, ["cat", "dog"][at % 2]));
    let labels = format!("photo,species,age\n{}", rows.collect::<String>());
    let archive = (0..30).fold(Archive::new().file("labels.csv", labels), |archive, at| {
        archive.file(
            &format!("images/{}/p{at}.jpg", at % 3),
            format!("photo {at}"),
        )
    });
    sandbox.bundle("pets", &archive.bytes());
    let new = [
        "pipeline",
        "new",
        "pets",
        "--source",
        "source",
        "-o",
        "pipelines",
    ];
    let targets = [
        "--target", "species", "--target", "age", "--metric", "accuracy",
    ];
    sandbox.prep(&[&new[..], &targets].concat()).code(0);
    sandbox.run_and_count_steps("pets");
    let public = sandbox.prepared("pets").join("public");
    let text = fs::read_to_string(public.join("description.md")).expect("the description");
    let test = fs::read_to_string(public.join("test.csv")).expect("the test rows");
    let id = test.lines().nth(1).expect("a row");
    let file =
        format!("`images/test/{id}.jpg` belongs to the row of `test.csv` with the `photo` `{id}`");
    for part in [
        &file[..],
        "\n- The column `age` is not graded.\n",
        "\n- In `train.csv`, the values of the column `species` are `cat`, `dog`.\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(public.join(format!("images/test/{id}.jpg")).is_file());
}

/// The description names the label whose probability is predicted. It explains converted labels, lists of labels, and rows
/// without a file.
#[test]
fn description_explains_labels_and_missing_files() {
    let sandbox = Sandbox::new();
    let rows = (0..60).map(|at| {
        let tags = ["red", "red | blue", "blue"][at % 3];
        format!("p{at}.jpg,{},{tags}\n", ["nein", "ja"][at % 2])
    });
    let labels = format!("photo,bestanden,tags\n{}", rows.collect::<String>());
    let photos = (0..60).filter(|at| at % 20 != 7);
    let archive = photos.fold(Archive::new().file("labels.csv", labels), |archive, at| {
        archive.file(&format!("images/p{at}.jpg"), format!("photo {at}"))
    });
    sandbox.bundle("exam", &archive.bytes());
    let new = "pipeline new exam --source source -o pipelines --target";
    let (yes, lists) = ("bestanden", "tags");
    for (target, metric, edit, parts) in [
        (
            yes,
            "roc_auc",
            ["bestanden = 'ja'", "bestanden = 'nein'"],
            &[
                "computed as `bestanden = 'nein'`.\n",
                "; 3 rows of `train.csv` have no file\n",
            ][..],
        ),
        (
            yes,
            "roc_auc",
            ["", ""],
            &[
                "\n- A higher number means that `True` is more probable. Only the order of the numbers matters.\n",
                "\n- In `train.csv`, the values of the column `bestanden` are `ja`, `nein`.\n",
                "\n- In the answers, the values of the column `bestanden` are `False`, `True`, computed as `bestanden = 'ja'`.\n",
            ],
        ),
        (
            lists,
            "roc_auc",
            ["", ""],
            &[
                "\n- A higher number means that `1` is more probable.",
                "\n- In `train.csv`, each cell of the column `tags` lists the labels of its row, for example `red | blue`.\n",
            ],
        ),
    ] {
        let _ = fs::remove_dir_all(sandbox.path("pipelines/exam"));
        let arguments = format!("{new} {target} --metric {metric}");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        sandbox.prep(&arguments).code(0);
        let path = sandbox.path("pipelines/exam/pipeline.yaml");
        let text = fs::read_to_string(&path).unwrap().replace(edit[0], edit[1]);
        fs::write(&path, text).unwrap();
        sandbox.run_and_count_steps("exam");
        let text = sandbox.prepared("exam").join("public/description.md");
        let text = fs::read_to_string(text).unwrap();
        for part in parts {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}

/// Harnesses overwrite the description with their own text.
#[test]
fn overwriting_the_description_does_not_change_the_cache() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.run_and_count_steps(Harbour::ID);
    let path = sandbox.prepared(Harbour::ID).join("public/description.md");
    let text = fs::read(&path).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.nlink(), metadata.mode() & 0o600), (1, 0o600));
    fs::write(&path, "Something else.").unwrap();
    sandbox.prep(&["cache", "verify"]).code(0);
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(fs::read(&path).unwrap(), text);
}
