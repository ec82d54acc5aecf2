//! Files whose bytes depend on the library that writes them.

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
    meaning: "the same table, written by another library or version",
    advice: "nothing: values, types and order are equal",
};

pub static PARQUET_VERSIONS: Cause = Cause {
    id: "parquet-versions",
    family: Family::Writer,
    harm: Harm::None,
    meaning: "the published file was written by other versions of fastparquet and pandas",
    advice: "nothing; the versions can be put into the pipeline",
};

pub static PARQUET_UNKNOWN_VERSIONS: Cause = Cause {
    id: "parquet-unknown-versions",
    family: Family::Writer,
    harm: Harm::Form,
    meaning: "none of the known versions of the writer gives the published checksum",
    advice: "nothing can be concluded from this checksum; the other files of the competition show whether the split is right",
};

pub static ARCHIVE_REPACKED: Cause = Cause {
    id: "archive-repacked",
    family: Family::Writer,
    harm: Harm::None,
    meaning: "another archive of the same members",
    advice: "nothing: the content is the same",
};

pub static ARRAY_LAYOUT: Cause = Cause {
    id: "array-layout",
    family: Family::Writer,
    harm: Harm::None,
    meaning: "the same array, with another header or its entries in another order of storage",
    advice: "nothing: values, types and dimensions are equal",
};
