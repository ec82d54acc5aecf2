//! Facts from the records of TFRecord files that contain the id of an item: the record's features, position and length,
//! and the words of the file's name.

use prep_formats::tfrecord::{Example, Feature, TfRecords};

use super::{Channel, ItemFacts, ItemOf, ids};
use crate::text::file_name;

/// A byte string with more bytes than this is not treated as a value.
const MAX_BYTES: usize = 200;

/// At most this number of records is read from a file.
const MAX_RECORDS: usize = 20_000;

/// Adds the facts of the records in `content`, which may be only the beginning of the file.
pub(crate) fn collect_examples(
    path: &str,
    content: &[u8],
    item_of: ItemOf<'_>,
    facts: &mut ItemFacts,
) {
    let name = file_name(path);
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

/// Returns a feature's value as text. `None` unless the feature has a single value. A value of bytes must be short and
/// valid UTF-8.
fn single_value(feature: &Feature) -> Option<String> {
    match feature {
        Feature::Bytes(list) => match list.as_slice() {
            [one] if one.len() <= MAX_BYTES => String::from_utf8(one.to_vec()).ok(),
            _ => None,
        },
        Feature::Floats(list) => (list.len() == 1).then(|| list.first().map(f32::to_string))?,
        Feature::Ints(list) => (list.len() == 1).then(|| list.first().map(i64::to_string))?,
    }
}
