//! `prep remote push | pull | key | jobs`: shares results between machines.

mod jobs;
mod key;
mod pull;
mod push;

use clap::{Args, Subcommand};

use crate::session::{CliSession, VerbResult};

/// Share results between machines
#[derive(Debug, Args)]
pub struct RemoteVerbs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Push(push::PushArgs),
    Pull(pull::PullArgs),
    Key(key::KeyArgs),
    Jobs(jobs::JobsArgs),
}

impl RemoteVerbs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        match &self.verb {
            Verb::Push(verb) => verb.call(session),
            Verb::Pull(verb) => verb.call(session),
            Verb::Key(verb) => verb.call(session),
            Verb::Jobs(verb) => verb.call(session),
        }
    }
}
