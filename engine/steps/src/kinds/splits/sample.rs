//! `sample`: pandas' `DataFrame.sample`.

use prep_spec::words::{KeyType, Section, SectionKey};
use prep_splits::SplitAlgorithm;

use super::{ORDER, SEED, SIZE, SplitMethod, WITHIN, order};

pub(super) const METHOD: SplitMethod = SplitMethod {
    section: Section {
        name: "sample",
        doc: "pandas' `sample`: the sampled rows are the second table. The first keeps the order of the rows.",
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
