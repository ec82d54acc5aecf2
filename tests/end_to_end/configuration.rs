//! Compares `docs/reference/configuration.md` with the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{CommandResult, Harbour, Sandbox};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the rows of the table below a heading: the code spans in the first cell, and the text of the other cells.
/// If the first cell has no code spans, its entire text takes their place.
fn rows(heading: &str) -> Vec<(Vec<String>, String)> {
    let page =
        fs::read_to_string(root().join("docs/reference/configuration.md")).expect("the page");
    let mut sections = page.split("\n## ");
    let section = sections
        .find(|one| one.starts_with(heading))
        .expect(heading);
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let row = |row: &str| {
        let (first, rest) = row[1..].split_once('|').expect("two cells");
        let words: Vec<String> = first
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        match words.is_empty() {
            true => (vec![first.trim().to_owned()], rest.to_owned()),
            false => (words, rest.to_owned()),
        }
    };
    rows.map(row).collect()
}

fn documented(heading: &str) -> BTreeSet<String> {
    rows(heading)
        .into_iter()
        .flat_map(|(words, _)| words)
        .collect()
}

#[test]
fn documented_keys_are_those_of_prep_toml() {
    let sandbox = Sandbox::new();
    sandbox.write("data/prep.toml", "[remote]\nnone_such = 1\n");
    let stderr = sandbox.prep(&["config"]).code(2).stderr;
    // The help of the error lists the valid keys of the section.
    let (_, known) = stderr.split_once("the keys are ").expect("a list");
    let known = known.lines().next().unwrap_or_default();
    let known = known.split('`').skip(1).step_by(2).map(str::to_owned);
    assert_eq!(documented("Keys of `[remote]`"), known.collect());
    sandbox.write("data/prep.toml", "none_such = 1\n");
    let stderr = sandbox.prep(&["config"]).code(2).stderr;
    let (_, known) = stderr.split_once("the keys are ").expect("a list");
    let known = known.lines().next().unwrap_or_default();
    let known = known.split('`').skip(1).step_by(2).map(str::to_owned);
    let known: BTreeSet<String> = known.filter(|key| key != "remote").collect();
    assert_eq!(documented("Settings"), known);
    sandbox.write("data/prep.toml", "datadir = 1\n");
    let ended = sandbox.prep(&["config"]).code(2);
    let ended = ended.stderr_has(&["unknown field `datadir`\n", "did you mean `data_dir`?"]);
    assert!(!ended.stderr.contains("cache_dir"), "{}", ended.stderr);
    // This mistake is in a value, so the message must not list the keys.
    sandbox.write("data/prep.toml", "jobs = 'x'\n");
    let ended = sandbox.prep(&["config"]).code(2);
    assert!(!ended.stderr.contains("keys"), "{}", ended.stderr);
    for (setting, message) in [
        (
            "jobs = 'two'",
            "`jobs` is \"two\": expected an integer of at least 1",
        ),
        ("jobs = 0", "`jobs` is 0: expected an integer of at least 1"),
        ("memory = 16", "`memory`: `16` has no unit"),
        (
            "link_mode = 'hard'",
            "`link_mode` is `hard`: expected hardlink, reflink or copy",
        ),
        (
            "remote = 's3://b/x'",
            "`remote`: invalid type: string \"s3://b/x\", expected a section: a line `[remote]`",
        ),
        ("shared = 'yes'", "`shared`: invalid type: string \"yes\""),
        (
            "remote.trusted = [{ key = 'x', competition = ['a'] }]",
            "`trusted`: unknown field `competition`",
        ),
        (
            "remote.trusted = ['ed25519:x']",
            "`trusted`: `ed25519:x` is not a public key",
        ),
    ] {
        sandbox.write("data/prep.toml", format!("# a comment\n{setting}\n"));
        let message = format!("data/prep.toml:2: {message}");
        sandbox.prep(&["config"]).code(2).stderr_has(&[&message]);
    }
    sandbox.write("data/prep.toml", "jobs = 2\nskip_verification = true\n");
    let ended = sandbox.prep(&["config"]).code(0);
    ended.stdout_has(&["implied by skip_verification"]);
}

#[test]
fn documented_address_forms_are_those_that_are_accepted() {
    let sandbox = Sandbox::new();
    for form in documented("Addresses") {
        sandbox
            .prep(&["config", "--remote", &form.to_lowercase()])
            .code(0);
    }
    let ended = sandbox
        .prep(&["config", "--remote", "ftp://host/x"])
        .code(2);
    let (_, known) = ended.stderr.split_once("; use ").expect("a list");
    let forms = documented("Addresses");
    let schemes = forms.iter().filter_map(|form| form.split_once("://"));
    let schemes: BTreeSet<&str> = schemes.map(|(scheme, _)| scheme).collect();
    assert_eq!(known.matches("://").count(), schemes.len(), "{known}");
    for scheme in schemes {
        assert!(known.contains(&format!("{scheme}://")), "{scheme}: {known}");
    }
}

/// Collects names of environment variables in string literals of the program, except in tests.
fn variables(directory: &Path, found: &mut BTreeSet<String>) {
    const KINDS: [&str; 9] = [
        "PREP_",
        "MLE_BENCH_",
        "XDG_",
        "KAGGLE_",
        "SLURM_",
        "JOB_",
        "AWS_",
        "GOOGLE_",
        "AZURE_",
    ];
    const SKIPPED_NAMES: [&str; 6] = ["tests", "target", "benches", "fuzz", "examples", "build.rs"];
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if SKIPPED_NAMES.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            variables(&path, found);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_name = |word: &&str| {
                let is_plain =
                    |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
                let is_of_kind = KINDS
                    .iter()
                    .any(|kind| word.len() > kind.len() && word.starts_with(kind));
                (is_of_kind || matches!(*word, "NO_COLOR" | "BROWSER"))
                    && word.bytes().all(is_plain)
            };
            found.extend(code.split('"').filter(is_name).map(str::to_owned));
        }
    }
}

#[test]
fn documented_variables_are_those_that_are_read() {
    let mut read = BTreeSet::new();
    variables(&root().join("engine"), &mut read);
    assert_eq!(documented("Environment variables"), read);
}

/// The page, the Slurm script and the Kubernetes manifest agree on the exit codes that restart or end a job.
#[test]
fn documented_exit_codes_match_the_job_scripts() {
    let (mut again, mut ends) = (Vec::new(), Vec::new());
    for (code, job) in rows("Exit codes in jobs") {
        match job.contains("starts again") {
            true => again.extend(code),
            false => ends.extend(code),
        }
    }
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let remote = ["--no-check", "--remote", "s3://bucket/team", Harbour::ID];
    let slurm = [&["remote", "jobs", "slurm"], &remote[..]].concat();
    let script = sandbox.prep(&slurm).code(0).stdout;
    assert!(
        script.contains(&format!("\n{})\n", again.join("|"))),
        "{script}"
    );
    let k8s = [&["remote", "jobs", "k8s", "--image", "prep:1"], &remote[..]].concat();
    let manifest = sandbox.prep(&k8s).code(0).stdout;
    let listed = format!("values: [{}]", ends.join(", "));
    assert_eq!(manifest.matches(&listed).count(), 2, "{manifest}");
}

#[test]
fn the_manual_page_lists_the_variables_of_prep() {
    let sandbox = Sandbox::new();
    sandbox.prep(&["completions", "man", "-o", "."]).code(0);
    let page = fs::read_to_string(sandbox.path("prep.1")).expect("the page");
    let own = documented("Environment variables").into_iter();
    let own = own.filter(|name| {
        ["PREP_", "MLE_", "XDG_"]
            .iter()
            .any(|own| name.starts_with(own))
    });
    for name in own {
        assert!(page.contains(&format!("\n{name} ")), "{name}: {page}");
    }
}

#[test]
fn unknown_variables_are_warnings() {
    let sandbox = Sandbox::new();
    for arguments in [&["doctor", "--offline"][..], &["config"]] {
        let mut command = sandbox.command(arguments);
        command
            .env("PREP_DATA_DIR", "data")
            .env("PREP_BINARY", "prep");
        let ended = CommandResult::of(&mut command).code(0);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        for part in [
            "`PREP_DATA_DIR` has no meaning",
            "did you mean `MLE_BENCH_DATA_DIR`?",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
        assert!(!shown.contains("PREP_BINARY"), "{shown}");
    }
}
