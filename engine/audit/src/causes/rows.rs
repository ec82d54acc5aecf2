//! Causes of differences in the rows and columns of tables.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[
    &ROW_ORDER,
    &ROWS_MISSING,
    &ROWS_ADDED,
    &ROWS_REPEATED,
    &COLUMNS_MISSING,
    &COLUMNS_ADDED,
    &COLUMNS_RENAMED,
    &COLUMN_ORDER,
    &COLUMN_TYPES,
    &ARRAY_SHAPE,
    &VALUES_CHANGED,
];

pub static ROW_ORDER: Cause = Cause {
    id: "row-order",
    family: Family::Rows,
    harm: Harm::None,
    meaning: "the same rows in a different order",
    advice: "keep the order of the split; if grading aligns rows by id, scores stay the same",
};

pub static ROWS_MISSING: Cause = Cause {
    id: "rows-missing",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "rows are missing",
    advice: "prepare the entire bundle; a partial tree cannot be compared",
};

pub static ROWS_ADDED: Cause = Cause {
    id: "rows-added",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "there are additional rows",
    advice: "prepare again; do not append to prepared files",
};

pub static ROWS_REPEATED: Cause = Cause {
    id: "rows-repeated",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "rows occur more than once",
    advice: "prepare again; do not append to prepared files",
};

pub static COLUMNS_MISSING: Cause = Cause {
    id: "columns-missing",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "columns are missing",
    advice: "prepare again",
};

pub static COLUMNS_ADDED: Cause = Cause {
    id: "columns-added",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "there are additional columns",
    advice: "prepare again; an additional column can reveal answers",
};

pub static COLUMNS_RENAMED: Cause = Cause {
    id: "columns-renamed",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "columns have different names but the same content",
    advice: "restore the names",
};

pub static COLUMN_ORDER: Cause = Cause {
    id: "column-order",
    family: Family::Rows,
    harm: Harm::Form,
    meaning: "the same columns in a different order",
    advice: "keep the order of columns",
};

pub static COLUMN_TYPES: Cause = Cause {
    id: "column-types",
    family: Family::Rows,
    harm: Harm::Form,
    meaning: "columns are stored with different types",
    advice: "keep the types of the raw file",
};

pub static ARRAY_SHAPE: Cause = Cause {
    id: "array-shape",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "arrays have different dimensions",
    advice: "keep the shape of the raw array",
};

pub static VALUES_CHANGED: Cause = Cause {
    id: "values-changed",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "values differ",
    advice: "prepare again from an intact bundle; the examples show some of the values",
};
