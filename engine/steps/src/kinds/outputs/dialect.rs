//! The keys for the format of JSON output, which several kinds share.

use prep_spec::Diagnostic;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, SectionKey, Word};

use crate::emit::{JsonFormat, JsonLibrary};

pub(super) const INDENT: SectionKey = SectionKey::optional(
    "indent",
    KeyType::Natural,
    "Spaces per level. Default: everything on one line.",
    "4",
);
pub(super) const SORT_KEYS: SectionKey = SectionKey::optional(
    "sort_keys",
    KeyType::True,
    "Sorts the keys of every object by code point.",
    "true",
);
pub(super) const DIALECT: SectionKey = SectionKey::optional(
    "dialect",
    KeyType::Word(DIALECTS),
    "The library whose format is written. Default: `python`.",
    "ujson",
);

const DIALECTS: &[Word] = &[
    Word {
        name: "python",
        doc: "Python's `json.dump`",
    },
    Word {
        name: "ujson",
        doc: "pandas' `to_json`: no spaces, `/` escaped, at most ten fraction digits",
    },
];

/// The declared dialect. Only considers keys that the kind has.
pub(super) fn dialect(declaration: &Declaration) -> JsonFormat {
    let has = |key: &str| declaration.has(key);
    let indent = has("indent")
        .then(|| declaration.natural("indent"))
        .flatten();
    JsonFormat {
        writer: match has("dialect")
            .then(|| declaration.text("dialect"))
            .flatten()
        {
            Some("ujson") => JsonLibrary::Ujson,
            _ => JsonLibrary::Python,
        },
        indent: indent.and_then(|indent| usize::try_from(indent).ok()),
        sort_keys: has("sort_keys"),
    }
}

/// Reports keys that only Python's writer supports.
pub(super) fn check(declaration: &Declaration) -> Vec<Diagnostic> {
    if dialect(declaration).writer == JsonLibrary::Python {
        return Vec::new();
    }
    let keys = ["indent", "sort_keys"].into_iter();
    keys.filter(|key| declaration.has(key))
        .map(|key| {
            let message = format!("the dialect `ujson` has no `{key}`");
            let fault = declaration.fault(key, "no-effect", message);
            fault.help("remove it, or write `dialect: python`")
        })
        .collect()
}
