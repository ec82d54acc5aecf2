//! `prep completions`: prints shell completions, or writes manual pages.

use std::path::Path;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use prep_app::Error;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::OutputArg;
use crate::session::{CliSession, VerbResult};

/// Print shell completions, or write manual pages
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  prep completions bash -o ~/.local/share/bash-completion/completions/prep\n  prep completions zsh -o ~/.zfunc/_prep\n  prep completions man -o ~/.local/share/man/man1\n\nFor `man`, -o names a directory, which gets one page for each verb."
)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish, powershell or man
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    form: Form,
    #[command(flatten)]
    output: OutputArg,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
    Man,
}

impl Form {
    fn shell(self) -> Option<Shell> {
        match self {
            Form::Bash => Some(Shell::Bash),
            Form::Elvish => Some(Shell::Elvish),
            Form::Fish => Some(Shell::Fish),
            Form::Powershell => Some(Shell::PowerShell),
            Form::Zsh => Some(Shell::Zsh),
            Form::Man => None,
        }
    }
}

impl CompletionsArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let mut command = (session.command)();
        match (self.form.shell(), self.output.path()) {
            (Some(shell), _) => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command, "prep", &mut script);
                let script = String::from_utf8_lossy(&script);
                self.output.write(session, &script)?;
            }
            (None, Some(directory)) => write_pages(command, directory)?,
            (None, None) => {
                return Err(CliError::usage("manual pages are several files")
                    .help("name a directory for them with -o DIR"));
            }
        }
        Ok(Exit::Success)
    }
}

fn write_pages(command: clap::Command, directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .map_err(|error| Error::writing("write manual pages to", directory, &error))
}
