//! Causes of differences in images.

use super::{Cause, Family, Harm};

pub static ALL: &[&Cause] = &[&IMAGE_BYTES, &IMAGE_PIXELS, &IMAGE_DAMAGED];

pub static IMAGE_BYTES: Cause = Cause {
    id: "image-bytes",
    family: Family::Images,
    harm: Harm::Form,
    meaning: "images have different bytes but the same pixels",
    advice: "copy images instead of encoding them again",
};

pub static IMAGE_PIXELS: Cause = Cause {
    id: "image-pixels",
    family: Family::Images,
    harm: Harm::Content,
    meaning: "images have different pixels",
    advice: "copy images instead of encoding them again",
};

pub static IMAGE_DAMAGED: Cause = Cause {
    id: "image-damaged",
    family: Family::Images,
    harm: Harm::Content,
    meaning: "images cannot be decoded, while our images can",
    advice: "prepare again",
};
