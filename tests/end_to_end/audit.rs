//! Tests of `prep audit` for bundles, outputs and trees: verdict, conclusion, blocks and exit code.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Archive, Harbour, Sandbox, hex_md5};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).expect("a file")).expect("a file");
        }
    }
}

/// Returns the causes in a section of the audit (`bundle`, `outputs` or `tree`), and the entire result.
fn audit(sandbox: &Sandbox, arguments: &[&str], code: i32, section: &str) -> (Vec<String>, Value) {
    let arguments = [
        &["audit", Harbour::ID, "--json", "--source", "source"],
        arguments,
    ]
    .concat();
    let report = sandbox.prep(&arguments).code(code).competition();
    let blocks = report[section]["report"]["blocks"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let causes = blocks
        .iter()
        .map(|block| block["kind"].as_str().expect("a cause").to_owned());
    (causes.collect(), report)
}

#[test]
fn audit_explains_a_tree_of_another_program() {
    let sandbox = Harbour::prepared();
    let theirs = sandbox.path("theirs");
    let change = |path: &str, change: &dyn Fn(String) -> String| {
        let _ = fs::remove_dir_all(&theirs);
        copy(&sandbox.prepared(Harbour::ID), &theirs);
        let text = fs::read_to_string(theirs.join(path)).expect("a text");
        fs::write(theirs.join(path), change(text)).expect("a file");
    };
    change("public/train.csv", &|text| text);
    let (causes, report) = audit(&sandbox, &["--tree", "theirs"], 0, "tree");
    assert!(causes.is_empty());
    assert_eq!(report["verdict"], "equal");
    let concludes = |report: &serde_json::Value, words: &str| {
        let conclusion = report["conclusion"].as_str().expect("a conclusion");
        assert!(conclusion.starts_with(words), "{conclusion}");
    };
    concludes(&report, "the tree is identical to the prepared data; ");
    change("public/train.csv", &|text| text.replace('\n', "\r\n"));
    let (causes, report) = audit(&sandbox, &["--tree", "theirs"], 0, "tree");
    assert_eq!(causes, ["line-ends"]);
    assert_eq!(report["verdict"], "same_content");
    concludes(
        &report,
        "the tree has the same content as the prepared data (line-ends); ",
    );
    change("private/test.csv", &|text| {
        text.replacen(",1\n", ",0\n", 1).replace('\n', "\r\n")
    });
    let (causes, report) = audit(&sandbox, &["--tree", "theirs"], 5, "tree");
    assert_eq!(causes, ["labels-changed", "line-ends"]);
    assert_eq!(report["verdict"], "answers_differ");
    concludes(&report, "the answers in the tree differ (labels-changed); ");
    let ended = sandbox
        .prep(&["audit", Harbour::ID, "--tree", "theirs"])
        .code(5);
    ended.stdout_has(&[
        "harbour: the answers in the tree differ (labels-changed); ",
        "labels-changed   harm: answers",
        "ours \"1\", theirs \"0\": 1",
        "line-ends   harm: form",
    ]);
    sandbox
        .prep(&["audit", Harbour::ID, "--tree", "nowhere"])
        .code(4);
}

#[test]
fn a_tree_in_another_encoding_has_the_same_content() {
    let rows = (0..40).map(|at| format!("{at},{at}.5 €,{}\n", at % 2));
    let table = format!("id,price in €,sold\n{}", rows.collect::<String>());
    let sandbox = Sandbox::new();
    sandbox.bundle("shop", &Archive::new().file("train.csv", table).bytes());
    let new = "pipeline new shop --source source -o pipelines --target sold";
    sandbox.prep(&new.split(' ').collect::<Vec<_>>()).code(0);
    sandbox.prep(&["run", "shop", "--source", "source"]).code(0);
    let theirs = sandbox.path("theirs");
    copy(&sandbox.prepared("shop"), &theirs);
    for name in ["train", "test"] {
        let path = theirs.join(format!("public/{name}.csv"));
        let text = fs::read_to_string(&path).unwrap();
        // Windows-1252 has the euro sign at 0x80.
        let bytes = text.chars().map(|c| u8::try_from(c).unwrap_or(0x80));
        fs::write(&path, bytes.collect::<Vec<u8>>()).unwrap();
    }
    let ended = sandbox.prep(&["audit", "shop", "--tree", "theirs"]).code(0);
    ended.stdout_has(&["the same content", "encoding   harm: form"]);
}

/// If no file of a tree is equal, the conclusion names the competition whose published checksums the tree has.
#[test]
fn a_tree_of_another_competition_is_recognized() {
    let sandbox = Harbour::prepared();
    let theirs = sandbox.path("theirs");
    let answers = "id,price\n7,1\n8,2\n";
    sandbox.write("theirs/private/test.csv", answers);
    let audit = || {
        let ended = sandbox
            .prep(&["audit", Harbour::ID, "--tree", "theirs"])
            .code(5);
        ended.stdout
    };
    assert!(
        audit().starts_with("harbour: the answers in the tree differ"),
        "{}",
        audit()
    );
    let path = "pipelines/lake";
    let pipeline = Harbour::PIPELINE.replace("kaggle: harbour", "kaggle: lake");
    sandbox.write(&format!("{path}/pipeline.yaml"), pipeline);
    let sums = serde_json::json!({ "private": { "test.csv": hex_md5(answers.as_bytes()) } });
    sandbox.write(&format!("{path}/checksums.json"), sums.to_string());
    let expected = "harbour: the tree contains files of another competition, `lake`";
    assert!(audit().starts_with(expected), "{}", audit());
    fs::rename(
        theirs.join("private/test.csv"),
        theirs.join("private/gold.csv"),
    )
    .unwrap();
    let expected = "harbour: none of the files in the tree has the name of a prepared file";
    assert!(audit().starts_with(expected), "{}", audit());
}

#[test]
fn audit_explains_bundles_and_outputs() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let good = Harbour::bundle(&Harbour::table());
    let pipeline = Harbour::PIPELINE.replace(
        "kaggle: harbour",
        &format!("kaggle: harbour, md5: {}", hex_md5(&good)),
    );
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox
        .prep(&["run", Harbour::ID, "--source", "source"])
        .code(0);
    let sum =
        |path: &str| hex_md5(&fs::read(sandbox.prepared(Harbour::ID).join(path)).expect("a file"));
    let crlf =
        fs::read_to_string(sandbox.prepared(Harbour::ID).join("public/train.csv")).expect("a text");
    let sums = serde_json::json!({
        "public": { "train.csv": hex_md5(crlf.replace('\n', "\r\n").as_bytes()), "test.csv": sum("public/test.csv") },
        "private": { "test.csv": sum("private/test.csv") },
    });
    sandbox.write(
        &format!("pipelines/{}/checksums.json", Harbour::ID),
        sums.to_string(),
    );
    let (causes, report) = audit(&sandbox, &[], 0, "outputs");
    assert_eq!(causes, ["line-ends"]);
    assert_eq!(
        report["outputs"]["equal"],
        serde_json::json!(["public/test.csv", "private/test.csv"])
    );
    assert!(
        report["bundle"]["report"]["blocks"]
            .as_array()
            .expect("blocks")
            .is_empty()
    );
    // Kaggle changed a row of the bundle. The earlier run recorded the members of the good bundle.
    sandbox.bundle(
        Harbour::ID,
        &Harbour::bundle(&Harbour::table().replace("\n3,", "\n3 ,")),
    );
    let (causes, report) = audit(&sandbox, &[], 5, "bundle");
    assert_eq!(causes, ["bundle-changed"]);
    assert!(
        report["bundle"]["report"]["blocks"][0]["examples"][0]
            .as_str()
            .expect("text")
            .starts_with("train.csv has")
    );
    // The bundle is an HTML page, not an archive.
    sandbox.bundle(Harbour::ID, b"<!DOCTYPE html><html>rules</html>");
    assert_eq!(audit(&sandbox, &[], 5, "bundle").0, ["bundle-error-page"]);
    // There is neither a bundle nor prepared data.
    let empty = Sandbox::new();
    empty.pipeline(Harbour::ID, Harbour::PIPELINE);
    empty.prep(&["audit", Harbour::ID]).code(4);
    empty.prep(&["audit"]).code(2);
}

/// A failed checksum prevents the publication. The help of the error names the command that finds the cause.
#[test]
fn audit_reads_outputs_that_were_not_published() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let run = ["run", Harbour::ID, "--source", "source"];
    let sums = |content: &str| {
        let sums = serde_json::json!({ "public": { "train.csv": hex_md5(content.as_bytes()) }, "private": {} });
        let path = format!("pipelines/{}/checksums.json", Harbour::ID);
        sandbox.write(&path, sums.to_string());
    };
    let found = |code: i32| {
        let (causes, report) = audit(&sandbox, &[], code, "outputs");
        (causes, report["outputs"]["is_unpublished"].as_bool())
    };
    sandbox.prep(&run).code(0);
    let train = sandbox.prepared(Harbour::ID).join("public/train.csv");
    let published = fs::read_to_string(&train).expect("a text");
    fs::remove_dir_all(sandbox.path("data")).expect("a directory");

    sums(&published.replace('\n', "\r\n"));
    let help = format!(
        "`prep audit {} --source source` explains the difference",
        Harbour::ID
    );
    sandbox.prep(&run).code(5).stderr_has(&[&help]);
    assert_eq!(found(0), (vec!["line-ends".to_owned()], Some(true)));
    assert!(!train.exists());

    // The data directory has the outputs of an earlier version.
    sums(&published);
    sandbox.prep(&run).code(0);
    assert_eq!(found(0), (Vec::new(), Some(false)));
    let edited = Harbour::PIPELINE.replacen("seed: 0", "seed: 1", 1);
    assert_ne!(edited, Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &edited);
    sandbox.prep(&run).code(5);
    let (causes, unpublished) = found(5);
    assert_ne!(causes, Vec::<String>::new());
    assert_eq!(unpublished, Some(true));
    assert_eq!(fs::read_to_string(&train).expect("a text"), published);
    sandbox.prep(&["why", Harbour::ID]).code(0);

    // `--skip-verification` publishes the outputs, so the audit reads them from the data directory.
    sandbox
        .prep(&[&run[..], &["--skip-verification"]].concat())
        .code(0);
    assert_eq!(found(5).1, Some(false));
}

/// Kaggle replaced the bundle after upstream published the checksums, so only an older bundle contains the published file.
#[test]
fn published_file_is_found_in_an_older_bundle() {
    let sandbox = Sandbox::new();
    let pipeline =
        Harbour::PIPELINE.replace("public:\n", "public:\n  ships.csv: { copy: train.csv }\n");
    sandbox.pipeline(Harbour::ID, &pipeline);
    let older = Harbour::table()
        .replace("\n3,", "\n3 ,")
        .replace("\n7,", "\n700,");
    sandbox.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    sandbox
        .prep(&["run", Harbour::ID, "--source", "source"])
        .code(0);
    let sums =
        serde_json::json!({ "public": { "ships.csv": hex_md5(older.as_bytes()) }, "private": {} });
    let sums_path = format!("pipelines/{}/checksums.json", Harbour::ID);
    sandbox.write(&sums_path, sums.to_string());
    // No bundle contains the published file.
    let (causes, _) = audit(&sandbox, &[], 5, "outputs");
    assert_eq!(causes, ["not-classified"]);
    // Another bundle, in the data directory, contains the file.
    sandbox.write(
        &format!("data/{0}/{0}.zip", Harbour::ID),
        Harbour::bundle(&older),
    );
    let (causes, report) = audit(&sandbox, &[], 5, "outputs");
    assert_eq!(causes, ["bundle-member"]);
    let proof = report["outputs"]["report"]["blocks"][0]["proof"].to_string();
    assert!(
        proof.contains("`train.csv` of") && proof.contains("data"),
        "{proof}"
    );
    // An archive inside the bundle contains the file. An unreadable archive proves nothing.
    let nested = crate::support::Archive::new().file("old.zip", Harbour::bundle(&older));
    sandbox.write(&format!("data/{0}/{0}.zip", Harbour::ID), nested.bytes());
    let (causes, report) = audit(&sandbox, &[], 5, "outputs");
    assert_eq!(causes, ["bundle-member"]);
    let proof = report["outputs"]["report"]["blocks"][0]["proof"].to_string();
    assert!(proof.contains("`old.zip/train.csv` of"), "{proof}");
    sandbox.write(&format!("data/{0}/{0}.zip", Harbour::ID), "no archive");
    assert_eq!(audit(&sandbox, &[], 5, "outputs").0, ["not-classified"]);
}

/// The bundle is not the published one. The audit's fields (harm, rules, proofs, advice) must follow docs/audit.md.
#[test]
fn outputs_of_another_bundle_are_audited_by_the_documented_rules() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let other = format!("bundle: {{ kaggle: harbour, md5: {} }}", "0".repeat(32));
    let text = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", &other);
    sandbox.pipeline(Harbour::ID, &text);
    let sums = serde_json::json!({
        "public": { "train.csv": "1".repeat(32), "test.csv": "2".repeat(32) },
        "private": { "test.csv": "3".repeat(32) },
    });
    let path = format!("pipelines/{}/checksums.json", Harbour::ID);
    sandbox.write(&path, sums.to_string());
    let run = [
        "run",
        Harbour::ID,
        "--source",
        "source",
        "--skip-verification",
    ];
    sandbox.prep(&run).code(0);
    let (causes, report) = audit(&sandbox, &[], 5, "bundle");
    assert_eq!(causes, ["bundle-other-md5"]);
    let block = &report["bundle"]["report"]["blocks"][0];
    assert_eq!(block["harm"], "content");
    let rule = "nothing shows that the members are those of the published bundle";
    assert_eq!(block["rules"], serde_json::json!([rule]));
    assert_eq!(report["outputs"]["report"]["verdict"], "answers_differ");
    let blocks = &report["outputs"]["report"]["blocks"];
    let facts = |at: usize| (blocks[at]["kind"].as_str(), blocks[at]["harm"].as_str());
    assert_eq!(facts(0), (Some("not-classified"), Some("answers")));
    assert_eq!(facts(1), (Some("not-classified"), Some("content")));
    assert_eq!(blocks[0]["paths"], serde_json::json!(["private/test.csv"]));
    let text = sandbox.prep(&["audit", Harbour::ID]).code(5);
    let text = text.stdout_has(&[
        "which may be why outputs differ",
        "proof   public/train.csv: the published MD5 is 1111",
        "proof   public/test.csv: the published MD5 is 2222",
        "do      prepare from the published bundle first",
        "`prep run harbour --skip-verification` accepts the bundle and the outputs",
    ]);
    follow(&sandbox, &text.stdout, "--skip-verification");
}

/// Runs the command in the text `audit` that contains `option`. Such commands are the audit's advice.
fn follow(sandbox: &Sandbox, audit: &str, option: &str) {
    let mut commands = audit.split('`').skip(1).step_by(2);
    let command = commands.find(|command| command.contains(option));
    let words: Vec<&str> = command.expect("a command").split(' ').skip(1).collect();
    sandbox.prep(&words).code(0);
}

/// The advised command prepares the audited bundle.
#[test]
fn advice_about_another_bundle_can_be_followed() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let other = format!("bundle: {{ kaggle: harbour, md5: {} }}", "0".repeat(32));
    let text = Harbour::PIPELINE.replace("bundle: { kaggle: harbour }", &other);
    sandbox.pipeline(Harbour::ID, &text);
    let audit = ["audit", Harbour::ID, "--source", "source"];
    let audit = sandbox.prep(&audit).code(5).stdout;
    follow(&sandbox, &audit, "--skip-bundle-verification");
}

/// An audit must report an edited prepared file as such, not as the effect of a different bundle or pipeline.
/// `plan`, `list` and the run that restores the files also name the file.
#[test]
fn edited_files_are_named() {
    let sandbox = Harbour::prepared();
    let directory = sandbox.prepared(Harbour::ID);
    let sum = |path: &str| hex_md5(&fs::read(directory.join(path)).expect("a file"));
    let sums = serde_json::json!({
        "public": { "train.csv": sum("public/train.csv"), "test.csv": sum("public/test.csv") },
        "private": { "test.csv": sum("private/test.csv") },
    });
    for has_sums in [false, true] {
        if has_sums {
            let path = format!("pipelines/{}/checksums.json", Harbour::ID);
            sandbox.write(&path, sums.to_string());
        }
        let train = directory.join("public/train.csv");
        let text = fs::read_to_string(&train).expect("a text") + "x\n";
        fs::remove_file(&train).expect("removed");
        fs::write(&train, text).expect("a file");
        fs::remove_file(directory.join("private/test.csv")).expect("removed");

        let (causes, report) = audit(&sandbox, &[], 5, "outputs");
        assert_eq!(causes, ["files-edited", "files-edited"]);
        assert_eq!(report["verdict"], "answers_differ");
        let end = "prepared files were changed or removed after they were prepared";
        assert_eq!(report["conclusion"], end);
        let shown = sandbox.prep(&["audit", Harbour::ID]).code(5);
        shown.stdout_has(&["restores the files; run `prep run harbour`"]);

        let names = "changed or missing: private/test.csv, public/train.csv";
        let difference =
            format!("the data directory differs from the results of the steps: {names}");
        for verb in ["plan", "why"] {
            let shown = sandbox
                .prep(&[verb, Harbour::ID, "--skip-verification"])
                .code(0);
            shown.stdout_has(&[&difference]);
        }
        sandbox
            .prep(&["list", Harbour::ID])
            .code(0)
            .stdout_has(&[names]);
        let note = format!("harbour: restoring the published data: {names}");
        sandbox.run(Harbour::ID).code(0).stderr_has(&[&note]);
        assert!(
            !sandbox
                .run(Harbour::ID)
                .code(0)
                .stderr
                .contains("restoring")
        );
        assert_eq!(audit(&sandbox, &[], 0, "outputs").0, Vec::<String>::new());
    }
}

/// `prep fetch` does not replace an existing file, so the advice names the file that the user must remove.
#[test]
fn a_truncated_bundle_is_named() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let whole = Harbour::bundle(&Harbour::table());
    let path = sandbox.write("data/harbour/harbour.zip", &whole[..whole.len() / 2]);
    let path = path.display();
    let message = format!("{path}: the zip archive is truncated");
    sandbox
        .prep(&["run", Harbour::ID])
        .code(4)
        .stderr_has(&[&message]);
    let advice = format!("do      download it again; remove {path}, then run `prep fetch harbour`");
    sandbox
        .prep(&["audit", Harbour::ID])
        .code(5)
        .stdout_has(&[&advice]);
}
