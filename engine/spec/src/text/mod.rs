//! The text of a pipeline file: its YAML with positions, and diagnostics that refer to positions.

pub mod align;
pub mod diagnostic;
pub mod suggest;
pub mod yaml;
