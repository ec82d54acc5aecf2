//! Tests of the content of the HTML page. `tests/report/look.py` tests its appearance.

use std::fs;
use std::process::Command;

use crate::support::{Harbour, Sandbox, skipped};

/// Prepares a competition whose answers have a column that does not occur in `public`.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let pipeline = Harbour::PIPELINE.replace(
        "SELECT id, docked FROM test\n",
        "SELECT id, docked, concat('secret-', id) AS note FROM test\n",
    );
    assert_ne!(pipeline, Harbour::PIPELINE);
    let pipeline = pipeline.replace(
        "name: Harbour",
        "name: \"Harbour <script>alert(1)</script> & Co.\"",
    );
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_and_count_steps(Harbour::ID);
    sandbox
}

const GRADING: &str = r#"{"competition_reports": [{"competition_id": "harbour", "score": 0.75, "gold_medal": false, "silver_medal": true,
    "bronze_medal": false, "above_median": true, "submission_exists": true, "valid_submission": true}]}"#;

#[test]
fn page_shows_prepared_and_graded_data_without_network() {
    let sandbox = prepared();
    sandbox.write("g.json", GRADING.replace("\"score\"", "\"submission_path\": \"/home/u/runs/7/submission.csv\", \"created_at\": \"2026-01-31T12:30:05.123\", \"score\""));
    sandbox
        .prep(&["report", "--grading", "<i>mine=g.json", "-o", "r.html"])
        .code(0)
        .stdout_has(&["r.html: 1 competition"]);
    let report = sandbox.prep(&["report", "-o", "r.json.html", "--json"]);
    let report = report.code(0).json();
    assert_eq!(report["path"], "r.json.html");
    assert_eq!(
        report["competitions"],
        serde_json::json!([{ "id": Harbour::ID, "launched": null, "closed": null }])
    );
    let page = fs::read_to_string(sandbox.path("r.html")).unwrap();
    for part in [
        "Harbour &lt;script&gt;alert(1)&lt;/script&gt; &amp; Co.",
        "&lt;i&gt;mine",
        "public/train.csv",
        "checksums: none published",
        "own pipeline",
        "first run",
        "silver medal",
        "7/submission.csv",
        "2026-01-31\u{a0}12:30",
        "<title>Leaderboard of harbour</title>",
        "<title>Distribution of docked</title>",
        "5 teams, higher is better",
        "prefers-color-scheme: dark",
        "Content-Security-Policy",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    for part in [
        "secret-",
        "/home/u",
        "<script",
        "<i>",
        "src=\"http",
        "url(",
        "@import",
        &*sandbox.path("").to_string_lossy(),
    ] {
        assert!(!page.contains(part), "{part} is on the page");
    }
}

#[test]
fn page_shows_unprepared_and_modified_competitions() {
    let sandbox = prepared();
    fs::remove_file(sandbox.prepared(Harbour::ID).join("public/test.csv")).unwrap();
    sandbox
        .prep(&["report", "harbour", "spaceship-titanic", "-o", "r.html"])
        .code(0);
    let page = fs::read_to_string(sandbox.path("r.html")).unwrap();
    for part in [
        "changed since prepared",
        "not prepared",
        "Leaderboard of spaceship-titanic",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    assert!(!page.contains("First rows"));
    let empty = Sandbox::new();
    empty
        .prep(&["report", "-o", "r.html"])
        .code(2)
        .stderr_has(&["no competition is prepared in the data directory"]);
}

#[test]
fn page_opens_in_a_browser_without_errors_or_requests() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/report/look.py");
    let pictures = concat!(env!("CARGO_TARGET_TMPDIR"), "/report");
    let looked = Command::new("python3")
        .args([
            script,
            "--prep",
            env!("CARGO_BIN_EXE_prep"),
            "--pictures",
            pictures,
        ])
        .output();
    match looked {
        Ok(looked) if looked.status.code() == Some(77) => {
            skipped(
                "the report in a browser: there is no chromium (apt install chromium chromium-driver)",
            );
        }
        Ok(looked) => assert!(
            looked.status.success(),
            "{}",
            String::from_utf8_lossy(&looked.stdout)
        ),
        Err(_) => skipped("the report in a browser: there is no python3"),
    }
}

#[test]
fn report_warns_about_gradings_of_unknown_competitions() {
    let sandbox = prepared();
    sandbox.write("g.json", GRADING.replace("harbour", "elsewhere"));
    let ended = sandbox
        .prep(&["report", "--grading", "g.json", "-o", "r.html"])
        .code(0);
    let expected = "`elsewhere` was graded, but is left out";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

#[test]
fn report_warns_about_different_agents() {
    let sandbox = prepared();
    for agent in ["mine", "theirs"] {
        let path =
            format!("\"submission_path\": \"runs/1_run-group_{agent}/harbour_1/s.csv\", \"score\"");
        let report = format!("reports/{agent}_grading_report.json");
        sandbox.write(&report, GRADING.replace("\"score\"", &path));
    }
    let report = |gradings: &[&str]| {
        let gradings = gradings.iter().flat_map(|one| ["--grading", one]);
        let arguments: Vec<&str> = ["report", "-o", "r.html"]
            .into_iter()
            .chain(gradings)
            .collect();
        sandbox.prep(&arguments).code(0)
    };
    report(&["reports"]).stderr_has(&["different agents: mine, theirs", "--grading NAME="]);
    let [mine, theirs] =
        ["mine", "theirs"].map(|agent| format!("{agent}=reports/{agent}_grading_report.json"));
    assert_eq!(report(&[&mine, &theirs]).stderr, "");
}

#[test]
fn copies_of_the_answers_are_marked() {
    let sandbox = prepared();
    let copy = GRADING.replace("\"score\"", "\"submission_is_answers\": true, \"score\"");
    sandbox.write("g.json", copy);
    let words = "identical to the answers";
    sandbox
        .prep(&["report", "--grading", "mine=g.json", "-o", "r.html"])
        .code(0)
        .stderr_has(&["mine: submissions", words, Harbour::ID]);
    let page = fs::read_to_string(sandbox.path("r.html")).unwrap();
    // The words occur in the table, in the text of the picture, at the mark in the picture, and next to the experiment.
    assert_eq!(page.matches(words).count(), 4);
    assert!(!page.contains("silver medal"));
}

/// The page contains the warnings of the command line, the reasons of invalid submissions, and a column for each experiment.
#[test]
fn page_compares_experiments() {
    let sandbox = prepared();
    let path = |group: &str| {
        let path = format!("\"submission_path\": \"runs/{group}/harbour_1/s.csv\", \"score\"");
        GRADING.replace("\"score\"", &path)
    };
    let invalid = GRADING
        .replace("\"score\": 0.75", "\"score\": null, \"reason\": {\"kind\": \"ids\", \"message\": \"id `<7>` is missing\"}")
        .replace("\"silver_medal\": true", "\"silver_medal\": false")
        .replace("\"above_median\": true", "\"above_median\": false")
        .replace("\"valid_submission\": true", "\"valid_submission\": false");
    sandbox.write("runs/g1/grading_report.json", path("1_run-group_mine"));
    let lower = path("2_run-group_theirs").replace("0.75", "0.5");
    sandbox.write("runs/g2/grading_report.json", &lower);
    sandbox.write("runs/g3/grading_report.json", invalid);
    sandbox.write(
        "runs/groups.csv",
        "experiment_id,run_group\nmine,g1\ntheirs,g2\ntheirs,g3\n",
    );
    let report = |arguments: &[&str]| {
        let ended = sandbox.prep(&[&["report", "-o", "r.html"], arguments].concat());
        let page = fs::read_to_string(sandbox.path("r.html")).unwrap();
        (ended.code(0), page)
    };
    let (ended, page) = report(&["--groups", "runs/groups.csv"]);
    assert_eq!(ended.stderr, "");
    for part in [
        "<small class=\"long\">id <code>&lt;7&gt;</code> is missing</small>",
        "<span class=\"best\">0.75000</span><div><span class=\"result r4\">silver medal</span>",
        "<span class=\"\">0.50000</span><div><span class=\"result r4\">1 silver medal</span> <span class=\"result r12\">1 invalid</span>",
        "class=\"series c0 m0\"",
        "class=\"series c1 m1\"",
        "<dd>3<small>runs of 2 experiments",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("different agents"));
    let (ended, page) = report(&[
        "--grading",
        "mine=runs/g1",
        "--grading",
        "mine=runs/g2",
        "--grading",
        "theirs=runs/g1/grading_report.json",
    ]);
    ended.stderr_has(&[
        "these experiments contain the same reports, so they share runs: `mine`, `theirs`",
    ]);
    for part in [
        "The best mean is bold, and so are means equal to it, unless all means are equal.",
        "0.62500</span> <small>± 0.12500</small><div><span class=\"result r4\">2 silver medals</span>",
        "higher is better",
        "mean score of the valid runs",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let (ended, page) = report(&[
        "--grading",
        "runs",
        "--grading",
        "runs/g1/grading_report.json",
    ]);
    ended.stderr_has(&["1 report is named several times, but counted once: "]);
    for part in [
        "different agents: mine, theirs.",
        "<dd>3<small>runs of 1 experiment",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    sandbox.write(
        "again/grading_report.json",
        path("1_run-group_mine").replace("\"score\"", "\"created_at\": \"1\", \"score\""),
    );
    sandbox.write(
        "again/2/grading_report.json",
        path("1_run-group_mine").replace("\"score\"", "\"created_at\": \"1\", \"score\""),
    );
    let (_, page) = report(&["--grading", "again"]);
    assert!(page.contains("1 run was graded several times"), "{page}");
    for (arguments, code, message) in [
        (
            &["--grading", "runs/groups.csv"][..],
            2,
            "help: if the file assigns run groups to experiments, write `--groups",
        ),
        (
            &["--groups", "runs"],
            4,
            "help: name the table, for example `--groups runs/run_group_experiments.csv`",
        ),
        (&["--grading", "run"], 4, "help: did you mean `runs`?"),
        (
            &["runs"],
            2,
            "help: if it is a grading report, write `--grading runs`",
        ),
        (
            &["--variant", "fixed"],
            2,
            "help: these variants are prepared: v1",
        ),
        (
            &["spaceship-titanic"],
            0,
            "warning: variant `v1` is not prepared: spaceship-titanic",
        ),
    ] {
        let ended = sandbox.prep(&[&["report", "-o", "r.html"], arguments].concat());
        ended.code(code).stderr_has(&[message]);
    }
    for arguments in [["--runs", "runs"], ["--experiment", "mine"]] {
        let ended = sandbox.prep(&[&["report", "-o", "r.html"], &arguments[..]].concat());
        ended
            .code(2)
            .stderr_has(&["`--runs` and `--experiment` need --groups"]);
    }
}

/// The page states which gradings a figure leaves out, and which scores have no place on an axis.
#[test]
fn page_of_a_directory_of_gradings_states_its_omissions() {
    let sandbox = prepared();
    let (_, entry) = GRADING.split_once("[").unwrap();
    let entry = entry.strip_suffix("]}").unwrap();
    let report = |entries: &str| format!(r#"{{"competition_reports": [{entries}]}}"#);
    let far = entry.replace("0.75", "-50");
    let both = format!("{far}, {}", entry.replace("harbour", "spaceship-titanic"));
    sandbox.write("reports/1/a_grading_report.json", report(&both));
    sandbox.write("reports/2/b_grading_report.json", report(entry));
    sandbox
        .prep(&["report", "--grading", "mine=reports", "-o", "r.html"])
        .code(0);
    let page = fs::read_to_string(sandbox.path("r.html")).unwrap();
    for part in [
        "are drawn at its end: -50<",
        ">1 of 2<",
        "has 1 seed, because spaceship-titanic has only 1 run; its figures leave out further runs",
        // The row of the competition contains both runs.
        "-24.62500</span> <small>± 25.37500</small>",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    let (_, publish) = page.split_once("<code>publish</code>").unwrap();
    let (row, _) = publish.split_once("</tr>").unwrap();
    assert!(row.contains(">20"), "{row}");
    sandbox.write("empty/other.json", "");
    sandbox
        .prep(&["report", "--grading", "empty", "-o", "r.html"])
        .code(4)
        .stderr_has(&["empty contains no file *grading_report*.json"]);
}

/// The table of experiments uses the runs that the page shows.
#[test]
fn page_ignores_gradings_of_other_variants_and_competitions() {
    let sandbox = prepared();
    let path = |run: &str| {
        let path = format!("\"submission_path\": \"g/{run}/submission/submission.csv\", \"score\"");
        GRADING.replace("\"score\"", &path)
    };
    let seeds = [
        "reports/1_grading_report.json",
        "reports/2_grading_report.json",
    ];
    for (seed, run) in seeds.into_iter().zip(["harbour_1", "harbour_2"]) {
        sandbox.write(seed, path(run));
    }
    let other = GRADING.replace("harbour", "spaceship-titanic");
    sandbox.write("reports/3_grading_report.json", other);
    let report = |more: &[&str], left_out: &str| {
        let arguments = [
            "report",
            Harbour::ID,
            "--grading",
            "reports",
            "-o",
            "r.html",
        ];
        let ended = sandbox.prep(&[&arguments[..], more].concat()).code(0);
        ended.stderr_has(&[left_out]);
        fs::read_to_string(sandbox.path("r.html")).unwrap()
    };
    let page = report(&[], "1 graded submission left out");
    for part in [
        "<dd>1 of 1<small>",
        "<dd>2<small>runs of 1 experiment",
        "harbour_1/submission/",
        "harbour_2/submission/",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    let page = report(&["--variant", "fixed"], "3 graded submissions left out");
    assert!(!page.contains("Experiments"), "{page}");
}

/// A failed checksum prevents the publication, but the page shows the competition.
#[test]
fn page_shows_competitions_whose_last_run_failed() {
    let sandbox = prepared();
    let other = Harbour::PIPELINE.replace("name: Harbour", "name: Other");
    sandbox.pipeline("other", &other);
    sandbox.bundle("other", &Harbour::bundle(&Harbour::table()));
    let sums =
        r#"{ "public": { "train.csv": "0123456789abcdef0123456789abcdef" }, "private": {} }"#;
    sandbox.write("pipelines/other/checksums.json", sums);
    sandbox
        .prep(&["run", "other", "--source", "source"])
        .code(5);
    sandbox.prep(&["report", "-o", "r.html"]).code(0);
    let page = fs::read_to_string(sandbox.path("r.html")).unwrap();
    let place = |part: &str| {
        page.find(part)
            .unwrap_or_else(|| panic!("no {part} in {page}"))
    };
    assert!(
        page.contains("the last run published nothing (1)"),
        "{page}"
    );
    assert!(page.contains("0123456789abcdef0123456789abcdef"));
    // Sections have the order of the table, which begins with problems.
    assert!(place("id=\"other") < place("id=\"harbour"));
}
