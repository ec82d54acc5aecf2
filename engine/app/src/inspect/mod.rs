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

use serde_json::Value;

/// Returns the column by which this rule of a section `grade` pairs rows: `align` or `align_groups`.
fn aligned_column<'a>(grade: &'a Value, rule: &str) -> Option<&'a str> {
    let mut rules = grade.get("rules")?.as_array()?.iter();
    let by = rules.find_map(|one| one.get(rule))?;
    by.as_str().or_else(|| by.get("by")?.as_str())
}
