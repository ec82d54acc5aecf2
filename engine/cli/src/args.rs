//! Parses the command line: the common options and one verb.

use clap::{CommandFactory, Parser};

use crate::exit::exit_codes;
use crate::global::Global;
use crate::verbs::{GROUPS, Verb};

/// Prepare and grade the competitions of MLE-bench
#[derive(Debug, Parser)]
#[command(
    name = "prep",
    version,
    after_help = EXAMPLES,
    after_long_help = EXAMPLES_AND_CODES,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

/// The examples. This is a macro so that two constants can contain the text.
macro_rules! examples {
    () => {
        "Examples:
  prep demo                            prepare and grade sample data that the program contains
  prep doctor --lite                   check credentials, rules and disk
  prep plan --lite                     show what a run would do
  prep run --lite                      download and prepare the 22 competitions of low complexity
  prep run --lite --source ~/bundles   the same, with bundles that you have
  prep grade ID submission.csv         grade a submission

`prep VERB -h` shows the options of a verb, `prep VERB --help` also shows the common options."
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_CODES: &str = concat!(examples!(), "\n\n", exit_codes!());

/// Returns clap's definition of the command line, with the verbs in groups.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let template = template(&command);
    command.help_template(template)
}

/// Returns the help template of the program. It lists the verbs in groups, which clap does not support.
fn template(command: &clap::Command) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, verbs) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        for verb in *verbs {
            let verb = verb.to_lowercase();
            let about = command
                .find_subcommand(&verb)
                .and_then(|found| found.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {verb:<11}  {about}\n"));
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum length of a verb's summary, in characters.
    const MAX_ABOUT: usize = 60;
    /// Maximum length of an option's summary, in characters.
    const MAX_OPTION: usize = 80;
    /// Maximum length of a verb's `-h`, in lines.
    const MAX_HELP: usize = 60;

    /// Returns all verbs with their full names, for example `pipeline new`. Verbs with subcommands are included.
    fn verbs() -> Vec<(String, clap::Command)> {
        fn add_subcommands(
            path: &str,
            command: &clap::Command,
            found: &mut Vec<(String, clap::Command)>,
        ) {
            for verb in command.get_subcommands() {
                let path = format!("{path} {}", verb.get_name());
                found.push((path.clone(), verb.clone()));
                add_subcommands(&path, verb, found);
            }
        }
        let mut found = Vec::new();
        let mut command = command();
        command.build();
        add_subcommands("prep", &command, &mut found);
        found.retain(|(path, _)| !path.split(' ').any(|word| word == "help"));
        found
    }

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_is_in_a_group() {
        let grouped: Vec<String> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| verbs.iter().map(|verb| verb.to_lowercase()))
            .collect();
        let command = command();
        let names: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        assert_eq!(grouped, names);
    }

    #[test]
    fn help_is_short_and_has_examples() {
        for (path, mut verb) in verbs() {
            let about = verb.get_about().expect(&path).to_string();
            assert!(about.chars().count() <= MAX_ABOUT, "{path}: {about}");
            assert!(
                !about.contains(';') && !about.ends_with('.'),
                "{path}: {about}"
            );
            for option in verb.get_arguments() {
                let help = option
                    .get_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let name = option.get_id();
                assert!(!help.is_empty(), "{path} {name} has no help");
                assert!(help.chars().count() <= MAX_OPTION, "{path} {name}: {help}");
            }
            let help = verb.render_help().to_string();
            assert!(help.lines().count() <= MAX_HELP, "{path} -h:\n{help}");
            let has_verbs = verb.get_subcommands().next().is_some();
            assert!(has_verbs || help.contains("Examples:"), "{path}");
        }
    }
}
