//! Draws the steps of a pipeline.

mod dot;
mod layers;
mod svg;

pub use dot::dot;
pub use layers::{Drawing, DrawnStep};
pub use svg::svg;
