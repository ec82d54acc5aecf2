//! Grading: the last stage of a pipeline.
//!
//! A pipeline's `grade:` section names *rules*, which a submission must pass in order, and one *metric*. [`Grader`]
//! reads the section and grades: the [`Outcome`] is a score or a [`Refusal`] that tells what to fix. Where MLE-bench's
//! graders raise any exception, the submission is refused; where they return a number, the score is the same at five
//! decimals.
//!
//! [`medals`] ranks a score on Kaggle's leaderboard, [`report`] writes the reports.
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
//! ([`schema`]) are made from that.

pub mod metrics;
pub mod report;
pub mod rules;

mod grader;
mod python;
mod refusal;
mod shapes;
mod spec;
mod table;
mod words;

// Parts go by their own names, whatever folder they stand in.
pub use python::numeric;
pub use report::{json, list, medals};
pub use spec::{definition, schema};
pub use table::{sort, submission};

use python::{integer, python_sort};
use shapes::{box_3d, boxes, coco, mask, mask_columns, volume};
use spec::{edit_distance, error, suggest};
use table::{answers, columns, frame, ids, key, numbers, order, pair, positions, target, unread};

pub use answers::AnswersError;
pub use error::{GradeSpecError, GradeSpecErrors, KeyPath, PathSegment, Problem};
pub use grader::{Grader, Outcome};
pub use pair::{Column, Pair, Role, Side, Value};
pub use refusal::{Refusal, RefusalKind};
