//! The kinds of outputs that a pipeline can declare.

pub(super) mod archive;
mod bson;
mod copy;
mod csv;
mod dialect;
mod document;
mod empty;
mod files;
mod json;
mod json_lines;
mod lines;
mod npy;
mod parquet;
mod redact;

use prep_spec::model::Declaration;

use super::StepKind;

/// All kinds, in the order of the reference documentation.
pub(super) const ALL: &[&StepKind] = &[
    &csv::KIND,
    &json::KIND,
    &json_lines::KIND,
    &document::KIND,
    &bson::KIND,
    &parquet::KIND,
    &npy::KIND,
    &lines::KIND,
    &files::KIND,
    &copy::KIND,
    &redact::KIND,
    &empty::KIND,
    &archive::ZIP,
    &archive::ZIP_STORED,
    &archive::TAR,
    &archive::SEVEN_ZIP,
];

/// Returns whether the bytes of an output depend on the library that writes it, so that equal rows may have different
/// bytes.
pub(crate) fn depends_on_writer(declaration: &Declaration) -> bool {
    declaration.form.head() == parquet::KIND.form.head()
}
