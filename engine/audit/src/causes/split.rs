//! Items in other parts.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[&OTHER_SPLIT, &PARTS_SWAPPED];

pub static OTHER_SPLIT: Cause = Cause {
    id: "other-split",
    family: Family::Split,
    harm: Harm::Answers,
    meaning: "the same items, divided otherwise into train and test",
    advice: "prepare with the benchmark's seed and size: scores are not comparable",
};

pub static PARTS_SWAPPED: Cause = Cause {
    id: "parts-swapped",
    family: Family::Split,
    harm: Harm::Answers,
    meaning: "train and test are exchanged",
    advice: "exchange them back: scores are not comparable",
};
