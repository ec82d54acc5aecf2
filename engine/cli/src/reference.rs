//! Holds `docs/reference/configuration.md` against the program.

use std::collections::BTreeSet;
use std::path::Path;

use prep_app::{PERMANENT, TRANSIENT};
use prep_remote::Address;

use crate::exit::Exit;
use crate::remote::File;

const PAGE: &str = include_str!("../../../docs/reference/configuration.md");

/// Rows of the table below a heading: what stands in backticks in the first cell, and the rest.
fn rows(heading: &str) -> Vec<(Vec<String>, String)> {
    let section = PAGE.split("\n## ").find(|one| one.starts_with(heading));
    let lines = section.unwrap().lines();
    let rows = lines.filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let (_, row) = row.split_once('|').unwrap();
        let (first, rest) = row.split_once('|').unwrap();
        let words = first.split('`').skip(1).step_by(2).map(str::to_owned);
        let words: Vec<String> = words.collect();
        let plain = vec![first.trim().to_owned()];
        let words = if words.is_empty() { plain } else { words };
        (words, rest.to_owned())
    })
    .collect()
}

fn documented(heading: &str) -> BTreeSet<String> {
    rows(heading)
        .into_iter()
        .flat_map(|(words, _)| words)
        .collect()
}

#[test]
fn keys_are_those_of_prep_toml() {
    // The parser lists what it would have taken.
    let wrong = toml::from_str::<File>("[remote]\nnone_such = 1\n");
    let message = wrong.unwrap_err().message().to_owned();
    let (_, known) = message.split_once("expected one of ").unwrap();
    let known = known.split('`').skip(1).step_by(2).map(str::to_owned);
    assert_eq!(documented("prep.toml"), known.collect());
}

#[test]
fn forms_of_addresses_are_those_that_are_taken() {
    for (forms, rest) in rows("Addresses") {
        for form in forms {
            let address = Address::parse(&form.to_lowercase()).unwrap();
            assert_eq!(address.is_read_only(), rest.contains("| no |"), "{form}");
        }
    }
    let unknown = Address::parse("ftp://host").unwrap_err().to_string();
    let (_, known) = unknown.split_once("known are").unwrap();
    let scheme = |form: &String| format!("{}://", form.split_once("://").unwrap().0);
    let forms = documented("Addresses");
    let schemes: BTreeSet<String> = forms.iter().map(scheme).collect();
    assert_eq!(known.matches("://").count(), schemes.len(), "{known}");
    assert!(schemes.iter().all(|scheme| known.contains(scheme)));
}

/// Names of variables in quotes, in all sources of the program but for tests.
fn variables(folder: &Path, found: &mut BTreeSet<String>) {
    let kinds = [
        "PREP_",
        "MLE_BENCH_",
        "XDG_",
        "NO_COLOR",
        "KAGGLE_",
        "SLURM_",
        "JOB_",
        "AWS_",
        "GOOGLE_",
        "AZURE_",
    ];
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap();
            if !["tests", "target", "benches", "fuzz", "examples"]
                .iter()
                .any(|skip| name == *skip)
            {
                variables(&path, found);
            }
        } else if path.extension().is_some_and(|suffix| suffix == "rs")
            && path.file_name().is_some_and(|name| name != "build.rs")
        {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let is_name = |word: &&str| {
                kinds
                    .iter()
                    .any(|kind| word.starts_with(kind) && word.len() >= kind.len())
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
                    && !word.ends_with('_')
            };
            found.extend(code.split('"').filter(is_name).map(str::to_owned));
        }
    }
}

#[test]
fn variables_are_those_that_are_read() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut read = BTreeSet::new();
    variables(&engine, &mut read);
    assert_eq!(documented("Environment variables"), read);
}

#[test]
fn exit_codes_are_those_of_jobs() {
    let mut again = Vec::new();
    let mut ends = Vec::new();
    for (code, job) in rows("Exit codes in jobs") {
        let code: u8 = code[0].parse().unwrap();
        match job.contains("starts again") {
            true => again.push(code),
            false => ends.push(code),
        }
    }
    assert_eq!((again, ends), (TRANSIENT.to_vec(), PERMANENT.to_vec()));
    let all = [
        Exit::Failed,
        Exit::Usage,
        Exit::Pipeline,
        Exit::Input,
        Exit::Check,
        Exit::Machine,
        Exit::Interrupted,
    ];
    for exit in all {
        let code = exit as u8;
        assert!(
            TRANSIENT.contains(&code) != PERMANENT.contains(&code),
            "{exit:?}"
        );
    }
}
