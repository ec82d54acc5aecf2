//! Functions that inspect prepared data. They prepare and publish nothing.
//!
//! ```text
//! audit      causes of mismatches                       leaks      leaks of answers
//! diff       variants or directories compared           runs       two runs compared
//! rerun      steps run again and compared               listing    the files of a bundle
//! rows       rows of a pipeline's tables
//! ```

pub(crate) mod audit;
mod diff;
mod leaks;
mod listing;
mod rerun;
mod rows;
mod runs;

pub use self::audit::{Audit, BundleAudit, OutputsAudit, TreeAudit, audit};
pub use self::diff::{
    DataDifferences, PipelineDifference, diff_data, diff_pipelines, diff_variants,
};
pub use self::leaks::leaks;
pub use self::listing::{BundleListing, ListedFile, ListedSource, listing};
pub use self::rerun::{Difference, Rerun, RerunPlace, RerunResult, RerunStep, rerun};
pub use self::rows::{PreviewSource, rows};
pub use self::runs::diff_runs;
