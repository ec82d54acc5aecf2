//! Tests `prep leaks` on recorded cases with planted leaks of the real bundles (`tests/leaks/record.py`).
//! A detector must find its leak in `v1` but not in `fixed`. The program contains no
//! knowledge about individual competitions.

use std::fs;
use std::path::Path;

use crate::support::{CommandResult, Harbour, Sandbox};

/// Columns: competition, detector, level, and a word of the finding.
const KNOWN_LEAKS: &[(&str, &str, &str, &str)] = &[
    (
        "random-acts-of-pizza",
        "column",
        "leak",
        "giver_username_if_known",
    ),
    (
        "hubmap-kidney-segmentation",
        "shown-before",
        "leak",
        "`#.json`",
    ),
    (
        "multi-modal-gesture-recognition",
        "shown-before",
        "leak",
        "`Video.Labels`",
    ),
    (
        "smartphone-decimeter-2022",
        "shown-before",
        "leak",
        "`span_log.nmea`",
    ),
    (
        "smartphone-decimeter-2022",
        "answers-elsewhere",
        "leak",
        "LatitudeDegrees",
    ),
    (
        "siim-isic-melanoma-classification",
        "shown-before",
        "leak",
        "`target`",
    ),
    (
        "tensorflow-speech-recognition-challenge",
        "groups",
        "risk",
        "word 1 of their name",
    ),
];

/// The answers are JSON lines, and grading creates their rows from members of the records.
/// No member has the name of a column of the sample submission.
#[test]
fn leaks_reads_json_answers_as_grading_does() {
    let sandbox = Sandbox::new();
    let id = "tensorflow2-question-answering";
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let bundle = cases.join(id).join("seed0/raw.zip");
    fs::copy(bundle, sandbox.source().join(format!("{id}.zip"))).expect("a bundle");
    sandbox.run(id).code(0);
    let ended = sandbox.prep(&["leaks", id, "--json", "--source", "source"]);
    assert!(matches!(ended.code, Some(0 | 1 | 5)), "{ended:?}");
    let report = ended.competition();
    assert!(report["items"].as_u64().expect("a number") > 0, "{report}");
    let left = fs::read_dir(sandbox.store().join("tmp")).expect("a directory");
    assert_eq!(left.count(), 0);
}

/// This competition has 228 answers. The rule `keep_rows` drops 129 of them, which are -1 in all classes. A leak that only
/// the other items have is complete.
#[test]
fn leaks_examines_only_the_items_that_count_for_the_score() {
    let sandbox = Sandbox::new();
    let id = "jigsaw-toxic-comment-classification-challenge";
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let bundle = cases.join(id).join("seed0/raw.zip");
    fs::copy(bundle, sandbox.source().join(format!("{id}.zip"))).expect("a bundle");
    sandbox.run(id).code(0);
    let prepared = sandbox.data().join(id).join("prepared");
    let answers = fs::read_to_string(prepared.join("private/test.csv")).expect("the answers");
    let mut test = "id,comment_text\n".to_owned();
    for (row, answer) in answers.lines().skip(1).enumerate() {
        let cells: Vec<&str> = answer.split(',').collect();
        let spaces = if cells[1] == "1" { "  " } else { "" };
        test += &format!("{},comment {}{spaces}\n", cells[0], row * 7919 % 1009);
    }
    let path = prepared.join("public/test.csv");
    fs::remove_file(&path).expect("the test table");
    fs::write(path, test).expect("the test table");
    let report = sandbox.prep(&["leaks", id, "--json"]).code(5).competition();
    assert_eq!(report["items"], 99, "{report:#}");
    let findings = report["findings"].as_array().expect("findings");
    let is_hit = |finding: &&serde_json::Value| {
        let what = finding["what"].as_str().expect("a text");
        what.contains("spaces around cells") && what.contains("determines `toxic`")
    };
    let hit = findings.iter().find(is_hit).expect("a finding");
    assert_eq!(hit["detector"], "cells");
    assert_eq!(hit["level"], "leak");
    let evidence = hit["evidence"].to_string();
    assert!(evidence.contains("leading 0, trailing 2"), "{evidence}");
}

/// A misspelled detector under `accepted` declares a leak, so only a warning shows the mistake. With few items, the
/// summary shows how many are needed.
#[test]
fn leaks_suggests_the_name_of_a_detector() {
    let sandbox = Harbour::prepared();
    let accepted = "accepted:\n  cels: why\n\ngrade:\n";
    let pipeline = Harbour::PIPELINE.replace("grade:\n", accepted);
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox
        .prep(&["leaks", Harbour::ID])
        .code(0)
        .stdout_has(&["declared: cels", "use at least 50"])
        .stderr_has(&["warning[unknown-detector]", "did you mean `cells`?"]);
}

#[test]
fn known_leaks_are_found_in_v1_and_gone_in_fixed() {
    let sandbox = Sandbox::new();
    let planted = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/leaks");
    let mut ids: Vec<&str> = KNOWN_LEAKS.iter().map(|known| known.0).collect();
    ids.dedup();
    for id in &ids {
        let bundle = format!("{id}.zip");
        let target = sandbox.source().join(&bundle);
        std::os::unix::fs::symlink(planted.join(&bundle), target).expect("link");
    }
    let leaks = |variant: &str| {
        let mut command = sandbox.run_command(&ids);
        CommandResult::of(command.args(["--variant", variant])).code(0);
        let options = [
            "leaks",
            "--json",
            "--source",
            "source",
            "--variant",
            variant,
        ];
        let arguments: Vec<&str> = options.iter().chain(&ids).copied().collect();
        // The exit code is 0, because the pipelines accept known leaks.
        sandbox.prep(&arguments).code(0).json()["competitions"].clone()
    };
    let found = leaks("v1");
    for (id, detector, level, word) in KNOWN_LEAKS {
        let reports = found.as_array().expect("reports").iter();
        let report = reports
            .clone()
            .find(|report| report["id"] == *id)
            .expect("a report");
        let findings = report["findings"].as_array().expect("findings");
        let hit = findings.iter().any(|finding| {
            let what = finding["what"].as_str().expect("a text");
            finding["detector"] == *detector
                && finding["level"] == *level
                && finding["accepted"].is_string()
                && what.contains(word)
        });
        assert!(hit, "{id}, {detector}: {findings:#?}");
    }
    for report in leaks("fixed").as_array().expect("reports") {
        let findings = report["findings"].as_array().expect("findings");
        let open = findings.iter().filter(|one| one["level"] != "note").count();
        assert!(open == 0, "{report:#}");
    }
    // If the pipeline does not accept the leak, the command fails.
    let id = ids[0];
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../pipelines")
        .join(id);
    let text = fs::read_to_string(directory.join("pipeline.yaml")).expect("a pipeline");
    let lines = text.lines();
    let others = lines.filter(|line| !line.contains("accepted:") && !line.starts_with("  column:"));
    let text: Vec<&str> = others.collect();
    sandbox.pipeline(id, &text.join("\n"));
    sandbox.prep(&["leaks", id]).code(5);
}
