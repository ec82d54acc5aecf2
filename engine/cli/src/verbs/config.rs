//! `prep config`: shows the settings and their origins.
//! `prep completions`: prints shell completions, or writes manual pages.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Error, Verify};
use prep_core::{chain, units};
use prep_fetch::{ENDPOINT_VARIABLE, FetchError, check_endpoint};
use serde::Serialize;
use serde_json::json;

use crate::completion;
use crate::error::{CliError, Exit};
use crate::global::named;
use crate::options::OutputArg;
use crate::output::table::PrintedTable;
use crate::prep_toml::ConfigFiles;
use crate::remote::{RemoteArgs, RemoteSettings, address};
use crate::session::{CliSession, VerbResult};
use crate::settings::unknown_variables;

/// Show the settings and where each comes from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep config
  prep config --remote s3://bucket/team --json

Precedence, highest first: options, environment variables, the nearest prep.toml in the current directory and its \
parents, the prep.toml of the data directory, ~/.config/prep/prep.toml, and /etc/xdg/prep/prep.toml. An example:
  data_dir = \"/data/mle-bench\"
  source = \"bundles\"                 # relative to the directory of the file
  memory = \"16GB\"

  [remote]
  url = \"s3://bucket/team\"           # prep searches for results here, and sends them here
  key = \"laptop\"                     # name of the key that signs results
  trusted = [\"ed25519:...\"]          # results signed with these keys are used
  mirror = true                      # downloaded bundles are sent to the remote
docs/reference/configuration.md lists all keys. Do not write credentials into the file: prep reads them where the tools of \
each cloud keep them.")]
pub struct ConfigArgs {
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    value: String,
    #[serde(rename = "from")]
    origin: String,
}

impl ConfigArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let lines = self.lines(session)?;
        let files = ConfigFiles::read(&session.places, Some(&session.settings.data_dir))?;
        session.printer.warnings(&unknown_variables());
        let is_used = |path: &PathBuf| files.found.iter().any(|(found, _)| found == path);
        if session.printer.json {
            session.printer.json(&json!({
                "settings": lines,
                "files": files.searched.iter().map(|path| json!({ "path": path, "exists": is_used(path) })).collect::<Vec<_>>(),
            }))?;
        } else {
            let mut table = PrintedTable::with_header("setting  value  from");
            for line in lines {
                table.row(vec![line.name.to_owned(), line.value, line.origin]);
            }
            session.printer.table(&table)?;
            for path in &files.searched {
                let state = match is_used(path) {
                    true => "read",
                    false if files.ignored.as_ref() == Some(path) => "ignored",
                    false => "not found",
                };
                session
                    .printer
                    .message(format!("{}: {state}", path.display()));
            }
        }
        Ok(Exit::Success)
    }

    fn lines(&self, session: &CliSession) -> Result<Vec<Line>, CliError> {
        let (settings, places) = (&session.settings, &session.places);
        let path = |path: &std::path::Path| path.display().to_string();
        let given = &session.remembered;
        let [skip, skip_bundle] = skipped(given.verify);
        let values = [
            ("data_dir", path(&settings.data_dir)),
            ("cache_dir", path(&settings.store_dir)),
            (
                "pipelines",
                settings.pipelines.as_deref().map(path).unwrap_or_default(),
            ),
            (
                "packs",
                settings.packs.as_deref().map(path).unwrap_or_default(),
            ),
            (
                "source",
                given.source.as_deref().map(path).unwrap_or_default(),
            ),
            ("link_mode", given.link_mode.unwrap_or_default().to_string()),
            (
                "descriptions",
                given.descriptions.as_deref().map(path).unwrap_or_default(),
            ),
            ("skip_verification", skip.to_owned()),
            ("skip_bundle_verification", skip_bundle.to_owned()),
            ("jobs", settings.jobs.to_string()),
            ("memory", units::bytes(settings.memory)),
            ("shared", session.is_shared.to_string()),
        ];
        let mut lines: Vec<Line> = values
            .into_iter()
            .map(|(name, value)| Line {
                name,
                value,
                origin: match places.origin(name) {
                    "default" if name == "skip_bundle_verification" && skip == "yes" => {
                        "implied by skip_verification".to_owned()
                    }
                    origin => origin.to_owned(),
                },
            })
            .collect();
        let remote = RemoteSettings::resolve(&self.remote, places, &settings.data_dir)?;
        // Omits the parts of addresses that may be secret.
        let address = |setting: &(String, String)| -> Result<_, CliError> {
            Ok((address(setting)?.without_secrets(), setting.1.clone()))
        };
        let mut push = |name, setting: Option<(String, String)>| {
            let (value, origin) = setting.unwrap_or_else(|| (String::new(), "default".to_owned()));
            lines.push(Line {
                name,
                value,
                origin,
            });
        };
        push("remote.url", remote.url.as_ref().map(address).transpose()?);
        let key = match remote.signing(places) {
            Ok(key) => key.map(|key| format!("{} {}", key.name(), key.public())),
            Err(error) => Some(format!("not usable: {}", chain(&error))),
        };
        let origin = remote.key.as_ref().map(|(_, origin)| origin.clone());
        let origin = origin.unwrap_or_else(|| "the keys of this user".to_owned());
        let key = key.map(|key| (key, origin));
        push("remote.key", key);
        for (trusted, origin) in &remote.trusted {
            push(
                "remote.trusted",
                Some((trusted.to_string(), origin.clone())),
            );
        }
        for same_as in &remote.same_as {
            push("remote.same_as", Some(address(same_as)?));
        }
        let mirror = remote.mirror.clone();
        let (mirror, origin) = mirror.unwrap_or_else(|| (false, "default".to_owned()));
        push("remote.mirror", Some((mirror.to_string(), origin)));
        push("remote.endpoint", remote.endpoint.clone());
        push("remote.region", remote.region.clone());
        if let Some(endpoint) = places.text(ENDPOINT_VARIABLE) {
            let value = match check_endpoint(&endpoint) {
                Ok(()) => endpoint,
                Err(error) => format!("not usable: {error}"),
            };
            push(
                "kaggle.endpoint",
                Some((value, ENDPOINT_VARIABLE.to_owned())),
            );
        }
        let of_kaggle = places.proxies().find(&session.kaggle.endpoint);
        for (name, proxy) in [
            ("kaggle.proxy", of_kaggle),
            ("remote.proxy", remote.proxy(places)),
        ] {
            let (value, variable) = match proxy {
                Ok(None) => continue,
                Ok(Some(proxy)) => (proxy.address, proxy.variable),
                Err(error) => {
                    let variable = match &error {
                        FetchError::ProxyAddress { variable, .. } => *variable,
                        _ => "",
                    };
                    (format!("not usable: {error}"), variable)
                }
            };
            push(name, Some((value, variable.to_owned())));
        }
        if let Some(set) = places.certificates() {
            let value = match set.check() {
                Ok(()) => set.value,
                Err(error) => format!("not usable: {error}"),
            };
            push("certificates", Some((value, set.name.to_owned())));
        }
        Ok(lines)
    }
}

/// Returns the values of `skip_verification` and `skip_bundle_verification`, or empty strings if neither is set.
fn skipped(verify: Option<Verify>) -> [&'static str; 2] {
    match verify {
        None => ["", ""],
        Some(Verify::All) => ["no", "no"],
        Some(Verify::Outputs) => ["no", "yes"],
        Some(Verify::Nothing) => ["yes", "yes"],
    }
}

/// Print shell completions, or write manual pages
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  prep completions bash -o ~/.local/share/bash-completion/completions/prep\n  prep completions zsh -o ~/.zfunc/_prep\n  prep completions fish -o ~/.config/fish/completions/prep.fish\n  prep completions man -o ~/.local/share/man/man1\n\nFor `man`, -o names a directory, which gets one page for each verb."
)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish, powershell or man
    #[arg(value_name = "SHELL", value_parser = named(FORMS), hide_possible_values = true)]
    form: Form,
    #[command(flatten)]
    output: OutputArg,
}

/// The shell of the completions. `None` for manual pages.
type Form = Option<&'static str>;

const FORMS: [(&str, Form); 6] = [
    ("bash", Some("bash")),
    ("elvish", Some("elvish")),
    ("fish", Some("fish")),
    ("powershell", Some("powershell")),
    ("zsh", Some("zsh")),
    ("man", None),
];

impl CompletionsArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        match (self.form, self.output.path()) {
            (Some(shell), file) => {
                let script = completion::script(shell).unwrap_or_default();
                if let Some(directory) = file.and_then(Path::parent) {
                    let created = std::fs::create_dir_all(directory);
                    created.map_err(|error| Error::writing("create", directory, &error))?;
                }
                self.output.write(session, &script)?;
            }
            (None, Some(directory)) => write_pages((session.command)(), directory)?,
            (None, None) => {
                return Err(CliError::usage("manual pages are several files")
                    .help("name a directory for them with -o DIR"));
            }
        }
        Ok(Exit::Success)
    }
}

fn write_pages(command: clap::Command, directory: &Path) -> Result<(), Error> {
    let mut command = with_long_help(command.disable_help_subcommand(true));
    command.build();
    std::fs::create_dir_all(directory)
        .and_then(|()| write_page(command, &[], directory))
        .map_err(|error| Error::writing("write manual pages to", directory, &error))
}

/// Gives each option a long help, because pages omit the short help of options that `-h` hides.
fn with_long_help(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match (arg.get_long_help(), arg.get_help().cloned()) {
        (None, Some(help)) => arg.long_help(help),
        _ => arg,
    });
    command.mut_subcommands(with_long_help)
}

/// The text of `prep(1)` after the exit codes.
const MANUAL: &str = include_str!("manual.txt");

/// Writes the page of a command and those of its verbs. `parents` are the pages of the commands above it, the nearest last.
fn write_page(
    mut command: clap::Command,
    parents: &[String],
    directory: &Path,
) -> std::io::Result<()> {
    let page = command.get_display_name().unwrap_or(command.get_name());
    let pages = [parents, &[format!("{page}(1)")]].concat();
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_page(verb.clone(), &pages, directory)?;
    }
    let text = command.get_after_long_help().or(command.get_after_help());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let further = match parents {
        [] => MANUAL.to_owned(),
        [program, further @ ..] => {
            let further: String = further.iter().map(|page| format!("  {page}\n")).collect();
            format!("See also:\n{further}  {program}: exit codes, environment variables, files")
        }
    };
    command = command.after_long_help(format!("{text}\n\n{further}"));
    // The page's own synopsis would list all options without their values.
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let page = clap_mangen::Man::new(command.override_usage(usage));
    let page = page.source(concat!("prep ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = with_sections(&String::from_utf8_lossy(&text));
    std::fs::write(directory.join(page.get_filename()), text)
}

/// Divides the section EXTRA, which contains the text after the options, into sections. Indented lines are not filled.
fn with_sections(page: &str) -> String {
    let Some((before, extra)) = page.split_once(".SH EXTRA\n") else {
        return page.to_owned();
    };
    let mut text = before.to_owned();
    let (mut is_in_notes, mut is_unfilled) = (false, false);
    for line in extra.lines() {
        let indented = line.strip_prefix("  ");
        if is_unfilled && indented.is_none() {
            text.push_str(".fi\n");
            is_unfilled = false;
        }
        match (line, line.strip_suffix(':')) {
            // A line with several sentences is not a heading.
            (_, Some(heading)) if indented.is_none() && !heading.contains(". ") => {
                let heading = match heading {
                    "Exit codes" => "EXIT STATUS".to_owned(),
                    _ => heading.to_uppercase(),
                };
                text.push_str(&format!(".SH \"{heading}\"\n.nf\n"));
                (is_in_notes, is_unfilled) = (false, true);
                continue;
            }
            ("", _) if is_in_notes => text.push_str(".PP"),
            _ if line.starts_with(".SH") => is_in_notes = true,
            ("", _) => continue,
            _ if indented.is_some() && !is_unfilled => {
                text.push_str(".nf\n");
                is_unfilled = true;
            }
            _ if indented.is_none() && !is_in_notes => {
                text.push_str(".SH NOTES\n");
                is_in_notes = true;
            }
            _ => {}
        }
        text.push_str(indented.unwrap_or(line));
        text.push('\n');
    }
    if is_unfilled {
        text.push_str(".fi\n");
    }
    text
}
