//! Writes the metric of a new pipeline.

use prep_spec::words::{KeyType, SectionKey};
use serde_json::{Value, json};

use crate::Grader;
use crate::metrics::ALL;
use crate::metrics::kind::POSITIVE;
use crate::spec::kinds::{GradeSpecErrors, example};

/// The choice of a metric that evaluates one of two labels.
const BINARY: &str = "binary";

/// The parameters of a metric in a new pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricDraft {
    /// The value after the metric's name, in YAML.
    pub arguments: String,
    /// The parameters whose values are only examples.
    pub examples: Vec<&'static str>,
    /// The metric as in a section `grade`, with the names of the columns.
    pub metric: Value,
    /// Whether the numbers in a submission belong to the larger of two labels.
    pub predicts_larger_label: bool,
}

/// Returns whether a metric can compare several columns.
pub fn takes_several_columns(metric: &str) -> bool {
    let mut definitions = ALL.iter().map(|kind| &kind.definition);
    let definition = definitions.find(|one| one.name == metric);
    let is_selection = |one: &SectionKey| matches!(one.value, KeyType::Selection);
    definition.is_some_and(|one| one.parameters.iter().any(is_selection))
}

/// Returns a label of answers as the value of the key `positive`. Metrics read booleans as 0 and 1.
pub fn positive_label(cell: &str) -> Value {
    match cell.trim_end_matches(".0").parse::<i64>() {
        Ok(number) => json!(number),
        Err(_) if cell.eq_ignore_ascii_case("true") => json!(1),
        Err(_) => json!(cell),
    }
}

impl MetricDraft {
    /// Writes the required parameters of the metric `name` for the given columns. `first` and `all` are YAML: `first`
    /// is the first column, and `all` selects all columns.
    ///
    /// If the only column has two labels, `positive` is one of them. A metric of one of two labels then evaluates this label.
    /// Other metrics ignore it.
    ///
    /// # Errors
    /// Fails if there is no such metric, or if no example can fit one of its required parameters.
    pub fn new(
        name: &str,
        [first, all]: [&str; 2],
        columns: &[String],
        positive: Option<&str>,
    ) -> Result<MetricDraft, GradeSpecErrors> {
        let mut definitions = ALL.iter().map(|kind| &kind.definition);
        let definition = definitions.find(|one| one.name == name);
        let parameters = definition.map_or(&[][..], |definition| definition.parameters);
        let is_column =
            |one: &&SectionKey| matches!(one.value, KeyType::Column | KeyType::Selection);
        let mut written: Vec<&SectionKey> = parameters.iter().filter(|one| one.required).collect();
        if !written.iter().any(is_column) {
            // A metric such as `f1` takes either one column or several.
            let wanted = match columns {
                [_] => "column",
                _ => "columns",
            };
            let selecting = parameters
                .iter()
                .filter(|one| ["column", "columns"].contains(&one.name));
            written.extend(selecting.min_by_key(|one| one.name != wanted));
        }
        let positive = positive.map(|cell| positive_label(cell).to_string());
        if positive.as_ref().is_some_and(|label| label != "1") {
            written.extend(parameters.iter().filter(|one| one.name == POSITIVE.name));
        }
        let value = |one: &SectionKey| match (&one.value, &positive) {
            (KeyType::Column, _) => first.to_owned(),
            (KeyType::Selection, _) => all.to_owned(),
            (KeyType::Choice(words), Some(_)) if words.contains(&BINARY) => BINARY.to_owned(),
            (KeyType::Label, Some(label)) => label.clone(),
            _ => example(one),
        };
        let parts: Vec<String> = written
            .iter()
            .map(|one| format!("{}: {}", one.name, value(one)))
            .collect();
        let arguments = match written.as_slice() {
            [one] if definition.is_some_and(|kind| kind.shorthand == Some(one.name)) => value(one),
            _ => format!("{{ {} }}", parts.join(", ")),
        };
        // A query, a list of metrics and weights by name have no example. `Grader::parse` below reports them as missing.
        let with_example = written.iter().filter(|one| {
            !matches!(
                one.value,
                KeyType::NumberByName | KeyType::Rows | KeyType::WeightedMetrics
            )
        });
        let typed = with_example.map(|one| {
            let value = match one.value {
                KeyType::Column => json!(columns.first()),
                KeyType::Selection => json!(columns),
                KeyType::Strings => json!(["a", "b"]),
                _ => serde_json::from_str(&value(one)).unwrap_or_else(|_| json!(value(one))),
            };
            (one.name.to_owned(), value)
        });
        let metric = json!({ name: Value::Object(typed.collect()) });
        let meaning = Grader::parse(&json!({ "metric": metric }))?.meaning();
        let examples = written.iter().filter(|one| !is_column(one));
        Ok(MetricDraft {
            arguments,
            examples: examples.map(|one| one.name).collect(),
            metric,
            predicts_larger_label: meaning.is_some_and(|meaning| meaning.contains("{label}")),
        })
    }
}
