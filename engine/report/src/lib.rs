//! One page to look at: what is prepared, what it looks like, how submissions to it did.
//!
//! ```text
//! collect   what the data folder, the store and the grading reports say: plain values
//! draw      values -> pictures (SVG)                graph   a pipeline's steps as a picture
//! page      values and pictures -> one HTML file
//! ```
//!
//! The page is one file: no script, no font, no request. Colours follow the reader's light or dark setting: pictures are
//! drawn in fixed colours, which the style sheet of the page replaces. Text that comes from data is escaped in one place
//! (`page::html`).
//!
//! Rows and images are those of `public`. Of `private` only the answers are read, and only shares of them are shown: a
//! value that does not occur in `public` is never named.

mod collect;
mod draw;
pub mod graph;
mod page;

pub use collect::Graded;
use prep_app::{Error, Task};

/// What a report is about.
pub struct Wanted<'a> {
    /// Competitions, in the order in which they are shown.
    pub ids: &'a [String],
    /// Grading reports.
    pub graded: &'a [Graded],
}

/// Makes the page. Reads what is prepared, writes nothing.
///
/// # Errors
/// When a competition is unknown, or the store or the data folder cannot be read.
pub fn html(task: &Task, wanted: &Wanted<'_>) -> Result<String, Error> {
    let report = collect::collect(task, wanted)?;
    page::render(&report)
}
