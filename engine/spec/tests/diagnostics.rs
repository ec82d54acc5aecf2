//! Examples of every rule: `diagnostics/NAME.txt` lists the errors of `diagnostics/NAME.yaml`. `accept/NAME.yaml` has no
//! errors.
//!
//! `UPDATE=1 cargo test -p prep-spec` records the current errors. Review the diff before you commit it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn invalid_pipelines_have_the_recorded_errors() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for path in files("diagnostics") {
        let text = fs::read_to_string(&path).unwrap();
        let name = name(&path);
        let found = match prep_spec::load(prep_steps::vocabulary(), "id", &name, &text, "v1") {
            Ok(pipeline) => match pipeline.warnings {
                Some(warnings) => format!("{warnings}\n"),
                None => "accepted\n".to_owned(),
            },
            Err(diagnostics) => format!("{diagnostics}\n"),
        };
        let expected_path = path.with_extension("txt");
        if update {
            fs::write(&expected_path, &found).unwrap();
        }
        let is_cut = name.starts_with("unsupported-sql-") && found.contains(" more errors");
        assert!(!is_cut, "{name} has errors that are not listed");
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            wrong.push(format!(
                "--- {name}, expected:\n{expected}--- found:\n{found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn valid_pipelines_are_accepted() {
    for path in files("accept") {
        let text = fs::read_to_string(&path).unwrap();
        for variant in prep_spec::variants(&text).unwrap() {
            if let Err(diagnostics) = prep_spec::load(
                prep_steps::vocabulary(),
                "id",
                &name(&path),
                &text,
                &variant,
            ) {
                panic!("{variant}: {diagnostics}");
            }
        }
    }
}

#[test]
fn every_rule_has_an_example() {
    // `an_unknown_variant_is_rejected` tests the first code, and the tests of `pack.yaml` test the others.
    let others = ["unknown-variant", "bad-value", "unknown-id"];
    let mut shown = BTreeSet::from(others.map(str::to_owned));
    for path in files("diagnostics") {
        let text = fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        for line in text.lines().filter(|line| !line.starts_with(' ')) {
            if let Some((_, code)) = line.rsplit_once(" [") {
                shown.insert(code.trim_end_matches(']').to_owned());
            }
        }
    }
    let missing: Vec<String> = codes().difference(&shown).cloned().collect();
    assert!(missing.is_empty(), "no example for {missing:?}");
}

/// Returns the error codes: the first arguments, in kebab case, of the functions that create diagnostics.
fn codes() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for call in [
                "Diagnostic::error(",
                "Diagnostic::warning(",
                "Fault::new(",
                "self.error(",
            ] {
                for (at, _) in text.match_indices(call) {
                    let rest = text[at + call.len()..].trim_start();
                    if let Some(rest) = rest.strip_prefix('"') {
                        codes.insert(rest[..rest.find('"').unwrap()].to_owned());
                    }
                }
            }
        }
    }
    assert!(codes.len() > 30, "{codes:?}");
    codes
}

#[test]
fn an_unknown_variant_is_rejected() {
    let text = "name: X\ncategory: C\nbundle: { kaggle: x }\n";
    let found =
        prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", text, "fixd").unwrap_err();
    let expected =
        "x.yaml:1:1: error: there is no variant `fixd`; did you mean `fixed`? [unknown-variant]";
    assert_eq!(found.to_string(), expected);
}
