//! The rules that decide how harmful a difference is.
//!
//! Every cause has a minimum harm, and the role of a file can raise it. Files that grading reads matter more than files that
//! participants read. The order of rows or columns matters only if grading pairs them by position. Every finding contains the
//! rule that decided, so that a reader can compare it with the pipeline's section `grade`.

/// A rule, as a sentence of the report.
pub type HarmRule = &'static str;

/// The harm is the minimum of the cause, because no role raised it.
pub const OF_CAUSE: HarmRule = "the least harm of this cause";

/// The file is in `private`.
pub const PRIVATE: HarmRule = "files in `private` are what submissions are graded with";

/// A column that the answers have and test items do not show.
pub const LABELS: HarmRule = "the column is one of the answers that test items do not show";

/// Rows are paired by the ids, as texts.
pub const IDS: HarmRule =
    "the column has the ids, by which rows are paired: another spelling is another id";

/// Grading pairs rows by their place.
pub const ROWS_BY_PLACE: HarmRule =
    "no rule of `grade` pairs rows by an id, so the order of rows counts";

/// The metric pairs columns by position.
pub const COLUMNS_BY_PLACE: HarmRule =
    "`grade` pairs columns by their place, so the order of columns counts";

/// Public data contain answers of test items.
pub const ANSWERS_SHOWN: HarmRule = "public data hold the answers of test items";

/// A test item has the file of another item.
pub const TEST_ITEMS: HarmRule =
    "the file belongs to a test item, so what is to be answered differs";
