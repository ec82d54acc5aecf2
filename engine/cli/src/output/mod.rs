//! Output for the user.

pub mod audit;
pub mod browser;
pub mod diagnostics;
pub mod experiments;
pub mod file;
pub mod grading;
pub mod moving;
pub mod plan;
pub mod printer;
pub mod progress;
pub mod summary;
pub mod table;
pub mod ticker;
