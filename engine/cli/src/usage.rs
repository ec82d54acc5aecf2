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

/// Verbs of other programs and of earlier versions, each with its replacement.
const REPLACED_VERBS: [(&str, &str); 27] = [
    ("check", "pipeline check"),
    ("clean", "cache gc"),
    ("definitions", "pipeline show --json"),
    ("delete", "remove"),
    ("download", "fetch"),
    ("experiments", "summarize"),
    ("fmt", "pipeline fmt"),
    ("gc", "cache gc"),
    ("grade-sample", "grade ID SUBMISSION.csv"),
    ("graph", "pipeline graph"),
    ("init", "pipeline new"),
    ("jobs", "remote jobs"),
    ("key", "remote key"),
    ("log", "cache log"),
    ("ls", "fetch --list"),
    ("medals", "grade ID --score SCORE"),
    ("new", "pipeline new"),
    ("pull", "remote pull"),
    ("push", "remote push"),
    ("rm", "remove"),
    ("rules", "fetch --check-rules"),
    ("schema", "pipeline schema"),
    ("score", "grade ID SUBMISSION.csv --answers FILE"),
    ("status", "list"),
    ("submissions", "grade RUNS_DIR --list"),
    ("timings", "run --timings"),
    ("version", "--version"),
];

/// Options of upstream's command, each with its replacement.
const REPLACED_OPTIONS: [(&str, &str); 5] = [
    ("--dev", "--set dev"),
    ("--keep-raw", "nothing: bundles are not extracted"),
    ("--list", "--ids-from FILE"),
    ("--output-dir", "--output DIR"),
    ("--submission", "the path without an option"),
];

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
            let known = REPLACED_VERBS.iter().find(|(other, _)| *other == verb);
            let names = match (known, error.remove(ContextKind::SuggestedSubcommand)) {
                (Some((_, replacement)), _) => vec![(*replacement).to_owned()],
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
            if let Some((_, replacement)) =
                REPLACED_OPTIONS.iter().find(|(other, _)| *other == found)
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

    /// `prepare` is the verb of upstream's command.
    #[test]
    fn prepare_is_an_alias_of_run() {
        let cli = Cli::try_parse_from(["prep", "prepare", "--lite"]).unwrap();
        assert!(matches!(cli.verb, crate::verbs::Verb::Run(_)));
    }
}
