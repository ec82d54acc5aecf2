//! Grading: the last stage of a pipeline.
//!
//! A pipeline's `grade:` section names *rules*, which a submission must pass in order, and one *metric*. [`Grader`]
//! reads the section and grades: the [`Outcome`] is a score or a [`Refusal`] that tells what to fix. Where MLE-bench's
//! graders raise any exception, the submission is refused; where they return a number, the score is the same at five
//! decimals.
//!
//! [`report::medals`] ranks a score on Kaggle's leaderboard, [`report`] writes the reports.
//!
//! ```text
//! rules/, metrics/   one file each, which describes itself
//! spec/              the section `grade:`: what may stand in it, and what is wrong with it
//! table/             the two tables that are graded
//! shapes/            boxes, masks and volumes that cells describe
//! python/            Python's and NumPy's numbers and order
//! report/            lists of submissions, medals, reports
//! ```
//!
//! Every rule and metric describes itself ([`rules::ALL`], [`metrics::ALL`]); reference pages and the JSON Schema
//! ([`spec::schema`]) are made from that.

pub mod metrics;
pub mod python;
pub mod report;
pub mod rules;
pub mod spec;
pub mod table;

mod grader;
mod refusal;
mod shapes;
mod words;

pub use grader::{Grader, Outcome};
pub use refusal::{Refusal, RefusalKind};
pub use spec::error::{GradeSpecError, GradeSpecErrors, KeyPath, PathSegment, Problem};
pub use table::answers::AnswersError;
pub use table::pair::{Column, Pair, Role, Side, Value};
