//! The budget of an experiment, which a person fills in: hours, hardware, model and its cut-off date.
//!
//! The file is YAML or JSON. It maps fields to values, or the name of each experiment to its fields.
//!
//! ```yaml
//! my-agent:
//!   model: some-model-2
//!   cutoff: 2026-01-31
//!   hours: 24
//!   hardware: 1x A10, 36 vCPU
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use prep_spec::yaml::{self, Kind, MappingEntry, YamlNode};
use prep_spec::{SourceFile, Span};

use crate::report::{self, ExperimentsError};

/// All fields, in the order of the documentation.
pub const BUDGET_FIELDS: [&str; 9] = [
    "agent", "model", "cutoff", "hours", "hardware", "date", "leakage", "source", "reports",
];

/// The values of the fields that are filled in, by field.
pub type Budget = BTreeMap<String, String>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budgets {
    /// Fields outside of experiments, which apply to all experiments.
    common: Budget,
    named: BTreeMap<String, Budget>,
}

impl Budgets {
    /// Reads the budgets from a YAML file. An unknown or repeated field is an error.
    pub fn read(path: &Path) -> Result<Budgets, ExperimentsError> {
        let source = SourceFile::new("", report::read(path)?);
        let wrong = |(span, problem): (Span, String)| {
            ExperimentsError::in_line(path, source.position(span.start).0, &problem)
        };
        let root = yaml::parse(&source).map_err(|error| wrong((error.span, error.message)))?;
        let mut budgets = Budgets::default();
        for entry in entries(&root).map_err(wrong)? {
            let is_experiment = match &entry.value.kind {
                Kind::Mapping(_) => true,
                _ => entry.value.is_null() && !BUDGET_FIELDS.contains(&entry.key.as_str()),
            };
            if !is_experiment {
                add(&mut budgets.common, entry).map_err(wrong)?;
                continue;
            }
            let fields = budgets.named.entry(entry.key.clone()).or_default();
            if !entry.value.is_null() {
                let mut own = entries(&entry.value).map_err(wrong)?.iter();
                own.try_for_each(|own| add(fields, own)).map_err(wrong)?;
            }
        }
        Ok(budgets)
    }

    /// Returns the experiments that have fields of their own.
    pub fn experiments(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    pub fn of(&self, experiment: &str) -> Budget {
        let mut fields = self.common.clone();
        let own = self.named.get(experiment).cloned().unwrap_or_default();
        fields.extend(own);
        fields
    }
}

/// A mistake in the file, and its position.
type Mistake = (Span, String);

fn entries(node: &YamlNode) -> Result<&[MappingEntry], Mistake> {
    match &node.kind {
        Kind::Mapping(entries) => Ok(entries),
        _ => Err((node.span, "expected `field: value`".to_owned())),
    }
}

fn add(fields: &mut Budget, entry: &MappingEntry) -> Result<(), Mistake> {
    let key = &entry.key;
    let problem = match &entry.value.kind {
        _ if !BUDGET_FIELDS.contains(&key.as_str()) => {
            format!("`{key}` is not one of {}", BUDGET_FIELDS.join(", "))
        }
        Kind::Scalar(_) if fields.contains_key(key) => format!("`{key}` occurs twice"),
        Kind::Scalar(scalar) => {
            let is_null = entry.value.is_null();
            let text = if is_null { "" } else { scalar.text.trim_end() };
            fields.insert(key.clone(), text.to_owned());
            return Ok(());
        }
        _ => format!(
            "expected a value for `{key}`, found {}",
            entry.value.describe()
        ),
    };
    Err((entry.key_span, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Budgets, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("budget.yaml");
        std::fs::write(&path, text).unwrap();
        Budgets::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_of_an_experiment_replace_common_ones() {
        let text = "---\n# common\nhours: 24\nhardware: \"1x A10: 36 vCPU\"\n\nmine:\n  hours: 12  # less\n  cutoff: 2026-01-31\nother:\n";
        let budgets = read(text).unwrap();
        let (mine, other) = (budgets.of("mine"), budgets.of("other"));
        assert_eq!((&*mine["hours"], &*mine["cutoff"]), ("12", "2026-01-31"));
        assert_eq!((&*other["hours"], other.get("cutoff")), ("24", None));
        assert_eq!(mine["hardware"], "1x A10: 36 vCPU");
    }

    /// YAML in one line and JSON have the same meaning as a block.
    #[test]
    fn every_form_of_yaml_is_read() {
        let block = read("hours: 24\nmine:\n  model: a b\n").unwrap();
        for text in [
            "hours: 24\nmine: {model: a b}\n",
            "{hours: 24, mine: {model: a b}}",
            r#"{"hours": 24, "mine": {"model": "a b"}}"#,
            "hours: '24'\nmine:\n  model: >\n    a\n    b\n",
        ] {
            assert_eq!(read(text).unwrap(), block, "{text}");
        }
    }

    #[test]
    fn errors_in_a_budget_name_their_line() {
        for (text, message) in [
            ("hours 24", "budget.yaml:1: expected `field: value`"),
            ("hour: 24", "budget.yaml:1: `hour` is not one of"),
            ("mine:\n  hour: 24", "budget.yaml:2: `hour` is not one of"),
            ("hours: 1\nhours: 2", "budget.yaml:2: `hours` occurs twice"),
            ("- hours: 1", "budget.yaml:1: expected `field: value`"),
            ("hours: [1]", "expected a value for `hours`, found a list"),
            (
                "mine: {model: {a: 1}}",
                "expected a value for `model`, found a mapping",
            ),
            ("mine: [hours]\n", "`mine` is not one of"),
            ("mine: {hours: 1", "budget.yaml:1: "),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
