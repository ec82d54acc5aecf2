//! Describes the rules and the metric of a section `grade:` to participants, in Markdown.

use prep_spec::joined;
use serde_json::Value;

use crate::Grader;
use crate::metrics::Direction;

/// Maximum number of names in a sentence. Other names are only counted.
const MAX_NAMES: usize = 24;

impl Grader {
    /// Returns a sentence for each rule that a submission can violate, or that changes the submission, and a sentence about
    /// the values that the metric requires.
    pub fn requirements(&self) -> Vec<String> {
        let rules = self.spec.rules.iter();
        let rules = rules.filter_map(|rule| requirement(rule.name, &rule.parameters));
        let metric = &self.spec.metric;
        let of_metric = metric.metric.cell().and_then(|cell| {
            let columns = columns_in_words(
                ["columns", "column"]
                    .iter()
                    .find_map(|key| metric.parameters.get(key))?,
            );
            Some(format!(
                "The metric requires {cell} in every cell of {columns}."
            ))
        });
        rules.chain(of_metric).collect()
    }

    /// Returns a sentence about the meaning of the numbers in a submission, if they are not predictions of the true values.
    /// `{label}` stands for the larger of two labels.
    pub fn meaning(&self) -> Option<&'static str> {
        self.spec.metric.metric.meaning()
    }

    /// Describes the metric: its name, meaning, parameters, scale and direction. If the metric is a query, adds the text of
    /// the query.
    pub fn description_of_metric(&self) -> String {
        let (spec, definition) = (&self.spec, &self.metric().definition);
        let summary = spec.metric.metric.summary().unwrap_or(definition.summary);
        let mut text = format!("`{}`: {summary}", definition.name);
        let queries = self.queries();
        let query = queries.first().filter(|_| definition.name == "sql");
        let parameters = spec.metric.parameters.as_object().into_iter().flatten();
        let parameters = parameters.map(|(name, value)| format!("`{name}`: {}", words(value)));
        let parameters = parameters.collect::<Vec<_>>().join("; ");
        if query.is_none() && !parameters.is_empty() {
            text.push_str(&format!(" Parameters: {parameters}."));
        }
        if (spec.scale, spec.offset) != (1.0, 0.0) {
            text.push_str(&format!(
                " The score is this value times {}, plus {}.",
                spec.scale, spec.offset
            ));
        }
        text.push_str(match self.direction() {
            Direction::HigherIsBetter => " Higher is better.",
            Direction::LowerIsBetter => " Lower is better.",
        });
        if let Some(query) = query {
            text.push_str(&format!("\n\n```sql\n{}\n```", query.text.trim()));
        }
        text
    }
}

/// Returns the value of a parameter in words.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Array(values) => joined(values.iter().map(words), MAX_NAMES),
        Value::Object(map) => {
            if let Some(others) = map.get("all_except") {
                return format!("all columns except {}", words(others));
            }
            if let (Some(metric), Some(weight)) = (map.get("metric"), map.get("weight")) {
                let is_complement = map.get("complement").and_then(Value::as_bool) == Some(true);
                let complement = if is_complement { "1 minus " } else { "" };
                return format!("{weight} times {complement}{}", words(metric));
            }
            let entries = map.iter();
            let entries = entries.map(|(name, value)| match value {
                Value::Object(_) => format!("{name} ({})", words(value)),
                _ => format!("{name} {}", words(value)),
            });
            joined(entries.collect::<Vec<_>>().into_iter(), MAX_NAMES)
        }
        other => other.to_string(),
    }
}

/// Returns a selection of columns in words.
fn columns_in_words(columns: &Value) -> String {
    let names = words(columns);
    match columns {
        Value::Array(all) if all.len() != 1 => format!("the columns {names}"),
        Value::Array(_) | Value::String(_) => format!("the column {names}"),
        _ => names,
    }
}

/// Describes a rule. Returns `None` for a rule that only selects rows or changes the answers.
fn requirement(name: &str, parameters: &Value) -> Option<String> {
    let value = |key: &str| parameters.get(key).map(words);
    let text = |key: &str| value(key).unwrap_or_default();
    let choice = |key: &str| parameters.get(key).and_then(Value::as_str);
    let columns = parameters.get("columns").map(columns_in_words);
    let columns = columns.unwrap_or_else(|| "the columns of the sample".to_owned());
    Some(match name {
        "rename" => format!(
            "The column {} may have the name {} instead.",
            text("to"),
            text("column")
        ),
        "columns" => format!("The file has {columns}. Other columns and any order are allowed."),
        "exact_columns" => {
            let order = match parameters["in_order"].as_bool() {
                Some(true) => ", in this order",
                _ => "",
            };
            let first = value("first");
            let first = first.map(|first| format!(", with {first} as the first column"));
            format!(
                "The file has {columns} and no others{order}{}.",
                first.unwrap_or_default()
            )
        }
        "not_empty" => "The file has at least one row.".to_owned(),
        "same_rows" => match parameters["times"].as_u64() {
            None | Some(1) => "The file has as many rows as the answers.".to_owned(),
            Some(times) => format!("The file has {times} rows for each row of the answers."),
        },
        "same_ids" => {
            let column = text("column");
            match choice("relation") {
                Some("subset") => {
                    format!("The column {column} has only identifiers of the answers.")
                }
                Some("superset") => {
                    format!("The column {column} has all identifiers of the answers.")
                }
                _ => format!(
                    "The column {column} has all identifiers of the answers and no others, in any order."
                ),
            }
        }
        "numeric" => format!("The cells of {columns} are numbers."),
        "text" => format!("Every cell of {columns} is text."),
        "finite" => format!("No cell of {columns} is empty, infinite or not a number."),
        "range" => {
            let bounds = match (value("min"), value("max")) {
                (Some(min), Some(max)) => format!("between {min} and {max}"),
                (Some(min), None) => format!("at least {min}"),
                (None, Some(max)) => format!("at most {max}"),
                (None, None) => return None,
            };
            let missing = match choice("missing") {
                Some("ignore") => " Empty cells are allowed.",
                _ => "",
            };
            format!("The numbers of {columns} are {bounds}.{missing}")
        }
        "rows_sum_to" => {
            let total = value("total").unwrap_or_else(|| "1".to_owned());
            let tolerance = match (value("decimals"), value("absolute")) {
                (Some(decimals), _) => format!(", rounded to {decimals} decimals"),
                (None, Some(absolute)) => format!(", with a tolerance of {absolute}"),
                (None, None) => String::new(),
            };
            format!("In every row, the numbers of {columns} sum to {total}{tolerance}.")
        }
        "fill_missing" => format!("An empty cell of {columns} is read as {}.", text("with")),
        "as_text" => {
            format!("The cells of {columns} are compared as text, so `1.0` differs from `1`.")
        }
        "binarize" if choice("of") == Some("both") => format!(
            "Numbers of {columns} are read as 1 if they are at least {}, otherwise as 0.",
            text("from")
        ),
        "drop_unknown" => format!(
            "Rows whose value in the column {} does not occur in the answers are ignored.",
            text("column")
        ),
        "align" if choice("check") == Some("none") => format!(
            "The rows of file and answers are sorted by {}, and then paired by position.",
            text("by")
        ),
        "align" => format!(
            "The column {} has the same identifiers as the answers, each equally often. Any order is allowed.",
            text("by")
        ),
        "align_groups" => format!(
            "For each value of {}, the file has as many rows as the answers, in the same order.",
            text("by")
        ),
        "join" => format!(
            "Rows are paired by {}. Rows whose values do not occur in the answers are ignored.",
            text("by")
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules;

    #[test]
    fn rules_that_select_rows_of_the_answers_are_not_described() {
        let silent = rules::ALL.iter().map(|rule| rule.definition.name);
        let parameters = json!({ "of": "both", "min": 0 });
        let silent: Vec<&str> = silent
            .filter(|name| requirement(name, &parameters).is_none())
            .collect();
        assert_eq!(silent, ["keep_rows", "keep_last", "drop_missing"]);
    }

    #[test]
    fn parameters_are_described_in_words() {
        let grader = |rules: Value, metric: Value| {
            Grader::parse(&json!({ "rules": rules, "metric": metric })).unwrap()
        };
        for (rule, expected) in [
            (
                json!("columns"),
                "The file has the columns of the sample. Other columns and any order are allowed.",
            ),
            (
                json!({ "exact_columns": { "columns": ["id", "a"], "in_order": true } }),
                "The file has the columns `id`, `a` and no others, in this order.",
            ),
            (
                json!({ "numeric": { "all_except": ["id"] } }),
                "The cells of all columns except `id` are numbers.",
            ),
            (
                json!({ "finite": "a" }),
                "No cell of the column `a` is empty, infinite or not a number.",
            ),
            (
                json!({ "range": { "columns": ["a"], "min": 0, "max": 1 } }),
                "The numbers of the column `a` are between 0 and 1.",
            ),
            (
                json!({ "rows_sum_to": { "columns": ["a", "b"], "decimals": 2 } }),
                "In every row, the numbers of the columns `a`, `b` sum to 1, rounded to 2 decimals.",
            ),
            (
                json!({ "align": "id" }),
                "The column `id` has the same identifiers as the answers, each equally often. Any order is allowed.",
            ),
        ] {
            let grader = grader(json!([rule]), json!({ "accuracy": "a" }));
            assert_eq!(
                grader.requirements().first().map(String::as_str),
                Some(expected)
            );
        }
        for (metric, expected) in [
            (
                json!({ "f1": { "column": "a", "average": "macro" } }),
                "Mean F1 of the labels, all with the same weight. Each row has one label.",
            ),
            (
                json!({ "f1": { "columns": ["a", "b"], "average": "micro" } }),
                "added up over the columns. Each column is a label, and a row can have several labels. Parameters: `columns`: `a`, `b`; `average`: `micro`. Higher is better.",
            ),
            (
                json!({ "roc_auc": { "columns": { "all_except": ["id"] } } }),
                " Parameters: `columns`: all columns except `id`. Higher is better.",
            ),
            (
                json!({ "weighted_sum": [{ "metric": { "accuracy": "a" }, "weight": 0.5 }, { "metric": { "accuracy": "b" }, "weight": 0.5 }] }),
                " Parameters: `of`: 0.5 times accuracy `a`, 0.5 times accuracy `b`.",
            ),
        ] {
            let text = grader(json!([]), metric).description_of_metric();
            assert!(text.contains(expected), "{text}");
        }
        for (metric, expected) in [
            (
                json!({ "log_loss": "a" }),
                "Each number is the probability of {label}",
            ),
            (
                json!({ "log_loss": ["a", "b"] }),
                "Each number is the probability that the row belongs to the class",
            ),
            (
                json!({ "roc_auc": "a" }),
                "A higher number means that {label}",
            ),
            (
                json!({ "f1": { "columns": ["a", "b"], "average": "macro" } }),
                "1 means that the row has the label of the column",
            ),
        ] {
            let meaning = grader(json!([]), metric).meaning().unwrap();
            assert!(meaning.starts_with(expected), "{meaning}");
        }
        let scaled = json!({ "metric": { "accuracy": "a" }, "scale": 100 });
        let text = Grader::parse(&scaled).unwrap().description_of_metric();
        let expected = " The score is this value times 100, plus 0. Higher is better.";
        assert!(text.ends_with(expected), "{text}");
    }
}
