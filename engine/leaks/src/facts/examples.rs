//! Facts from TFRecord files: for records that name an item, their features, their file, and their position in it.

use prep_formats::tfrecord::{Example, Feature, TfRecords};

use super::{Channel, Facts, ids};

/// Maximum length of a byte string that is treated as a value.
const MAX_BYTES: usize = 200;

/// Maximum number of records that are read from a file.
const MAX_RECORDS: usize = 20_000;

/// Adds the facts of a file's records. The file may be truncated. `item_of` returns the item whose id a text contains.
pub(crate) fn collect(
    path: &str,
    content: &[u8],
    item_of: &dyn Fn(&str) -> Option<usize>,
    facts: &mut Facts,
) {
    let name = path.rsplit('/').next().unwrap_or(path);
    for (place, record) in TfRecords::new(content).take(MAX_RECORDS).enumerate() {
        let Ok(record) = record else { break };
        let example = Example::new(&record.payload);
        let Ok(names) = example.names() else { break };
        let mut values = Vec::new();
        for name in names {
            let Ok(Some(feature)) = example.feature(&name) else {
                continue;
            };
            let value = match feature {
                Feature::Bytes(list) => match list.as_slice() {
                    [one] if one.len() <= MAX_BYTES => match std::str::from_utf8(one) {
                        Ok(text) => text.to_owned(),
                        Err(_) => continue,
                    },
                    _ => continue,
                },
                Feature::Floats(list) => match list.as_slice() {
                    [one] => one.to_string(),
                    _ => continue,
                },
                Feature::Ints(list) => match list.as_slice() {
                    [one] => one.to_string(),
                    _ => continue,
                },
            };
            values.push((name, value));
        }
        let Some((key, item)) = values
            .iter()
            .find_map(|(name, value)| Some((name.clone(), item_of(value)?)))
        else {
            continue;
        };
        for (name, value) in values.iter().filter(|(name, _)| *name != key) {
            facts.add(
                Channel::Field,
                &format!("the feature `{name}` of records"),
                item,
                value,
            );
        }
        for (word, text) in ids::words(name).iter().enumerate() {
            let what = format!("word {} of the names of files with records", word + 1);
            facts.add(Channel::Name, &what, item, text);
        }
        let what = "the position of records in their file";
        facts.number(Channel::Order, what, item, place as f64);
        facts.number(
            Channel::Size,
            "the length of records",
            item,
            record.payload.len() as f64,
        );
    }
}
