//! BSON documents, one after the other: the declared members as columns, and the whole documents.
//!
//! A document is its MongoDB Extended JSON, from which the output `bson` makes the same bytes as pymongo.

use std::io::BufRead;

use prep_formats::bson::BsonDocuments;
use prep_spec::model::ColumnKind;
use prep_spec::words::{Holds, Word};

use super::Format;
use super::json::{Records, each_record, records};

pub(super) const FORMAT: Format = Format {
    word: Word {
        name: "bson",
        doc: "BSON documents one after the other, `.bson`: a row per document, in the hidden column `record` as MongoDB Extended JSON",
    },
    endings: &["bson"],
    record: Some(Holds::Values(ColumnKind::Json)),
    read: |context, opener, content, read| records(context, opener, content, read, &documents),
    each: Some(|context, inputs, read| each_record(context, inputs, read, &documents)),
};

fn documents<'r>(reader: Box<dyn BufRead + 'r>) -> Records<'r> {
    Box::new(BsonDocuments::new(reader).map(|document| Ok(document?.to_json()?)))
}
