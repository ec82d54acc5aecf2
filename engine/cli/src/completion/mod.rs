//! Values that shells complete: competitions, sets, variants, tables and the remote.
//!
//! For each completion, the shell's script runs this program with the environment variable `COMPLETE`.
//! The values come from the catalog, data directory and settings that a command would use.

use std::ffi::{OsStr, OsString};
use std::io::{Error, Write};
use std::path::Path;

use clap::{Arg, FromArgMatches as _, ValueHint};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
    complete,
};
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Powershell, Shells};
use prep_app::installed_packs;
use prep_spec::BASE_VARIANT;

use crate::args;
use crate::error::CliError;
use crate::global::Global;
use crate::options::{PreparationArgs, VariantArg};
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::session::CliSession;
use crate::settings::Environment;

/// The name of the program. A shell sets `VARIABLE` to request completions.
const PROGRAM: &str = "prep";
const VARIABLE: &str = "COMPLETE";

const BASH: Script = Script("bash", include_str!("prep.bash"));
const ZSH: Script = Script("zsh", include_str!("prep.zsh"));
const FISH: Script = Script("fish", include_str!("prep.fish"));
const SHELLS: Shells<'static> = Shells(&[&BASH, &ZSH, &FISH, &Elvish, &Powershell]);

/// The name and the script of a shell that completes paths itself. The shell expands variables and `~` in a path, and
/// quotes special characters, which the scripts of `clap_complete` do not.
struct Script(&'static str, &'static str);

impl EnvCompleter for Script {
    fn name(&self) -> &'static str {
        self.0
    }

    fn is(&self, name: &str) -> bool {
        self.0 == name
    }

    fn write_registration(
        &self,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        out.write_all(self.1.as_bytes())
    }

    /// Prints a line for each candidate: `value`, the value and its description. If the shell has to complete paths, a line
    /// contains the kind of the paths, and the text before the path, such as `--source=`. The columns are separated by tabs.
    /// The last of the words is the word to complete.
    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        directory: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let index = words.len() - 1;
        let is_empty = words[index].is_empty();
        let mut candidates = complete(command, words, index, directory)?;
        // A list of all options would hide the values.
        let is_option = |candidate: &CompletionCandidate| {
            candidate.get_value().as_encoded_bytes().starts_with(b"-")
        };
        if is_empty && !candidates.iter().all(is_option) {
            candidates.retain(|candidate| !is_option(candidate));
        }
        for candidate in candidates {
            let kind = candidate.get_id().filter(|id| is_path_kind(id));
            let kind = kind.map_or("value", String::as_str);
            let about = candidate.get_help().map(ToString::to_string);
            let about = about.unwrap_or_default();
            let about = about.lines().next().unwrap_or_default();
            let value = candidate.get_value().to_string_lossy();
            writeln!(out, "{kind}\t{value}\t{about}")?;
        }
        Ok(())
    }
}

/// The paths that complete an argument.
#[derive(Debug, Clone, Copy)]
struct Paths {
    /// Whether the shell completes the paths. Otherwise `prep` searches for them.
    by_shell: bool,
}

/// Kinds of paths. If the shell completes the paths, the kind is the id of the candidate.
const FILE: &str = "file";
const DIRECTORY: &str = "directory";

fn is_path_kind(id: &str) -> bool {
    [FILE, DIRECTORY].contains(&id)
}

impl Paths {
    fn find(self, kind: &str, begin: &OsStr) -> Vec<CompletionCandidate> {
        match (self.by_shell, kind) {
            (true, _) => vec![CompletionCandidate::new("").id(Some(kind.to_owned()))],
            (false, DIRECTORY) => PathCompleter::dir().complete(begin),
            (false, _) => PathCompleter::any().complete(begin),
        }
    }

    /// Finds paths for `NAME=PATH` and `PATH`.
    fn named(self, begin: &OsStr) -> Vec<CompletionCandidate> {
        let Some((name, path)) = begin.to_str().and_then(|text| text.split_once('=')) else {
            return self.find(FILE, begin);
        };
        let paths = self.find(FILE, OsStr::new(path)).into_iter();
        paths
            .map(|path| path.add_prefix(format!("{name}=")))
            .collect()
    }

    /// Adds paths to the values that start with `begin`.
    fn and(self, mut values: Vec<CompletionCandidate>, begin: &OsStr) -> Vec<CompletionCandidate> {
        let begins = |value: &CompletionCandidate| {
            let value = value.get_value().as_encoded_bytes();
            value.starts_with(begin.as_encoded_bytes())
        };
        values.retain(begins);
        values.extend(self.find(FILE, begin));
        values
    }
}

/// Answers a shell's request for completions, and ends the process. Does nothing if the variable `COMPLETE` is not set.
pub fn answer() {
    let shell = std::env::var_os(VARIABLE).unwrap_or_default();
    let shell = Path::new(&shell).file_stem().and_then(OsStr::to_str);
    let by_shell = [BASH, ZSH, FISH].iter().any(|own| shell == Some(own.0));
    let command = move || completed(args::command(), Paths { by_shell });
    let request = CompleteEnv::with_factory(command);
    request.var(VARIABLE).shells(SHELLS).complete();
}

/// Returns the script that a shell loads. Returns `None` for an unknown shell.
pub fn script(shell: &str) -> Option<String> {
    let mut script = Vec::new();
    let completer = SHELLS.completer(shell)?;
    let written = completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script);
    written.ok()?;
    String::from_utf8(script).ok()
}

/// Adds the values that shells complete to a command and its subcommands.
fn completed(command: clap::Command, paths: Paths) -> clap::Command {
    let verb = command.get_name().to_owned();
    let command = command.mut_args(|arg| with_values(arg, &verb, paths));
    command.mut_subcommands(|verb| completed(verb, paths))
}

fn with_values(arg: Arg, verb: &str, paths: Paths) -> Arg {
    let is_named = |name| arg.get_value_names().is_some_and(|names| names == [name]);
    let is_id = is_named("ID");
    let values: fn() -> Vec<CompletionCandidate> = match arg.get_id().as_str() {
        "set" => || found(sets),
        "variant" => || found(variants),
        "pack" => || found(packs),
        "remote" => || found(remotes),
        _ if is_id && verb == "show" => || found(ids_or_tables),
        _ if is_id && verb == "remove" => || found(ids_with_data),
        "step" if verb == "why" => || found(steps),
        _ if is_id => || found(ids),
        _ => return with_paths(arg, verb, paths),
    };
    arg.add(ArgValueCandidates::new(values))
}

/// Adds paths, and ids if the argument may be an id.
fn with_paths(arg: Arg, verb: &str, paths: Paths) -> Arg {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map_or("", |name| name.as_str());
    let is_path = arg.get_value_hint() == ValueHint::AnyPath;
    let completer = match (name, verb) {
        ("WHAT", "diff") => {
            ArgValueCompleter::new(move |begin: &OsStr| paths.and(found(ids_or_variants), begin))
        }
        ("WHAT", _) => {
            ArgValueCompleter::new(move |begin: &OsStr| paths.and(found(ids_unless_given), begin))
        }
        ("[NAME=]REPORT.json", _) => {
            ArgValueCompleter::new(move |begin: &OsStr| paths.named(begin))
        }
        ("DIR", _) => ArgValueCompleter::new(move |begin: &OsStr| paths.find(DIRECTORY, begin)),
        _ if is_path || (name, verb) == ("PACK", "add") => {
            ArgValueCompleter::new(move |begin: &OsStr| paths.find(FILE, begin))
        }
        _ => return arg,
    };
    arg.add(completer)
}

type Found = Result<Vec<CompletionCandidate>, CliError>;

/// Returns the values that `search` finds with the settings of the command line. If the settings contain a mistake, searches
/// without settings. An error becomes an empty result, because a shell cannot show errors.
fn found(search: fn(&CliSession) -> Found) -> Vec<CompletionCandidate> {
    let command = args::command().ignore_errors(true);
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let matches = command.try_get_matches_from(words);
    let global = matches.and_then(|matches| Global::from_arg_matches(&matches));
    let global = global.unwrap_or_default();
    let resolve = |environment| CliSession::resolve(&global, &environment, args::command);
    let session = resolve(Environment::of_process());
    let session = session.or_else(|_| resolve(Environment::without_settings()));
    let values = session.and_then(|(session, _)| search(&session));
    values.unwrap_or_default()
}

/// Returns the ids that are not on the command line yet.
fn ids(session: &CliSession) -> Found {
    let (catalog, given) = (session.catalog()?, given_words());
    let ids = catalog.iter().map(|entry| &entry.id);
    let ids = ids.filter(|id| !given.contains(id));
    Ok(ids.map(CompletionCandidate::new).collect())
}

fn packs(session: &CliSession) -> Found {
    let packs = installed_packs(&session.settings)?.into_iter();
    Ok(packs
        .map(|pack| CompletionCandidate::new(pack.name))
        .collect())
}

fn sets(session: &CliSession) -> Found {
    let names = session.catalog()?.set_names().into_iter();
    Ok(names.map(CompletionCandidate::new).collect())
}

fn ids_with_data(session: &CliSession) -> Found {
    let settings = &session.settings;
    let variants = settings.variants();
    let has_data = |id: &str| {
        let mut directories = variants.iter().map(|variant| settings.data_dir_of(variant));
        directories.any(|directory| directory.join(id).is_dir())
    };
    let mut ids = ids(session)?;
    ids.retain(|id| has_data(&id.get_value().to_string_lossy()));
    Ok(ids)
}

fn ids_unless_given(session: &CliSession) -> Found {
    match given_id(session)? {
        None => ids(session),
        Some(_) => Ok(Vec::new()),
    }
}

fn ids_or_variants(session: &CliSession) -> Found {
    if given_id(session)?.is_none() {
        return ids(session);
    }
    let mut sides = variants(session)?;
    sides.extend(["@1", "@0"].map(CompletionCandidate::new));
    Ok(sides)
}

/// Returns the words of the command line except the last one, which the user is still typing.
fn given_words() -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    words.pop();
    words
}

/// Returns the first id on the command line.
fn given_id(session: &CliSession) -> Result<Option<String>, CliError> {
    let (catalog, words) = (session.catalog()?, given_words());
    let mut ids = words.iter().filter_map(|word| catalog.find(word));
    Ok(ids.next().map(|entry| entry.id.clone()))
}

fn steps(session: &CliSession) -> Found {
    let Some(id) = given_id(session)? else {
        return Ok(Vec::new());
    };
    let variant = BASE_VARIANT.to_owned();
    let preparation = PreparationArgs {
        variant: VariantArg { variant },
        ..PreparationArgs::default()
    };
    let steps = session.plan_one(&id, &preparation)?.steps(&id)?;
    let names = steps.iter().map(|step| &step.step);
    Ok(names.map(CompletionCandidate::new).collect())
}

/// Returns ids or, if the command line already has an id, the tables of its pipeline.
fn ids_or_tables(session: &CliSession) -> Found {
    let Some(id) = given_id(session)? else {
        return ids(session);
    };
    let pipeline = session.catalog()?.get(&id)?.load(BASE_VARIANT)?;
    let tables = pipeline.tables.iter().flat_map(|table| &table.names);
    Ok(tables
        .map(|name| CompletionCandidate::new(&name.value))
        .collect())
}

fn variants(session: &CliSession) -> Found {
    let mut variants = session.settings.variants();
    if let Some(id) = given_id(session)? {
        let catalog = session.catalog()?;
        let text = catalog.get(&id)?.pipeline.as_deref().unwrap_or_default();
        let corrections = prep_spec::corrections(text).unwrap_or_default();
        let named = corrections.iter().map(|name| format!("fixed:{name}"));
        variants.extend(
            named
                .filter(|one| !variants.contains(one))
                .collect::<Vec<_>>(),
        );
    }
    Ok(variants.into_iter().map(CompletionCandidate::new).collect())
}

fn remotes(session: &CliSession) -> Found {
    let data_dir = &session.settings.data_dir;
    let remote = RemoteSettings::resolve(&RemoteArgs::default(), &session.places, data_dir)?;
    let urls = remote.url.into_iter();
    Ok(urls.map(|(url, _)| CompletionCandidate::new(url)).collect())
}
