//! The kinds of steps. One file per kind; its name is the kind's name in plans, keys and events.

mod check;
mod checksum;
mod copy;
mod empty;
mod export;
mod files;
mod list;
mod pack;
mod pixels;
mod publish;
mod query;
mod read;
mod split;
mod text_lines;
mod tfrecords;
mod unpack;

pub(crate) use check::Check;
pub(crate) use checksum::Checksum;
pub(crate) use copy::Copy;
pub(crate) use empty::Empty;
pub(crate) use export::{Export, Form};
pub(crate) use files::{Files, TREE};
pub(crate) use list::List;
pub(crate) use pack::Pack;
pub(crate) use pixels::Pixels;
pub(crate) use publish::Publish;
pub use publish::{Manifest, ManifestError, PublishedOutput, Settled, settle};
pub(crate) use query::QueryTable;
pub(crate) use read::ReadTable;
pub(crate) use split::SplitRows;
pub(crate) use text_lines::LineTable;
pub(crate) use tfrecords::TfRecordTable;
pub(crate) use unpack::{Unpack, archive_suffix, is_archive};

use prep_core::{Outputs, Value};

/// Name of the only output of most kinds.
pub(crate) const VALUE: &str = "value";

/// Memory that a query may need beside what its tables map, in bytes.
const QUERY_MEMORY: u64 = 512 << 20;

/// A single output.
fn one(value: Value) -> Outputs {
    Outputs::from([(VALUE.to_owned(), value)])
}
