//! Causes of differences in the spelling of values.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[
    &LINE_ENDS,
    &BYTE_ORDER_MARK,
    &ENCODING,
    &MOJIBAKE,
    &DELIMITER,
    &QUOTING,
    &FINAL_NEWLINE,
    &INDEX_COLUMN,
    &MISSING_WORDS,
    &BOOLEAN_WORDS,
    &LEADING_ZEROS,
    &NUMBER_SPELLING,
    &FLOAT_LAST_DIGIT,
    &FLOAT_SINGLE,
    &FLOAT_ROUNDED,
    &BLANKS,
    &LETTER_CASE,
    &DOCUMENT_LAYOUT,
    &KEY_ORDER,
];

pub static LINE_ENDS: Cause = Cause {
    id: "line-ends",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "line endings differ, for example CR LF instead of LF",
    advice: "prepare on Linux, or write with `lineterminator='\\n'`",
};

pub static BYTE_ORDER_MARK: Cause = Cause {
    id: "byte-order-mark",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "only one of the two files begins with a byte order mark",
    advice: "write with encoding `utf-8` instead of `utf-8-sig`",
};

pub static ENCODING: Cause = Cause {
    id: "encoding",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same text in a different encoding",
    advice: "write with encoding `utf-8`",
};

pub static MOJIBAKE: Cause = Cause {
    id: "mojibake",
    family: Family::Text,
    harm: Harm::Content,
    meaning: "UTF-8 text was decoded with a single-byte encoding and written again",
    advice: "read the raw file with encoding `utf-8`",
};

pub static DELIMITER: Cause = Cause {
    id: "delimiter",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "a different character separates the fields",
    advice: "write with the delimiter of the published file",
};

pub static QUOTING: Cause = Cause {
    id: "quoting",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "different fields are quoted",
    advice: "write with `quoting=csv.QUOTE_MINIMAL`",
};

pub static FINAL_NEWLINE: Cause = Cause {
    id: "final-newline",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the files differ in the line breaks at their end",
    advice: "nothing",
};

pub static INDEX_COLUMN: Cause = Cause {
    id: "index-column",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "an additional column contains row numbers",
    advice: "write with `index=False`",
};

pub static MISSING_WORDS: Cause = Cause {
    id: "missing-words",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "missing values are spelled differently",
    advice: "use pandas 2.0 or newer, which reads `None` as missing, and write with `na_rep=''`",
};

pub static BOOLEAN_WORDS: Cause = Cause {
    id: "boolean-words",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "booleans are spelled differently",
    advice: "write booleans as pandas does: `True` and `False`",
};

pub static LEADING_ZEROS: Cause = Cause {
    id: "leading-zeros",
    family: Family::Text,
    harm: Harm::Content,
    meaning: "numeric codes lost their leading zeros",
    advice: "read the column as text (`dtype=str`), because `007` and `7` are different codes",
};

pub static NUMBER_SPELLING: Cause = Cause {
    id: "number-spelling",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same numbers, written differently, for example `1.0` and `1`",
    advice: "keep the column's type; for example, pandas turns integers into floats if values are missing",
};

pub static FLOAT_LAST_DIGIT: Cause = Cause {
    id: "float-last-digit",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "numbers differ by at most four units in the last place",
    advice: "pandas' default parser before 3.1 is not exact; read with `float_precision='round_trip'`, or accept the difference",
};

pub static FLOAT_SINGLE: Cause = Cause {
    id: "float-single",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "one of the two files has numbers in single precision",
    advice: "keep the column's type",
};

pub static FLOAT_ROUNDED: Cause = Cause {
    id: "float-rounded",
    family: Family::Text,
    harm: Harm::Content,
    meaning: "numbers were rounded to fewer digits",
    advice: "write without `float_format`",
};

pub static BLANKS: Cause = Cause {
    id: "blanks",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "cells differ in leading or trailing spaces",
    advice: "read without `skipinitialspace`, and do not strip cells",
};

pub static LETTER_CASE: Cause = Cause {
    id: "letter-case",
    family: Family::Text,
    harm: Harm::Content,
    meaning: "texts differ only in upper and lower case",
    advice: "do not change the case of texts",
};

pub static DOCUMENT_LAYOUT: Cause = Cause {
    id: "document-layout",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same JSON values in a different layout",
    advice: "nothing, or write with the publisher's `json.dumps` settings",
};

pub static KEY_ORDER: Cause = Cause {
    id: "key-order",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same JSON values with keys in a different order",
    advice: "nothing, or keep the order of keys",
};
