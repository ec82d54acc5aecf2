//! Describes reasons in words, and in JSON output.
//!
//! In JSON output, every reason is an object with `kind`, `message` and further members that depend on the kind. Records in
//! the cache and in data directories keep the forms of earlier versions.

use prep_core::{CONTENT, Cause, Change, Reason, units};
use prep_spec::query::sql_of_key;
use prep_spec::shortened;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::grading::trial::{MAX_BYTES, MAX_BYTES_BUILT_IN};

/// A reason without further members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatedReason {
    /// A stable name for programs.
    pub kind: &'static str,
    pub message: String,
}

impl StatedReason {
    pub fn new(kind: &'static str, message: impl Into<String>) -> StatedReason {
        let message = message.into();
        StatedReason { kind, message }
    }
}

/// Replaces the text at the key `member` of a JSON object by a reason whose message is this text.
pub fn state(object: &mut Value, member: &str, kind: &'static str) {
    if let Some(member) = object.get_mut(member)
        && let Some(text) = member.as_str()
    {
        *member = json!(StatedReason::new(kind, text));
    }
}

/// Replaces those members of `step` that describe why the step failed or was skipped by one member `failure`.
pub fn join_failure(step: &mut Value) {
    let Some(step) = step.as_object_mut() else {
        return;
    };
    let mut take = |name: &str| step.shift_remove(name);
    let failure = match (take("failure"), take("message"), take("because")) {
        (Some(kind), Some(message), _) => json!({ "kind": kind, "message": message }),
        (.., Some(Value::String(step))) => {
            json!({ "kind": "skipped", "message": format!("skipped after {step}"), "because": step })
        }
        _ => return,
    };
    step.insert("failure".to_owned(), failure);
}

/// Returns the reason why a step runs, for JSON output.
pub fn json(reason: &Reason) -> Value {
    let message = match reason {
        Reason::Failed { message } => format!("it failed: {}", crate::error::for_people(message)),
        other => short(other),
    };
    let mut all = json!(readable(reason.clone()));
    if let Some(members) = all.as_object_mut() {
        let kind = json!(members.shift_remove("reason"));
        members.shift_insert(0, "message".to_owned(), message.into());
        members.shift_insert(0, "kind".to_owned(), kind);
    }
    all
}

/// Serializes the reason why a step runs.
pub(crate) fn serialize<S: Serializer>(
    reason: &Option<Reason>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    reason.as_ref().map(json).serialize(serializer)
}

/// Describes a reason in one line.
pub fn short(reason: &Reason) -> String {
    match reason {
        Reason::FirstRun => "first run".to_owned(),
        Reason::Changed { changes } => {
            let mut all: Vec<String> = changes.iter().find_map(own_files).into_iter().collect();
            let is_explained = |change: &&Change| OF_OWN_FILES.contains(&&*change.field);
            let has_own_files = !all.is_empty();
            let others = changes.iter();
            let others = others.filter(|change| !has_own_files || !is_explained(change));
            all.extend(others.map(format_change));
            all.join(", ")
        }
        Reason::Failed { message } => {
            let message = crate::error::for_people(message);
            format!("it failed: {}", message.lines().next().unwrap_or_default())
        }
        Reason::ResultMissing => "its result is no longer in the cache".to_owned(),
        Reason::OutputMissing { .. } => {
            "its result is no longer in the cache, and another step needs it".to_owned()
        }
        Reason::Unstored { .. } => {
            "its result was kept in memory only, and another step needs it".to_owned()
        }
        Reason::InputPending { step } => format!("depends on the result of `{step}`"),
        Reason::NotCurrent { difference } => {
            format!("the data directory differs from the results of the steps: {difference}")
        }
        Reason::Unread { bytes } => format!("not read yet, {}", units::bytes(*bytes)),
        Reason::Missing => "missing".to_owned(),
    }
}

/// Describes the changed fields of a [`Reason::Changed`], one per line, with the old and the new value. Returns an empty
/// list for other reasons.
pub fn details(reason: &Reason) -> Vec<String> {
    match readable(reason.clone()) {
        Reason::Changed { changes } => changes.iter().map(detail).collect(),
        _ => Vec::new(),
    }
}

/// Describes how a step changed: one line per changed field, with the old and the new value.
pub fn cause(cause: &Cause) -> Vec<String> {
    let changes = cause.changes.iter();
    let lines = changes.map(|change| match (&*change.field, &change.old, &change.new) {
        ("step", Value::Null, _) => format!("{} was added", cause.step),
        ("step", _, Value::Null) => format!("{} was removed", cause.step),
        (CONTENT, old, new) => format!(
            "{}: {} -> {}",
            cause.step,
            source_file(old),
            source_file(new)
        ),
        _ => format!("{}: {}", cause.step, detail(change)),
    });
    lines.collect()
}

/// Replaces serialized queries in the changes of a reason by readable SQL.
pub fn readable(mut reason: Reason) -> Reason {
    if let Reason::Changed { changes } = &mut reason {
        print_changes(changes);
    }
    reason
}

/// Replaces serialized queries in changes by readable SQL.
pub(crate) fn print_changes(changes: &mut [Change]) {
    for Change { field: _, old, new } in changes {
        print_queries(old);
        print_queries(new);
    }
}

/// Replaces serialized queries in a value by readable SQL. Does not change other strings, such as SQL that earlier versions
/// stored.
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

/// The fields that change when the files of a competition become the user's own, or built-in ones again.
const OF_OWN_FILES: [&str; 5] = [
    "version",
    "params.metric",
    "params.submissions",
    "params.max_bytes",
    "inputs.test",
];

/// If a step changed because the files of a competition became the user's own, or built-in ones again, describes this.
///
/// The description of a built-in competition is published, so it contains no facts about submissions. The trial of a built-in
/// competition has a lower limit.
fn own_files(change: &Change) -> Option<String> {
    let is_own = match (&*change.field, &change.old, &change.new) {
        ("params.submissions", Value::Null, _) => true,
        ("params.submissions", _, Value::Null) => false,
        ("params.max_bytes", old, new) if *old == MAX_BYTES_BUILT_IN && *new == MAX_BYTES => true,
        ("params.max_bytes", old, new) if *old == MAX_BYTES && *new == MAX_BYTES_BUILT_IN => false,
        _ => return None,
    };
    let step = match &*change.field {
        "params.submissions" => "`description.md` contains the rules for submissions",
        _ => "the sample submission is checked more strictly",
    };
    Some(match is_own {
        true => format!("the files of the competition are your own now, so {step}"),
        false => "the files of the competition are the built-in ones again".to_owned(),
    })
}

/// Describes a change, for example `sql changed` or ``input `train` changed``.
fn format_change(change: &Change) -> String {
    let field = name(&change.field);
    match (&change.old, &change.new) {
        _ if change.field == "version" => {
            "this version of prep implements the step differently".to_owned()
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
            format!("{field}: {}", changed_words(old, new))
        }
        (old, new) if field == CONTENT => {
            format!("{field}: {} -> {}", source_file(old), source_file(new))
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

/// Returns whether a string has at least three words, so that it is compared word by word.
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
    shortened(&text, 60)
}

/// Formats the file of a source, as `/bundles/a.zip (5.98 kB, MD5 ...)`.
fn source_file(file: &Value) -> String {
    let path = file["path"].as_str().unwrap_or("an unknown path");
    let bytes = file["bytes"].as_u64().map(units::bytes);
    let digests = [("MD5", "md5"), ("BLAKE3", "blake3"), ("digest", "digest")];
    let mut digests = digests.into_iter().filter_map(|(label, name)| {
        let digest = file[name].as_str()?;
        Some(format!("{label} {digest}"))
    });
    let digest = digests.next().or(Some("not read yet".to_owned()));
    let facts: Vec<String> = bytes.into_iter().chain(digest).collect();
    format!("{path} ({})", facts.join(", "))
}

/// Number of unchanged words that are shown before and after a change.
const CONTEXT_WORDS: usize = 3;

/// Maximum number of removed or added words that are shown at one place.
const MAX_CHANGED_WORDS: usize = 24;

/// A string with more words is not compared word by word, because the time grows with the product of both lengths.
const MAX_WORDS: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordChange<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// Marks removed and added words, for example `SELECT id, [-text-] {+author+} FROM train`. Unchanged words far from a
/// change become `...`.
fn changed_words(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_whitespace().collect(),
        new.split_whitespace().collect(),
    );
    if old.len().max(new.len()) > MAX_WORDS {
        return format!("[-{}-] {{+{}+}}", old.join(" "), new.join(" "));
    }
    let parts = compare(&old, &new);
    let changed: Vec<usize> = (0..parts.len())
        .filter(|at| !matches!(parts[*at], WordChange::Same(_)))
        .collect();
    let near = |at: usize| {
        changed
            .iter()
            .any(|change| change.abs_diff(at) <= CONTEXT_WORDS)
    };
    let mut text: Vec<String> = Vec::new();
    let mut at = 0;
    while at < parts.len() {
        let count_while = |is_wanted: fn(&WordChange) -> bool| {
            let following = parts[at..].iter();
            following.take_while(|part| is_wanted(part)).count()
        };
        let (old, new) = (
            count_while(|part| matches!(part, WordChange::Old(_))),
            count_while(|part| matches!(part, WordChange::New(_))),
        );
        let join = |length: usize| {
            let words = parts[at..at + length].iter().map(|part| match part {
                WordChange::Same(word) | WordChange::Old(word) | WordChange::New(word) => *word,
            });
            let shown = words.take(MAX_CHANGED_WORDS);
            let cut = (length > MAX_CHANGED_WORDS).then_some("...");
            shown.chain(cut).collect::<Vec<_>>().join(" ")
        };
        if old > 0 {
            text.push(format!("[-{}-]", join(old)));
        } else if new > 0 {
            text.push(format!("{{+{}+}}", join(new)));
        } else if near(at) {
            text.push(join(1));
        } else if text.last().is_none_or(|last| last != "...") {
            text.push("...".to_owned());
        }
        at += old.max(new).max(1);
    }
    text.join(" ")
}

/// Compares two lists of words by their longest common subsequence. Removed words come before added words.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<WordChange<'a>> {
    // common[i][j]: length of the longest common subsequence of old[i..] and new[j..].
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut parts = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            parts.push(WordChange::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            parts.push(WordChange::Old(old[i]));
            i += 1;
        } else {
            parts.push(WordChange::New(new[j]));
            j += 1;
        }
    }
    parts
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
                "input `train` changed, sql changed, this version of prep implements the step differently",
            ),
            (
                Reason::Changed {
                    changes: vec![
                        change("params.metric", json!("a"), json!("b")),
                        change("params.submissions", Value::Null, json!({})),
                        change("params.outputs", json!([]), json!(["a"])),
                        change("version", json!(1), json!(3)),
                    ],
                },
                "the files of the competition are your own now, so `description.md` contains the rules for submissions, outputs changed",
            ),
            (
                Reason::Changed {
                    changes: vec![
                        change("inputs.test", Value::Null, json!("b")),
                        change("params.max_bytes", json!(1 << 20), json!(16 << 20)),
                    ],
                },
                "the files of the competition are your own now, so the sample submission is checked more strictly",
            ),
            (
                Reason::Changed {
                    changes: vec![change("params.submissions", json!({}), Value::Null)],
                },
                "the files of the competition are the built-in ones again",
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
            (
                Reason::NotCurrent {
                    difference: "changed or missing: public/train.csv".into(),
                },
                "the data directory differs from the results of the steps: changed or missing: public/train.csv",
            ),
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
                change(
                    "content",
                    json!({ "path": "/a.zip", "bytes": 5, "blake3": "b".repeat(64), "md5": "0f" }),
                    json!({ "bytes": 6, "blake3": "c" }),
                ),
                "content: /a.zip (5 B, MD5 0f) -> an unknown path (6 B, BLAKE3 c)",
            ),
            (
                change("params.path", json!("a.csv"), json!("é".repeat(80))),
                &format!("path: `a.csv` -> `{}…", "é".repeat(58)),
            ),
        ] {
            assert_eq!(details(&Reason::Changed { changes: vec![one] }), [expected]);
        }
        assert!(details(&Reason::FirstRun).is_empty());
    }
}

#[cfg(test)]
mod diff_tests {
    use super::*;

    #[test]
    fn removed_and_added_words_are_marked() {
        for (old, new, expected) in [
            ("", "", ""),
            ("a b", "a b", "..."),
            ("", "a b", "{+a b+}"),
            ("a b", "", "[-a b-]"),
            (
                "SELECT id, text FROM t",
                "SELECT id, author FROM t",
                "SELECT id, [-text-] {+author+} FROM t",
            ),
            (
                "a b c d e f g h x",
                "a b c d e f g h y",
                "... f g h [-x-] {+y+}",
            ),
            (
                "a",
                &format!("a{}", " x".repeat(30)),
                &format!("a {{+x{} ...+}}", " x".repeat(23)),
            ),
            (
                "p 1 2 3 4 5 6 7 8 q",
                "P 1 2 3 4 5 6 7 8",
                "[-p-] {+P+} 1 2 3 ... 6 7 8 [-q-]",
            ),
        ] {
            assert_eq!(changed_words(old, new), expected, "{old} -> {new}");
        }
    }
}
