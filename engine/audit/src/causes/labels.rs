//! Causes of differences in labels and answers.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[&LABELS_CHANGED];

pub static LABELS_CHANGED: Cause = Cause {
    id: "labels-changed",
    family: Family::Labels,
    harm: Harm::Answers,
    meaning: "labels differ",
    advice: "prepare again from an intact bundle; scores are not comparable",
};
