//! Values that shells complete: competitions, sets, variants, tables and the remote.
//!
//! The script of a shell calls this program with the variable `COMPLETE` for each completion, so the values are those of the
//! current directories and settings. The name of an option or of its value, for example `ID`, determines which values
//! are offered.

use std::ffi::OsStr;

use clap::Arg;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{CompleteEnv, Shells};
use prep_app::installed_packs;
use prep_spec::BASE_VARIANT;

use crate::args;
use crate::error::CliError;
use crate::global::Global;
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::session::CliSession;
use crate::settings::Environment;

/// The name of the program, and the variable that asks for completions.
const PROGRAM: &str = "prep";
const VARIABLE: &str = "COMPLETE";

/// Answers the request of a shell and ends the process, if the variable `COMPLETE` is set.
pub fn answer() {
    let request = CompleteEnv::with_factory(|| completed(args::command()));
    request.var(VARIABLE).complete();
}

/// Returns the script that a shell loads. `None` if the shell is not supported.
pub fn script(shell: &str) -> Option<String> {
    let shells = Shells::builtins();
    let mut script = Vec::new();
    let shell = shells.completer(shell)?;
    let written = shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script);
    written.ok()?;
    String::from_utf8(script).ok()
}

/// Adds the values that shells complete to a command and its subcommands.
fn completed(command: clap::Command) -> clap::Command {
    let is_show = command.get_name() == "show";
    let command = command.mut_args(|arg| with_values(arg, is_show));
    command.mut_subcommands(completed)
}

fn with_values(arg: Arg, is_show: bool) -> Arg {
    let is_named = |name| arg.get_value_names().is_some_and(|names| names == [name]);
    if is_named("WHAT") {
        return arg.add(ArgValueCompleter::new(ids_and_paths));
    }
    let is_id = is_named("ID");
    let values: fn() -> Vec<CompletionCandidate> = match arg.get_id().as_str() {
        "set" => || found(sets),
        "variant" => || found(variants),
        "pack" => || found(packs),
        "remote" => || found(remotes),
        _ if is_id && is_show => || found(ids_or_tables),
        _ if is_id => || found(ids),
        _ => return arg,
    };
    arg.add(ArgValueCandidates::new(values))
}

type Found = Result<Vec<CompletionCandidate>, CliError>;

/// Returns the values that `search` finds with the settings of this process. Returns no values if there is an error,
/// because a shell cannot show it.
fn found(search: fn(&CliSession) -> Found) -> Vec<CompletionCandidate> {
    let environment = Environment::of_process();
    let session = CliSession::resolve(&Global::default(), &environment, args::command);
    let values = session.and_then(|(session, _)| search(&session));
    values.unwrap_or_default()
}

fn ids(session: &CliSession) -> Found {
    let catalog = session.catalog()?;
    let ids = catalog.iter().map(|entry| &entry.id);
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

/// Returns the ids and paths that start with `begin`.
fn ids_and_paths(begin: &OsStr) -> Vec<CompletionCandidate> {
    let mut values = found(ids);
    let begins = |value: &OsStr| {
        let (value, begin) = (value.as_encoded_bytes(), begin.as_encoded_bytes());
        value.starts_with(begin)
    };
    values.retain(|value| begins(value.get_value()));
    values.extend(PathCompleter::any().complete(begin));
    values
}

/// Returns ids or, if the command line already has an id, the tables of its pipeline.
fn ids_or_tables(session: &CliSession) -> Found {
    let catalog = session.catalog()?;
    let mut words = std::env::args().filter_map(|word| catalog.find(&word));
    match words.next() {
        None => ids(session),
        Some(entry) => {
            let pipeline = entry.load(BASE_VARIANT)?;
            let tables = pipeline.tables.iter().flat_map(|table| &table.names);
            Ok(tables
                .map(|name| CompletionCandidate::new(&name.value))
                .collect())
        }
    }
}

fn variants(session: &CliSession) -> Found {
    let variants = session.settings.variants().into_iter();
    Ok(variants.map(CompletionCandidate::new).collect())
}

fn remotes(session: &CliSession) -> Found {
    let data_dir = &session.settings.data_dir;
    let remote = RemoteSettings::resolve(&RemoteArgs::default(), &session.places, data_dir)?;
    let urls = remote.url.into_iter();
    Ok(urls.map(|(url, _)| CompletionCandidate::new(url)).collect())
}
