//! The program from outside: tests start `prep` as a user would, in folders of their own, and look at exit codes, messages
//! and files. (`faults` also runs the library in processes of its own.)
//!
//! ```text
//! cases/        raw bundle -> prepared files -> scores, against what the benchmark itself made of the same input
//! diff          what differs between variants, pipelines, data folders
//! digests       digests, the lock file, the log of gradings
//! audit         why data are not what was published: bundles, outputs, trees
//! devices       store and data folder on different file systems
//! differential/ random tables through whole pipelines, against what pandas and scikit-learn made of them
//! comparable    which scores are called comparable, and which data `v1`
//! configuration the page about keys, variables and codes
//! corrections   what `fixed` corrects, competition by competition
//! description   the description that is published
//! demo          the first command of a newcomer
//! download/     from nothing: bundles come from a server that plays Kaggle
//! drafts        a first pipeline for a bundle; checking one file
//! faults/       a reader or a writer fails, the disk is full, Ctrl-C, damage, little memory: in every kind of step
//! exhausted     too few threads, too little address space, files that may not get long
//! expand        archives of `public` as folders
//! export        copies to take elsewhere
//! foreign       files that exhaust whoever looks at them, and systems that have too little
//! freshness     nothing runs twice; what changed runs, and only that; nothing but what changed is rewritten
//! held          long tables, which are in memory instead of the store
//! hostile       small files that declare or unpack to huge ones, of every format
//! kinds         pipelines for each kind, against what the original libraries made of the same input
//! kill          `kill -9` at random moments: no half-made tree is taken for a whole one, the next run mends it
//! leaks         known leaks, planted as the real bundles have them
//! bad_input/    damaged archives, tables, stores, folders, submissions: code, message, and nothing lost
//! nested        archives that are deflated inside the bundle
//! answers       which answers are believed; reports of several graders
//! outputs       two outputs on one path
//! others        prepared folders that something else made
//! parallel      several processes with one store and one data folder
//! projection    tables of which a few columns stay in memory
//! queries       what queries compute, use, and say when they fail
//! remote        machines that share results and bundles
//! report        the page to look at
//! rerun         steps run again, against what the cache and the remote hold
//! restart       a loss of power after a publication: what was torn is found and made again
//! serve         the validation server, with many clients
//! variants      what the corrected variant of a pipeline gives
//! writer        published checksums that depend on the library that wrote the file
//! waiting       Ctrl-C while another process has what is needed
//! transcripts   what the user sees, word by word, kept as text files
//! support/      folders, archives, pipelines and snapshots that the tests are made of
//! ```
//!
//! `PREP_KILLS=100` kills so many times (default: a few), `PREP_FAULTS=20` tries so many accesses of
//! each kind of step; `UPDATE=1` writes the transcripts anew.

#![allow(
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod answers;
mod audit;
mod bad_input;
mod cases;
mod comparable;
mod configuration;
mod corrections;
mod demo;
mod description;
mod devices;
mod diff;
mod differential;
mod digests;
mod download;
mod drafts;
mod exhausted;
mod expand;
mod export;
mod faults;
mod foreign;
mod freshness;
mod held;
mod hostile;
mod kill;
mod kinds;
mod leaks;
mod nested;
mod others;
mod outputs;
mod parallel;
mod projection;
mod queries;
mod remote;
mod report;
mod rerun;
mod restart;
mod serve;
mod support;
mod transcripts;
mod variants;
mod waiting;
mod writer;

/// The list above names every module.
#[test]
fn every_module_is_described() {
    let text = include_str!("main.rs");
    let modules = text
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let is_described = |module: &&str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("//! "));
        lines.any(|line| line.split([' ', '/']).next() == Some(module))
    };
    let missing: Vec<&str> = modules.filter(|module| !is_described(module)).collect();
    assert_eq!(missing, [""; 0]);
}
