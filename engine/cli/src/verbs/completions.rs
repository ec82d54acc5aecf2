//! `prep completions SHELL`.

use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::options::OutputArg;
use crate::session::{Session, VerbResult};

/// Print shell completions
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  prep completions bash -o ~/.local/share/bash-completion/completions/prep\n  prep completions zsh -o ~/.zfunc/_prep"
)]
pub struct Completions {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
    #[command(flatten)]
    output: OutputArg,
}

impl Completions {
    pub fn call(&self, session: &Session) -> VerbResult {
        let mut script = Vec::new();
        let mut command = (session.command)();
        clap_complete::generate(self.shell, &mut command, "prep", &mut script);
        self.output
            .write(session, &String::from_utf8_lossy(&script))?;
        Ok(Exit::Success)
    }
}
