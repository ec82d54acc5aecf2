//! Tests of `prep diff` with variants, publications, pipelines and data directories, and of the causes in `prep why`.

use crate::support::{CommandResult, Gallery, Harbour, Sandbox};

const CORRECTED: &str = "
variants:
  fixed:
    seed:
      tables:
        train, test: { seed: 1 }
      public:
        sample_submission.csv: SELECT id, 1 AS docked FROM test
        ships.csv: SELECT id FROM labelled
";

#[test]
fn diff_compares_pipelines_and_files_of_two_variants() {
    let sandbox = Harbour::prepared();
    let pipeline = format!("{}{CORRECTED}", Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &pipeline);
    let diff = ["diff", Harbour::ID, "v1", "fixed", "--json"];
    // `diff` compares only the pipelines until both variants are prepared.
    let found = sandbox.prep(&diff).code(1).competition();
    let setting = |path: &str| {
        let all = found["pipeline"].as_array().expect("a list");
        let one = all.iter().find(|one| one["path"] == path);
        one.map(|one| (one["old"].clone(), one["new"].clone()))
    };
    assert_eq!(
        setting("tables/train, test: seed"),
        Some(("0".into(), "1".into()))
    );
    assert!(setting("public/ships.csv: csv").is_some_and(|(old, _)| old.is_null()));
    assert!(found["outputs"].is_null());
    let mut command = sandbox.run_command(&[Harbour::ID]);
    CommandResult::of(command.args(["--variant", "fixed"])).code(0);
    let found = sandbox.prep(&diff).code(1).competition();
    let outputs = found["outputs"].as_array().expect("a list");
    let output = |path: &str| {
        outputs
            .iter()
            .find(|one| one["path"] == path)
            .expect("a file")
    };
    assert!(output("public/ships.csv")["bytes"][0].is_null());
    let answers = &output("private/test.csv")["table"];
    assert_eq!(answers["key"], "id");
    let (removed, added) = (&answers["rows_removed"], &answers["rows_added"]);
    assert_eq!(removed, added);
    assert!(removed.as_u64().expect("a number") > 0);
    let cells = found["cells"].as_array().expect("a list");
    let constant = |cell: &&serde_json::Value| {
        cell["path"] == "public/sample_submission.csv" && cell["column"] == "docked"
    };
    let one = cells.iter().find(constant).expect("a cell");
    assert_eq!((&one["old"], &one["new"]), (&"0".into(), &"1".into()));
    // `diff` compares a variant with itself, and after that the directories of both variants.
    sandbox.prep(&["diff", Harbour::ID, "v1", "v1"]).code(0);
    let directories = ["diff", Harbour::ID, "data", "data/fixed", "--json"];
    assert_eq!(
        sandbox.prep(&directories).code(1).competition()["outputs"],
        found["outputs"]
    );
    sandbox.write(
        "other.yaml",
        Harbour::PIPELINE.replace("seed: 0", "seed: 2"),
    );
    let files = ["diff", "pipelines/harbour/pipeline.yaml", "other.yaml"];
    let stdout = sandbox.prep(&files).code(1).stdout;
    assert!(
        stdout.contains("tables/train, test: seed\n    - 0\n    + 2\n"),
        "{stdout}"
    );
}

#[test]
fn diff_compares_pipelines_and_files_of_two_publications() {
    let sandbox = Harbour::prepared();
    let runs = ["diff", Harbour::ID, "@1", "@0", "--json"];
    let stderr = sandbox.prep(&runs).code(4).stderr;
    assert!(stderr.contains("there is no publication @1"), "{stderr}");
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 2"),
    );
    sandbox.run_and_count_steps(Harbour::ID);
    // A run that changes nothing gets no number `@N`.
    sandbox.run_and_count_steps(Harbour::ID);
    let found = sandbox.prep(&runs).code(1).competition();
    // The list contains the split. It omits the description, which changed only because it quotes the sample
    // submission, and the trial, which has no influence on files.
    let changes = found["pipeline"].as_array().expect("a list");
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["path"], "table/train,test: method");
    let times: Vec<u64> = serde_json::from_value(found["published"].clone()).expect("two times");
    assert!(times[0] <= times[1], "{times:?}");
    let outputs = found["outputs"].as_array().expect("a list");
    let answers = outputs.iter().find(|one| one["path"] == "private/test.csv");
    let table = &answers.expect("other answers")["table"];
    assert_eq!(table["key"], "id");
    assert!(
        table["rows_removed"].as_u64().expect("a number") > 0,
        "{table}"
    );
    // With the first pipeline again, the first and the last run have equal results.
    sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    sandbox.run_and_count_steps(Harbour::ID);
    let same = ["diff", Harbour::ID, "@2", "@0"];
    let stdout = sandbox.prep(&same).code(0).stdout;
    assert!(stdout.contains("outputs: equal"), "{stdout}");
}

/// `diff` compares published directories by the content of their files, even without the bundle.
#[test]
fn diff_compares_the_files_of_directories_of_two_publications() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    let run = |count, edition| {
        let archive = Gallery::archive(count, edition);
        sandbox.bundle(Gallery::ID, &archive.bytes());
        sandbox.run_and_count_steps(Gallery::ID);
    };
    run(40, 0);
    run(40, 1);
    let runs = ["diff", Gallery::ID, "@1", "@0", "--json"];
    let found = sandbox.prep(&runs).code(1).competition();
    let outputs = found["outputs"].as_array().expect("a list");
    let names: Vec<&str> = outputs
        .iter()
        .map(|one| one["path"].as_str().expect("a path"))
        .collect();
    // Every tenth picture is unchanged. The changed pictures keep their length.
    assert_eq!(names.len(), 36, "{names:?}");
    assert!(outputs.iter().all(|one| one["bytes"][0] == one["bytes"][1]));
    let is_tenth = |name: &&str| name.ends_with("0.png");
    assert!(!names.iter().any(is_tenth), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("public/train/")));
    // This run uses the first bundle again. The bundle of the second run no longer exists.
    run(40, 0);
    let same = ["diff", Gallery::ID, "@2", "@0"];
    let stdout = sandbox.prep(&same).code(0).stdout;
    assert!(stdout.contains("outputs: equal"), "{stdout}");
    // The archive differs, but it contains the same pictures. Its additional picture is in no output.
    let archive = Gallery::archive(40, 0).file("pictures/none.png", "x");
    let archive = archive.first(crate::support::Member::deflated("readme", "r"));
    sandbox.bundle(Gallery::ID, &archive.bytes());
    sandbox.run_and_count_steps(Gallery::ID);
    let found = sandbox.prep(&runs).competition();
    assert_eq!(found["outputs"], serde_json::json!([]), "{found:#}");
}

/// A run that publishes nothing, such as the first run with `--locked`, gets no number `@N`, and `why` does not compare
/// with it.
#[test]
fn only_publications_are_numbered_and_explained() {
    let sandbox = Harbour::prepared();
    let bundle = Harbour::bundle(&Harbour::table().replace(".5,", ".25,"));
    let path = sandbox.write("new/harbour.zip", bundle);
    let run = ["run", Harbour::ID, "--source", "new", "--no-download"];
    sandbox.prep(&[&run[..], &["--locked"]].concat()).code(5);
    let diff = |sides: [&str; 2]| sandbox.prep(&["diff", Harbour::ID, sides[0], sides[1]]);
    diff(["@1", "@0"]).code(4);
    let source = |source| ["why", Harbour::ID, "--source", source];
    let old = sandbox.source().join("harbour.zip");
    let canonical = |path: &std::path::Path| path.canonicalize().expect("a path");
    let (old, new) = (canonical(&old), canonical(&path));
    let content = |path: &std::path::Path| format!("{} (", path.display());
    let change = |stdout: &str, since: &str| {
        let (_, causes) = stdout.split_once(since).expect("causes");
        let line = causes.lines().nth(1).expect("a cause").to_owned();
        let (before, after) = line.split_once(" -> ").expect("two files");
        assert!(before.starts_with("  bundle: ") && before.contains(&content(&old)));
        assert!(
            before.contains(", BLAKE3 ") || before.contains(", MD5 "),
            "{line}"
        );
        assert!(after.contains(&content(&new)), "{line}");
    };
    // The results are in the cache, but they are not published.
    let why = sandbox.prep(&source("new")).code(0).stdout;
    change(&why, "changed since then:");
    assert!(
        why.contains("in the cache: input `archive` changed"),
        "{why}"
    );
    sandbox.prep(&run).code(0);
    let changed = diff(["@1", "@0"]).code(1).stdout;
    assert!(changed.contains("cells changed"), "{changed}");
    change(
        &sandbox.prep(&source("new")).code(0).stdout,
        "changed since 2",
    );
    // No run has read this bundle yet. Its length differs from that of the last bundle.
    sandbox.write(
        "other/harbour.zip",
        Harbour::bundle("id,tons,docked\n1,2,0\n"),
    );
    let why = sandbox.prep(&source("other")).code(0).stdout;
    let (_, causes) = why.split_once("changed since then:").expect("causes");
    assert!(
        causes.contains("other/harbour.zip (") && causes.contains("not read yet)"),
        "{why}"
    );
    // This run fails because of a check, so it gets no number.
    let failing = Harbour::PIPELINE.replace("train.id and test.id", "train.id and train.id");
    sandbox.pipeline(Harbour::ID, &failing);
    sandbox.prep(&run).code(5);
    assert_eq!(diff(["@1", "@0"]).code(1).stdout, changed);
    let stderr = diff(["@2", "@0"]).code(4).stderr;
    assert!(
        stderr.contains("the recorded publications are @0"),
        "{stderr}"
    );
}

/// The text of a comparison has a limit, which the JSON does not have.
#[test]
fn diff_displays_the_first_files_and_counts_the_others() {
    let sandbox = Harbour::prepared();
    for number in 0..210 {
        let path = format!("other/{}/prepared/public/{number:03}.txt", Harbour::ID);
        sandbox.write(&path, "a");
    }
    let sides = ["diff", Harbour::ID, "data", "other"];
    let found = sandbox.prep(&[&sides[..], &["--json"]].concat());
    let found = found.code(1).competition();
    let all = found["outputs"].as_array().expect("a list").len();
    let stdout = sandbox.prep(&sides).code(1).stdout;
    let more = format!(
        "\n  {} further files not shown; `--json` lists all\n",
        all - 200
    );
    assert!(stdout.ends_with(&more), "{stdout}");
}
