//! Tests which steps run again after a change, and which do not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{Archive, CommandResult, Gallery, Harbour, Member, Sandbox, Snapshot};

/// A garbage collection removes cached results, but not the records that show that the data directory is up to date.
#[test]
fn a_collection_keeps_data_without_a_bundle_up_to_date() {
    let sandbox = Harbour::prepared();
    let bundle = fs::read(sandbox.path("source/harbour.zip")).expect("a bundle");
    fs::remove_file(sandbox.path("source/harbour.zip")).expect("removed");
    for _ in 0..2 {
        let collect = ["cache", "gc", "--max-size", "1B"];
        sandbox
            .prep(&collect)
            .code(0)
            .stdout_has(&["0 objects kept"]);
        sandbox.prep(&["cache", "verify"]).code(0);
        assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0);
        assert_eq!(planned(&sandbox, Harbour::ID), BTreeSet::new());
    }
    // After a change of the pipeline, steps run again. They need the bundle, because the cache has no results left.
    let changed = Harbour::PIPELINE.replace("seed: 0", "seed: 1");
    sandbox.pipeline(Harbour::ID, &changed);
    let mut run = sandbox.run_command(&[Harbour::ID]);
    let ended = CommandResult::of(run.args(["--no-download", "--from-cache"])).code(4);
    ended
        .stderr_has(&["the cache does not have the results that would replace the missing bundle"]);
    sandbox.bundle(Harbour::ID, &bundle);
    assert!(sandbox.run_and_count_steps(Harbour::ID) > 0);
    // The cache loses its records of results. The step has run before, so `why` must not report a first run.
    fs::remove_dir_all(sandbox.store().join("ledger-v1")).expect("removed");
    why(&sandbox, Harbour::ID, &[]).stdout_has(&["its result is no longer in the cache\n"]);
    sandbox.run_and_count_steps(Harbour::ID);
}

struct Records(BTreeMap<String, Value>);

impl Records {
    #[track_caller]
    fn of(sandbox: &Sandbox, id: &str) -> Records {
        let steps = why(sandbox, id, &["--json"]).competition();
        let steps = steps["steps"].as_array().expect("steps");
        let last = steps.iter().map(|step| {
            (
                step["step"].as_str().expect("a name").to_owned(),
                step["last"].clone(),
            )
        });
        Records(last.collect())
    }

    fn changed_since(&self, before: &Records) -> BTreeSet<&str> {
        let changed = self
            .0
            .iter()
            .filter(|(step, last)| before.0.get(*step) != Some(last));
        changed.map(|(step, _)| step.as_str()).collect()
    }
}

#[track_caller]
fn why(sandbox: &Sandbox, id: &str, more: &[&str]) -> CommandResult {
    let arguments = [
        &["why", id, "--skip-verification", "--source", "source"],
        more,
    ]
    .concat();
    sandbox.prep(&arguments).code(0)
}

/// Returns the steps that run or may run according to the plan.
#[track_caller]
fn planned(sandbox: &Sandbox, id: &str) -> BTreeSet<String> {
    let plan = sandbox
        .prep(&[
            "plan",
            "-c",
            id,
            "--skip-verification",
            "--source",
            "source",
            "--json",
        ])
        .code(0)
        .json();
    let steps = plan["competitions"][0]["steps"]
        .as_array()
        .expect("steps")
        .clone();
    let runs = steps.iter().filter(|step| step["runs"] != "no");
    runs.map(|step| step["step"].as_str().expect("a name").to_owned())
        .collect()
}

fn set<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
    names.iter().copied().collect()
}

#[track_caller]
fn assert_fresh(sandbox: &Sandbox, id: &str, before: &Snapshot) {
    assert_eq!(planned(sandbox, id), BTreeSet::new());
    assert_eq!(sandbox.run_and_count_steps(id), 0);
    assert_eq!(&sandbox.tree(id), before);
}

#[test]
fn second_run_executes_no_step_and_writes_no_file() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    assert_fresh(&sandbox, Harbour::ID, &before);
    let report = sandbox.run(Harbour::ID).code(0).json();
    assert_eq!(report["competitions"][0]["state"], "up_to_date", "{report}");
}

#[test]
fn formatting_and_comments_of_a_pipeline_run_nothing() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    for text in [
        Harbour::PIPELINE.replace("private:", "# Not for competitors.\nprivate:"),
        Harbour::PIPELINE.replace(
            "SELECT id, 0 AS docked FROM test",
            "|\n    select  id, -- the ship\n      0 as docked\n    from test",
        ),
        Harbour::PIPELINE.replace("SELECT * FROM train", "\"SELECT *  /* all */  FROM train\""),
        Harbour::PIPELINE.replace(
            "bundle: { kaggle: harbour }",
            "bundle:\n    kaggle: harbour",
        ),
    ] {
        assert_ne!(text, Harbour::PIPELINE);
        sandbox.pipeline(Harbour::ID, &text);
        assert_fresh(&sandbox, Harbour::ID, &before);
    }
}

#[test]
fn changed_constant_runs_its_step_and_rewrites_its_file() {
    let sandbox = Harbour::prepared();
    let tree = sandbox.tree(Harbour::ID);
    let records = Records::of(&sandbox, Harbour::ID);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("0 AS docked", "1 AS docked"),
    );
    // The description quotes the first rows of the sample, so the description changes as well.
    let sample = "public/sample_submission.csv";
    let steps = ["description", sample, "publish", "trial"];
    assert_eq!(
        planned(&sandbox, Harbour::ID),
        steps.map(str::to_owned).into()
    );
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 4);
    let now = Records::of(&sandbox, Harbour::ID);
    assert_eq!(now.changed_since(&records), set(&steps));
    let after = sandbox.tree(Harbour::ID);
    let files = ["public/description.md", "public/sample_submission.csv"];
    assert_eq!(after.touched_since(&tree), files);
}

#[test]
fn constant_not_shown_in_the_description_rewrites_one_file() {
    let sandbox = Harbour::prepared();
    let tree = sandbox.tree(Harbour::ID);
    let text = Harbour::PIPELINE.replace(
        "SELECT id, docked FROM test",
        "SELECT id, docked, 'v2' AS edition FROM test",
    );
    sandbox.pipeline(Harbour::ID, &text);
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 3);
    assert_eq!(
        sandbox.tree(Harbour::ID).touched_since(&tree),
        ["private/test.csv"]
    );
}

/// SQL writes a quote in a string as two quotes. Replacing the string `'` by `''` must run the changed steps: those of
/// a query, of a list and of a check.
#[test]
fn edited_quotes_are_noticed() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let pipeline = |pattern: &str, word: &str, found: &str| {
        let outputs = format!(
            "public:\n  quotes.csv: |\n    SELECT id, replace('it''s', {pattern}, 'Q') AS a, CASE WHEN '''' IN words THEN 'in' ELSE 'out' END AS b FROM test\n"
        );
        let checks = format!(
            "checks:\n  unquoted: |\n    SELECT id FROM test WHERE replace('it''s', {found}, 'Q') <> 'it''s'\n"
        );
        let lists = format!("lists:\n  words: [\"{word}\"]\n\ntables:\n");
        Harbour::PIPELINE
            .replace("public:\n", &outputs)
            .replace("checks:\n", &checks)
            .replace("tables:\n", &lists)
    };
    let first_row = || {
        let path = sandbox.prepared(Harbour::ID).join("public/quotes.csv");
        let text = fs::read_to_string(path).unwrap();
        let row = text.lines().nth(1).expect("a row");
        row.split_once(',').expect("several cells").1.to_owned()
    };
    let (one, two) = ("''''", "''''''");
    for (pattern, word, expected) in [
        (one, "'", "itQs,in"),
        (two, "'", "it's,in"),
        (two, "''", "it's,out"),
        (one, "''", "itQs,out"),
    ] {
        sandbox.pipeline(Harbour::ID, &pipeline(pattern, word, two));
        sandbox.run_and_count_steps(Harbour::ID);
        assert_eq!(first_row(), expected);
    }
    sandbox.pipeline(Harbour::ID, &pipeline(one, "''", one));
    sandbox.run(Harbour::ID).code(5).stderr_has(&["unquoted"]);
}

#[test]
fn why_shows_the_old_and_new_value_of_the_changed_field() {
    let sandbox = Harbour::prepared();
    let step = "public/sample_submission.csv";
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("0 AS docked", "1 AS docked"),
    );
    why(&sandbox, Harbour::ID, &[step]).stdout_has(&["would run", "sql", "[-0-] {+1+} AS"]);
    let found = why(&sandbox, Harbour::ID, &[step, "--json"]).competition();
    let change = &found["steps"][0]["reason"]["changes"][0];
    assert!(
        change["field"]
            .as_str()
            .is_some_and(|field| field.contains("sql")),
        "{found}"
    );
    assert!(
        change["old"]
            .as_str()
            .is_some_and(|sql| sql.contains("0 AS docked")),
        "{found}"
    );
    assert!(
        change["new"]
            .as_str()
            .is_some_and(|sql| sql.contains("1 AS docked")),
        "{found}"
    );
    sandbox.run_and_count_steps(Harbour::ID);
    why(&sandbox, Harbour::ID, &[step]).stdout_has(&[
        "up to date",
        "it last ran because",
        "[-0-] {+1+} AS",
    ]);

    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 7"),
    );
    why(&sandbox, Harbour::ID, &["table/train,test"]).stdout_has(&["seed: 0 -> 7"]);
}

#[test]
fn new_bundle_with_the_same_table_runs_only_the_steps_that_read_it() {
    let sandbox = Harbour::prepared();
    let tree = sandbox.tree(Harbour::ID);
    let records = Records::of(&sandbox, Harbour::ID);
    let archive = Archive::new()
        .file("readme.txt", "new")
        .member(Member::deflated("train.csv", Harbour::table()));
    sandbox.bundle(Harbour::ID, &archive.bytes());
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 3);
    let now = Records::of(&sandbox, Harbour::ID);
    assert_eq!(
        now.changed_since(&records),
        set(&["bundle", "table/labelled", "unpack"])
    );
    assert_fresh(&sandbox, Harbour::ID, &tree);
}

#[test]
fn new_bundle_with_the_same_pictures_rewrites_no_file() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(50, 1).bytes());
    sandbox.run_and_count_steps(Gallery::ID);
    let before = sandbox.tree(Gallery::ID);
    // A new first member changes the offsets of all other members.
    let shifted = Gallery::archive(50, 1).first(Member::stored("a.txt", "new"));
    sandbox.bundle(Gallery::ID, &shifted.bytes());
    assert!(sandbox.run_and_count_steps(Gallery::ID) > 0);
    assert_eq!(sandbox.tree(Gallery::ID).touched_since(&before), [""; 0]);
}

#[test]
fn changed_row_runs_only_dependent_steps() {
    let sandbox = Harbour::prepared();
    let tree = sandbox.tree(Harbour::ID);
    // The changed row is in train, so the sample, the answers and the test part do not change.
    let train = fs::read_to_string(sandbox.prepared(Harbour::ID).join("public/train.csv"))
        .expect("train.csv");
    let row = train.lines().nth(1).expect("a row");
    let other = row.replace(".5,", ".25,");
    sandbox.bundle(
        Harbour::ID,
        &Harbour::bundle(&Harbour::table().replace(row, &other)),
    );
    sandbox.run_and_count_steps(Harbour::ID);
    let after = sandbox.tree(Harbour::ID);
    assert_eq!(after.touched_since(&tree), ["public/train.csv"]);
    let now = fs::read_to_string(sandbox.prepared(Harbour::ID).join("public/train.csv"))
        .expect("train.csv");
    assert_eq!(now, train.replace(row, &other));
}

#[test]
fn returning_to_an_earlier_pipeline_uses_the_cache() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let other = Harbour::PIPELINE.replace("test_size: 0.25", "test_size: 0.5");
    sandbox.pipeline(Harbour::ID, &other);
    assert!(sandbox.run_and_count_steps(Harbour::ID) > 3);
    assert_ne!(sandbox.tree(Harbour::ID).contents(), before.contents());
    sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    assert_eq!(
        sandbox.run_and_count_steps(Harbour::ID),
        1,
        "only the publication runs"
    );
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
}

#[test]
fn changes_of_the_prepared_directory_are_undone() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(30, 1).bytes());
    sandbox.run_and_count_steps(Gallery::ID);
    let prepared = sandbox.prepared(Gallery::ID);
    let before = sandbox.tree(Gallery::ID);
    let picture = before
        .files()
        .find(|path| path.starts_with("public/test/"))
        .expect("a picture");
    type Deed<'a> = (&'a str, &'a dyn Fn());
    let deeds: [Deed; 5] = [
        ("a file removed", &|| {
            fs::remove_file(prepared.join("private/test.csv")).expect("remove")
        }),
        ("a picture removed", &|| {
            fs::remove_file(prepared.join(picture)).expect("remove")
        }),
        ("a file replaced", &|| {
            fs::remove_file(prepared.join("public/train.csv")).expect("remove");
            fs::write(prepared.join("public/train.csv"), "id\n").expect("write");
        }),
        ("a directory removed", &|| {
            fs::remove_dir_all(prepared.join("public/train")).expect("remove")
        }),
        ("all removed", &|| {
            fs::remove_dir_all(&prepared).expect("remove")
        }),
    ];
    for (what, deed) in deeds {
        deed();
        assert_ne!(sandbox.state(Gallery::ID), "prepared v1", "{what}");
        assert_eq!(sandbox.run_and_count_steps(Gallery::ID), 1, "{what}");
        assert_eq!(
            sandbox.tree(Gallery::ID).contents(),
            before.contents(),
            "{what}"
        );
        assert_eq!(sandbox.state(Gallery::ID), "prepared v1", "{what}");
    }
}

#[test]
fn modified_prepared_file_is_found_and_restored() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let path = sandbox.prepared(Harbour::ID).join("public/train.csv");
    // Makes the file writable. Its hard link in the cache may change as well.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("mode");
    fs::write(&path, "id,tons,docked\n").expect("write");
    assert_eq!(sandbox.state(Harbour::ID), "changed since prepared");
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before.contents());
    sandbox.prep(&["cache", "verify"]).code(0);
}

#[test]
fn lost_object_is_computed_again_when_needed() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let objects = Snapshot::of(&sandbox.store().join("objects-v1"));
    for object in objects.files() {
        fs::remove_file(sandbox.store().join("objects-v1").join(object)).expect("remove");
    }
    assert_fresh(&sandbox, Harbour::ID, &before);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("0 AS docked", "1 AS docked"),
    );
    sandbox.run_and_count_steps(Harbour::ID);
    let after = sandbox.tree(Harbour::ID);
    let files = ["public/description.md", "public/sample_submission.csv"];
    let changed: Vec<&str> = after
        .contents()
        .into_iter()
        .filter(|(path, content)| before.contents().get(path) != Some(content))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(changed, files);
}

#[test]
fn plan_writes_nothing() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let arguments = [
        "plan",
        "-c",
        Harbour::ID,
        "--skip-verification",
        "--source",
        "source",
    ];
    let look = [
        arguments.as_slice(),
        &["why", Harbour::ID],
        &["pipeline", "graph", Harbour::ID],
        &["list"],
    ];
    let whole = |sandbox: &Sandbox| Snapshot::of(&sandbox.path(""));
    let before = whole(&sandbox);
    for arguments in look {
        sandbox.prep(arguments).code(0);
        assert_eq!(whole(&sandbox), before, "{arguments:?}");
    }
    sandbox.run_and_count_steps(Harbour::ID);
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("0 AS docked", "1 AS docked"),
    );
    let before = whole(&sandbox);
    for arguments in look {
        sandbox.prep(arguments).code(0);
        assert_eq!(whole(&sandbox), before, "{arguments:?}");
    }
    let mut dry = sandbox.run_command(&[Harbour::ID]);
    let dry = CommandResult::of(dry.arg("--dry-run")).code(0);
    let plan = sandbox
        .prep(&[arguments.as_slice(), &["--json"]].concat())
        .code(0);
    assert_eq!(dry.json(), plan.json());
    assert_eq!(whole(&sandbox), before);
}

/// If the bundle exists, a run downloads nothing but still writes prepared files. `plan` and `doctor` must estimate the
/// disk space of these files.
#[test]
fn new_files_need_disk_space() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let plan = || {
        sandbox
            .prep(&["plan", Harbour::ID, "--source", "source"])
            .code(0)
    };
    plan().stderr_has(&["disk at the peak: about", "of prepared files"]);
    sandbox.run_and_count_steps(Harbour::ID);
    assert!(!plan().stderr.contains("disk"));
    fs::remove_dir_all(sandbox.data()).expect("removed");
    let bundle = fs::File::create(sandbox.source().join("harbour.zip")).expect("a bundle");
    bundle.set_len(8 << 40).expect("a sparse file");
    let doctor = ["doctor", Harbour::ID, "--offline", "--source", "source"];
    let found = sandbox.prep(&doctor);
    found.stdout_has(&["not enough disk space: the run needs about 8.80 TB of prepared files"]);
}

/// One run rejects the bundle, and the next run accepts it. `why` must not report that a cached result was lost.
#[test]
fn a_rejected_bundle_was_not_lost() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let other = format!("bundle: {{ kaggle: harbour, md5: {} }}", "0".repeat(32));
    let pipeline = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", &other);
    assert_ne!(pipeline, Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &pipeline);
    let run = ["run", Harbour::ID, "--source", "source"];
    sandbox.prep(&run).code(5);
    let accepted = [&run[..], &["--skip-verification"]].concat();
    sandbox.prep(&accepted).code(0);
    let why = sandbox.prep(&["why", Harbour::ID, "bundle"]).code(0);
    why.stdout_has(&["it last ran because: first run"]);
}
