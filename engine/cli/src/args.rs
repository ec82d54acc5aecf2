//! Parses the command line: the common options and one verb. The crate `clap` creates messages about a wrong command
//! line. This module removes clap's suggestions of options that skip checks. If the user writes a verb or option of
//! another program or of an earlier version, this module suggests the replacement from `replaced.txt`.

use std::ffi::OsString;
use std::io::Write as _;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};
use prep_spec::nearest;
use serde_json::json;

use crate::error::{CliError, Exit, exit_codes};
use crate::global::Global;
use crate::remedy;
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

/// The examples in the help of `prep`. This is a macro so that two constants can contain the text.
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
    // `GROUPS` lists the verbs in the order of the subcommands.
    let mut commands = command.get_subcommands();
    for (heading, verbs) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        for verb in commands.by_ref().take(verbs.len()) {
            let about = verb.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            text.push_str(&format!("  {:<13}  {about}\n", verb.get_name()));
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

/// Returns the replacement that `replaced.txt` lists for a verb or option.
fn replacement(word: &str) -> Option<&'static str> {
    let mut lines = include_str!("replaced.txt").lines();
    lines.find_map(|line| line.strip_prefix(word)?.strip_prefix(" = "))
}

/// Parses the command line of this process. Prints help and usage errors.
///
/// # Errors
/// If there is no verb to run, returns the exit code of the process: 0 after help, 2 after a usage error, and 6 if the
/// help cannot be written.
pub fn parse() -> Result<Cli, Exit> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let cli = matches.and_then(|matches| {
        remedy::set_verb(&command, &matches);
        Cli::from_arg_matches(&matches)
    });
    cli.map_err(|error| {
        let error = with_suggestions(error, &command, std::env::args_os().skip(1));
        if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
            let text = error.render().to_string();
            let mut lines = text.lines();
            let message = lines.next().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            // The help consists of clap's lines with the possible values and with similar names.
            let is_help =
                |line: &&str| line.starts_with("[possible values") || line.starts_with("tip: ");
            let help = lines.map(str::trim).filter(is_help);
            let help: Vec<&str> = help.map(|line| line.trim_matches(['[', ']'])).collect();
            let error = CliError {
                help: (!help.is_empty()).then(|| help.join("; ").replace("tip: ", "")),
                ..CliError::usage(message)
            };
            // A failed write is ignored, because stderr also shows `error`, and the exit code states that the usage is
            // wrong.
            let _ = writeln!(anstream::stdout(), "{:#}", json!({ "error": error.json() }));
        }
        // As in clap, two errors are ignored: stderr cannot be written, or stdout is a closed pipe.
        let printed = error.print().and_then(|()| std::io::stdout().flush());
        match printed {
            _ if error.use_stderr() => Exit::Usage,
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                let _ = writeln!(anstream::stderr(), "error: cannot write to stdout: {error}");
                Exit::Machine
            }
            _ => Exit::Success,
        }
    })
}

/// Replaces the suggestions of an error with ones that the user can follow. `words` are the words of the command line.
fn with_suggestions(
    mut error: Error,
    mut command: &clap::Command,
    words: impl Iterator<Item = OsString>,
) -> Error {
    for word in words {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let text = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let verb = text(&error, ContextKind::InvalidSubcommand);
            let suggested = error.remove(ContextKind::SuggestedSubcommand);
            let verbs = command.get_subcommands().map(clap::Command::get_name);
            let names = match (replacement(&verb), suggested) {
                (Some(replacement), _) => vec![replacement.to_owned()],
                (None, Some(ContextValue::Strings(names))) => names,
                (None, Some(ContextValue::String(name))) => vec![name],
                _ => nearest(&verb, verbs)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            };
            if !names.is_empty() {
                error.insert(
                    ContextKind::SuggestedSubcommand,
                    ContextValue::Strings(names),
                );
            }
        }
        ErrorKind::UnknownArgument => {
            let found = text(&error, ContextKind::InvalidArg);
            let near = text(&error, ContextKind::SuggestedArg);
            // clap suggests to pass the option as an operand, but operands are ids and paths.
            error.remove(ContextKind::Suggested);
            // If the verb has the option `--submissions`, clap suggests it for `--submission`. This suggestion stays.
            if let Some(replacement) =
                replacement(&found).filter(|_| near.strip_prefix(&found) != Some("s"))
            {
                error.remove(ContextKind::SuggestedArg);
                let tip = StyledStr::from(format!("write {replacement}"));
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
            } else if near.starts_with("--skip-") && !found.starts_with("--skip") {
                // The usage is removed too, because it contains the suggested option.
                error.remove(ContextKind::SuggestedArg);
                error.remove(ContextKind::Usage);
            }
        }
        _ => {}
    }
    error
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
        let names = command.get_subcommands();
        let names: Vec<String> = names.map(|verb| verb.get_name().replace('-', "")).collect();
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

#[cfg(test)]
mod usage_tests {
    use clap::Parser;

    use super::*;

    fn message(arguments: &[&str]) -> String {
        let all = std::iter::once(&"prep").chain(arguments);
        let mut command = command();
        let error = command.try_get_matches_from_mut(all).unwrap_err();
        let words = arguments.iter().map(OsString::from);
        with_suggestions(error, &command, words)
            .render()
            .to_string()
    }

    /// An option that skips checks is suggested only for an option that begins with `--skip`.
    #[test]
    fn suggestions_are_visible_and_safe() {
        for (arguments, suggested) in [
            (["init", "a"], Some("'pipeline new'")),
            (["status", "a"], Some("'list'")),
            (["ls", "a"], Some("'list'")),
            (["clean", "a"], Some("'cache gc'")),
            (["grade-sample", "a"], Some("'grade ID SUBMISSION.csv'")),
            (["valid", "a"], Some("'validate'")),
            (["run", "--dev"], Some("--set dev")),
            (["run", "--list"], Some("--ids-from")),
            (["grade", "--submission"], Some("without an option")),
            (["mcp", "--submission"], Some("'--submissions'")),
            (["run", "--skip-verificatio"], Some("'--skip-verification'")),
            (["run", "--no-down"], Some("'--no-download'")),
            (["run", "--device"], None),
            (["rnu", "a"], Some("'run'")),
            (["cache", "lgo"], Some("'log'")),
            (["verify", "a"], Some("'audit ID'")),
            (["version", "a"], Some("'--version'")),
            (["grade", "--score=high"], Some("expected a number")),
            (["serve", "--port=70000"], Some("the number is too large")),
        ] {
            let message = message(&arguments);
            match suggested {
                Some(suggested) => assert!(message.contains(suggested), "{message}"),
                None => assert!(!message.contains("--skip"), "{message}"),
            }
            assert!(!message.contains("as a value"), "{message}");
        }
    }

    #[test]
    fn replaced_words_occur_once() {
        let lines = include_str!("replaced.txt").lines();
        let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut words = std::collections::BTreeSet::new();
        for entry in entries {
            let (word, ours) = entry.split_once(" = ").expect(entry);
            assert!(words.insert(word), "{word} occurs twice");
            assert_eq!(replacement(word), Some(ours));
        }
        assert_eq!(replacement("run"), None);
    }

    /// `prepare` is the verb of upstream's command.
    #[test]
    fn prepare_is_an_alias_of_run() {
        let cli = Cli::try_parse_from(["prep", "prepare", "--lite"]).unwrap();
        assert!(matches!(cli.verb, crate::verbs::Verb::Run(_)));
    }
}
