//! The budget of an experiment, which a person fills in: hours, hardware, model and its cut-off date.
//!
//! The file is YAML. It maps fields to values, or the name of each experiment to its fields. A value is a plain or quoted
//! string on one line.
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
        let text = report::read(path)?;
        let mut budgets = Budgets::default();
        let mut experiment: Option<String> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') || content == "---" {
                continue;
            }
            let wrong = |problem: &str| ExperimentsError::in_line(path, number, problem);
            let (key, value) = split(content).ok_or_else(|| wrong("expected `field: value`"))?;
            let is_indented = line.starts_with(' ');
            if value.is_empty() && !is_indented && !BUDGET_FIELDS.contains(&key.as_str()) {
                budgets.named.entry(key.clone()).or_default();
                experiment = Some(key);
                continue;
            }
            if !BUDGET_FIELDS.contains(&key.as_str()) {
                let problem = format!("`{key}` is not one of {}", BUDGET_FIELDS.join(", "));
                return Err(wrong(&problem));
            }
            let fields = match experiment.as_ref().filter(|_| is_indented) {
                Some(name) => budgets.named.entry(name.clone()).or_default(),
                None if is_indented => {
                    return Err(wrong(
                        "expected the name of an experiment above the indented line",
                    ));
                }
                None => &mut budgets.common,
            };
            if fields.insert(key.clone(), value).is_some() {
                return Err(wrong(&format!("`{key}` occurs twice")));
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

/// Splits `key: value`. Returns `None` for another line, for example an element of a list.
fn split(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(':')?;
    let value = match value.strip_prefix(' ') {
        Some(value) => value.trim(),
        None if value.is_empty() => "",
        None => return None,
    };
    let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    let value = match unquoted('"').or_else(|| unquoted('\'')) {
        Some(quoted) if !quoted.contains(['\\', '"', '\'']) => quoted,
        None if !value.starts_with(['"', '\'', '[', '{', '&', '*', '|', '>', '!']) => {
            value.split(" #").next().unwrap_or_default().trim_end()
        }
        _ => return None,
    };
    let key = key.trim_matches(['"', '\'']);
    (!key.is_empty() && !key.starts_with('-')).then(|| (key.to_owned(), value.to_owned()))
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

    #[test]
    fn errors_in_a_budget_name_their_line() {
        for (text, message) in [
            ("hours 24", "expected `field: value`"),
            ("hour: 24", "`hour` is not one of"),
            ("mine:\n  hour: 24", "`hour` is not one of"),
            ("hours: 1\nhours: 2", "`hours` occurs twice"),
            ("  hours: 1", "expected the name of an experiment above"),
            ("- hours: 1", "expected `field: value`"),
            ("hours: [1]", "expected `field: value`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
