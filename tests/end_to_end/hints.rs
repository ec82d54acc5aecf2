//! Tests that messages about frequent mistakes of new users name the cause and the remedy, and that printed commands work.

use std::fs;

use crate::support::{CommandResult, Harbour, Sandbox};

/// Returns a sandbox with a prepared competition, a valid submission, and files that cannot be graded.
fn sandbox() -> Sandbox {
    let sandbox = Harbour::prepared();
    let sample = sandbox.prepared(Harbour::ID);
    let sample = fs::read(sample.join("public/sample_submission.csv")).expect("the sample");
    sandbox.write("mine.csv", &sample);
    sandbox.write("mine.zip", &sample);
    sandbox.write("inner/mine.csv", &sample);
    for group in ["runs/a", "runs/b"] {
        sandbox.write(
            &format!("{group}/harbour_1/submission/submission.csv"),
            &sample,
        );
    }
    let text = String::from_utf8(sample).expect("text");
    let commas = |line: &str| line.strip_suffix(",0").map(|id| format!("{id},0,5\n"));
    let rows: String = text.lines().filter_map(commas).collect();
    for path in ["pipelines/alone.yml", "pipelines/short/pipeline.yml"] {
        sandbox.write(path, Harbour::PIPELINE);
    }
    sandbox.write("commas.csv", format!("id,docked\n{rows}"));
    sandbox
}

#[test]
fn grade_and_validate_report_the_same_cause() {
    let sandbox = sandbox();
    for (file, cause) in [
        ("none.csv", "Submission file none.csv does not exist"),
        (
            "inner",
            "Submission file inner is a directory or a device, not a file",
        ),
        ("mine.zip", "Submission file must be a CSV file"),
    ] {
        let graded = sandbox.prep(&["grade", Harbour::ID, file]).code(1);
        graded.stdout_has(&[&format!("invalid: {cause}")]);
        let report = sandbox
            .prep(&["grade", Harbour::ID, file, "--json"])
            .code(1);
        let report = report.competition();
        assert_eq!(report["reason"]["kind"], "no_submission", "{report}");
        assert_eq!(report["reason"]["message"], cause, "{report}");
        assert_eq!(report["submission_exists"], false, "{report}");
        let validated = sandbox.prep(&["validate", Harbour::ID, file]).code(1);
        assert_eq!(validated.stdout, format!("Submission invalid! {cause}.\n"));
    }
}

#[test]
fn frequent_mistakes_have_a_remedy() {
    let sandbox = sandbox();
    sandbox.pipeline("plain", Harbour::PIPELINE);
    fs::remove_file(sandbox.path("pipelines/plain/leaderboard.csv")).expect("the leaderboard");
    sandbox.bundle("plain", &Harbour::bundle(&Harbour::table()));
    sandbox.run_and_count_steps("plain");
    for (arguments, code, parts) in [
        (
            &["grade", "mine.csv"][..],
            2,
            &["no competition is named", "prep grade ID mine.csv"][..],
        ),
        (&["grade", "nowhere.CSV"], 2, &["prep grade ID nowhere.CSV"]),
        (
            &["grade", Harbour::ID, "mine.csv", "--source", "source"],
            2,
            &[
                "--source",
                "write the command without it, because this verb reads no bundles",
            ],
        ),
        (
            &["run", "sources/harbour.zip"],
            2,
            &[
                "there is no competition",
                "name the competition, `harbour`, then name the directory of bundles and other source files with --source",
            ],
        ),
        (
            &["grade", "mine.csv", Harbour::ID],
            2,
            &[
                "`mine.csv` is not a competition",
                "write `prep grade harbour mine.csv`",
            ],
        ),
        (
            &["validate", "mine.csv", Harbour::ID],
            2,
            &["write `prep validate harbour mine.csv`"],
        ),
        (
            &["grade", Harbour::ID, "mine.csv", "--data-dir", "no where"],
            4,
            &[
                "is not prepared",
                "run `prep run harbour --data-dir 'no where'`",
            ],
        ),
        (
            &["diff", Harbour::ID, "v1"],
            2,
            &["`prep diff harbour v1` needs two sides"],
        ),
        (
            &["diff", Harbour::ID],
            2,
            &["`prep diff harbour` needs two sides", "name two variants"],
        ),
        (
            &["diff", "v1", "fixed", Harbour::ID],
            2,
            &["write `prep diff harbour v1 fixed`"],
        ),
        (
            &["run", "random-acts-of-pizza", "--variant", "fixed:109"],
            2,
            &["the corrections of random-acts-of-pizza are 108"],
        ),
        (
            &["grade", "none.jsonl", "-o", "q"],
            4,
            &[
                "there is no file or directory `none.jsonl`",
                "SUBMISSIONS.jsonl",
            ],
        ),
        (&["run", "--light"], 2, &["write --lite"]),
        (&["run", "--set", "light"], 2, &["did you mean `lite`?"]),
        (
            &["run", "a", "b", "--set", "low,lihgt"],
            2,
            &["there is no set `lihgt`"],
        ),
        (
            &["run", "spaceship-titanic", "dog-breed-identification"],
            4,
            &["name the directory of bundles and other source files with --source"],
        ),
        (
            &["why", "public/train.csv"],
            2,
            &["put the id of the competition before the path of the file"],
        ),
        (
            &["why", Harbour::ID, "train.csv"],
            2,
            &["did you mean `public/train.csv`?"],
        ),
        (
            &["plan", "https://www.kaggle.com/competitions/harbour/data"],
            2,
            &["did you mean `harbour`?"],
        ),
        (
            &["run", "lab/unknown"],
            2,
            &[
                "there is no pack `lab`",
                "`prep pack add SOURCE` installs a pack",
            ],
        ),
        (
            // The answers of another pack may differ.
            &["run", "lab/harbour"],
            2,
            &["there is no pack `lab`"],
        ),
        (
            &["plan", "competitions/harbour"],
            2,
            &["did you mean `harbour`?"],
        ),
        (
            &["run", "alone"],
            2,
            &["pipelines/alone.yml is not read; rename it to `alone/pipeline.yaml`"],
        ),
        (
            &["run", "short"],
            2,
            &["pipelines/short/pipeline.yml is not read; rename it to `short/pipeline.yaml`"],
        ),
        (
            &["pipeline", "check", "pipelines/short"],
            2,
            &["pipelines/short/pipeline.yml is not read; rename it to `short/pipeline.yaml`"],
        ),
        (
            &["run", Harbour::ID, "--memory", "8"],
            2,
            &["`8` has no unit; write for example 8GB"],
        ),
        (
            &["grade", Harbour::ID, "mien.csv"],
            1,
            &["did you mean `mine.csv`?"],
        ),
        (
            &["validate", Harbour::ID, "inner/mine.cvs"],
            1,
            &["did you mean `inner/mine.csv`?"],
        ),
        (
            &["grade", Harbour::ID, "mine.zip"],
            1,
            &["unpack the file, and name the CSV file"],
        ),
        (
            &["grade", "runz", "-o", "r"],
            4,
            &[
                "there is no file or directory `runz`",
                "did you mean `runs`?",
            ],
        ),
        (
            &["grade", "runs/a", "runs/c", "-o", "r"],
            4,
            &["there is no file or directory `runs/c`"],
        ),
        (
            &["grade", "runs", "-o", "r"],
            4,
            &[
                "there is no run in runs",
                "runs contains run groups; write runs/*/",
            ],
        ),
        (
            &["grade", "runs/a", "commas.csv", "-o", "r"],
            2,
            &["commas.csv is a file, not a directory of runs", "runs/*/"],
        ),
        (
            &["grade", "runs/a/harbour_1", "-o", "r"],
            4,
            &["runs/a/harbour_1 is a run; name the directory of its run group"],
        ),
        // `runs` is an error even next to a valid run group. Otherwise, `prep` would leave out the groups in `runs`.
        (
            &["grade", "runs", "runs/a", "-o", "r"],
            4,
            &["runs contains run groups; write runs/*/"],
        ),
        (
            &["grade", "runs/", "-o", "r"],
            4,
            &["runs contains run groups; write runs/*/"],
        ),
        (
            &["list", "--memory", "0"],
            2,
            &["expected a size above 0, such as 8GB"],
        ),
        (
            &["grade", "inner", "-o", "r"],
            4,
            &[
                "there is no run in inner",
                "a run is a directory ID_anything",
            ],
        ),
        (
            &["list", "--lite"],
            0,
            &["22 competitions; 22 bundles have 158 GB in total"],
        ),
        (
            &["list", "--data-dir", "no where"],
            0,
            &["the data directory no where does not exist"],
        ),
        (
            &["run", Harbour::ID, "--remote", "/mnt/prep"],
            2,
            &["for a directory, write file:///mnt/prep"],
        ),
    ] {
        sandbox.prep(arguments).code(code).stderr_has(parts);
    }
    assert!(!sandbox.path("r").exists(), "a mistake writes no report");
    let commas = sandbox.prep(&["grade", Harbour::ID, "commas.csv"]).code(1);
    commas.stdout_has(&[
        "The rows have 3 fields, but the header has 2",
        "decimal point",
    ]);
    // Without a leaderboard, there is no median, but the metric has a direction.
    let graded = sandbox.prep(&["grade", "plain", "mine.csv"]).code(0);
    let row = graded.stdout.lines().nth(1).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[2..], ["higher", "-", "-", "valid"], "{row}");
    let graded = sandbox.prep(&["grade", Harbour::ID, "mine.csv"]).code(0);
    graded.stdout_has(&["bronze  yes"]);
}

#[test]
fn a_list_without_any_file_is_an_error_that_names_the_directory() {
    let sandbox = sandbox();
    let line = |path: &str| {
        format!(
            "{{\"competition_id\": \"{}\", \"submission_path\": \"{path}\"}}\n",
            Harbour::ID
        )
    };
    let root = sandbox.path("").canonicalize().expect("the sandbox");
    let place = format!("relative paths begin at {}", root.display());
    let grade = |list: String| {
        sandbox.write("list.jsonl", list);
        sandbox.prep(&["grade", "list.jsonl", "-o", "reports"])
    };
    grade(line("gone/a.csv") + &line("gone/b.csv"))
        .code(4)
        .stderr_has(&["none of 2 files exists", &place, "help: run the command in"]);
    grade(line("mine.csv") + &line("gone/b.csv"))
        .code(0)
        .stderr_has(&["1 of 2 files does not exist", &place]);
    grade(line("/gone/a.csv"))
        .code(4)
        .stderr_has(&["none of 1 file exists\n"]);
    // A run without a submission is a result, not a mistake in the list.
    let null = line("x").replace("\"x\"", "null");
    let ended = grade(null).code(0);
    assert!(!ended.stderr.contains("relative paths"), "{}", ended.stderr);
}

#[test]
fn list_shows_other_competitions_if_a_record_is_unreadable() {
    let sandbox = sandbox();
    sandbox.pipeline("second", Harbour::PIPELINE);
    // A directory cannot be read as a file, not even by root.
    fs::create_dir_all(sandbox.path("data/second/prepared.json")).expect("a directory");
    let listed = sandbox.prep(&["list", "harbour", "second"]).code(6);
    listed.stdout_has(&["prepared v1", "second", "unreadable: "]);
    let rows = sandbox
        .prep(&["list", "harbour", "second", "--json"])
        .code(6)
        .json();
    assert_eq!(rows["competitions"][0]["variants"][0], "v1", "{rows}");
    assert_eq!(rows["competitions"][1]["state"], "unreadable", "{rows}");
    // A competition whose pipeline has mistakes is listed with its state, too.
    sandbox.pipeline(Harbour::ID, "name: [");
    let listed = sandbox.prep(&["list", "harbour"]).code(0);
    listed.stdout_has(&["its pipeline has mistakes"]);
}

#[test]
fn summaries_of_a_few_runs_show_their_competitions() {
    let sandbox = Sandbox::new();
    sandbox.prep(&["demo"]).code(0);
    let reports = ["summarize", "prep-demo/reports"];
    let with = |more: &[&str]| sandbox.prep(&[&reports[..], more].concat());
    let ended = with(&[]).code(0);
    let ended = ended.stdout_has(&["graded competitions  "]);
    let ended = ended.stderr_has(&[
        "no figures for `low`, `medium`, `high`, `all`, because competitions of these sets lack graded runs",
        "--pad-missing",
    ]);
    assert!(!ended.stderr.contains("error"), "{}", ended.stderr);
    let ended = with(&["--per-competition"]).code(0);
    ended.stdout_has(&["competition", "random-acts-of-pizza"]);
    let found = with(&["--json"]).code(0).json();
    assert!(found["experiments"][0]["sets"][0]["error"]["message"].is_string());
    // A requested set without figures is an error.
    let ended = with(&["--set", "low"]).code(4);
    let ended = ended.stderr_has(&["error: no figures for `low`", "--per-competition"]);
    let count = ended.stderr.matches("--pad-missing").count();
    assert_eq!(count, 1, "{}", ended.stderr);
    sandbox
        .prep(&[&reports[..], &["--pad-missing"]].concat())
        .code(0);
}

/// One warning names the competitions whose scores cannot be compared with those of the benchmark.
#[test]
fn summaries_state_which_scores_are_not_comparable() {
    let sandbox = Sandbox::new();
    let entry = |id: &str, is_comparable: bool| {
        format!(
            r#"{{"competition_id": "{id}", "score": 0.5, "gold_medal": true, "silver_medal": false, "bronze_medal": false, "above_median": true, "submission_exists": true, "valid_submission": true, "comparable_with_v1": {is_comparable}}}"#
        )
    };
    let (good, other, own) = (
        "spaceship-titanic",
        "nomad2018-predict-transparent-conductors",
        "harbour",
    );
    let entries = [entry(good, true), entry(other, false), entry(own, false)].join(", ");
    let report = format!(r#"{{"competition_reports": [{entries}]}}"#);
    sandbox.write("grading_report.json", report);
    for format in [
        &["--per-competition"][..],
        &["--format", "csv", "--set", "own"],
        &["--json"],
    ] {
        let arguments = [&["summarize", "grading_report.json"], format].concat();
        let ended = sandbox.prep(&arguments).code(0);
        let warning = format!("scores of {other} cannot be compared with those of MLE-bench");
        let is_other = format.contains(&"own");
        assert_eq!(
            ended.stderr.contains(&warning),
            !is_other,
            "{}",
            ended.stderr
        );
    }
    let json = sandbox
        .prep(&["summarize", "grading_report.json", "--json"])
        .json();
    let competitions = json["experiments"][0]["competitions"]
        .as_array()
        .expect("a list");
    let counts = competitions
        .iter()
        .map(|one| one["not_comparable"].as_u64());
    assert_eq!(counts.collect::<Vec<_>>(), [Some(1), Some(1), Some(0)]);
}

/// Runs the commands that the demo prints, in its directory.
#[test]
fn the_commands_that_the_demo_prints_work() {
    let sandbox = Sandbox::new();
    let printed = sandbox.prep(&["demo"]).code(0).stderr;
    let commands: Vec<&str> = printed
        .lines()
        .filter_map(|line| {
            line.split_once("cd prep-demo && prep ")
                .map(|(_, words)| words)
        })
        .collect();
    assert_eq!(commands.len(), 4, "{printed}");
    for words in commands {
        let words = words.replace("FILE.csv", "submissions/ID/better.csv");
        let id = words
            .split(' ')
            .find(|word| word.contains("-identification"));
        let words = words.replace("/ID/", &format!("/{}/", id.unwrap_or_default()));
        let mut command = sandbox.command(&words.split(' ').collect::<Vec<_>>());
        // The demo's prep.toml names its directories.
        command
            .env_remove("PREP_CACHE_DIR")
            .env_remove("MLE_BENCH_DATA_DIR");
        let ended =
            crate::support::CommandResult::of(command.current_dir(sandbox.path("prep-demo")));
        let ended = ended.code(0);
        if words.starts_with("why") {
            ended.stdout_has(&["it last ran because"]);
        } else if words.starts_with("grade submissions") {
            // Several runs have the same reason, but there is only one warning.
            let count = ended.stderr.matches("cannot be compared with").count();
            assert_eq!(count, 1, "{}", ended.stderr);
            ended.stdout_has(&["9 runs: 8 valid"]);
        }
    }
}

/// The options of the last run are lost with their record, so a plain `prep run` would not find the bundle.
#[test]
fn the_advice_after_a_lost_record_names_its_options() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.run(Harbour::ID).code(0);
    sandbox.write("data/harbour/prepared.json", "");
    let ended = sandbox.prep(&["digest", Harbour::ID]).code(4);
    ended.stderr_has(&[
        "prepared.json` is damaged",
        "run `prep run harbour` with the options of the last run, such as --source",
    ]);
}

/// The library that verifies certificates ignores files and directories that it cannot use, so `prep` checks them first.
#[test]
fn unusable_certificates_are_an_error() {
    let sandbox = Sandbox::new();
    let empty = sandbox.write("empty.pem", "");
    fs::create_dir(sandbox.path("certificates")).expect("a directory");
    sandbox.write("certificates/readme", "");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let broken = sandbox.write("broken.pem", broken);
    let truncated = sandbox.write("truncated.pem", "-----BEGIN CERTIFICATE-----");
    for (variable, path, reason) in [
        (
            "SSL_CERT_FILE",
            sandbox.path("gone.pem"),
            "cannot be read: No such file",
        ),
        ("SSL_CERT_FILE", empty, "contains no valid certificate"),
        ("SSL_CERT_FILE", broken, "contains no valid certificate"),
        ("SSL_CERT_FILE", truncated, "contains no valid certificate"),
        (
            "SSL_CERT_DIR",
            sandbox.path("gone"),
            "cannot be read: No such file",
        ),
        (
            "SSL_CERT_DIR",
            sandbox.path("certificates"),
            "contains no valid certificate",
        ),
    ] {
        for words in [
            "fetch spaceship-titanic",
            "doctor --remote s3://bucket/team",
            "doctor --offline",
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let mut command = sandbox.command(&words);
            command.env("KAGGLE_API_TOKEN", "token");
            command.env(variable, &path);
            let ended = CommandResult::of(&mut command).code(2);
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            let named = format!("{variable} names {}, which {reason}", path.display());
            assert!(shown.contains(&named), "{shown}");
            assert!(shown.contains(&format!("unset {variable}")), "{shown}");
            let help = format!("set {variable} to directories");
            assert_eq!(shown.contains(&help), variable == "SSL_CERT_DIR", "{shown}");
        }
    }
}

/// `prep doctor` reports missing directories and unexpanded paths of settings.
#[test]
fn doctor_checks_the_directories_of_settings() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("loop", sandbox.path("loop")).expect("a link");
    let doctor = |variable: &str, value: &str| {
        let mut command = sandbox.command(&["doctor", "--offline"]);
        CommandResult::of(
            command
                .env("KAGGLE_API_TOKEN", "token")
                .env(variable, value),
        )
    };
    for name in ["source", "descriptions", "packs"] {
        let variable = format!("PREP_{}", name.to_uppercase());
        let found = doctor(&variable, "missing").code(4);
        found.stdout_has(&[&format!("missing ({variable}) is not a directory")]);
        let found = doctor(&variable, "loop").code(6);
        found.stdout_has(&["cannot read the directory", "loop: Too many levels of"]);
    }
    for path in ["$HOME/x", "~user/x"] {
        let found = doctor("PREP_SOURCE", path).code(2);
        let row = format!("`source` is `{path}` (PREP_SOURCE), but prep expands no variables");
        found.stdout_has(&[&row, "open files"]);
    }
    let found = doctor("PREP_MEMORY", "lots").code(2);
    found.stdout_has(&[
        "settings     error       PREP_MEMORY is `lots`",
        "open files",
    ]);
    let found = doctor("PREP_CACHE_DIR", "/proc/nope").code(6);
    found.stdout_has(&["cache: use another", "an unknown amount free for the cache"]);
    sandbox.write("prep.toml", "source = \"\"\n");
    let found = doctor("A", "b").code(2);
    let found = found.stdout_has(&["prep.toml:1: `source` is empty", "open files"]);
    assert_eq!(found.stdout.matches("is empty").count(), 1);
}

/// An error about the value of a setting names the file and the line, or the variable.
#[test]
fn a_wrong_setting_is_reported_with_its_place() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("prep.toml");
    let remote = "[remote]\nurl = \"foo://a\"";
    for (lines, verb, code, before, line) in [
        ("pipelines = \"gone\"", "list", 4, "gone (", 2),
        ("source = \"gone\"", "plan", 4, "gone (", 2),
        ("descriptions = \"gone\"", "plan", 4, "gone (", 2),
        ("cache_dir = \"$A/b\"", "list", 2, "$A/b` (", 2),
        (remote, "plan", 2, "(set in ", 3),
        (remote, "config", 2, "(set in ", 3),
    ] {
        sandbox.write("prep.toml", format!("# comment\n{lines}\n"));
        let words = match verb {
            "plan" => vec!["plan", "spaceship-titanic"],
            _ => vec![verb],
        };
        let mut command = sandbox.command(&words);
        // Variables have precedence over files.
        command
            .env_remove("PREP_PIPELINES")
            .env_remove("PREP_CACHE_DIR");
        let ended = CommandResult::of(&mut command).code(code);
        ended.stderr_has(&[&format!("{before}{}:{line}", file.display())]);
    }
    sandbox.write("prep.toml", "");
    let mut command = sandbox.command(&["list"]);
    let ended = CommandResult::of(command.env("PREP_STATUS_SECONDS", "abc")).code(2);
    ended.stderr_has(&["PREP_STATUS_SECONDS is `abc`: expected an integer"]);
}

/// `prep doctor` checks directories without creating them.
#[test]
fn doctor_creates_no_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("prep.toml", "");
    let found = sandbox.prep(&[
        "doctor",
        "--offline",
        "--data-dir",
        "a/b",
        "--cache-dir",
        "a/c",
    ]);
    found.stdout_has(&["a/b, locks work", "a/c, locks work", "hard links"]);
    assert!(!sandbox.path("a").exists());
    let file = format!("file://{}", sandbox.path("prep.toml").display());
    let found = sandbox.prep(&["doctor", "--remote", &file, "--offline"]);
    found.stdout_has(&["it is a file, not a directory"]);
    let found = sandbox.prep(&["doctor", "--offline", "--data-dir", "/proc/x"]);
    found.code(6).stdout_has(&["data: use another directory"]);
    let mut command = sandbox.command(&["doctor", "--offline"]);
    command
        .env("MLE_BENCH_DATA_DIR", "/proc/x")
        .env("PREP_REMOTE", &file);
    let place = "No such file or directory (set in MLE_BENCH_DATA_DIR)";
    let remote = "it is a file, not a directory (set in PREP_REMOTE)";
    CommandResult::of(&mut command)
        .code(8)
        .stdout_has(&[place, remote]);
}

/// The certificate of an authority without a known private key.
const AUTHORITY: &str = include_str!("authority.txt");

/// Without a request, `doctor` cannot know whether a proxy or credentials work.
#[test]
fn doctor_marks_settings_that_no_request_has_used() {
    let sandbox = Sandbox::new();
    let doctor = |proxy: &str| {
        let mut command = sandbox.command(&["doctor", "--offline"]);
        command
            .env("KAGGLE_API_TOKEN", "token")
            .env("HTTPS_PROXY", proxy);
        CommandResult::of(&mut command)
    };
    let found = doctor("http://127.0.0.1:9").code(0);
    found.stdout_has(&[
        "credentials  unverified  KAGGLE_API_TOKEN",
        "proxy        unverified  http://127.0.0.1:9 (HTTPS_PROXY)",
    ]);
    for (value, code, row) in [
        (
            "http://127.0.0.1:9",
            0,
            "unverified  http://127.0.0.1:9 (KAGGLE_API_ENDPOINT)",
        ),
        (
            "kaggle",
            2,
            "error       KAGGLE_API_ENDPOINT is `kaggle`, which does",
        ),
    ] {
        let mut command = sandbox.command(&["doctor", "--offline"]);
        command
            .env("KAGGLE_API_TOKEN", "token")
            .env("KAGGLE_API_ENDPOINT", value);
        CommandResult::of(&mut command)
            .code(code)
            .stdout_has(&[row]);
        let mut command = sandbox.command(&["config"]);
        let ended = CommandResult::of(command.env("KAGGLE_API_ENDPOINT", value)).code(0);
        ended.stdout_has(&["kaggle.endpoint", "KAGGLE_API_ENDPOINT"]);
    }
    let pem = sandbox.write("authority.pem", AUTHORITY);
    for (verb, row) in [("config", "certificates"), ("doctor", "certificates  ok")] {
        let mut command = sandbox.command(&[verb]);
        command.args((verb == "doctor").then_some("--offline"));
        command.env("KAGGLE_API_TOKEN", "token");
        command.env("HTTPS_PROXY", "http://user:hush@127.0.0.1:9");
        let found = CommandResult::of(command.env("SSL_CERT_FILE", &pem)).code(0);
        let pem = pem.display().to_string();
        found.stdout_has(&[
            "proxy",
            "http://127.0.0.1:9",
            "HTTPS_PROXY",
            row,
            &pem,
            "SSL_CERT_FILE",
        ]);
    }
    let found = doctor("socks5://127.0.0.1:9").code(2);
    found.stdout_has(&["SOCKS proxies are not supported"]);
}

/// An option that has no effect in a form of the command is an error.
#[test]
fn options_without_an_effect_are_errors() {
    let sandbox = sandbox();
    let entry = format!(
        "{{\"competition_id\": \"{}\", \"submission_path\": \"mine.csv\"}}\n",
        Harbour::ID
    );
    sandbox.write("list.jsonl", entry);
    sandbox.write("mine.txt", format!("{}\n", Harbour::ID));
    sandbox.prep(&["grade", "runs/a", "-o", "graded"]).code(0);
    for (arguments, needed) in [
        (
            &["grade", "runs/a", "-o", "q", "--answers", "none.csv"][..],
            "`--answers` needs a single submission",
        ),
        (
            &["grade", "list.jsonl", "-o", "q", "--answers", "none.csv"],
            "`--answers` needs a single submission",
        ),
        (
            &["grade", "runs/a", "-o", "q", "--reward", "r.json"],
            "`--reward` needs a single submission",
        ),
        (
            &["grade", "list.jsonl", "-o", "q", "--list"],
            "`--list` needs directories of runs",
        ),
        (
            &["grade", Harbour::ID, "mine.csv", "--list", "-o", "q"],
            "`--list` needs directories of runs",
        ),
        (
            &["grade", Harbour::ID, "mine.csv", "--score", "0.1"],
            "`--score` needs an ID without a submission",
        ),
        (
            &["grade", "list.jsonl", "-o", "q", "--score", "3"],
            "`--score` needs an ID without a submission",
        ),
        (
            &[
                "grade",
                Harbour::ID,
                "mine.csv",
                "--answers",
                "mine.csv",
                "--variant",
                "fixed",
            ],
            "`--variant` needs a single submission without --answers",
        ),
        (
            &["grade", Harbour::ID, "--sign", "key"],
            "`--sign` needs a single submission",
        ),
        (
            &[
                "validate",
                Harbour::ID,
                "mine.csv",
                "--leaderboard",
                "none.csv",
            ],
            "--leaderboard needs --answers",
        ),
        (
            &[
                "validate",
                Harbour::ID,
                "mine.csv",
                "--answers",
                "mine.csv",
                "--identity",
                "i",
            ],
            "`--identity` needs a single submission without --answers",
        ),
        (
            &["summarize", "graded", "--experiment", "mine"],
            "`--experiment` needs --groups",
        ),
        (
            &["summarize", "graded", "--runs", "runs"],
            "`--runs` needs --groups",
        ),
        (
            &["summarize", "--groups", "table.csv", "--name", "mine"],
            "`--name` needs reports as operands",
        ),
        (
            &["summarize", "graded", "--budget", "b.yaml"],
            "`--budget` needs --format markdown or --json",
        ),
        (
            &["grade", Harbour::ID, "-"],
            "reads no submission from stdin",
        ),
        (&["grade", "-", "-o", "q"], "reads no submission from stdin"),
    ] {
        let ended = sandbox.prep(arguments).code(2);
        ended.stderr_has(&[needed]);
        assert!(!sandbox.path("q").exists(), "{arguments:?}");
    }
}

#[test]
fn variants_without_a_correction_are_the_same() {
    let ended = sandbox()
        .prep(&["diff", Harbour::ID, "v1", "fixed"])
        .code(0);
    let same = "pipeline: `v1` and `fixed` of harbour are the same\n";
    assert_eq!(ended.stdout, same);
}

/// If the pipeline changed after the last run, a warning names the change. A new comment is not such a change.
#[test]
fn data_of_a_changed_pipeline_have_a_warning() {
    let sandbox = sandbox();
    let change = " changed since the data were prepared: `prep why harbour` shows the changes";
    let metric = Harbour::PIPELINE.replace("accuracy: docked", "balanced_accuracy: docked");
    let rule = Harbour::PIPELINE.replace("    - same_rows\n", "");
    for (pipeline, is_changed) in [
        (format!("# A comment.\n{}", Harbour::PIPELINE), false),
        (metric, true),
        (rule, true),
        (Harbour::PIPELINE.replace("seed: 0", "seed: 1"), true),
    ] {
        sandbox.pipeline(Harbour::ID, &pipeline);
        for arguments in [
            &["grade", Harbour::ID, "mine.csv"][..],
            &["validate", Harbour::ID, "mine.csv"],
            &["leaks", Harbour::ID],
            &["list", Harbour::ID],
        ] {
            let ended = sandbox.prep(arguments);
            let text = format!("{}{}", ended.stdout, ended.stderr);
            assert_eq!(text.contains(change), is_changed, "{arguments:?}: {text}");
        }
    }
    sandbox.run_and_count_steps(Harbour::ID);
    let ended = sandbox.prep(&["list", Harbour::ID]).code(0);
    assert!(!ended.stdout.contains(change), "{}", ended.stdout);
    fs::remove_file(sandbox.prepared(Harbour::ID).join("private/test.csv")).expect("the answers");
    let ended = sandbox.prep(&["leaks", Harbour::ID]).code(4);
    ended.stderr_has(&["cannot read the prepared file", "run `prep run harbour`"]);
}

/// Equal texts of two lists do not mean equal lists.
#[test]
fn a_list_differs_from_another_division_of_its_text() {
    let sandbox = Sandbox::new();
    let pipeline = |texts: &str| {
        let lists = format!("lists: {{ places: [{texts}] }}\n\ntables:\n");
        Harbour::PIPELINE.replace("tables:\n", &lists)
    };
    sandbox.write("a/pipeline.yaml", pipeline("Earth, 'Mars, Europa'"));
    sandbox.write("b/pipeline.yaml", pipeline("'Earth, Mars', Europa"));
    let ended = sandbox.prep(&["diff", "a/pipeline.yaml", "b/pipeline.yaml"]);
    ended.code(1).stdout_has(&[r#"["Earth","Mars, Europa"]"#]);
}

/// A plan leaves out the competitions that a run leaves out.
#[test]
fn plans_leave_out_unavailable_competitions() {
    let sandbox = sandbox();
    let ids = [
        Harbour::ID,
        "spaceship-titanic",
        "leaf-classification",
        "spooky-author-identification",
        "dogs-vs-cats-redux-kernels-edition",
        "random-acts-of-pizza",
        "aerial-cactus-identification",
    ];
    for verb in [&["plan"][..], &["run", "--dry-run"]] {
        let arguments = [verb, &ids, &["--source", "source", "--available"]].concat();
        let ended = sandbox.prep(&arguments).code(0);
        assert!(!ended.stdout.contains("spaceship"), "{}", ended.stdout);
        ended.stderr_has(&[
            "6 competitions left out because a bundle or source is missing: ",
            " and 1 more",
        ]);
        let arguments = [&arguments[..], &["--json"]].concat();
        let left_out = sandbox.prep(&arguments).code(0).json()["left_out"].clone();
        assert_eq!(left_out.as_array().map(Vec::len), Some(6), "{left_out}");
    }
}

#[test]
fn equal_errors_of_many_competitions_are_short() {
    let ended = Sandbox::new().prep(&["digest", "--lite"]).code(4);
    let ended = ended.stderr_has(&[
        "error: 19 other competitions with the same error: ",
        " and 14 more",
    ]);
    assert!(ended.stderr.lines().count() < 10, "{}", ended.stderr);
}

/// A plan reports a missing bundle with the error and the exit code of the run.
#[test]
fn plan_and_run_report_the_same_missing_bundle() {
    let sandbox = Sandbox::new();
    for id in [Harbour::ID, "quay"] {
        sandbox.pipeline(id, Harbour::PIPELINE);
    }
    let errors = |verb: &str, ids: &[&str]| {
        let options = [&[verb, "--source", "source"], ids].concat();
        let ended = sandbox.prep(&options).code(4);
        let error = ended.stderr.find("error: ").expect("an error");
        ended.stderr[error..].to_owned()
    };
    let same = |ids: &[&str]| {
        let (plan, run) = (errors("plan", ids), errors("run", ids));
        assert_eq!(plan, run);
        plan
    };
    let ids = [Harbour::ID, "quay"];
    assert!(same(&ids[..1]).contains("looked for source/harbour.zip, source/harbour/harbour.zip"));
    assert!(same(&ids).contains("2 bundles cannot be downloaded: no Kaggle credentials"));
    for (file, remedy) in [
        (
            "source/Harbor.zip",
            "if source/Harbor.zip is the bundle, rename it to harbour.zip",
        ),
        (
            "source/harbour/train.csv",
            "source/harbour is a directory, but a bundle is one file",
        ),
    ] {
        sandbox.write(file, "");
        let error = same(&ids[..1]);
        assert!(error.contains(remedy), "{error}");
    }
    let plan = sandbox.prep(&["plan", Harbour::ID, "--json"]).code(4);
    let error = &plan.competition()["download"]["error"];
    assert_eq!(error["message"], "no Kaggle credentials");
    // The user requested that nothing is downloaded.
    sandbox
        .prep(&["plan", Harbour::ID, "--no-download"])
        .code(0);
}

/// Without a published checksum, only the archive itself shows that it is truncated.
#[test]
fn a_truncated_bundle_stays_unusable_after_a_failed_run() {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let bundle = Harbour::bundle(&Harbour::table());
    sandbox.bundle(Harbour::ID, &bundle[..bundle.len() / 2]);
    let plan = || {
        let ended = sandbox.prep(&["plan", Harbour::ID, "--source", "source"]);
        ended.code(4).stdout_has(&["the bundle cannot be used: "]);
    };
    plan();
    let ended = sandbox.run(Harbour::ID).code(4);
    let failure = &ended.competition()["failures"][0];
    assert_eq!(failure["step"], "bundle", "{failure}");
    assert_eq!(
        failure["help"], "delete the file, and download it again",
        "{failure}"
    );
    plan();
}
