//! States in which forms of a verb each option applies, and rejects options that would have no effect.
//!
//! Some verbs have several forms. For example, `prep grade` grades a submission, a list or directories of runs. An option
//! without an effect is an error, because the user expects the effect.

use crate::error::CliError;
use crate::remedy;

pub const SUBMISSION: &str = "a single submission";
pub const PREPARED_ANSWERS: &str = "a single submission without --answers";
pub const LIST: &str = "a list of submissions";
pub const RUNS: &str = "directories of runs";
pub const GRADED_RUNS: &str = "directories of runs without --list";
pub const THRESHOLDS: &str = "an ID without a submission";
pub const REPORTS: &str = "reports as operands";
pub const GROUPS: &str = "--groups";
pub const TEXT: &str = "--format text";
pub const CSV: &str = "--format csv";
pub const MARKDOWN: &str = "--format markdown";
pub const JSON: &str = "--json";

/// The option applies in every form.
const ALWAYS: &str = "every form";

/// Returns the options of a verb in `forms.txt`, each with its forms. Returns nothing for a verb without forms.
fn statements(verb: &str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let lines = include_str!("forms.txt").lines();
    lines.filter_map(move |line| {
        let line = line.strip_prefix(verb)?.strip_prefix(" --")?;
        let (option, forms) = line.split_once(" = ")?;
        Some((option, forms.split(" | ").collect()))
    })
}

/// Returns an error if the command line has an option that does not apply in the forms `active`.
pub fn check(verb: &str, active: &[&str]) -> Result<(), CliError> {
    check_given(verb, active, remedy::is_given)
}

/// Same as [`check`]. `is_given` returns whether an option is on the command line.
fn check_given(
    verb: &str,
    active: &[&str],
    is_given: impl Fn(&str) -> bool,
) -> Result<(), CliError> {
    let applies = |forms: &[&str]| {
        forms
            .iter()
            .any(|form| active.contains(form) || *form == ALWAYS)
    };
    let mut statements = statements(verb);
    let wrong = statements.find(|(option, forms)| is_given(option) && !applies(forms));
    let Some((option, mut forms)) = wrong else {
        return Ok(());
    };
    let last = forms.pop().unwrap_or_default();
    let needed = match forms.is_empty() {
        true => last.to_owned(),
        false => format!("{} or {last}", forms.join(", ")),
    };
    let error = CliError::usage(format!("`--{option}` needs {needed}"));
    Err(error.help(format!("`prep {verb} -h` shows the forms of the command")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const VERBS: [&str; 3] = ["grade", "validate", "summarize"];
    const FORMS: [&str; 13] = [
        ALWAYS,
        SUBMISSION,
        PREPARED_ANSWERS,
        LIST,
        RUNS,
        GRADED_RUNS,
        THRESHOLDS,
        REPORTS,
        GROUPS,
        TEXT,
        CSV,
        MARKDOWN,
        JSON,
    ];

    #[test]
    fn every_option_states_its_forms() {
        let command = crate::args::command();
        for verb in VERBS {
            let found = command.find_subcommand(verb).expect(verb);
            let own = found
                .get_arguments()
                .filter(|option| !option.is_global_set());
            let own: BTreeSet<&str> = own.filter_map(clap::Arg::get_long).collect();
            let stated: BTreeSet<&str> = statements(verb).map(|(option, _)| option).collect();
            assert_eq!(own, stated, "{verb}");
        }
        let lines = include_str!("forms.txt").lines();
        let stated = lines.filter(|line| line.contains(" --")).count();
        assert_eq!(
            VERBS
                .map(|verb| statements(verb).count())
                .iter()
                .sum::<usize>(),
            stated
        );
    }

    #[test]
    fn options_apply_only_in_the_stated_forms() {
        for verb in VERBS {
            for (option, stated) in statements(verb) {
                assert!(stated.iter().all(|form| FORMS.contains(form)), "{option}");
                for form in FORMS.iter().skip(1) {
                    let found = check_given(verb, &[form], |name| name == option);
                    let applies = stated.contains(&ALWAYS) || stated.contains(form);
                    assert_eq!(found.is_ok(), applies, "{verb} --{option}: {form}");
                }
            }
        }
        let error = check_given("grade", &[LIST], |name| name == "answers").unwrap_err();
        assert_eq!(error.message, "`--answers` needs a single submission");
    }
}
