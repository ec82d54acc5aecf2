//! Describes the reasons why steps run.

mod diff;

use prep_core::{Change, Reason, units};
use prep_spec::query::sql_of_key;
use serde_json::Value;

/// Describes a reason in one line.
pub fn short(reason: &Reason) -> String {
    match reason {
        Reason::FirstRun => "first run".to_owned(),
        Reason::Changed { changes } => changes
            .iter()
            .map(format_change)
            .collect::<Vec<_>>()
            .join(", "),
        Reason::Failed { message } => {
            let message = crate::error::for_people(message);
            format!("it failed: {}", message.lines().next().unwrap_or_default())
        }
        Reason::OutputMissing { .. } => {
            "its result is no longer in the cache, and another step needs it".to_owned()
        }
        Reason::Unstored { .. } => {
            "its result was kept in memory only, and another step needs it".to_owned()
        }
        Reason::InputPending { step } => format!("depends on the result of `{step}`"),
        Reason::NotCurrent => {
            "the data directory differs from the results, or was not checked since a restart"
                .to_owned()
        }
        Reason::Unread { bytes } => format!("not read yet, {}", units::bytes(*bytes)),
        Reason::Missing => "missing".to_owned(),
    }
}

/// Describes the changed fields, one per line, with both values. Returns an empty list for other reasons.
pub fn details(reason: &Reason) -> Vec<String> {
    match readable(reason.clone()) {
        Reason::Changed { changes } => changes.iter().map(detail).collect(),
        _ => Vec::new(),
    }
}

/// Replaces the keys of queries in the changes of a reason by SQL.
pub fn readable(reason: Reason) -> Reason {
    let Reason::Changed { mut changes } = reason else {
        return reason;
    };
    for Change { field: _, old, new } in &mut changes {
        print_queries(old);
        print_queries(new);
    }
    Reason::Changed { changes }
}

/// Replaces the keys of queries in a record or a parameter by SQL. Other texts stay as they are. They include the queries
/// in records of earlier versions, which are SQL.
pub fn print_queries(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(sql) = sql_of_key(text) {
                *text = sql.to_owned();
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(print_queries),
        Value::Object(members) => members.values_mut().for_each(print_queries),
        _ => {}
    }
}

/// Describes a change, for example `sql changed` or ``input `train` changed``.
fn format_change(change: &Change) -> String {
    let field = name(&change.field);
    match (&change.old, &change.new) {
        _ if change.field == "version" => {
            "this version of prep implements it differently".to_owned()
        }
        (Value::Null, _) => format!("{field} was added"),
        (_, Value::Null) => format!("{field} was removed"),
        _ => format!("{field} changed"),
    }
}

fn detail(change: &Change) -> String {
    let field = name(&change.field);
    match (&change.old, &change.new) {
        (Value::String(old), Value::String(new))
            if change.field.starts_with("params.") && is_query(old) =>
        {
            format!("{field}: {}", diff::words(old, new))
        }
        (old, new) => format!("{field}: {} -> {}", value(old), value(new)),
    }
}

/// Returns the name of a field as in the pipeline: parameters without a prefix, inputs by name.
fn name(field: &str) -> String {
    if let Some(input) = field.strip_prefix("inputs.") {
        return format!("input `{input}`");
    }
    match field {
        "step" => "kind of step".to_owned(),
        "version" => "version of the step".to_owned(),
        other => other.strip_prefix("params.").unwrap_or(other).to_owned(),
    }
}

/// Returns whether a text has at least three words. Such texts are compared word by word.
fn is_query(text: &str) -> bool {
    text.split_whitespace().nth(2).is_some()
}

/// Formats a value. Digests are shortened to 12 digits, other values to 60 characters.
fn value(value: &Value) -> String {
    let text = match value {
        Value::Null => return "nothing".to_owned(),
        Value::String(text)
            if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            return text.chars().take(12).collect();
        }
        Value::String(text) => format!("`{text}`"),
        other => other.to_string(),
    };
    if text.chars().count() <= 60 {
        return text;
    }
    let start: String = text.chars().take(57).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(field: &str, old: Value, new: Value) -> Change {
        Change {
            field: field.to_owned(),
            old,
            new,
        }
    }

    #[test]
    fn reasons_are_described_in_one_line() {
        let changed = Reason::Changed {
            changes: vec![
                change("inputs.train", json!("a"), json!("b")),
                change(
                    "params.sql",
                    json!("SELECT 1 FROM t"),
                    json!("SELECT 2 FROM t"),
                ),
                change("version", json!(1), json!(2)),
            ],
        };
        for (reason, expected) in [
            (Reason::FirstRun, "first run"),
            (
                changed,
                "input `train` changed, sql changed, this version of prep implements it differently",
            ),
            (
                Reason::InputPending {
                    step: "train".into(),
                },
                "depends on the result of `train`",
            ),
            (
                Reason::Failed {
                    message: "`a.csv` has MD5 1\n  b".into(),
                },
                "it failed: `a.csv` has MD5 1",
            ),
            (Reason::Unread { bytes: 1_900_000 }, "not read yet, 1.90 MB"),
            (Reason::Missing, "missing"),
        ] {
            assert_eq!(short(&reason), expected);
        }
    }

    #[test]
    fn details_show_both_values() {
        let digest = |digit: &str| json!(digit.repeat(64));
        let key = |sql: &str| prep_spec::model::Query::parse(sql).unwrap().key;
        for (one, expected) in [
            (
                change(
                    "params.sql",
                    json!("SELECT 1 FROM t"),
                    json!("SELECT 2 FROM t"),
                ),
                "sql: SELECT [-1-] {+2+} FROM t",
            ),
            (
                // The old record is from a version that stored SQL.
                change(
                    "params.sql",
                    json!("SELECT 1 AS a FROM t"),
                    json!(key("SELECT 2 AS a FROM t")),
                ),
                "sql: SELECT [-1-] {+2+} AS a FROM ...",
            ),
            (
                change(
                    "params.members",
                    json!([["x", key("SELECT 1 AS a")]]),
                    json!([["x", key("SELECT 2 AS a")]]),
                ),
                r#"members: [["x","SELECT 1 AS a"]] -> [["x","SELECT 2 AS a"]]"#,
            ),
            (
                change("inputs.train", digest("a"), digest("b")),
                "input `train`: aaaaaaaaaaaa -> bbbbbbbbbbbb",
            ),
            (
                change("inputs.x", Value::Null, digest("b")),
                "input `x`: nothing -> bbbbbbbbbbbb",
            ),
            (change("params.seed", json!(0), json!(1)), "seed: 0 -> 1"),
            (
                change("params.path", json!("a.csv"), json!("é".repeat(80))),
                &format!("path: `a.csv` -> `{}...", "é".repeat(56)),
            ),
        ] {
            assert_eq!(details(&Reason::Changed { changes: vec![one] }), [expected]);
        }
        assert!(details(&Reason::FirstRun).is_empty());
    }
}
