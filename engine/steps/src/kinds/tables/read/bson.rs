//! Reads BSON documents: the declared members as columns, and the entire documents.
//!
//! A document is stored as MongoDB Extended JSON, from which the output `bson` produces the same bytes as pymongo. Long
//! binary values stay in the bundle (see [`prep_formats::bson::BinaryReference`]), so a table of images only contains
//! their positions.

use std::cell::Cell;
use std::io::BufRead;

use prep_core::Context;
use prep_formats::bson::BsonDocuments;
use prep_formats::json::{JsonValue, NestedValues};
use prep_spec::words::{CellContent, Word};

use super::records::{Record, Records, records};
use super::{ReadFormat, ReadSpec};

pub(super) const FORMAT: ReadFormat = ReadFormat {
    word: Word {
        name: "bson",
        doc: "BSON documents, one after another, `.bson`: one row per document. The hidden column `record` has it as MongoDB Extended JSON, with the position in the file in place of binary values of more than 64 bytes",
    },
    endings: &["bson"],
    record: Some(CellContent::Documents),
    read: |context, opener, content, read| records(context, opener, content, read, documents),
    plain: Some(plain),
};

fn documents<'r>(
    _: &Context,
    read: &'r ReadSpec,
    _: &'r Cell<NestedValues>,
    reader: Box<dyn BufRead + 'r>,
) -> Records<'r> {
    let documents = BsonDocuments::new(reader);
    Box::new(
        documents
            .map(move |document| Ok(Record::from(document?.to_json_with_references(&read.path)?))),
    )
}

/// Extended JSON has special forms for 64-bit integers and for doubles such as NaN. Columns contain the plain values.
fn plain(member: &JsonValue) -> Option<JsonValue> {
    if let Some(digits) = member.get("$numberLong") {
        return digits.as_str()?.parse().ok().map(JsonValue::Int);
    }
    let word = member.get("$numberDouble")?.as_str()?;
    word.parse().ok().map(JsonValue::Float)
}
