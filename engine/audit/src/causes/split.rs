//! Causes of items in a different part of the split.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[&OTHER_SPLIT, &PARTS_SWAPPED];

pub static OTHER_SPLIT: Cause = Cause {
    id: "other-split",
    family: Family::Split,
    harm: Harm::Answers,
    meaning: "the same items, divided differently into train and test",
    advice: "prepare with the benchmark's seed and test size; scores are not comparable",
};

pub static PARTS_SWAPPED: Cause = Cause {
    id: "parts-swapped",
    family: Family::Split,
    harm: Harm::Answers,
    meaning: "train and test are swapped",
    advice: "swap them back; scores are not comparable",
};
