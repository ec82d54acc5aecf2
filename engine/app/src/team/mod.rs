//! Shares results and bundles with other machines, and divides work among many machines.
//!
//! ```text
//! push   sends results and bundles to the remote
//! unit   a part of many competitions
//! jobs   scripts and manifests for clusters
//! ```

mod jobs;
pub(crate) mod push;
mod unit;

pub use self::jobs::{JobPlan, Slurm, kubernetes, slurm};
pub use self::push::{PushResult, push, remote_of};
pub use self::unit::{Unit, unit};
