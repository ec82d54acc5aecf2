//! Reads the names inside a file: columns of tables, keys of JSON, features of TFRecord files, variables of MATLAB
//! files.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};

use prep_formats::matlab;
use prep_formats::tfrecord::{Example, TfRecords};
use serde_json::Value;

/// Maximum number of bytes of a text file that are read for its names.
const MAX_HEAD_BYTES: u64 = 4 << 20;

/// Maximum number of members of an object whose keys are names. Keys of larger objects are treated as ids.
const MAX_KEYS: usize = 200;

/// Maximum number of records that are read for their names.
const MAX_RECORDS: usize = 20;

/// Maximum number of names in one file.
const MAX_NAMES: usize = 1 << 14;

/// Returns the format of a file. `None` if files of this format contain no names.
pub(crate) fn format(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?.to_ascii_lowercase();
    Some(match name.rsplit_once('.')?.1 {
        "csv" | "tsv" => "table",
        "json" | "jsonl" | "ndjson" => "json",
        "tfrec" | "tfrecord" | "tfrecords" => "tfrecord",
        "mat" => "matlab",
        _ => return None,
    })
}

/// Returns the names in a file of this format. A damaged file contains no names.
pub(crate) fn names(format: &str, content: &mut dyn Read) -> BTreeSet<String> {
    let mut names = all_names(format, content);
    while names.len() > MAX_NAMES {
        names.pop_last();
    }
    names
}

fn all_names(format: &str, content: &mut dyn Read) -> BTreeSet<String> {
    match format {
        "table" => table_names(content),
        "json" => json_names(content),
        "tfrecord" => record_names(content),
        "matlab" => {
            let mut bytes = Vec::new();
            let _ = content.take(MAX_HEAD_BYTES * 64).read_to_end(&mut bytes);
            matlab::variable_paths(&bytes).into_iter().collect()
        }
        _ => BTreeSet::new(),
    }
}

fn head(content: &mut dyn Read) -> String {
    let mut bytes = Vec::new();
    let _ = content.take(MAX_HEAD_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn table_names(content: &mut dyn Read) -> BTreeSet<String> {
    let text = head(content);
    let line = text.lines().next().unwrap_or_default();
    let delimiter = if line.contains('\t') { '\t' } else { ',' };
    let names = line.trim_start_matches('\u{feff}').split(delimiter);
    let names = names.map(|name| name.trim_matches('"').to_owned());
    names.collect()
}

fn json_names(content: &mut dyn Read) -> BTreeSet<String> {
    let text = head(content);
    let mut names = BTreeSet::new();
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => {
            keys(&value, "", &mut names);
            let others = values.take(MAX_RECORDS).filter_map(Result::ok);
            others.for_each(|value| keys(&value, "", &mut names));
        }
        // Only the beginning of the file was read, so a document may end early. Read its first records one by one.
        _ => {
            let from = text.find('{').unwrap_or(text.len());
            let rest = text.get(from..).unwrap_or_default();
            let records = rest.split("},");
            for record in records.take(MAX_RECORDS) {
                let whole = format!("{}}}", record.trim_start_matches(['[', ',', '\n', ' ']));
                if let Ok(value) = serde_json::from_str(&whole) {
                    keys(&value, "", &mut names);
                }
            }
        }
    }
    names
}

fn keys(value: &Value, outer: &str, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => {
            let some = items.iter().take(MAX_RECORDS);
            some.for_each(|item| keys(item, outer, names));
        }
        Value::Object(members) => {
            let by_id = members.len() > MAX_KEYS;
            for (key, value) in members {
                let path = match (by_id, outer) {
                    (true, outer) => outer.to_owned(),
                    (false, "") => key.clone(),
                    (false, outer) => format!("{outer}.{key}"),
                };
                if path.matches('.').count() < 3 {
                    keys(value, &path, names);
                }
                names.insert(path);
            }
        }
        _ => {}
    }
}

fn record_names(content: &mut dyn Read) -> BTreeSet<String> {
    let records = TfRecords::new(BufReader::new(content));
    let names = records
        .take(MAX_RECORDS)
        .filter_map(Result::ok)
        .filter_map(|record| Example::new(&record.payload).names().ok());
    names.flatten().collect()
}
