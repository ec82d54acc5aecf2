//! Grading: the last stage of a pipeline.
//!
//! A pipeline's `grade:` section names *rules*, which a submission must pass in order, and one *metric*. [`Grader`]
//! reads the section and grades: the [`Outcome`] is a score or a [`Refusal`] that tells what to fix. Where MLE-bench's
//! graders raise any exception, the submission is refused; where they return a number, the score is the same at five
//! decimals.
//!
//! [`medals`] ranks a score on Kaggle's leaderboard, [`report`] writes the reports.
//!
//! Every rule and metric describes itself ([`rules::ALL`], [`metrics::ALL`]); reference pages and the JSON Schema
//! ([`schema`]) are made from that.

pub mod definition;
pub mod json;
pub mod list;
pub mod medals;
pub mod metrics;
pub mod report;
pub mod rules;
pub mod schema;
pub mod submission;

mod answers;
mod box_3d;
mod boxes;
mod coco;
mod columns;
mod edit_distance;
mod error;
mod frame;
mod grader;
mod integer;
mod key;
mod mask;
mod mask_columns;
mod numbers;
pub mod numeric;
mod pair;
mod python_sort;
mod refusal;
pub mod sort;
mod spec;
mod suggest;
mod target;
mod volume;
mod words;

pub use answers::AnswersError;
pub use error::{GradeSpecError, GradeSpecErrors, KeyPath, PathSegment, Problem};
pub use grader::{Grader, Outcome};
pub use pair::{Column, Pair, Role, Side, Value};
pub use refusal::{Refusal, RefusalKind};
