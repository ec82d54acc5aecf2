//! Draws the steps of a pipeline.

mod layers;
mod svg;

pub use layers::{Drawing, DrawnStep};
pub use svg::{dot, svg};
