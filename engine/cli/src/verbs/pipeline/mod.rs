//! `prep pipeline new | check | show | graph | fmt | schema`: writes, checks, shows and draws pipelines.

mod check;
mod fmt;
mod graph;
mod new;
mod schema;
mod show;

use clap::{Args, Subcommand};

use crate::session::{CliSession, VerbResult};

/// Write, check and draw pipelines
#[derive(Debug, Args)]
pub struct PipelineArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(new::NewArgs),
    Check(check::CheckArgs),
    Show(show::ShowArgs),
    Graph(graph::GraphArgs),
    Fmt(fmt::FmtArgs),
    Schema(schema::SchemaArgs),
}

impl PipelineArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        match &self.verb {
            Verb::New(verb) => verb.call(session),
            Verb::Check(verb) => verb.call(session),
            Verb::Show(verb) => verb.call(session),
            Verb::Graph(verb) => verb.call(session),
            Verb::Fmt(verb) => verb.call(session),
            Verb::Schema(verb) => verb.call(session),
        }
    }
}
