//! The kinds of outputs that a pipeline can declare.

pub(super) mod archive;
mod document;
mod files;
mod redact;
mod tables;

use prep_spec::model::Declaration;

use super::StepKind;

/// All kinds, in the order of the reference documentation.
pub(super) const ALL: &[&StepKind] = &[
    &tables::CSV,
    &tables::JSON,
    &tables::JSON_LINES,
    &document::KIND,
    &tables::BSON,
    &tables::PARQUET,
    &tables::NPY,
    &tables::LINES,
    &files::FILES,
    &files::COPY,
    &redact::KIND,
    &files::EMPTY,
    &archive::ZIP,
    &archive::ZIP_STORED,
    &archive::TAR,
    &archive::SEVEN_ZIP,
];

/// Returns whether the library that writes an output determines its bytes.
pub(crate) fn depends_on_writer(declaration: &Declaration) -> bool {
    declaration.form.head() == tables::PARQUET.form.head()
}
