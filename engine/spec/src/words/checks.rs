//! The named checks of the section `checks`.

use super::Word;

/// The named checks, with their forms.
pub static CHECKS: &[Word] = &[
    Word {
        name: "unique",
        doc: "`TABLE.COLUMN`: no two rows have the same value.",
    },
    Word {
        name: "disjoint",
        doc: "`TABLE.COLUMN and TABLE.COLUMN`: no value is in both columns.",
    },
    Word {
        name: "each",
        doc: "`TABLE.COLUMN in TABLE.COLUMN`: each value of the first column is in the second.",
    },
];
