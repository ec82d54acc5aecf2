//! The command line: the global options and a verb.

use clap::Parser;

use crate::global::Global;
use crate::verbs::Verb;

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
