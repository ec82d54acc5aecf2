//! The command line as a whole: what is common to all verbs.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use prep_core::units;

use crate::verbs;

/// Prepares and grades the competitions of MLE-bench.
#[derive(Debug, Parser)]
#[command(
    name = "prep",
    version,
    after_long_help = EXAMPLES,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = concat!(
    "Examples:\n",
    "  prep demo                               see it work, with data that the program carries\n",
    "  prep list --set lite                    what there is, and what of it is prepared\n",
    "  prep plan --lite                        what a run would do\n",
    "  prep rules --lite                       which rules are still to be accepted on Kaggle\n",
    "  prep run --lite                         prepare the low-complexity set; downloads bundles\n",
    "  prep run --lite --source ~/bundles      the same, with bundles that are there already\n",
    "  prep grade-sample submission.csv ID     grade one submission\n\n",
    crate::exit_codes!()
);

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

#[derive(Debug, Subcommand)]
pub enum Verb {
    Demo(verbs::demo::Demo),
    // The verb of the benchmark's own command.
    #[command(alias = "prepare")]
    Run(verbs::run::RunArgs),
    Plan(verbs::plan::PlanArgs),
    Why(verbs::why::Why),
    Audit(verbs::audit::AuditArgs),
    List(verbs::list::List),
    Rules(verbs::rules::Rules),
    Fetch(verbs::fetch::Fetch),
    Ls(verbs::ls::Ls),
    Graph(verbs::graph::GraphArgs),
    Grade(verbs::grade::GradeArgs),
    GradeSample(verbs::grade_sample::GradeSample),
    Validate(verbs::validate::Validate),
    Score(verbs::score::Score),
    Medals(verbs::medals::Medals),
    Diff(verbs::diff::Diff),
    Digest(verbs::digest::DigestArgs),
    Leaks(verbs::leaks::Leaks),
    Export(verbs::export::ExportArgs),
    Serve(verbs::serve::Serve),
    Definitions(verbs::definitions::Definitions),
    Experiments(verbs::experiments::ExperimentsArgs),
    New(verbs::new::New),
    Check(verbs::check::Check),
    Report(verbs::report::ReportArgs),
    Submissions(verbs::submissions::Submissions),
    Push(verbs::push::Push),
    Pull(verbs::pull::Pull),
    Jobs(verbs::jobs::Jobs),
    Key(verbs::key::Key),
    Config(verbs::config::ConfigArgs),
    Cache(verbs::cache::Cache),
    Schema(verbs::schema::Schema),
    Completions(verbs::completions::Completions),
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_shows_an_example() {
        use clap::CommandFactory;
        for verb in Cli::command().get_subcommands_mut() {
            let help = verb.render_long_help().to_string();
            let own = help.contains("Examples:") || verb.get_subcommands().next().is_some();
            assert!(own, "{}", verb.get_name());
        }
    }
}
