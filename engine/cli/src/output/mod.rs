//! What the user sees.

pub mod diagnostics;
pub mod diff;
pub mod experiments;
pub mod layers;
pub mod printer;
pub mod progress;
pub mod reasons;
pub mod summary;
pub mod svg;
pub mod table;
pub mod timings;
