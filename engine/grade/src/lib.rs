//! Grading, the last stage of a pipeline.
//!
//! The section `grade:` of a pipeline lists *rules*, which a submission must satisfy, and one *metric*. [`Grader`] parses
//! the section and grades submissions. A [`GradeOutcome`] is a score, or a [`Refusal`] with a message for the author of the
//! submission.
//!
//! Scores that are rounded to five decimals equal those of MLE-bench's grader. If MLE-bench's grader raises an
//! exception, the submission is invalid.
//!
//! ```text
//! rules/      one file per family of rules
//! metrics/    one file per family of metrics
//! spec/       parses the section `grade:`
//! table/      the answers and the submission
//! shapes/     boxes, masks and volumes that are described in cells
//! python/     Python's and NumPy's numbers and sort order
//! report/     lists of submissions, medals on Kaggle's leaderboard, reports
//! ```
//!
//! The reference pages and the JSON Schema are generated from texts in [`rules::ALL`] and [`metrics::ALL`].
//!
//! # Example
//!
//! ```
//! use prep_grade::{Grader, GradeOutcome};
//! let section = serde_json::json!({ "rules": ["same_rows"], "metric": { "accuracy": "label" } });
//! let grader = Grader::parse(&section).unwrap();
//! let answers = grader.read_answers(b"id,label\n1,a\n2,b\n").unwrap();
//! let outcome = grader.grade_bytes(&answers, b"id,label\n1,a\n2,a\n");
//! assert_eq!(outcome.rounded(), Some(0.5));
//! ```

#![warn(missing_docs)]

pub mod metrics;
pub mod python;
pub mod report;
pub mod rules;
pub mod spec;

mod grader;
mod participants;
mod refusal;

mod shapes {
    //! Boxes, masks and volumes that are described in cells.

    pub mod boxes;
    pub mod coco;
    pub mod mask;
    pub mod volume;
}

pub mod table {
    //! The answers and the submission, read like pandas and scikit-learn read them.

    pub(crate) mod answers;
    pub(crate) mod column;
    pub(crate) mod key;
    pub(crate) mod numbers;
    pub(crate) mod pair;
    pub mod sort;
    pub mod submission;
    pub(crate) mod target;
    pub(crate) mod threads;
    pub mod typed;
}

pub use grader::{GradeOutcome, Grader, all_columns};
pub use refusal::{Refusal, RefusalKind, RowPolicy};
pub use spec::draft::{MetricDraft, positive_label, takes_several_columns};
pub use spec::kinds::{GradeSpecError, GradeSpecErrors, KeyPath, PathSegment, Problem};
pub use table::answers::AnswersError;
pub use table::column::{CellValue, GradedColumn, Role};
pub use table::pair::{Pair, Side};
pub use table::submission::ScannedSubmission;
