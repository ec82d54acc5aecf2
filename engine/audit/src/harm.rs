//! The rules that decide how harmful a difference is.
//!
//! Every cause has a minimum harm, and the role of a file can raise it. Files that grading reads matter more than files
//! that participants read. The order of rows or columns matters only if grading pairs them by position. Every finding
//! names the rule that determined its harm, so that you can compare it with the pipeline's section `grade`.

/// The text of a rule in the report.
pub type HarmRule = &'static str;

/// No rule raised the harm, so it is the minimum harm of the cause.
pub const OF_CAUSE: HarmRule = "the minimum harm of this cause";

/// The file is in `private`.
pub const PRIVATE: HarmRule = "submissions are graded with files in `private`";

/// The column is in the answers, but not in the public test table.
pub const LABELS: HarmRule = "the column contains answers, which the public test items do not have";

/// Grading pairs rows by their ids, compared as text.
pub const IDS: HarmRule =
    "rows are paired by the ids in this column, so a different spelling is a different id";

/// Grading pairs rows by position.
pub const ROWS_BY_PLACE: HarmRule =
    "no rule of `grade` pairs rows by an id, so the order of rows matters";

/// Grading pairs columns by position.
pub const COLUMNS_BY_PLACE: HarmRule =
    "`grade` pairs columns by position, so the order of columns matters";

/// Public data contain answers of test items.
pub const ANSWERS_SHOWN: HarmRule = "public data contain answers of test items";

/// A test item has the file of a different item.
pub const TEST_ITEMS: HarmRule = "the file belongs to a test item, so the item to predict differs";
