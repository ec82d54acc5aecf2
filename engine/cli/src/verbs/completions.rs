//! `prep completions SHELL`.

use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::session::{Ended, Session};

/// Print the completions for a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  prep completions bash > ~/.local/share/bash-completion/completions/prep\n  prep completions zsh > ~/.zfunc/_prep"
)]
pub struct Completions {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub fn call(&self, session: &Session) -> Ended {
        let mut script = Vec::new();
        let mut command = (session.command)();
        clap_complete::generate(self.shell, &mut command, "prep", &mut script);
        session.printer.result(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Success)
    }
}
