//! Messages about a wrong command line. They are clap's messages without hidden or unsafe suggestions. Verbs and
//! options of other programs and of earlier versions have their own suggestions.

use std::io::Write as _;

use clap::FromArgMatches;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use serde_json::json;

use crate::args::{Cli, command};
use crate::error::CliError;
use crate::exit::Exit;
use crate::remedy;

/// Returns the replacement of a verb or option in `replaced.txt`.
fn replacement(word: &str) -> Option<&'static str> {
    let mut lines = include_str!("replaced.txt").lines();
    lines.find_map(|line| line.strip_prefix(word)?.strip_prefix(" = "))
}

/// Parses the command line of this process. Prints help and usage errors.
///
/// # Errors
/// The exit code with which the process ends, if there is no verb to run: 0 after help, 2 after a usage error, and 6 if
/// the help cannot be written.
pub fn parse() -> Result<Cli, Exit> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let cli = matches.and_then(|matches| {
        remedy::set_verb(&command, &matches);
        Cli::from_arg_matches(&matches)
    });
    cli.map_err(|error| {
        let error = with_suggestions(error);
        if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
            let text = error.render().to_string();
            let message = text.lines().next().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            let error = CliError::usage(message);
            // Errors are ignored: the error is also printed on stderr, and the exit code shows it.
            let _ = writeln!(anstream::stdout(), "{:#}", json!({ "error": error.json() }));
        }
        // Like clap, an error on stderr that cannot be written is ignored, and so is a closed pipe.
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

/// Replaces the suggestions of an error with ones that the user can follow.
fn with_suggestions(mut error: Error) -> Error {
    let text = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let verb = text(&error, ContextKind::InvalidSubcommand);
            let suggested = error.remove(ContextKind::SuggestedSubcommand);
            let names = match (replacement(&verb), suggested) {
                (Some(replacement), _) => vec![replacement.to_owned()],
                (None, Some(ContextValue::Strings(names))) => names,
                (None, Some(ContextValue::String(name))) => vec![name],
                _ => Vec::new(),
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
            if let Some(replacement) = replacement(&found) {
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
    use clap::Parser;

    use super::*;

    fn message(arguments: &[&str]) -> String {
        let all = std::iter::once(&"prep").chain(arguments);
        let error = command().try_get_matches_from(all).unwrap_err();
        with_suggestions(error).render().to_string()
    }

    #[test]
    fn suggestions_are_visible_and_safe() {
        for (arguments, suggested) in [
            (["init", "a"], Some("'pipeline new'")),
            (["status", "a"], Some("'list'")),
            (["clean", "a"], Some("'cache gc'")),
            (["grade-sample", "a"], Some("'grade ID SUBMISSION.csv'")),
            (["valid", "a"], Some("'validate'")),
            (["run", "--dev"], Some("--set dev")),
            (["run", "--list"], Some("--ids-from")),
            (["grade", "--submission"], Some("without an option")),
            (["run", "--skip-verificatio"], Some("'--skip-verification'")),
            (["run", "--no-down"], Some("'--no-download'")),
            (["run", "--device"], None),
        ] {
            let message = message(&arguments);
            match suggested {
                Some(suggested) => assert!(message.contains(suggested), "{message}"),
                None => assert!(!message.contains("--skip"), "{message}"),
            }
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
