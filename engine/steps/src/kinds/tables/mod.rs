//! The kinds of tables that a pipeline can declare.

mod draws;
mod files;
mod of_files;
mod permute;
mod read;
pub(super) mod split;
mod tfrecords;
mod unpivot;

use super::StepKind;

/// All kinds, in the order of the reference documentation.
pub(super) const ALL: &[&StepKind] = &[
    &read::KIND,
    &read::EACH,
    &split::KIND,
    &permute::KIND,
    &unpivot::KIND,
    &draws::KIND,
    &files::KIND,
    &of_files::TEXT_LINES,
    &of_files::PIXELS,
    &of_files::HEADERS,
    &of_files::DIGESTS,
    &of_files::MASKS,
    &tfrecords::KIND,
];
