//! Expresses the libraries' suggested actions ([`Remedy`]) as verbs and options, which only the command line knows.
//! A suggestion names only options that the verb has and that the user has not given.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::OnceLock;

use clap::parser::{RawValues, ValueSource};
use clap::{ArgMatches, Command};
use prep_app::Remedy;

/// The options of this process's verb. Empty in tests.
static VERB: OnceLock<VerbOptions> = OnceLock::new();

/// The long names of all options of a verb, and the long names of the options on the command line.
#[derive(Debug, Default)]
struct VerbOptions {
    all: HashSet<String>,
    given: HashSet<String>,
    /// The given options that decide which data the verb reads, as the user wrote them.
    data: Vec<String>,
    /// The given [`PREPARATION_OPTIONS`], as arguments of `prep run`.
    preparation: Vec<String>,
}

/// Options that decide which data a verb reads. The verbs that suggestions name, such as `audit`, have these options, too.
const DATA_OPTIONS: [&str; 5] = ["source", "variant", "data-dir", "cache-dir", "pipelines"];

/// Options that `prep run` also has, and without which it may fail although this verb needs the same data.
const PREPARATION_OPTIONS: [&str; 3] = ["skip-verification", "skip-bundle-verification", "remote"];

impl VerbOptions {
    /// Collects the options of the verb on the command line.
    fn new(command: &Command, matches: &ArgMatches) -> VerbOptions {
        let common = command.get_arguments();
        let (mut command, mut matches) = (command, matches);
        while let Some((name, inner)) = matches.subcommand()
            && let Some(verb) = command.find_subcommand(name)
        {
            (command, matches) = (verb, inner);
        }
        let mut options = VerbOptions::default();
        for option in command.get_arguments() {
            let Some(name) = option.get_long() else {
                continue;
            };
            options.all.insert(name.to_owned());
            let id = option.get_id().as_str();
            let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
            let is_no = |mut values: RawValues| values.any(|value| value == "no");
            // An option with the value `no` can still be suggested, because the user can turn it on.
            if is_given && !matches.get_raw(id).is_some_and(is_no) {
                options.given.insert(name.to_owned());
            }
        }
        // clap also adds the values of common options to the matches of the verb.
        let own = command.get_arguments().filter(|own| !own.is_global_set());
        for option in own.chain(common.filter(|common| common.is_global_set())) {
            let (Some(name), id) = (option.get_long(), option.get_id().as_str()) else {
                continue;
            };
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let values = matches.get_raw(id).into_iter().flatten().map(in_shell);
            if DATA_OPTIONS.contains(&name) {
                let values = values.map(|value| format!(" --{name} {value}"));
                options.data.extend(values);
            } else if PREPARATION_OPTIONS.contains(&name) {
                // An address may contain a password.
                let values = values.filter(|value| !value.contains('@'));
                let values = values.map(|value| match &*value {
                    "yes" | "true" => format!(" --{name}"),
                    value => format!(" --{name}={value}"),
                });
                options.preparation.extend(values);
            }
        }
        options
    }

    fn has(&self, option: &str) -> bool {
        self.all.contains(option)
    }

    fn is_given(&self, option: &str) -> bool {
        self.given.contains(option)
    }

    /// Returns `text` if the verb has the option and the user has not given the option.
    fn if_new(&self, option: &str, text: &str) -> Option<String> {
        (self.has(option) && !self.is_given(option)).then(|| text.to_owned())
    }
}

impl VerbOptions {
    /// Returns the command that prepares a competition with the options of the verb.
    fn run(&self, id: &str) -> String {
        let options = [self.data.concat(), self.preparation.concat()].concat();
        format!("prep run {id}{options}")
    }
}

/// Sets the verb of this process. Suggestions name only its options.
pub fn set_verb(command: &Command, matches: &ArgMatches) {
    // Does not fail, because nothing else sets the value.
    let _ = VERB.set(VerbOptions::new(command, matches));
}

/// Returns whether the command line has the option of this verb.
pub fn is_given(option: &str) -> bool {
    VERB.get_or_init(VerbOptions::default).is_given(option)
}

/// Returns the help of an error: one action, or alternatives. Returns `None` if this verb allows no action.
pub fn words(remedy: &Remedy) -> Option<String> {
    words_in(remedy, VERB.get_or_init(VerbOptions::default))
}

/// Returns the command `prep VERB ID` with the options that decide which data this process reads.
pub fn command(verb: &str, id: &str) -> String {
    let data = VERB.get_or_init(VerbOptions::default).data.iter();
    // Bundles do not depend on the variant.
    let data =
        data.filter(|option| verb != "fetch" || !option.trim_start().starts_with("--variant"));
    format!(
        "prep {verb} {id}{}",
        data.map(String::as_str).collect::<String>()
    )
}

fn words_in(remedy: &Remedy, verb: &VerbOptions) -> Option<String> {
    Some(match remedy {
        Remedy::Words(words) => words.clone(),
        Remedy::NameSource if verb.is_given("source") => {
            let given = verb.data.iter().filter_map(|option| option.strip_prefix(" --source "));
            let directories = given.collect::<Vec<_>>().join(" or ");
            format!("put bundles and other source files into {directories}")
        }
        Remedy::NameSource => verb.if_new(
            "source",
            "name the directory of bundles and other source files with --source",
        )?,
        Remedy::UseCachedResults => verb.if_new(
            "from-cache",
            "--from-cache uses the results in the cache, and shows the bundle from which they were computed",
        )?,
        Remedy::ForgetOptions => verb.if_new(
            "forget-options",
            "--forget-options ignores the options of the last run",
        )?,
        Remedy::AllowDownloads => allow_downloads(verb)?,
        Remedy::AcceptBundle => verb.if_new(
            "skip-bundle-verification",
            "--skip-bundle-verification accepts the bundle; outputs are still compared with their published checksums",
        )?,
        Remedy::AcceptOutputs => verb.if_new(
            "skip-verification",
            "--skip-verification accepts the outputs",
        )?,
        Remedy::ExplainDifference { id } => {
            let options = verb.data.concat();
            format!("`prep audit {id}{options}` explains the difference")
        }
        Remedy::RaiseMemory => "raise --memory".to_owned(),
        Remedy::KeepArchives => match verb.is_given("expand-archives") {
            true => "run without --expand-archives".to_owned(),
            false => verb.if_new("expand-archives", "run with --expand-archives=no")?,
        },
        Remedy::RepairCache => "run `prep cache verify --repair`".to_owned(),
        Remedy::ListMembers { id } => format!("`prep fetch --list {id}` lists the members of the bundle"),
        Remedy::PrepareAvailable => verb.if_new(
            "available",
            "--available prepares the competitions whose bundles you have",
        )?,
        Remedy::NameDataDir => "name a directory on another disk with --data-dir".to_owned(),
        Remedy::DiscardBundles if !verb.has("discard-bundle") => {
            "`prep run --discard-bundle` deletes each bundle after its competition is prepared"
                .to_owned()
        }
        Remedy::DiscardBundles => verb.if_new(
            "discard-bundle",
            "--discard-bundle deletes each bundle after its competition is prepared",
        )?,
        Remedy::Prepare { id } => format!("run `{}`", verb.run(id)),
        Remedy::PrepareAgain { id } => format!(
            "run `{}` with the options of the last run, such as --source; the record of them is lost",
            verb.run(id)
        ),
        Remedy::ListCompetitions => format!(
            "`prep list` shows all competitions{}",
            verb.if_new("pipelines", "; name the directory of your own pipelines with --pipelines DIR")
                .unwrap_or_default()
        ),
        Remedy::NameSet { name } => match verb.has("set") {
            true => format!("`{name}` is a set; select it with --set={name}"),
            false => format!("`{name}` is a set; `prep list --set={name}` lists its competitions"),
        },
        Remedy::AddPack => {
            "`prep pack add SOURCE` installs a pack; `prep list` shows all competitions".to_owned()
        }
        Remedy::ReplacePack => verb.if_new(
            "replace",
            "--replace installs the pack in place of the installed one",
        )?,
        Remedy::NamePipelines { parent: None } => {
            "use --pipelines to name a directory that contains ID/pipeline.yaml".to_owned()
        }
        Remedy::NamePipelines {
            parent: Some(parent),
        } => format!("name the parent directory with --pipelines {parent}"),
        Remedy::NameRemote => {
            "name a remote with --remote URL, or with `url` in `[remote]` of prep.toml".to_owned()
        }
        Remedy::PrepareAndSend { id } => format!(
            "prepare the competition with `{}`, which sends the bundle and the results if all steps succeed",
            verb.run(id)
        ),
        Remedy::CreateKey { name: Some(name) } => {
            format!("run `prep remote key new {name}` to create the key")
        }
        Remedy::CreateKey { name: None } => {
            "create a new key with `prep remote key new NAME`".to_owned()
        }
        Remedy::ChooseKey => {
            "run `prep remote key new NAME` to create a key, or select one of several keys with `[remote] key` in prep.toml"
                .to_owned()
        }
        Remedy::RepairRemote => {
            "`prep remote push --replace` on a machine that has the results repairs the remote".to_owned()
        }
        Remedy::SendBundle => {
            "set `mirror = true` in `[remote]` of prep.toml on a machine that has the bundle, and run `prep remote push` there"
                .to_owned()
        }
        Remedy::NameIdentity => "name the secret key of a grader with --identity FILE".to_owned(),
        Remedy::Unseal { id } => match verb.has("unseal") {
            true => "--unseal writes the plain answers again".to_owned(),
            false => format!("`{} --unseal` writes the plain answers again", verb.run(id)),
        },
        Remedy::ListKeys => "`prep remote key list` prints public keys".to_owned(),
        Remedy::TrustKey { key: None } => {
            "`[remote] trusted` in prep.toml lists the trusted keys".to_owned()
        }
        Remedy::TrustKey { key: Some(key) } => format!(
            "if you trust the owner of this key, add it to `[remote]` in ~/.config/prep/prep.toml: trusted = [\"{key}\"]"
        ),
        Remedy::NameSameRemote => {
            "if both addresses name the same remote, add the other address to `[remote] same_as` in prep.toml".to_owned()
        }
        Remedy::SendLater => "`prep remote push` sends the results later".to_owned(),
        Remedy::SendAgain => {
            "to write a new record, run `prep remote push` on a machine that has the results".to_owned()
        }
        Remedy::NameAnswers { path } => verb.if_new(
            "answers",
            &format!("--answers {} uses the answers without verifying them", in_shell(path.as_ref())),
        )?,
        Remedy::Unlock => "run without --locked".to_owned(),
        Remedy::MoveOrRemoveUnpublished => match verb.has("remove-unpublished") {
            true => "move the files elsewhere, or run with --remove-unpublished, which deletes them",
            false => "move the files elsewhere",
        }
        .to_owned(),
        Remedy::UseOneFileSystem => "put --cache-dir and --data-dir on one file system".to_owned(),
        Remedy::AnyOf(all) => {
            let all: Vec<String> = all.iter().filter_map(|one| words_in(one, verb)).collect();
            match all.is_empty() {
                true => return None,
                false => all.join("; or "),
            }
        }
        Remedy::InOrder(all) => {
            let all: Vec<String> = all.iter().filter_map(|one| words_in(one, verb)).collect();
            all.join(", then ")
        }
    })
}

/// Quotes a value that contains characters which a shell interprets.
fn in_shell(value: &OsStr) -> String {
    let value = value.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:,@%+=~".contains(&byte);
    match !value.is_empty() && value.bytes().all(is_plain) {
        true => value.into_owned(),
        false => format!("'{}'", value.replace('\'', r"'\''")),
    }
}

/// Suggests to run the command without the options that forbid downloads. Returns `None` if no such option is given.
/// A verb without these options never downloads, so the suggestion is another verb.
fn allow_downloads(verb: &VerbOptions) -> Option<String> {
    let options = ["no-download", "available"];
    if !options.iter().any(|option| verb.has(option)) {
        return Some("`prep fetch` downloads bundles".to_owned());
    }
    let given = options.iter().filter(|option| verb.is_given(option));
    let given: Vec<String> = given.map(|option| format!("--{option}")).collect();
    (!given.is_empty()).then(|| format!("run without {}", given.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words that suggest `remedy` to a user who entered the command line `line`.
    fn after(line: &[&str], remedy: &Remedy) -> Option<String> {
        let mut command = crate::args::command();
        let all = std::iter::once(&"prep").chain(line);
        // clap also adds the common options to each verb here.
        let matches = command.try_get_matches_from_mut(all).unwrap();
        words_in(remedy, &VerbOptions::new(&command, &matches))
    }

    /// Without these options, the audit would not find the data of the failed run.
    #[test]
    fn advised_audit_reads_the_data_of_this_command() {
        let explain = Remedy::ExplainDifference { id: "x".into() };
        for (line, options) in [
            (&["run", "x", "--no-download"][..], ""),
            (&["run", "x", "--source", "../b"], " --source ../b"),
            (
                &["--data-dir", "my data", "run", "x", "--variant=fixed"],
                " --variant fixed --data-dir 'my data'",
            ),
        ] {
            let words = after(line, &explain).unwrap();
            assert_eq!(
                words,
                format!("`prep audit x{options}` explains the difference")
            );
        }
    }

    #[test]
    fn advised_run_prepares_the_data_of_this_command() {
        let prepare = Remedy::Prepare { id: "x".into() };
        for (line, options) in [
            (&["grade", "x", "a.csv"][..], ""),
            (
                &[
                    "--data-dir",
                    "d",
                    "export",
                    "x",
                    "-o",
                    "y",
                    "--variant=fixed",
                ],
                " --variant fixed --data-dir d",
            ),
            (
                &["grade", "x", "a.csv", "--data-dir=my 'data'"],
                r" --data-dir 'my '\''data'\'''",
            ),
            (
                &[
                    "remote",
                    "pull",
                    "x",
                    "--skip-verification",
                    "--remote",
                    "file:///r",
                    "--data-dir=d",
                ],
                " --data-dir d --skip-verification --remote=file:///r",
            ),
            (
                &[
                    "run",
                    "x",
                    "--skip-bundle-verification=no",
                    "--remote=https://a:b@c",
                ],
                " --skip-bundle-verification=no",
            ),
        ] {
            let words = after(line, &prepare).unwrap();
            assert_eq!(words, format!("run `prep run x{options}`"));
        }
    }

    #[test]
    fn advice_names_only_options_that_the_verb_has_and_that_are_new() {
        let missing = Remedy::AllowDownloads
            .or(Remedy::NameSource)
            .or(Remedy::UseCachedResults)
            .or(Remedy::PrepareAvailable);
        for (line, expected, unexpected) in [
            (
                &["run", "x", "--no-download"][..],
                &[
                    "without --no-download",
                    "--source",
                    "--from-cache",
                    "--available",
                ][..],
                &["without --available"][..],
            ),
            (
                &["run", "x", "--available", "--source", "s"],
                &["without --available", "--from-cache", "files into s"],
                &["--no-download", "--source", "--available prepares"],
            ),
            (
                &["run", "x", "--from-cache"],
                &["--source", "--available"],
                &["without", "--from-cache"],
            ),
            (
                &["remote", "pull", "x"],
                &["`prep fetch`", "--source", "--from-cache"],
                &["--no-download", "--available"],
            ),
            (
                &["fetch", "x"],
                &["--source"],
                &["--no-download", "--available", "--from-cache"],
            ),
        ] {
            let words = after(line, &missing).unwrap_or_default();
            for part in expected {
                assert!(words.contains(part), "{line:?} {part}: {words}");
            }
            for part in unexpected {
                assert!(!words.contains(part), "{line:?} {part}: {words}");
            }
        }
        let accept = Remedy::AcceptBundle.or(Remedy::AcceptOutputs);
        for (line, expected) in [
            (&["run", "x"][..], [true, true]),
            (&["run", "x", "--skip-bundle-verification"], [false, true]),
            (&["run", "x", "--skip-verification=no"], [true, true]),
            (&["fetch", "x"], [true, false]),
        ] {
            let words = after(line, &accept).unwrap_or_default();
            let found = ["--skip-bundle-verification", "--skip-verification"];
            assert_eq!(
                found.map(|option| words.contains(option)),
                expected,
                "{words}"
            );
        }
        let line = [
            "run",
            "x",
            "--skip-bundle-verification",
            "--skip-verification",
        ];
        assert_eq!(after(&line, &accept), None);
    }
}
