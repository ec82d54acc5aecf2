//! Rows and columns of tables.

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
    meaning: "the same rows in another order",
    advice: "keep the order of the split; scores are the same where rows are aligned by id",
};

pub static ROWS_MISSING: Cause = Cause {
    id: "rows-missing",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "rows are missing",
    advice: "prepare the whole bundle; a partial tree cannot be compared",
};

pub static ROWS_ADDED: Cause = Cause {
    id: "rows-added",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "there are rows that should not be there",
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
    meaning: "there are columns that should not be there",
    advice: "prepare again; a column more can give answers away",
};

pub static COLUMNS_RENAMED: Cause = Cause {
    id: "columns-renamed",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "columns have other names and the same content",
    advice: "restore the names",
};

pub static COLUMN_ORDER: Cause = Cause {
    id: "column-order",
    family: Family::Rows,
    harm: Harm::Form,
    meaning: "the same columns in another order",
    advice: "keep the order of columns",
};

pub static COLUMN_TYPES: Cause = Cause {
    id: "column-types",
    family: Family::Rows,
    harm: Harm::Form,
    meaning: "columns are stored with other types",
    advice: "keep the types of the raw file",
};

pub static ARRAY_SHAPE: Cause = Cause {
    id: "array-shape",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "arrays have other dimensions",
    advice: "keep the shape of the raw array",
};

pub static VALUES_CHANGED: Cause = Cause {
    id: "values-changed",
    family: Family::Rows,
    harm: Harm::Content,
    meaning: "values differ",
    advice: "prepare again from a sound bundle; the examples show cells",
};
