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
pub mod doctor;
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

use clap::Subcommand;

use crate::session::{Ended, Session};

/// Declares the verbs, and calls the one that was chosen.
macro_rules! verbs {
    ($($(#[$attribute:meta])* $name:ident($options:ty),)*) => {
        #[derive(Debug, Subcommand)]
        pub enum Verb {
            $($(#[$attribute])* $name($options),)*
        }

        impl Verb {
            /// Does what the verb says.
            pub fn call(self, session: &Session) -> Ended {
                match self {
                    $(Verb::$name(verb) => verb.call(session),)*
                }
            }
        }
    };
}

verbs! {
    Demo(demo::Demo),
    // The verb of the benchmark's own command.
    #[command(alias = "prepare")]
    Run(run::RunArgs),
    Plan(plan::PlanArgs),
    Why(why::Why),
    Audit(audit::AuditArgs),
    List(list::List),
    Rules(rules::Rules),
    Doctor(doctor::Doctor),
    Fetch(fetch::Fetch),
    Ls(ls::Ls),
    Graph(graph::GraphArgs),
    Grade(grade::GradeArgs),
    GradeSample(grade_sample::GradeSample),
    Validate(validate::Validate),
    Score(score::Score),
    Medals(medals::Medals),
    Diff(diff::Diff),
    Digest(digest::DigestArgs),
    Leaks(leaks::Leaks),
    Export(export::ExportArgs),
    Serve(serve::Serve),
    Definitions(definitions::Definitions),
    Experiments(experiments::ExperimentsArgs),
    New(new::New),
    Check(check::Check),
    Report(report::ReportArgs),
    Submissions(submissions::Submissions),
    Push(push::Push),
    Pull(pull::Pull),
    Jobs(jobs::Jobs),
    Key(key::Key),
    Config(config::ConfigArgs),
    Cache(cache::Cache),
    Schema(schema::Schema),
    Completions(completions::Completions),
}
