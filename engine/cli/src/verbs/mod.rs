//! The verbs: one file per verb, and a directory for a verb with many subcommands.

mod audit;
mod cache;
mod config;
mod demo;
mod diff;
mod digest;
mod doctor;
mod export;
mod fetch;
mod grade;
mod list;
mod pack;
mod pipeline;
mod plan;
mod remote;
mod remove;
mod report;
mod run;
mod seal;
mod serve;
mod summarize;
mod verify_report;

use clap::Subcommand;

use crate::session::{CliSession, VerbResult};

/// Declares the verbs in groups, and calls the selected verb.
macro_rules! verbs {
    ($($heading:literal { $($(#[$attribute:meta])* $name:ident($options:ty),)* })*) => {
        #[derive(Debug, Subcommand)]
        pub enum Verb {
            $($($(#[$attribute])* $name($options),)*)*
        }

        impl Verb {
            pub fn call(self, session: &CliSession) -> VerbResult {
                match self {
                    $($(Verb::$name(verb) => verb.call(session),)*)*
                }
            }
        }

        /// The groups in the help: the heading of each group, and the names of its verbs in CamelCase.
        /// The command line writes these names with hyphens.
        pub const GROUPS: &[(&str, &[&str])] = &[$(($heading, &[$(stringify!($name)),*])),*];
    };
}

verbs! {
    "Prepare" {
        // Upstream's command has the verb `prepare`.
        #[command(alias = "prepare")]
        Run(run::RunArgs),
        Plan(plan::PlanArgs),
        Why(plan::WhyArgs),
        List(list::ListArgs),
        Fetch(fetch::FetchArgs),
        Remove(remove::RemoveArgs),
    }
    "Grade" {
        Grade(grade::GradeArgs),
        Validate(grade::ValidateArgs),
        Summarize(summarize::SummarizeArgs),
        Serve(serve::ServeArgs),
        Mcp(serve::McpArgs),
    }
    "Trust" {
        Audit(audit::AuditArgs),
        Diff(diff::DiffArgs),
        Leaks(audit::LeaksArgs),
        Digest(digest::DigestArgs),
        VerifyReport(verify_report::VerifyReportArgs),
        Report(report::ReportArgs),
        Export(export::ExportArgs),
        Seal(seal::SealArgs),
    }
    "Authors" {
        Pipeline(pipeline::PipelineArgs),
        Pack(pack::PackVerbs),
    }
    "Teams" {
        Remote(remote::RemoteVerbs),
    }
    "Cache" {
        Cache(cache::CacheArgs),
    }
    "Other" {
        Demo(demo::DemoArgs),
        Doctor(doctor::DoctorArgs),
        Config(config::ConfigArgs),
        Completions(config::CompletionsArgs),
    }
}
