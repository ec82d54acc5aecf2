//! Questions about data that are prepared already. Nothing here prepares or publishes.
//!
//! ```text
//! audit      why data are not what was published        leaks      what gives the answers away
//! diff       what differs between variants, folders     moments    what differs between two runs
//! rerun      whether steps give the same results again  listing    the files of a bundle
//! ```

pub(crate) mod audit;
mod diff;
mod leaks;
mod listing;
mod moments;
mod rerun;

pub use self::audit::{Audit, BundleAudit, OutputsAudit, TreeAudit, audit};
pub use self::diff::{Differences, PipelineDifference, diff_data, diff_pipelines, diff_variants};
pub use self::leaks::leaks;
pub use self::listing::{ListedFile, ListedSource, Listing, listing};
pub use self::moments::diff_moments;
pub use self::rerun::{Difference, Place, Rerun, RerunResult, RerunStep, rerun};
