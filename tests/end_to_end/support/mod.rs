//! Common parts of the tests.

mod archive;
mod ended;
mod random;
mod samples;
mod sandbox;
mod skipped;
mod snapshot;

pub use archive::{Archive, Member, zip_members};
pub use ended::Ended;
pub use random::Random;
pub use samples::{Gallery, Harbour};
pub use sandbox::{Sandbox, names_in};
pub use skipped::skipped;
pub use snapshot::{Snapshot, hex_md5};
