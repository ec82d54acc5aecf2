//! Which rule decides the harm of a difference.
//!
//! A cause has a least harm. The role of a file raises it: files that grading reads matter more than those that participants read, and the
//! order of rows or columns matters only where grading pairs by place. Every finding carries the rule that decided, so that a
//! reader can check it against the pipeline's section `grade`.

/// A rule, as a sentence of the report.
pub type Rule = &'static str;

/// No role raised the harm.
pub const OF_CAUSE: Rule = "the least harm of this cause";

/// The file is in `private`.
pub const PRIVATE: Rule = "files in `private` are what submissions are graded with";

/// A column that the answers have and test items do not show.
pub const LABELS: Rule = "the column is one of the answers that test items do not show";

/// Grading pairs rows by their place.
pub const ROWS_BY_PLACE: Rule =
    "no rule of `grade` pairs rows by an id, so the order of rows counts";

/// The metric pairs columns by their place.
pub const COLUMNS_BY_PLACE: Rule =
    "`grade` pairs columns by their place, so the order of columns counts";

/// Public data hold answers of test items.
pub const ANSWERS_SHOWN: Rule = "public data hold the answers of test items";

/// A file of a test item is that of another one.
pub const TEST_ITEMS: Rule = "the file belongs to a test item, so what is to be answered differs";
