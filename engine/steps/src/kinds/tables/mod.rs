//! The kinds of tables that a pipeline can declare.

mod digests;
mod draws;
mod files;
mod headers;
mod masks;
mod permute;
mod pixels;
mod read;
pub(super) mod split;
mod text_lines;
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
    &text_lines::KIND,
    &pixels::KIND,
    &headers::KIND,
    &digests::KIND,
    &masks::KIND,
    &tfrecords::KIND,
];
