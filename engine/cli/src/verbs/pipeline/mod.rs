//! `prep pipeline new | check | show | graph | fmt | schema`: for authors of pipelines.

mod check;
mod fmt;
mod graph;
mod new;
mod schema;
mod show;

use clap::{Args, Subcommand};

use crate::session::{Session, VerbResult};

/// Write, check and draw pipelines
#[derive(Debug, Args)]
pub struct PipelineArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(new::New),
    Check(check::Check),
    Show(show::Show),
    Graph(graph::Graph),
    Fmt(fmt::Fmt),
    Schema(schema::Schema),
}

impl PipelineArgs {
    pub fn call(&self, session: &Session) -> VerbResult {
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
