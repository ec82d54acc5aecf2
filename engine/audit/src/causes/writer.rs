//! Causes of differences between files that different libraries or versions wrote.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[
    &PARQUET_WRITER,
    &PARQUET_VERSIONS,
    &PARQUET_UNKNOWN_VERSIONS,
    &ARCHIVE_REPACKED,
    &ARRAY_LAYOUT,
];

pub static PARQUET_WRITER: Cause = Cause {
    id: "parquet-writer",
    family: Family::Writer,
    harm: Harm::None,
    meaning: "the same table, written by a different library or version",
    advice: "nothing: values, types and order are equal",
};

pub static PARQUET_VERSIONS: Cause = Cause {
    id: "parquet-versions",
    family: Family::Writer,
    harm: Harm::None,
    meaning: "the published file was written by different versions of fastparquet and pandas",
    advice: "nothing; you can specify these versions in the pipeline",
};

pub static PARQUET_UNKNOWN_VERSIONS: Cause = Cause {
    id: "parquet-unknown-versions",
    family: Family::Writer,
    harm: Harm::Form,
    meaning: "no known version of the writer reproduces the published checksum",
    advice: "nothing can be concluded from this checksum; the other files of the competition show whether the split is right",
};

pub static ARCHIVE_REPACKED: Cause = Cause {
    id: "archive-repacked",
    family: Family::Writer,
    harm: Harm::None,
    meaning: "a different archive with the same members",
    advice: "nothing: the content is the same",
};

pub static ARRAY_LAYOUT: Cause = Cause {
    id: "array-layout",
    family: Family::Writer,
    harm: Harm::None,
    meaning: "the same array with a different header or storage order",
    advice: "nothing: values, types and dimensions are equal",
};
