//! The split and its methods.

use super::{Key, Section, Value, Word};

pub static SPLIT: Section = Section {
    name: "the split",
    doc: "Divides the rows of one table into two new tables, which have its columns. Besides these keys it has the parameters of its method.",
    keys: &[
        Key::required(
            "rows",
            Value::Table,
            "The table that is divided.",
            "labelled",
        ),
        Key::required("method", Value::Method, "How it is divided.", "shuffle"),
        Key::optional(
            "group_by",
            Value::Column,
            "Column whose values the method works with: rows that agree in it form a group or a class.",
            "patient",
        ),
        Key::optional(
            "into",
            Value::Pair,
            "Names of the two tables. Default: `[train, test]`.",
            "[kept, held_out]",
        ),
    ],
};

/// The methods of `prep-splits`, each with its parameters.
pub static METHODS: &[Section] = &[
    Section {
        name: "shuffle",
        doc: "scikit-learn's `train_test_split`, of rows or (with `group_by`) of whole groups.",
        keys: &[TEST_SIZE, TRAIN_SIZE, SEED, ORDER],
    },
    Section {
        name: "stratified",
        doc: "scikit-learn's `train_test_split` with `stratify`: the classes of `group_by` keep their shares.",
        keys: &[TEST_SIZE, TRAIN_SIZE, SEED, ORDER],
    },
    Section {
        name: "sample",
        doc: "pandas' `sample`: the sampled rows are the second table. The first keeps the order of the rows.",
        keys: &[
            Key::required("test_size", Value::Size, SIZE, "0.1"),
            SEED,
            ORDER,
        ],
    },
    Section {
        name: "chunks",
        doc: "A shuffle split of every so many rows for itself.",
        keys: &[
            Key::required("chunk_size", Value::Natural, "Rows of a chunk.", "100"),
            TEST_SIZE,
            SEED,
        ],
    },
    Section {
        name: "within_groups",
        doc: "A shuffle split of every group of `group_by` for itself.",
        keys: &[
            TEST_SIZE,
            SEED,
            Key::optional(
                "hold_last_below",
                Value::Natural,
                "Groups with fewer rows are not shuffled: their last rows go to the second table.",
                "10",
            ),
            Key::optional(
                "shuffle_test",
                Value::Natural,
                "Seed of a last shuffle of the second table by Python's `random`.",
                "0",
            ),
        ],
    },
    Section {
        name: "fill",
        doc: "Whole groups of `group_by`, in random order, until the second table is exactly full.",
        keys: &[
            Key::required("test_size", Value::Size, SIZE, "1000"),
            SEED,
            ORDER,
        ],
    },
    Section {
        name: "ratio_repair",
        doc: "A shuffle split of whole groups of `group_by`, moved on until a share of rows is met.",
        keys: &[
            TEST_SIZE,
            SEED,
            Key::required(
                "ratio",
                Value::Number,
                "Wanted rows of the second table, divided by all rows and those again.",
                "0.1",
            ),
            ORDER,
        ],
    },
    Section {
        name: "both_sides",
        doc: "A row of every group of `group_by` on both sides, then the rest at random.",
        keys: &[
            TEST_SIZE,
            SEED,
            Key::required(
                "single_train",
                Value::Number,
                "Probability that the row of a group with a single one goes to the first table.",
                "0.5",
            ),
        ],
    },
    Section {
        name: "python_sample",
        doc: "Python's `random.sample`: the sampled rows are the second table. The first keeps the order of the rows.",
        keys: &[
            Key::required("test_size", Value::Size, SIZE, "0.1"),
            SEED,
            ORDER,
        ],
    },
    Section {
        name: "first_fit",
        doc: "Whole groups of `group_by`, in the order of the table: each goes to the second table if it still fits into `test_size` rows.",
        keys: &[Key::required("test_size", Value::Size, SIZE, "1000"), ORDER],
    },
    Section {
        name: "varied",
        doc: "A shuffle split of rows whose second table shows two values of `group_by`.",
        keys: &[TEST_SIZE, TRAIN_SIZE, SEED],
    },
];

const SIZE: &str =
    "Size of the second table: a share (`0.1`), a number (`9914`), or a query with one value.";
const TEST_SIZE: Key = Key::optional("test_size", Value::Size, SIZE, "0.1");
const TRAIN_SIZE: Key = Key::optional(
    "train_size",
    Value::Number,
    "Size of the first table: a share or a number.",
    "0.9",
);
const SEED: Key = Key::required("seed", Value::Natural, "Seed of the random numbers.", "0");
const ORDER: Key = Key::optional(
    "order",
    Value::Word(ORDERS),
    "Order of the rows in the new tables. Default: `split`; for whole groups `file`.",
    "file",
);

static ORDERS: &[Word] = &[
    Word {
        name: "file",
        doc: "as in the table that was split",
    },
    Word {
        name: "split",
        doc: "as the split drew them",
    },
];
