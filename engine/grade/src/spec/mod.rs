//! Parses a `grade:` section: rules in order, and one metric.

pub mod definition;
pub(crate) mod kinds;

use serde_json::{Map, Value};

use crate::metrics::Direction;
use crate::metrics::kind::{SpecMetric, read_metric};
use crate::rules::{self, Rule};
use crate::spec::kinds::{Faults, known_keys, missing, read_kind, shape, unknown, value};
use crate::spec::kinds::{GradeSpecError, GradeSpecErrors, KeyPath};
use crate::table::answers::Rows;

/// The keys of a `grade:` section. The caller resolves `answers` and `sample`.
const KEYS: &[&str] = &[
    "answers",
    "answer_rows",
    "sample",
    "rules",
    "metric",
    "direction",
];

/// A parsed section.
#[derive(Debug)]
pub(crate) struct GradeSpec {
    /// How each record of answers in JSON lines is converted to rows.
    pub answer_rows: Option<Rows>,
    pub rules: Vec<SpecRule>,
    pub metric: SpecMetric,
    pub direction: Direction,
}

/// A rule, and the columns that its parameters name.
#[derive(Debug)]
pub(crate) struct SpecRule {
    pub rule: Box<dyn Rule>,
    pub columns: Vec<String>,
    /// The name of the rule.
    pub name: &'static str,
    pub path: KeyPath,
}

pub(crate) fn parse(section: &Value) -> Result<GradeSpec, GradeSpecErrors> {
    let root = KeyPath::default();
    let mut faults = Faults::default();
    let map = section
        .as_object()
        .ok_or_else(|| shape(&root, "a map", section));
    let spec = faults
        .keep(map)
        .and_then(|map| read(map, &root, &mut faults));
    faults.finish(spec)
}

/// Parses the section. Continues after an error, to report all errors. Returns `None` only after an error.
fn read(map: &Map<String, Value>, root: &KeyPath, faults: &mut Faults) -> Option<GradeSpec> {
    known_keys(map, root, "key", KEYS, faults);
    let answer_rows = match map.get("answer_rows") {
        None => Some(None),
        Some(rows) => {
            let path = root.key("answer_rows");
            faults.keep(
                Rows::parse(rows)
                    .map(Some)
                    .map_err(|error| value(&path, &error)),
            )
        }
    };
    let rules = map.get("rules").map_or_else(
        || Some(Vec::new()),
        |rules| read_rules(rules, &root.key("rules"), faults),
    );
    let metric = match map.get("metric") {
        Some(metric) => read_metric(metric, &root.key("metric"), faults),
        None => {
            // If a mistyped key was reported with the suggestion `metric`, do not also report `metric` as missing.
            if !faults.suggest("metric") {
                faults.report(missing(root, "metric"));
            }
            None
        }
    };
    let direction = match map.get("direction") {
        None => metric.as_ref().map(|metric| metric.kind.direction),
        Some(direction) => faults.keep(read_direction(direction, &root.key("direction"))),
    };
    Some(GradeSpec {
        answer_rows: answer_rows?,
        rules: rules?,
        metric: metric?,
        direction: direction?,
    })
}

fn read_rules(rules: &Value, path: &KeyPath, faults: &mut Faults) -> Option<Vec<SpecRule>> {
    let Value::Array(rules) = rules else {
        faults.report(shape(path, "a list of rules", rules));
        return None;
    };
    let read: Vec<Option<SpecRule>> = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| read_rule(rule, &path.index(index), faults))
        .collect();
    read.into_iter().collect()
}

fn read_rule(rule: &Value, path: &KeyPath, faults: &mut Faults) -> Option<SpecRule> {
    let (kind, parameters, path) = read_kind(
        "rule",
        rules::ALL,
        |kind| &kind.definition,
        rule,
        path,
        faults,
    )?;
    let columns = kind.definition.columns(&parameters);
    let rule = (kind.parse)(parameters).map_err(|error| value(&path, &error));
    let rule = faults.keep(rule)?;
    let name = kind.definition.name;
    Some(SpecRule {
        rule,
        columns,
        name,
        path,
    })
}

fn read_direction(value: &Value, path: &KeyPath) -> Result<Direction, GradeSpecError> {
    match value.as_str() {
        Some("higher_is_better") => Ok(Direction::HigherIsBetter),
        Some("lower_is_better") => Ok(Direction::LowerIsBetter),
        Some(other) => Err(unknown(
            path,
            "direction",
            other,
            &["higher_is_better", "lower_is_better"],
        )),
        None => Err(shape(
            path,
            "`higher_is_better` or `lower_is_better`",
            value,
        )),
    }
}
