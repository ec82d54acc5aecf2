//! Options of every verb, and parsers of option values for several modules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use prep_app::LinkMode;
use prep_core::units;

/// Heading of the options of [`Global`] in the help.
/// Each option states this heading. If the struct stated the heading, clap would also apply it to all later options.
const HEADING: &str = "Common options";

/// Options that every verb has.
#[derive(Debug, Default, Clone, Args)]
pub struct Global {
    /// Directory of prepared competitions [env: MLE_BENCH_DATA_DIR]
    ///
    /// The default is `mle-bench/data` in the user's cache directory.
    #[arg(long, global = true, value_name = "DIR", help_heading = HEADING, hide_short_help = true)]
    pub data_dir: Option<PathBuf>,
    /// Directory of the cache [env: PREP_CACHE_DIR]
    ///
    /// The default is `prep` in the user's cache directory.
    #[arg(long, global = true, value_name = "DIR", help_heading = HEADING, hide_short_help = true)]
    pub cache_dir: Option<PathBuf>,
    /// Directory of additional pipelines: DIR/ID/pipeline.yaml [env: PREP_PIPELINES]
    ///
    /// A pipeline with the id of a built-in one replaces it.
    #[arg(long, global = true, value_name = "DIR", help_heading = HEADING, hide_short_help = true)]
    pub pipelines: Option<PathBuf>,
    /// Number of steps that run at once [default: number of processors]
    ///
    /// It also limits the threads of one step.
    #[arg(long, short = 'j', global = true, value_name = "N", value_parser = at_least_one, help_heading = HEADING, hide_short_help = true)]
    pub jobs: Option<usize>,
    /// Memory for all running steps, such as 8GB or 4GiB [default: half of the RAM]
    #[arg(long, global = true, value_name = "SIZE", value_parser = positive_size, help_heading = HEADING, hide_short_help = true)]
    pub memory: Option<u64>,
    /// Print results as JSON
    #[arg(long, global = true, help_heading = HEADING, hide_short_help = true)]
    pub json: bool,
    /// Print results, errors and warnings only
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = HEADING, hide_short_help = true)]
    pub quiet: bool,
    /// Print more details
    #[arg(long, short, global = true, help_heading = HEADING, hide_short_help = true)]
    pub verbose: bool,
    /// Colours: auto (on terminals, unless NO_COLOR is set), always, never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true,
        hide_short_help = true,
        help_heading = HEADING
    )]
    pub color: Color,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected an integer of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

pub fn positive_size(text: &str) -> Result<u64, String> {
    match units::parse_bytes(text)? {
        0 => Err("expected a size above 0, such as 8GB".to_owned()),
        bytes => Ok(bytes),
    }
}

pub fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}

pub fn integer<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number: u64 = text
        .parse()
        .map_err(|_| "expected an integer of at least 0".to_owned())?;
    N::try_from(number).map_err(|_| "the number is too large".to_owned())
}

/// Returns the path of an existing file or directory whose name is similar to that of `path`.
pub fn similar_path(path: &Path) -> Option<String> {
    let names = file_names(path.parent()?);
    let name = path.file_name()?.to_str()?;
    let near = prep_spec::nearest(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// Returns the names of the files in a directory, or no names if the directory cannot be read. An empty path is the current
/// directory.
pub fn file_names(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    });
    let entries = entries.into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect()
}

/// Returns a parser that converts names to values, and completes the names in shells.
pub fn named<T, const N: usize>(values: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = values.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names).try_map(move |text| {
        let mut values = values.iter();
        let found = values.find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or("unknown name")
    })
}

/// Returns a parser for how published files share bytes with the cache.
pub fn link_mode() -> impl TypedValueParser<Value = LinkMode> {
    named(LinkMode::ALL.map(|mode| (mode.name(), mode)))
}

pub fn switch() -> impl TypedValueParser<Value = bool> {
    named([("yes", true), ("no", false)])
}

pub fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" | "true" | "1" => Ok(true),
        "no" | "false" | "0" => Ok(false),
        _ => Err("expected yes or no".to_owned()),
    }
}
