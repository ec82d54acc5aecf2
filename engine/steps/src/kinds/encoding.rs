//! The key `encoding` for text files that are not in UTF-8.

use prep_formats::text_encoding::TextEncoding;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, SectionKey, Word};

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

/// Returns the declared encoding.
pub(super) fn encoding(declaration: &Declaration) -> TextEncoding {
    match declaration.text("encoding") {
        Some("latin-1") => TextEncoding::Latin1,
        _ => TextEncoding::Utf8,
    }
}
