//! Compares two JSON documents (values, then the order of keys, then the layout), or the pixels of two images.
//!
//! A document that does not fit into memory is compared like a table if it is a list, otherwise by bytes.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;

use prep_contents::pixels::Pixels;
use prep_contents::table::parse_within;
use prep_contents::{ContentsError, DecodingLimits, Format, Result, read};
use prep_formats::json::{JsonString, JsonValue, WriteOptions};

use crate::causes::{Cause, Harm};
use crate::finding::AuditFinding;
use crate::table;
use crate::table::TableUse;
use crate::table::cell::{ColumnType, Difference};

/// Two objects or lists at this depth are compared only for equality. A difference between them has no example.
const MAX_DEPTH: usize = 64;

pub(super) fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    role: &TableUse,
    limits: &DecodingLimits,
) -> Result<Vec<AuditFinding>> {
    let parse = |file: &Path| parse_within(&read::read_file(file, limits)?, limits);
    let (their_value, our_value) = match (parse(theirs), parse(ours)) {
        (Ok(their_value), Ok(our_value)) => (their_value, our_value),
        (Err(error), _) | (_, Err(error)) if error.is_of_the_system() => return Err(error),
        (Err(ContentsError::Limit(exceeded)), _) | (_, Err(ContentsError::Limit(exceeded))) => {
            if is_list(theirs)? && is_list(ours)? {
                return Ok(
                    table::compare(path, [theirs, ours], Format::Json, role, limits)?.findings,
                );
            }
            let proof = format!(
                "this document exceeds a limit and is not a list, so only its bytes are compared: {exceeded}"
            );
            return Ok(vec![
                AuditFinding::new(Cause::NotClassified, path).proof(proof),
            ]);
        }
        (_, Err(error)) => return Err(error),
        (Err(error), _) => {
            let finding = AuditFinding::new(Cause::FilesDamaged, path).example(error.to_string());
            return Ok(vec![finding]);
        }
    };
    let mut walk = DocumentComparison {
        role,
        found: BTreeMap::new(),
        key_order: false,
        path: Vec::new(),
    };
    walk.values(&their_value, &our_value);
    // If the content of two lists differs, compare them as tables, which pair the items by their ids.
    let content_differs = walk.found.keys().any(|cause| cause.harm() >= Harm::Content);
    if content_differs && is_list_of_objects(&their_value) && is_list_of_objects(&our_value) {
        return Ok(table::compare(path, [theirs, ours], Format::Json, role, limits)?.findings);
    }
    let found = walk.found.into_iter().map(|(cause, (count, examples))| {
        let finding = AuditFinding::new(cause, path).cells(count);
        finding.examples(examples)
    });
    let mut findings: Vec<AuditFinding> = found.collect();
    // A different order of items does not change the length of a file, but a different layout does.
    let length = |file: &Path| file.metadata().map_err(ContentsError::system_error(file));
    let is_order = |finding: &AuditFinding| finding.cause == Cause::RowOrder;
    let reordered = walk.key_order || !findings.is_empty();
    let only_order = reordered && findings.iter().all(is_order);
    if only_order && length(theirs)?.len() != length(ours)?.len() {
        let proof = "all values are equal, but the files have different lengths";
        findings.push(AuditFinding::new(Cause::DocumentLayout, path).proof(proof));
    }
    if walk.key_order {
        findings.push(AuditFinding::new(Cause::KeyOrder, path).proof("all values are equal"));
    }
    if findings.is_empty() {
        let proof = "all values and the order of keys are equal";
        findings.push(AuditFinding::new(Cause::DocumentLayout, path).proof(proof));
    }
    Ok(findings)
}

fn is_list_of_objects(value: &JsonValue) -> bool {
    let items = value.as_list().filter(|items| !items.is_empty());
    items.is_some_and(|items| items.iter().all(|item| item.as_object().is_some()))
}

fn is_list(path: &Path) -> Result<bool> {
    let file = std::fs::File::open(path).map_err(ContentsError::system_error(path))?;
    let mut head = BufReader::new(file);
    loop {
        match head.fill_buf()?.first() {
            Some(byte) if byte.is_ascii_whitespace() => head.consume(1),
            first => return Ok(first == Some(&b'[')),
        }
    }
}

/// Returns whether values are equal, apart from the order of keys. NaN equals NaN.
fn equal(their_value: &JsonValue, our_value: &JsonValue) -> bool {
    match (their_value, our_value) {
        (JsonValue::Object(a), JsonValue::Object(b)) => {
            let same = |(key, value)| a.get_key(key).is_some_and(|other| equal(other, value));
            a.len() == b.len() && b.iter().all(same)
        }
        (JsonValue::List(a), JsonValue::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (JsonValue::Float(a), JsonValue::Float(b)) => {
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
        }
        (a, b) => a == b,
    }
}

enum PathStep<'a> {
    Key(&'a JsonString),
    Item(usize),
}

struct DocumentComparison<'a> {
    role: &'a TableUse,
    found: BTreeMap<Cause, (u64, Vec<String>)>,
    key_order: bool,
    path: Vec<PathStep<'a>>,
}

impl<'a> DocumentComparison<'a> {
    /// Adds `count` differences at the current path. If `last` is given, it is appended to this path. A finding shows
    /// the first differences of a cause as examples. `describe` is called only for these differences, and formats one
    /// of them.
    fn add(
        &mut self,
        cause: Cause,
        count: u64,
        last: Option<PathStep<'a>>,
        describe: impl FnOnce() -> String,
    ) {
        let (sum, examples) = self.found.entry(cause).or_default();
        *sum += count;
        if examples.len() < crate::finding::MAX_EXAMPLES {
            let mut text = String::new();
            for step in self.path.iter().chain(&last) {
                text.push('/');
                match step {
                    PathStep::Key(key) => text.push_str(&key.to_string_lossy()),
                    PathStep::Item(number) => text.push_str(&number.to_string()),
                }
            }
            text.push_str(&describe());
            examples.push(text);
        }
    }

    fn inside(&mut self, step: PathStep<'a>, their_value: &'a JsonValue, our_value: &'a JsonValue) {
        self.path.push(step);
        self.values(their_value, our_value);
        self.path.pop();
    }

    fn values(&mut self, their_value: &'a JsonValue, our_value: &'a JsonValue) {
        match (their_value, our_value) {
            (a, b) if self.path.len() >= MAX_DEPTH && !is_plain(a) && !is_plain(b) => {
                if !equal(a, b) {
                    self.add(Cause::ValuesChanged, 1, None, String::new);
                }
            }
            (JsonValue::Object(a), JsonValue::Object(b)) => {
                self.key_order |= a.len() == b.len()
                    && a.keys().zip(b.keys()).any(|(a, b)| a != b)
                    && a.keys().all(|key| b.get_key(key).is_some());
                for (key, value) in b.iter() {
                    match a.get_key(key) {
                        Some(other) => self.inside(PathStep::Key(key), other, value),
                        None => {
                            let last = Some(PathStep::Key(key));
                            self.add(Cause::ColumnsMissing, 1, last, String::new);
                        }
                    }
                }
                for key in a.keys().filter(|key| b.get_key(key).is_none()) {
                    let last = Some(PathStep::Key(key));
                    self.add(Cause::ColumnsAdded, 1, last, String::new);
                }
            }
            (JsonValue::List(a), JsonValue::List(b)) => self.lists(a, b),
            (a, b) if equal(a, b) => {}
            (a, b) => self.plain_values(a, b),
        }
    }

    fn plain_values(&mut self, a: &JsonValue, b: &JsonValue) {
        let (x, y) = (plain(a), plain(b));
        let difference = match (a, b) {
            (JsonValue::String(_), JsonValue::String(_)) => {
                // A JSON string is never a number, even if it looks like one.
                let text = ColumnType {
                    numbers: false,
                    booleans: false,
                };
                match text.adjust(Difference::classify(&x, &y)) {
                    Difference::MissingWords | Difference::Rounded => Difference::Value,
                    difference => difference,
                }
            }
            (JsonValue::String(_), other) | (other, JsonValue::String(_))
                if is_number(other) && x == y =>
            {
                Difference::NumberSpelling
            }
            _ => Difference::classify(&x, &y),
        };
        let key = match self.path.last() {
            Some(PathStep::Key(key)) => key.to_string_lossy().into_owned(),
            Some(PathStep::Item(number)) => number.to_string(),
            None => String::new(),
        };
        let is_exact = self.role.is_label(&key) || self.role.ids.contains(&key);
        let difference = match difference {
            Difference::Blanks if is_exact => Difference::Value,
            difference => difference,
        };
        let cause = match difference {
            Difference::Value if self.role.is_label(&key) => Cause::LabelsChanged,
            other => other.cause(),
        };
        self.add(cause, 1, None, || {
            format!(": theirs {}, ours {}", format_json(a), format_json(b))
        });
    }

    fn lists(&mut self, their_value: &'a [JsonValue], our_value: &'a [JsonValue]) {
        let same_length = their_value.len() == our_value.len();
        let differ = their_value
            .iter()
            .zip(our_value)
            .filter(|(a, b)| !equal(a, b))
            .count();
        if same_length && differ == 0 {
            return self.by_position(their_value, our_value);
        }
        // For each item: how often it occurs in `ours` minus how often in `theirs`, and its first position.
        let mut counts: HashMap<blake3::Hash, (i64, usize)> = HashMap::new();
        for (number, value) in our_value.iter().enumerate() {
            counts.entry(hash(value)).or_insert((0, number)).0 += 1;
        }
        for (number, value) in their_value.iter().enumerate() {
            counts.entry(hash(value)).or_insert((0, number)).0 -= 1;
        }
        let missing: i64 = counts.values().map(|(count, _)| (*count).max(0)).sum();
        let added: i64 = counts.values().map(|(count, _)| (-count).max(0)).sum();
        if missing == 0 && added == 0 {
            self.add(Cause::RowOrder, differ as u64, None, || {
                format!(": {differ} items are at different positions")
            });
            return;
        }
        if same_length && missing as usize == differ {
            return self.by_position(their_value, our_value);
        }
        for (cause, number, wanted) in [
            (Cause::RowsMissing, missing, 1),
            (Cause::RowsAdded, added, -1),
        ] {
            if number > 0 {
                let items = counts.values();
                let items = items.filter(|(count, _)| count.signum() == wanted);
                let first = items.map(|(_, item)| *item).min().unwrap_or(0);
                let last = Some(PathStep::Item(first));
                self.add(cause, number.unsigned_abs(), last, String::new);
            }
        }
    }

    fn by_position(&mut self, their_value: &'a [JsonValue], our_value: &'a [JsonValue]) {
        for (number, (a, b)) in their_value.iter().zip(our_value).enumerate() {
            self.inside(PathStep::Item(number), a, b);
        }
    }
}

fn is_plain(value: &JsonValue) -> bool {
    !matches!(value, JsonValue::List(_) | JsonValue::Object(_))
}

fn is_number(value: &JsonValue) -> bool {
    matches!(
        value,
        JsonValue::Int(_) | JsonValue::BigInt(_) | JsonValue::Float(_)
    )
}

/// Returns a value as in CSV: a string without quotes, null as an empty cell, a boolean as `True` or `False`.
fn plain(value: &JsonValue) -> Vec<u8> {
    match value {
        JsonValue::String(text) => text.as_wtf8().to_vec(),
        JsonValue::Null => Vec::new(),
        JsonValue::Bool(true) => b"True".to_vec(),
        JsonValue::Bool(false) => b"False".to_vec(),
        other => json(other),
    }
}

fn format_json(value: &JsonValue) -> String {
    let options = WriteOptions {
        ensure_ascii: false,
        ..WriteOptions::default()
    };
    let text = value.to_json(&options).unwrap_or_else(|_| json(value));
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes JSON with sorted keys, so that equal values give equal bytes.
fn json(value: &JsonValue) -> Vec<u8> {
    let options = WriteOptions {
        sort_keys: true,
        ..WriteOptions::default()
    };
    // Only unpaired surrogates could fail, and these options escape them.
    value.to_json(&options).unwrap_or_default()
}

fn hash(value: &JsonValue) -> blake3::Hash {
    blake3::hash(&json(value))
}

pub(super) fn compare_images(
    path: &str,
    theirs: &Path,
    ours: &Path,
    limits: &DecodingLimits,
) -> Result<Vec<AuditFinding>> {
    let decode = |file: &Path| Pixels::decode(&read::read_file(file, limits)?, limits);
    let finding = match (decode(theirs), decode(ours)) {
        (Err(error), _) | (_, Err(error)) if error.is_of_the_system() => return Err(error),
        (Ok(a), Ok(b)) if a == b => {
            AuditFinding::new(Cause::ImageBytes, path).proof("all pixels are equal")
        }
        (Ok(a), Ok(b)) => {
            let finding = AuditFinding::new(Cause::ImagePixels, path);
            match (a.width, a.height) == (b.width, b.height) {
                true => {
                    let differ = a.bytes.iter().zip(&b.bytes).filter(|(x, y)| x != y).count();
                    finding.example(format!("{differ} of {} samples differ", b.bytes.len()))
                }
                false => finding.example(format!(
                    "theirs: {}x{}, ours: {}x{}",
                    a.width, a.height, b.width, b.height
                )),
            }
        }
        (Err(ContentsError::Damaged(reason)), Ok(_)) => {
            AuditFinding::new(Cause::ImageDamaged, path).example(reason)
        }
        (Err(error), Ok(_)) => AuditFinding::new(Cause::NotClassified, path)
            .proof(format!("the audited file cannot be decoded: {error}")),
        (_, Err(error)) => AuditFinding::new(Cause::NotClassified, path)
            .proof(format!("the prepared file cannot be decoded: {error}")),
    };
    Ok(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_beyond_the_memory_limit_have_the_same_causes() {
        let directory = tempfile::tempdir().unwrap();
        let list = r#"[{"id": 1, "x": 0.5, "t": "a"}, {"id": 2, "x": 1.5, "t": "b"}, {"id": 3, "x": 2.5, "t": "c"}]"#;
        let (theirs, ours) = (
            directory.path().join("theirs"),
            directory.path().join("ours"),
        );
        let found = |record, their_value: &str, our_value: &str| -> Vec<&str> {
            std::fs::write(&theirs, their_value).unwrap();
            std::fs::write(&ours, our_value).unwrap();
            let limits = DecodingLimits {
                record,
                ..DecodingLimits::default()
            };
            let found = compare("x.json", &theirs, &ours, &TableUse::default(), &limits);
            let mut causes: Vec<&str> = found.unwrap().iter().map(|one| one.cause.id()).collect();
            causes.sort_unstable();
            causes
        };
        for (their_value, expected) in [
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
            let causes = found(400, &their_value, list);
            // An HTML page is not a list, so only bytes are compared.
            let expected = match expected {
                "files-damaged" => "not-classified",
                expected => expected,
            };
            assert!(
                causes.contains(&expected),
                "{their_value}: {causes:?}, not {expected}"
            );
        }
        let object = |value: u32| format!("{{\"a\": {value}, \"rows\": {list}}}");
        assert_eq!(found(400, &object(1), &object(2)), ["not-classified"]);
        assert_eq!(found(1 << 20, &object(1), &object(2)), ["values-changed"]);
    }
}
