//! The methods that divide a table into two: their keys, and the conversion to a method of `prep-splits`.

mod first_fit;
mod python_sample;
mod sample;
mod shuffle;

use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, Section, SectionKey, Word};
use prep_splits::{SplitAlgorithm, SplitOrder, SplitSize};

/// A method and its keys.
pub(super) struct SplitMethod {
    pub section: Section,
    /// Converts a declaration. Takes the size of the second table.
    pub method: fn(&Declaration, Option<SplitSize>) -> Option<SplitAlgorithm>,
}

/// All methods, in the order of the reference documentation.
pub(super) const ALL: &[&SplitMethod] = &[
    &shuffle::METHOD,
    &sample::METHOD,
    &python_sample::METHOD,
    &first_fit::METHOD,
];

/// Keys of all methods.
pub(super) const SECTIONS: &[&Section] = &[
    &shuffle::METHOD.section,
    &sample::METHOD.section,
    &python_sample::METHOD.section,
    &first_fit::METHOD.section,
];

const SIZE: &str =
    "Size of the second table: a fraction (`0.1`), a number (`9914`), or a query with one value.";
const TEST_SIZE: SectionKey = SectionKey::optional("test_size", KeyType::Size, SIZE, "0.1");
const SEED: SectionKey =
    SectionKey::required("seed", KeyType::Seed, "Seed of the random numbers.", "0");
const GROUPS: SectionKey = SectionKey::optional(
    "groups",
    KeyType::Column,
    "Column with the group of a row. The rows of a group stay together.",
    "patient",
);
const STRATIFY: SectionKey = SectionKey::optional(
    "stratify",
    KeyType::Column,
    "Column with the class of a row. Both tables keep the proportions of the classes.",
    "label",
);
const WITHIN: SectionKey = SectionKey::optional(
    "within",
    KeyType::Column,
    "Column with the group of a row. Each group is split separately, in order of first appearance, with a newly seeded generator.",
    "site",
);
const ORDER: SectionKey = SectionKey::optional(
    "order",
    KeyType::Word(ORDERS),
    "Order of the rows in the new tables. Default: `split`, and `file` for entire groups.",
    "file",
);

const ORDERS: &[Word] = &[
    Word {
        name: "file",
        doc: "as in the table that was split",
    },
    Word {
        name: "split",
        doc: "as the split drew them",
    },
];

/// The declared order.
fn order(declaration: &Declaration) -> Option<SplitOrder> {
    match declaration.text("order")? {
        "file" => Some(SplitOrder::File),
        _ => Some(SplitOrder::Split),
    }
}
