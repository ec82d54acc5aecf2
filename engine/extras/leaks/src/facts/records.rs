//! Facts from the records of TFRecord files: features, file and position of records that name an item. Facts from
//! variables in MATLAB files of version 5: texts, single numbers, and mean, standard deviation and length of arrays.

use std::io::Read;

use flate2::read::ZlibDecoder;
use prep_formats::matlab::complete_element;
use prep_formats::tfrecord::{Example, Feature, TfRecords};

use super::{Channel, ItemFacts, ItemOf, ids};
use crate::statistics::{deviation, mean};

/// Maximum length of a decompressed variable, in bytes.
const MAX_INFLATED: u64 = 64 << 20;
const MAX_VALUES: usize = 200;
const MAX_NESTING: usize = 8;

/// Returns the paths of variables and fields, and their values.
pub(crate) fn variables_of_item(file: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (path, value) in variables(file) {
        match value {
            Variable::Text(text) => found.push((path, text)),
            Variable::Numbers(numbers) => described(&path, &numbers, &mut found),
        }
    }
    found
}

/// Returns the numeric variables and fields with this length.
pub(crate) fn vectors(file: &[u8], length: usize) -> Vec<(String, Vec<f64>)> {
    let numeric = |(path, value)| match value {
        Variable::Numbers(numbers) if numbers.len() == length => Some((path, numbers)),
        _ => None,
    };
    variables(file).into_iter().filter_map(numeric).collect()
}

enum Variable {
    Text(String),
    Numbers(Vec<f64>),
}

fn variables(file: &[u8]) -> Vec<(String, Variable)> {
    let mut found = Vec::new();
    let mut rest = match file.get(124..128) {
        Some(b"\x00\x01IM") => file.get(128..).unwrap_or_default(),
        _ => return found,
    };
    while let Some((kind, content, behind)) = element(rest) {
        match kind {
            14 => matrix(content, "", 0, &mut found),
            15 => {
                let mut inflated = Vec::new();
                let _ = ZlibDecoder::new(content)
                    .take(MAX_INFLATED)
                    .read_to_end(&mut inflated);
                if let Some((14, content, _)) = element(&inflated) {
                    matrix(content, "", 0, &mut found);
                }
            }
            _ => {}
        }
        rest = behind;
    }
    found
}

/// Returns the type and the content of the first element, and the rest of the input.
fn element(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    complete_element(bytes).ok()
}

fn matrix(content: &[u8], path: &str, nesting: usize, found: &mut Vec<(String, Variable)>) {
    let parsed = (|| {
        let (_, flags, rest) = element(content)?;
        let (_, _, rest) = element(rest)?;
        let (_, name, rest) = element(rest)?;
        Some((*flags.first()?, name, rest))
    })();
    let Some((class, name, mut rest)) = parsed else {
        return;
    };
    if found.len() >= MAX_VALUES || nesting > MAX_NESTING {
        return;
    }
    let path = match path {
        "" => String::from_utf8_lossy(name).into_owned(),
        path => path.to_owned(),
    };
    if class == 2 {
        let Some((_, length, behind)) = element(rest) else {
            return;
        };
        let length = length
            .first_chunk()
            .map_or(32, |four| u32::from_le_bytes(*four));
        let Some((_, names, behind)) = element(behind) else {
            return;
        };
        rest = behind;
        for name in names.chunks(length.max(1) as usize) {
            let Some((_, content, behind)) = element(rest) else {
                return;
            };
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let path = format!("{path}.{}", String::from_utf8_lossy(name));
            matrix(content, &path, nesting + 1, found);
            rest = behind;
        }
        return;
    }
    let Some((kind, data, _)) = element(rest) else {
        return;
    };
    if class == 1 {
        matrix(data, &format!("{path}{{}}"), nesting + 1, found);
        return;
    }
    if class == 4 {
        let units: Vec<u16> = match kind {
            4 | 17 => {
                let units = data.as_chunks::<2>().0.iter();
                units.map(|unit| u16::from_le_bytes(*unit)).collect()
            }
            _ => data.iter().map(|byte| u16::from(*byte)).collect(),
        };
        found.push((path, Variable::Text(String::from_utf16_lossy(&units))));
        return;
    }
    let numbers = numbers(kind, data);
    if !numbers.is_empty() {
        found.push((path, Variable::Numbers(numbers)));
    }
}

/// Adds a single number, or a summary of several numbers.
fn described(path: &str, numbers: &[f64], found: &mut Vec<(String, String)>) {
    match numbers {
        [] => {}
        [one] => found.push((path.to_owned(), one.to_string())),
        many => {
            let (first, last) = (many.first(), many.last());
            let summary = [
                ("mean", mean(many)),
                ("spread", deviation(many)),
                ("length", many.len() as f64),
                ("first", first.copied().unwrap_or(0.0)),
                ("last", last.copied().unwrap_or(0.0)),
            ];
            let summary =
                summary.map(|(what, value)| (format!("{what} of {path}"), value.to_string()));
            found.extend(summary);
        }
    }
}

fn numbers(kind: u32, data: &[u8]) -> Vec<f64> {
    macro_rules! all {
        ($type:ty) => {
            data.chunks_exact(size_of::<$type>())
                .filter_map(|bytes| bytes.try_into().ok().map(<$type>::from_le_bytes))
                .map(|one| one as f64)
                .collect()
        };
    }
    match kind {
        1 => all!(i8),
        2 => all!(u8),
        3 => all!(i16),
        4 => all!(u16),
        5 => all!(i32),
        6 => all!(u32),
        7 => all!(f32),
        9 => all!(f64),
        12 => all!(i64),
        13 => all!(u64),
        _ => Vec::new(),
    }
}

/// Maximum length of a byte string that is treated as a value.
const MAX_BYTES: usize = 200;

/// Maximum number of records that are read from a file.
const MAX_RECORDS: usize = 20_000;

/// Adds the facts of a file's records. The file may be truncated. `item_of` returns the item whose id a text contains.
pub(crate) fn collect_examples(
    path: &str,
    content: &[u8],
    item_of: ItemOf<'_>,
    facts: &mut ItemFacts,
) {
    let name = path.rsplit('/').next().unwrap_or(path);
    for (place, record) in TfRecords::new(content).take(MAX_RECORDS).enumerate() {
        let Ok(record) = record else { break };
        let example = Example::new(&record.payload);
        let Ok(names) = example.names() else { break };
        let mut values = Vec::new();
        for name in names {
            if let Ok(Some(feature)) = example.feature(&name) {
                values.extend(single_value(&feature).map(|value| (name, value)));
            }
        }
        let mut named = values.iter();
        let named = named.find_map(|(name, value)| Some((name, item_of(value)?)));
        let Some((key, item)) = named else { continue };
        for (name, value) in values.iter().filter(|(name, _)| name != key) {
            let what = format!("the feature `{name}` of records");
            facts.add(Channel::Field, &what, item, value);
        }
        for (word, text) in ids::words(name).iter().enumerate() {
            let what = format!("word {} of the names of files with records", word + 1);
            facts.add(Channel::Name, &what, item, text);
        }
        let what = "the position of records in their file";
        facts.number(Channel::Order, what, item, place as f64);
        let length = record.payload.len() as f64;
        facts.number(Channel::Size, "the length of records", item, length);
    }
}

/// Returns the value of a feature that has a single value.
fn single_value(feature: &Feature) -> Option<String> {
    match feature {
        Feature::Bytes(list) => match list.as_slice() {
            [one] if one.len() <= MAX_BYTES => String::from_utf8(one.to_vec()).ok(),
            _ => None,
        },
        Feature::Floats(list) => match list.as_slice() {
            [one] => Some(one.to_string()),
            _ => None,
        },
        Feature::Ints(list) => match list.as_slice() {
            [one] => Some(one.to_string()),
            _ => None,
        },
    }
}
