//! What the command line says when it is misused: clap's messages, but no suggestion that is hidden or switches off a check,
//! and help for the verbs of other programs.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::args::Cli;

/// What others call a verb, and what it is here.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("clean", "cache gc"),
    ("download", "fetch"),
    ("init", "new"),
    ("status", "list"),
    ("summarize", "experiments"),
    ("timings", "run --timings"),
    ("version", "--version"),
];

/// The command line of this process. Prints help and usage errors itself, and ends with 0 or 2.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| mended(error).exit())
}

/// The error, with suggestions that can be followed.
fn mended(mut error: Error) -> Error {
    let text = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let verb = text(&error, ContextKind::InvalidSubcommand);
            let known = OTHER_NAMES.iter().find(|(other, _)| *other == verb);
            let names = match (known, error.remove(ContextKind::SuggestedSubcommand)) {
                (Some((_, own)), _) => vec![(*own).to_owned()],
                (None, Some(ContextValue::Strings(names))) => names,
                (None, Some(ContextValue::String(name))) => vec![name],
                _ => Vec::new(),
            };
            let command = Cli::command();
            let is_hidden = |name: &str| {
                let found = command.find_subcommand(name);
                found.is_some_and(clap::Command::is_hide_set)
            };
            let names: Vec<String> = names.into_iter().filter(|name| !is_hidden(name)).collect();
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
            if near.starts_with("--skip-") && !found.starts_with("--skip") {
                // Usage shows the suggested option, too.
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

    fn message(arguments: &[&str]) -> String {
        let all = std::iter::once(&"prep").chain(arguments);
        let error = Cli::try_parse_from(all).unwrap_err();
        mended(error).render().to_string()
    }

    #[test]
    fn suggestions_are_visible_and_safe() {
        for (arguments, suggested) in [
            (["init", "a"], Some("'new'")),
            (["status", "a"], Some("'list'")),
            (["clean", "a"], Some("'cache gc'")),
            (["valid", "a"], Some("'validate'")),
            (["definition", "a"], None),
            (["run", "--dev"], None),
            (["run", "--skip-verificatio"], Some("'--skip-verification'")),
            (["run", "--no-down"], Some("'--no-download'")),
        ] {
            let message = message(&arguments);
            match suggested {
                Some(suggested) => assert!(message.contains(suggested), "{message}"),
                None => assert!(
                    !message.contains("similar") && !message.contains("--skip"),
                    "{message}"
                ),
            }
        }
    }

    /// The verb of the benchmark's own command.
    #[test]
    fn prepare_is_run() {
        let cli = Cli::try_parse_from(["prep", "prepare", "--lite"]).unwrap();
        assert!(matches!(cli.verb, crate::verbs::Verb::Run(_)));
    }
}
