//! The methods that divide a table into two, and their keys.

use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, Section, SectionKey, Word};
use prep_splits::{CutTies, SplitAlgorithm, SplitOrder, SplitSize};

use crate::kinds::generator::{self, AFTER};

pub(super) struct SplitMethod {
    pub section: Section,
    /// Converts a declaration. The second parameter is the size of the second table.
    pub method: fn(&Declaration, Option<SplitSize>) -> Option<SplitAlgorithm>,
}

/// All methods, in the order of the reference documentation.
pub(super) const ALL: &[&SplitMethod] = &[&SHUFFLE, &SAMPLE, &PYTHON_SAMPLE, &FIRST_FIT, &CUT];

pub(super) const SECTIONS: &[&Section] = &[
    &SHUFFLE.section,
    &SAMPLE.section,
    &PYTHON_SAMPLE.section,
    &FIRST_FIT.section,
    &CUT.section,
];

const SIZE: &str = "Size of the second table: a fraction (`0.1`), an absolute number (`9914`), or a query with one value.";
const TEST_SIZE: SectionKey = SectionKey::optional("test_size", KeyType::Size, SIZE, "0.1");
const TRAIN_SIZE: SectionKey = SectionKey::optional(
    "train_size",
    KeyType::Share,
    "Size of the first table: a fraction or an absolute number.",
    "0.9",
);
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
    "Order of the rows in the new tables. Default: `file` if the key `groups` is set or the method is `cut`, otherwise `split`.",
    "file",
);

const ORDERS: &[Word] = &[
    Word {
        name: "file",
        doc: "as in the table that was split",
    },
    Word {
        name: "split",
        doc: "as the split drew them; for `cut`, in the order of the column `by`",
    },
];

fn order(declaration: &Declaration) -> Option<SplitOrder> {
    match declaration.text("order")? {
        "file" => Some(SplitOrder::File),
        _ => Some(SplitOrder::Split),
    }
}

const SHUFFLE: SplitMethod = SplitMethod {
    section: Section {
        name: "shuffle",
        doc: "Splits rows like scikit-learn's `train_test_split`. A split can have at most one of `groups`, \
        `stratify` and `within`.\n\nWith `groups`, the method splits the list of groups in order of first appearance. \
        So the rows of a group stay together. With `stratify`, both tables keep the proportions of the classes.",
        keys: &[TEST_SIZE, TRAIN_SIZE, SEED, GROUPS, STRATIFY, WITHIN, ORDER],
    },
    method: |declaration, test_size| {
        Some(SplitAlgorithm::Shuffle {
            test_size,
            train_size: declaration.share("train_size"),
            seed: declaration.seed("seed")?,
            order: order(declaration),
        })
    },
};

const SAMPLE: SplitMethod = SplitMethod {
    section: Section {
        name: "sample",
        doc: "Draws rows like pandas' `sample`. The drawn rows become the second table. All other rows become the \
        first table, in their original order.",
        keys: &[
            SectionKey::required("test_size", KeyType::Size, SIZE, "0.1"),
            SEED,
            WITHIN,
            ORDER,
        ],
    },
    method: |declaration, test_size| {
        Some(SplitAlgorithm::Sample {
            test_size: test_size?,
            seed: declaration.seed("seed")?,
            order: order(declaration),
        })
    },
};

const PYTHON_SAMPLE: SplitMethod = SplitMethod {
    section: Section {
        name: "python_sample",
        doc: "Draws rows like Python's `random.sample`. The drawn rows become the second table. All other rows become \
        the first table, in their original order.\n\nIf `test_size` is a fraction, the number of drawn rows is \
        rounded to an integer, and halves are rounded to even.",
        keys: &[
            SectionKey::required("test_size", KeyType::Size, SIZE, "0.1"),
            generator::SEED,
            AFTER,
            ORDER,
        ],
    },
    method: |declaration, test_size| {
        Some(SplitAlgorithm::PythonSample {
            test_size: test_size?,
            // Unused with `after`, which continues another generator.
            seed: declaration.seed("seed").unwrap_or(0),
            order: order(declaration),
        })
    },
};

const FIRST_FIT: SplitMethod = SplitMethod {
    section: Section {
        name: "first_fit",
        doc: "Assigns one group after another to a table, in order of first appearance. A group goes to the second \
        table if the second table then has at most `test_size` rows. Otherwise the group goes to the first table. No \
        random numbers are used.",
        keys: &[
            SectionKey::required(
                "groups",
                KeyType::Column,
                "Column with the group of a row.",
                "patient",
            ),
            SectionKey::required("test_size", KeyType::Size, SIZE, "1000"),
            ORDER,
        ],
    },
    method: |declaration, test_size| {
        Some(SplitAlgorithm::FirstFit {
            test_size: test_size?,
            order: order(declaration),
        })
    },
};

const CUT: SplitMethod = SplitMethod {
    section: Section {
        name: "cut",
        doc: "Divides the rows by the values of a column, for example by time. The rows with the largest values are \
        the second table. One of `from`, `test_size` and `train_size` defines the cut.\n\nWith `groups`, the rows of \
        a group stay together: the value of a group is the largest value of its rows, and `test_size` and \
        `train_size` refer to groups instead of rows. A row without a value in the column `by` is an error. No random \
        numbers are used.",
        keys: &[
            SectionKey::required(
                "by",
                KeyType::Column,
                "Column by which the rows are ordered: numbers, booleans (`False` first), or strings. Strings are ordered by code point, so strings such as `2019-12-31` are in order of time.",
                "day",
            ),
            SectionKey::optional(
                "from",
                KeyType::Value,
                "Smallest value of the second table: a value, or a query with one value.",
                "2019-07-01",
            ),
            SectionKey::optional(
                "format",
                KeyType::Text,
                "Format of the dates or times in `by`, with the directives of `strptime`. Strings are then compared as times. `from` is in this format or written like `2019-12-31`.",
                "'%d.%m.%Y'",
            ),
            TEST_SIZE,
            TRAIN_SIZE,
            SectionKey::optional(
                "ties",
                KeyType::Word(TIES),
                "Table that receives the rows whose value equals the value at the cut. Only with `test_size` or `train_size`. Default: `test`.",
                "train",
            ),
            GROUPS,
            ORDER,
        ],
    },
    method: |declaration, test_size| {
        Some(SplitAlgorithm::Cut {
            test_size,
            train_size: declaration.share("train_size"),
            ties: match declaration.text("ties") {
                Some("train") => CutTies::Train,
                Some("divide" | QUICKSORT) => CutTies::Divide,
                _ => CutTies::Test,
            },
            order: order(declaration),
        })
    },
};

/// Value of `ties`: equal values are ordered as by pandas' `sort_values`, with NumPy's quicksort, which is not stable.
pub(crate) const QUICKSORT: &str = "quicksort";

const TIES: &[Word] = &[
    Word {
        name: "test",
        doc: "the second table, which then has more than `test_size` rows",
    },
    Word {
        name: "train",
        doc: "the first table, so the second has fewer than `test_size` rows",
    },
    Word {
        name: "divide",
        doc: "both tables: the rows with this value are divided in their original order, so both sizes are exact. The result is that of scikit-learn's `train_test_split(rows.sort_values(by, kind='stable'), shuffle=False)`",
    },
    Word {
        name: QUICKSORT,
        doc: "like `divide`, but in the order of `rows.sort_values(by)`. The default algorithm of `sort_values` is NumPy's quicksort, which is not stable. Only for strings, because NumPy orders equal numbers differently on different processors",
    },
];
