//! What the tests are made of.

mod archive;
mod ended;
mod samples;
mod sandbox;
mod snapshot;

pub use archive::{Archive, Member};
pub use ended::Ended;
pub use samples::{Gallery, Harbour};
pub use sandbox::{Sandbox, names_in};
pub use snapshot::{Snapshot, hex_md5};
