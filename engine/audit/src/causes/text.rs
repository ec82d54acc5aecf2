//! Spelling of values.

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
    meaning: "lines end in CR LF",
    advice: "prepare on Linux, or write with `lineterminator='\\n'`",
};

pub static BYTE_ORDER_MARK: Cause = Cause {
    id: "byte-order-mark",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the file begins with a byte order mark",
    advice: "write with encoding `utf-8` instead of `utf-8-sig`",
};

pub static ENCODING: Cause = Cause {
    id: "encoding",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same text in another encoding",
    advice: "write with encoding `utf-8`",
};

pub static MOJIBAKE: Cause = Cause {
    id: "mojibake",
    family: Family::Text,
    harm: Harm::Content,
    meaning: "UTF-8 was read as a single-byte encoding and written again",
    advice: "read the raw file with encoding `utf-8`",
};

pub static DELIMITER: Cause = Cause {
    id: "delimiter",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "another character separates the fields",
    advice: "write with the delimiter of the published file",
};

pub static QUOTING: Cause = Cause {
    id: "quoting",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "other fields are quoted",
    advice: "write with `quoting=csv.QUOTE_MINIMAL`",
};

pub static FINAL_NEWLINE: Cause = Cause {
    id: "final-newline",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the last line end is there on one side only",
    advice: "nothing",
};

pub static INDEX_COLUMN: Cause = Cause {
    id: "index-column",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "an additional column has the numbers of the rows",
    advice: "write with `index=False`",
};

pub static MISSING_WORDS: Cause = Cause {
    id: "missing-words",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "missing values are spelled otherwise",
    advice: "use pandas 2.0 or newer, where `None` is read as missing, and `na_rep=''`",
};

pub static BOOLEAN_WORDS: Cause = Cause {
    id: "boolean-words",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "booleans are spelled otherwise",
    advice: "keep booleans as pandas prints them",
};

pub static LEADING_ZEROS: Cause = Cause {
    id: "leading-zeros",
    family: Family::Text,
    harm: Harm::Content,
    meaning: "codes of digits lost their leading zeros",
    advice: "read the column as text: `dtype=str`; `007` and `7` are names of different things",
};

pub static NUMBER_SPELLING: Cause = Cause {
    id: "number-spelling",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same numbers in other digits",
    advice: "keep the column's type: an integer column with gaps becomes float, for instance",
};

pub static FLOAT_LAST_DIGIT: Cause = Cause {
    id: "float-last-digit",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "numbers differ by at most four units in the last place",
    advice: "pandas' default parser before 3.1 is not exact; read with `float_precision='round_trip'` or accept it",
};

pub static FLOAT_SINGLE: Cause = Cause {
    id: "float-single",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "numbers of single precision on one side",
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
    meaning: "cells differ in spaces at their ends",
    advice: "read without `skipinitialspace`, and do not strip",
};

pub static LETTER_CASE: Cause = Cause {
    id: "letter-case",
    family: Family::Text,
    harm: Harm::Content,
    meaning: "texts differ in upper and lower case",
    advice: "do not change the case of texts",
};

pub static DOCUMENT_LAYOUT: Cause = Cause {
    id: "document-layout",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same JSON values in another layout",
    advice: "nothing, or write with the publisher's `json.dumps` settings",
};

pub static KEY_ORDER: Cause = Cause {
    id: "key-order",
    family: Family::Text,
    harm: Harm::Form,
    meaning: "the same JSON values, keys in another order",
    advice: "nothing, or keep the order of keys",
};
