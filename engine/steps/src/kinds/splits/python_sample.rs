//! `python_sample`: Python's `random.sample`.

use prep_spec::words::{KeyType, Section, SectionKey};
use prep_splits::SplitAlgorithm;

use super::{ORDER, SIZE, SplitMethod, order};
use crate::kinds::generator::{AFTER, SEED};

pub(super) const METHOD: SplitMethod = SplitMethod {
    section: Section {
        name: "python_sample",
        doc: "Python's `random.sample`: the sampled rows are the second table. The first keeps the order of the rows. A fraction is rounded to the nearest number of rows, with halves rounded to even.",
        keys: &[
            SectionKey::required("test_size", KeyType::Size, SIZE, "0.1"),
            SEED,
            AFTER,
            ORDER,
        ],
    },
    method: |declaration, test_size| {
        Some(SplitAlgorithm::PythonSample {
            test_size: test_size?,
            // Ignored if another generator is continued.
            seed: declaration.seed("seed").unwrap_or(0),
            order: order(declaration),
        })
    },
};
