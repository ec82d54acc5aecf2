//! Options that every verb takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prep_core::units;

use crate::values::at_least_one;

/// Heading of these options in the help. A heading of the struct would also apply to the options after it.
const HEADING: &str = "Common options";

/// Options that every verb takes.
#[derive(Debug, Default, Clone, Args)]
pub struct Global {
    /// Folder of the competitions' data [default: user cache dir + mle-bench/data, env: MLE_BENCH_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR", help_heading = HEADING)]
    pub data_dir: Option<PathBuf>,
    /// Folder of the store of results [default: user cache dir + prep, env: PREP_CACHE_DIR]
    #[arg(long, global = true, value_name = "DIR", help_heading = HEADING)]
    pub cache_dir: Option<PathBuf>,
    /// Folder of pipelines (DIR/ID/pipeline.yaml) that add to the built-in ones or replace them [env: PREP_PIPELINES]
    #[arg(long, global = true, value_name = "DIR", help_heading = HEADING)]
    pub pipelines: Option<PathBuf>,
    /// Steps that run side by side, and threads that one step may use [default: number of processors]
    #[arg(long, short = 'j', global = true, value_name = "N", value_parser = at_least_one, help_heading = HEADING)]
    pub jobs: Option<usize>,
    /// Memory that running steps may hold together, as 8GB or 4GiB [default: half of the machine's]
    #[arg(long, global = true, value_name = "SIZE", value_parser = units::parse_bytes, help_heading = HEADING)]
    pub memory: Option<u64>,
    /// Write results as JSON
    #[arg(long, global = true, help_heading = HEADING)]
    pub json: bool,
    /// Errors only on stderr; results still go to stdout
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = HEADING)]
    pub quiet: bool,
    /// Show more
    #[arg(long, short, global = true, help_heading = HEADING)]
    pub verbose: bool,
    /// When to use colours: auto (on terminals, unless NO_COLOR is set), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = HEADING
    )]
    pub color: Color,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On terminals.
    #[default]
    Auto,
    Always,
    Never,
}
