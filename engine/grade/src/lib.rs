//! Grading, the last stage of a pipeline.
//!
//! The `grade:` section of a pipeline lists *rules*, which a submission must satisfy in order, and one *metric*.
//! [`Grader`] parses the section and grades submissions. A [`GradeOutcome`] is either a score or a [`Refusal`], whose
//! message shows the author how to correct the submission. If MLE-bench's grader raises an exception for a submission,
//! this crate reports the submission as invalid. If MLE-bench's grader returns a number, the score of this crate equals
//! that number, both rounded to five decimals.
//!
//! [`report::medals`] computes the medal of a score on Kaggle's leaderboard, and [`report`] writes reports.
//!
//! ```text
//! rules/, metrics/   one file per family of rules or metrics, with their documentation
//! spec/              parses the section `grade:`
//! table/             the two tables that are graded
//! shapes/            boxes, masks and volumes that are described in cells
//! python/            Python's and NumPy's numbers and sort order
//! report/            lists of submissions, medals, reports
//! ```
//!
//! Every rule and metric contains its documentation ([`rules::ALL`], [`metrics::ALL`]), from which the reference pages
//! and the JSON Schema ([`spec::definition`]) are generated.
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
mod refusal;

mod shapes {
    //! Shapes that are described in cells (boxes, masks, volumes), and functions that compare two shapes.

    pub mod boxes;
    pub mod coco;
    pub mod mask;
    pub mod volume;
}

pub mod table {
    //! The answers and the submission: how these tables are read, their columns, and how pandas and scikit-learn interpret
    //! the columns.

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
pub use spec::kinds::{GradeSpecError, GradeSpecErrors, KeyPath, PathSegment, Problem};
pub use table::answers::AnswersError;
pub use table::column::{CellValue, GradedColumn, Role};
pub use table::pair::{Pair, Side};
pub use table::submission::ScannedSubmission;
