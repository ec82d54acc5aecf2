//! Tests that mistakes in a `grade:` section are reported with their path and a suggestion.

use prep_grade::spec::definition;
use prep_grade::{Grader, metrics, rules};
use serde_json::{Value, json};

#[test]
fn mistakes_are_reported_with_path_and_suggestion() {
    let metric = json!({ "roc_auc": "y" });
    let table: Vec<(Value, &str)> = vec![
        (json!([]), "grade.: expected a mapping, found an empty list"),
        (
            json!({ "metric": metric, "rules": [{ "finite": [] }] }),
            "grade.rules[0].finite: expected at least one column, found an empty list",
        ),
        (json!({}), "grade.: `metric` is missing"),
        (
            json!({ "metrik": 1 }),
            "grade.metrik: there is no key `metrik`; did you mean `metric`?",
        ),
        (
            json!({ "metric": "roc-auc" }),
            "grade.metric: there is no metric `roc-auc`; did you mean `roc_auc`?",
        ),
        (
            json!({ "metric": "roc_auc" }),
            "grade.metric.roc_auc: `columns` is missing",
        ),
        (
            json!({ "metric": { "roc_auc": "y", "f1": "y" } }),
            "grade.metric: expected one name with its parameters, found 2 keys: roc_auc, f1",
        ),
        (
            json!({ "metric": { "f1": { "column": "y", "avarage": "micro" } } }),
            "grade.metric.f1.avarage: there is no parameter `avarage`; did you mean `average`?",
        ),
        (
            json!({ "metric": { "root_mean_squared_log_error": { "columns": "y", "clip_below": -1 } } }),
            "grade.metric.root_mean_squared_log_error: `clip_below` must be at least 0",
        ),
        (
            json!({ "metric": metric, "direction": "higher" }),
            "grade.direction: there is no direction `higher`",
        ),
        (
            json!({ "metric": metric, "rules": "same_rows" }),
            "grade.rules: expected a list of rules, found `same_rows`",
        ),
        (
            json!({ "metric": metric, "rules": ["same_rows", { "numerik": "y" }] }),
            "grade.rules[1]: there is no rule `numerik`; did you mean `numeric`?",
        ),
        (
            json!({ "metric": metric, "rules": [{ "range": { "columns": "y", "minimum": 0 } }] }),
            "grade.rules[0].range.minimum: there is no parameter `minimum`",
        ),
        (
            json!({ "metric": metric, "rules": [3] }),
            "grade.rules[0]: expected a name, or a name with its parameters, found `3`",
        ),
        (
            json!({ "metric": { "f1": { "column": "y", "average": "makro" } } }),
            "grade.metric.f1.average: expected one of `micro`, `macro`",
        ),
        (
            json!({ "metric": metric, "rules": [{ "range": { "columns": "y", "min": "0" } }] }),
            "grade.rules[0].range.min: expected a number, found `0`",
        ),
        (
            json!({ "metric": { "top_k_accuracy": { "columns": ["y", "z"], "k": -1 } } }),
            "grade.metric.top_k_accuracy.k: expected an integer that is not negative, found `-1`",
        ),
        (
            json!({ "metric": { "accuracy": ["y", "z"] } }),
            "grade.metric.accuracy: expected the name of a column, found a list",
        ),
    ];
    for (section, message) in table {
        let error = Grader::parse(&section).unwrap_err().to_string();
        assert!(error.starts_with(message), "{section}: {error}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let section = json!({
        "rules": [{ "numerik": "y" }, "same_rows", { "range": { "minimum": 0, "maximum": 1 } }],
        "direction": "higher",
        "metrik": { "f1": "y" },
    });
    let found = Grader::parse(&section).unwrap_err();
    let places: Vec<String> = found.0.iter().map(|one| one.path.to_string()).collect();
    let expected = [
        "metrik",
        "rules[0]",
        "rules[2].range.minimum",
        "rules[2].range.maximum",
        "rules[2].range",
        "direction",
    ];
    assert_eq!(places, expected, "{found}");
    assert_eq!(found.to_string().lines().count(), expected.len(), "{found}");
}

#[test]
fn unknown_name_without_similar_name_lists_all_names() {
    let found = Grader::parse(&json!({ "metric": "qwertz" })).unwrap_err();
    let help = found.0[0].help().unwrap();
    for kind in metrics::ALL {
        let name = kind.definition.name;
        assert!(help.contains(&format!("`{name}`")), "{name} not in {help}");
    }
    let found =
        Grader::parse(&json!({ "metric": { "mean_absolute_error": "y" }, "direction": "up" }));
    let help = found.unwrap_err().0[0].help().unwrap();
    assert_eq!(
        help,
        "the directions are `higher_is_better`, `lower_is_better`"
    );
}

#[test]
fn wrong_types_are_reported() {
    let section = json!({ "metric": { "f1": { "column": "y", "average": "mean" } } });
    let error = Grader::parse(&section).unwrap_err();
    assert_eq!(error.0.len(), 1, "{error}");
    assert_eq!(error.0[0].path.to_string(), "metric.f1.average");
    assert!(
        error.to_string().contains("mean") && error.to_string().contains("macro"),
        "{error}"
    );
}

#[test]
fn mistakes_without_a_similar_name_have_an_example() {
    for (section, help) in [
        (json!({}), "for example `metric: { accuracy: label }`"),
        (
            json!({ "metric": { "sql": "SELECT 1.5" } }),
            "for example `direction: higher_is_better`, or `lower_is_better`",
        ),
        (
            json!({ "metric": { "f1": { "column": "y" } } }),
            "for example `average: micro`",
        ),
        (
            json!({ "metric": { "f1": "y" } }),
            "for example `f1: { average: micro, column: y }`",
        ),
    ] {
        let found = Grader::parse(&section).unwrap_err();
        assert_eq!(found.0[0].help().as_deref(), Some(help), "{section}");
    }
}

#[test]
fn every_rule_and_metric_is_documented_once() {
    let definitions: Vec<_> = rules::ALL
        .iter()
        .map(|k| &k.definition)
        .chain(metrics::ALL.iter().map(|k| &k.definition))
        .collect();
    let schema = definition::grade_schema().to_string();
    for definition in &definitions {
        assert!(
            !definition.summary.is_empty() && !definition.source.is_empty(),
            "{}",
            definition.name
        );
        assert_eq!(
            definitions
                .iter()
                .filter(|other| other.name == definition.name)
                .count(),
            1
        );
        assert!(schema.contains(&format!("\"{}\"", definition.name)));
        assert!(
            definition
                .shorthand
                .is_none_or(|short| definition.parameters.iter().any(|p| p.name == short))
        );
    }
}

/// The time to parse nested sums must not double with each level.
#[test]
fn nested_sums_are_parsed_once() {
    let mut metric = json!({ "roc_auc": "y" });
    for _ in 0..40 {
        metric = json!({ "weighted_sum": [{ "metric": metric, "weight": 1 }] });
    }
    Grader::parse(&json!({ "metric": metric })).unwrap();
}
