//! One file per verb; a directory for a verb with verbs of its own.

mod audit;
mod cache;
mod completions;
mod config;
mod demo;
mod diff;
mod digest;
mod doctor;
mod export;
mod fetch;
mod grade;
mod leaks;
mod list;
mod mcp;
mod pipeline;
mod plan;
mod remote;
mod remove;
mod report;
mod run;
mod serve;
mod summarize;
mod validate;
mod why;

use clap::Subcommand;

use crate::session::{Session, VerbResult};

/// Declares the verbs in groups, and calls the chosen one.
macro_rules! verbs {
    ($($heading:literal { $($(#[$attribute:meta])* $name:ident($options:ty),)* })*) => {
        #[derive(Debug, Subcommand)]
        pub enum Verb {
            $($($(#[$attribute])* $name($options),)*)*
        }

        impl Verb {
            pub fn call(self, session: &Session) -> VerbResult {
                match self {
                    $($(Verb::$name(verb) => verb.call(session),)*)*
                }
            }
        }

        /// The groups of the help: a heading, and the names of its verbs with a capital letter.
        pub const GROUPS: &[(&str, &[&str])] = &[$(($heading, &[$(stringify!($name)),*])),*];
    };
}

verbs! {
    "Prepare" {
        // The verb of upstream's command.
        #[command(alias = "prepare")]
        Run(run::RunArgs),
        Plan(plan::PlanArgs),
        Why(why::Why),
        List(list::List),
        Fetch(fetch::Fetch),
        Remove(remove::Remove),
    }
    "Grade" {
        Grade(grade::GradeArgs),
        Validate(validate::Validate),
        Summarize(summarize::Summarize),
        Serve(serve::Serve),
        Mcp(mcp::Mcp),
    }
    "Trust" {
        Audit(audit::AuditArgs),
        Diff(diff::Diff),
        Leaks(leaks::Leaks),
        Digest(digest::DigestArgs),
        Report(report::ReportArgs),
        Export(export::ExportArgs),
    }
    "Authors" {
        Pipeline(pipeline::PipelineArgs),
    }
    "Teams" {
        Remote(remote::RemoteVerbs),
    }
    "Cache" {
        Cache(cache::Cache),
    }
    "Other" {
        Demo(demo::Demo),
        Doctor(doctor::Doctor),
        Config(config::ConfigArgs),
        Completions(completions::Completions),
    }
}
