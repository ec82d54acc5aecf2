//! Values that shells complete: competitions, sets, variants, tables and the remote.
//!
//! For each completion, the shell's script runs this program with the environment variable `COMPLETE`.
//! The values come from the catalog, data directory and settings that a command would use.

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
use crate::options::{PreparationArgs, VariantArg};
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::session::CliSession;
use crate::settings::Environment;

/// The name of the program. A shell sets `VARIABLE` to request completions.
const PROGRAM: &str = "prep";
const VARIABLE: &str = "COMPLETE";

/// Answers a shell's request for completions, and ends the process. Does nothing if the variable `COMPLETE` is not set.
pub fn answer() {
    let request = CompleteEnv::with_factory(|| completed(args::command()));
    request.var(VARIABLE).complete();
}

/// Returns the script that a shell loads. Returns `None` for an unknown shell.
pub fn script(shell: &str) -> Option<String> {
    let shells = Shells::builtins();
    let mut script = Vec::new();
    let completer = shells.completer(shell)?;
    let written = completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script);
    written.ok()?;
    let script = String::from_utf8(script).ok()?;
    Some(match shell {
        "bash" => BASH_PATCHES
            .iter()
            .fold(script, |script, (old, new)| script.replace(old, new)),
        "zsh" => script + ZSH_END,
        _ => script,
    })
}

/// The end of the script for zsh. At the first completion, zsh executes the script as the function `_prep`. Therefore the
/// script must also complete the word.
const ZSH_END: &str = r#"if [[ "${funcstack[1]}" == _prep ]]; then
    _clap_dynamic_completer_prep "$@"
fi
"#;

/// Replacements in the script for bash. Bash separates words at the characters of `COMP_WORDBREAKS`, for example at `:` and
/// `=`, and replaces only the text after the last of these characters. Therefore the script joins words without a space
/// between them, and removes their beginning from the completions.
const BASH_PATCHES: [(&str, &str); 4] = [
    (
        "    local _CLAP_COMPLETE_INDEX=${COMP_CWORD}\n",
        r#"    local words=() rest="${COMP_LINE:0:COMP_POINT}" word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ $i -eq $COMP_CWORD ]]; then
            word="${rest#"${rest%%[![:space:]]*}"}"
            if [[ "$word" == [\"\']* ]]; then
                word="$2"
            fi
        fi
        if [[ $i -gt 0 && -n "$rest" && "$rest" != [[:space:]]* ]]; then
            words[${#words[@]}-1]+="$word"
        else
            words+=("$word")
        fi
        rest="${rest#"${rest%%[![:space:]]*}"}"
        rest="${rest#"$word"}"
    done
    local _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1))
    local begin="${words[_CLAP_COMPLETE_INDEX]%"$2"}"
"#,
    ),
    ("    local words=(\"${COMP_WORDS[@]}\")\n", ""),
    (
        r#"    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[COMP_CWORD]="$2"
    fi
"#,
        "",
    ),
    (
        "        compopt -o nospace\n    fi\n}",
        "        compopt -o nospace\n    fi\n    COMPREPLY=(\"${COMPREPLY[@]#\"$begin\"}\")\n}",
    ),
];

/// Adds the values that shells complete to a command and its subcommands.
fn completed(command: clap::Command) -> clap::Command {
    let verb = command.get_name().to_owned();
    let command = command.mut_args(|arg| with_values(arg, &verb));
    command.mut_subcommands(completed)
}

fn with_values(arg: Arg, verb: &str) -> Arg {
    let is_named = |name| arg.get_value_names().is_some_and(|names| names == [name]);
    let completer: Option<fn(&OsStr) -> Vec<CompletionCandidate>> = match verb {
        "diff" if is_named("WHAT") => Some(ids_or_sides),
        _ if is_named("WHAT") => Some(ids_or_paths),
        "add" if is_named("PACK") => Some(paths),
        "report" if arg.get_id() == "grading" => Some(named_paths),
        _ => None,
    };
    if let Some(completer) = completer {
        return arg.add(ArgValueCompleter::new(completer));
    }
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
        _ => return arg,
    };
    arg.add(ArgValueCandidates::new(values))
}

type Found = Result<Vec<CompletionCandidate>, CliError>;

/// Returns the values that `search` finds. An error becomes an empty result, because a shell cannot show errors.
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

fn ids_with_data(session: &CliSession) -> Found {
    let (catalog, settings) = (session.catalog()?, &session.settings);
    let variants = settings.variants();
    let has_data = |id: &str| {
        let mut directories = variants.iter().map(|variant| settings.data_dir_of(variant));
        directories.any(|directory| directory.join(id).is_dir())
    };
    let ids = catalog.iter().map(|entry| &entry.id);
    let ids = ids.filter(|id| has_data(id));
    Ok(ids.map(CompletionCandidate::new).collect())
}

fn paths(begin: &OsStr) -> Vec<CompletionCandidate> {
    PathCompleter::any().complete(begin)
}

/// Suggests paths for `NAME=PATH` and `PATH`.
fn named_paths(begin: &OsStr) -> Vec<CompletionCandidate> {
    let Some((name, path)) = begin.to_str().and_then(|text| text.split_once('=')) else {
        return paths(begin);
    };
    let paths = paths(OsStr::new(path)).into_iter();
    paths
        .map(|path| path.add_prefix(format!("{name}=")))
        .collect()
}

fn with_paths(mut values: Vec<CompletionCandidate>, begin: &OsStr) -> Vec<CompletionCandidate> {
    let begin_bytes = begin.as_encoded_bytes();
    values.retain(|value| {
        value
            .get_value()
            .as_encoded_bytes()
            .starts_with(begin_bytes)
    });
    values.extend(paths(begin));
    values
}

/// Suggests paths. Also suggests ids, unless the command line already has an id.
fn ids_or_paths(begin: &OsStr) -> Vec<CompletionCandidate> {
    with_paths(found(ids_unless_given), begin)
}

/// Suggests paths and ids. If the command line already has an id, suggests variants and publications in place of ids.
fn ids_or_sides(begin: &OsStr) -> Vec<CompletionCandidate> {
    with_paths(found(ids_or_variants), begin)
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

/// Returns the first id on the command line, except the last word, which the user is still typing.
fn given_id(session: &CliSession) -> Result<Option<String>, CliError> {
    let catalog = session.catalog()?;
    let mut words: Vec<String> = std::env::args().collect();
    words.pop();
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
