//! Checks that the figures equal those of upstream's script, for published and for random reports.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use std::path::Path;

use prep_experiments::{Choice, Experiment, Runs, Set, parse, summarise};
use serde_json::{Value, json};

fn data(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the runs of an experiment. Builds its reports as JSON and parses them.
fn runs(reports: &Value, experiment: &str) -> Runs {
    let texts = reports["experiments"][experiment].as_array().unwrap();
    let read = texts.iter().flat_map(|text| {
        let entries = text.as_str().unwrap().split_whitespace().map(|word| {
            let split = word
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(word.len());
            let (number, flags) = word.split_at(split);
            let has = |flag: char| flags.contains(flag);
            json!({
                "competition_id": reports["competitions"][number.parse::<usize>().unwrap()],
                "score": null,
                "submission_exists": has('e'),
                "valid_submission": has('v'),
                "above_median": has('m'),
                "gold_medal": has('g'),
                "silver_medal": has('s'),
                "bronze_medal": has('b'),
            })
        });
        let report = json!({ "competition_reports": entries.collect::<Vec<_>>() });
        parse(&report.to_string(), Path::new("report.json"))
            .unwrap()
            .graded
    });
    Runs {
        graded: read.collect(),
        ..Runs::default()
    }
}

fn summary(reports: &Value, experiment: &str, set: &str, choice: &Choice) -> Experiment {
    let sets = [Set::by_name(set).unwrap()];
    summarise(experiment, &runs(reports, experiment), &sets, choice)
}

#[test]
fn figures_equal_those_of_upstreams_script() {
    let (reports, cases) = (data("reports.json"), data("expected.json"));
    let cases = cases.as_array().unwrap();
    let mut failed = 0;
    for case in cases {
        let choice = Choice {
            last: false,
            number: case["seeds"].as_u64().map(|number| number as usize),
            pad: case["pad"].as_bool().unwrap(),
        };
        let (name, set) = (
            case["experiment"].as_str().unwrap(),
            case["set"].as_str().unwrap(),
        );
        let found = summary(&reports, name, set, &choice).sets.remove(0).1;
        let expected = &case["found"];
        let Some(metrics) = expected["metrics"].as_object() else {
            failed += 1;
            assert!(found.is_err(), "{case}");
            continue;
        };
        let found = found.unwrap();
        assert_eq!(json!(found.seeds), expected["seeds"], "{case}");
        assert_eq!(metrics.len(), found.estimates.len());
        for (metric, values) in metrics {
            let one = found.estimate(metric).unwrap();
            let ours = [one.mean, one.ci_lower, one.ci_upper, one.standard_error];
            for (ours, theirs) in ours.iter().zip(values.as_array().unwrap()) {
                let theirs = theirs.as_f64().unwrap();
                assert!(
                    (ours - theirs).abs() < 1e-10,
                    "{case} {metric}: {ours} {theirs}"
                );
            }
        }
    }
    assert!(
        cases.len() == 256 && failed > 10,
        "{failed} of {}",
        cases.len()
    );
}

/// The summary of the three published reports equals their row in upstream's leaderboard.
#[test]
fn published_reports_give_the_published_row() {
    let reports = data("reports.json");
    for (set, expected) in [
        ("low", "62.12 ± 1.52"),
        ("medium", "36.84 ± 1.52"),
        ("high", "33.33 ± 0.00"),
        ("all", "43.56 ± 0.89"),
    ] {
        for last in [false, true] {
            let choice = Choice {
                last,
                ..Choice::default()
            };
            let found = summary(&reports, "published", set, &choice)
                .sets
                .remove(0)
                .1
                .unwrap();
            let one = found.estimate("any_medal_percentage").unwrap();
            assert_eq!(
                format!("{:.2} ± {:.2}", one.mean, one.standard_error),
                expected,
                "{set}"
            );
        }
    }
}
