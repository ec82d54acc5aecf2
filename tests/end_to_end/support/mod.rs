//! Common parts of the tests.

mod archive;
mod ended;
mod random;
mod samples;
mod sandbox;
mod snapshot;

pub use crate::skipped::skipped;
pub use archive::{Archive, Member, zip_members};
pub use ended::CommandResult;
pub use random::Random;
pub use samples::{Gallery, Harbour};
pub use sandbox::{Sandbox, names_in};
pub use snapshot::{Snapshot, hex_md5};
