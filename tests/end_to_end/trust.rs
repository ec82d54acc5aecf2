//! Tests signed reports, the log of gradings and sealed answers with a table of attacks.

use std::fs;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::serve::{Serving, multipart, post};
use crate::support::{CommandResult, Harbour, Sandbox};

const SAMPLE: &str = "data/harbour/prepared/public/sample_submission.csv";
const ANSWERS: &str = "data/harbour/prepared/private/test.csv";
const LOG: &str = "data/grades.jsonl";

/// A prepared competition, the keys `grader` and `other`, and three signed reports.
struct World {
    sandbox: Sandbox,
    grader: String,
    /// The text of each report, in the order of the gradings.
    reports: Vec<String>,
}

impl World {
    fn new() -> World {
        let sandbox = Harbour::prepared();
        let key = |name| sandbox.prep(&["remote", "key", "new", name]).code(0).stdout;
        let grader = key("grader").trim().to_owned();
        key("other");
        let mut world = World {
            sandbox,
            grader,
            reports: Vec::new(),
        };
        for _ in 0..3 {
            let report = world.grade("grader", SAMPLE);
            world.reports.push(report);
        }
        world
    }

    fn grade(&self, key: &str, submission: &str) -> String {
        let arguments = ["grade", Harbour::ID, submission, "--json", "--sign", key];
        self.sandbox.prep(&arguments).code(0).stdout
    }

    /// Returns the signed report of a list of two submissions.
    fn list(&self) -> Value {
        let line =
            json!({ "competition_id": Harbour::ID, "submission_path": SAMPLE }).to_string() + "\n";
        self.sandbox.write("list.jsonl", line.repeat(2));
        let arguments = ["grade", "list.jsonl", "-o", "listed", "--sign", "grader"];
        self.sandbox.prep(&arguments).code(0);
        let written = fs::read_dir(self.sandbox.path("listed"))
            .expect("a directory")
            .next();
        let path = written.expect("a report").expect("an entry").path();
        let list: Value = serde_json::from_slice(&fs::read(path).expect("a report")).expect("JSON");
        self.verify(&list.to_string(), &[]).code(1);
        list
    }

    fn verify(&self, report: &str, further: &[&str]) -> CommandResult {
        self.sandbox.write("report.json", report);
        let arguments = ["verify-report", "report.json", "--key", &self.grader];
        self.sandbox.prep(&[&arguments, further].concat())
    }

    /// Verifies a report after a change of one value.
    fn changed(&self, pointer: &str, value: Value) -> CommandResult {
        let mut report: Value = serde_json::from_str(&self.reports[0]).expect("JSON");
        let place = report.pointer_mut(&format!("/competitions/0{pointer}"));
        *place.expect(pointer) = value;
        self.verify(&report.to_string(), &[])
    }

    /// Verifies a report with a log whose lines `edit` changes.
    fn edited(&self, report: usize, edit: impl Fn(&mut Vec<String>)) -> CommandResult {
        let log = fs::read_to_string(self.sandbox.path(LOG)).expect("a log");
        let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
        edit(&mut lines);
        self.sandbox.write("edited.jsonl", lines.join("\n") + "\n");
        self.verify(&self.reports[report], &["--log", "edited.jsonl"])
    }
}

/// A name, the attack, the exit code, and a part of the output.
struct Attack(&'static str, fn(&World) -> CommandResult, i32, &'static str);

/// Attacks on reports and on the log. Honest reports also have the exit code 1, because scores of the user's own
/// competition are not comparable with upstream's.
const ATTACKS: &[Attack] = &[
    Attack(
        "none",
        |w| w.verify(&w.reports[2], &["--log", LOG]),
        1,
        "grading number 3 of this competition",
    ),
    Attack(
        "score",
        |w| w.changed("/score", json!(0.99)),
        5,
        "was changed",
    ),
    Attack(
        "medal",
        |w| w.changed("/gold_medal", json!(true)),
        5,
        "was changed",
    ),
    Attack(
        "variant",
        |w| w.changed("/variant", json!("v1")),
        5,
        "was changed",
    ),
    Attack(
        "comparable",
        |w| w.changed("/not_comparable_because", json!([])),
        5,
        "was changed",
    ),
    Attack(
        "number of gradings",
        |w| w.changed("/log/earlier", json!(7)),
        5,
        "was changed",
    ),
    Attack(
        "unlogged",
        |w| w.changed("/log", Value::Null),
        5,
        "was changed",
    ),
    Attack(
        "time",
        |w| w.changed("/created_at", json!("2020-01-01")),
        5,
        "was changed",
    ),
    Attack(
        "program",
        |w| w.changed("/program", json!("9.9")),
        5,
        "was changed",
    ),
    Attack(
        "digest of the submission",
        |w| w.changed("/digests/submission", json!("sha256:0")),
        5,
        "was changed",
    ),
    Attack(
        "digest of the answers",
        |w| w.changed("/digests/answers", json!("sha256:0")),
        5,
        "was changed",
    ),
    Attack(
        "digest of the pipeline",
        |w| w.changed("/digests/pipeline", json!("sha256:0")),
        5,
        "was changed",
    ),
    Attack(
        "no signature",
        |w| w.changed("/signature", Value::Null),
        5,
        "malformed",
    ),
    Attack(
        "replayed signature",
        |w| {
            let other: Value = serde_json::from_str(&w.reports[1]).expect("JSON");
            w.changed("/signature", other["competitions"][0]["signature"].clone())
        },
        5,
        "was changed",
    ),
    Attack(
        "key of another",
        |w| w.verify(&w.grade("other", SAMPLE), &[]),
        5,
        "not trusted",
    ),
    Attack(
        "key of the grader in the signature of another",
        |w| {
            let report: Value = serde_json::from_str(&w.grade("other", SAMPLE)).expect("JSON");
            let mut signature = report["competitions"][0]["signature"].clone();
            signature["key"] = json!(w.grader);
            let mut report = report;
            report["competitions"][0]["signature"] = signature;
            w.verify(&report.to_string(), &[])
        },
        5,
        "was changed",
    ),
    Attack(
        "repeated key",
        |w| {
            let report =
                w.reports[0].replace("\"score\":", "\"score\": 0.99, \"_\": 0, \"score\":");
            w.verify(&report, &[])
        },
        4,
        "occurs twice",
    ),
    Attack(
        "entry left out of a list",
        |w| {
            let id = "{\"competition_id\": \"harbour\", \"submission_path\": \"";
            w.sandbox
                .write("list.jsonl", format!("{id}{SAMPLE}\"}}\n").repeat(2));
            let arguments = ["grade", "list.jsonl", "-o", "reports", "--sign", "grader"];
            w.sandbox.prep(&arguments).code(0);
            let path = fs::read_dir(w.sandbox.path("reports"))
                .expect("reports")
                .next();
            let text = fs::read_to_string(path.expect("a report").expect("a report").path());
            let mut list: Value = serde_json::from_str(&text.expect("text")).expect("JSON");
            w.verify(&list.to_string(), &[]).code(1);
            list["competition_reports"]
                .as_array_mut()
                .expect("a list")
                .pop();
            w.verify(&list.to_string(), &[])
        },
        5,
        "the list of reports",
    ),
    Attack(
        "other answers",
        |w| {
            let published =
                fs::read_to_string(w.sandbox.data().join("prep.lock")).expect("a lock file");
            w.sandbox.write("published.lock", published);
            let text = Harbour::PIPELINE.replace("seed: 0", "seed: 1");
            w.sandbox.pipeline(Harbour::ID, &text);
            w.sandbox.run_and_count_steps(Harbour::ID);
            w.verify(&w.grade("grader", SAMPLE), &["--lock", "published.lock"])
        },
        5,
        "answers: graded with",
    ),
    Attack(
        "other rules",
        |w| {
            w.sandbox.write(
                "published.lock",
                fs::read(w.sandbox.data().join("prep.lock")).expect("a lock file"),
            );
            let text = Harbour::PIPELINE.replace("    - same_rows\n", "");
            w.sandbox.pipeline(Harbour::ID, &text);
            w.verify(&w.grade("grader", SAMPLE), &["--lock", "published.lock"])
        },
        5,
        "rules: graded with",
    ),
    Attack(
        "answers as submission",
        |w| w.verify(&w.grade("grader", ANSWERS), &[]),
        1,
        "identical to the answers",
    ),
    Attack(
        "removed line",
        |w| w.edited(2, |lines| drop(lines.remove(1))),
        5,
        "lines before line 2 were removed (removed lines: 1)",
    ),
    Attack(
        "changed line",
        |w| w.edited(2, |lines| lines[0] = lines[0].replace("harbour", "other")),
        5,
        "line 1 was changed",
    ),
    Attack(
        "changed last line",
        |w| w.edited(2, |lines| lines[2] = lines[2].replace("harbour", "other")),
        5,
        "is not the hash in the report",
    ),
    Attack(
        "moved lines",
        |w| w.edited(2, |lines| lines.swap(0, 1)),
        5,
        "was moved or inserted",
    ),
    Attack(
        "inserted line",
        |w| w.edited(2, |lines| lines.insert(1, "{}".to_owned())),
        5,
        "line 2 is not part of the chain",
    ),
    Attack(
        "cut log",
        |w| w.edited(2, |lines| lines.truncate(2)),
        5,
        "the log was cut",
    ),
    Attack(
        "log that was cut after the report",
        |w| w.edited(0, |lines| lines.truncate(1)),
        1,
        "grading number 1 of",
    ),
    Attack(
        "another log",
        |w| {
            fs::remove_file(w.sandbox.path(LOG)).expect("removed");
            w.grade("grader", SAMPLE);
            w.verify(&w.reports[0], &["--log", LOG])
        },
        5,
        "belongs to a different log",
    ),
    Attack(
        "two logs",
        |w| {
            fs::remove_file(w.sandbox.path(LOG)).expect("removed");
            w.sandbox.write("second.json", w.grade("grader", SAMPLE));
            w.verify(&w.reports[2], &["second.json"])
        },
        1,
        "belong to 2 logs",
    ),
    Attack(
        "log that an earlier version began",
        |w| {
            let old = "{\"competition\":\"harbour\",\"score\":0.5}\n";
            w.sandbox.write(LOG, old.repeat(2));
            w.verify(&w.grade("grader", SAMPLE), &["--log", LOG])
        },
        1,
        "the log has no hash chain in its first 2 lines",
    ),
    Attack(
        "log whose old lines were changed",
        |w| {
            let old = "{\"competition\":\"harbour\",\"score\":0.5}\n";
            w.sandbox.write(LOG, old.repeat(2));
            let report = w.grade("grader", SAMPLE);
            let log = fs::read_to_string(w.sandbox.path(LOG)).expect("a log");
            w.sandbox.write(LOG, log.replacen("0.5", "0.1", 1));
            w.verify(&report, &["--log", LOG])
        },
        5,
        "line 2 was changed",
    ),
    Attack(
        "not logged, verified with the log",
        |w| {
            let arguments = [
                "grade",
                Harbour::ID,
                SAMPLE,
                "--json",
                "--no-log",
                "--sign",
                "grader",
            ];
            let report = w.sandbox.prep(&arguments).code(0).stdout;
            w.verify(&report, &["--log", LOG])
        },
        5,
        "the report was not logged",
    ),
    Attack(
        "list whose signature and one entry were removed",
        |w| {
            let mut list = w.list();
            list.as_object_mut().expect("an object").remove("signature");
            list["competition_reports"]
                .as_array_mut()
                .expect("a list")
                .pop();
            list["total_gold_medals"] = json!(7);
            w.verify(&list.to_string(), &[])
        },
        5,
        "the list of reports is not signed",
    ),
    Attack(
        "log that cannot be written",
        |w| {
            fs::remove_file(w.sandbox.path(LOG)).expect("removed");
            fs::create_dir(w.sandbox.path(LOG)).expect("a directory");
            let grade = ["grade", Harbour::ID, SAMPLE, "--json"];
            let unsigned = w.sandbox.prep(&grade).code(0);
            unsigned.stderr_has(&["warning", "the log is not a regular file"]);
            w.sandbox
                .prep(&[&grade[..], &["--sign", "grader"]].concat())
        },
        6,
        "--no-log",
    ),
    Attack(
        "not logged",
        |w| {
            let arguments = [
                "grade",
                Harbour::ID,
                SAMPLE,
                "--json",
                "--no-log",
                "--sign",
                "grader",
            ];
            let report = w.sandbox.prep(&arguments).code(0).stdout;
            w.verify(&report, &[])
        },
        1,
        "the number of gradings is unknown",
    ),
];

#[test]
fn attacks_on_reports_and_logs_are_found_or_visible() {
    let mut world = World::new();
    let mut wrong = Vec::new();
    for Attack(name, attack, code, message) in ATTACKS {
        if name.starts_with("other ") || name.contains("log") {
            world = World::new();
        }
        let ended = attack(&world);
        let output = format!("{}{}", ended.stdout, ended.stderr);
        if ended.code != Some(*code) || !output.contains(message) {
            wrong.push(format!("{name}: {ended:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A validation adds no line to the log of gradings.
#[test]
fn validation_is_not_a_grading() {
    let world = World::new();
    let before = fs::read(world.sandbox.path(LOG)).expect("a log");
    world
        .sandbox
        .prep(&["validate", Harbour::ID, SAMPLE])
        .code(0);
    assert_eq!(fs::read(world.sandbox.path(LOG)).expect("a log"), before);
}

/// Without `--output` and `--json`, nothing would contain the signature.
#[test]
fn a_signature_needs_a_report() {
    let world = World::new();
    let grade = ["grade", Harbour::ID, SAMPLE, "--sign", "grader"];
    let ended = world.sandbox.prep(&grade).code(2);
    ended.stderr_has(&["there is no report to sign", "--output DIR"]);
    let grade = [&grade[..], &["-o", "reports"]].concat();
    world
        .sandbox
        .prep(&grade)
        .code(0)
        .stderr_has(&["report: reports/"]);
    let name = fs::read_dir(world.sandbox.path("reports"))
        .expect("reports")
        .next();
    let path = name.expect("a report").expect("a report").path();
    let path = path.to_str().expect("UTF-8");
    let verify = ["verify-report", path, "--key", "grader"];
    world
        .sandbox
        .prep(&verify)
        .code(1)
        .stdout_has(&["signed by ed25519:"]);
    world
        .sandbox
        .prep(&["verify-report", path])
        .code(2)
        .stderr_has(&["there is no key to check signatures with"]);
    world
        .sandbox
        .prep(&["verify-report", SAMPLE, "--key", "grader"])
        .code(4);
}

/// The header of the answers and of the sample submission.
const KNOWN: &str = "id,quay\n";

/// A sealed competition whose answers have the column `quay`, on a machine without the cache and the bundle.
struct SealedWorld {
    sandbox: Sandbox,
    /// The public key of `grader.txt`.
    grader: String,
    answers: String,
}

impl SealedWorld {
    fn new(further: &[&str]) -> SealedWorld {
        let sandbox = Sandbox::new();
        Harbour::install(&sandbox);
        let text = Harbour::PIPELINE
            .replace(
                "SELECT id, docked FROM test",
                "SELECT id, docked AS quay FROM test",
            )
            .replace("0 AS docked", "0 AS quay")
            .replace("[id, docked]", "[id, quay]")
            .replace("accuracy: docked", "accuracy: quay");
        sandbox.pipeline(Harbour::ID, &text);
        sandbox.run_and_count_steps(Harbour::ID);
        let key = |name| {
            let arguments = ["seal", "--new-identity", name];
            sandbox.prep(&arguments).code(0).stdout.trim().to_owned()
        };
        let (grader, _) = (key("grader.txt"), key("stranger.txt"));
        let answers = fs::read_to_string(sandbox.path(ANSWERS)).expect("answers");
        let answers = answers.strip_prefix(KNOWN).expect("a header").to_owned();
        let arguments = ["seal", Harbour::ID, "--for", &grader];
        let ended = sandbox.prep(&[&arguments, further].concat()).code(0);
        ended.stderr_has(&["also contain answers", "store"]);
        fs::remove_dir_all(sandbox.store()).expect("removed");
        fs::remove_dir_all(sandbox.source()).expect("removed");
        SealedWorld {
            sandbox,
            grader,
            answers,
        }
    }

    fn sealed(&self) -> PathBuf {
        self.sandbox.data().join(Harbour::ID).join("private.age")
    }

    fn grade(&self, identity: &str) -> CommandResult {
        let arguments = ["grade", Harbour::ID, SAMPLE, "--identity", identity];
        self.sandbox.prep(&arguments)
    }

    /// Grades with a sealed file that `edit` changes.
    fn edited(&self, edit: impl Fn(&mut Vec<u8>)) -> CommandResult {
        let mut bytes = fs::read(self.sealed()).expect("a sealed file");
        edit(&mut bytes);
        fs::write(self.sealed(), bytes).expect("a sealed file");
        self.grade("grader.txt")
    }

    /// Grades with answers that an attacker sealed for the grader.
    fn foreign(&self, id: &str) -> CommandResult {
        let other = Harbour::prepared();
        other.sandbox_seal(id, &self.grader);
        fs::copy(other.data().join(id).join("private.age"), self.sealed()).expect("a copy");
        self.grade("grader.txt")
    }
}

impl Sandbox {
    fn sandbox_seal(&self, id: &str, key: &str) {
        if id != Harbour::ID {
            self.bundle(id, &Harbour::bundle(&Harbour::table()));
            self.pipeline(
                id,
                &Harbour::PIPELINE.replace("kaggle: harbour", &format!("kaggle: {id}")),
            );
            self.run_and_count_steps(id);
        }
        self.prep(&["seal", id, "--for", key]).code(0);
    }
}

/// A name, the attack, the exit code, and a part of the output.
struct SealAttack(
    &'static str,
    fn(&SealedWorld) -> CommandResult,
    i32,
    &'static str,
);

const SEAL_ATTACKS: &[SealAttack] = &[
    SealAttack("none", |w| w.grade("grader.txt"), 0, "valid"),
    SealAttack(
        "no identity",
        |w| w.sandbox.prep(&["grade", Harbour::ID, SAMPLE]),
        4,
        "are sealed",
    ),
    SealAttack(
        "validation without identity",
        |w| w.sandbox.prep(&["validate", Harbour::ID, SAMPLE]),
        4,
        "are sealed",
    ),
    SealAttack(
        "identity of another",
        |w| w.grade("stranger.txt"),
        4,
        "sealed for another identity",
    ),
    SealAttack(
        "public key as identity",
        |w| {
            w.sandbox.write("public.txt", &w.grader);
            w.grade("public.txt")
        },
        4,
        "not a file of secret keys",
    ),
    SealAttack(
        "changed header",
        |w| w.edited(|bytes| bytes[60] ^= 1),
        4,
        "cannot open",
    ),
    SealAttack(
        "changed content",
        |w| w.edited(|bytes| *bytes.last_mut().expect("a byte") ^= 1),
        4,
        "damaged or was modified",
    ),
    SealAttack(
        "truncated file",
        |w| w.edited(|bytes| bytes.truncate(bytes.len() - 20)),
        4,
        "damaged or was modified",
    ),
    SealAttack(
        "appended bytes",
        |w| w.edited(|bytes| bytes.push(0)),
        4,
        "damaged or was modified",
    ),
    SealAttack(
        "answers of another competition",
        |w| w.foreign("other"),
        4,
        "contains the answers of `other`",
    ),
    SealAttack(
        "other answers for the same competition",
        |w| w.foreign(Harbour::ID),
        4,
        "private.age does not contain the private files of `harbour`",
    ),
    SealAttack(
        "plain file left behind",
        |w| {
            w.sandbox.write(ANSWERS, "id,quay\n1,1\n");
            w.grade("grader.txt")
        },
        4,
        "answers of `harbour` changed",
    ),
];

#[test]
fn attacks_on_sealed_answers_are_found() {
    let mut wrong = Vec::new();
    for SealAttack(name, attack, code, message) in SEAL_ATTACKS {
        let ended = attack(&SealedWorld::new(&[]));
        let output = format!("{}{}", ended.stdout, ended.stderr);
        if ended.code != Some(*code) || !output.contains(message) {
            wrong.push(format!("{name}: {ended:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files_with(&path, text)),
            false => {
                let bytes = fs::read(&path).unwrap_or_default();
                let mut windows = bytes.windows(text.len());
                found.extend(windows.any(|part| part == text.as_bytes()).then_some(path));
            }
        }
    }
    found
}

#[test]
fn plain_answers_are_in_memory_only() {
    let world = SealedWorld::new(&[]);
    let sandbox = &world.sandbox;
    let temporary = sandbox.path("tmp");
    fs::create_dir(&temporary).expect("a directory");
    sandbox.write(
        "list.jsonl",
        format!("{{\"competition_id\": \"harbour\", \"submission_path\": \"{SAMPLE}\"}}\n"),
    );
    let identity = ["--identity", "grader.txt"];
    for words in [
        "grade harbour data/harbour/prepared/public/sample_submission.csv",
        "grade list.jsonl -o reports",
        "validate harbour data/harbour/prepared/public/sample_submission.csv",
    ] {
        let arguments: Vec<&str> = words.split(' ').chain(identity).collect();
        let mut command = sandbox.command(&arguments);
        CommandResult::of(command.env("TMPDIR", &temporary)).code(0);
    }
    let sample = fs::read(sandbox.path(SAMPLE)).expect("a sample");
    let upload = post("/validate", &multipart(&sample));
    let serving = Serving::start(sandbox, "data", &[Harbour::ID, identity[0], identity[1]]);
    assert_eq!(serving.ask(&upload).0, 200);
    drop(serving);
    let serving = Serving::start(sandbox, "data", &[Harbour::ID]);
    assert_eq!(serving.ask(&upload).0, 500, "a server without the identity");
    drop(serving);
    let bytes = |path: &Path| fs::read(path).expect("a file");
    let before = bytes(&world.sealed());
    sandbox
        .prep(&["list", Harbour::ID])
        .code(0)
        .stdout_has(&["sealed"]);
    sandbox
        .prep(&["doctor", "--offline"])
        .stdout_has(&["sealed: 1"]);
    let sealed = format!("the private files of `{}` are sealed", Harbour::ID);
    sandbox
        .prep(&["leaks", Harbour::ID])
        .code(4)
        .stderr_has(&[&sealed]);
    let copy = ["export", Harbour::ID, "--private", "-o", "copy"];
    sandbox.prep(&copy).code(4).stderr_has(&[&sealed]);
    assert_eq!(bytes(&world.sealed()), before);
    let root = sandbox.path("");
    assert_eq!(files_with(&root, &world.answers), Vec::<PathBuf>::new());
    assert!(
        !files_with(&root, KNOWN).is_empty(),
        "the search finds headers of the sample"
    );
}

#[test]
fn an_identity_that_others_can_read_is_not_used() {
    let world = SealedWorld::new(&[]);
    let path = world.sandbox.path("grader.txt");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("a mode");
    world
        .grade("grader.txt")
        .stderr_has(&["readable by other users", "chmod 600"]);
    let grade = ["grade", Harbour::ID, SAMPLE];
    world
        .sandbox
        .prep(&grade)
        .code(4)
        .stderr_has(&["--identity FILE"]);
}

#[test]
fn the_identity_can_come_from_stdin() {
    let world = SealedWorld::new(&[]);
    let mut command = world
        .sandbox
        .command(&["grade", Harbour::ID, SAMPLE, "--identity", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("a process");
    let text = fs::read(world.sandbox.path("grader.txt")).expect("an identity");
    child
        .stdin
        .take()
        .expect("stdin")
        .write_all(&text)
        .expect("written");
    CommandResult::from(child.wait_with_output().expect("output")).code(0);
}

#[test]
fn a_run_makes_plain_answers_again_only_on_request() {
    let sandbox = Harbour::prepared();
    let key = sandbox
        .prep(&["seal", "--new-identity", "grader.txt"])
        .code(0)
        .stdout;
    let seal = ["seal", Harbour::ID, "--for", key.trim()];
    let before = fs::read(sandbox.path(ANSWERS)).expect("answers");
    let digest = sandbox
        .prep(&["digest", Harbour::ID, "--json"])
        .code(0)
        .competition();
    sandbox
        .prep(&seal)
        .code(0)
        .stdout_has(&["1 file", "private.age"])
        .stderr_has(&["source/harbour.zip"]);
    assert!(!sandbox.prepared(Harbour::ID).join("private").exists());
    assert_eq!(
        sandbox.state(Harbour::ID),
        "prepared v1 (own pipeline, sealed)"
    );
    let listed = sandbox.prep(&["list", Harbour::ID]).code(0);
    assert!(!listed.stdout.contains("missing"), "{}", listed.stdout);
    let sealed = sandbox
        .prep(&["digest", Harbour::ID, "--json"])
        .code(0)
        .competition();
    assert_eq!(sealed, digest);
    sandbox.prep(&seal).code(4).stderr_has(&["already sealed"]);
    let run = sandbox.run(Harbour::ID).code(4);
    run.stderr_has(&["its answers are sealed", "--unseal"]);
    assert!(!sandbox.path(ANSWERS).exists());
    let mut run = sandbox.run_command(&[Harbour::ID]);
    let run = CommandResult::of(run.args(["--unseal", "--quiet"])).code(0);
    run.stderr_has(&["its answers are sealed; this run also writes them"]);
    assert_eq!(fs::read(sandbox.path(ANSWERS)).expect("answers"), before);
    assert_eq!(
        sandbox.state(Harbour::ID),
        "prepared v1 (own pipeline, plain and sealed)"
    );
    sandbox
        .prep(&["doctor", "--offline"])
        .stdout_has(&["sealed competitions that still have plain answers"]);
    sandbox
        .prep(&[&seal[..], &["--keep-plain"]].concat())
        .code(0)
        .stdout_has(&["the plain files stay"]);
    // `prep seal` rejects changed answers.
    fs::remove_file(sandbox.path(ANSWERS)).expect("removed");
    sandbox.write(ANSWERS, "id,docked\n1,1\n");
    sandbox.prep(&seal).code(4).stderr_has(&["changed"]);
    sandbox.run_and_count_steps(Harbour::ID);
    sandbox.write("data/harbour/prepared/private/notes.txt", "mine");
    sandbox
        .prep(&seal)
        .code(4)
        .stderr_has(&["were not published by a run: "]);
    sandbox.prep(&["remove", Harbour::ID, "--yes"]);
    assert!(!sandbox.data().join("harbour/private.age").exists());
}

/// The header of the encrypted file states which private files it contains.
#[test]
fn outdated_and_truncated_sealed_files_are_found() {
    let sandbox = Harbour::prepared();
    let key = ["seal", "--new-identity", "grader.txt"];
    let key = sandbox.prep(&key).code(0).stdout;
    let seal = ["seal", Harbour::ID, "--for", key.trim()];
    let state = || sandbox.state(Harbour::ID);
    let grade = || sandbox.prep(&["grade", Harbour::ID, SAMPLE, "--identity", "grader.txt"]);
    let private = sandbox.prepared(Harbour::ID).join("private");
    sandbox
        .prep(&[&seal[..], &["--keep-plain"]].concat())
        .code(0);
    assert_eq!(state(), "prepared v1 (own pipeline, plain and sealed)");
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("seed: 0", "seed: 1"),
    );
    let mut run = sandbox.run_command(&[Harbour::ID]);
    let run = CommandResult::of(run.arg("--quiet")).code(0);
    run.stderr_has(&[
        "private.age contains earlier answers; `prep seal harbour --variant v1 --for KEY`",
    ]);
    let outdated = "prepared v1 (own pipeline, plain and outdated sealed)";
    assert_eq!(state(), outdated);
    grade().code(0);
    // Without the plain files, the published answers no longer exist.
    let found = || {
        assert_eq!(state(), "changed since prepared");
        let listed = sandbox.prep(&["list", Harbour::ID]).code(0);
        listed.stdout_has(&["changed or missing: private.age"]);
        sandbox.prep(&["digest", Harbour::ID]).code(4);
        grade().code(4)
    };
    fs::remove_dir_all(&private).expect("removed");
    let message = "private.age does not contain the private files of `harbour`";
    found().stderr_has(&[message, "prep run harbour --unseal"]);
    let mut run = sandbox.run_command(&[Harbour::ID]);
    CommandResult::of(run.arg("--unseal")).code(0);
    assert_eq!(state(), outdated);
    sandbox.prep(&seal).code(0);
    assert_eq!(state(), "prepared v1 (own pipeline, sealed)");
    grade().code(0);
    let path = sandbox.data().join("harbour/private.age");
    let bytes = fs::read(&path).expect("a sealed file");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("truncated");
    found().stderr_has(&["is damaged"]);
}

/// The private files of variants may be identical. Therefore sealing one variant does not protect the answers.
#[test]
fn plain_answers_in_other_places_are_named() {
    let sandbox = Harbour::prepared();
    let key = sandbox
        .prep(&["seal", "--new-identity", "grader.txt"])
        .code(0)
        .stdout;
    let fixed = ["--variant", "fixed"];
    let run = ["run", Harbour::ID, "--source", "source"];
    sandbox.prep(&[&run[..], &fixed].concat()).code(0);
    let private = |directory: &str| format!("{directory}/harbour/prepared/private");
    let doctor = || sandbox.prep(&["doctor", "--offline"]).stdout;
    assert!(!doctor().contains("plain answers"), "nothing is sealed");
    let seal = ["seal", Harbour::ID, "--for", key.trim()];
    // A remote may contain answers, too.
    let mut command = sandbox.command(&seal);
    let ended = CommandResult::of(command.env("PREP_REMOTE", "file:///nowhere")).code(0);
    ended.stderr_has(&[
        &private("data/fixed"),
        "`prep seal harbour --variant fixed --for KEY` seals them",
        "the remote file:///nowhere may also contain answers",
    ]);
    let found = doctor();
    assert!(
        found.contains("still have plain answers: harbour (variant fixed)"),
        "{found}"
    );
    let ended = sandbox.prep(&[&seal[..], &fixed].concat()).code(0);
    let ended = ended.stderr_has(&["source/harbour.zip"]);
    assert!(!ended.stderr.contains("--variant"), "{}", ended.stderr);
    assert!(doctor().contains("sealed: 2"), "{}", doctor());
    for directory in ["data", "data/fixed"] {
        assert!(!sandbox.path(&private(directory)).exists());
    }
}

/// Keys also sign reports without a remote, so `prep doctor` checks keys without a remote.
#[test]
fn doctor_checks_keys_without_a_remote() {
    let sandbox = Sandbox::new();
    let key = ["remote", "key", "new", "laptop"];
    sandbox.prep(&key).code(0);
    sandbox.prep(&["doctor", "--offline"]).code(0);
    let path = sandbox.path("home/.config/prep/keys/laptop.key");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(path, open).expect("a mode");
    let found = sandbox.prep(&["doctor", "--offline"]);
    found.stdout_has(&["key ", "laptop.key", "chmod 600"]);
}
