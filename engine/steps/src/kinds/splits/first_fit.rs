//! `first_fit`: assigns entire groups as long as they fit.

use prep_spec::words::{KeyType, Section, SectionKey};
use prep_splits::SplitAlgorithm;

use super::{ORDER, SIZE, SplitMethod, order};

pub(super) const METHOD: SplitMethod = SplitMethod {
    section: Section {
        name: "first_fit",
        doc: "Assigns entire groups, in order of first appearance. A group goes to the second table if it still fits into `test_size` rows, and to the first otherwise. No random numbers are used.",
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
