//! The key `encoding` for text files that are not in UTF-8.

use std::io::{BufRead, BufReader, Read};

use prep_formats::latin1::Latin1Reader;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, SectionKey, Word};
use serde::Serialize;

pub(super) const ENCODING: SectionKey = SectionKey::optional(
    "encoding",
    KeyType::Word(ENCODINGS),
    "Encoding of the CSV or JSON file. Default: `utf-8`.",
    "latin-1",
);

const ENCODINGS: &[Word] = &[
    Word {
        name: "utf-8",
        doc: "UTF-8",
    },
    Word {
        name: "latin-1",
        doc: "ISO 8859-1: each byte is a code point",
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Encoding {
    Utf8,
    Latin1,
}

impl Encoding {
    pub fn declared(declaration: &Declaration) -> Encoding {
        match declaration.text("encoding") {
            Some("latin-1") => Encoding::Latin1,
            _ => Encoding::Utf8,
        }
    }

    /// Converts a reader to UTF-8.
    pub fn reader<'r>(self, input: impl Read + Send + 'r) -> Box<dyn Read + Send + 'r> {
        match self {
            Encoding::Utf8 => Box::new(input),
            Encoding::Latin1 => Box::new(Latin1Reader::new(input)),
        }
    }

    /// Converts a buffered reader to UTF-8. Input that is already UTF-8 passes without another buffer.
    pub fn buffered<'r>(self, input: impl BufRead + 'r) -> Box<dyn BufRead + 'r> {
        match self {
            Encoding::Utf8 => Box::new(input),
            Encoding::Latin1 => Box::new(BufReader::new(Latin1Reader::new(input))),
        }
    }
}
