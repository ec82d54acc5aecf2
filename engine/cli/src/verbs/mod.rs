//! One file per verb.

pub mod audit;
pub mod cache;
pub mod cache_rerun;
pub mod check;
pub mod completions;
pub mod config;
pub mod definitions;
pub mod demo;
pub mod diff;
pub mod digest;
pub mod experiments;
pub mod export;
pub mod fetch;
pub mod grade;
pub mod grade_sample;
pub mod graph;
pub mod jobs;
pub mod key;
pub mod leaks;
pub mod list;
pub mod ls;
pub mod medals;
pub mod new;
pub mod plan;
pub mod pull;
pub mod push;
pub mod report;
pub mod rules;
pub mod run;
pub mod schema;
pub mod score;
pub mod serve;
pub mod submissions;
pub mod validate;
pub mod why;

use crate::args::Verb;
use crate::{Ended, Session};

/// Does what a verb says.
pub fn call(verb: Verb, session: &Session) -> Ended {
    match verb {
        Verb::Demo(verb) => verb.call(session),
        Verb::Run(verb) => verb.call(session),
        Verb::Push(verb) => verb.call(session),
        Verb::Pull(verb) => verb.call(session),
        Verb::Jobs(verb) => verb.call(session),
        Verb::Key(verb) => verb.call(session),
        Verb::Config(verb) => verb.call(session),
        Verb::Plan(verb) => verb.call(session),
        Verb::Why(verb) => verb.call(session),
        Verb::Audit(verb) => verb.call(session),
        Verb::List(verb) => verb.call(session),
        Verb::Rules(verb) => verb.call(session),
        Verb::Ls(verb) => verb.call(session),
        Verb::Graph(verb) => verb.call(session),
        Verb::Grade(verb) => verb.call(session),
        Verb::GradeSample(verb) => verb.call(session),
        Verb::Validate(verb) => verb.call(session),
        Verb::Score(verb) => verb.call(session),
        Verb::Medals(verb) => verb.call(session),
        Verb::Fetch(verb) => verb.call(session),
        Verb::Definitions(verb) => verb.call(session),
        Verb::Diff(verb) => verb.call(session),
        Verb::Digest(verb) => verb.call(session),
        Verb::Export(verb) => verb.call(session),
        Verb::Leaks(verb) => verb.call(session),
        Verb::Serve(verb) => verb.call(session),
        Verb::New(verb) => verb.call(session),
        Verb::Check(verb) => verb.call(session),
        Verb::Report(verb) => verb.call(session),
        Verb::Experiments(verb) => verb.call(session),
        Verb::Submissions(verb) => verb.call(session),
        Verb::Cache(verb) => verb.call(session),
        Verb::Schema(verb) => verb.call(session),
        Verb::Completions(verb) => verb.call(session),
    }
}
