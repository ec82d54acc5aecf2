//! Two JSON documents: values, then the order of keys, then layout. Both are held in memory, unless one is too long for that:
//! long lists are compared as tables, item by item; of other long documents no more is said than that they differ.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use prep_contents::Format;
use serde_json::Value;

use crate::causes::{Cause, Harm, NOT_CLASSIFIED, files, rows, text};
use crate::finding::Finding;
use crate::table::cell::{Difference, Nature};
use crate::table::{self, Role};

/// Longer documents are not held in memory: their values take ten times as much.
const LONGEST: u64 = 128 << 20;

pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    role: &Role,
) -> io::Result<Vec<Finding>> {
    compare_up_to(LONGEST, path, theirs, ours, role)
}

fn compare_up_to(
    longest: u64,
    path: &str,
    theirs: &Path,
    ours: &Path,
    role: &Role,
) -> io::Result<Vec<Finding>> {
    let length = |path: &Path| -> io::Result<u64> { Ok(std::fs::metadata(path)?.len()) };
    if length(theirs)?.max(length(ours)?) > longest {
        if is_list(theirs)? && is_list(ours)? {
            return Ok(table::compare(path, theirs, ours, Format::Json, role)?.findings);
        }
        let proof = format!(
            "documents of more than {} MB that are no lists are compared by their bytes",
            longest >> 20
        );
        return Ok(vec![Finding::new(&NOT_CLASSIFIED, path).proof(proof)]);
    }
    let parse = |path: &Path| -> io::Result<Value> {
        serde_json::from_reader(BufReader::new(File::open(path)?)).map_err(io::Error::other)
    };
    let here = parse(ours)?;
    let there = match parse(theirs) {
        Ok(there) => there,
        Err(error) => {
            let finding = Finding::new(&files::FILES_DAMAGED, path).example(error.to_string());
            return Ok(vec![finding]);
        }
    };
    let mut walk = Walk {
        role,
        found: BTreeMap::new(),
        key_order: false,
    };
    walk.values(&there, &here, "");
    // Where more differs than spelling, what names the items tells which belong together.
    let is_other = walk
        .found
        .values()
        .any(|(cause, ..)| cause.harm >= Harm::Content);
    if is_other && is_of_objects(&there) && is_of_objects(&here) {
        return Ok(table::compare(path, theirs, ours, Format::Json, role)?.findings);
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (cause, count, examples) in walk.found.into_values() {
        let mut finding = Finding::new(cause, path).cells(count);
        for example in examples {
            finding = finding.example(example);
        }
        findings.push(finding);
    }
    // Another order is as long as it was.
    let is_order = |finding: &Finding| finding.cause.id == rows::ROW_ORDER.id;
    let reordered = walk.key_order || !findings.is_empty();
    let only_order = reordered && findings.iter().all(is_order);
    if only_order && length(theirs)? != length(ours)? {
        let proof = "all values are equal, but not how long the files are";
        findings.push(Finding::new(&text::DOCUMENT_LAYOUT, path).proof(proof));
    }
    if walk.key_order {
        findings.push(Finding::new(&text::KEY_ORDER, path).proof("all values are equal"));
    }
    if findings.is_empty() {
        // As text, numbers are what they are spelled as.
        let spelled = |value: &serde_json::Value| value.to_string();
        let cause = if spelled(&there) == spelled(&here) {
            &text::DOCUMENT_LAYOUT
        } else {
            &NOT_CLASSIFIED
        };
        findings
            .push(Finding::new(cause, path).proof("all values and the order of keys are equal"));
    }
    Ok(findings)
}

fn is_of_objects(value: &Value) -> bool {
    let items = value.as_array().filter(|items| !items.is_empty());
    items.is_some_and(|items| items.iter().all(Value::is_object))
}

fn is_list(path: &Path) -> io::Result<bool> {
    let mut head = BufReader::new(File::open(path)?);
    loop {
        match head.fill_buf()?.first() {
            Some(byte) if byte.is_ascii_whitespace() => head.consume(1),
            first => return Ok(first == Some(&b'[')),
        }
    }
}

struct Walk<'a> {
    role: &'a Role,
    found: BTreeMap<&'static str, (&'static Cause, u64, Vec<String>)>,
    key_order: bool,
}

impl Walk<'_> {
    fn add(&mut self, cause: &'static Cause, count: u64, example: impl FnOnce() -> String) {
        let (_, sum, examples) = self.found.entry(cause.id).or_insert((cause, 0, Vec::new()));
        *sum += count;
        if examples.len() < crate::finding::EXAMPLES {
            examples.push(example());
        }
    }

    fn values(&mut self, there: &Value, here: &Value, place: &str) {
        match (there, here) {
            (Value::Object(a), Value::Object(b)) => {
                self.key_order |= a.len() == b.len()
                    && a.keys().zip(b.keys()).any(|(a, b)| a != b)
                    && a.keys().all(|key| b.contains_key(key));
                for (key, value) in b {
                    let inner = format!("{place}/{key}");
                    match a.get(key) {
                        Some(other) => self.values(other, value, &inner),
                        None => self.add(&rows::COLUMNS_MISSING, 1, || inner),
                    }
                }
                for key in a.keys().filter(|key| !b.contains_key(*key)) {
                    self.add(&rows::COLUMNS_ADDED, 1, || format!("{place}/{key}"));
                }
            }
            (Value::Array(a), Value::Array(b)) => self.lists(a, b, place),
            (a, b) if a == b => {}
            (a, b) => {
                let (x, y) = (plain(a), plain(b));
                let difference = match (a, b) {
                    (Value::String(_), Value::Number(_)) | (Value::Number(_), Value::String(_))
                        if x == y =>
                    {
                        Difference::NumberSpelling
                    }
                    (Value::String(_), Value::String(_)) => {
                        // A text is no number, whatever it looks like.
                        let text = Nature {
                            numbers: false,
                            booleans: false,
                        };
                        match text.judge(Difference::between(x.as_bytes(), y.as_bytes())) {
                            Difference::MissingWords | Difference::Rounded => Difference::Value,
                            difference => difference,
                        }
                    }
                    _ => Difference::between(x.as_bytes(), y.as_bytes()),
                };
                let key = place.rsplit('/').next().unwrap_or_default();
                let is_exact = self.role.is_label(key) || self.role.ids.contains(key);
                let difference = match difference {
                    Difference::Blanks if is_exact => Difference::Value,
                    difference => difference,
                };
                let cause = match difference {
                    Difference::Value if self.role.is_label(key) => {
                        &crate::causes::labels::LABELS_CHANGED
                    }
                    other => other.cause(),
                };
                self.add(cause, 1, || format!("{place}: {a} there, {b} here"));
            }
        }
    }

    fn lists(&mut self, there: &[Value], here: &[Value], place: &str) {
        let same_length = there.len() == here.len();
        let differ = there.iter().zip(here).filter(|(a, b)| a != b).count();
        if same_length && differ == 0 {
            for (number, (a, b)) in there.iter().zip(here).enumerate() {
                self.values(a, b, &format!("{place}/{number}"));
            }
            return;
        }
        let mut counts: BTreeMap<String, (i64, usize)> = BTreeMap::new();
        for (number, value) in here.iter().enumerate() {
            counts.entry(sorted(value)).or_insert((0, number)).0 += 1;
        }
        for (number, value) in there.iter().enumerate() {
            counts.entry(sorted(value)).or_insert((0, number)).0 -= 1;
        }
        let missing: i64 = counts.values().map(|(count, _)| (*count).max(0)).sum();
        let added: i64 = counts.values().map(|(count, _)| (-count).max(0)).sum();
        if missing == 0 && added == 0 {
            self.add(&rows::ROW_ORDER, differ as u64, || {
                format!("{place}: {differ} items stand elsewhere")
            });
            return;
        }
        if same_length && missing as usize == differ {
            for (number, (a, b)) in there.iter().zip(here).enumerate() {
                self.values(a, b, &format!("{place}/{number}"));
            }
            return;
        }
        for (cause, number, wanted) in [
            (&rows::ROWS_MISSING, missing, 1),
            (&rows::ROWS_ADDED, added, -1),
        ] {
            if number > 0 {
                let item = counts
                    .values()
                    .find(|(count, _)| count.signum() == wanted)
                    .map_or(0, |(_, item)| *item);
                self.add(cause, number.unsigned_abs(), || format!("{place}/{item}"));
            }
        }
    }
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

/// JSON with sorted keys: equal for equal values.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<_> = object.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            let inner: Vec<String> = keys
                .iter()
                .map(|(key, value)| format!("{key:?}:{}", sorted(value)))
                .collect();
            format!("{{{}}}", inner.join(","))
        }
        Value::Array(list) => format!(
            "[{}]",
            list.iter().map(sorted).collect::<Vec<_>>().join(",")
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_have_the_same_causes_as_short_ones() {
        let folder = tempfile::tempdir().unwrap();
        let list = r#"[{"id": 1, "x": 0.5, "t": "a"}, {"id": 2, "x": 1.5, "t": "b"}, {"id": 3, "x": 2.5, "t": "c"}]"#;
        let (theirs, ours) = (folder.path().join("theirs"), folder.path().join("ours"));
        let found = |longest, there: &str, here: &str| -> Vec<&str> {
            std::fs::write(&theirs, there).unwrap();
            std::fs::write(&ours, here).unwrap();
            let found = compare_up_to(longest, "x.json", &theirs, &ours, &Role::default());
            let mut causes: Vec<&str> = found.unwrap().iter().map(|one| one.cause.id).collect();
            causes.sort_unstable();
            causes
        };
        for (there, expected) in [
            (list.replace(", ", ","), "document-layout"),
            (
                list.replace(r#""id": 2, "x": 1.5"#, r#""x": 1.5, "id": 2"#),
                "key-order",
            ),
            (list.replace("1.5", "1.75"), "values-changed"),
            (
                list.replace(r#"{"id": 2, "x": 1.5, "t": "b"}, "#, ""),
                "rows-missing",
            ),
            (list.replace(r#", "t": "b""#, ""), "values-changed"),
            (list.replace("0.5", "0.50"), "document-layout"),
            ("<html>no</html>".to_owned(), "files-damaged"),
        ] {
            let causes = found(1, &there, list);
            // The page is no list: only bytes are left.
            let expected = match expected {
                "files-damaged" => "not-classified",
                expected => expected,
            };
            assert!(
                causes.contains(&expected),
                "{there}: {causes:?}, not {expected}"
            );
        }
        let object = |value: u32| format!("{{\"a\": {value}, \"rows\": {list}}}");
        assert_eq!(found(1, &object(1), &object(2)), ["not-classified"]);
        assert_eq!(found(1 << 20, &object(1), &object(2)), ["values-changed"]);
    }
}
