//! `shuffle`: scikit-learn's `train_test_split`.

use prep_spec::words::{KeyType, Section, SectionKey};
use prep_splits::SplitAlgorithm;

use super::{GROUPS, ORDER, SEED, STRATIFY, SplitMethod, TEST_SIZE, WITHIN, order};

pub(super) const METHOD: SplitMethod = SplitMethod {
    section: Section {
        name: "shuffle",
        doc: "scikit-learn's `train_test_split` of rows. With `groups`, it splits entire groups, in order of first appearance. With `stratify`, both tables keep the proportions of the classes. A split has at most one of `groups`, `stratify` and `within`.",
        keys: &[
            TEST_SIZE,
            SectionKey::optional(
                "train_size",
                KeyType::Share,
                "Size of the first table: a fraction or a number.",
                "0.9",
            ),
            SEED,
            GROUPS,
            STRATIFY,
            WITHIN,
            ORDER,
        ],
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
