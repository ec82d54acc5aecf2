//! Tests that run the program `prep` as a user would, in separate directories, and check exit codes, messages and files.
//! Tests in `faults` also run the library in separate processes.
//!
//! ```text
//! cases/        recorded bundles: files and scores, compared with upstream's
//! diff          differences of variants, pipelines, data directories
//! digests       digests, the lock file, the log of gradings
//! audit         causes of mismatches: bundles, outputs, trees
//! directories   several data directories with one cache
//! devices       cache and data directory on different file systems
//! differential/ random tables in complete pipelines, compared with pandas and scikit-learn
//! completions   completions in bash, zsh and fish
//! comparable    comparable scores, and data that `prep` calls `v1`
//! conformance   the guarantees of steps
//! configuration the page about keys, variables and exit codes
//! costs         memory and time of every verb that opens files of other authors
//! copies        prepared data after cp, tar, rsync, links, touch; files of other programs at the same paths
//! corrections   corrections of `fixed`, by competition
//! description   the published description
//! deep          generators of deeply nested files
//! demo          the first command of a new user
//! download/     bundles from a server that imitates Kaggle
//! draft_cases   drafts for small bundles of many forms
//! drafts        pipelines that `prep pipeline new` writes
//! faults/       failing reads and writes, full disks, Ctrl-C, damage, little memory: in every kind of step
//! exhausted     limits of threads, address space and file length
//! expand        archives of `public` as directories
//! export        copies of prepared competitions
//! foreign       commands that inspect malicious files, including those in prepared trees; systems that lack resources
//! freshness     only changed steps run, and only changed files are written
//! harbor        tasks of Harbor
//! held          large tables that are kept in memory and not in the cache
//! hints         frequent mistakes of new users, and printed commands
//! hostile       bundles with small files of every format that declare huge sizes or unpack to huge files
//! kinds         pipelines for each kind of table and output, compared with the original libraries
//! kill          `kill -9` at random moments: the next run repairs incomplete trees
//! leaks         known leaks of the real bundles, planted into recorded cases
//! handover      all ways to hand over a submission, with all kinds of paths
//! mcp           tools for agents, by the Model Context Protocol
//! bad_input/    damaged archives, tables, caches, directories, submissions: exit code, message, no lost data
//! mistakes      messages about wrong pipelines, and the verb that finds each mistake
//! nested        compressed archives inside the bundle
//! answers       verified answers; reports of several graders
//! outputs       two outputs on one path
//! packs         competitions that others wrote; hostile packs
//! others        prepared directories that other programs wrote
//! parallel      several processes with one cache and one data directory
//! previews      rows of tables and queries for authors
//! projection    tables with a few columns in memory
//! queries       results, memory and error messages of queries
//! remote        machines that share results and bundles
//! remembered    options of the last run in a data directory
//! remove        removal of prepared data, bundles and cached results
//! report        the HTML page
//! rerun         steps that run again, compared with the cache and the remote
//! restart       a loss of power after a publication: damaged files are found and restored
//! serve         the validation server, with many clients
//! skipped       reports of tests that cannot run
//! temporary     temporary directories in different parts of the disk
//! until         waiting for another process
//! unpublished   files of other programs in a prepared directory
//! users         several users with one cache and one data directory
//! variants      the variant `fixed`
//! workflows     Make, Snakemake and DVC with prepared data, and the rules of the page about them
//! writer        published checksums that depend on the library that wrote the file
//! waiting       Ctrl-C while another process holds a lock
//! shapes        drafts for bundles of many shapes
//! streams       help and messages with closed and full streams, and in unusual environments
//! summaries     from an agent's runs to figures of experiments
//! sharing       how published files share bytes with the cache, and descriptions that the user provides
//! times         metadata of published files
//! trust         signed reports, the log of gradings and sealed answers against attacks
//! transcripts   output of commands, word by word, as text files
//! support/      directories, archives, pipelines and snapshots for the tests
//! ```
//!
//! `PREP_KILLS=100` kills 100 times (default: a few), and `PREP_FAULTS=20` tries 20 accesses of each kind of step.
//! `SEED=7` makes other random choices, and `UPDATE=1` writes the transcripts again.

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
mod completions;
mod configuration;
mod conformance;
mod copies;
mod corrections;
mod costs;
#[allow(dead_code, reason = "only its generators are needed here")]
#[path = "../fuzzing/deep.rs"]
mod deep;
mod demo;
mod description;
mod devices;
mod diff;
mod differential;
mod digests;
mod directories;
mod download;
mod draft_cases;
mod drafts;
mod exhausted;
mod expand;
mod export;
mod faults;
mod foreign;
mod freshness;
mod handover;
mod harbor;
mod held;
mod hints;
mod hostile;
mod kill;
mod kinds;
mod leaks;
mod mcp;
mod mistakes;
mod nested;
mod others;
mod outputs;
mod packs;
mod parallel;
mod previews;
mod projection;
mod queries;
mod remembered;
mod remote;
mod remove;
mod report;
mod rerun;
mod restart;
mod serve;
mod shapes;
mod sharing;
#[path = "../skipped/mod.rs"]
mod skipped;
mod streams;
mod summaries;
mod support;
#[path = "../temporary/mod.rs"]
mod temporary;
mod times;
mod transcripts;
mod trust;
mod unpublished;
#[path = "../until/mod.rs"]
mod until;
mod users;
mod variants;
mod waiting;
mod workflows;
mod writer;

/// The list at the top of this file names every module.
#[test]
fn module_list_is_complete() {
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
